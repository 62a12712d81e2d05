"""Rows that are alike are taken once: the figures are those of all rows."""

from __future__ import annotations

import numpy as np
import pytest

from deniably.core.binomial import Floats
from deniably.workbench.models import repeated_rows as rows
from deniably.workbench.models.binary import logit
from deniably.workbench.models.fit import KINDS, Ints, ModelFit, StandardErrors
from deniably.workbench.models.multinomial import multinomial
from deniably.workbench.models.repeated_rows import alike


def test_each_row_is_of_the_kind_of_its_first() -> None:
    a, b = np.array([1.0, 0, 1, 1, 0, 1]), np.array([0.5, 2, 0.5, 3, 2, 3])

    found = alike(a, b, np.array(7.0))

    assert found.first.tolist() == [0, 1, 3]
    assert found.times.tolist() == [2, 2, 2]


def test_rows_that_differ_are_taken_one_by_one() -> None:
    found = alike(np.arange(100.0))

    assert found.first.tolist() == list(range(100))
    assert (found.times == 1).all()


def people(choices: int) -> tuple[Ints, Floats]:
    """Answers, and columns: the constant one, a few numbers, yes or no."""
    chance = np.random.default_rng(5)
    x = np.column_stack([np.ones(600), chance.integers(0, 4, 600), chance.integers(0, 2, 600)])
    return chance.integers(0, choices, 600), x.astype(np.float64)


def fits(choices: int, kind: StandardErrors) -> ModelFit:
    answers, x = people(choices)
    if choices == 2:
        return logit(answers, x, 0.75, 0.25, errors=kind)
    chances = np.full((3, 3), 0.2) + 0.4 * np.eye(3)
    return multinomial(answers, chances, x, errors=kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("choices", [2, 3])
def test_a_model_of_kinds_is_the_model_of_all_rows(
    choices: int, kind: StandardErrors, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = fits(choices, kind)
    monkeypatch.setattr(rows, "_FEW", 0)

    every = fits(choices, kind)

    assert found.coefficients == pytest.approx(every.coefficients, rel=1e-8, abs=1e-10)
    assert found.covariance == pytest.approx(every.covariance, rel=1e-7, abs=1e-12)
    assert found.log_likelihood == pytest.approx(every.log_likelihood)


def test_chances_of_each_row_tell_rows_apart() -> None:
    answers, x = people(2)
    p = np.where(np.arange(600) % 2, 0.75, 0.9)

    found = logit(answers, x, p, 0.25)
    halves = logit(np.tile(answers, 2), np.tile(x, (2, 1)), np.tile(p, 2), 0.25)

    assert halves.coefficients == pytest.approx(found.coefficients, rel=1e-8)
    assert 2 * halves.covariance == pytest.approx(found.covariance, rel=1e-7)
