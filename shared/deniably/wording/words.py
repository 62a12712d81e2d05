"""What people read, in their language: the catalogues in ``languages``, one file a language.

A catalogue maps keys to texts with named placeholders: ``"Question {number} of {count}"``. A text
whose wording depends on ``count`` is a mapping of plural forms: ``{"one": ..., "other": ...}``.
The twin for scripts is ``words.js``.
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

LANGUAGES = ("en", "de", "fr", "it", "zh")
"""The languages of the interface; a survey may be in any other."""

_LEFTWARDS = {"ar", "arc", "ckb", "dv", "fa", "he", "ks", "nqo", "ps", "sd", "ug", "ur", "yi"}
_LEFTWARDS_SCRIPTS = {"adlm", "arab", "hebr", "nkoo", "rohg", "syrc", "thaa"}
_PLACE = re.compile(r"\{([a-z_]+)\}")

Text = str | Mapping[str, str]


class Words:
    """The words of one language: a text by its key, with its placeholders filled in.

    ``language`` is a tag such as ``de`` or ``de-CH``. What its catalogue lacks comes from the base
    language (``de``) and at last from English.
    """

    def __init__(self, language: str = "en") -> None:
        tag = language.lower()
        found = [name for name in (tag, tag.split("-")[0]) if name in LANGUAGES]
        self.language = [*found, "en"][0]
        """The language of most of the texts, for an attribute ``lang``."""
        self._texts = ChainMap(*(dict(_catalogue(name)) for name in [*found, "en"]))

    def __call__(self, key: str, /, **values: object) -> str:
        """The text of the key. Raises KeyError for an unknown key or a placeholder without value.

        Whole numbers and Decimals are written as the language does; the plural form is that of
        ``count``.
        """
        text = self._texts[key]
        if not isinstance(text, str):
            text = text[_plural(self.language, values["count"])]
        return _PLACE.sub(lambda place: self._written(values[place[1]]), text)

    def graded(self, key: str, /, *, weak: bool, **values: object) -> str:
        """The text of a promise; of the key with ``_weak`` where the odds keep only that one."""
        return self(f"{key}_weak" if weak else key, **values)

    def number(self, number: int | Decimal) -> str:
        """A number with this language's marks: 2981.5 is 2,981.5 in English, 2.981,5 in German."""
        plain = f"{number:,}" if isinstance(number, int) else f"{number:,f}"
        return plain.translate({ord(","): self("number.group"), ord("."): self("number.point")})

    def decimal(self, plain: str) -> str:
        """A plain decimal, such as 2981.5, with this language's point alone: 2981,5 in German."""
        return plain.replace(".", self("number.point"))

    def some(self, *prefixes: str) -> dict[str, Text]:
        """The texts whose keys begin with one of these, as scripts need them."""
        return {key: text for key, text in self._texts.items() if key.startswith(prefixes)}

    def _written(self, value: object) -> str:
        return self.number(value) if isinstance(value, int | Decimal) else str(value)


def direction(language: str) -> str:
    """Whether a language is written ``ltr`` or ``rtl``, by its tag."""
    base, *subtags = language.lower().split("-")
    script = next((tag for tag in subtags if len(tag) == 4 and tag.isalpha()), None)
    leftwards = script in _LEFTWARDS_SCRIPTS if script else base in _LEFTWARDS
    return "rtl" if leftwards else "ltr"


def _plural(language: str, count: object) -> str:
    """The plural form of a count (Unicode CLDR, cardinals of whole numbers)."""
    if language == "zh":
        return "other"
    return "one" if count == 1 or (language == "fr" and count == 0) else "other"


@cache
def _catalogue(language: str) -> Mapping[str, Text]:
    text = (files("deniably.wording") / "languages" / f"{language}.json").read_text(
        encoding="utf-8"
    )
    return MappingProxyType(json.loads(text))


ENGLISH = Words()
"""For programs and for the people of surveys: authors, analysts, operators."""
