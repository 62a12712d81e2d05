"""Writes the form's first page as text: the form shows it, and authors read it before they publish.

What depends on the device, such as the privacy it has spent, is left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from types import MappingProxyType

from deniably.core.loss import Loss
from deniably.survey.guessing_rates import Guessing, guessing, rate_text
from deniably.survey.questions import OfChoices, Question
from deniably.survey.strata import stratum_text
from deniably.survey.survey import Survey
from deniably.survey.unique_reports import fewest_lines, lone_share
from deniably.wording import explain, mixer_page
from deniably.wording.words import Words

_SECONDS = 30
"""How long a question takes on average, with reading the first page."""
_LONGEST = 80
"""Characters of who asks; longer contacts are shown where all of it is."""
_READERS = {
    "analysts": "start.reports_analysts",
    "public": "start.reports_public",
    "never": "start.reports_never",
}
"""Who gets what is sent."""
_LABELS = {
    "one": ("guess.one", "receipt.one"),
    "all": ("guess.all", "receipt.all"),
    "waves": ("guess.waves", "receipt.waves"),
}
"""Of each mark: its label on the first page, and on the receipt."""
# A mail or web address, or five digits in a row with at most separators between: a telephone
# number.
_ADDRESS = re.compile(r"@|://|www\.|(?:\d[\s/().-]*){5}")


@dataclass(frozen=True)
class Mark:
    """A mark on the guessing scale: what is guessed, and how often such a guess is right, from
    ``low`` to ``high`` (probabilities). ``value`` is this range as a text, in guesses out of 100.

    ``of`` is "one" for guessing one answer, "all" for all answers of a report, and "waves" for
    those of all waves. ``label`` is the mark's name on the first page, and ``on_receipt`` its name
    on the receipt. In a survey with a mixer, ``both`` says whether server and mixer guess together,
    or the server alone.
    """

    of: str
    label: str
    on_receipt: str
    low: Fraction
    high: Fraction
    value: str
    both: bool = False


@dataclass(frozen=True)
class FirstPage:
    """The texts of the form's first page, in the order in which they are read; texts that a survey
    does not need are empty.

    ``by`` states who asks, how many questions, and how long it takes. ``marks`` are those of the
    guessing scale: one answer, then all answers, then all waves. In a survey with a mixer they are
    first those of the server alone, then those of both. ``meaning`` has paragraphs that explain the
    marks, the worst case, and how often it happens. ``own`` are the author's intro and contact.
    """

    title: str
    by: str
    promise: str
    doubt: str
    cues: tuple[str, str, str]
    heading: str
    marks: tuple[Mark, ...]
    meaning: tuple[str, ...]
    visible: str
    own: tuple[str, ...]
    invited: str
    strata: str

    @property
    def scales(self) -> list[tuple[Mark, ...]]:
        """The marks of each guessing scale: one scale, or with a mixer two."""
        parted = (tuple(mark for mark in self.marks if mark.both is both) for both in (False, True))
        return [marks for marks in parted if marks]

    @property
    def paragraphs(self) -> list[str]:
        """All texts of the page as paragraphs, for programs that cannot show the form."""
        marks = [f"{mark.label} {mark.value}" for mark in self.marks]
        texts = [self.title, self.by, self.promise, self.doubt, *self.cues, self.heading, *marks]
        texts += [*self.meaning, self.visible, self.invited, self.strata, *self.own]
        apart = (re.split(r"\n\s*\n", text) for text in texts)
        return [" ".join(text.split("\n")) for text in chain.from_iterable(apart) if text]


_NO_LOSSES: Mapping[str, Loss] = MappingProxyType({})


def first_page(
    survey: Survey, words: Words | None = None, losses: Mapping[str, Loss] = _NO_LOSSES
) -> FirstPage:
    """Returns the first page of a survey, in the language of ``words``, by default that of the
    survey.

    In a survey with a mixer, ``losses`` has for each question the loss of one answer against the
    survey's server alone (``answer_losses`` of ``deniably.design.mixer_plan``). Without it the page
    states the claim for all answers, which is larger.
    """
    words = words or Words(survey.language)
    rates = guessing(survey)
    weak = rates.often
    own = [text for text in (survey.intro, survey.contact) if isinstance(text, str)]
    page = FirstPage(
        title=survey.title,
        by=_by(survey, words),
        promise=words("start.promise"),
        doubt=words.graded("start.doubt", weak=weak),
        cues=(words("start.here"), _recipients(survey, words), words("start.many")),
        heading=words("guess.heading"),
        marks=tuple(_marks(survey, rates, words)),
        meaning=tuple(_meaning(survey, rates, words)),
        visible=words("start.visible"),
        own=tuple(own),
        invited=words("invited.promise") if survey.invited else "",
        strata=_strata(survey, words),
    )
    return _through_mixer(page, survey, words, losses) if survey.mixer else page


def _through_mixer(
    page: FirstPage, survey: Survey, words: Words, losses: Mapping[str, Loss]
) -> FirstPage:
    """Returns the page with what a mixer changes: who gets answers, and who guesses how well."""
    rates = mixer_page.mixer_rates(survey, losses)
    promise, doubt = mixer_page.mixer_promise(survey, words)
    adds, passes = mixer_page.mixer_cues(survey, _who(survey, words), words)
    alone, both = mixer_page.mixer_meaning(survey, rates, words)
    # In one paragraph: it is those two who could be so sure.
    both = " ".join([both, *_bound(rates.together, words), _worst(survey, rates.together, words)])
    return replace(
        page,
        promise=promise,
        doubt=doubt,
        cues=(words("start.here"), adds, passes),
        heading=words("mixer.heading"),
        marks=tuple(_marks_of_two(survey, rates, words)),
        meaning=(alone, both, *_choices(survey, words)),
        visible=mixer_page.mixer_visible(survey, words),
    )


def _strata(survey: Survey, words: Words) -> str:
    """Says that the group is known, and lists all groups; the form says which one the link has."""
    if not survey.strata:
        return ""
    comma = words("fields.comma")
    groups = [stratum_text(stratum, comma) for stratum in survey.every_stratum]
    return f"{words('strata.told')} {words('fields.semicolon').join(groups)}"


def who_asks(survey: Survey) -> str:
    """Returns who is responsible for a survey: the first line of its contact, without addresses
    and telephone numbers. Returns an empty text if the survey has no contact, or if the line is
    longer than 80 characters."""
    lines = survey.contact.strip().splitlines() if isinstance(survey.contact, str) else []
    parts = re.split(r"\s*[,;·|<>]\s*|\s+[–—-]\s+", lines[0]) if lines else []
    who = ", ".join(part for part in parts if part and not _ADDRESS.search(part))
    return who if len(who) <= _LONGEST else ""


def _recipients(survey: Survey, words: Words) -> str:
    """Who gets what is sent, and that no name goes with it."""
    return words(_READERS[survey.results.reports_to], who=_who(survey, words))


def _who(survey: Survey, words: Words) -> str:
    return who_asks(survey) or words("start.researchers")


def _by(survey: Survey, words: Words) -> str:
    count = len(survey.questions)
    if survey.asked < count:
        questions = words("start.some", count=survey.asked, all=count)
    else:
        questions = words("start.questions", count=count)
    minutes = -(-survey.asked * _SECONDS // 60)
    what = words("start.minutes", what=questions, count=minutes)
    who = who_asks(survey)
    return f"{words.isolated(who)} · {what}" if who else what


def _marks(survey: Survey, rates: Guessing, words: Words) -> Iterator[Mark]:
    def mark(of: str, low: Fraction, high: Fraction) -> Mark:
        label, receipt = (words(key, count=survey.asked) for key in _LABELS[of])
        return Mark(of, label, receipt, low, high, rates_text(low, high, words))

    yield mark("one", rates.lowest, rates.highest)
    if survey.asked > 1:
        yield mark("all", rates.together, rates.together)
    if rates.waves is not None:
        yield mark("waves", rates.waves, rates.waves)


def _marks_of_two(survey: Survey, rates: mixer_page.MixerRates, words: Words) -> Iterator[Mark]:
    """The marks of the survey's server alone, and those of server and mixer together."""
    alone = (min(rates.one), max(rates.one), rates.all)
    together = (rates.together.lowest, rates.together.highest, rates.together.together)
    for both, one, every, (low, high, all_) in (
        (False, "mixer.alone_one", "mixer.alone_all", alone),
        (True, "mixer.both_one", "mixer.both_all", together),
    ):
        text = words(one)
        yield Mark("one", text, text, low, high, rates_text(low, high, words), both)
        if survey.asked > 1:
            text = words(every, count=survey.asked)
            yield Mark("all", text, text, all_, all_, rates_text(all_, all_, words), both)


def rates_text(low: Fraction, high: Fraction, words: Words) -> str:
    """Returns two guessing rates, ``low`` and ``high``, as a text out of 100, such as "60–75"; a
    single number if both round to the same."""
    first, last = (words.number(rate_text(rate)) for rate in (low, high))
    return first if first == last else f"{first}–{last}"


def _meaning(survey: Survey, rates: Guessing, words: Words) -> Iterator[str]:
    yield words("guess.say_one", rate=rates_text(rates.lowest, rates.highest, words))
    if survey.asked > 1:
        rate = rate_text(rates.together)
        no_more = rate == rate_text(rates.highest)
        key = "guess.say_all_no_more" if no_more else "guess.say_all"
        yield words(key, count=survey.asked, rate=rate)
    yield from explain.describe_waves(survey, words)
    if rates.waves is not None:
        yield words("guess.say_waves", rate=rate_text(rates.waves))
    yield from _bound(rates, words)
    yield _worst(survey, rates, words)
    if survey.results.reports_to == "public":
        yield from _lone_lines(survey, words)
    yield from _choices(survey, words)


def _bound(rates: Guessing, words: Words) -> Iterator[str]:
    if not rates.exact:
        yield words("guess.bound")


def _choices(survey: Survey, words: Words) -> Iterator[str]:
    """What everybody can do instead."""
    if any("prefer_not_to_say" in _names(question) for question in survey.questions):
        yield words("guess.prefer", choice=words("choice.prefer_not_to_say"))
    yield words("guess.do")


def _worst(survey: Survey, rates: Guessing, words: Words) -> str:
    few, people = so_many(rates.luck)
    values = {"few": few, "all": people, "rate": rate_text(rates.worst)}
    return explain.at_most(survey.history, "guess.say_worst", words, **values)


def so_many(chance: Fraction) -> tuple[int, int]:
    """Returns a probability as (N, people): N of 100 people, rounded up. If that would be less
    than one person, ``people`` is a larger power of ten, up to a million.

    >>> so_many(Fraction(11, 16)), so_many(Fraction(1, 730))
    ((69, 100), (2, 1000))
    """
    people = 100
    while chance * people < 1 and people < 1_000_000:
        people *= 10
    # Up, so that a text never promises a smaller chance than there is.
    return math.ceil(chance * people), people


def _lone_lines(survey: Survey, words: Words) -> Iterator[str]:
    lines = fewest_lines(survey)
    alone = round(lines * lone_share(survey, lines))
    if alone:
        yield words("start.lone_lines", alone=alone, lines=lines)


def _names(question: Question) -> list[str]:
    if isinstance(question, OfChoices):
        return [choice.name for choice in question.choices]
    return []
