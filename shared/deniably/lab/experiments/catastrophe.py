"""Experiment L11: what a delta can hide, and how an audit finds it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import log10, sqrt
from typing import Annotated, Any

import numpy as np

from deniably.audit.blackbox import ALPHA, lower_bound, trials_to_see
from deniably.audit.own_code import audit_code, reports_made
from deniably.core.coins import Coins
from deniably.core.table import Cell
from deniably.design.at_privacy import promised
from deniably.lab.catalogue import each_question, experiment
from deniably.lab.curator import GaussNoise
from deniably.lab.draws import Draws
from deniably.lab.example_questions import question as example_question
from deniably.lab.example_questions import stated
from deniably.lab.experiment import ExperimentFindings, Reference
from deniably.lab.inputs import (
    EPSILON,
    EpsilonInput,
    Exact,
    Real,
    SeedInput,
    Whole,
    as_privacy,
    privacy_text,
)
from deniably.lab.picture import Picture, column, dots, line, value
from deniably.mechanisms.law import Law, One, Randomiser
from deniably.results.drawing.axes import of_ratios, of_values
from deniably.results.drawing.colours import Tone
from deniably.results.drawing.graph import Graph, GraphLayer
from deniably.results.drawing.rounding import NARROW, number, with_unit
from deniably.survey.privacy import to_decimal_text
from deniably.survey.questions import Question

SIZES: tuple[tuple[Fraction, Tone], ...] = (
    (Fraction(1, 100), "second"),
    (Fraction(1, 1000), "mark"),
    (Fraction(1, 10_000), "mute"),
)
"""The probabilities of a catastrophe for which audits are shown, each with the tone of its line."""
NOISES = 100_000  # values of Gaussian noise that are drawn
_STEPS, _OF_EPSILON = 24, 8
_SEEN_OFTEN = 30  # expected draws; rarer losses would scatter too much to be compared
# From 100 to 1,000,000, five in each power of ten.
_TRIALS = tuple(round(10 ** (2 + step / 5)) for step in range(21))
_LEAST = 1e-15
"""Probabilities below this are not drawn."""

DeltaInput = Annotated[
    Exact,
    Real(minimum=Fraction(1, 10**6), maximum=Fraction(1, 10), help="Delta of the promise."),
]
SizeInput = Annotated[
    Exact,
    Real(minimum=Fraction(1, 1000), maximum=Fraction(1, 2), percent=True,
         help="How often the faulty randomiser sends the true answer as it is."),
]  # fmt: skip
TrialsInput = Annotated[
    int, Whole(minimum=100, maximum=40_000, help="Reports that are counted for each answer.")
]


def _of_question(question: Question) -> dict[str, Any] | None:
    """Questions with two answers, whose reports are soon walked."""
    law, level = question.report_mechanism.law, promised(question.claim)
    two = isinstance(law.domain, One) and law.domain.k == law.cell_count == 2 and law.exact
    if not two or not EPSILON.minimum <= level.ln <= EPSILON.maximum:
        return None
    return {"mechanism": question.report_mechanism, "claim": level}


@experiment(
    "A catastrophe, and what an audit sees",
    "What can a delta hide, and would an audit find it?",
    [
        Reference("Dwork and Roth", 2014, "The Algorithmic Foundations of Differential Privacy,"
               " section 2.3: what a delta may hide"),
        Reference("Balle and Wang", 2018, "ICML, theorem 8: the loss of Gaussian noise"),
        Reference("Arcolezi and Gambs", 2024, "PoPETs, LDP-Auditor: a bound from reports"),
    ],
    each_question(_of_question),
)  # fmt: skip
def catastrophe(
    *,
    epsilon: EpsilonInput = 1,
    delta: DeltaInput = "0.00001",
    claim: EpsilonInput = "ln 3",
    size: SizeInput = "0.01",
    trials: TrialsInput = 20_000,
    seed: SeedInput = 1,
    mechanism: Randomiser[Law] | None = None,
) -> ExperimentFindings:
    """Compares two mechanisms with the same ``delta``: Gaussian noise, whose loss seldom exceeds
    ``epsilon`` by much, and a catastrophe, which reveals everything with probability ``delta``.

    The catastrophe is planted in randomised response whose stated epsilon is ``claim``: with
    probability ``size`` it reports the true answer. Deniably's audit then enumerates all paths of
    the planted code, and also estimates probabilities from ``trials`` reports for each answer. A
    ``mechanism`` of a question with two answers can be given, to plant the catastrophe in.
    """
    promise, claimed, planted = as_privacy(epsilon), as_privacy(claim), Fraction(size)
    failing = Fraction(delta)
    if mechanism is None:
        mechanism = example_question(type="yes_no", **stated(claimed)).report_mechanism
    draws = Draws(seed, "catastrophe")
    losses = _losses(promise.ln, float(failing), draws)

    randomise = _Planted(mechanism, planted)
    walked = audit_code(randomise, (0, 1), claimed)
    broken = walked.broken
    walk: dict[str, Cell] = {
        "what": "walk", "size": float(planted), "outcome": walked.outcome, "paths": walked.paths,
        "chance": float(broken.seen) if broken else None,
    }  # fmt: skip
    counted = [
        _counted(mechanism, planted, claimed, some, draws)
        for some in sorted({max(trials // 10, 100), trials})
    ]
    certified = [_certified(size, some, claimed.ln) for size, _ in SIZES for some in _TRIALS]
    needed: list[dict[str, Cell]] = [
        {"what": "needed", "size": float(size),
         "trials": _needed(size, claimed.ln)} for size, _ in SIZES
    ]  # fmt: skip
    rows = [*losses, walk, *counted, *certified, *needed]

    # At one and a half times epsilon.
    beyond = losses[_OF_EPSILON + _OF_EPSILON // 2]
    answer = (
        f"Gaussian noise of epsilon {privacy_text(promise)} and delta {to_decimal_text(failing)}"
        f" gives away more than {_plain(value(beyond, 'loss'))} once in"
        f" {number(value(beyond, 'one_in'))} reports. A catastrophe of the same delta gives away"
        f" everything once in {number(value(beyond, 'catastrophe_one_in'))}. An audit that walks"
        f" the code finds a catastrophe in {walked.paths} paths. An audit that counts needs at"
        f" least {number(value(needed[0], 'trials'))} reports of each answer for a catastrophe of"
        f" {_hundred(needed[0])}, and {number(value(needed[-1], 'trials'))} for"
        f" one of {_hundred(needed[-1])}."
    )
    notes = [
        "A delta says how often a promise may fail, not how badly. Gaussian noise fails a little"
        " and rarely. A mechanism that publishes somebody's answer with the same delta keeps the"
        " same promise.",
        "Counting needs about 80 reports of the catastrophe, so about 80 / delta in all, and more"
        " if nobody knows what to look for. If counting proves nothing, the code has not passed."
        f" Each bound is wrong with a chance of {ALPHA:f}.",
        "Audit your own code with “deniably audit --code module:function”.",
    ]
    return ExperimentFindings(
        answer, rows, _pictures(losses, certified, counted), notes, mechanism.described
    )


class _Planted:
    """A mechanism that now and then reports the truth in plain; ``plain`` counts how often."""

    def __init__(self, mechanism: Randomiser[Law], size: Fraction) -> None:
        self.mechanism, self.plain = mechanism, 0
        self.weights = [size.numerator, size.denominator - size.numerator]

    def __call__(self, answer: Any, coins: Coins) -> Hashable:
        if coins.choose(self.weights) == 0:
            self.plain += 1
            return "in plain", answer
        return self.mechanism.randomise(answer, coins)


def _losses(epsilon: float, delta: float, draws: Draws) -> list[dict[str, Cell]]:
    """How likely Gaussian noise loses more than each of some losses, and noise that is drawn.

    At noise x the loss of two tables that are 1 apart is (x + 1/2) / sigma^2.
    """
    noise = GaussNoise(epsilon, delta).noise(1.0)
    drawn = (noise.draw(draws, NOISES) + 0.5) / noise.scale**2
    return [
        _loss(step * epsilon / _OF_EPSILON, noise.scale, noise.beyond, delta, drawn)
        for step in range(_STEPS + 1)
    ]


def _loss(
    loss: float, sigma: float, beyond: Callable[[float], float], delta: float, drawn: Any
) -> dict[str, Cell]:
    chance = beyond(loss * sigma**2 - 0.5)
    row: dict[str, Cell] = {
        "what": "loss", "loss": loss, "exact": chance, "one_in": 1 / chance if chance else None,
        "catastrophe": delta, "catastrophe_one_in": 1 / delta, "catastrophe_power": log10(delta),
    }  # fmt: skip
    if chance > _LEAST:
        row["power"] = log10(chance)
    if chance * NOISES >= _SEEN_OFTEN:
        seen = int(np.count_nonzero(drawn > loss)) / NOISES
        row |= {"drawn": seen, "standard_error": sqrt(chance * (1 - chance) / NOISES),
                "drawn_power": log10(seen) if seen else None}  # fmt: skip
    return row


def _certified(size: Fraction, trials: int, claim: float) -> dict[str, Cell]:
    """What so many reports of each answer prove where the catastrophe comes as often as expected,
    and never for the other answer."""
    # The other answer never makes the plain report: the best case for the audit.
    proved = lower_bound(int(size * trials), 0, trials, 0.0, ALPHA)
    return {"what": "certified", "size": float(size), "trials": trials, "epsilon": proved,
            "claim": claim}  # fmt: skip


@lru_cache(maxsize=64)
def _needed(size: Fraction, epsilon: float) -> int:
    return trials_to_see(float(size), epsilon)


def _counted(
    mechanism: Randomiser[Law], size: Fraction, claim: Any, trials: int, draws: Draws
) -> dict[str, Cell]:
    """The audit by counting of the same code where its coins are out of reach."""
    planted = _Planted(mechanism, size)

    # The audit cannot replay what it does not hand the coins to, so it can only count.
    def without_coins(answer: Hashable) -> Hashable:
        return planted(answer, draws.coins)

    verdict = audit_code(without_coins, (0, 1), claim, trials=trials)
    made = reports_made(2, trials)
    return {
        "what": "counted",
        "size": float(size),
        "trials": trials,
        "exact": float(made * size),
        "drawn": planted.plain,
        "standard_error": sqrt(float(made * size * (1 - size))),
        "epsilon": verdict.epsilon,
        "outcome": verdict.outcome,
    }


def _pictures(
    losses: Sequence[dict[str, Cell]],
    certified: Sequence[dict[str, Cell]],
    counted: Sequence[dict[str, Cell]],
) -> list[Picture]:
    powers = [*column(losses, "power"), *column(losses, "catastrophe_power"),
              *column(losses, "drawn_power"), 0.0]  # fmt: skip
    lines: list[GraphLayer] = [
        line([row for row in certified if row["size"] == float(size)], "trials", "epsilon",
             f"a catastrophe of {_plain(float(100 * size))}{NARROW}%", tone)
        for size, tone in SIZES
    ]  # fmt: skip
    lines.append(line(certified[: len(_TRIALS)], "trials", "claim", "what is claimed", "mute",
                      dashed=True))  # fmt: skip
    proved = of_values([0.0, *column(certified, "epsilon"), *column(certified, "claim"),
                        *column(counted, "epsilon")])  # fmt: skip
    return [
        Picture(
            "How likely more than that is given away",
            Graph(of_values(column(losses, "loss")), "more than this loss", of_values(powers),
                  "chance, as a power of ten", [
                line(losses, "loss", "power", "Gaussian noise", "mark"),
                line(losses, "loss", "catastrophe_power", "a catastrophe of that delta", "warn"),
                dots(losses, "loss", "drawn_power", f"of {NOISES:,} noises that were drawn"),
            ]),
        ),
        Picture(
            "What counting proves about a catastrophe, by the number of reports",
            Graph(of_ratios([*column(certified, "trials"), *column(counted, "trials")]),
                  "reports of each answer", proved, "epsilon is at least", [
                *lines,
                dots(counted, "trials", "epsilon", "audits that were made", "warn"),
            ]),
        ),
    ]  # fmt: skip


def _hundred(row: dict[str, Cell]) -> str:
    return with_unit(_plain(100 * value(row, "size")), "%")


def _plain(number: float) -> str:
    return to_decimal_text(Fraction(str(round(number, 6))))
