"""The glossary of the handbook has the words that the catalogues use, in every language."""

from __future__ import annotations

import pytest

from deniably.wording.words import LANGUAGES
from support.catalogues import CATALOGUES, ROOT, texts

PAGE = (ROOT / "server/deniably_server/handbook/glossary.md").read_text(encoding="utf-8")
STEM = 3
"""Letters of a word that stay in its other forms."""


def glossary() -> dict[str, list[str]]:
    """The words of each language, by its name."""
    found: dict[str, list[str]] = {}
    for part in PAGE.split("## ")[1:]:
        rows = [line.strip("| ").split(" | ") for line in part.splitlines() if line[:1] == "|"]
        names, _, *words = rows
        found |= {name: [row[i] for row in words] for i, name in enumerate(names)}
    return found


def test_it_has_every_language_and_the_same_words_in_each() -> None:
    names = {CATALOGUES[language]["language.name"] for language in LANGUAGES}

    assert set(glossary()) == names
    assert {len(words) for words in glossary().values()} == {16}


@pytest.mark.parametrize("language", LANGUAGES)
def test_its_words_are_those_of_the_form(language: str) -> None:
    said = " ".join(text for _, text in texts(language)).casefold()

    for term in glossary()[CATALOGUES[language]["language.name"]]:
        for word in term.casefold().split():
            assert word[:STEM] in said, term
