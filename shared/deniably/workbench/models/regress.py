"""Regression on randomised answers by a formula: which estimator fits, and its table."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from deniably.core.binomial import Floats
from deniably.core.errors import BadModel
from deniably.core.extras import install_command
from deniably.workbench.models import binary, joint
from deniably.workbench.models.coefficients import Model, coefficient_lines, coefficients
from deniably.workbench.models.columns import (
    groups_of,
    names_of,
    nearest,
    numbers,
    read_columns,
    weights_of,
)
from deniably.workbench.models.fit import KINDS, Collinear, Ints, ModelFit, StandardErrors
from deniably.workbench.models.multinomial import multinomial
from deniably.workbench.models.randomised import Design, Pair, Randomised
from deniably.workbench.models.regression import Regression

if TYPE_CHECKING:
    import pandas as pd

Link = Literal["logit", "identity"]
_SCORE = "score"
_QUOTED = re.compile("`([^`]+)`")


def regress(
    formula: str,
    frame: object,
    *,
    designs: Mapping[str, Pair | Design],
    weights: str | Sequence[float] | None = None,
    strata: str | None = None,
    link: Link = "logit",
    se: StandardErrors | None = None,
    confidence: float = 0.95,
) -> Regression:
    """Regression on randomised answers, of your own data from paper, telephone or another tool.

    ``frame`` is a table of pandas or polars, or a mapping of names to columns. ``designs`` say
    which columns are randomised: a pair (p, q) with p = P(1 | yes) and q = P(1 | no) for a column
    of 0 and 1, or a ``Design`` for more answers. ``formula`` is as in R, such as
    ``"affair ~ age + C(site)"``; there, a randomised column of several answers is a category, and a
    number as ``score(column)``.

    A randomised outcome has a logistic model, multinomial for more than two answers. With
    randomised columns on the right the likelihood is summed over all true answers: at most 4,096
    cells of them and of different rows of other columns. An outcome without a design is a number,
    and has a linear model on randomised columns. ``link="identity"`` is the linear probability
    model of a yes-or-no outcome, a cross-check that needs no iteration.

    ``se`` are the standard errors: from the "expected" information (the default), the "observed"
    one (the default with randomised columns on the right), the outer product of gradients ("opg"),
    or "robust" (the default with ``weights``, a column or numbers; ``strata`` is a column, and the
    errors are then those of R's svyglm). Randomised columns on the right have "observed" and
    "robust" ones alone.

    Raises BadModel for a formula, column or design that does not fit, and NoEstimate where reports
    determine no coefficient: separation, or no convergence. A model never shows a number then.

    >>> found = regress(
    ...     "stolen ~ 1", {"stolen": [1] * 45 + [0] * 55}, designs={"stolen": ("3/4", "1/4")}
    ... )
    >>> round(found.predict({"stolen": [0]}).rows[0]["estimate"], 3)
    0.4
    """
    asked = parsed(formula)
    randomised = {name: design_of(one) for name, one in designs.items()}
    known = names_of(frame)
    for name in [*randomised, *([strata] if strata else [])]:
        if name not in known:
            raise BadModel(f"there is no column {name}; there are {', '.join(known)}")
    used = [asked.outcome, *asked.variables]
    named = [name for name in (strata, weights) if isinstance(name, str)]
    table = read_columns(frame, [*used, *named])
    reports = {
        name: randomised[name].of(name, table[name].to_numpy())
        for name in dict.fromkeys(used)
        if name in randomised
    }
    return fitted(
        asked,
        table,
        reports,
        weights=None if weights is None else _weights(weights, table),
        strata=None if strata is None else groups_of(table[strata]),
        link=link,
        se=se,
        confidence=confidence,
    )


@dataclass(frozen=True)
class Asked:
    """A formula: its ``outcome``, the ``variables`` of its right side, and that side itself.

    There, ``stand_ins`` stand for names between backticks that are no names in Python.
    """

    text: str
    outcome: str
    variables: tuple[str, ...]
    right: Any
    stand_ins: Mapping[str, str]

    def named(self, text: str) -> str:
        """A text with the names that its stand-ins are for, and without backticks."""
        for one, name in self.stand_ins.items():
            text = text.replace(one, name)
        return text.replace("`", "")


def _with_stand_ins(formula: str) -> tuple[str, dict[str, str]]:
    """A formula whose names between backticks are names in Python, and what these stand for."""
    known = dict[str, str]()

    def stand_in(found: re.Match[str]) -> str:
        name = found[1]
        if name.isidentifier() and not iskeyword(name):
            return found[0]
        return known.setdefault(name, f"quoted{len(known) + 1}_")

    written = _QUOTED.sub(stand_in, formula)
    return written, {one: name for name, one in known.items()}


def parsed(formula: str) -> Asked:
    """Read a formula. Raises BadModel for one without an outcome, and for what is none."""
    try:
        import formulaic
        from formulaic.errors import FormulaicError
    except ImportError:
        raise ImportError(
            f"formulas need formulaic; get it with: {install_command('bench')}"
        ) from None
    read: Any = formulaic.Formula
    written, stand_ins = _with_stand_ins(formula)
    try:
        found: Any = read(written)
    except FormulaicError as error:
        raise BadModel(f"{formula!r} is no formula: {_one_line(error)}") from None
    left = [str(term) for term in getattr(found, "lhs", ())]
    if len(left) != 1 or _variables(found.lhs) != set(left):
        raise BadModel(
            f"{formula!r} has no outcome: write one column, ~ and the covariates, such as"
            ' "affair ~ age", and one like a-b between backticks'
        )
    if isinstance(found.rhs, tuple):
        raise BadModel(f"{formula!r} has two right sides: | has no meaning here")
    names = {stand_ins.get(name, name) for name in _variables(found.rhs)}
    outcome = stand_ins.get(left[0], left[0])
    if outcome in names:
        raise BadModel(f"{outcome} stands on both sides of the formula")
    if not len(found.rhs):
        raise BadModel("the right side of the formula is empty: write ~ 1 for a constant alone")
    return Asked(formula, outcome, tuple(sorted(names)), found.rhs, stand_ins)


def _variables(side: Any) -> set[str]:
    """The columns that a side needs; formulaic alone leaves out those within center() and such."""
    import formulaic.transforms

    known: Mapping[str, object] = cast(Any, formulaic.transforms).TRANSFORMS
    found = {str(name) for name in side.required_variables} - {_SCORE}
    for factor in (factor for term in side for factor in term.factors):
        if factor.eval_method.value == "lookup":
            found |= {_SCORE} & {str(factor.expr)}  # a column of that name, as no call is
            continue  # a name alone, whose letters may be no Python
        try:
            tree = ast.parse(str(factor.expr), mode="eval")
        except SyntaxError:
            continue  # a name between backticks
        called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        names = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
        found |= {node.id for node in names if id(node) not in called}
    return found - known.keys()


def fitted(
    asked: Asked,
    table: pd.DataFrame,
    reports: Mapping[str, Randomised],
    *,
    weights: Floats | None = None,
    strata: Ints | None = None,
    link: Link = "logit",
    se: StandardErrors | None = None,
    confidence: float = 0.95,
) -> Regression:
    """Fit a model to ``reports`` of the randomised columns and a ``table`` of the others.

    The rows of both are the same people. Options are those of ``regress``. Raises BadModel and
    NoEstimate as it does.
    """
    _check_options(link, se, confidence)
    outcome = reports.get(asked.outcome)
    right = [reports[name] for name in asked.variables if name in reports]
    if outcome is None and not right:
        raise BadModel(
            "no column of the formula is randomised: name those that are in designs, such as"
            f" designs={{{asked.outcome!r}: (0.75, 0.25)}}; for other data an ordinary package fits"
        )
    table = _public(table, [name for name in asked.variables if name not in reports])
    task = _Task(asked, table, reports, outcome, right, weights, strata, link, se)
    columns, model, fit, kind = _on_randomised(task) if right else _on_public(task)
    return _regression(task, columns, model, fit, kind, confidence)


def _public(table: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """The table with the categories that its public columns have. Raises BadModel."""
    found = table.copy()
    for name in names:
        try:
            several = table[name].nunique() > 1
        except TypeError:
            raise BadModel(f"{name} has values that are neither numbers nor categories") from None
        if not several:
            raise BadModel(f"{name} is the same in every row: leave it out")
        if hasattr(table[name], "cat"):
            found[name] = table[name].cat.remove_unused_categories()
    return found


@dataclass(frozen=True, eq=False)
class _Task:
    asked: Asked
    table: pd.DataFrame
    reports: Mapping[str, Randomised]
    outcome: Randomised | None
    right: Sequence[Randomised]
    weights: Floats | None
    strata: Ints | None
    link: Link
    se: StandardErrors | None


class _Columns:
    """Makes the columns of a formula, the same ones for new rows as for those of the fit."""

    def __init__(self, asked: Asked, reports: Mapping[str, Randomised]) -> None:
        self._asked, self._spec = asked, cast(Any, None)
        self._seen = dict[str, list[object]]()
        self._context = {_SCORE: self._score}
        self._right = {name: reports[name] for name in asked.variables if name in reports}

    @property
    def names(self) -> list[str]:
        """The terms, in the order of the columns."""
        return [self._asked.named(name) for name in self._spec.column_names]

    def first(self, table: pd.DataFrame) -> Floats:
        """The columns of the rows that the model is fitted to."""
        made = self._made(self._asked.right, table)
        self._spec = made.model_spec
        self._seen = {
            name: list(table[name].unique()) for name in self._asked.variables if name in table
        }
        if self._right and any(self._spec.transform_state.values()):
            raise BadModel(
                "center(), scale(), poly() and splines depend on all rows, and true answers are"
                " known of none: make such columns yourself, before"
            )
        if not made.shape[1]:
            raise BadModel("the right side of the formula has no column")
        return np.asarray(made, np.float64)

    def __call__(self, frame: object) -> Floats:
        rows = read_columns(frame, self._asked.variables or names_of(frame)[:1])
        for name, one in self._right.items():
            rows[name] = self.answers(one, _places(one, rows[name]))
        return np.asarray(self._made(self._spec, rows), np.float64)

    @staticmethod
    def answers(one: Randomised, places: Ints) -> Any:
        """True answers as a column: numbers 0 and 1 of a pair, else categories."""
        import pandas as pd

        if one.is_pair and one.choices == (0, 1):
            return places.astype(np.float64)
        names = [str(choice) for choice in one.choices]
        return pd.Categorical([names[int(place)] for place in places], categories=names)

    def _score(self, column: Any) -> Any:
        for one in self._right.values():
            if self._asked.named(str(getattr(column, "name", ""))) == one.name:
                if len(apart := np.flatnonzero(np.isnan(one.values))):
                    named = ", ".join(str(one.choices[place]) for place in apart)
                    raise BadModel(
                        f"{_SCORE}({one.name}) is no number for everybody: {named} has no place on"
                        f" the scale. Write {one.name} alone, for categories"
                    )
                codes = column.cat.codes if hasattr(column, "cat") else column
                return one.values[np.asarray(codes, np.int64)]
        raise BadModel(f"{_SCORE}() takes a randomised column, by its name alone")

    def _unseen(self, table: pd.DataFrame, why: str) -> str:
        """Which values the rows of the fit had none of, of those that the reason names."""
        for name, seen in self._seen.items():
            new = [one for one in table[name].unique() if one not in seen and repr(one) in why]
            if new:
                return (
                    f"{name} has a value that the model was not fitted to:"
                    f" {new[0]}{nearest(str(new[0]), map(str, seen))}"
                )
        return f"the rows have values that the model was not fitted to: {why}"

    def _made(self, recipe: Any, table: pd.DataFrame) -> Any:
        from formulaic.errors import DataMismatchWarning, FormulaicError

        names = {name: one for one, name in self._asked.stand_ins.items()}
        known = table.rename(columns=names)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                return recipe.get_model_matrix(known, context=self._context, na_action="raise")
            except BadModel:
                raise
            except DataMismatchWarning as error:
                raise BadModel(self._unseen(table, str(error))) from None
            except (FormulaicError, Warning, ValueError, TypeError) as error:
                if isinstance(cause := error.__cause__ or error.__context__, BadModel):
                    raise cause from None
                raise BadModel(
                    f"the columns of {self._asked.text!r} cannot be made: {_one_line(error)}"
                ) from None


_Found = tuple[_Columns, Model, ModelFit, StandardErrors | Literal["HC1"]]


def _on_public(task: _Task) -> _Found:
    outcome = task.outcome
    assert outcome is not None
    columns = _Columns(task.asked, task.reports)
    x = columns.first(task.table)
    options: dict[str, Any] = {"weights": task.weights, "strata": task.strata}
    if task.link == "identity":
        if not outcome.is_pair:
            raise BadModel('link="identity" is for outcomes of yes and no')
        if task.se is not None:
            raise BadModel('link="identity" has standard errors of its own: leave out se')
        fit = _named(columns, lambda: binary.linear_share(
            outcome.codes, x, outcome.p, outcome.q, **options
        ))  # fmt: skip
        plain = task.weights is None and task.strata is None
        return columns, "linear probability", fit, "HC1" if plain else "robust"
    kind = task.se or ("expected" if task.weights is None and task.strata is None else "robust")
    if task.strata is not None and kind != "robust":
        raise BadModel(f'strata need se="robust", not "{kind}"')
    if outcome.is_pair:
        fit = _named(columns, lambda: binary.logit(
            outcome.codes, x, outcome.p, outcome.q, errors=kind, **options
        ))  # fmt: skip
        return columns, "logistic", fit, kind
    if kind == "expected" and not outcome.complete:
        if task.se is not None:
            raise BadModel(
                "a report of several choices has too many forms for the expected information:"
                ' take se="observed", "opg" or "robust"'
            )
        kind = "observed"
    fit = _named(columns, lambda: multinomial(
        outcome.codes, outcome.chances, x, complete=outcome.complete, errors=kind, **options
    ))  # fmt: skip
    return columns, "logistic" if outcome.k == 2 else "multinomial", fit, kind


def _on_randomised(task: _Task) -> _Found:
    import pandas as pd

    plain = task.weights is None and task.strata is None
    kind = task.se or ("observed" if plain else "robust")
    if kind not in ("observed", "robust"):
        raise BadModel('with randomised covariates standard errors are "observed" or "robust"')
    if kind == "observed" and not plain:
        raise BadModel('with randomised covariates, weights and strata need se="robust"')
    options: dict[str, Any] = {"weights": task.weights, "strata": task.strata, "errors": kind}
    if task.link == "identity" and task.outcome is not None:
        raise BadModel('link="identity" needs covariates that are not randomised')
    public = [name for name in task.asked.variables if name not in task.reports]
    rows = task.table[public].drop_duplicates() if public else pd.DataFrame(index=[0])
    size = joint.cells(task.right)
    if len(rows) * size > joint.MOST_CELLS:
        raise BadModel(_too_many(task, len(rows), size))
    group: Ints = np.zeros(len(task.table), np.int64)
    if public:
        every = pd.concat([rows, task.table[public]], ignore_index=True)
        found = every.groupby(public, sort=False, observed=True).ngroup()
        group = found.to_numpy()[len(rows) :].astype(np.int64)
    grid = rows.loc[rows.index.repeat(size)].reset_index(drop=True)
    columns = _Columns(task.asked, task.reports)
    for one, answer in zip(task.right, joint.cell_answers(task.right), strict=True):
        grid[one.name] = columns.answers(one, np.tile(answer, len(rows)))
    z = columns.first(grid).reshape(len(rows), size, -1)
    if task.outcome is None:
        name = task.asked.outcome
        y = numbers(name, task.table[name])
        fit = _named(columns, lambda: joint.linear(y, task.right, group, z, **options))
        return columns, "linear", fit, kind
    outcome = task.outcome
    fit = _named(columns, lambda: joint.logistic(outcome, task.right, group, z, **options))
    return columns, "logistic" if outcome.k == 2 else "multinomial", fit, kind


def _too_many(task: _Task, rows: int, size: int) -> str:
    largest = max(task.right, key=lambda one: one.k)
    others = f" times {rows:,} different rows of the other columns" if rows > 1 else ""
    return (
        f"{size:,} true answers{others} make {rows * size:,} cells, and at most"
        f" {joint.MOST_CELLS:,} can be estimated: merge answers of {largest.name}, which has"
        f" {largest.k}, or make bands of columns with many values"
    )


def _named(columns: _Columns, fit: Callable[[], ModelFit]) -> ModelFit:
    try:
        return fit()
    except Collinear as error:
        raise BadModel(
            f"{columns.names[error.column]} follows from the columns before it (it is collinear),"
            " or there are fewer rows than columns: leave it out"
        ) from None


_ESTIMATORS: Mapping[str, str] = {
    "logistic": "Logistic regression through the channel, maximum likelihood (Scheers and Dayton"
    " 1988)",
    "multinomial": "Multinomial logistic regression through the channel, maximum likelihood (van"
    " den Hout, van der Heijden and Gilchrist 2007)",
    "linear": "Linear regression on randomised columns, maximum likelihood by EM (Louis 1982)",
    "linear probability": "Linear probability model, least squares of (report - q) / (p - q)",
}
_JOINT = "; true answers to randomised columns summed over, by EM (Lange 1995; Louis 1982)"


def _regression(
    task: _Task,
    columns: _Columns,
    model: Model,
    fit: ModelFit,
    kind: StandardErrors | Literal["HC1"],
    confidence: float,
) -> Regression:
    answers = [str(choice) for choice in task.outcome.choices] if task.outcome else []
    linear = model in ("linear", "linear probability")
    blocks: list[str | None] = [None] if linear else [*answers[1:]]
    terms = columns.names * len(blocks)
    about = [answer for answer in blocks for _ in columns.names]
    found = coefficients(terms, about, fit.coefficients, fit.covariance, confidence)
    estimator = _ESTIMATORS[model] + (_JOINT if task.right and model != "linear" else "")
    if task.weights is not None:
        estimator = estimator.replace("maximum likelihood", "weighted pseudo-likelihood")
    n = len(task.table)
    rows = [
        {"term": c.term, "answer": c.answer, "estimate": c.estimate,
         "standard_error": c.standard_error, "z": c.z, "p_value": c.p_value, "low": c.low,
         "high": c.high} for c in found
    ]  # fmt: skip
    several = len(set(about)) > 1
    return Regression(
        caption=f"{task.asked.text}, {n:,} reports",
        rows=rows,
        lines=coefficient_lines(found, confidence),
        texts=2 if several else 1,
        notes=_notes(task, estimator, answers, fit, kind),
        formula=task.asked.text,
        outcome=task.asked.outcome,
        model=model,
        estimator=estimator,
        n=n,
        coefficients=found,
        covariance=tuple(tuple(row) for row in fit.covariance.tolist()),
        se=kind,
        confidence=confidence,
        log_likelihood=fit.log_likelihood,
        sigma=fit.sigma,
        weighted=task.weights is not None or task.strata is not None,
        randomised=tuple(one.name for one in task.right),
        answers=tuple(answers),
        columns_of=columns,
    )


def _notes(task: _Task, estimator: str, answers: list[str], fit: ModelFit, kind: str) -> list[str]:
    notes = [f"{estimator}.", f"Standard errors: {kind}."]
    if fit.log_likelihood is not None and task.weights is None:
        c = len(fit.coefficients)
        notes.append(f"Log-likelihood {fit.log_likelihood:.4f} with {c} coefficients.")
    if fit.sigma is not None:
        notes.append(f"Residual standard deviation {fit.sigma:.4g}.")
    if len(answers) > 2:
        notes.append(f"Logits are against {answers[0]}.")
    if fit.at_the_edge:
        notes.append(
            f"{fit.at_the_edge} of the shares of true answers are estimated to be 0, and taken as"
            " known in the standard errors."
        )
    if task.right:
        notes.append("Shares of the true answers to randomised columns are free.")
    return notes


def _check_options(link: str, se: str | None, confidence: float) -> None:
    if link not in ("logit", "identity"):
        raise BadModel(f'link is "logit" or "identity", and not {link!r}')
    if se is not None and se not in KINDS:
        raise BadModel(f"se is one of {', '.join(KINDS)}, and not {se!r}")
    if not 0.5 <= confidence <= 0.999:
        raise BadModel(f"confidence is {confidence:g}; use one between 0.5 and 0.999, such as 0.95")


def design_of(given: Pair | Design) -> Design:
    """A design, also of a pair (p, q). Raises BadModel for what is none."""
    if isinstance(given, Design):
        return given
    try:
        p, q = given
    except (TypeError, ValueError):
        raise BadModel(
            f"a design is a pair (p, q), such as (0.75, 0.25), or a Design, not {str(given)[:64]}"
        ) from None
    return Design.pair(p, q)


def _weights(given: str | Sequence[float], table: pd.DataFrame) -> Floats:
    name = given if isinstance(given, str) else "weights"
    found = weights_of(name, table[given] if isinstance(given, str) else given)
    if len(found) != len(table):
        raise BadModel(f"{len(found)} weights for {len(table)} rows")
    return found


def _places(one: Randomised, column: Any) -> Ints:
    """The numbers of true answers, by name."""
    known = {str(choice): place for place, choice in enumerate(one.choices)}
    try:
        return np.array([known[_answer_text(answer)] for answer in column], np.int64)
    except KeyError:
        raise BadModel(
            f"{one.name} takes the true answers {', '.join(known)} where you predict"
        ) from None


def _answer_text(answer: Any) -> str:
    """An answer spelt as choices are: 1 for 1.0 and True."""
    if isinstance(answer, str):
        return answer
    return f"{float(answer):g}"


def _one_line(error: object) -> str:
    return " ".join(re.sub("[\\x1b⧛]\\[[0-9;]*m|⧚", "", str(error)).split())[:300]
