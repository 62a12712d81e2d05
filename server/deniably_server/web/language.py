"""The language of a respondent's page, and which of its texts are in another one."""

from __future__ import annotations

import json

from flask import request
from markupsafe import Markup

from deniably.survey.survey import Survey
from deniably.wording.words import LANGUAGES, Words, direction

_FOR_SCRIPTS = ("script.", "number.")
_FOR_FIELDS = "fields."
_FOR_INVITED = "invited."


def chosen(survey: Survey) -> Words:
    """The words that the respondent chose (``?language=de``), else those of the survey."""
    wanted = request.args.get("language", "")
    return Words(wanted if wanted in LANGUAGES else survey.language)


def asked_for() -> Words:
    """The words that the browser asks for: for a page that belongs to no survey."""
    return Words(request.accept_languages.best_match(LANGUAGES) or "en")


def survey_texts(survey: Survey, words: Words) -> Markup:
    """The attributes of the survey's own texts, where the page is in another language."""
    if survey.language == words.language:
        return Markup("")
    return Markup(' lang="{}" dir="{}"').format(survey.language, direction(survey.language))


def interface_texts(survey: Survey, words: Words) -> Markup:
    """The attributes of the interface's texts that stand among those of the survey."""
    if not survey_texts(survey, words):
        return Markup("")
    return Markup(' lang="{}" dir="ltr"').format(words.language)


def for_scripts(words: Words, *, fields: bool, invited: bool) -> str:
    """The texts that scripts need, as JSON; those of ticks and numbers, and of invitations, where
    there are such."""
    some = [*_FOR_SCRIPTS, *[_FOR_FIELDS] * fields, *[_FOR_INVITED] * invited]
    texts = words.some(*some)
    return json.dumps(texts, ensure_ascii=False, separators=(",", ":"))
