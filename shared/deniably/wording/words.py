"""Reads the texts of the interface in each language, from the catalogues in ``languages``.

A catalogue maps keys to texts with named placeholders: ``"Question {number} of {count}"``. A text
that depends on ``count`` maps plural forms to texts: ``{"one": ..., "other": ...}``. ``words.js``
does the same in browsers.
"""

from __future__ import annotations

import json
import re
from collections import ChainMap
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from deniably.wording.plurals import plural_form

LANGUAGES = ("en", "de", "fr", "it", "es", "pt", "pl", "tr", "uk", "ar", "zh")
"""The languages of the interface. A survey may also be in any other language."""

# Languages and scripts (ISO 639 and 15924) that are written from right to left.
_LEFTWARDS = {"ar", "arc", "ckb", "dv", "fa", "he", "ks", "nqo", "ps", "sd", "ug", "ur", "yi"}
_LEFTWARDS_SCRIPTS = {"adlm", "arab", "hebr", "nkoo", "rohg", "syrc", "thaa"}
_RIGHTWARDS = re.compile("[A-Za-zÀ-\u058f]")  # Latin to Armenian
_PLACE = re.compile(r"\{([a-z_]+)\}")

Text = str | Mapping[str, str]
"""A text of a catalogue, or the texts of its plural forms."""


class Words:
    """The texts of one language, by key, with their placeholders filled in.

    ``language`` is a tag such as ``de`` or ``de-CH``. A missing text comes from the base language
    (``de``), then from English.

    >>> words = Words("de-CH")
    >>> words.language, words.number(1234567)
    ('de', '1.234.567')
    """

    def __init__(self, language: str = "en") -> None:
        tag = language.lower()
        known = [name for name in (tag, tag.split("-")[0]) if name in LANGUAGES]
        self.language = [*known, "en"][0]
        """The language of most texts, for the attribute ``lang``."""
        self.direction = direction(self.language)
        """The direction of writing, ``ltr`` or ``rtl``, for the attribute ``dir``."""
        self._texts = ChainMap(*(dict(_catalogue(name)) for name in [*known, "en"]))

    def __call__(self, key: str, /, **values: object) -> str:
        """Returns the text of ``key`` with its placeholders filled in. Raises KeyError for an
        unknown key or a placeholder without a value.

        Integers and Decimals are written in the language's style. ``count`` selects the plural
        form. In a language that is written from right to left, names in other scripts are isolated.
        """
        text = self._texts[key]
        if not isinstance(text, str):
            text = _in_number(text, self.language, values["count"])
        return _PLACE.sub(lambda place: self._written(values[place[1]]), text)

    def graded(self, key: str, /, *, weak: bool, **values: object) -> str:
        """Returns the text of ``key`` or, if the protection is ``weak``, the text of the key that
        ends in ``_weak``."""
        return self(f"{key}_weak" if weak else key, **values)

    def number(self, number: int | Decimal) -> str:
        """Returns a number as text in the language's style: 2981.5 is 2,981.5 in English, 2.981,5
        in German."""
        # Both signs at once: one after the other would turn a point that was just written.
        plain = f"{number:,}" if isinstance(number, int) else f"{number:,f}"
        return plain.translate({ord(","): self("number.group"), ord("."): self("number.point")})

    def day(self, day: str) -> str:
        """Returns a date such as 2027-03-03 in the language's style, such as 3 March 2027."""
        year, month, number = day.split("-")
        months = self("date.months").split()
        return self("date.long", year=year, month=months[int(month) - 1], day=str(int(number)))

    def decimal(self, plain: str) -> str:
        """Returns a decimal text with the decimal mark of the language: 2981.5 is 2981,5 in
        German."""
        return plain.replace(".", self("number.point"))

    def some(self, *prefixes: str) -> dict[str, Text]:
        """Returns the texts whose keys start with one of ``prefixes``, by key, for scripts in
        browsers."""
        return {key: text for key, text in self._texts.items() if key.startswith(prefixes)}

    def isolated(self, text: str) -> str:
        """Returns a text in another script between right-to-left marks, so that it does not
        reorder the text beside it. In a language that is written from left to right the text is
        unchanged.

        Isolates, Unicode's characters for this, would do as well, but no writer lets them through
        (``core/steering.py``).
        """
        if self.direction == "rtl" and _RIGHTWARDS.search(text):
            return (
                f"\u200f{text}\u200f"  # a browser then orders it as part of the sentence around it
            )
        return text

    def _written(self, value: object) -> str:
        if isinstance(value, int | Decimal):
            return self.number(value)
        return self.isolated(str(value))


def direction(language: str) -> str:
    """Returns the direction of writing, ``ltr`` or ``rtl``, of a language, given by its tag such
    as ``ar`` or ``az-Arab``."""
    base, *subtags = language.lower().split("-")
    # In a tag, four letters are a script; az is written in three of them.
    script = next((tag for tag in subtags if len(tag) == 4 and tag.isalpha()), None)
    leftwards = script in _LEFTWARDS_SCRIPTS if script else base in _LEFTWARDS
    return "rtl" if leftwards else "ltr"


def _in_number(forms: Mapping[str, str], language: str, count: object) -> str:
    """The form of a text for a count; ``other`` where the language writes no other."""
    assert isinstance(count, int)
    form = plural_form(language, count)
    # Arabic has six forms, and a text need not tell them all apart.
    return forms[form] if form in forms else forms["other"]


@cache
def _catalogue(language: str) -> Mapping[str, Text]:
    text = (files("deniably.wording") / "languages" / f"{language}.json").read_text(
        encoding="utf-8"
    )
    return MappingProxyType(json.loads(text))


ENGLISH = Words()
"""The texts for programs, and for authors, analysts and operators, who read English."""
