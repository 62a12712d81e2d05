"""Plural forms: the rules written here, against those that Node has from Unicode."""

from __future__ import annotations

import pytest

from deniably.wording.plurals import plural_form
from deniably.wording.words import LANGUAGES
from support.modules import Modules

COUNTS = [*range(250), 1000, 1001, 1002, 1011, 1_000_000, 1_000_001, 2_000_000, 10**9]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_rules_are_those_of_unicode(modules: Modules, language: str) -> None:
    told = modules.run(
        "const rules = new Intl.PluralRules(given[0]);"
        " return given[1].map((count) => rules.select(count));",
        [language, COUNTS],
    )

    assert [plural_form(language, count) for count in COUNTS] == told
