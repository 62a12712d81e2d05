"""The settings: given before environment before default, from one table."""

from __future__ import annotations

import pytest

from deniably_server.settings import SETTINGS, configuration


@pytest.fixture(autouse=True)
def no_settings_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for setting in SETTINGS:
        monkeypatch.delenv(setting.variable, raising=False)


def test_every_setting_has_a_default_and_a_sentence() -> None:
    assert configuration() == {setting.key: setting.default for setting in SETTINGS}
    assert all(setting.help.endswith(".") for setting in SETTINGS)


def test_what_is_given_comes_before_the_environment_and_that_before_the_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DENIABLY_PORT", "9000")
    monkeypatch.setenv("DENIABLY_THREADS", "4")

    found = configuration({"THREADS": 8, "TESTING": True})

    assert (found["PORT"], found["THREADS"], found["TESTING"]) == (9000, 8, True)


def test_a_number_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DENIABLY_PORT", "eight")

    with pytest.raises(ValueError, match="DENIABLY_PORT is 'eight'; use a whole number"):
        configuration()


def test_a_form_of_the_log_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match="log is 'xml'; it must be one of text, json, off"):
        configuration({"LOG": "xml"})


def test_it_listens_to_this_machine_alone_unless_told_otherwise() -> None:
    assert configuration()["HOST"] == "127.0.0.1"
