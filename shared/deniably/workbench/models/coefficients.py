"""Turns a fit into coefficients with tests and intervals, and these into the lines of a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from deniably.core.errors import BadModel
from deniably.core.table import Table
from deniably.workbench.models.fit import ModelFit
from deniably.workbench.models.student import quantile, two_sided

Model = Literal["logistic", "multinomial", "linear", "linear probability"]


Interval = tuple[float, float]
_Ends = Callable[[float], Interval]


@dataclass(frozen=True)
class Coefficient:
    """One coefficient of a regression: its estimate, standard error, two-sided p-value and
    interval.

    ``answer`` is the answer whose logit the coefficient is in; None in a linear model. ``z`` is
    the statistic of the test that the coefficient is 0. It has a t distribution with ``degrees``
    of freedom, or a normal one if ``degrees`` is None. The interval is from ``low`` to ``high``;
    ``interval_80`` and ``interval_50`` are intervals of 80 % and 50 % by the same method.
    """

    term: str
    answer: str | None
    estimate: float
    standard_error: float
    z: float
    p_value: float
    low: float
    high: float
    degrees: float | None
    interval_80: Interval
    interval_50: Interval


@dataclass(frozen=True, eq=False, repr=False)
class CoefficientTable(Table):
    """A table of the coefficients of one model, with a description of the model.

    ``estimator`` names the method of the fit, and ``se`` the method of the standard errors.
    ``answers`` are the possible answers of a randomised outcome; each logit compares an answer
    with the first of them. ``answers`` is empty if the outcome is not randomised.
    """

    formula: str
    outcome: str
    model: Model
    estimator: str
    n: int
    coefficients: tuple[Coefficient, ...]
    se: str
    confidence: float
    weighted: bool
    answers: tuple[str, ...]


def coefficients(
    terms: list[str], answers: list[str | None], fit: ModelFit, confidence: float
) -> tuple[Coefficient, ...]:
    """Returns the coefficients of a ``fit`` with their errors, tests and intervals at
    ``confidence``.

    ``terms`` and ``answers`` have the name of the column and the answer of each coefficient.
    Raises BadModel where an error is 0 or infinite: numbers of this size cannot be calculated
    with.
    """
    errors = np.sqrt(np.maximum(np.diag(fit.covariance), 0))
    estimated = list[Coefficient]()
    for place, (term, answer, error) in enumerate(zip(terms, answers, errors, strict=True)):
        if not 0 < error < np.inf:
            raise BadModel(f"{term} has values too large to calculate with: take another unit")
        estimate = float(fit.coefficients[place])
        degrees = None if fit.degrees is None else float(fit.degrees[place])
        z = float(estimate / error)
        ends_at: _Ends = _symmetric(estimate, float(error), degrees)
        # A test inversion has its own statistic and unsymmetric ends.
        if fit.inversions:
            z, ends_at = fit.inversions[place].statistic(), fit.inversions[place].ends
        low, high = ends_at(confidence)
        estimated.append(
            Coefficient(
                term, answer, estimate, float(error), float(z), two_sided(z, degrees), low, high,
                degrees, ends_at(0.8), ends_at(0.5),
            )
        )  # fmt: skip
    return tuple(estimated)


def _symmetric(estimate: float, error: float, degrees: float | None) -> _Ends:
    def ends(confidence: float) -> Interval:
        wide = float(quantile(confidence, degrees) * error)
        return estimate - wide, estimate + wide

    return ends


def coefficient_lines(coefficients: tuple[Coefficient, ...], confidence: float) -> list[list[str]]:
    """Returns a table of the coefficients as texts: a line of headings, then one line per
    coefficient."""
    several = len({coefficient.answer for coefficient in coefficients}) > 1
    level = f"{100 * confidence:g} %"
    statistic = "z" if all(coefficient.degrees is None for coefficient in coefficients) else "t"
    heads = ["term", *(["answer"] if several else []), "estimate", "std. error", statistic, "p"]
    return [
        [*heads, f"{level} from", "to"],
        *(
            [
                coefficient.term,
                *([str(coefficient.answer)] if several else []),
                # "z" prints -0.00000 without its sign.
                f"{coefficient.estimate:z.5f}",
                f"{coefficient.standard_error:.5f}",
                f"{coefficient.z:z.2f}",
                p_text(coefficient.p_value),
                f"{coefficient.low:z.4f}",
                f"{coefficient.high:z.4f}",
            ]
            for coefficient in coefficients
        ),
    ]


def p_text(p: float) -> str:
    """Returns a p-value as text: three decimals, or "<0.001".

    >>> p_text(0.0321), p_text(0.00001)
    ('0.032', '<0.001')
    """
    return "<0.001" if p < 0.001 else f"{p:.3f}"
