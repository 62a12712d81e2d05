"""Chooses the estimator of a formula, and says in a sentence what that assumes.

==========  ==============  =================================  ====================================
outcome     right side      estimator                          with ``law``
==========  ==============  =================================  ====================================
randomised  public alone    maximum likelihood
randomised  randomised      maximum likelihood, summed over
            alone           true answers
randomised  both            corrected score                    "shares": the likelihood, with free
                                                               shares in groups of 100 people
a number    randomised      corrected score                    "normal": the likelihood of normal
            (and public)                                       residuals
==========  ==============  =================================  ====================================

Free shares of true answers in each of many small groups are as many nuisance parameters, which bias
the coefficients however many people there are (Neyman and Scott 1948, Econometrica 16:1). The
likelihood of normal residuals takes residuals that are skewed, or more spread at one answer, as
evidence of the true answer. Both were seen to cover the truth in less than half of the surveys; the
corrected score needs neither.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from deniably.core.binomial import Floats
from deniably.core.errors import BadModel, NoEstimate
from deniably.workbench.models import binary, corrected, joint
from deniably.workbench.models.coefficients import Model
from deniably.workbench.models.fit import Collinear, Ints, ModelFit, StandardErrors
from deniably.workbench.models.formulas import CellRows, Columns, Formula
from deniably.workbench.models.model_columns import numbers
from deniably.workbench.models.multinomial import multinomial
from deniably.workbench.models.randomised import Randomised

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

Link = Literal["logit", "identity"]
Law = Literal["normal", "shares"]
"""The likelihood to use instead of the corrected score: with normal residuals, or with free shares
of the true answers."""
LEAST_IN_A_GROUP = 100
"""The fewest people in a group whose shares of true answers are free. With 12, 95 % intervals
covered the truth in 83 %."""


@dataclass(frozen=True, eq=False)
class Task:
    """A formula with its data and options.

    ``table`` has the columns that are not randomised, and ``reports`` the randomised ones by name.
    ``outcome`` is the randomised outcome; None if the outcome is a number in ``table``. ``right``
    has the randomised columns of the formula's right side.
    """

    asked: Formula
    table: pd.DataFrame
    reports: Mapping[str, Randomised]
    outcome: Randomised | None
    right: Sequence[Randomised]
    weights: Floats | None
    strata: Ints | None
    link: Link
    law: Law | None
    se: StandardErrors | None
    confidence: float

    @property
    def weighted(self) -> bool:
        """Returns whether there are weights or strata."""
        return self.weights is not None or self.strata is not None

    @property
    def public(self) -> list[str]:
        """Returns the names of the columns on the right side that are not randomised."""
        return [name for name in self.asked.variables if name not in self.reports]

    @property
    def sample(self) -> dict[str, Any]:
        """Returns the weights and strata as the keyword arguments that estimators take."""
        return {"weights": self.weights, "strata": self.strata}


@dataclass(frozen=True, eq=False)
class Estimated:
    """A fit, with the ``columns`` and the type of its ``model``. ``estimator`` is a sentence on
    the method, and ``se`` the name of the standard errors."""

    columns: Columns
    model: Model
    fit: ModelFit
    estimator: str
    se: str


def estimated(task: Task) -> Estimated:
    """Fits the model of a task by the estimator that its formula and options call for.

    Raises BadModel for options that do not fit the formula, and NoEstimate where the reports do
    not determine the coefficients.
    """
    if not task.right:
        if task.law is not None:
            raise BadModel("law= is for models with randomised columns on the right: leave it out")
        return _identity(task) if task.link == "identity" else _on_public(task)
    if task.link == "identity" and task.outcome is not None:
        raise BadModel('link="identity" needs covariates that are not randomised')
    if task.outcome is None:
        if task.law == "shares":
            raise BadModel('a linear model has law="normal", or none: "shares" is for answers')
        return _linear_likelihood(task) if task.law == "normal" else _linear(task)
    if task.law == "normal":
        raise BadModel(f'law="normal" is for a number, and {task.asked.outcome} is randomised')
    if task.public and task.law is None:
        return _logistic(task, task.outcome)
    return _logistic_likelihood(task, task.outcome)


# --- nothing randomised on the right --------------------------------------------------------------


def _identity(task: Task) -> Estimated:
    outcome, columns = task.outcome, Columns(task.asked, task.reports)
    assert outcome is not None
    if not outcome.is_pair:
        raise BadModel('link="identity" is for outcomes of yes and no')
    if task.se is not None and (task.se != "robust" or not task.weighted):
        raise BadModel(
            'link="identity" has standard errors of its own: leave out se (with weights it may be'
            ' "robust")'
        )
    kind: binary.ShareErrors = "CR2" if task.weighted else "HC1"
    if task.se == "robust":
        kind = "robust"
    x = columns.first(task.table)
    fit = _named(columns, lambda: binary.linear_share(
        outcome.codes, x, outcome.p, outcome.q, errors=kind, **task.sample
    ))  # fmt: skip
    how = "Linear probability model, least squares of (report - q) / (p - q)"
    return Estimated(columns, "linear probability", fit, how, kind)


def _on_public(task: Task) -> Estimated:
    outcome, columns = task.outcome, Columns(task.asked, task.reports)
    assert outcome is not None
    x = columns.first(task.table)
    kind = task.se or ("HC3" if task.weighted else "expected")
    # Only a sandwich sums scores within strata.
    if task.strata is not None and kind not in ("robust", "HC3"):
        raise BadModel(f'strata need se="robust" or "HC3", not "{kind}"')
    if outcome.is_pair:
        how = "Logistic regression through the channel, {} (Scheers and Dayton 1988)"
        fit = _named(columns, lambda: binary.logit(
            outcome.codes, x, outcome.p, outcome.q, errors=kind, **task.sample
        ))  # fmt: skip
        return Estimated(columns, "logistic", fit, how.format(_likelihood(task)), kind)
    # The expected information sums over all possible reports, which are 2^k for unary encoding.
    if kind == "expected" and not outcome.complete:
        if task.se is not None:
            raise BadModel(
                "a report of several choices has too many forms for the expected information:"
                ' take se="observed", "opg" or "robust"'
            )
        kind = "observed"
    fit = _named(columns, lambda: multinomial(
        outcome.codes, outcome.chances, x, complete=outcome.complete, errors=kind, **task.sample
    ))  # fmt: skip
    how = (
        f"{_NAMES[_model(outcome)]} through the channel, {{}} (van den Hout, van der Heijden and"
        " Gilchrist 2007)"
    )
    return Estimated(columns, _model(outcome), fit, how.format(_likelihood(task)), kind)


_NAMES = {"logistic": "Logistic regression", "multinomial": "Multinomial logistic regression"}


def _model(outcome: Randomised) -> Literal["logistic", "multinomial"]:
    return "logistic" if outcome.k == 2 else "multinomial"


def _likelihood(task: Task) -> str:
    return "maximum likelihood" if task.weights is None else "weighted pseudo-likelihood"


# --- the corrected score --------------------------------------------------------------------------


_SCORE = "by the corrected score (Nakamura 1990; Buonaccorsi 2010), which assumes no law of {}"
_ROBUST = (
    "the corrected score has {} standard errors alone: leave out se, or ask for the likelihood"
    ' with law="{}"'
)


def _linear(task: Task) -> Estimated:
    if task.se not in (None, "robust"):
        raise BadModel(_ROBUST.format("robust (HC1)", "normal"))
    name = task.asked.outcome
    y = numbers(name, task.table[name])
    columns, cells = _cells(task)
    fit = _named(columns, lambda: corrected.linear(
        y, task.right, cells.kept(), confidence=task.confidence, **task.sample
    ))  # fmt: skip
    how = f"Linear regression on randomised columns {_SCORE} nor of the true answers"
    how = how.format("residuals")
    return Estimated(columns, "linear", fit, f"{how}; intervals by test inversion (Fieller 1954)",
                     "HC1")  # fmt: skip


def _logistic(task: Task, outcome: Randomised) -> Estimated:
    kind = task.se or ("HC3" if task.weighted else "robust")
    if kind not in ("robust", "HC3"):
        raise BadModel(_ROBUST.format("robust or HC3", "shares"))
    columns, cells = _cells(task)
    fit = _named(columns, lambda: corrected.logistic(
        outcome, task.right, cells.kept(), left_out=kind == "HC3", **task.sample
    ))  # fmt: skip
    model = _model(outcome)
    how = f"{_NAMES[model]} on randomised columns {_SCORE} given the other columns"
    return Estimated(columns, model, fit, how.format("the true answers"), kind)


def _cells(task: Task) -> tuple[Columns, CellRows]:
    _check_cells(task, 1)
    columns = Columns(task.asked, task.reports)
    return columns, CellRows(columns, task.table[task.public], task.right)


# --- likelihoods that are summed over true answers ------------------------------------------------


def _linear_likelihood(task: Task) -> Estimated:
    name = task.asked.outcome
    y = numbers(name, task.table[name])
    columns, kind, table = _groups(task)
    fit = _named(columns, lambda: joint.linear(
        y, task.right, table.group, table.table, errors=kind, **task.sample
    ))  # fmt: skip
    how = (
        f"Linear regression on randomised columns, {_likelihood(task)} by EM (Louis 1982), which"
        " assumes normal residuals with one spread: where they are not, the slopes are biased"
    )
    return Estimated(columns, "linear", fit, how, kind)


def _logistic_likelihood(task: Task, outcome: Randomised) -> Estimated:
    columns, kind, table = _groups(task)
    fit = _named(columns, lambda: joint.logistic(
        outcome, task.right, table.group, table.table, errors=kind, **task.sample
    ))  # fmt: skip
    source = (
        "van den Hout, van der Heijden and Gilchrist 2007" if outcome.k > 2
        else "Scheers and Dayton 1988"
    )  # fmt: skip
    free = "; shares of the true answers are free" + (" in each group" if task.public else "")
    how = (
        f"{_NAMES[_model(outcome)]} through the channel, {_likelihood(task)} ({source}); true"
        f" answers to randomised columns summed over, by EM (Lange 1995; Louis 1982){free}"
    )
    return Estimated(columns, _model(outcome), fit, how, kind)


def _groups(task: Task) -> tuple[Columns, joint.JointErrors, corrected.CellTable]:
    """Returns the columns of every group of alike people at every true answer, and the kind of
    errors."""
    kind = task.se or ("HC3" if task.weighted else "observed")
    if kind not in ("observed", "robust", "HC3"):
        raise BadModel(
            'with randomised covariates standard errors are "observed" or "robust", or "HC3"'
        )
    # The inverse of a weighted information is no covariance: weights are not people.
    if kind == "observed" and task.weighted:
        raise BadModel('with randomised covariates, weights and strata need se="robust" or "HC3"')
    columns = Columns(task.asked, task.reports)
    rows = CellRows(columns, task.table[task.public], task.right)
    _check_cells(task, len(rows.rows))
    if task.public:
        there = np.ones(len(rows.group), np.bool_) if task.weights is None else task.weights > 0
        least = int(np.bincount(rows.group[there], minlength=len(rows.rows)).min())
        if least < LEAST_IN_A_GROUP:
            raise NoEstimate(
                f"law={task.law!r} gives each different row of {', '.join(task.public)} free shares"
                f" of the true answers, and one has {least} people: with fewer than"
                f" {LEAST_IN_A_GROUP} the slopes are biased. Leave out law="
            )
    return columns, kind, rows.table()


def _check_cells(task: Task, rows: int) -> None:
    size = joint.cells(task.right)
    if rows * size <= joint.MOST_CELLS:
        return
    largest = max(task.right, key=lambda column: column.k)
    others = f" times {rows:,} different rows of the other columns" if rows > 1 else ""
    bands = ", or make bands of columns with many values" if rows > 1 else ""
    raise BadModel(
        f"{size:,} true answers{others} make {rows * size:,} cells, and at most"
        f" {joint.MOST_CELLS:,} can be estimated: merge answers of {largest.name}, which has"
        f" {largest.k}{bands}"
    )


def _named(columns: Columns, fit: Callable[[], ModelFit]) -> ModelFit:
    """Returns the fit; errors then name the column that they are about, and not its number."""
    try:
        return fit()
    except Collinear as error:
        raise BadModel(
            f"{columns.names[error.column]} follows from the columns before it (it is collinear),"
            " or there are fewer rows than columns: leave it out"
        ) from None
    except corrected.Unbounded as error:
        terms = ", ".join(columns.names[place] for place in error.columns)
        raise NoEstimate(
            f"the reports do not bound {terms}: with so much noise any value, however large, is"
            " compatible with them. Collect more reports, merge answers that few people gave, or"
            " leave a column out"
        ) from None
