"""Serves the reports of a closed survey as a file: sorted by content, without ids, made once and
kept.

It has a length and an ETag, so a download that broke off goes on where it was (Range, If-Range).
HEAD has them of a file that was made before, and makes none: it is to cost nothing. Who may have
the reports is decided for each request, of whatever kind.
"""

from __future__ import annotations

import os
import re

from flask import Blueprint, Response, request
from werkzeug.http import parse_range_header

from deniably.workbench.fetching import COUNT
from deniably.workbench.files.optional_libraries import NoExport, library
from deniably.workbench.report_columns import note
from deniably_server.api.cached_views import made_apart
from deniably_server.api.report_file_making import find, key_of, make
from deniably_server.api.report_lines import NDJSON
from deniably_server.api.visibility import RESULTS, given_out_survey, layout_given_out
from deniably_server.errors import Busy, NotFound
from deniably_server.guard.app_state import current_store
from deniably_server.web.file_part import FilePart
from deniably_server.web.kept_files import KeptFile
from deniably_server.web.operation import CSV, Operation

blueprint = Blueprint("report_files", __name__)

PARQUET = "application/vnd.apache.parquet"

STRATA = "Deniably-Strata"
"""The header that says whether the reports of a survey with strata have columns for them."""
HEADERS = ("Content-Disposition", COUNT, STRATA, "ETag", "Accept-Ranges")
_NOTHING = re.compile(r"\s*bytes\s*=\s*-0+\s*", re.ASCII | re.IGNORECASE)
"""A suffix of no bytes, which is well-formed but cannot be satisfied (RFC 9110, 14.1.2)."""
_PROBLEMS = (*RESULTS, "range-not-satisfiable")


@blueprint.get("/api/surveys/<name>/reports.csv")
@Operation({200: {CSV: None}, 206: {CSV: None}, 304: {}}, _PROBLEMS, headers=HEADERS)
def reports_as_csv(name: str) -> Response:
    """Returns the randomised reports of a closed survey, with a column for each choice.

    Do not tabulate the columns as if they were answers: estimates need the probabilities p and q
    with which the choices were randomised.
    """
    return _file(name, "csv", CSV)


@blueprint.get("/api/surveys/<name>/reports.ndjson")
@Operation({200: {NDJSON: None}, 206: {NDJSON: None}, 304: {}}, _PROBLEMS, headers=HEADERS)
def reports_as_lines(name: str) -> Response:
    """Returns the randomised reports of a closed survey, a line each, with values as devices send
    them."""
    return _file(name, "ndjson", NDJSON)


@blueprint.get("/api/surveys/<name>/reports.parquet")
@Operation({200: {PARQUET: None}, 206: {PARQUET: None}, 304: {}}, _PROBLEMS, headers=HEADERS)
def reports_as_parquet(name: str) -> Response:
    """Returns the randomised reports of a closed survey as Parquet, with labels. The server needs
    pyarrow for this."""
    given_out_survey(name)  # a refusal of its own comes first
    try:
        library("pyarrow.parquet")
    except NoExport:
        raise NotFound(
            "this server has no pyarrow and writes no Parquet; take reports.csv or reports.ndjson"
        ) from None
    return _file(name, "parquet", PARQUET)


def _file(name: str, ending: str, kind: str) -> Response:
    survey, store = given_out_survey(name), current_store()
    places = layout_given_out(store, survey)
    key = key_of(places, ending)
    for _ in range(2):  # another process may remove the file between find and open
        kept_file = find(key)
        if kept_file is None and request.method != "HEAD":
            if not made_apart(key, name, ending):
                make(name, ending)
            kept_file = find(key)
        response = _without_length(kind) if request.method == "HEAD" else None
        if kept_file is not None:
            response = _response(kept_file, kind) or response
        if response is not None:
            file = f"{name}-randomised-reports.{ending}"
            response.headers["Content-Disposition"] = f'attachment; filename="{file}"'
            response.headers[COUNT] = str(store.reports(name))
            response.headers["Accept-Ranges"] = "bytes"
            if strata_note := note(places):
                response.headers[STRATA] = strata_note
            return response
    raise Busy("other reports are being given out", 1)  # it gave way to another file at once


def _without_length(kind: str) -> Response:
    """Returns the headers of a file that is not made, without a length."""
    response = Response(mimetype=kind)
    response.automatically_set_content_length = False
    return response


def _response(kept_file: KeptFile, kind: str) -> Response | None:
    """Returns the file, or the range of it that the request asks for; None if the file was just
    removed for another.

    A range that is no single one of the file is ignored, as is that of a HEAD (RFC 9110, 14.2).
    """
    try:
        file = os.open(kept_file.path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        size = os.fstat(file).st_size
        response = Response(mimetype=kind, direct_passthrough=True)
        response.content_length = size
        response.set_etag(kept_file.digest)
        range_header = _one_part(size)
        response.make_conditional(
            request.environ | {"HTTP_RANGE": range_header}, bool(range_header), size
        )
        start, stop = 0, size
        if response.status_code == 206:
            start, stop = response.content_range.start or 0, response.content_range.stop or size
        if response.status_code != 304 and request.method != "HEAD":
            response.response = FilePart(file, start, stop - start)
            file = -1
        return response
    finally:
        if file >= 0:
            os.close(file)


def _one_part(size: int) -> str:
    """Returns the request's range as Werkzeug reads it; empty unless it is a single one of the
    file."""
    range_header = request.headers.get("Range", "")
    if _NOTHING.fullmatch(range_header):
        range_header = f"bytes={size}-"  # which begins after the end: there is no such part either
    parsed = parse_range_header(range_header)
    if request.method != "GET" or parsed is None or parsed.units != "bytes":
        return ""
    return range_header if len(parsed.ranges) == 1 and parsed.ranges[0][0] >= -size else ""
