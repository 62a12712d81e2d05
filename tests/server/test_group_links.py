"""Groups are offered where the server can find them."""

from __future__ import annotations

import pytest

from deniably_server.api import groups
from support.every_type import survey_of_everything


def test_a_server_without_the_library_offers_no_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    survey = survey_of_everything()

    assert len(groups.group_links(survey)) >= 4
    monkeypatch.setattr(groups, "_LIBRARY", "a_library_that_is_not_there")
    assert groups.group_links(survey) == []
