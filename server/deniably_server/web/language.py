"""Chooses the language of a respondent's page, and marks up texts in another language."""

from __future__ import annotations

import json
from collections.abc import Mapping

from flask import request

from deniably.core.languages.html import Html
from deniably.survey.survey import Survey
from deniably.wording.words import LANGUAGES, Text, Words, direction

# The beginnings of the keys of texts that scripts of the form use.
_FOR_SCRIPTS = ("script.", "number.")
_FOR_FIELDS = "fields."
_FOR_INVITED = "invited."
_FOR_SEALED = "sealed."
_SEALED = {
    "script.waiting": "sealed.waiting",
    "script.queued": "sealed.queued",
    "script.unreachable": "sealed.unreachable",
    "script.rejected": "sealed.rejected",
}
"""In a survey with a mixer: the texts of another party than the server that shows the form."""


def chosen(survey: Survey) -> Words:
    """Returns the texts of the interface in the language that the query names (``?language=de``),
    else in the survey's language."""
    code = request.args.get("language", "")
    return Words(code if code in LANGUAGES else survey.language)


def asked_for() -> Words:
    """Returns the texts of the interface in the language that the query names, else in one that the
    browser accepts, else in English: for a page that belongs to no survey."""
    code = request.args.get("language", "")
    return Words(
        code if code in LANGUAGES else request.accept_languages.best_match(LANGUAGES) or "en"
    )


def survey_texts(survey: Survey, words: Words) -> Html:
    """Returns the attributes ``lang`` and ``dir`` for the survey's texts; empty if the page is in
    the same language."""
    if survey.language == words.language:
        return Html()
    return Html.filled(
        ' lang="{language}" dir="{side}"',
        language=Html.text(survey.language), side=Html.text(direction(survey.language)),
    )  # fmt: skip


def interface_texts(survey: Survey, words: Words) -> Html:
    """Returns the attributes ``lang`` and ``dir`` for texts of the interface within texts of the
    survey; empty if both are in the same language."""
    if not survey_texts(survey, words):
        return Html()
    return Html.filled(
        ' lang="{language}" dir="{side}"',
        language=Html.text(words.language), side=Html.text(words.direction),
    )  # fmt: skip


def for_scripts(words: Words, *, fields: bool, invited: bool, sealed: bool = False) -> str:
    """Returns the texts that the form's scripts need, as a JSON object by key.

    ``fields`` adds the texts of questions with ticks or numbers, ``invited`` those of invitations,
    ``sealed`` those of sealed answers, which go to a mixer.
    """
    prefixes = [*_FOR_SCRIPTS, *[_FOR_FIELDS] * fields, *[_FOR_INVITED] * invited]
    texts = words.some(*prefixes)
    if sealed:
        own = words.some(_FOR_SEALED)
        texts |= {key: own.pop(instead) for key, instead in _SEALED.items()} | own
    return _as_data(texts)


def for_closed(words: Words) -> str:
    """Returns the texts that a closed survey's page needs to say whether answers arrived, as a JSON
    object by key."""
    return _as_data(words.some("arrived.", "number."))


def _as_data(texts: Mapping[str, Text]) -> str:
    """Returns texts as a JSON object by key."""
    return json.dumps(texts, ensure_ascii=False, separators=(",", ":"))
