"""Writes the first page of a dossier: what an ethics board has to know, in its language and without
formulas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from deniably.authoring.compiling import STUDY_FACTS
from deniably.design.mixer_plan import answer_losses
from deniably.lab.dossier_words import Summary
from deniably.survey.guessing_rates import guessing, rate_text
from deniably.survey.readable import short_label
from deniably.survey.survey import Survey
from deniably.wording.first_page import first_page
from deniably.wording.words import Words

_BLANK = "_" * 36
_ROOM = 400
"""The largest number of characters of all questions together that the summary prints in full."""
_FACTS = {
    "controller": "study.controller",
    "legal_basis": "study.legal_basis",
    "retention": "study.retention",
    "consent": "study.consent",
}
_CHECKED = {
    "proved": "dossier.checked_proved",
    "replayed": "dossier.checked_replayed",
    "in part": "dossier.checked_part",
    "counted": "dossier.checked_counted",
    "failed": "dossier.checked_failed",
}


def summary(
    survey: Survey,
    words: Words,
    *,
    facts: Mapping[str, str],
    n: int,
    margin: float | None,
    outcome: str,
) -> Summary:
    """Returns the summary for ``n`` respondents. ``margin`` is the half-width of the interval of
    the least precise result, as a share; None leaves it out.

    ``facts`` are what the author states about the study, by key; the page has a blank line for
    each missing fact. ``outcome`` is the outcome of the audit: "proved", "replayed", "in part",
    "counted" or "failed".
    """
    sent, told, who = _of_mixer(survey, words) if survey.mixer else _direct(survey, words)
    lines = [
        (words("dossier.asked"), _questions(survey, words)),
        (words("dossier.sent"), sent),
        (words("dossier.told"), told),
        (words("dossier.who"), who),
        (words("dossier.readers"), _readers(survey, words)),
    ]
    if margin is not None:
        points = words.decimal(f"{100 * margin:.1f}")
        lines.append((words("dossier.worth"), words("dossier.worth_text", count=n, margin=points)))
    verdict = words(_CHECKED[outcome])
    lines += [
        (words("dossier.checked"), verdict),
        (words("dossier.open_risks"), words("dossier.open_risks_text")),
    ]
    blank = f"{_BLANK} ({words('dossier.blank')})"
    for key in STUDY_FACTS:
        # Labels end in a colon, which a table does not need.
        label = words(_FACTS[key], text="").rstrip(" \N{NO-BREAK SPACE}:：")
        lines.append((label, facts.get(key) or blank))
    contact = survey.contact if isinstance(survey.contact, str) else blank
    lines += [(words("dossier.contact"), contact), (words("dossier.signed"), _BLANK)]
    return Summary(words.language, words("dossier.summary"), lines, words("dossier.details"))


def _questions(survey: Survey, words: Words) -> str:
    """Who asks, how many questions, and each of them: word by word, as far as the page has room."""
    listed = " · ".join(question.label for question in survey.questions)
    if len(listed) > _ROOM:
        listed = " · ".join(short_label(question) for question in survey.questions)
    return f"{survey.title}. {first_page(survey, words).by}. {listed}"


def _direct(survey: Survey, words: Words) -> tuple[str, str, str]:
    """What leaves a device, what that tells, and who sees what."""
    told = " ".join(_guessing_rates(survey, words))
    return words("dossier.sent_text"), told, words("dossier.who_text")


def _of_mixer(survey: Survey, words: Words) -> tuple[str, str, str]:
    """The same, in the words of the form's first page."""
    page = first_page(survey, words, answer_losses(survey))
    told, who = page.meaning[:2], (*page.cues[1:], page.visible)
    return f"{page.promise} {page.doubt}", " ".join(told), " ".join(who)


def _guessing_rates(survey: Survey, words: Words) -> Iterator[str]:
    rates = guessing(survey)
    yield words("dossier.told_one", rate=rate_text(rates.highest), worst=rate_text(rates.worst))
    if survey.asked > 1:
        yield words("dossier.told_all", count=survey.asked, rate=rate_text(rates.together))
    if rates.waves is not None:
        yield words("dossier.told_waves", rate=rate_text(rates.waves))


def _readers(survey: Survey, words: Words) -> str:
    for_analysts = survey.results.to == "analysts"
    who = "dossier.readers_analysts" if for_analysts else "dossier.readers_all"
    return words(who, count=survey.results.first_shown)
