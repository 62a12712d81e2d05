"""Experiment L5: whether Laplace or Gaussian noise is smaller, by the number of statistics, with
and without a curator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import fsum, sqrt
from typing import Annotated

import numpy as np

from deniably.core.table import Cell
from deniably.design.alternatives import alternatives
from deniably.design.best_mechanisms import laplace, one_gaussian
from deniably.design.named_mechanisms import vector_task
from deniably.design.planning import Goal, margin_for
from deniably.estimation.scores import of_number
from deniably.lab.catalogue import Case, experiment
from deniably.lab.curator import (
    Added,
    Calibrated,
    ClassicalGaussNoise,
    GaussNoise,
    LaplaceNoise,
    classical_limit,
)
from deniably.lab.draws import Draws
from deniably.lab.experiment import ExperimentFindings, Reference
from deniably.lab.inputs import Exact, Level, Real, SeedInput, Whole, as_privacy
from deniably.lab.picture import Picture, bar, column, dots, line, value
from deniably.mechanisms import Gaussian, Laplace
from deniably.mechanisms.law import Noise
from deniably.results.drawing.axes import of_parts, of_values
from deniably.results.drawing.colours import Tone
from deniably.results.drawing.graph import Bars, Graph, GraphLayer
from deniably.results.drawing.rounding import number
from deniably.simulation.bulk import randomise_many
from deniably.survey.privacy import Privacy
from deniably.survey.questions import VectorOfNumbers
from deniably.survey.survey import Survey

STEPS = 20
"""The number of steps of the grid on which the noise of one number is drawn."""
POSITIONS = 11
"""The number of positions of each of several numbers: from 0 to 10."""
_DRAWN, _BINS, _REACH = 20_000, 25, 2.5  # of the densities; the reach in deviations
_COUNTS = 1000  # noisy numbers whose deviation is drawn
_MANY, _SHOWN = 64, 7  # numbers without a curator

DeltaInput = Annotated[
    Exact,
    Real(
        minimum=Fraction(1, 10**9),
        maximum=Fraction(1, 10**4),
        help="Delta: the chance with which Gaussian noise may keep less than epsilon promises.",
    ),
]
ProtectionInput = Annotated[
    Exact | Privacy,
    Level(minimum=Fraction(1, 5), maximum=10, help="Epsilon of all numbers together, or ln odds."),
]
NumbersInput = Annotated[
    int,
    Whole(minimum=2, maximum=_MANY, help="The most numbers of one person that the picture shows."),
]
RespondentsInput = Annotated[
    int, Whole(minimum=10, maximum=10**6, help="People who answer without a curator.")
]


def _cases(survey: Survey) -> Iterator[Case]:
    """Questions for several numbers."""
    for question in survey.questions:
        if isinstance(question, VectorOfNumbers):
            privacy = Privacy(epsilon=_six(question.mechanism.loss.epsilon))
            arguments = {"question": question, "epsilon": privacy}
            yield Case(
                question.label, arguments | {"reports": survey.asked / len(survey.questions)}
            )


@experiment(
    "Laplace or Gauss",
    "Which noise is better, for how many numbers?",
    [
        Reference("Dwork, McSherry, Nissim and Smith", 2006, "Calibrating noise to sensitivity,"
               " TCC"),
        Reference("Balle and Wang", 2018, "Improving the Gaussian mechanism, ICML, theorem 8"),
        Reference("Desfontaines", 2020, "The magic of Gaussian noise, desfontain.es: Laplace"
               " and Gauss against the number of statistics"),
    ],
    _cases,
)  # fmt: skip
def laplace_or_gauss(
    *,
    epsilon: ProtectionInput = "1",
    delta: DeltaInput = "1e-5",
    d: NumbersInput = 16,
    n: RespondentsInput = 1000,
    seed: SeedInput = 1,
    question: VectorOfNumbers | None = None,
    reports: float = 1.0,
) -> ExperimentFindings:
    """Compares Laplace and Gaussian noise: their densities, the error of up to ``d`` numbers that
    a curator publishes, and the margins of as many means from ``n`` local reports.

    All numbers are on a scale from 0 to 1. If the ``question`` of a survey is given, the margins
    are those of the question's own numbers; ``reports`` is then the share of respondents who
    report the question.
    """
    at, left = as_privacy(epsilon).ln, float(Fraction(delta))
    promises: dict[str, Calibrated] = {
        "Laplace": LaplaceNoise(at),
        "Gauss": GaussNoise(at, left),
        "Gauss of the textbook": ClassicalGaussNoise(at, left),
    }
    crossings = {name: _crossing(promises["Laplace"], promises[name]) for name in _GAUSS}
    limit = classical_limit(left)
    facts: list[dict[str, Cell]] = [
        {"what": "numbers from which on it beats Laplace", "noise": name, "numbers": first}
        for name, first in crossings.items()
    ]
    facts.append({"what": "the textbook's is false above epsilon", "exact": limit})
    by_curator = _deviations(promises, d, crossings["Gauss"], Draws(seed, "deviations"))
    better = f"from {crossings['Gauss']} numbers on"
    notes = [_note(limit, at)]
    if question is not None:
        margins = _of_question(question, n, reports)
        sentences = [f"{row['noise']} ±{_points(row)}" for row in margins]
        parts = len(question.parts)
        answer = (
            f"For {parts} numbers of each of {number(n)} people the margins are, in points:"
            f" {'; '.join(sentences)}; a curator takes Gaussian noise {better}."
        )
        facts.append({"what": "numbers of the question", "numbers": parts})
        return ExperimentFindings(
            answer,
            [*margins, *by_curator, *facts],
            [_bars(margins), _by_numbers(by_curator, limit > at)],
            notes,
            question.report_mechanism.described,
        )

    densities = _densities(Privacy(epsilon=_six(at)), Fraction(delta), seed)
    textbook = promises["Gauss of the textbook"].noise(1.0)
    densities += _curve("Gauss of the textbook", textbook, column(densities, "noise_of_one"))
    compared = min(max(crossings["Gauss"], 2), _MANY)
    shown = {2 + (d - 2) * place // _SHOWN for place in range(_SHOWN + 1)}
    local = _margins(_six(at), Fraction(delta), sorted({*shown, compared}), n)
    here = {str(row["noise"]): _points(row) for row in local if row["numbers"] == compared}
    answer = (
        f"With a curator, Gaussian noise is better {better} (with the textbook's sigma, from"
        f" {crossings['Gauss of the textbook']}). Without one, the means of {compared} numbers of"
        f" {number(n)} people are known to ±{here['Laplace']} points with Laplace noise, to"
        f" ±{here['Gauss']} with Gaussian noise, and to ±{here[_PART]} if each reports one part."
    )
    return ExperimentFindings(
        answer,
        [*by_curator, *local, *facts, *densities],
        [
            _by_numbers(by_curator, limit > at),
            _without_curator(local),
            _bells(densities, limit > at),
        ],
        notes,
        f"{laplace(STEPS + 1, Privacy(epsilon=_six(at))).described}",
    )


_GAUSS = ("Gauss", "Gauss of the textbook")
_PART = "one part a person"
_LOOKS: dict[str, tuple[Tone, bool]] = {
    "Laplace": ("second", False), "Gauss": ("mark", False), _PART: ("mark", True)
}  # fmt: skip


def _note(limit: float, epsilon: float) -> str:
    worse = "here it promises too much" if epsilon > limit else "up to there, it is too wide"
    return (
        "The textbook's sigma, the square root of 2 ln(1.25 / delta) over epsilon, is proved for"
        f" epsilon below 1, and false above {number(limit, 2)} at this delta; {worse}."
    )


# --- with a curator ---------------------------------------------------------------------------


def _crossing(laplace: Calibrated, gauss: Calibrated) -> int:
    """From how many numbers on Gaussian noise is narrower. The deviation of Laplace noise rises
    with their number, and that of Gaussian noise with its square root."""

    def narrower(numbers: int) -> bool:
        return gauss.noise(1.0, numbers).deviation <= laplace.noise(1.0, numbers).deviation

    # The first power of two that is enough, then halving.
    high = 1
    while not narrower(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if narrower(middle) else (middle, high)
    return high


def _deviations(
    promises: dict[str, Calibrated], d: int, crossing: int, draws: Draws
) -> list[dict[str, Cell]]:
    """The deviation of each number, by how many there are; at some, of noise that is drawn."""
    rows: list[dict[str, Cell]] = []
    for name, promise in promises.items():
        for numbers in range(1, d + 1):
            noise = promise.noise(1.0, numbers)
            row: dict[str, Cell] = {
                "what": "deviation with a curator",
                "noise": name,
                "numbers": numbers,
                "exact": noise.deviation,
            }
            if name in _LOOKS and numbers in (1, crossing, d):
                # The noise has mean 0, so its mean square is its variance.
                square = float((noise.draw(draws, _COUNTS) ** 2).mean())
                row |= {"drawn": sqrt(square), "standard_error": _error(noise)}
            rows.append(row)
    return rows


def _error(noise: Added) -> float:
    """The standard error of a deviation that is drawn: fourth moments are 6 and 3 times the square
    of the variance."""
    fourth = 6 if noise.shape == "laplace" else 3
    return noise.deviation * sqrt((fourth - 1) / _COUNTS) / 2


# --- without one ------------------------------------------------------------------------------


def _margins(
    epsilon: Fraction, delta: Fraction, numbers: Sequence[int], n: int
) -> list[dict[str, Cell]]:
    """The planner's margin of each mean, for the worst spread of answers."""
    rows: list[dict[str, Cell]] = []
    for name, noise in (("Laplace", "laplace"), ("Gauss", "gaussian"), (_PART, "sample")):
        privacy = Privacy(epsilon=epsilon, delta=delta if noise == "gaussian" else None)
        for d in numbers:
            score = of_number(vector_task([POSITIONS] * d).choose(privacy, noise), 0)
            worst = score.worst()
            goal = Goal(lambda _, worst=worst: worst, 0.25)  # type: ignore[misc]
            margin = margin_for(goal, float(epsilon), n).margin
            rows.append(
                {"what": "margin without one", "noise": name, "numbers": d, "exact": margin}
            )
    return rows


def _of_question(question: VectorOfNumbers, n: int, reports: float) -> list[dict[str, Cell]]:
    return [
        {"what": "margin without one", "noise": alternative.title, "exact": alternative.margin}
        for alternative in alternatives(question, n, reports=reports)
    ]


# --- the noise itself -------------------------------------------------------------------------


def _densities(privacy: Privacy, delta: Fraction, seed: int) -> list[dict[str, Cell]]:
    """The law of what a device adds to a number from 0 to 1, beside noise that is drawn."""
    gauss = one_gaussian(STEPS + 1, Privacy(epsilon=privacy.epsilon, delta=delta))
    mechanisms: dict[str, Laplace | Gaussian] = {
        "Laplace": laplace(STEPS + 1, privacy), "Gauss": gauss
    }  # fmt: skip
    law = gauss.law
    assert isinstance(law, Noise)
    # An odd number of steps makes bins symmetric about 0.
    half = max(1, round(_REACH * sqrt(law.variance) / _BINS))  # of a bin, in steps
    wide = 2 * half + 1
    middles = [wide * place for place in range(-(_BINS // 2), _BINS // 2 + 1)]
    return [
        row
        for name, mechanism in mechanisms.items()
        for row in _density(name, mechanism, middles, wide, Draws(seed, "density", name))
    ]


def _density(
    name: str, mechanism: Laplace | Gaussian, middles: Sequence[int], wide: int, draws: Draws
) -> Iterator[dict[str, Cell]]:
    law = mechanism.law
    assert isinstance(law, Noise)
    with draws.bulk():
        middle = STEPS // 2
        answers = np.full(_DRAWN, middle, dtype=np.int64)
        noise = randomise_many(mechanism, answers).astype(np.int64).ravel() - middle
    for at in middles:
        steps = range(at - wide // 2, at + wide // 2 + 1)
        chance = fsum(float(law.mass(abs(step))) for step in steps)
        seen = float(((noise >= steps[0]) & (noise <= steps[-1])).mean())
        scale = STEPS / wide
        yield {
            "what": "density",
            "noise": name,
            "noise_of_one": at / STEPS,
            "exact": scale * chance,
            "drawn": scale * seen,
            "standard_error": scale * sqrt(chance * (1 - chance) / _DRAWN),
        }


def _curve(name: str, noise: Added, at: Sequence[float]) -> list[dict[str, Cell]]:
    return [
        {"what": "density", "noise": name, "noise_of_one": x, "exact": float(noise.density(x))}
        for x in sorted(set(at))
    ]


# --- pictures ---------------------------------------------------------------------------------


def _of(rows: Sequence[dict[str, Cell]], name: str) -> list[dict[str, Cell]]:
    return [row for row in rows if row["noise"] == name]


def _by_numbers(rows: Sequence[dict[str, Cell]], holds: bool) -> Picture:
    layers = _lines(rows, "numbers", holds)
    across, up = of_values(column(rows, "numbers")), of_values([0, *column(rows, "exact")])
    title = "With a trusted curator: the deviation of each number, by how many"
    return Picture(title, Graph(across, "numbers of one person", up, "deviation", layers))


def _bells(rows: Sequence[dict[str, Cell]], holds: bool) -> Picture:
    layers = _lines(rows, "noise_of_one", holds)
    across = of_values(column(rows, "noise_of_one"))
    up = of_values([0, *column(rows, "exact"), *column(rows, "drawn")])
    title = "What is added to one number from 0 to 1, by devices as by a curator"
    return Picture(title, Graph(across, "noise", up, "density", layers))


def _lines(rows: Sequence[dict[str, Cell]], x: str, holds: bool) -> list[GraphLayer]:
    layers: list[GraphLayer] = []
    for name in ("Laplace", "Gauss"):
        tone, dashed = _LOOKS[name]
        layers.append(line(_of(rows, name), x, "exact", name, tone, dashed=dashed))
        layers.append(dots(_of(rows, name), x, "drawn", f"{name}, drawn", tone))
    title = "Gauss of the textbook" if holds else "Gauss of the textbook, false here"
    tone = "mute" if holds else "warn"
    return [*layers, line(_of(rows, "Gauss of the textbook"), x, "exact", title, tone, dashed=True)]


def _without_curator(rows: Sequence[dict[str, Cell]]) -> Picture:
    layers: list[GraphLayer] = [
        line(_of(rows, name), "numbers", "exact", name, tone, dashed=dashed)
        for name, (tone, dashed) in _LOOKS.items()
    ]
    across, up = of_values(column(rows, "numbers")), of_parts([0, *column(rows, "exact")])
    title = "Without a curator: the margin of each mean, by how many"
    return Picture(title, Graph(across, "numbers of one person", up, "margin", layers))


def _bars(rows: Sequence[dict[str, Cell]]) -> Picture:
    bars = [bar(row, str(row["noise"]), "exact", f"±{_points(row)} points") for row in rows]
    up = of_parts([0, *column(rows, "exact")])
    return Picture("Margins of the means of this question", Bars(up, "of the range", bars))


def _points(row: dict[str, Cell]) -> str:
    return number(100 * value(row, "exact"), 1)


def _six(epsilon: float) -> Fraction:
    """The epsilon with six decimals, as the planner takes it."""
    return Fraction(str(round(epsilon, 6)))
