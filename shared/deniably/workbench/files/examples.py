"""An example of a regression in each script: the first 0/1 column on what the links said.

Its lines are comments that begin with ``MARK``: without it, they run.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from deniably.workbench.columns import FileColumns, StratumColumn
from deniably.workbench.files.packages import pairs

MARK = "> "


@dataclass(frozen=True)
class Example:
    """The ``outcome``, a 0/1 column with ``p`` and ``q``, and the ``strata`` beside it."""

    outcome: str
    p: Fraction
    q: Fraction
    strata: tuple[StratumColumn, ...]


def example_of(columns: FileColumns) -> Example | None:
    """The regression that scripts show; None where no column is 0 or 1."""
    for question in columns.layout.survey.questions:
        for p, q, those in pairs(columns.of(question.name)):
            return Example(those[0].name, p, q, columns.strata)
    return None


def in_r(example: Example) -> str:
    """For R: glm, and svyglm with weights by which all strata count alike."""
    link = f"randomised({float(example.p)!r}, {float(example.q)!r})"
    keys = [f"`{one.name}`" for one in example.strata]
    formula = f"`{example.outcome}` ~ {' + '.join(keys) or '1'}"
    count = 1 + sum(len(one.categories) - 1 for one in example.strata)
    options = f"start = rep(0, {count}), epsilon = 1e-12, maxit = 100"
    lines = [
        f"reports[[{r_text(one.name)}]] <- factor(reports[[{r_text(one.name)}]],"
        f" 0:{len(one.categories) - 1}, c({', '.join(map(r_text, one.categories))}))"
        for one in example.strata
    ]
    lines += [
        f"model <- glm({formula}, binomial({link}), reports, {options})",
        "print(coef(summary(model)), digits = 8)",
    ]
    if example.strata:
        named = ", ".join(f"reports[[{r_text(one.name)}]]" for one in example.strata)
        lines += [
            f"stratum <- droplevels(interaction({named}))",
            "known <- rep(1 / nlevels(stratum), nlevels(stratum))  # the true shares, as you know",
            "reports$weight <- as.vector((known / prop.table(table(stratum)))[stratum])",
            "design <- survey::svydesign(~1, strata = stratum, weights = ~weight, data = reports)",
            f"weighted <- survey::svyglm({formula}, design, family = quasibinomial({link}),"
            f" {options})",
            "print(coef(summary(weighted)), digits = 8)",
        ]
    return _shown("#", lines)


def in_python(example: Example) -> str:
    """For Python: ``deniably.regress``, also with weights by which all strata count alike."""
    outcome, keys = example.outcome, [one.name for one in example.strata]
    formula = f"`{outcome}` ~ {' + '.join(f'`{key}`' for key in keys) or '1'}"
    options = f"designs={{{outcome!r}: ({str(example.p)!r}, {str(example.q)!r})}}"
    lines = [
        "import deniably",
        f"some = [row for row in REPORTS if row[{outcome!r}] != '']",
        f"frame = {{{outcome!r}: [int(row[{outcome!r}]) for row in some]}}",
        *(
            f"frame[{one.name!r}] = [{list(one.categories)!r}[int(row[{one.name!r}])]"
            " for row in some]"
            for one in example.strata
        ),
        f"print(deniably.regress({formula!r}, frame, {options}))",
    ]
    if keys:
        lines += [
            f"frame['stratum'] = list(map('.'.join, zip(*(frame[key] for key in {keys!r}))))",
            "strata = set(frame['stratum'])",
            "known = {one: 1 / len(strata) for one in strata}  # the true shares, as you know them",
            "weights = deniably.workbench.rake(frame, {'stratum': known})",
            f"print(deniably.regress({formula!r}, frame, {options},",
            "                       weights=weights, strata='stratum'))",
        ]
    return _shown("#", lines)


def in_stata(example: Example, columns: FileColumns) -> str:
    """For Stata: ``rrlogit``, from SSC."""
    place = {name: f"v{number}" for number, name in enumerate(columns.names, 2)}
    right = "".join(f" i.{place[one.name]}" for one in example.strata)
    return _shown(
        "*",
        [
            "ssc install rrlogit",
            f"rrlogit {place[example.outcome]}{right},"
            f" pyes({float(example.q)!r}) pno({float(1 - example.p)!r})",
        ],
    )


def _shown(mark: str, lines: list[str]) -> str:
    head = (
        f'{mark} A regression of the true answer: take "{mark}{MARK}" away to run it. Covariates',
        f"{mark} are strata, or columns of your own: what is not randomised. PACKAGES.md has other",
        f"{mark} packages.",
    )
    return "\n".join(["", *head, *(f"{mark}{MARK}{line}" for line in lines), ""])


def r_text(text: str) -> str:
    """A string of R in ASCII, which reads the same in every locale."""
    parts = (_r_character(one) for one in text)
    return f'"{"".join(parts)}"'


def _r_character(one: str) -> str:
    if one in '"\\':
        return f"\\{one}"
    return one if " " <= one <= "~" else f"\\U{{{ord(one):x}}}"
