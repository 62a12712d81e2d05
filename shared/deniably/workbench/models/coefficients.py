"""The coefficients of a fitted regression: what its table and its figure show."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np

from deniably.core.binomial import Floats
from deniably.core.errors import BadModel
from deniably.core.table import Table

Model = Literal["logistic", "multinomial", "linear", "linear probability"]


@dataclass(frozen=True)
class Coefficient:
    """One coefficient: ``estimate`` with its standard error, z, two-sided p-value and interval.

    ``answer`` is the answer whose logit it is about, None in a linear model.
    """

    term: str
    answer: str | None
    estimate: float
    standard_error: float
    z: float
    p_value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False, repr=False)
class CoefficientTable(Table):
    """A table of coefficients, and which model they are of.

    ``estimator`` says how it was fitted and ``se`` how the standard errors were made. ``answers``
    are those of the outcome, the first of which the others are against; of a linear model empty.
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
    terms: list[str],
    answers: list[str | None],
    estimates: Floats,
    covariance: Floats,
    confidence: float,
) -> tuple[Coefficient, ...]:
    """The coefficients with their errors and intervals, in the order of ``estimates``.

    Raises BadModel where an error is not above 0: the numbers are too large to calculate with.
    """
    normal = NormalDist()
    wide = normal.inv_cdf((1 + confidence) / 2)
    errors = np.sqrt(np.diag(covariance))
    for term, error in zip(terms, errors, strict=True):
        if not error > 0:
            raise BadModel(f"{term} has values too large to calculate with: take another unit")
    return tuple(
        Coefficient(
            term,
            answer,
            float(b),
            float(error),
            float(b / error),
            2 * normal.cdf(-abs(b / error)),
            float(b - wide * error),
            float(b + wide * error),
        )
        for term, answer, b, error in zip(terms, answers, estimates, errors, strict=True)
    )


def coefficient_lines(found: tuple[Coefficient, ...], confidence: float) -> list[list[str]]:
    """The table of coefficients as texts, with its headings."""
    several = len({one.answer for one in found}) > 1
    level = f"{100 * confidence:g} %"
    heads = ["term", *(["answer"] if several else []), "estimate", "std. error", "z", "p"]
    return [
        [*heads, f"{level} from", "to"],
        *(
            [
                one.term,
                *([str(one.answer)] if several else []),
                f"{one.estimate:z.5f}",
                f"{one.standard_error:.5f}",
                f"{one.z:z.2f}",
                p_text(one.p_value),
                f"{one.low:z.4f}",
                f"{one.high:z.4f}",
            ]
            for one in found
        ),
    ]


def p_text(p: float) -> str:
    """A p-value for people.

    >>> p_text(0.0321), p_text(0.00001)
    ('0.032', '<0.001')
    """
    return "<0.001" if p < 0.001 else f"{p:.3f}"
