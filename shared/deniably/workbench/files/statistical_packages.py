"""Writes the design of each 0/1 column in the terms of other packages for randomised response.

Each package has its own way to say how likely a report of 1 is. ``Call.numbers`` are the package's
parameters, as fractions, so that p and q can be computed back from them. They were read in the
sources of RRreg 0.7.5 (Heck and Moshagen 2018, J. Stat. Softw. 85:2), rr 1.4.2 (Blair, Imai and
Zhou 2015, JASA 110:1304) and GLMMRR 0.6.0 (Fox, Klotzke and Veen 2018), and for Stata in the help
of rrlogit (Jann 2011).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import Final

from deniably.core.languages.markdown import Markdown
from deniably.survey.questions import Question
from deniably.workbench.report_columns import FileColumn, FileColumns, randomisation_note

_MOST_NAMED = 12
"""The most columns of a question that are named one by one."""
_HOW: Final = (
    "With p = P(1 | this answer) and q = P(1 | another answer) of a 0/1 column y, and"
    " covariates x that are not randomised, any of these calls says the same. What stands here"
    " goes behind the formula (RRreg: RRuni, RRlog; rr: rrreg; GLMMRR: RRglm); the codes stay"
    " 0 and 1."
    " `randomised` is in analyse.R. Leave RRreg's `custom` alone: it wants columns to sum to 1"
    " exactly in floating point, and refuses true ones."
)


@dataclass(frozen=True)
class Call:
    """Code that states a column's design to a ``package``: a ``template`` whose placeholders stand
    for ``numbers``."""

    package: str
    template: str
    numbers: tuple[Fraction, ...]

    @property
    def text(self) -> str:
        """Returns the template with each number filled in as the nearest double."""
        return self.template.format(*(repr(float(number)) for number in self.numbers))


def calls(p: Fraction, q: Fraction) -> list[Call]:
    """Returns the code that states the design of a 0/1 column to each package, given p = P(1 |
    this answer) and q = P(1 | another answer), with p > q.

    >>> for call in calls(Fraction(3, 4), Fraction(1, 4))[:2]:
    ...     print(call.package, call.text)
    RRreg model = "Kuk", p = c(0.75, 0.25)
    RRreg model = "FR", p = c(0.25, 0.25)
    """
    # With chance p - q the answer is true; else a yes has the chance q / (1 - p + q), as in the
    # unrelated question design (Greenberg et al. 1969).
    truth, unrelated = p - q, q / (1 - p + q)
    rows = [
        Call("RRreg", 'model = "Kuk", p = c({}, {})', (p, q)),
        Call("RRreg", 'model = "FR", p = c({}, {})', (1 - p, q)),
        Call("RRreg", 'model = "UQTknown", p = c({}, {})', (truth, unrelated)),
        Call("rr", 'design = "forced-known", p = {}, p1 = {}, p0 = {}', (truth, q, 1 - p)),
        Call("rr", 'design = "unrelated-known", p = {}, q = {}', (truth, unrelated)),
        Call("GLMMRR", 'RRmodel = "Kuk", p1 = {}, p2 = {}', (p, q)),
        Call("Stata", "rrlogit y x, pyes({}) pno({})", (q, 1 - p)),
        Call("base R", "glm(y ~ x, binomial(randomised({}, {})), start = ...)", (p, q)),
        Call("Deniably", 'regress("y ~ x", frame, designs={{"y": ({}, {})}})', (p, q)),
    ]
    # Warner's design (1965): the question or its opposite.
    if p + q == 1:
        rows += [
            Call("RRreg", 'model = "Warner", p = {}', (p,)),
            Call("rr", 'design = "mirrored", p = {}', (p,)),
            Call("Stata", "rrlogit y x, pwarner({})", (p,)),
        ]
    return rows


def index_calls(own: Fraction, other: Fraction, k: int) -> list[Call]:
    """Returns the code that states k-ary randomised response to RRreg and Deniably.

    The column has an index from 0 to k - 1: the true one is reported with probability ``own``, and
    each other one with probability ``other``.
    """
    return [
        Call("RRreg", f'model = "FR", p = rep({{}}, {k})', (other,)),
        Call("Deniably", f"Design.k_ary({k}, {{}})", (own,)),
    ]


def packages_page(columns: FileColumns) -> str:
    """Returns the text of PACKAGES.md: for each package, the code that states the design of every
    0/1 column and of every index column of k-ary randomised response."""
    survey = columns.layout.survey
    blocks = [
        Markdown.filled("# {title}: what other packages take", title=Markdown.text(survey.title)),
        Markdown.text(randomisation_note(columns.layout)),
        Markdown(_HOW),
    ]
    for question in survey.questions:
        blocks += _section(question, columns.of(question.name))
    return Markdown.joined("\n\n", blocks).source + "\n"


def pairs(own: Sequence[FileColumn]) -> list[tuple[Fraction, Fraction, list[FileColumn]]]:
    """Groups neighbouring 0/1 columns of a question that have the same p and q; returns [(p, q,
    columns)]."""
    named = [
        (column.p, column.q, column)
        for column in own
        if column.p is not None and column.q is not None
    ]
    return [
        (p, q, [column for *_, column in those])
        for (p, q), those in groupby(named, key=lambda row: row[:2])
    ]


def _section(question: Question, own: Sequence[FileColumn]) -> Iterator[Markdown]:
    by_rates = pairs(own)
    yield Markdown.filled("## {name}", name=Markdown.text(question.name))
    if not by_rates:
        yield Markdown(
            "Its reports are no 0/1 columns. None of these packages takes them, but Deniably."
        )
    for p, q, those in by_rates:
        more = f" and {len(those) - _MOST_NAMED} more" if len(those) > _MOST_NAMED else ""
        names = (Markdown.as_code(column.name) for column in those[:_MOST_NAMED])
        yield Markdown.filled(
            "{names}{more}: p = {p}, q = {q}",
            names=Markdown.joined(", ", names),
            more=Markdown.text(more), p=Markdown.text(str(p)), q=Markdown.text(str(q)),
        )  # fmt: skip
        yield _table(calls(p, q))
        k = len(those)
        index = [column for column in own if column.kind == "index" and len(column.categories) == k]
        # Then a report names one choice, and the index is k-ary randomised response.
        if index and p + (k - 1) * q == 1:
            yield Markdown.filled(
                "{name}, the index of {k} choices from 0 on:",
                name=Markdown.as_code(index[0].name), k=Markdown.number(k),
            )  # fmt: skip
            yield _table(index_calls(p, q, k))


def _table(package_calls: Sequence[Call]) -> Markdown:
    head = [Markdown("| package | call |"), Markdown("| --- | --- |")]
    rows = (
        Markdown.filled(
            "| {package} | {call} |",
            package=Markdown.text(call.package), call=Markdown.as_code(call.text),
        )
        for call in package_calls
    )  # fmt: skip
    return Markdown.joined("\n", [*head, *rows])
