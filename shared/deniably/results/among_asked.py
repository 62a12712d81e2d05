"""Computes what those who were asked a question with ``show_if`` answered, and states it in
sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deniably.core.errors import TravelledApart
from deniably.estimation.inversion import Mean
from deniably.estimation.shares_among_asked import (
    AmongAsked,
    FollowUp,
    FollowUpCounts,
    ShareAmong,
    among_asked,
    counts_alone,
    expected_alone,
    follow_ups,
    told_alone,
)
from deniably.estimation.tally import Tally
from deniably.results import narrative
from deniably.results.bands import band, bands
from deniably.results.document import (
    AmongAskedResult,
    AmongChoiceResult,
    ShareAskedResult,
)
from deniably.results.drawing import rounding
from deniably.results.drawing.rounding import Reading
from deniably.survey.questions import Question
from deniably.survey.readable import rounded, short_label
from deniably.survey.survey import Survey, show_if

UNTOLD = "What those who were asked answered cannot be told from these reports."
_OF_THESE = "Of those who were asked, "
OF_EVERYBODY = "Shares of everybody: “Not applicable” is of those who were not asked"
"""The note wherever shares of a question with ``show_if`` are of all people, and not of those who
were asked."""
_TESTS_ALIKE = (
    "Two answers are as frequent among those who were asked exactly where they are among everybody,"
    " so the tests are of both; only the points are fewer."
)
_CLOSE = 1.01  # numbers of people are rounded to two digits
OF_THOSE_ASKED = "Shares of those who were asked"


def of_everybody(question: Question) -> str:
    """Returns a note that the shares of a question with ``show_if`` are shares of all people, and
    not only of those who were asked the question; an empty string for a question that everybody is
    asked."""
    return f"{OF_EVERYBODY}." if show_if(question) else ""


def of_whom(question: Question, *, asked: bool) -> str:
    """Returns a note on whose shares are stated for a question with ``show_if``: with ``asked``
    shares of those who were asked, otherwise shares of all people. Returns an empty string for
    other questions."""
    if not show_if(question):
        return ""
    return f"{OF_THOSE_ASKED}." if asked else of_everybody(question)


def of_pairs(question: Question) -> str:
    """Returns a note for tests that compare two answers to a question with ``show_if``. The note
    says that shares of all people are tested, and that a test among those who were asked would
    have the same result. Returns an empty string for other questions."""
    text = of_everybody(question)
    return text and f"{text} {_TESTS_ALIKE}"


@dataclass(frozen=True, eq=False)
class FollowUpReports:
    """The reports to a question with ``show_if``, which is asked only after certain answers to an
    earlier question. ``pairs`` has the joint counts of the reports to both questions; None where
    only the tally of the later question is known."""

    follow_up: FollowUp
    pairs: FollowUpCounts | None = None

    def estimate(self, tally: Tally, confidence: float) -> AmongAsked | None:
        """Returns the estimated shares among those who were asked, with intervals at
        ``confidence``; None where the reports do not determine them."""
        if self.pairs is None and not told_alone(self.follow_up, tally):
            return None
        # A tally alone still tells the shares, only less exactly: "not applicable" is a choice.
        counts = self.pairs or counts_alone(self.follow_up, tally)
        return among_asked(self.follow_up, counts, confidence)

    def result(self, tally: Tally, confidence: float) -> AmongAskedResult | None:
        """Returns the estimated shares among those who were asked, in the form that the results
        document has; None where the reports do not determine the shares."""
        estimates = self.estimate(tally, confidence)
        return None if estimates is None else self.shown(estimates, confidence)

    def shown(self, estimates: AmongAsked, confidence: float) -> AmongAskedResult:
        """Returns ``estimates`` in the form that the results document has, with rounded
        numbers."""
        follow_up = self.follow_up
        choices = [follow_up.question.choices[answer] for answer in follow_up.answers]
        return AmongAskedResult(
            question=follow_up.decides.name,
            answers=[follow_up.choices_that_lead[answer].name for answer in follow_up.among],
            reports="this question" if estimates.alone else "both questions",
            asked=_share_asked(estimates.asked, confidence),
            choices=[
                _of_choice(choice.name, choice.label, share, confidence, len(choices))
                for choice, share in zip(choices, estimates.shares, strict=True)
            ],
        )


def followed(
    survey: Survey, question: str, together: Mapping[str, FollowUpCounts] | None
) -> FollowUpReports | None:
    """Returns the reports to ``question`` if the question has ``show_if``, otherwise None.
    ``together`` has joint counts by the name of a question, as in ``FollowUpReports.pairs``; a
    question may be missing there."""
    follow_up = follow_ups(survey).get(question)
    return None if follow_up is None else FollowUpReports(follow_up, (together or {}).get(question))


def _share_asked(share: Mean, confidence: float) -> ShareAskedResult:
    margin = share.margin_at(confidence)
    eighty, fifty = bands(margin.ends, lambda level: share.margin_at(level).ends, confidence)
    return ShareAskedResult(
        estimate=rounded(share.estimate),
        standard_error=rounded(margin.standard_error),
        interval=[rounded(margin.low), rounded(margin.high)],
        interval_80=band(eighty),
        interval_50=band(fifty),
    )


def _of_choice(
    name: str, label: str, share: ShareAmong, confidence: float, choices: int
) -> AmongChoiceResult:
    known = share.estimate is not None
    eighty, fifty = bands(share.ends(confidence), share.ends, confidence)
    # Bonferroni: at 1 - risk / choices each, all intervals hold together with ``confidence``.
    low, high = share.interval(1 - (1 - confidence) / choices)
    return AmongChoiceResult(
        name=name,
        label=label,
        estimate=None if share.estimate is None else rounded(share.estimate),
        standard_error=None if share.standard_error is None else rounded(share.standard_error),
        interval=[rounded(share.low), rounded(share.high)],
        interval_80=band(eighty) if known else None,
        interval_50=band(fifty) if known else None,
        # Two intervals of different levels are found apart, so the wider is made to contain the
        # other.
        joint_interval=[rounded(min(low, share.low)), rounded(max(high, share.high))],
    )


# --- words ------------------------------------------------------------------------------------


def headline(among: AmongAskedResult, confidence: float) -> str:
    """Returns a sentence that states the main result among those who were asked."""
    choices = among.choices
    # Yes and no are stated as they are; the leader of several answers was picked by its estimate.
    first = leader(among)
    if first is None:
        return UNTOLD
    choice = choices[first]
    reading = reading_of(choice)
    if narrative.asks_yes_or_no([choice.name for choice in choices]):
        return _of_these(narrative.answered(choice.label, reading, confidence))
    about = narrative.about(reading, confidence)
    if is_clear(among, first):
        return f"{_OF_THESE}“{choice.label}” is the most frequent answer: {about}."
    return (
        f"{_OF_THESE}no answer is clearly in front. The highest estimate is “{choice.label}”,"
        f" {about}."
    )


def leader(among: AmongAskedResult) -> int | None:
    """Returns the index of the answer that the headline is about: for yes or no the first answer,
    otherwise the one with the highest estimate. None where no estimate is known."""
    estimates = [choice.estimate for choice in among.choices]
    if narrative.asks_yes_or_no([choice.name for choice in among.choices]):
        return None if reading_of(among.choices[0]).state == "unknown" else 0
    known = [
        place for place, choice in enumerate(among.choices) if reading_of(choice).state != "unknown"
    ]
    return max(known, key=lambda place: estimates[place] or 0.0) if known else None


def is_clear(among: AmongAskedResult, first: int) -> bool:
    """Returns whether the answer with index ``first`` leads all others, judged by intervals that
    hold for all answers at once."""
    return narrative.is_in_front(first, [choice.joint_interval for choice in among.choices])


def share_asked_sentence(among: AmongAskedResult, confidence: float, follow_up: FollowUp) -> str:
    """Returns a sentence that states how many people were asked the question, and which answers to
    the earlier question they gave."""
    reading = rounding.share(among.asked.estimate, among.asked.interval)
    whom = f"those who answered {_whom(follow_up)} to “{short_label(follow_up.decides)}”"
    match reading.state:
        case "known" | "above":
            many = narrative.about(reading, confidence)
            return f"{many[0].upper()}{many[1:]} were asked: {whom}."
        case "below":
            return f"Few were asked, {whom}: {reading.value} of everybody, and maybe nobody."
        case "unknown":
            return f"How many were asked, {whom}, cannot be told."


def _whom(follow_up: FollowUp) -> str:
    labels = [f"“{follow_up.choices_that_lead[answer].label}”" for answer in follow_up.among]
    return labels[0] if len(labels) == 1 else f"{', '.join(labels[:-1])} or {labels[-1]}"


def known_alone(among: AmongAskedResult, follow_up: FollowUp, *, mixed: bool = False) -> list[str]:
    """Returns a list with one sentence if only the reports to this question were used: the reports
    to the earlier question would make the intervals narrower. Returns an empty list if the reports
    to both questions were used. Where they were ``mixed``, by a mixer, nobody has both."""
    if among.reports == "both questions":
        return []
    if mixed:
        return [f"These shares rest on the reports to this question alone. {TravelledApart()}"]
    return [
        "These shares rest on the reports to this question alone, and their intervals are wider"
        f" than need be. Whole reports, with the answers to “{follow_up.decides.label}” beside"
        " them, tell more: results of a closed survey and studies of its reports read them."
    ]


def too_wide(
    among: AmongAskedResult, reports: FollowUpReports, tally: Tally, confidence: float
) -> list[str]:
    """Returns a list with one sentence that states how many respondents would bring every share
    within the wanted margin. Empty where all intervals are narrow enough already. ``among`` was
    estimated from the ``tally`` and the ``reports``."""
    # An answer without an estimate has an interval that says nothing about how many people help.
    known = [place for place, choice in enumerate(among.choices) if choice.estimate is not None]
    ends = [among.choices[place].interval for place in known]
    half = max(((high - low) / 2 for low, high in ends), default=0.0)
    if half <= narrative.WIDEST_USEFUL:
        return []
    # A margin shrinks with the root of the number of respondents, and faster among blanks.
    wanted = narrative.people_for(tally.n, half / narrative.WANTED)
    if tally.blanks:
        wanted = _enough_among_blanks(reports.follow_up, known, tally, wanted, confidence)
    return [
        f"About {narrative.rounded_up(wanted):,} respondents, asked or not, would bring each of"
        f" these shares within ±{100 * narrative.WANTED:.0f} points."
    ]


def _enough_among_blanks(
    follow_up: FollowUp, known: Sequence[int], tally: Tally, enough: float, confidence: float
) -> float:
    """The fewest people whose shares at ``known`` places are expected within the wanted margin;
    ``enough`` are more than that."""
    few, many = float(tally.n), enough
    while many > few * _CLOSE:
        middle = (few * many) ** 0.5
        expected = expected_alone(follow_up, tally, round(middle))
        estimates = among_asked(follow_up, expected, confidence)
        assert estimates is not None  # as these reports determine the shares
        ends = [estimates.shares[place].interval(confidence) for place in known]
        near = max(high - low for low, high in ends) / 2 <= narrative.WANTED
        few, many = (few, middle) if near else (middle, many)
    return many


def reading_of(choice: AmongChoiceResult) -> Reading:
    """Returns the estimated share of a choice among those who were asked, rounded for readers."""
    if choice.estimate is None:
        return rounding.share_untold(choice.interval)
    return rounding.share(choice.estimate, choice.interval)


def _of_these(sentence: str) -> str:
    return f"{_OF_THESE}{sentence[0].lower()}{sentence[1:]}"
