"""95 % intervals of every coefficient hold the truth in 93 to 97 % of surveys of 2,000 people."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from deniably.core.binomial import Floats
from deniably.mechanisms.subset_selection import SubsetSelection
from deniably.workbench.models.binary import linear_share, logit
from deniably.workbench.models.fit import ModelFit
from deniably.workbench.models.joint import linear, logistic
from deniably.workbench.models.multinomial import multinomial
from deniably.workbench.models.randomised import Design, Randomised
from support.soak import soak

N = 2_000
Draw = Callable[[np.random.Generator], ModelFit]
PAIR, FIVE = Design.pair("3/4", "1/4"), Design.k_ary(5, "3/4", values=[-2, -1, 0, 1, 2])
NOBODY = np.zeros(N, np.int64)


def covariates(generator: np.random.Generator) -> Floats:
    return np.column_stack([np.ones(N), generator.normal(size=N), generator.random(N) < 0.4])


def reported(design: Design, truth: Any, generator: np.random.Generator) -> Randomised:
    """Reports of these true answers."""
    chances = design.chances().cumsum(axis=0)
    return design.of("q", (generator.random(N) > chances[:, np.asarray(truth, int)]).sum(axis=0))


def share(logits: Any) -> Any:
    return 1 / (1 + np.exp(-logits))


def of_logit(kind: Any) -> tuple[Draw, list[float]]:
    b = [-0.5, 0.6, 0.8]

    def draw(generator: np.random.Generator) -> ModelFit:
        x = covariates(generator)
        r = reported(PAIR, generator.random(N) < share(x @ b), generator)
        return logit(r.codes, x, 0.75, 0.25, errors=kind)

    return draw, b


def weighted() -> tuple[Draw, list[float]]:
    b = [-0.5, 0.6, 0.8]

    def draw(generator: np.random.Generator) -> ModelFit:
        x, w = covariates(generator), 1 + 2 * generator.random(N)
        r = reported(PAIR, generator.random(N) < share(x @ b), generator)
        return logit(r.codes, x, 0.75, 0.25, weights=w, errors="robust")

    return draw, b


def of_linear_share() -> tuple[Draw, list[float]]:
    b = [0.3, 0.15, 0.2]

    def draw(generator: np.random.Generator) -> ModelFit:
        x = covariates(generator)
        x[:, 1] = 2 * generator.random(N) - 1
        r = reported(PAIR, generator.random(N) < x @ b, generator)
        return linear_share(r.codes, x, 0.75, 0.25)

    return draw, b


def of_multinomial() -> tuple[Draw, list[float]]:
    b = np.array([[0.0, 0.0, 0.0], [0.5, 0.5, -0.4], [0.2, -0.5, 0.6]])
    design = Design.k_ary(3, "3/4")

    def draw(generator: np.random.Generator) -> ModelFit:
        x = covariates(generator)
        chance = np.exp(x @ b.T)
        chance = (chance / chance.sum(axis=1, keepdims=True)).cumsum(axis=1)
        r = reported(design, (generator.random(N)[:, None] > chance).sum(axis=1), generator)
        return multinomial(r.codes, r.chances, x)

    return draw, b[1:].ravel().tolist()


def of_whole_reports() -> tuple[Draw, list[float]]:
    """Each report names two of four answers: the true one with 31 chances in 32."""
    b = np.array([[0.0, 0.0, 0.0], [0.5, 0.5, -0.4], [0.2, -0.5, 0.6], [0.3, 0.2, 0.5]])
    pairs = list(combinations(range(4), 2))
    mechanism = SubsetSelection(k=4, omega=2, own=31, other=1)
    law = [[float(mechanism.law.probability(a, one)) for one in pairs] for a in range(4)]
    design = Design(law)

    def draw(generator: np.random.Generator) -> ModelFit:
        x = covariates(generator)
        chance = np.exp(x @ b.T)
        chance = (chance / chance.sum(axis=1, keepdims=True)).cumsum(axis=1)
        r = reported(design, (generator.random(N)[:, None] > chance).sum(axis=1), generator)
        return multinomial(r.codes, r.chances, x)

    return draw, b[1:].ravel().tolist()


def both_randomised(*, weighted: bool = False) -> tuple[Draw, list[float]]:
    b, values = [0.0, -0.7], np.arange(-2, 3)
    z = np.column_stack([np.ones(5), values])[None]

    def draw(generator: np.random.Generator) -> ModelFit:
        x = generator.choice(5, N, p=[0.15, 0.2, 0.25, 0.25, 0.15])
        yes = generator.random(N) < share(b[0] + b[1] * values[x])
        columns = [reported(FIVE, x, generator)]
        options: Any = {}
        if weighted:
            options = {"weights": 1 + 2 * generator.random(N), "errors": "robust"}
        return logistic(reported(PAIR, yes, generator), columns, NOBODY, z, **options)

    return draw, b


def number_on_randomised() -> tuple[Draw, list[float]]:
    b, z = [25.0, 7.0], np.array([[[1.0, 0.0], [1.0, 1.0]]])

    def draw(generator: np.random.Generator) -> ModelFit:
        x = generator.random(N) < 0.5
        y = b[0] + b[1] * x + 6 * generator.normal(size=N)
        return linear(y, [reported(PAIR, x, generator)], NOBODY, z)

    return draw, b


CASES = {
    "expected": of_logit("expected"),
    "observed": of_logit("observed"),
    "robust": of_logit("robust"),
    "weighted": weighted(),
    "linear probability": of_linear_share(),
    "multinomial": of_multinomial(),
    "reports of several choices": of_whole_reports(),
    "both randomised": both_randomised(),
    "both randomised, weighted": both_randomised(weighted=True),
    "a number on a randomised column": number_on_randomised(),
}


def coverage(case: str, runs: int) -> Floats:
    draw, truth = CASES[case]
    generator, held = np.random.default_rng(2_000), np.zeros(len(truth))
    for _ in range(runs):
        found = draw(generator)
        held += abs(found.coefficients - truth) < 1.959964 * np.sqrt(np.diag(found.covariance))
    return held / runs


@pytest.mark.parametrize("case", [soak(case) for case in CASES])
def test_each_interval_covers_its_coefficient_in_93_to_97_of_100_surveys(case: str) -> None:
    """1,000 surveys; the seed is fixed."""
    found = coverage(case, 1_000)

    assert (found >= 0.93).all(), found
    assert (found <= 0.97).all(), found


OTHER_ERRORS = ("observed", "robust")  # of the same fits


@pytest.mark.parametrize("case", [case for case in CASES if case not in OTHER_ERRORS])
def test_few_surveys_show_no_interval_that_is_far_off(case: str) -> None:
    """60 surveys: with true coverage .95 fewer than 44 (73 %) hold the truth with a chance below
    1e-7 a coefficient. Half as wide intervals would cover 67 %."""
    assert (coverage(case, 60) >= 44 / 60).all()
