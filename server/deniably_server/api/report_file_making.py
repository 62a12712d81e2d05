"""Makes the files of a closed survey's reports, sorted by content and without ids, once."""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import cast

from flask import Flask, current_app

from deniably.workbench.files.arrow import parquet_of
from deniably.workbench.files.report_lines import ndjson_of
from deniably.workbench.files.tables import csv_of
from deniably.workbench.ordering import sorted_blocks
from deniably.workbench.packing import Layout, Rows, WireBlock
from deniably.workbench.report_columns import columns_of
from deniably_server.api.visibility import layout_given_out
from deniably_server.errors import Unavailable
from deniably_server.guard.app_state import current_store
from deniably_server.storage.store import Store
from deniably_server.web.kept_files import KeptFile, KeptFiles

_KEY = "deniably_report_files"
_FULL = "there is no room for the file in the temporary folder"

WRITERS: dict[str, Callable[[Layout, Iterable[Rows]], Iterator[bytes]]] = {
    "csv": lambda places, rows: csv_of(columns_of(places), rows),
    "ndjson": ndjson_of,
    "parquet": lambda places, rows: parquet_of(columns_of(places), rows),
}
"""The functions that write a file of reports, by the ending of its name."""


def keep_report_files(app: Flask, folder: Path | None) -> None:
    """Makes ``app`` keep report files in ``folder``, which other processes may use, too. If
    ``folder`` is None, ``app`` makes a temporary folder when it needs one; the folder is deleted
    when ``app`` is gone."""
    if folder is not None:
        app.extensions[_KEY] = KeptFiles(folder)


def key_of(places: Layout, ending: str) -> str:
    """Returns a short digest of all that the bytes of a report file depend on."""
    survey = places.survey
    counts = current_store().shown_counts(survey.name)
    about = f"{survey.name} {survey.digest} {places.stratified} {counts} {ending}"
    return hashlib.sha256(about.encode()).hexdigest()[:32]


def find(key: str) -> KeptFile | None:
    """Returns the report file with this key; None where it was not made yet. Raises Unavailable
    where no temporary folder can be made."""
    return _files().find(key)


def make(name: str, ending: str) -> KeptFile:
    """Returns the report file of the closed survey ``name`` in the format ``ending`` (such as
    "csv"), and writes it first if it is missing.

    The caller must have checked that the request may have the reports. Raises Unavailable where the
    disk is full.
    """
    store = current_store()
    places = layout_given_out(store, store.survey(name))
    pieces = WRITERS[ending](places, sorted_reports(store, places))
    try:
        return _files().make(key_of(places, ending), pieces)
    except OSError as error:
        raise Unavailable(_FULL) from error


def sorted_reports(store: Store, places: Layout) -> Iterator[Rows]:
    """Yields the stored reports of a survey in blocks, packed and sorted by content."""
    survey = places.survey
    stored = store.values_and_strata(survey.name, *range(len(survey.questions)))
    blocks = (WireBlock(values, strata if places.stratified else None) for values, strata in stored)
    return sorted_blocks(map(places.pack, blocks), places.width)


def _files() -> KeptFiles:
    cache = cast("KeptFiles | None", current_app.extensions.get(_KEY))
    if cache is None:
        try:
            folder = Path(mkdtemp(prefix="deniably-files-"))
        except OSError as error:
            raise Unavailable(_FULL) from error
        # The application itself, because its proxy is never collected.
        weakref.finalize(current_app._get_current_object(), rmtree, folder, ignore_errors=True)  # type: ignore[attr-defined]
        cache = current_app.extensions[_KEY] = KeptFiles(folder)
    return cache
