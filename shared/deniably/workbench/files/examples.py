"""Writes the example regression of each script: of the first 0/1 column on the strata of the
links.

The lines of the example are comments that begin with ``MARK``: take the mark away and they run.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, LiteralString, TypeVar

from deniably.core.languages.code import ScriptCode
from deniably.core.languages.python import Python
from deniably.core.languages.r import R
from deniably.core.languages.stata import Stata
from deniably.workbench.files.statistical_packages import pairs
from deniably.workbench.report_columns import FileColumns, StratumColumn

MARK: Final = "> "
_Language = TypeVar("_Language", bound=ScriptCode)


@dataclass(frozen=True)
class Example:
    """A logistic regression of the 0/1 column ``outcome`` on the ``strata``. ``p`` and ``q`` are
    the probabilities of a 1 if the true answer is the choice that the column is about, and if it
    is another."""

    outcome: str
    p: Fraction
    q: Fraction
    strata: tuple[StratumColumn, ...]


def example_of(columns: FileColumns) -> Example | None:
    """Returns the regression that scripts show; None where no column is 0 or 1."""
    for question in columns.layout.survey.questions:
        for p, q, those in pairs(columns.of(question.name)):
            return Example(those[0].name, p, q, columns.strata)
    return None


def in_r(example: Example) -> R:
    """Returns the example as R code: glm, and, if there are strata, svyglm with weights under
    which all strata have equal shares."""
    link = R.filled("randomised({p}, {q})", p=_number(R, example.p), q=_number(R, example.q))
    keys = [R.name(key.name) for key in example.strata]
    formula = R.filled(
        "{outcome} ~ {keys}", outcome=R.name(example.outcome),
        keys=R.joined(" + ", keys) if keys else R("1"),
    )  # fmt: skip
    options = R.filled(
        "start = rep(0, {count}), epsilon = 1e-12, maxit = 100",
        count=R.number(1 + sum(len(key.categories) - 1 for key in example.strata)),
    )
    lines = [
        *map(_factor_in_r, example.strata),
        R.filled(
            "model <- glm({formula}, binomial({link}), reports, {options})",
            formula=formula, link=link, options=options,
        ),
        R("print(coef(summary(model)), digits = 8)"),
    ]  # fmt: skip
    if example.strata:
        named = (R.filled("reports[[{name}]]", name=R.text(key.name)) for key in example.strata)
        lines += [
            R.filled("stratum <- droplevels(interaction({named}))", named=R.joined(", ", named)),
            R(
                "known <- rep(1 / nlevels(stratum), nlevels(stratum))"
                "  # the true shares, as you know"
            ),
            R("reports$weight <- as.vector((known / prop.table(table(stratum)))[stratum])"),
            R(
                "design <- survey::svydesign(~1, strata = stratum, weights = ~weight,"
                " data = reports)"
            ),
            R.filled(
                "weighted <- survey::svyglm({formula}, design, family = quasibinomial({link}),"
                " {options})",
                formula=formula, link=link, options=options,
            ),
            R("print(coef(summary(weighted)), digits = 8)"),
        ]  # fmt: skip
    return _shown(R, "#", lines)


def _factor_in_r(column: StratumColumn) -> R:
    return R.filled(
        "reports[[{name}]] <- factor(reports[[{name}]], 0:{last}, c({values}))",
        name=R.text(column.name), last=R.number(len(column.categories) - 1),
        values=R.joined(", ", map(R.text, column.categories)),
    )  # fmt: skip


def in_python(example: Example) -> Python:
    """Returns the example as Python code: ``deniably.regress``, and, if there are strata, the same
    regression with weights under which all strata have equal shares."""
    outcome, keys = Python.text(example.outcome), [key.name for key in example.strata]
    right = " + ".join(f"`{key}`" for key in keys) or "1"
    formula = Python.text(f"`{example.outcome}` ~ {right}")
    options = Python.filled(
        "designs={{{outcome}: ({p}, {q})}}", outcome=outcome,
        p=Python.text(str(example.p)), q=Python.text(str(example.q)),
    )  # fmt: skip
    lines = [
        Python("import deniably"),
        Python.filled(
            "some = [row for row in REPORTS if row[{outcome}] != '']", outcome=outcome
        ),
        Python.filled(
            "frame = {{{outcome}: [int(row[{outcome}]) for row in some]}}", outcome=outcome
        ),
        *(
            Python.filled(
                "frame[{name}] = [{values}[int(row[{name}])] for row in some]",
                name=Python.text(key.name), values=Python.texts(key.categories),
            )
            for key in example.strata
        ),
        Python.filled(
            "print(deniably.regress({formula}, frame, {options}))",
            formula=formula, options=options,
        ),
    ]  # fmt: skip
    if keys:
        lines += [
            Python.filled(
                "frame['stratum'] = list(map('.'.join, zip(*(frame[key] for key in {keys}))))",
                keys=Python.texts(keys),
            ),
            Python("strata = set(frame['stratum'])"),
            Python(
                "known = {one: 1 / len(strata) for one in strata}"
                "  # the true shares, as you know them"
            ),
            Python("weights = deniably.workbench.rake(frame, {'stratum': known})"),
            Python.filled(
                "print(deniably.regress({formula}, frame, {options},",
                formula=formula,
                options=options,
            ),
            Python("                       weights=weights, strata='stratum', se='robust'))"),
            Python(
                "# Those are the errors of survey::svyglm; without se= they hold for few people,"
                " too."
            ),
        ]
    return _shown(Python, "#", lines)


def in_stata(example: Example, columns: FileColumns) -> Stata:
    """Returns the example as Stata code that calls ``rrlogit`` (Jann 2011), a command from the SSC
    archive."""
    place = {
        name: Stata.filled("v{place}", place=Stata.number(number))
        for number, name in enumerate(columns.names, 2)  # v1 is the number of the row
    }
    right = (Stata.filled(" i.{column}", column=place[key.name]) for key in example.strata)
    model = Stata.filled(
        "rrlogit {outcome}{right}, pyes({q}) pno({other})",
        outcome=place[example.outcome], right=Stata.joined("", right),
        q=_number(Stata, example.q), other=_number(Stata, 1 - example.p),
    )  # fmt: skip
    return _shown(Stata, "*", [Stata("ssc install rrlogit"), model])


def _number(language: type[_Language], value: Fraction) -> _Language:
    return language.number(float(value))


def _shown(language: type[_Language], mark: LiteralString, lines: list[_Language]) -> _Language:
    head = (
        f'{mark} A regression of the true answer: take "{mark}{MARK}" away to run it. Covariates',
        f"{mark} are strata, or columns of your own: what is not randomised. PACKAGES.md has other",
        f"{mark} packages.",
    )
    shown = (language.filled(f"{mark}{MARK}{{line}}", line=line) for line in lines)
    all_lines = [language(), *(language(line) for line in head), *shown, language()]
    return language.joined("\n", all_lines)
