"""The pages of a survey with a mixer: what the server shows, brings and allows."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import pytest
from flask import Flask
from flask.testing import FlaskClient

from deniably.design.mixer_plan import answer_losses
from deniably.survey.mixer import Mixer
from deniably.survey.survey import Survey, as_survey
from deniably.wording.first_page import first_page
from deniably.wording.words import LANGUAGES, Words
from deniably_server.guard.headers import SECURITY_HEADERS
from deniably_server.web import static_files
from spec.cases.mixers import mixed
from support.catalogues import CATALOGUES
from support.material import signed
from support.mixed_form import BY, SIX

THROUGH = as_survey(mixed(*SIX, name="through", title="T", contact="University of Northfield"))
WORDS = re.compile(r'<script type="application/json" id="words">(.*?)</script>')


@pytest.fixture
def through(app: Flask) -> Survey:
    app.extensions["deniably"].publish(THROUGH, signed(THROUGH))
    return THROUGH


def brought(html: str) -> Mapping[str, object]:
    (found,) = WORDS.findall(html)
    words: Mapping[str, object] = json.loads(found)
    return words


# --- figures ----------------------------------------------------------------------------------


def test_the_first_page_states_what_each_party_could_guess() -> None:
    """Six questions at odds 8 with 220 blanks: 61 and 75 for the server, 89 and 99 for both."""
    page = first_page(THROUGH, losses=answer_losses(THROUGH))

    assert [(mark.both, mark.of, mark.value) for mark in page.marks] == [
        (False, "one", "61"),
        (False, "all", "75"),
        (True, "one", "89"),
        (True, "all", "99"),
    ]
    assert [[mark.value for mark in marks] for marks in page.scales] == [["61", "75"], ["89", "99"]]
    alone, both = page.meaning[:2]
    assert "at most 61 of 100" in alone
    assert "at most 75 of 100" in alone
    assert alone.endswith("This can fail once in 1,000,000.")
    assert both.startswith(f"If the two work together against you, or {BY} cheats")
    assert "262,144 to 1" in both, "what the luckiest die would give away, to both alone"


def test_without_the_losses_of_single_answers_the_claim_stands_for_each() -> None:
    """It bounds all answers, and so each of them."""
    assert [mark.value for mark in first_page(THROUGH).marks] == ["75", "75", "89", "99"]


def test_one_question_has_one_figure_for_each_party() -> None:
    one = as_survey(mixed(SIX[0]))
    page = first_page(one, losses=answer_losses(one))

    assert [mark.value for mark in page.marks] == ["61", "89"]
    assert not any("complete lists" in text for text in page.meaning)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_every_figure_and_both_names(language: str) -> None:
    page = first_page(THROUGH, Words(language), answer_losses(THROUGH))
    said = " ".join(page.paragraphs)

    explained = " ".join(page.meaning)
    for mark in page.marks:
        assert mark.value in explained
    for text in (BY, "University of Northfield", "220"):
        assert text in said
    assert page.visible != Words(language)("start.visible")


# --- what the page brings -------------------------------------------------------------------------


def test_the_form_brings_the_texts_of_its_scripts(client: FlaskClient, through: Survey) -> None:
    words = brought(client.get("/s/through?language=de").text)

    german = CATALOGUES["de"]
    for key in ("waiting", "queued", "unreachable", "rejected"):
        assert words[f"script.{key}"] == german[f"sealed.{key}"], "the texts of another party"
    assert words["sealed.gone"] == german["sealed.gone"]
    assert words["script.sending"] == german["script.sending"]
    script = static_files.text_of("form/mixed.js")
    assert set(re.findall(r'words\("([a-z_.]+)"', script)) <= set(words)


def test_only_the_form_may_talk_to_the_mixer(client: FlaskClient, through: Survey) -> None:
    assert isinstance(through.mixer, Mixer)
    answer = client.get("/s/through")
    usual = dict(SECURITY_HEADERS)["Content-Security-Policy"]

    (policy,) = answer.headers.getlist("Content-Security-Policy")
    with_mixer = f"connect-src 'self' {through.mixer.address};"
    assert policy == usual.replace("connect-src 'self';", with_mixer) != usual
    for name, value in SECURITY_HEADERS[1:]:
        assert answer.headers.getlist(name) == [value]
    head = client.head("/s/through")  # the copy for use without a network is kept with these
    assert head.headers["Content-Security-Policy"] == policy
    for path in ("/surveys/through", "/register", "/api/surveys/through", "/"):
        assert through.mixer.address not in client.get(path).headers["Content-Security-Policy"]


def test_the_page_of_a_closed_survey_looks_for_what_arrived(
    client: FlaskClient, app: Flask, through: Survey
) -> None:
    app.extensions["deniably"].close_survey("through")
    answer = client.get("/s/through")

    assert "page-arrived.js" in answer.text
    assert f'data-digest="{through.digest}"' in answer.text
    script = static_files.text_of("form/arrived.js")
    assert set(re.findall(r'words\("([a-z_.]+)"', script)) <= set(brought(answer.text))
    assert "It takes no more answers" in answer.text
    usual = dict(SECURITY_HEADERS)["Content-Security-Policy"]
    assert answer.headers["Content-Security-Policy"] == usual


# --- what its code is made of ------------------------------------------------------------------

OF_MIXED = {"changes", "hasChanged", "receiptOf", "record", "recordSent", "remembered", "send"}
"""What other modules of the form take of ``form/mixed.js``."""


def test_all_that_the_form_takes_of_the_module_for_mixers_is_there() -> None:
    exported = re.findall(
        r"^export (?:async )?(?:function|const) (\w+)",
        static_files.text_of("form/mixed.js"), re.MULTILINE,
    )  # fmt: skip
    bundle = static_files.text_of("form/page-mixed.js")

    assert set(exported) == OF_MIXED
    for name in OF_MIXED:
        assert re.search(rf"\b{name}\b", bundle)


def test_no_other_form_has_anything_of_a_mixer() -> None:
    of_mixers = re.compile(r"deniably mix|octet-stream|sealed\.|/mixed/")

    assert of_mixers.search(static_files.text_of("form/page-mixed.js"))
    for name in ("page", "page-invited", "page-strata", "page-trial"):
        assert not of_mixers.search(static_files.text_of(f"form/{name}.js")), name
