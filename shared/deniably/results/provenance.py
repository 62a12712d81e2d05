"""Writes the notes in a figure for a paper: where its numbers are from, and how answers are
protected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import UNSET

from deniably.core.counting import people
from deniably.results.document import QuestionResult, SurveyResult
from deniably.results.narrative import delta_text, level_text
from deniably.survey.questions import Question
from deniably.survey.strata import Stratum, titled
from deniably.survey.survey import Survey

SAMPLE = "Intervals are for a population that the respondents are a random sample of."
_DIGITS = 12
"""The number of digits of a digest that are shown; enough to find its definition."""


@dataclass(frozen=True)
class ResultsSource:
    """The survey that the numbers of a figure are from, and its state when the figure was drawn.

    ``closed`` is the day on which the survey was closed, such as "2026-11-22", empty if not known.
    ``epsilon`` is that of one report to all questions. ``history`` is the epsilon of all waves,
    empty in a survey without waves. ``mixed`` has the epsilon and delta against the survey's server
    alone, in words; empty in a survey without a mixer.
    """

    survey: str
    title: str
    digest: str
    state: str
    n: int
    epsilon: str
    history: str = ""
    closed: str = ""
    mixed: str = ""

    @classmethod
    def of_result(cls, result: SurveyResult, closed: str = "") -> ResultsSource:
        """Returns the source of figures that are drawn from a document of results."""
        return cls(
            result.survey, result.title, result.digest, result.state, result.n,
            result.total["epsilon"], result.total.get("history", ""), closed,
            f"{result.mixed.epsilon} (delta {result.mixed.delta})" if result.mixed else "",
        )  # fmt: skip

    @classmethod
    def of_survey(
        cls, survey: Survey, state: str, n: int, closed: str = "", strata: Stratum | None = None
    ) -> ResultsSource:
        """Returns the source of figures about a survey with ``n`` reports. With ``strata`` the
        figures are about the subgroup that has these values."""
        history = survey.history.epsilon_text() if survey.waves else ""
        loss = survey.server_loss
        mixed = f"{loss.epsilon_text()} (delta {delta_text(loss.delta)})" if survey.mixer else ""
        return cls(
            survey.name, titled(survey.title, strata), survey.digest, state, n,
            survey.total.epsilon_text(), history, closed, mixed,
        )  # fmt: skip

    @property
    def besides(self) -> str:
        """A clause that begins with a comma: it states the epsilon of all waves, or the one that
        holds against the server alone where there is a mixer. Empty in all other surveys."""
        if self.mixed:
            return f", {self.mixed} against the survey's server without its mixer"
        return f", {self.history} over all waves" if self.history else ""

    @property
    def note(self) -> str:
        """A sentence that names the survey, the start of its digest, the number of people, and the
        day of closing or that the survey is still open."""
        until = f"closed {self.closed}".strip() if self.state == "closed" else "still open"
        return (
            f"Source: {self.title}, survey {self.survey} ({self.digest[:_DIGITS]}),"
            f" {people(self.n)}, {until}. Made with Deniably."
        )


@dataclass(frozen=True)
class Protection:
    """How the answers to a question are protected: the mechanism in words, and its epsilon and
    delta as text. ``delta`` is empty if it is 0."""

    method: str
    epsilon: str
    delta: str = ""

    @classmethod
    def of_result(cls, question: QuestionResult) -> Protection:
        """Returns the protection that a document of results states for a question."""
        delta = "" if question.delta is UNSET else question.delta
        return cls(question.method, question.epsilon, delta)

    @classmethod
    def of_question(cls, question: Question) -> Protection:
        """Returns the protection that a survey's definition states for a question."""
        loss = question.mechanism.loss
        delta = delta_text(loss.delta) if loss.delta else ""
        return cls(question.mechanism.described, loss.epsilon_text(), delta)

    @property
    def words(self) -> str:
        """Epsilon and delta in words."""
        return f"epsilon {self.epsilon}" + (f", delta {self.delta}" if self.delta else "")


def privacy(source: ResultsSource, protections: Sequence[Protection]) -> str:
    """Returns a note that states each of the ``protections`` of one or more questions once, and
    the epsilon of one person."""
    # Each protection once, in the order of the questions.
    different = list(dict.fromkeys(protections))
    methods = "; ".join(f"{protection.method}, {protection.words}" for protection in different)
    which = "this question"
    if len(protections) > 1:
        which = "each question" if len(different) == 1 else "these questions"
    return (
        f"Local differential privacy: {methods} for {which} and {source.epsilon} a"
        f" person{source.besides}."
    )


def legend(
    confidence: float, dots: str = "open where the interval reaches an end of the scale"
) -> str:
    """Returns a sentence that explains dots, lines and bands; ``dots`` says which dots are open."""
    levels = [level_text(level) for level in (0.8, 0.5) if level < confidence]
    bands = f"; bands: {' and '.join(levels)}" if levels else ""
    return f"Dots: unbiased estimates; {dots}. Lines: {level_text(confidence)} intervals{bands}."
