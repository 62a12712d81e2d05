"""Packs reports into rows of bytes, as short as their integers allow, that sort as the reports do.

A row has the number of the report's stratum, where the set has strata, and then the reports to all
questions, in the survey's order. Rows are compared byte by byte. Sorting them removes the order of
arrival, as rows hold no ids and no times.

A report is made of cells: the numbers that it can name, such as the indices of choices or the
outputs of a channel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from deniably.estimation.tally import Tally, support_rows
from deniably.mechanisms.law import Law, Noise, Several, Supporting
from deniably.survey.questions import Question
from deniably.survey.survey import Survey

Rows = npt.NDArray[np.uint8]
"""Packed reports, shape (n, bytes of a row)."""
Values = Sequence[Sequence[int] | None]
"""The integers that n devices sent for one question, a list each; None where it was not asked."""

_BLOCK = 10_000
"""Reports that are unpacked at once for a tally."""


@dataclass(frozen=True, eq=False)
class WireBlock:
    """Some reports as devices send them. ``values`` has a list for each report, with an item for
    each question in the survey's order: the integers reported, or None if the question was not
    asked.

    ``strata`` has the number of each report's stratum; it is None where the strata are unknown or
    left out.
    """

    values: Sequence[Sequence[Sequence[int] | None]]
    strata: Sequence[int] | None = None


@dataclass(frozen=True, eq=False)
class Answered:
    """The reports in n rows to one question, unpacked.

    ``asked`` (n,) marks the rows that have a report. If a report can name any number of the
    question's cells, ``cells`` is a boolean array (n, number of cells). If every report names s
    cells, ``cells`` has their numbers, shape (n, s). Rows without a report are 0 throughout.
    """

    asked: npt.NDArray[np.bool_]
    cells: npt.NDArray[np.bool_] | npt.NDArray[np.int64]


@dataclass(frozen=True)
class PackedField:
    """The bytes of a packed row that hold the report to one question: ``width`` bytes from
    ``start`` on.

    If the field is ``optional``, because not everybody is asked, its first byte is 1 where there
    is a report and 0 where there is none. If ``kind`` is "bits", ``count`` bits follow, one for
    each cell. If ``kind`` is "numbers", ``count`` numbers of ``size`` bytes each follow, from
    which ``low`` was subtracted, the lowest number that can be reported.
    """

    question: Question
    start: int
    optional: bool
    kind: Literal["bits", "numbers"]
    count: int
    low: int = 0
    size: int = 0

    @property
    def width(self) -> int:
        """Returns the number of bytes of the field."""
        return self.optional + (
            -(-self.count // 8) if self.kind == "bits" else self.count * self.size  # rounded up
        )

    def pack(self, values: Values) -> Rows:
        """Packs the checked reports of n people to this question, None for people who were not
        asked; returns rows of shape (n, width)."""
        asked = np.fromiter((value is not None for value in values), np.bool_, len(values))
        some = [value for value in values if value is not None]
        if self.kind == "bits":
            return self.pack_some(asked, support_rows(some, self.count))
        flat = np.fromiter(chain.from_iterable(some), np.int64, len(some) * self.count)
        return self.pack_some(asked, flat.reshape(-1, self.count))

    def pack_cells(self, asked: npt.NDArray[np.bool_], cells: npt.NDArray[Any]) -> Rows:
        """Packs ``asked`` and ``cells``, in the form that ``Answered`` has, into rows of shape (n,
        width). Raises ValueError for a number that does not fit into the field."""
        some = cells[asked]
        if self.kind == "numbers" and some.size:
            low, high = int(some.min()), int(some.max())
            if low < self.low or high - self.low >= 1 << 8 * self.size:
                raise ValueError(f"{self.question.name}: a number is beyond what can be reported")
        return self.pack_some(asked, some)

    def unpack(self, rows: Rows) -> Answered:
        """Returns the reports to this question, unpacked from n whole rows."""
        own = rows[:, self.start : self.start + self.width]
        asked = own[:, 0] == 1 if self.optional else np.ones(len(rows), np.bool_)
        body = own[:, self.optional :]
        if self.kind == "bits":
            return Answered(asked, np.unpackbits(body, axis=1, count=self.count).astype(np.bool_))
        # Numbers of 3, 5, 6 or 7 bytes have no type of numpy: they are filled up to 8.
        wide = np.zeros((len(rows), self.count, 8), np.uint8)
        wide[:, :, 8 - self.size :] = body.reshape(len(rows), self.count, self.size)
        numbers = wide.view(">u8")[:, :, 0].astype(np.int64) + self.low
        return Answered(asked, np.where(asked[:, None], numbers, 0))

    def tally(self, rows: Rows) -> Tally:
        """Returns the tally of the reports to this question, given whole packed rows."""
        cell_count = self.question.mechanism.law.cell_count
        tally = Tally(0, np.zeros(cell_count or 0, np.int64), endless=cell_count is None)
        for at in range(0, len(rows), _BLOCK):
            tally += self._tally(rows[at : at + _BLOCK], cell_count)
        return tally

    def _tally(self, rows: Rows, cell_count: int | None) -> Tally:
        answered = self.unpack(rows)
        n, cells = int(answered.asked.sum()), answered.cells[answered.asked]
        if self.kind == "bits":
            return Tally(n, cells.sum(axis=0, dtype=np.int64))
        # Noise makes reports below 0, and bincount counts from 0 on.
        start = int(cells.min()) if cell_count is None and cells.size else 0
        counts = np.bincount(cells.ravel() - start, minlength=cell_count or 0).astype(np.int64)
        return Tally(n, counts, start, endless=cell_count is None)

    def pack_some(self, asked: npt.NDArray[np.bool_], some: npt.NDArray[Any]) -> Rows:
        """Packs reports into rows of shape (n, width). ``asked`` (n,) marks the people who were
        asked, and ``some`` has the cells of only these people, in their order. The rows of all
        others are 0."""
        rows = np.zeros((len(asked), self.width), np.uint8)
        if self.optional:  # first, so that a set sorted by bytes has those not asked first
            rows[:, 0] = asked
        if self.kind == "bits":
            rows[asked, self.optional :] = np.packbits(some, axis=1)
        else:
            # Big endian and from 0 on: bytes then sort as the numbers do.
            wide = (some - self.low).astype(">u8").view(np.uint8).reshape(*some.shape, 8)
            body = wide[:, :, 8 - self.size :].reshape(len(some), self.count * self.size)
            rows[asked, self.optional :] = body
        return rows


@dataclass(frozen=True)
class Layout:
    """The layout of a packed row: ``fields`` maps the name of each question to the bytes of its
    report.

    If ``stratified``, a row begins with a byte for the number of the stratum, which is not
    randomised. A set of reports has strata only where each stratum has enough reports to be shown
    (``results.subgroups.all_shown``).
    """

    survey: Survey
    fields: dict[str, PackedField]
    stratified: bool

    @property
    def width(self) -> int:
        """Returns the number of bytes of a row."""
        return self.stratified + sum(field.width for field in self.fields.values())

    def pack(self, block: WireBlock) -> Rows:
        """Packs checked reports into rows. Raises ValueError where the layout has strata and the
        block has none, or the other way round."""
        if (block.strata is not None) is not self.stratified:
            raise ValueError("strata are given exactly if the layout has them")
        columns: Iterable[Values] = zip(*block.values, strict=True) if block.values else ()
        packed = [
            field.pack(values)
            for field, values in zip(self.fields.values(), columns, strict=bool(block.values))
        ]
        if not packed:
            return np.zeros((0, self.width), np.uint8)  # hstack needs something to stack
        return self.with_strata(np.array(block.strata or (), np.int64), packed)

    def with_strata(self, strata: npt.NDArray[np.int64], packed: Sequence[Rows]) -> Rows:
        """Joins packed reports to single questions into n whole rows. ``packed`` has the rows of
        each question; ``strata`` (n,) are the numbers of the strata, which come first if the
        layout has strata."""
        first = [strata.astype(np.uint8)[:, None]] if self.stratified else []
        return np.hstack([*first, *packed])

    def strata(self, rows: Rows) -> npt.NDArray[np.int64]:
        """Returns the number of each row's stratum. Raises ValueError where the rows have none."""
        if not self.stratified:
            raise ValueError("these reports have no strata")
        return rows[:, 0].astype(np.int64)


def layout(survey: Survey, *, stratified: bool = False) -> Layout:
    """Returns the layout of packed reports to a survey, with a byte for the stratum if
    ``stratified``."""
    optional, start = not survey.complete, int(stratified)
    fields = dict[str, PackedField]()
    for question in survey.questions:
        field = _field(question, start, optional)
        fields[question.name] = field
        start += field.width
    return Layout(survey, fields, stratified)


def _field(question: Question, start: int, optional: bool) -> PackedField:
    law = question.mechanism.law
    if isinstance(law, Supporting) and not law.both and law.size != 1:
        return PackedField(question, start, optional, "bits", law.cell_count)
    low, high = reach(law)
    size = ((high - low).bit_length() + 7) // 8 or 1  # a byte even where all reports are one number
    return PackedField(question, start, optional, "numbers", _numbers(law), low, size)


def _numbers(law: Law) -> int:
    """Returns how many numbers a report sends."""
    if isinstance(law, Several):
        return law.s
    return law.most if isinstance(law, Supporting) else 1


def reach(law: Law) -> tuple[int, int]:
    """Returns the lowest and the highest number that a report under this law can have."""
    if isinstance(law, Noise):
        return -law.reach, law.k - 1 + law.reach
    if isinstance(law, Several):
        # Part i of d sends its value v as v * d + i (SPEC 2.14).
        d = len(law.parts)
        ends = [reach(part) for part in law.parts]
        return min(low for low, _ in ends) * d, max(high for _, high in ends) * d + d - 1
    return 0, law.cell_count - 1
