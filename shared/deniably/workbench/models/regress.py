"""Fits a regression on randomised answers by a formula, and makes its table and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from deniably.core.binomial import Floats
from deniably.core.errors import BadModel
from deniably.workbench.models.cautions import cautions
from deniably.workbench.models.coefficients import coefficient_lines, coefficients
from deniably.workbench.models.estimators import Estimated, Law, Link, Task, estimated
from deniably.workbench.models.fit import KINDS, Ints, StandardErrors
from deniably.workbench.models.fitted_regression import Regression
from deniably.workbench.models.formulas import Formula, parsed
from deniably.workbench.models.model_columns import groups_of, names_of, read_columns, weights_of
from deniably.workbench.models.randomised import Design, Pair, Randomised

if TYPE_CHECKING:
    import pandas as pd


def regress(
    formula: str,
    frame: object,
    *,
    designs: Mapping[str, Pair | Design],
    weights: str | Sequence[float] | None = None,
    strata: str | None = None,
    link: Link = "logit",
    law: Law | None = None,
    se: StandardErrors | None = None,
    confidence: float = 0.95,
) -> Regression:
    """Fits a regression to randomised answers in your own data, from paper, telephone or another
    tool.

    ``frame`` is a table of pandas or polars, or a mapping of names to columns. ``designs`` says
    which columns are randomised, and how: a pair (p, q) with p = P(1 | yes) and q = P(1 | no) for
    a column of 0 and 1, or a ``Design`` for more answers. ``formula`` is as in R, such as
    ``"affair ~ age + C(site)"``. A randomised column of several answers is a category in the
    formula, and a number as ``score(column)``.

    A randomised outcome has a logistic model, which is multinomial for more than two answers. An
    outcome without a design is a number, and has a linear model on randomised columns. Linear
    models are fitted by the corrected score, which assumes no law of residuals nor of true answers
    (Nakamura 1990); so are logistic models with both randomised and other columns on the right.
    All other logistic models are fitted by maximum likelihood. With randomised columns alone on
    the right, the likelihood is summed over all combinations of true answers, of which there may
    be at most 4,096. ``link="identity"`` is the linear probability model of a yes-or-no outcome, a
    cross-check that needs no iteration.

    ``law`` asks for the likelihood where the corrected score is the default. With "normal" the
    residuals of a linear model are assumed to be normal with one spread; if they are not, the
    slope is biased. With "shares" a logistic model gives each different row of the other columns
    free shares of the true answers, and needs 100 people in each.

    ``se`` chooses the standard errors: from the "expected" information (the default), the
    "observed" one (the default of a likelihood with randomised columns on the right), the outer
    product of gradients ("opg"), "robust" (the default of the corrected score) or "HC3".
    ``weights`` are the name of a column or numbers, and ``strata`` is the name of a column. With
    these the default is "HC3", or "CR2" for ``link="identity"``, because the other errors are too
    small where few people count. A linear model by the corrected score has "robust" errors alone.
    Intervals then take a t distribution; for "HC3" its degrees of freedom are Kish's effective
    number of people, less the columns. "robust" gives the errors of R's svyglm.

    Raises BadModel for a formula, column or design that does not fit, and NoEstimate where the
    reports do not determine the coefficients: on separation, or without convergence. No
    coefficient is returned then.

    >>> found = regress(
    ...     "stolen ~ 1", {"stolen": [1] * 45 + [0] * 55}, designs={"stolen": ("3/4", "1/4")}
    ... )
    >>> round(found.predict({"stolen": [0]}).rows[0]["estimate"], 3)
    0.4
    """
    parsed_formula = parsed(formula)
    randomised = {name: design_of(design) for name, design in designs.items()}
    known = names_of(frame)
    for name in [*randomised, *([strata] if strata else [])]:
        if name not in known:
            raise BadModel(f"there is no column {name}; there are {', '.join(known)}")
    used = [parsed_formula.outcome, *parsed_formula.variables]
    named = [name for name in (strata, weights) if isinstance(name, str)]
    table = read_columns(frame, [*used, *named])
    reports = {
        name: randomised[name].of(name, table[name].to_numpy())
        for name in dict.fromkeys(used)
        if name in randomised
    }
    return fitted(
        parsed_formula,
        table,
        reports,
        weights=None if weights is None else _weights(weights, table),
        strata=None if strata is None else groups_of(table[strata]),
        link=link,
        law=law,
        se=se,
        confidence=confidence,
    )


def fitted(
    formula: Formula,
    table: pd.DataFrame,
    reports: Mapping[str, Randomised],
    *,
    weights: Floats | None = None,
    strata: Ints | None = None,
    link: Link = "logit",
    law: Law | None = None,
    se: StandardErrors | None = None,
    confidence: float = 0.95,
) -> Regression:
    """Fits a model to the ``reports`` of the randomised columns and a ``table`` of the other
    columns.

    Row i of the table and report i of every randomised column are those of the same person. The
    other parameters are those of ``regress``. Raises BadModel where no column of the formula is
    randomised, or an option or column does not fit, and NoEstimate where the reports do not
    determine the coefficients.
    """
    _check_options(link, law, se, confidence)
    outcome = reports.get(formula.outcome)
    right = [reports[name] for name in formula.variables if name in reports]
    if outcome is None and not right:
        raise BadModel(
            "no column of the formula is randomised: name those that are in designs, such as"
            f" designs={{{formula.outcome!r}: (0.75, 0.25)}}; for other data an ordinary"
            " package fits"
        )
    table = _public(table, [name for name in formula.variables if name not in reports])
    task = Task(
        formula, table, reports, outcome, right, weights, strata, link, law, se, confidence
    )  # fmt: skip
    return _regression(task, estimated(task))


def _public(table: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Returns the table with only the categories that occur. Raises BadModel for a column that is
    the same in every row or cannot be used."""
    public = table.copy()
    for name in names:
        try:
            several = table[name].nunique() > 1
        except TypeError:
            raise BadModel(f"{name} has values that are neither numbers nor categories") from None
        if not several:
            raise BadModel(f"{name} is the same in every row: leave it out")
        if hasattr(table[name], "cat"):
            # A category that nobody has would become a column of 0, and the fit singular.
            public[name] = table[name].cat.remove_unused_categories()
    return public


def _regression(task: Task, how: Estimated) -> Regression:
    answers = [str(choice) for choice in task.outcome.choices] if task.outcome else []
    linear = how.model in ("linear", "linear probability")
    blocks: list[str | None] = [None] if linear else [*answers[1:]]
    terms = how.columns.names * len(blocks)
    about = [answer for answer in blocks for _ in how.columns.names]
    estimated = coefficients(terms, about, how.fit, task.confidence)
    n = len(task.table)
    rows = [
        {"term": c.term, "answer": c.answer, "estimate": c.estimate,
         "standard_error": c.standard_error, "z": c.z, "p_value": c.p_value, "low": c.low,
         "high": c.high} for c in estimated
    ]  # fmt: skip
    several = len(set(about)) > 1
    return Regression(
        caption=f"{task.asked.text}, {n:,} reports",
        rows=rows,
        lines=coefficient_lines(estimated, task.confidence),
        texts=2 if several else 1,
        notes=_notes(task, how, answers),
        formula=task.asked.text,
        outcome=task.asked.outcome,
        model=how.model,
        estimator=how.estimator,
        n=n,
        coefficients=estimated,
        covariance=tuple(tuple(row) for row in how.fit.covariance.tolist()),
        se=how.se,
        confidence=task.confidence,
        log_likelihood=how.fit.log_likelihood,
        sigma=how.fit.sigma,
        weighted=task.weighted,
        randomised=tuple(column.name for column in task.right),
        answers=tuple(answers),
        columns_of=how.columns,
    )


def _notes(task: Task, how: Estimated, answers: list[str]) -> list[str]:
    fit, notes = how.fit, [f"{how.estimator}.", f"Standard errors: {how.se}."]
    if fit.degrees is not None:
        notes.append(f"Tests and intervals: t with {fit.degrees.min():.0f} degrees of freedom.")
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
    return [*notes, *cautions(task)]


def _check_options(link: str, law: str | None, se: str | None, confidence: float) -> None:
    if link not in ("logit", "identity"):
        raise BadModel(f'link is "logit" or "identity", and not {link!r}')
    if law not in (None, "normal", "shares"):
        raise BadModel(f'law is "normal" or "shares", or left out, and not {law!r}')
    if se is not None and se not in KINDS:
        raise BadModel(f"se is one of {', '.join(KINDS)}, and not {se!r}")
    if not 0.5 <= confidence <= 0.999:
        raise BadModel(f"confidence is {confidence:g}; use one between 0.5 and 0.999, such as 0.95")


def design_of(design: Pair | Design) -> Design:
    """Returns a ``Design`` unchanged, and for a pair (p, q) its ``Design``. Raises BadModel for
    anything else."""
    if isinstance(design, Design):
        return design
    try:
        p, q = design
    except (TypeError, ValueError):
        raise BadModel(
            f"a design is a pair (p, q), such as (0.75, 0.25), or a Design, not {str(design)[:64]}"
        ) from None
    return Design.pair(p, q)


def _weights(weights: str | Sequence[float], table: pd.DataFrame) -> Floats:
    name = weights if isinstance(weights, str) else "weights"
    checked = weights_of(name, table[weights] if isinstance(weights, str) else weights)
    if len(checked) != len(table):
        raise BadModel(f"{len(checked)} weights for {len(table)} rows")
    return checked
