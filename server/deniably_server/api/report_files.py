"""The reports of a closed survey as a file: sorted by content, without ids, sent as it is made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from threading import BoundedSemaphore

from flask import Blueprint, Response, request

from deniably.workbench.columns import columns_of, note
from deniably.workbench.fetching import COUNT
from deniably.workbench.files.arrow import parquet_of
from deniably.workbench.files.lines import ndjson_of
from deniably.workbench.files.needed import NoExport, library
from deniably.workbench.files.tables import csv_of
from deniably.workbench.ordering import sorted_blocks
from deniably.workbench.packing import Layout, Rows, WireBlock
from deniably_server.api.lines import NDJSON
from deniably_server.api.visibility import RESULTS, given_out_survey, layout_given_out
from deniably_server.errors import Busy, NotFound
from deniably_server.guard.app_state import current_store
from deniably_server.storage.store import Store
from deniably_server.web.operation import CSV, Operation

blueprint = Blueprint("report_files", __name__)

PARQUET = "application/vnd.apache.parquet"
_AT_ONCE = 2
"""Files that one process makes at the same time: each sorts its reports in memory."""
_places = BoundedSemaphore(_AT_ONCE)

STRATA = "Deniably-Strata"
"""The header that says whether the reports of a survey with strata have columns for them."""
HEADERS = ("Content-Disposition", COUNT, STRATA)

_Written = Callable[[Layout, Iterable[Rows]], Iterator[bytes]]


@blueprint.get("/api/surveys/<name>/reports.csv")
@Operation({200: {CSV: None}}, RESULTS, headers=HEADERS)
def reports_as_csv(name: str) -> Response:
    """The randomised reports of a closed survey, with a column for each choice.

    Do not tabulate the columns as if they were answers: estimates need p and q.
    """
    return _file(name, "csv", CSV, lambda places, rows: csv_of(columns_of(places), rows))


@blueprint.get("/api/surveys/<name>/reports.ndjson")
@Operation({200: {NDJSON: None}}, RESULTS, headers=HEADERS)
def reports_as_lines(name: str) -> Response:
    """The randomised reports of a closed survey, a line each, with values as devices send them."""
    return _file(name, "ndjson", NDJSON, ndjson_of)


@blueprint.get("/api/surveys/<name>/reports.parquet")
@Operation({200: {PARQUET: None}}, RESULTS, headers=HEADERS)
def reports_as_parquet(name: str) -> Response:
    """The randomised reports of a closed survey as Parquet, with labels. It needs pyarrow."""
    given_out_survey(name)  # a refusal of its own comes first
    try:
        library("pyarrow.parquet")
    except NoExport:
        raise NotFound(
            "this server has no pyarrow and writes no Parquet; take reports.csv or reports.ndjson"
        ) from None
    return _file(
        name, "parquet", PARQUET, lambda places, rows: parquet_of(columns_of(places), rows)
    )


def sorted_reports(store: Store, places: Layout) -> Iterator[Rows]:
    """The stored reports of a survey, packed and sorted by content, in blocks."""
    survey = places.survey
    every = store.values_and_strata(survey.name, *range(len(survey.questions)))
    blocks = (WireBlock(some, strata if places.stratified else None) for some, strata in every)
    return sorted_blocks(map(places.pack, blocks), places.width)


def _file(name: str, ending: str, kind: str, written: _Written) -> Response:
    survey, store = given_out_survey(name), current_store()
    places, file = layout_given_out(store, survey), f"{name}-randomised-reports.{ending}"
    if request.method == "HEAD":
        return _attached(Response(mimetype=kind), file, places)
    if not _places.acquire(blocking=False):
        raise Busy("other reports are being given out")
    try:
        blocks = sorted_reports(store, places)
        # All is read and sorted before the first byte leaves: what fails until then is a problem.
        first = next(blocks, None)
        pieces = written(places, chain([] if first is None else [first], blocks))
    except BaseException:
        _places.release()
        raise
    return _attached(Response(_Pieces(pieces), mimetype=kind), file, places)


def _attached(response: Response, file: str, places: Layout) -> Response:
    response.headers["Content-Disposition"] = f'attachment; filename="{file}"'
    response.headers[COUNT] = str(current_store().reports(places.survey.name))
    if said := note(places):
        response.headers[STRATA] = said
    return response


class _Pieces:
    """The pieces of a file; its place is free once the last was taken, or the answer given up."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._place = pieces, _places
        self._held = True

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        try:
            return next(self._pieces)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Free the place."""
        if self._held:
            self._held = False
            self._place.release()
