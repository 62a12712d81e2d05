"""The form's first page as text, so that authors can read it before they publish."""

from __future__ import annotations

from deniably.survey.survey import Survey
from deniably.wording import explain
from deniably.wording.words import Words


def first_page(survey: Survey) -> list[str]:
    """The paragraphs of the form's first page, in the survey's language and in the form's words.

    What depends on the device, such as the privacy it has spent, is left out.
    """
    words, weak = Words(survey.language), explain.weak(survey.history)
    seen = [
        ("start.you", words("start.you_see")),
        ("start.researcher", words.graded("start.researcher_sees", weak=weak)),
        ("start.server", words.graded("start.server_sees", weak=weak)),
        ("start.network", words("start.network_sees")),
    ]
    own = [text for text in (survey.intro, survey.contact) if isinstance(text, str)]
    total = explain.describe_total(survey, words)
    return [
        survey.title,
        words("start.label"),
        *(words("script.pair", name=words(who), text=what) for who, what in seen),
        words("start.process"),
        *([total] if weak else []),
        *own,
        *([words("invited.promise")] if survey.invited else []),
        _count(survey, words),
        *([] if weak else [total]),
    ]


def _count(survey: Survey, words: Words) -> str:
    count = len(survey.questions)
    if survey.asked < count:
        return words("start.some", count=survey.asked, all=count)
    return words("start.questions", count=count)
