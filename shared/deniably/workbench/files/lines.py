"""Reports as NDJSON: a line a report, with its values as devices send them, and no id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

import msgspec
import numpy as np

from deniably.core.errors import BadReport
from deniably.survey.survey import Survey
from deniably.workbench.files.tables import bounded_rows, pieces
from deniably.workbench.packing import Layout, PackedField, Rows, WireBlock, layout
from deniably.workbench.report_set import ReportSet, checked, of_rows

_MOST = 10_000
"""Lines that are written or read at once."""
RANDOMISED, VALUES = "randomised", "values"
"""The key of the values in a line of an export, and in a report as devices send it."""
STRATA = "strata"
"""The key of what the link said, in both."""
_Values = list[list[int] | None]


def ndjson_of(places: Layout, blocks: Iterable[Rows]) -> Iterator[bytes]:
    """The lines of sorted reports, piece by piece; rows are numbered from 1 on."""
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
    """The strata of every row as a member of a JSON object, or nothing where there are none."""
    if not places.stratified:
        return [""] * len(rows)
    texts = [msgspec.json.encode(one).decode() for one in places.survey.every_stratum]
    return [f'"{STRATA}":{texts[number]},' for number in places.strata(rows).tolist()]


def _texts(field: PackedField, rows: Rows) -> list[str]:
    """The value of every row as a member of a JSON object; empty where it was not asked."""
    own = np.ascontiguousarray(rows[:, field.start : field.start + field.width])
    keys = own.view(f"V{field.width}").ravel()
    _, first, places = np.unique(keys, return_index=True, return_inverse=True)
    found = field.unpack(rows[first])
    texts = list[str]()
    for asked, cells in zip(found.asked.tolist(), found.cells, strict=True):
        named = np.flatnonzero(cells) if field.kind == "bits" else cells
        text = ",".join(map(str, named.tolist()))
        texts.append(f'"{field.question.name}":[{text}]' if asked else "")
    return [texts[place] for place in places.ravel().tolist()]


def read_ndjson(survey: Survey, lines: Iterable[bytes]) -> ReportSet:
    """The set of reports in lines of an export, or of reports as devices send them.

    Ids and numbers of rows are passed over. Either all lines have strata or none. Raises BadReport,
    which names the line.
    """
    places, blocks = packed_lines(survey, lines)
    return of_rows(places, bounded_rows(blocks))


def packed_lines(survey: Survey, lines: Iterable[bytes]) -> tuple[Layout, Iterator[Rows]]:
    """The reports of such lines, packed, in their order; and how they are packed.

    Raises BadReport as ``read_ndjson``, here or when the blocks are read.
    """
    blocks = _blocks(survey, lines)
    first = next(blocks)
    places = layout(survey, stratified=first.strata is not None)
    return places, map(places.pack, chain([first], blocks))


def _blocks(survey: Survey, lines: Iterable[bytes]) -> Iterator[WireBlock]:
    """At least one block, which may be empty."""
    values, strata, stratified = list[_Values](), list[int](), None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value, stratum = _read(survey, line)
            if stratified is None:
                stratified = stratum is not None
            if stratified is not (stratum is not None):
                raise BadReport("some lines have strata, and others none", f"$.{STRATA}")
        except BadReport as error:
            raise BadReport(f"line {number}: {error}", "$") from None
        values.append(value)
        if stratum is not None:
            strata.append(stratum)
        if len(values) == _MOST:
            yield WireBlock(values, strata if stratified else None)
            values, strata = [], []
    yield WireBlock(values, strata if stratified else None)


def _read(survey: Survey, line: bytes) -> tuple[_Values, int | None]:
    """The values of a line, and the number of its stratum where it has one. Raises BadReport."""
    try:
        found = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        digest = found.get("survey")
        if digest is not None and msgspec.json.decode(digest) != survey.digest:
            raise BadReport("this is a report to another survey", "$.survey")
        values = found[RANDOMISED] if RANDOMISED in found else found[VALUES]
        stratum = None
        if STRATA in found:
            stratum = survey.stratum_number(msgspec.json.decode(found[STRATA], type=dict[str, str]))
        return checked(survey, msgspec.json.decode(values)), stratum
    except KeyError:
        raise BadReport(f"a report has {RANDOMISED} or {VALUES}", "$") from None
    except msgspec.DecodeError as error:
        raise BadReport(str(error), "$") from None
    except ValueError as error:
        if isinstance(error, BadReport):
            raise
        raise BadReport("the survey has no such stratum", f"$.{STRATA}") from None
