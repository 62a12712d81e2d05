"""Parses numbers as people type them. ``number_input.js`` does the same in the form."""

from __future__ import annotations

import re

from deniably.wording.words import Words


class AmbiguousNumber(Exception):
    """The text could be two numbers, such as 1,000: one, or a thousand."""


def parse_number(typed: str, words: Words) -> str:
    """Return the number with a decimal point, or the text unchanged where it is no number.

    A single comma counts as a decimal point. Spaces between thousands are removed.

    Raises AmbiguousNumber for 1,000 and, in a language that groups thousands with a point, for
    1.000.

    >>> parse_number("1 234,5", Words("de"))
    '1234.5'
    """
    # U+2212 is the minus sign that some keyboards and spreadsheets write.
    text = typed.strip().replace("\u2212", "-")
    text = re.sub(r"(?<=\d)[\s'’](?=\d{3}(?!\d))", "", text)
    # A mark before three digits is ambiguous: a comma in every language, a point where it groups
    # thousands. So is any number with two marks, such as 1.234,5.
    group = "[.,]" if words("number.group") == "." else ","
    if re.fullmatch(rf"-?\d{{1,3}}(({group}\d{{3}})+|[.,]\d{{3}}([.,]\d+)+)", text, re.ASCII):
        raise AmbiguousNumber
    return text.replace(",", ".") if text.count(",") == 1 else text
