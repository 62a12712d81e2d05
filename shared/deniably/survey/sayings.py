"""What a respondent says to mean a given input of a mechanism: ``question.encode``, backwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from deniably.survey.parts import Range
from deniably.survey.questions import (
    Input,
    Number,
    Point,
    Product,
    Question,
    SelectMultiple,
    VectorOfNumbers,
)


def saying(question: Question, given: Input) -> object:
    """An answer to the question that its mechanism takes as ``given``."""
    match question:
        case SelectMultiple(names=names):
            return [names[tick] for tick in cast(Sequence[int], given)]
        case Number():
            return _number(question.range, cast(int, given), question.mechanism.k)
        case VectorOfNumbers(parts=parts, sizes=sizes):
            positions = zip(parts, cast(Sequence[int], given), sizes, strict=True)
            return {part.name: _number(part.range, at, k) for part, at, k in positions}
        case Point(parts=parts, grid=grid):
            cells = zip(parts, divmod(cast(int, given), grid), strict=True)
            return {part.name: _number(part.range, cell, grid) for part, cell in cells}
        case Product(parts=parts):
            rest, said = cast(int, given), dict[str, str]()
            for part in reversed(parts):
                rest, index = divmod(rest, len(part.choices))
                said[part.name] = part.choices[index].name
            return said
        case _:
            # A unary encoding takes the list of the one index.
            return question.names[given if isinstance(given, int) else given[0]]


def _number(grid: Range, cell: int, cells: int) -> str:
    """The first number of a cell."""
    return grid.written(-(-cell * grid.positions // cells))
