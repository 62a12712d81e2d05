"""What a question's published counts give away to people who see nothing else.

A reader of the counts alone, who sees no single report, learns less than the epsilon of a report:
privacy amplification by shuffling. The module ``shuffle`` says where that ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, inf, log10, nextafter

from deniably.core.loss import Loss
from deniably.design.shuffle import PROVED, Clones, binary_epsilon, shuffled_epsilon
from deniably.mechanisms.law import Law, Supporting
from deniably.survey.mixer import Mixer
from deniably.survey.questions import Question
from deniably.survey.survey import Survey

DELTA = Fraction(1, 1_000_000)
"""The delta of the statement. Where it is above 1/(100 n), the largest power of ten that is
not is taken instead."""

_FAR = 100

_WORTH = 0.8
"""A figure above this part of the epsilon of a report is not worth a sentence."""


@dataclass(frozen=True)
class CountsAlone:
    """The privacy of the published counts of ``n`` honest reports: ``epsilon`` with ``delta``.

    ``full`` is the loss of one report. Where ``proved`` is false, the worst case over the other
    people's answers was searched for, without a proof that it is the worst, as
    ``shuffle.binary_delta`` explains.
    """

    n: int
    epsilon: float
    full: Loss
    proved: bool

    @property
    def delta(self) -> Fraction:
        """The probability with which the epsilon need not hold."""
        return chance_left(self.n)

    @property
    def sentence(self) -> str:
        """Sentences for readers of results that state the epsilon of the counts, and where it does
        not hold."""
        proved = (
            "" if self.proved else " The worst case behind this number was searched, not proved."
        )
        return (
            f"Somebody who sees only the counts of this question, and no report, learns less: among"
            f" {self.n:,} honest reports in hidden order they keep epsilon"
            f" {two_digits_up(self.epsilon)}, but for a chance of {_chance(self.delta)}.{proved}"
            " The server receives each report, and against it epsilon"
            f" {self.full.epsilon_text()} holds. Fake reports hide nobody. The epsilons and"
            " chances of several questions and waves add up, and tables of questions together are"
            " not covered."
        )


def chance_left(n: int) -> Fraction:
    """Returns the delta at which the privacy of counts of ``n`` reports is stated.

    It is a power of ten, at most one in a million and at most 1/(100 n).
    """
    return min(DELTA, Fraction(1, 10 ** len(str(_FAR * n - 1))))


def _chance(delta: Fraction) -> str:
    return "one in a million" if delta == DELTA else f"one in {delta.denominator:,}"


def counts_alone(survey: Survey, question: Question, n: int) -> CountsAlone | None:
    """Returns the privacy of the counts of ``n`` reports to a question.

    None where it is hardly better than the privacy of a single report. Also None for Gaussian
    noise, for which it is not proved here, and where everybody may have the reports themselves.
    None as well where results are shown while the survey is open: a reader can subtract earlier
    counts from later ones, and so sees a few reports at a time. None in a survey with a mixer: its
    claim holds for readers of counts, whoever else answers.
    """
    if survey.mixer or survey.results.while_open or survey.reports_to == "public":
        return None
    mechanism = question.report_mechanism
    full = mechanism.loss
    if full.delta or n < 1 or full.odds_bound <= 1:
        return None
    law = mechanism.law
    # The next float above, so that the epsilon of a report is not too small.
    epsilon, proved = _amplified(n, law, nextafter(full.epsilon, inf))
    if epsilon > _WORTH * full.epsilon:
        return None
    return CountsAlone(n, epsilon, full, proved)


def counts_notes(survey: Survey, n: int) -> list[str]:
    """Returns a sentence for each question on the privacy of the counts of ``n`` people's reports.

    If this can be stated for no question, the list has one sentence that says why.
    """
    reports = n * survey.asked // len(survey.questions)
    named = [(each.name, counts_alone(survey, each, reports)) for each in survey.questions]
    sentences = [f"{name}: {release.sentence}" for name, release in named if release is not None]
    if sentences:
        return sentences
    if isinstance(survey.mixer, Mixer):
        loss = survey.mixer.claim.loss
        return [
            f"Readers of the counts learn no more than the mixer's claim allows: epsilon"
            f" {loss.epsilon_text()} for all questions together, but for a chance of"
            f" {_chance(loss.delta)}."
        ]
    if survey.results.while_open:
        return [
            "Results are shown while the survey is open. A reader who notes them can subtract, and"
            " sees a few reports at a time: so counts are not known to protect more than each"
            " report does."
        ]
    if survey.reports_to == "public":
        return [
            "Everybody may have the reports of the closed survey, not only their counts. So each"
            " report protects itself, and nothing more is promised of the counts."
        ]
    return ["The counts of so many reports are not known to protect more than each report does."]


@lru_cache(maxsize=1024)
def _amplified(n: int, law: Law, epsilon0: float) -> tuple[float, bool]:
    """The epsilon, and whether it is proved."""
    delta = float(chance_left(n))
    # The number of "yes" among binary reports hides more than unordered reports do.
    if isinstance(law, Supporting) and law.binary:
        return binary_epsilon(n, epsilon0, delta), n <= PROVED
    return shuffled_epsilon(Clones.under(law, epsilon0), n, delta), True


def two_digits_up(value: float) -> str:
    """Returns a number above 0 with two significant digits, rounded up.

    >>> two_digits_up(0.08381), two_digits_up(1.2)
    ('0.084', '1.2')
    """
    places = max(0, 1 - floor(log10(value)))
    return f"{ceil(value * 10**places - 1e-9) / 10**places:.{places}f}"
