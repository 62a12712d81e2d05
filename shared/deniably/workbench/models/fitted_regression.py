"""Holds a fitted regression: its coefficients as a table, tests of them, and predictions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import exp, sqrt
from typing import Any, Literal, Protocol, overload

import numpy as np

from deniably.core.binomial import Floats
from deniably.core.errors import BadModel, NoFigure
from deniably.core.table import Table
from deniably.results.drawing.paper_figure import WIDTHS, Svg, svg
from deniably.results.drawing.png import Png, png
from deniably.workbench.models.coefficients import CoefficientTable, p_text
from deniably.workbench.models.model_figure import model_paper
from deniably.workbench.models.student import joint_tail, quantile

_LEVEL = re.compile(r"\[[^\[\]]*\](?=:|$)")
"""What the name of a coefficient has besides its term, such as ``[T.south]``."""


@dataclass(frozen=True, eq=False, repr=False)
class Compared(Table):
    """A test of a model against a smaller one, or of some coefficients.

    ``statistic`` is chi-squared with ``degrees`` of freedom if the smaller model is true, or if
    the coefficients are 0. ``p_value`` is then the probability of a statistic at least as large.
    """

    test: str
    statistic: float
    degrees: int
    p_value: float


class ColumnsOf(Protocol):
    """A function that returns the columns of a model for a table of true answers and
    covariates."""

    def __call__(self, frame: object) -> Floats:
        """Returns the columns (n, c) for the rows of ``frame``. Raises BadModel for a missing
        column or an unknown value."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class Regression(CoefficientTable):
    """A fitted regression on randomised answers. Printed, or in a notebook, it shows the table of
    its coefficients.

    **Estimator.** The text ``estimator`` names the method, its assumptions and its source: maximum
    likelihood through the channel of the reports, or the corrected score. **Assumption.** People
    answered as they were asked and devices kept to the design; then the coefficients describe the
    true answers, as if nobody had been randomised, with larger errors. Lies that are correlated
    with a covariate bias its coefficient.

    ``coefficients`` has one item for each column; if the outcome has more than two answers, one
    for each answer but the first and each column. ``covariance`` has the same order. ``se`` names
    the method of the standard errors. ``sigma`` is the residual standard deviation of a linear
    model, else None, and ``log_likelihood`` is None where the estimator has none. ``rows`` are the
    coefficients as dicts, and ``to_frame()`` makes a data frame of them.
    """

    covariance: tuple[tuple[float, ...], ...]
    log_likelihood: float | None
    sigma: float | None
    randomised: tuple[str, ...]
    columns_of: ColumnsOf

    @property
    def _degrees(self) -> float | None:
        """Returns the fewest degrees of freedom of any coefficient; None where statistics are
        normal."""
        return min(
            (coefficient.degrees for coefficient in self.coefficients if coefficient.degrees),
            default=None,
        )

    def to_dict(self) -> dict[str, Any]:
        """Returns the model and its coefficients as plain values, for JSON."""
        return {
            "formula": self.formula,
            "outcome": self.outcome,
            "model": self.model,
            "estimator": self.estimator,
            "n": self.n,
            "se": self.se,
            "confidence": self.confidence,
            "log_likelihood": self.log_likelihood,
            "sigma": self.sigma,
            "notes": list(self.notes),
            "coefficients": [asdict(coefficient) for coefficient in self.coefficients],
            "covariance": [list(row) for row in self.covariance],
        }

    @property
    def estimates(self) -> Floats:
        """Returns the estimated coefficients as an array, in the order of ``coefficients``."""
        return np.array([coefficient.estimate for coefficient in self.coefficients])

    @overload
    def figure(self, kind: Literal["svg"] = "svg", *, width: int = WIDTHS[0]) -> Svg: ...

    @overload
    def figure(self, kind: Literal["png"], *, width: int = WIDTHS[0]) -> Png: ...

    def figure(self, kind: Literal["svg", "png"] = "svg", *, width: int = WIDTHS[0]) -> Svg | Png:
        """Draws the model for a paper: the coefficients with their intervals, and their table.

        ``kind`` "svg" returns the text of an SVG file, and "png" a PNG file with 600 dots an inch.
        ``width`` is 85 or 180 mm: one column of a journal, or two. Raises NoFigure for another
        kind, ValueError for other widths, and for a PNG ImportError without resvg and OSError
        without a font.
        """
        if kind not in ("svg", "png"):
            raise NoFigure(f"there is no kind of figure {kind!r}; there are svg and png")
        drawing = svg(model_paper(self), width)
        return drawing if kind == "svg" else png(drawing)

    def predict(self, frame: object) -> Table:
        """Predicts shares of answers for each row of ``frame``, or means for a linear model, with
        intervals.

        ``frame`` has a column for each covariate; for a randomised covariate the column has the
        true answers to predict for. Intervals of shares are computed on the scale of the logit by
        the delta method, so they stay within 0 and 1; those of linear models are symmetric. Raises
        BadModel for a missing column or an unknown value.
        """
        x = self.columns_of(frame)
        z = quantile(self.confidence, self._degrees)
        if self.model in ("linear", "linear probability"):
            covariance = np.array(self.covariance)
            means = x @ self.estimates
            errors = np.sqrt(np.einsum("ni,ij,nj->n", x, covariance, x))
            rows: list[dict[str, Any]] = [
                _predicted(number, None, mean, error, mean - z * error, mean + z * error)
                for number, (mean, error) in enumerate(zip(means, errors, strict=True), 1)
            ]
        else:
            rows = list(self._predicted_shares(x, z))
        return _prediction(rows, self)

    def _predicted_shares(self, x: Floats, z: float) -> Any:
        k, covariance = len(self.answers), np.array(self.covariance)
        logits = np.column_stack([np.zeros(len(x)), x @ self.estimates.reshape(k - 1, -1).T])
        shown = range(1, 2) if self.model == "logistic" else range(k)
        for number, (row, row_logits) in enumerate(zip(x, logits, strict=True), 1):
            for answer in shown:
                # The logit of a share is that of its answer less log-sum-exp of the others.
                others = np.where(np.arange(k) == answer, -np.inf, row_logits)
                weights = np.exp(others - others.max())
                middle = float(row_logits[answer] - others.max() - np.log(weights.sum()))
                # The derivative of that logit by each of the logits, for the delta method.
                pull = np.where(np.arange(k) == answer, 1.0, -weights / weights.sum())
                slope: Floats = (pull[1:, None] * row).ravel()
                error = sqrt(float(slope @ covariance @ slope))
                low, share, high = (_share(middle + side * error) for side in (-z, 0, z))
                spread = error * share * (1 - share)
                yield _predicted(number, self.answers[answer], share, spread, low, high)

    def compare(self, smaller: Regression) -> Compared:
        """Returns the likelihood-ratio test of this model against a ``smaller`` one nested in it
        (Wilks 1938).

        Both models must be fitted by maximum likelihood to the same reports, without weights.
        Raises BadModel where a model has no likelihood or has weights, where the smaller model is
        not nested in this one, or where the two likelihoods are of different reports.
        """
        big, small = self.log_likelihood, smaller.log_likelihood
        if big is None or small is None or self.weighted or smaller.weighted:
            raise BadModel(
                "only likelihoods can be compared: of models without weights, by maximum"
                " likelihood; wald() tests coefficients of all others"
            )
        if (self.outcome, self.n, self.model) != (smaller.outcome, smaller.n, smaller.model):
            raise BadModel("the two models are not of the same outcome, rows and kind")
        if set(self.randomised) != set(smaller.randomised):
            raise BadModel(
                "the smaller model leaves out a randomised column, and so its reports: the"
                " likelihoods are of different data. Test its coefficients with wald()"
            )
        degrees = len(self.coefficients) - len(smaller.coefficients)
        inside = {
            (coefficient.term, coefficient.answer) for coefficient in smaller.coefficients
        } <= {(coefficient.term, coefficient.answer) for coefficient in self.coefficients}
        if degrees < 1 or not inside:
            raise BadModel("the other model is not inside this one: it has no term of its own")
        # A fit that stops a little below its maximum could make this negative.
        statistic = max(2 * (big - small), 0.0)
        title = f"{self.formula} against {smaller.formula}"
        return _compared("likelihood ratio", title, statistic, degrees)

    def wald(self, *terms: str) -> Compared:
        """Tests that all coefficients of these ``terms`` are 0 (Wald 1943).

        Terms are named as in the table, or as in the formula: ``"C(site)"`` stands for all
        coefficients of the sites. Without terms, all coefficients but the constant are tested. If
        coefficients have a t, the p-value is that of an F whose denominator has the fewest degrees
        of freedom of any coefficient. Raises BadModel for an unknown term.
        """
        known = list(dict.fromkeys(coefficient.term for coefficient in self.coefficients))
        chosen = list[str]()
        for term in terms:
            plain = term.replace("`", "")
            own = [term for term in known if plain in (term, _in_formula(term))]
            if not own:
                names = dict.fromkeys([*map(_in_formula, known), *known])
                raise BadModel(f"there is no term {term}; there are {', '.join(names)}")
            chosen += own
        if not terms:
            chosen = [term for term in known if term != "Intercept"]
        places = [
            i for i, coefficient in enumerate(self.coefficients) if coefficient.term in chosen
        ]
        if not places:
            raise BadModel("the model has only a constant: there is nothing to test")
        b = self.estimates[places]
        covariance = np.array(self.covariance)[np.ix_(places, places)]
        # b' V^-1 b, chi-squared if all of these coefficients are 0.
        statistic = float(b @ np.linalg.solve(covariance, b))
        what = f"{', '.join(terms or chosen)}: no influence"
        return _compared("Wald", what, statistic, len(places), self._degrees)


def _in_formula(term: str) -> str:
    """Returns the term of a formula that a coefficient belongs to.

    >>> _in_formula("C(site)[T.south]:age")
    'C(site):age'
    """
    return _LEVEL.sub("", term)


def _share(logit: float) -> float:
    # exp overflows beyond 709.
    return 1 / (1 + exp(-logit)) if logit > -700 else 0.0


def _predicted(
    row: int, answer: str | None, estimate: float, error: float, low: float, high: float
) -> dict[str, Any]:
    return {
        "row": row,
        "answer": answer,
        "estimate": float(estimate),
        "standard_error": float(error),
        "low": float(low),
        "high": float(high),
    }


def _prediction(rows: list[dict[str, Any]], model: Regression) -> Table:
    linear = rows[0]["answer"] is None
    lines = [["row", *([] if linear else ["answer"]), "estimate", "std. error", "from", "to"]]
    for row in rows:
        figures = [f"{row[name]:z.4f}" for name in ("estimate", "standard_error", "low", "high")]
        lines.append([str(row["row"]), *([] if linear else [row["answer"]]), *figures])
    level = f"{100 * model.confidence:g} %"
    what = "means" if model.model == "linear" else "shares"
    notes = [f"The intervals are those of {level} for the {what}, not for one person's answer."]
    return Table(f"Predicted {what} of {model.outcome}", rows, lines, 1 if linear else 2, notes)


def _compared(
    test: str, title: str, statistic: float, degrees: int, below: float | None = None
) -> Compared:
    p = joint_tail(statistic, degrees, below)
    row: Mapping[str, Any] = {
        "test": test, "statistic": statistic, "degrees": degrees, "p_value": p,
    }  # fmt: skip
    lines = [
        ["test", "chi-squared", "degrees of freedom", "p"],
        [test, f"{statistic:.3f}", str(degrees), p_text(p)],
    ]
    notes = [] if below is None else [f"p is that of F, with {below:.0f} degrees below."]
    return Compared(title, [row], lines, 1, notes, test, statistic, degrees, p)
