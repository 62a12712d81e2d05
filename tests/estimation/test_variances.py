"""The variances that mechanisms are chosen by are those of the running randomisers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from deniably.estimation.channels import position_scores
from deniably.estimation.estimate import Pure
from deniably.estimation.variances import marginal_variance, mean_variance, share_variance
from deniably.mechanisms import (
    BoundedLaplace,
    Channel,
    Gaussian,
    Laplace,
    SampledTicks,
    SetResponse,
    SubsetSelection,
    Unary,
    Window,
)
from deniably.mechanisms.subset_selection import subset_selection
from support.exact_laws import distribution

Law = dict[tuple[int, ...], Fraction]


def law(mechanism: Pure | Window | Channel, answer: int | tuple[int, ...]) -> Law:
    return distribution(lambda coins: mechanism.randomise(answer, coins))  # type: ignore[arg-type]


def moments(law: Law, score: Callable[[Sequence[int]], Fraction]) -> tuple[Fraction, Fraction]:
    mean = sum((p * score(report) for report, p in law.items()), Fraction(0))
    square = sum((p * score(report) ** 2 for report, p in law.items()), Fraction(0))
    return mean, square


def mixed(laws: Sequence[Law], shares: Sequence[Fraction]) -> Law:
    """The law of a report by a person whose answer is drawn with these shares."""
    reports = {report for one in laws for report in one}
    return {
        report: sum(
            (f * one.get(report, Fraction(0)) for f, one in zip(shares, laws, strict=True)),
            Fraction(0),
        )
        for report in reports
    }


@pytest.mark.parametrize(
    "mechanism",
    [
        SubsetSelection(4, 1, 3, 1),
        SubsetSelection(5, 2, 13, 7),
        SetResponse(4, 2, 2, 13, 7),
        SetResponse(3, 1, 2, 3, 1),
        Unary(3, 1, 4, 2, 8),
        Unary(3, 2, 3, 1, 4),
    ],
    ids=repr,
)
def test_the_variance_of_a_share_is_that_of_all_reports(
    mechanism: SubsetSelection | SetResponse | Unary,
) -> None:
    one = isinstance(mechanism, SubsetSelection)
    laws = [law(mechanism, option if one else (option,)) for option in range(mechanism.k)]
    share = Fraction(1, 5)
    everybody = mixed(laws, [share, 1 - share, *[Fraction(0)] * (mechanism.k - 2)])
    p, q = mechanism.p, mechanism.q

    mean, square = moments(everybody, lambda report: ((0 in report) - q) / (p - q))

    assert mean == share, "unbiased"
    assert share_variance(mechanism, 0.2) == pytest.approx(float(square - mean**2), rel=1e-12)


def test_options_that_few_are_asked_about_cost_the_more() -> None:
    """A report says something of s of k options, so n reports are n s/k about each."""
    mechanism = SampledTicks(4, 2, 3, 1)
    laws = [law(mechanism, (0,)), law(mechanism, ())]
    everybody = mixed(laws, [Fraction(1, 5), Fraction(4, 5)])
    asked = {report: p for report, p in everybody.items() if {0, 1} & set(report)}
    heard = sum(asked.values(), Fraction(0))
    p, q = mechanism.p, mechanism.q

    mean, square = moments(
        {report: chance / heard for report, chance in asked.items()},
        lambda report: ((1 in report) - q) / (p - q),
    )

    assert (heard, mean) == (Fraction(1, 2), Fraction(1, 5))
    assert share_variance(mechanism, 0.2) == pytest.approx(float((square - mean**2) / heard))


@pytest.mark.parametrize("sizes", [(2, 2), (2, 3), (2, 2, 2)])
@pytest.mark.parametrize("odds", [Fraction(3, 2), Fraction(3), Fraction(20)])
def test_a_marginal_of_a_joint_report_is_that_of_all_reports(
    sizes: tuple[int, ...], odds: Fraction
) -> None:
    cells = list(product(*map(range, sizes)))
    mechanism = subset_selection(len(cells), odds.numerator, odds.denominator)
    p, q = mechanism.p, mechanism.q
    for place, size in enumerate(sizes):
        group = {index for index, cell in enumerate(cells) if cell[place] == 0}
        inside, outside = (
            law(mechanism, min(group)),
            law(mechanism, max(set(range(len(cells))) - group)),
        )
        everybody = mixed([inside, outside], [Fraction(3, 10), Fraction(7, 10)])

        def score(report: Sequence[int], group: set[int] = group) -> Fraction:
            return (len(group & set(report)) - len(group) * q) / (p - q)

        mean, square = moments(everybody, score)

        assert mean == Fraction(3, 10)
        found = marginal_variance(mechanism, size, 0.3)
        assert found == pytest.approx(float(square - mean**2), rel=1e-10)


@pytest.mark.parametrize(
    "mechanism",
    [
        Window(5, 5, 2, 3, 1),
        Window(9, 2, 1, 3, 1),
        Window(17, 4, 2, 13, 7),
        Channel(3, ((6, 2, 2), (3, 4, 3), (2, 2, 6))),
        Channel(17, ((4, 2, 1, 1), (2, 4, 1, 1), (1, 1, 2, 4))),
    ],
    ids=repr,
)
def test_the_worst_variance_of_a_mean_is_the_largest_of_all_positions(
    mechanism: Window | Channel,
) -> None:
    score = position_scores(mechanism)
    worst = 0.0
    for position in range(mechanism.k):
        laws = [(float(p), score[report[0]]) for report, p in law(mechanism, position).items()]
        mean = sum(p * v for p, v in laws)
        assert mean == pytest.approx(position, abs=1e-9)
        worst = max(worst, sum(p * v**2 for p, v in laws) - mean**2)

    unit = (2 / (mechanism.k - 1)) ** 2
    # Over all values between the positions too, so it can be a little above.
    assert worst * unit * (1 - 1e-9) <= mean_variance(mechanism) <= worst * unit * 1.05


def test_noise_has_the_variances_of_the_literature() -> None:
    """On [-1, 1], n times: Laplace 8/epsilon^2; of a Gaussian its own sigma^2."""
    for epsilon in (1, 2, 4):
        fine = Laplace(10001, str(Fraction(10000, epsilon)))
        assert mean_variance(fine) == pytest.approx(8 / epsilon**2, rel=1e-6)
    gauss = Gaussian(2001, 1, "56000000", "1", "0.00001")
    assert mean_variance(gauss) == pytest.approx(56, rel=1e-12), "steps of 1/1000 each"


@pytest.mark.parametrize("beyond", ["clamp", "resample"])
def test_bounded_noise_is_measured_after_it_was_made_unbiased(beyond: str) -> None:
    mechanism = BoundedLaplace(5, "4", beyond)  # type: ignore[arg-type]
    decay = np.exp(-1 / 4)
    weights = decay ** np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
    if beyond == "clamp":
        weights[:, [0, -1]] *= 1 / (1 - decay)
    channel = weights / weights.sum(axis=1, keepdims=True)
    v = np.linalg.solve(channel, np.arange(5.0))

    assert mean_variance(mechanism) == pytest.approx(
        float((channel @ v**2 - np.arange(5) ** 2).max()) / 4
    )
