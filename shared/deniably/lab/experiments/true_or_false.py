"""Experiment L16: statements about differential privacy from the literature, each judged by a
computed number.

No verdict is stored: each statement has a stated number and a function that computes the true one
with the shipped code, and the verdict compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count as numbers_from
from math import exp, expm1, isclose, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from deniably.core.table import Cell
from deniably.design.best_mechanisms import warner
from deniably.design.composition import kairouz_delta, kairouz_epsilon
from deniably.estimation.scores import of_choice
from deniably.lab.catalogue import experiment
from deniably.lab.curator import (
    Added,
    ClassicalGaussNoise,
    GaussNoise,
    LaplaceNoise,
    Proposal,
    count,
)
from deniably.lab.example_questions import question as example_question
from deniably.lab.experiment import ExperimentFindings, Reference
from deniably.lab.experiments.adding_up import textbook
from deniably.lab.picture import Picture, bar, column, value
from deniably.results.drawing.axes import of_ratios
from deniably.results.drawing.graph import Bars
from deniably.survey.privacy import Privacy

_ONE = Privacy(epsilon=Fraction(1))
_DELTA = 1e-5
_PEOPLE = 1000


@dataclass(frozen=True)
class Statement:
    """A statement to check: ``said`` is the number that it states, ``found()`` computes the true
    number, and ``holds(true, stated)`` returns whether the stated number is right.

    ``name`` is a few words for the picture, ``because()`` returns the reason in words, and ``see``
    is the name of an experiment on the same subject.
    """

    name: str
    text: str
    said: float
    found: Callable[[], float]
    because: Callable[[], str]
    see: str
    # Numbers in texts have two or three digits.
    holds: Callable[[float, float], bool] = lambda exact, stated: isclose(
        exact, stated, rel_tol=5e-3
    )

    def judged(self, number: int) -> dict[str, Cell]:
        """Returns the row of the table for this statement: its ``number``, both values and the
        verdict."""
        exact = self.found()
        return {
            "what": "statement",
            "number": number,
            "name": self.name,
            "statement": self.text,
            "said": self.said,
            "exact": exact,
            "times": exact / self.said,
            "verdict": "true" if self.holds(exact, self.said) else "false",
            "because": self.because(),
            "see": self.see,
        }


@experiment(
    "True or false",
    "Which of these statements, all found in texts, are true?",
    [
        Reference("Dwork and Roth", 2014, "The Algorithmic Foundations of Differential Privacy"),
        Reference("Kasiviswanathan and Smith", 2014, "On the semantics of differential privacy, J."
               " Privacy and Confidentiality 6:1, on delta"),
        Reference("Kairouz, Oh and Viswanath", 2015, "The composition theorem for differential"
               " privacy, ICML"),
        Reference("Balle and Wang", 2018, "ICML, theorem 8: the least Gaussian noise"),
        Reference("Vadhan", 2017, "The complexity of differential privacy, proposition 3.2"),
    ],
)  # fmt: skip
def true_or_false() -> ExperimentFindings:
    """Lists thirteen statements and five questions on differential privacy, with the right
    answers."""
    rows = [statement.judged(number) for number, statement in enumerate(STATEMENTS, 1)]
    kinds = {
        verdict: sum(row["verdict"] == verdict for row in rows) for verdict in ("true", "false")
    }
    questions = [_sensitive(), _depends(), _stronger(), _called(), _many()]
    verdicts: dict[str, Cell] = {"what": "verdicts", **kinds}
    answer = (
        f"Of {len(rows)} statements found in texts, {kinds['true']} are true and"
        f" {kinds['false']} are false. The first says that odds of three to one are epsilon"
        f" {_short(rows[0], 'said')}, but they are epsilon {value(rows[0], 'exact'):.4f}."
    )
    bars = [
        bar(row, f"{row['number']} {row['name']}", "times",
            f"said {_short(row, 'said')}, is {_short(row, 'exact')}",
            "mark" if row["verdict"] == "true" else "warn")
        for row in rows
    ]  # fmt: skip
    times = column(rows, "times")
    picture = Picture(
        "The true value as a multiple of the stated one: 1 is the same",
        Bars(of_ratios([0.01, *times]), "times what was said", bars),
    )
    return ExperimentFindings(
        answer, [*rows, *questions, verdicts], [picture], _lines(rows, questions)
    )


def _lines(rows: Sequence[dict[str, Cell]], questions: Sequence[dict[str, Cell]]) -> list[str]:
    """Each statement with its verdict, and each question with its answer, in words."""
    return [
        *(
            f"{row['number']}. “{row['statement']}” {str(row['verdict']).capitalize()}:"
            f" {row['because']} See {row['see']}."
            for row in rows
        ),
        *(f"{row['statement']} {row['because']} See {row['see']}." for row in questions),
    ]


def _short(row: dict[str, Cell], name: str) -> str:
    number = value(row, name)
    if number >= 100:
        return f"{number:.1f}"
    return f"{number:.3g}" if number >= 0.01 else f"{number:.1e}".replace("e-0", "e-")


# --- what is so ---------------------------------------------------------------------------------


def _coins() -> Any:
    return example_question(type="yes_no", coins={"truth": "1/2", "yes": "1/2"}).report_mechanism


def _reports_deviation() -> float:
    """The standard deviation of a count of people from 1,000 reports at epsilon 1."""
    score = of_choice(warner(2, _ONE))
    return sqrt(_PEOPLE * float(score.noise[0]))


def _proved(k: int, epsilon: float, delta: float) -> float:
    """Dwork and Roth 2014, theorem 3.20: the formula whose second part lecture notes leave out."""
    return textbook(k, epsilon, delta) / 2 + k * epsilon * expm1(epsilon)


def _first_below_the_sum(epsilon: float, delta: float) -> int:
    return next(k for k in numbers_from(1) if _proved(k, epsilon, delta) < k * epsilon)


def _delta_of_sets() -> float:
    """What two laws that have no report in common really need: each is uniform on 100 reports."""
    ours, theirs = np.repeat([1, 0], 100) / 100, np.repeat([0, 1], 100) / 100
    return float(np.maximum(ours - exp(1) * theirs, 0).sum())


def _gauss_beyond_epsilon() -> float:
    """How likely the least Gaussian noise for (1, 0.00001) loses more than 1."""
    noise = GaussNoise(1, _DELTA).noise(1)
    # The privacy loss at noise x is (x + 1/2) / sigma**2 for tables that are 1 apart; it is above 1
    # from this x on.
    return noise.beyond(noise.scale**2 - 0.5)


def _drawn_again() -> float:
    """The loss of a count with Laplace noise that is drawn again while the sum is below 0."""
    noise = LaplaceNoise(1).noise(1)
    at = np.linspace(0, 20, 2001)
    # Drawing again divides the density by the probability of a sum above 0, which depends on the
    # true count.
    here, there = (noise.density(at - true) / noise.beyond(-true) for true in (0.0, 1.0))
    return float(np.abs(np.log(here / there)).max())


def _off(delta: float) -> str:
    return f"{ClassicalGaussNoise(0.1, delta).noise(1).mean_distance:.2f}"


def _wrong_density() -> float:
    """e**(|x| / b) / (2 b) at 2, for a b of 1."""
    return exp(2) / 2


STATEMENTS = (
    Statement(
        "Three to one",
        "Two fair coins change odds by a factor of three: epsilon is 3.",
        3.0,
        lambda: _coins().loss.epsilon,
        lambda: f"epsilon is the logarithm of the odds; epsilon 3 would be odds of {exp(3):.1f}.",
        "coins",
    ),
    Statement(
        "Laplace's density",
        "Laplace noise of scale 1 has the density e^|x| / 2.",
        _wrong_density(),
        lambda: float(Added("laplace", 1.0).density(2.0)),
        lambda: "the exponent is negative, or large noise would be likely; the numbers are at 2.",
        "laplace-or-gauss",
    ),
    Statement(
        "Two coins",
        "With two fair coins, half of those who mean yes report no.",
        0.5,
        lambda: float(_coins().law.probability(0, (1,))),
        lambda: "both coins have to fall that way.",
        "coins",
    ),
    Statement(
        "Noise of reports",
        "A count from 1,000 reports has more noise than a curator's of the same epsilon.",
        LaplaceNoise(1).noise(1).deviation,
        _reports_deviation,
        lambda: "everybody adds noise, and not a curator once; the numbers are at epsilon 1.",
        "ladder-of-trust",
        lambda exact, stated: exact > stated,
    ),
    Statement(
        "10e-5",
        "In a program, 10e-5 is 0.00001.",
        _DELTA,
        lambda: float("10e-5"),
        lambda: (
            "it is ten times as much: a count at epsilon 0.1 is off by"
            f" {_off(1e-4)} people on average by the textbook's formula, not by {_off(_DELTA)}."
        ),
        "ladder-of-trust",
    ),
    Statement(
        "Sensitivity",
        "Three times the sensitivity takes nine times the variance of Gaussian noise.",
        9.0,
        lambda: (
            (GaussNoise(1, _DELTA).noise(3).deviation / GaussNoise(1, _DELTA).noise(1).deviation)
            ** 2
        ),
        lambda: "it goes with the square of the sensitivity of the question.",
        "laplace-or-gauss",
    ),
    Statement(
        "500 answers",
        "500 answers of epsilon 1 give away epsilon 214.6 in all, with delta 0.00001.",
        round(textbook(500, 1.0, _DELTA), 1),
        lambda: kairouz_epsilon(500, 1.0, _DELTA),
        lambda: (
            "the formula 2 ε √(2 k ln 1/δ) is no theorem; with that epsilon, delta is"
            f" {kairouz_delta(500, 1.0, textbook(500, 1.0, _DELTA)):.3f}."
        ),
        "adding-up",
        lambda exact, stated: exact <= stated,
    ),
    Statement(
        "Better than the sum",
        "At epsilon 0.1 and delta 0.0001 the advanced theorem is better than the sum from 24"
        " answers on.",
        24.0,
        lambda: float(_first_below_the_sum(0.1, 1e-4)),
        lambda: (
            f"but at epsilon 1 it never is: its second part alone is {expm1(1.0):.2f} times the"
            " sum."
        ),
        "adding-up",
        lambda exact, stated: exact == stated,
    ),
    Statement(
        "Report by report",
        "Delta is 0.01 if every single report is at most e^ε times as likely as with another"
        " answer, plus 0.01.",
        0.01,
        _delta_of_sets,
        lambda: (
            "all sets of reports have to be bounded: two answers that have no report in common may"
            " each be spread over 100 reports."
        ),
        "catastrophe",
    ),
    Statement(
        "Beyond it",
        "Noise for epsilon 1 and delta 0.00001 gives away more than epsilon 1 with a probability"
        " of 0.00001 at most.",
        _DELTA,
        _gauss_beyond_epsilon,
        lambda: (
            "that would be enough, but it is not what delta means; Gaussian noise does so more"
            " often."
        ),
        "catastrophe",
        lambda exact, stated: exact <= stated,
    ),
    Statement(
        "A single draw",
        "A count with Laplace noise is below the true one half of the time.",
        0.5,
        lambda: LaplaceNoise(0.1).noise(1).beyond(0.0),
        lambda: "so the mean distance must not be added to it to say what would be published.",
        "ladder-of-trust",
    ),
    Statement(
        "Test and release",
        "Propose, test and release, each of epsilon 1, keep epsilon 1 in all.",
        1.0,
        lambda: Proposal(1, _DELTA).total[0],
        lambda: "the test spends epsilon, and the release spends it again.",
        "propose-test-release",
    ),
    Statement(
        "Drawn again",
        "A curator's count keeps epsilon 1 if its noise is drawn again while the sum is below 0.",
        1.0,
        _drawn_again,
        lambda: "how often it is drawn again depends on the true count.",
        "laplace-or-gauss",
        lambda exact, stated: exact <= stated,
    ),
)
"""The statements, false ones and true ones, in the order of the page."""


# --- five questions -----------------------------------------------------------------------------


def _question_row(number: int, text: str, exact: float, because: str, see: str) -> dict[str, Cell]:
    return {"what": "question", "number": number, "statement": text, "exact": exact,
            "because": because, "see": see}  # fmt: skip


def _sensitive() -> dict[str, Cell]:
    """Tables of ten people and all their neighbours: one more, one less, one other answer."""
    steps = [
        abs(sum(other) - sum(people))
        for people in ([True] * yes + [False] * (10 - yes) for yes in range(11))
        for other in (
            [*people, True], [*people, False], people[1:], people[:-1],
            [not people[0], *people[1:]], [*people[:-1], not people[-1]],
        )
    ]  # fmt: skip
    return _question_row(
        1,
        "How sensitive is a count to one person?",
        float(max(steps)),
        f"By {max(steps)}, at most, if one person joins, leaves or answers otherwise.",
        "ladder-of-trust",
    )


def _depends() -> dict[str, Cell]:
    """Each quantity is changed by itself."""
    base = LaplaceNoise(1)
    changed = {
        "the sensitivity": base.noise(2).scale,
        "epsilon": LaplaceNoise(2).noise(1).scale,
        "how many people there are": count([True] * 20, base).noise.scale,
        "what they answer": count([False] * 10, base).noise.scale,
    }
    usual = count([True] * 10, base).noise.scale
    yes = [name for name, scale in changed.items() if scale != usual]
    no = [name for name, scale in changed.items() if scale == usual]
    return _question_row(
        2,
        "On which two quantities does Laplace noise depend?",
        float(len(yes)),
        f"On {' and '.join(yes)}; not on {' or '.join(no)}. Its scale is the sensitivity"
        " divided by epsilon.",
        "laplace-or-gauss",
    )


def _stronger() -> dict[str, Cell]:
    """The least delta at epsilon 1/2 of the answer that keeps epsilon 1 exactly."""
    needed = kairouz_delta(1, 1.0, 0.5)
    return _question_row(
        3,
        "Is privacy better with a smaller epsilon and a larger delta?",
        needed,
        "A smaller epsilon is better, and a larger delta is worse. With both, neither promise"
        f" follows from the other: what keeps epsilon 1 needs a delta of {needed:.2f} at epsilon"
        " 0.5, and what keeps epsilon 0.5 and delta 0.001 needs that delta at epsilon 1, too.",
        "catastrophe",
    )


def _called() -> dict[str, Cell]:
    """The density of Gaussian noise beside that of Python's ``statistics.NormalDist``."""
    at = np.linspace(-5, 5, 1001)
    normal = [NormalDist().pdf(x) for x in at.tolist()]
    apart = float(np.abs(Added("gauss", 1.0).density(at) - normal).max())
    return _question_row(
        4,
        "What is another name of the Gaussian distribution?",
        apart,
        "The normal distribution: the densities of both differ nowhere by more than"
        f" {1e-15 if apart <= 1e-15 else apart:.0e}.",
        "laplace-or-gauss",
    )


def _many() -> dict[str, Cell]:
    gauss, laplace = GaussNoise(1, _DELTA), LaplaceNoise(1)
    first = next(
        d for d in numbers_from(1) if gauss.noise(1, d).deviation < laplace.noise(1, d).deviation
    )
    many = 1000
    return _question_row(
        5,
        "Which mechanism is better if one person is in very many statistics?",
        float(first),
        f"The Gaussian: from {first} numbers of one person on it adds less noise than Laplace's, at"
        f" epsilon 1 and delta 0.00001. For {many:,} numbers its deviation is"
        f" {gauss.noise(1, many).deviation:,.0f}, not {laplace.noise(1, many).deviation:,.0f}; for"
        f" a single one {gauss.noise(1).deviation:.2f}, not {laplace.noise(1).deviation:.2f}.",
        "laplace-or-gauss",
    )
