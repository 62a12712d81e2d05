"""Shortens names of columns to what other programs allow, always in the same way."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class FileLimits:
    """The limits that a program sets to a data file: the bytes of a column's ``name``, of its
    ``label`` and of the label of a ``value``, and the number of ``columns``. ``called`` is the
    name of the program."""

    called: str
    name: int
    label: int
    value: int
    columns: int


LIMITS: Mapping[str, FileLimits] = {
    "sav": FileLimits("SPSS", 64, 256, 120, 32_767),
    "dta": FileLimits("Stata", 28, 80, 32_000, 2_048),
}
"""The limits of each format. Stata allows names of 32 letters, and its smallest edition, BE, 2,048
columns. But pyreadstat names the labels of a column after the column and its number, which has up
to four digits."""

_RESERVED = {
    "all", "and", "by", "eq", "ge", "gt", "le", "lt", "ne", "not", "or", "to", "with",
    "byte", "double", "float", "if", "in", "int", "long", "using", "_all", "_b", "_n", "_cons",
}  # fmt: skip


def shortened(names: Sequence[str], limits: FileLimits) -> list[str]:
    """Returns the names cut to the length that ``limits`` allow, with only letters, digits and
    underscores, and distinct even without regard to case.

    A name that is too long keeps its beginning and its end: the end names the choice.
    """
    taken, distinct = set[str](), list[str]()
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
        # Names may not begin with a digit, nor be a word of the program's own language.
        if not plain[0].isalpha() or plain.casefold() in _RESERVED:
            plain = f"q_{plain}"
        short, number = _cut(plain, limits.name), 1
        while short.casefold() in taken:
            number += 1
            end = f"_{number}"
            short = _cut(plain, limits.name - len(end)) + end
        taken.add(short.casefold())
        distinct.append(short)
    return distinct


def _cut(name: str, maximum: int) -> str:
    if len(name) <= maximum:
        return name
    end = maximum // 2
    return f"{name[: maximum - end - 1]}_{name[-end:]}"
