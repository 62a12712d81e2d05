"""Writes the codebook of a report set: as DDI Codebook 2.5 for archives, and as a web page for
people.

The standard is DDI Codebook 2.5 (DDI Alliance 2014). Every variable says whether it is randomised,
and has the estimated share beside the counts of what was reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final
from xml.etree.ElementTree import Element, indent, tostring

import numpy as np

from deniably.core.languages.html import Html
from deniably.core.languages.xml import element
from deniably.estimation.estimate import standard_error
from deniably.trust.signing import fingerprint
from deniably.workbench.data_source import Provenance
from deniably.workbench.report_columns import (
    ROW,
    WARNING,
    FileColumn,
    StratumColumn,
    note,
    randomisation_note,
)
from deniably.workbench.report_set import ReportSet

_NAMESPACE = "ddi:codebook:2_5"
_SHORT = 9
"""The most characters of a fraction that is printed as such."""


@dataclass(frozen=True)
class Described:
    """A column with a summary of what was reported in it: ``n`` values, and in ``counts`` how
    often each category occurs.

    For a randomised column of 0 and 1, ``estimate`` is the estimated share of people whose true
    answer the 1 stands for, and ``error`` its standard error. Both are None for other columns.
    """

    column: FileColumn | StratumColumn
    n: int
    counts: tuple[int, ...]
    estimate: float | None
    error: float | None

    @property
    def question(self) -> str:
        """Returns the wording of the question; for a stratum, a text that its value is in the link
        of the survey."""
        if isinstance(self.column, StratumColumn):
            return f"The value of {self.column.key} in the link of the survey"
        return self.column.question.label

    @property
    def instruction(self) -> str:
        """Returns sentences on how the column was randomised, with a warning not to tabulate it;
        for a stratum, a sentence that it is not randomised."""
        column = self.column
        if isinstance(column, StratumColumn):
            return "Not randomised: the respondent's link said it, and the form told so."
        method = (
            f"Randomised on the respondent's device: {column.question.report_mechanism.described}."
        )
        p, q = column.p_and_q
        if p is None or q is None:
            return f"{method} {WARNING}"
        return f"{method} p = {p} and q = {q} of a 1. {WARNING}"


def described(reports: ReportSet) -> Iterator[Described]:
    """Yields each column of a report set with a summary of what was reported in it."""
    for column in reports.columns:
        filled = reports.column(column.name)
        values = filled.values[filled.there]
        counts = list[int]()
        if column.categories:
            counts = np.bincount(values, minlength=len(column.categories)).tolist()
        estimate = error = None
        exact = column.p_and_q
        if exact[0] is not None and exact[1] is not None and len(values):
            p, q = float(exact[0]), float(exact[1])
            # The unbiased share behind a 0/1 column (Warner 1965).
            estimate = (float(values.mean()) - q) / (p - q)
            error = float(standard_error(int(values.sum()), len(values), p, q))
        yield Described(column, len(values), tuple(counts), estimate, error)


# --- DDI ----------------------------------------------------------------------------------------


def ddi(reports: ReportSet, source: Provenance) -> str:
    """Returns the codebook as the XML text of DDI Codebook 2.5."""
    book = Element("codeBook", {"xmlns": _NAMESPACE, "version": "2.5"})
    _study(element(book, "stdyDscr"), reports, source)
    text = element(element(book, "fileDscr", ID="reports"), "fileTxt")
    element(text, "fileName", "reports.csv")
    size = element(text, "dimensns")
    element(size, "caseQnty", f"{len(reports)}")
    element(size, "varQnty", f"{len(reports.columns) + 1}")
    data = element(book, "dataDscr")
    row = element(data, "var", ID="V1", name=ROW, files="reports")
    element(row, "labl", "Number of the row; reports are sorted by content, not by arrival")
    for number, column in enumerate(described(reports), 2):
        _variable(
            element(data, "var", ID=f"V{number}", name=column.column.name, files="reports"), column
        )
    indent(book, " ")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(book, encoding="unicode")}\n'


def _study(study: Element, reports: ReportSet, source: Provenance) -> None:
    survey = reports.survey
    citation = element(study, "citation")
    title = element(citation, "titlStmt")
    element(title, "titl", survey.title)
    element(title, "IDNo", survey.digest, agency="Deniably")
    element(element(citation, "rspStmt"), "AuthEnty", f"Author's key {fingerprint(source.author)}")
    element(element(citation, "prodStmt"), "software", "Deniably")
    info = element(study, "stdyInfo")
    element(info, "abstract", randomisation_note(reports.layout))
    dates = element(info, "sumDscr")
    for event, day in (("start", source.published), ("end", source.closed)):
        if day:
            element(dates, "collDate", day, event=event, date=day)
    element(study, "notes", f"The head of the register of surveys was {source.head}.")


def _variable(variable: Element, described_column: Described) -> None:
    """Writes the parts of a variable, in the order that the schema demands."""
    column = described_column.column
    element(variable, "labl", column.title)
    element(element(variable, "qstn"), "qstnLit", described_column.question)
    element(variable, "TotlResp", f"{described_column.n}")
    if described_column.estimate is not None and described_column.error is not None:
        element(
            variable,
            "sumStat",
            f"{described_column.estimate:.10g}",
            type="other",
            otherType="estimated share",
        )
        element(
            variable,
            "sumStat",
            f"{described_column.error:.10g}",
            type="other",
            otherType="standard error",
        )
    for value, label in enumerate(column.categories):
        category = element(variable, "catgry")
        element(category, "catValu", f"{value}")
        element(category, "labl", label)
        element(category, "catStat", f"{described_column.counts[value]}", type="freq")
    element(variable, "codInstr", described_column.instruction)
    element(variable, "varFormat", type="numeric")


# --- the page -----------------------------------------------------------------------------------

_PAGE: Final = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Codebook: {title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem }}
table {{ border-collapse: collapse; width: 100% }}
th, td {{ border-bottom: 1px solid #bbb; padding: .3rem .6rem; text-align: left }}
th, td {{ vertical-align: top }}
td.n {{ text-align: right; font-variant-numeric: tabular-nums }}
.note {{ border-left: 4px solid #b00; padding-left: 1rem }}
</style>
<p class="note"><strong>{warning}</strong> {note}</p>
<h1>Codebook: {title}</h1>
<p>{n} reports to the survey {name}, sorted by content; no ids, no times. Definition {digest}.</p>
<table>
<thead><tr><th scope="col">Column<th scope="col">What it is about<th scope="col">Values, and how
often each was reported<th scope="col">p<th scope="col">q<th scope="col">Estimate</thead>
<tbody>
{rows}
</tbody>
</table>
</html>
"""


def codebook_page(reports: ReportSet) -> str:
    """Returns the codebook as the text of a self-contained HTML page."""
    survey = reports.survey
    return Html.filled(
        _PAGE,
        title=Html.text(survey.title),
        warning=Html.text(WARNING),
        note=Html.text(note(reports.layout)),
        n=Html.text(f"{len(reports):,}"),
        name=Html.text(survey.name),
        digest=Html.text(survey.digest),
        rows=Html.joined("\n", map(_row, described(reports))),
    ).source


def short(exact: Fraction | None) -> str:
    """Returns a fraction as text: exact if that is short, else as a decimal number of six digits;
    empty for None."""
    if exact is None:
        return ""
    text = str(exact)
    return text if len(text) <= _SHORT else f"{float(exact):.6g}"


def _row(described_column: Described) -> Html:
    column, (p, q) = described_column.column, described_column.column.p_and_q
    values = [
        Html.text(f"{value} = {label}: {described_column.counts[value]:,}")
        for value, label in enumerate(column.categories)
    ]
    share = ""
    if described_column.estimate is not None and described_column.error is not None:
        share = f"{described_column.estimate:.4f} (s.e. {described_column.error:.4f})"
    return Html.filled(
        '<tr><th scope="row">{name}<td>{title}<td>{values}'
        '<td class="n">{p}<td class="n">{q}<td class="n">{share}',
        name=Html.text(column.name),
        title=Html.text(column.title),
        values=Html.joined(
            "<br>", values or [Html.text(f"a number; {described_column.n:,} reported")]
        ),
        p=Html.text(short(p)),
        q=Html.text(short(q)),
        share=Html.text(share),
    )
