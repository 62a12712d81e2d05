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

    ``answer`` is the answer whose logit the coefficient is about, None in a linear model. ``z`` is
    the statistic of the test that the coefficient is 0: a t with ``degrees`` of freedom, or a
    normal one if these are None. The interval is from ``low`` to ``high``; ``interval_80`` and
    ``interval_50`` are narrower ones by the same method.
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
    """A table of the coefficients of one model, with what the model is.

    ``estimator`` says how the model was fitted and ``se`` how the standard errors were made.
    ``answers`` are those of the outcome; logits are against the first. Empty for a linear model.
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

    ``terms`` and ``answers`` name each coefficient. Raises BadModel where an error is not above 0
    or infinite: the numbers are too large to calculate with.
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
    """Returns the lines of a table of coefficients as texts, the headings first."""
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
