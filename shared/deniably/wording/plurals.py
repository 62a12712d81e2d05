"""Chooses the plural forms of whole numbers in the interface's languages, by Unicode CLDR's rules.

Browsers know these rules as ``Intl.PluralRules``. A catalogue may leave out a form that reads as
``other``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

Form = Literal["zero", "one", "two", "few", "many", "other"]
"""The names of the plural forms in CLDR."""

_MILLION = 1_000_000


def _one_or_other(count: int) -> Form:
    return "one" if count == 1 else "other"


def _other(_: int) -> Form:
    return "other"


def _romance(count: int) -> Form:
    """Spanish and Italian: 1 libro, 2 libros, 1.000.000 de libros."""
    if count == 1:
        return "one"
    return "many" if count and count % _MILLION == 0 else "other"


def _romance_with_zero(count: int) -> Form:
    """French and Portuguese: 0 livre, 1 livre, 2 livres, 1 000 000 de livres."""
    return "one" if count in (0, 1) else _romance(count)


def _few(count: int) -> bool:
    return count % 10 in (2, 3, 4) and count % 100 not in (12, 13, 14)


def _polish(count: int) -> Form:
    """1 plik, 2 pliki, 5 plików, 21 plików, 22 pliki."""
    if count == 1:
        return "one"
    return "few" if _few(count) else "many"


def _ukrainian(count: int) -> Form:
    """1 файл, 2 файли, 5 файлів, 21 файл, 22 файли."""
    if count % 10 == 1 and count % 100 != 11:
        return "one"
    return "few" if _few(count) else "many"


def _arabic(count: int) -> Form:
    if count <= 2:
        return ("zero", "one", "two")[count]
    rest = count % 100
    if rest < 3:
        return "other"
    return "few" if rest <= 10 else "many"


_RULES: dict[str, Callable[[int], Form]] = {
    "en": _one_or_other, "de": _one_or_other, "tr": _one_or_other,
    "it": _romance, "es": _romance, "fr": _romance_with_zero, "pt": _romance_with_zero,
    "pl": _polish, "uk": _ukrainian, "ar": _arabic, "zh": _other,
}  # fmt: skip


def plural_form(language: str, count: int) -> Form:
    """Returns the plural form (a category of CLDR) that a language of the interface uses for a
    count of 0 or more. Raises KeyError for another language.

    >>> [plural_form("pl", count) for count in (1, 2, 5, 22)]
    ['one', 'few', 'many', 'few']
    """
    return _RULES[language](count)
