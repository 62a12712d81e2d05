"""Reads and writes reports as NDJSON: a line per report, with its values as devices send them, and
no id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice

import msgspec
import numpy as np

from deniably.core.errors import BadReport
from deniably.survey.survey import Survey
from deniably.workbench.files.tables import bounded_rows, pieces
from deniably.workbench.files.usual_lines import RANDOMISED, STRATA, VALUES, UsualLines
from deniably.workbench.packing import Layout, PackedField, Rows, WireBlock, layout
from deniably.workbench.report_set import ReportSet, checked, of_rows

_MOST = 10_000
"""The most lines that are written or read at once."""
_Values = list[list[int] | None]


def ndjson_of(places: Layout, blocks: Iterable[Rows]) -> Iterator[bytes]:
    """Yields NDJSON of sorted reports as bytes, piece by piece: one line per report, with its row
    number from 1 on."""
    number = 1
    for rows in pieces(blocks, _MOST):
        columns = [_texts(field, rows) for field in places.fields.values()]
        public, lines = _public(places, rows), list[str]()
        for at, (before, *values) in enumerate(zip(public, *columns, strict=True), number):
            randomised = ",".join(filter(None, values))
            lines.append(f'{{"row":{at},{before}"{RANDOMISED}":{{{randomised}}}}}\n')
        yield "".join(lines).encode()
        number += len(rows)


def _public(places: Layout, rows: Rows) -> list[str]:
    """Returns the strata of every row as a member of a JSON object, or empty texts where there are
    none."""
    if not places.stratified:
        return [""] * len(rows)
    texts = [msgspec.json.encode(stratum).decode() for stratum in places.survey.every_stratum]
    return [f'"{STRATA}":{texts[number]},' for number in places.strata(rows).tolist()]


def _texts(field: PackedField, rows: Rows) -> list[str]:
    """Returns the values of every row as a member of a JSON object; empty where the question was
    not asked."""
    # Reports repeat, so each different one is made into text once.
    own = np.ascontiguousarray(rows[:, field.start : field.start + field.width])
    keys = own.view(f"V{field.width}").ravel()
    _, first, places = np.unique(keys, return_index=True, return_inverse=True)
    answered = field.unpack(rows[first])
    texts = list[str]()
    for asked, cells in zip(answered.asked.tolist(), answered.cells, strict=True):
        named = np.flatnonzero(cells) if field.kind == "bits" else cells
        text = ",".join(map(str, named.tolist()))
        texts.append(f'"{field.question.name}":[{text}]' if asked else "")
    return [texts[place] for place in places.ravel().tolist()]


def read_ndjson(survey: Survey, lines: Iterable[bytes]) -> ReportSet:
    """Reads NDJSON with one report a line, in the form of an export or as devices send it, into a
    report set.

    Ids and row numbers are ignored. Raises BadReport, which names the line, where a line is no
    report to this survey, or has strata though the first line has none, or lacks them though it
    has.
    """
    places, blocks = packed_lines(survey, lines)
    return of_rows(places, bounded_rows(blocks))


def packed_lines(survey: Survey, lines: Iterable[bytes]) -> tuple[Layout, Iterator[Rows]]:
    """Packs reports from NDJSON, one a line, and keeps their order. Returns the layout, and an
    iterator of blocks of packed rows.

    Raises BadReport, which names the line, where a line is no report to this survey. Only the
    first line is checked at once, the others while the blocks are read.
    """
    numbered = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    first = next(numbered, None)
    if first is None:
        return layout(survey), iter(())
    places = layout(survey, stratified=_line(survey, *first)[1] is not None)
    return places, _packed(places, chain([first], numbered))


def _packed(places: Layout, lines: Iterator[tuple[int, bytes]]) -> Iterator[Rows]:
    """Yields numbered lines, packed; one by one where they cannot be packed all at once."""
    usual = UsualLines(places)
    while some := list(islice(lines, _MOST)):
        packed = usual.pack([line for _, line in some])
        yield places.pack(_block(places, some)) if packed is None else packed


def _block(places: Layout, lines: Iterable[tuple[int, bytes]]) -> WireBlock:
    values, strata = list[_Values](), list[int]()
    for number, line in lines:
        value, stratum = _line(places.survey, number, line, places.stratified)
        values.append(value)
        if stratum is not None:
            strata.append(stratum)
    return WireBlock(values, strata if places.stratified else None)


def _line(
    survey: Survey, number: int, line: bytes, stratified: bool | None = None
) -> tuple[_Values, int | None]:
    """Reads a line. Raises BadReport with the number of the line, also where it has strata and
    ``stratified`` lines do not, or the other way round."""
    try:
        value, stratum = _read(survey, line)
        if stratified is not None and stratified is not (stratum is not None):
            raise BadReport("some lines have strata, and others none", f"$.{STRATA}")
    except BadReport as error:
        raise BadReport(f"line {number}: {error}", "$") from None
    return value, stratum


def _read(survey: Survey, line: bytes) -> tuple[_Values, int | None]:
    """Returns the values of a line, and the number of its stratum, None without one. Raises
    BadReport."""
    try:
        members = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        digest = members.get("survey")
        if digest is not None and msgspec.json.decode(digest) != survey.digest:
            raise BadReport("this is a report to another survey", "$.survey")
        values = members[RANDOMISED] if RANDOMISED in members else members[VALUES]
        stratum = None
        if STRATA in members:
            stratum = survey.stratum_number(
                msgspec.json.decode(members[STRATA], type=dict[str, str])
            )
        return checked(survey, msgspec.json.decode(values)), stratum
    except KeyError:
        raise BadReport(f"a report has {RANDOMISED} or {VALUES}", "$") from None
    except msgspec.DecodeError as error:
        raise BadReport(str(error), "$") from None
    # BadReport is a ValueError, too; others come from an unknown stratum.
    except ValueError as error:
        if isinstance(error, BadReport):
            raise
        raise BadReport("the survey has no such stratum", f"$.{STRATA}") from None
