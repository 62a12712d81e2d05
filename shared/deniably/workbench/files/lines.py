"""Reports as NDJSON: a line a report, with its values as devices send them, and no id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
import numpy as np

from deniably.core.errors import BadReport
from deniably.survey.survey import Survey
from deniably.workbench.files.tables import pieces
from deniably.workbench.packing import Layout, PackedField, Rows
from deniably.workbench.report_set import ReportSet, Wire, checked, report_set

_MOST = 10_000
"""Lines that are written or read at once."""
RANDOMISED, VALUES = "randomised", "values"
"""The key of the values in a line of an export, and in a report as devices send it."""


def ndjson_of(places: Layout, blocks: Iterable[Rows]) -> Iterator[bytes]:
    """The lines of sorted reports, piece by piece; rows are numbered from 1 on."""
    number = 1
    for rows in pieces(blocks, _MOST):
        columns = [_texts(field, rows) for field in places.fields.values()]
        lines = list[str]()
        for at, values in enumerate(zip(*columns, strict=True), number):
            lines.append(f'{{"row":{at},"{RANDOMISED}":{{{",".join(filter(None, values))}}}}}\n')
        yield "".join(lines).encode()
        number += len(rows)


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

    Ids and numbers of rows are passed over. Raises BadReport, which names the line.
    """
    return report_set(survey, _blocks(survey, lines))


def _blocks(survey: Survey, lines: Iterable[bytes]) -> Iterator[Wire]:
    block: list[list[list[int] | None]] = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            block.append(_read(survey, line, number))
        if len(block) == _MOST:
            yield block
            block = []
    yield block


def _read(survey: Survey, line: bytes, number: int) -> list[list[int] | None]:
    try:
        found = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        digest = found.get("survey")
        if digest is not None and msgspec.json.decode(digest) != survey.digest:
            raise BadReport("this is a report to another survey", "$.survey")
        values = found[RANDOMISED] if RANDOMISED in found else found[VALUES]
        return checked(survey, msgspec.json.decode(values))
    except KeyError:
        raise BadReport(f"line {number}: a report has {RANDOMISED} or {VALUES}", "$") from None
    except msgspec.DecodeError as error:
        raise BadReport(f"line {number}: {error}", "$") from None
    except BadReport as error:
        raise BadReport(f"line {number}: {error}", "$") from None
