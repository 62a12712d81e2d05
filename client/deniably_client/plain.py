"""Numbers as people write them: the twin of ``plain.js``."""

from __future__ import annotations

import re

from deniably.wording.words import Words


class TwoReadings(Exception):
    """The number could be two, such as 1,000: one, or a thousand."""


def plain(written: str, words: Words) -> str:
    """A decimal with a point; a single comma is read as one, and spaces between thousands are left
    out. What is no number comes back as it is.

    Raises TwoReadings for 1,000 and, in a language that marks thousands with a point, for 1.000.
    """
    text = written.strip().replace("\u2212", "-")
    text = re.sub(r"(?<=\d)[\s'’](?=\d{3}(?!\d))", "", text)
    group = "[.,]" if words("number.group") == "." else ","
    if re.fullmatch(rf"-?\d{{1,3}}(({group}\d{{3}})+|[.,]\d{{3}}([.,]\d+)+)", text, re.ASCII):
        raise TwoReadings
    return text.replace(",", ".") if text.count(",") == 1 else text
