"""Means and distributions of numbers: against what is possible, and against Laplace noise.

Variances are n times that of a mean on [-1, 1], where it is worst. What is possible is the value
of a linear programme over all channels with unbiased outputs (33 inputs, 121 values).
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
from alternatives import Peers
from sheet import Sheet

from deniably.authoring.compiling import compile_survey
from deniably.design.mean_design import best_for_mean, best_window
from deniably.design.named_mechanisms import for_distribution
from deniably.estimation.channels import matrix, position_scores
from deniably.estimation.distribution import density
from deniably.estimation.profile_likelihood import quantile_intervals
from deniably.estimation.question_distributions import roots
from deniably.mechanisms import Channel, Window
from deniably.simulation.bulk import randomise_many
from deniably.survey.privacy import Privacy

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.textbook import wasserstein, weights_for_epsilon

POSSIBLE = {1.0: 3.991, 1.5: 1.692, 2.0: 0.866, 3.0: 0.304, 4.0: 0.127, 6.0: 0.027}
BUCKETS = 32
# W1 x 1000 of Li et al.'s square wave with EM on beta(2, 5): (epsilon, n) -> figure.
SQUARE_WAVE = {
    (0.5, 2000): 62, (1.0, 2000): 35, (2.0, 2000): 19, (1.0, 20000): 16, (2.0, 20000): 7.8,
}  # fmt: skip


def measure(sheet: Sheet, peers: Peers | None) -> None:
    sheet.section("Variance of a mean, worst value, against what any channel can do")
    settings = {1.0: POSSIBLE[1.0]} if sheet.quick else POSSIBLE
    added = noise_of(peers, list(settings), 1000 if sheet.quick else 100_000)
    steps = 101 if sheet.quick else 1001
    for epsilon, least in settings.items():
        weights = weights_for_epsilon(Fraction(str(epsilon)))
        ours = best_for_mean(steps, *weights)
        ratio, goal = ours.variance / least, 1.20 if epsilon < 1.5 else 1.10
        window = best_window(steps, *weights).variance
        name = f"epsilon {epsilon:<3g} ours / possible"
        sheet.figure(name, f"{ratio:.3f}", f"<= {goal}", ratio <= goal)
        sheet.note(
            f"   variance {ours.variance:.4g}; window {window:.4g}; Laplace noise by formula"
            f" {8 / epsilon**2:.4g} ({8 / epsilon**2 / ours.variance:.1f} times ours)"
        )
        real(sheet, ours.mechanism, 2_000 if sheet.quick else 1_000_000)
        for method, variance, error in added.get(epsilon, []):
            name = f"            diffprivlib {method} / ours"
            ratio = variance / ours.variance
            found = f"{ratio:.2f}±{error / ours.variance:.2f}"
            sheet.figure(name, found, ">= 1", variance + 4 * error >= ours.variance)
    sheet.section(f"Error of a distribution (W1 x 1000), {BUCKETS} buckets, beta(2, 5)")
    for (epsilon, n), figure in SQUARE_WAVE.items():
        found, error = distance(epsilon, n, 4 if sheet.quick else 40)
        met = found - 4 * error <= figure
        name = f"epsilon {epsilon:<3g} n = {n:<6,} square wave with EM {figure}"
        sheet.figure(name, f"{found:.1f}±{error:.1f}", "no worse", met)
    quantiles(sheet)


SHAPES = {
    "hump": lambda x: np.exp(-0.5 * ((x - 9.6) / 3.2) ** 2),
    "two humps": lambda x: np.exp(-((x - 8) ** 2) / 8) + 0.7 * np.exp(-((x - 24) ** 2) / 8),
    "spike at 0": lambda x: np.where(x == 0, 3.0, 0.1),
    "uniform": np.ones_like,
    "point": lambda x: np.where(x == 12, 1.0, 0.0),
}
WIDEST = {(1.0, 200): 8, (1.0, 1000): 4, (1.0, 5000): 2}  # of the median of a hump


def quantiles(sheet: Sheet) -> None:
    """Of shapes as they are, and bent so that a bucket ends just at the quantile."""
    sheet.section(f"Intervals of quantiles, {BUCKETS} buckets: coverage and width in buckets")
    runs = 5 if sheet.quick else 150
    shapes = {"hump": SHAPES["hump"]} if sheet.quick else SHAPES
    shares = (0.5,) if sheet.quick else (0.1, 0.25, 0.5)
    place, rng = np.arange(BUCKETS, dtype=np.float64), np.random.default_rng(4)
    for epsilon, n in (
        ((1.0, 1000),) if sheet.quick else product((0.5, 1.0, 2.0), (200, 1000, 5000))
    ):
        question = compile_survey(asked(epsilon)).questions[0]
        mechanism = question.report_mechanism
        times, channel = roots(mechanism), matrix(mechanism)
        worst, widths = 1.0, []
        for (name, shape), share, bent in product(shapes.items(), shares, (False, True)):
            truth = shape(place) / shape(place).sum()
            at = int((np.cumsum(truth) < share - 1e-12).sum())
            low = place <= at
            if bent and not 0 < truth[low].sum() < 1:
                continue
            if bent:
                truth = truth * np.where(low, share / truth[low].sum(), 0)
                truth += np.where(low, 0, shape(place)) * (1 - share) / shape(place)[~low].sum()
            ends = [quantile_intervals(y, channel, share, 1.96 * times)[0]
                    for y in rng.multinomial(n, truth @ channel, size=runs)]  # fmt: skip
            worst = min(worst, np.mean([first <= at <= last for first, last in ends]))
            if name == "hump" and share == 0.5 and not bent:
                widths = [last - first for first, last in ends]
        error = (0.05 * 0.95 / runs) ** 0.5
        name = f"epsilon {epsilon:<3g} n = {n:<5,} worst coverage of 28"
        sheet.figure(name, f"{worst:.3f}±{error:.3f}", ">= 0.93", worst + 4 * error >= 0.93)
        widest, width = WIDEST.get((epsilon, n), BUCKETS), float(np.median(widths))
        sheet.figure("            median of a hump, width", f"{width:.0f}", f"<= {widest}",
                     width <= widest)  # fmt: skip


def asked(epsilon: float) -> dict[str, object]:
    question = {"name": "q", "label": "Q?", "type": "number", "aim": "distribution"}
    question |= {"minimum": 0, "maximum": 99, "epsilon": epsilon}
    return {"name": "s", "title": "T", "questions": [question]}


def real(sheet: Sheet, mechanism: Channel | Window, n: int) -> None:
    """Measures a mean from reports of the running code, with all answers in mid-range."""
    middle = mechanism.k // 2
    score = position_scores(mechanism) / middle - 1
    seen = score[randomise_many(mechanism, np.full(n, middle))]
    expected = float(matrix_row(mechanism, middle) @ score**2)
    sheet.note(
        f"   of {n:,} reports to 0: mean {seen.mean():+.4f}, variance {seen.var():.4g}"
        f" (by formula {expected:.4g})"
    )


def noise_of(
    peers: Peers | None, epsilons: list[float], n: int
) -> dict[float, list[tuple[str, float, float]]]:
    """diffprivlib's measured variances with their standard errors, at each epsilon."""
    found: dict[float, list[tuple[str, float, float]]] = {epsilon: [] for epsilon in epsilons}
    for row in peers.rows("noise", epsilons=epsilons, reports=n) if peers else ():
        found[row["epsilon"]].append((row["method"], row["variance"], row["error"]))
    return found


def matrix_row(mechanism, position: int):  # type: ignore[no-untyped-def]
    from deniably.estimation.channels import rounding, rows

    found = rows(mechanism)
    return (rounding(mechanism.k, len(found), [position]) @ found)[0]


def distance(epsilon: float, n: int, rounds: int) -> tuple[float, float]:
    """The mean W1 x 1000 of displayed distributions, and its standard error."""
    window = for_distribution(BUCKETS, Privacy(epsilon=Fraction(str(epsilon))))
    channel = matrix(window)  # type: ignore[arg-type]
    edges = np.linspace(0, 1, BUCKETS + 1)
    truth = np.diff([1 - (1 - x) ** 5 * (1 + 5 * x) for x in edges])  # beta(2, 5)
    truth /= truth.sum()
    generator = np.random.default_rng()
    found = [
        1000 * wasserstein(
            density(generator.multinomial(n, truth @ channel), channel).shares,
            truth,
            1 / BUCKETS,
        )
        for _ in range(rounds)
    ]  # fmt: skip
    return float(np.mean(found)), float(np.std(found) / math.sqrt(rounds))
