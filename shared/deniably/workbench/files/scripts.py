"""Writes scripts for R, Stata and Python that estimate the results again from reports.csv.

The scripts in R and Python can print CSV; their labels are those of results.csv, which no
spreadsheet takes for a formula. The one in Stata only shows a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import isinf
from typing import Final, TypeVar

from deniably.core.languages.code import ScriptCode
from deniably.core.languages.csv_text import spreadsheet_text
from deniably.core.languages.python import Python
from deniably.core.languages.r import R
from deniably.core.languages.stata import Stata
from deniably.workbench.files.examples import example_of, in_python, in_r, in_stata
from deniably.workbench.report_columns import FileColumns, StratumColumn, randomisation_note
from deniably.workbench.report_set import ReportSet
from deniably.workbench.scripted import Script, Scripted

_R: Final = """\
{head}
# In R: source("analyse.R"). On a command line: Rscript analyse.R, or Rscript analyse.R --csv.
# Base R is enough.

reports <- read.csv("reports.csv", check.names = FALSE)

# The share of people behind a 0/1 column, or behind one value of an index: (mean - q) / (p - q),
# with p = P(reported | this answer) and q = P(reported | another answer). Half a report is added
# to either side for the standard error.
share <- function(question, part, label, column, value, p, q) {{
  y <- as.numeric(na.omit(reports[[column]]) == value)
  n <- length(y)
  support <- min(max((sum(y) + 0.5) / (n + 1), q), p)
  error <- sqrt(support * (1 - support) / n) / (p - q)
  data.frame(question, part, label, n, estimate = (mean(y) - q) / (p - q), standard_error = error)
}}

# A mean: every value of an index has a score, whose expectation is the true number. Where two
# scores make a share, one report with the score "added" is added for the error. "least" and "most"
# are there where the mechanism allows no smaller or larger variance at this mean.
scores <- function(question, part, label, column, score, added = NA, least = 0, most = Inf) {{
  s <- score[na.omit(reports[[column]]) + 1]
  n <- length(s)
  spread <- mean((s - mean(s))^2)
  if (!is.na(added)) {{
    m <- min(max((sum(s) + added) / (n + 1), 0), 1)
    spread <- (max(score) - m) * (m - min(score))
  }}
  error <- sqrt(min(max(spread, least), most) / n)
  data.frame(question, part, label, n, estimate = mean(s), standard_error = error)
}}

# A mean of numbers with noise, in steps from a start; its least variance is that of the noise.
line <- function(question, part, label, column, start, step, least) {{
  s <- start + step * na.omit(reports[[column]])
  error <- sqrt(max(mean((s - mean(s))^2), least) / length(s))
  data.frame(question, part, label, n = length(s), estimate = mean(s), standard_error = error)
}}

{among}# The link of a regression on a 0/1 column. Coefficients are those of the true answer.
randomised <- function(p, q) structure(list(
  linkfun = function(mu) qlogis((mu - q) / (p - q)),
  linkinv = function(eta) q + (p - q) * plogis(eta),
  mu.eta = function(eta) (p - q) * dlogis(eta),
  valideta = function(eta) TRUE,
  name = paste0("randomised(", p, ", ", q, ")")
), class = "link-glm")

estimates <- function() rbind(
{calls}
)

results <- estimates()
{strata}
if ("--csv" %in% commandArgs(trailingOnly = TRUE)) {{
  print_digits <- function(x) formatC(x, digits = 17, format = "g")
  results$estimate <- print_digits(results$estimate)
  results$standard_error <- print_digits(results$standard_error)
  write.csv(results, stdout(), row.names = FALSE, fileEncoding = "UTF-8")
}} else {{
  print(results, digits = 6, row.names = FALSE)
}}
{regression}"""

_PYTHON: Final = '''\
# -*- coding: utf-8 -*-
{head}
# Python 3 alone is enough.

import csv
import math
from pathlib import Path

with open(Path(__file__).with_name("reports.csv"), newline="", encoding="utf-8") as file:
    REPORTS = list(csv.DictReader(file))


def integers(column):
    return [int(row[column]) for row in REPORTS if row[column] != ""]


def share(column, value, p, q):
    """(mean - q) / (p - q), with p = P(reported | this answer), q = P(reported | another)."""
    y = [one == value for one in integers(column)]
    n = len(y)
    if not n:
        return 0, math.nan, math.nan
    support = min(max((sum(y) + 0.5) / (n + 1), q), p)
    error = math.sqrt(support * (1 - support) / n) / (p - q)
    return n, (sum(y) / n - q) / (p - q), error


def scores(column, score, added=None, least=0.0, most=math.inf):
    """A mean: every value of an index has a score, whose expectation is the true number.

    Where two scores make a share, one report with the score "added" is added for the error. "least"
    and "most" are there where the mechanism allows no smaller or larger variance at this mean.
    """
    s = [score[one] for one in integers(column)]
    if not s:
        return 0, math.nan, math.nan
    n, mean = len(s), math.fsum(s) / len(s)
    spread = math.fsum((one - mean) ** 2 for one in s) / n
    if added is not None:
        m = min(max((n * mean + added) / (n + 1), 0), 1)
        spread = (max(score) - m) * (m - min(score))
    return n, mean, math.sqrt(min(max(spread, least), most) / n)


def line(column, start, step, least):
    """A mean of numbers with noise, in steps from a start; its least variance is the noise's."""
    s = [start + step * one for one in integers(column)]
    if not s:
        return 0, math.nan, math.nan
    n, mean = len(s), math.fsum(s) / len(s)
    spread = math.fsum((one - mean) ** 2 for one in s) / n
    return n, mean, math.sqrt(max(spread, least) / n)


{among}def figures():
    return [
{calls}
    ]


def show(before=""):
    for question, part, label, (n, estimate, error) in figures():
        quoted = '"' + label.replace('"', '""') + '"'
        print(before + question, part, quoted, n, repr(estimate), repr(error), sep=",")

{strata}
{regression}'''

_STATA: Final = """\
{head}
* In Stata 14 or later, in this folder: do analyse.do

version 14
import delimited using "reports.csv", varnames(nonames) rowrange(2) numericcols(_all) clear
* The columns are v1, v2, ... in the order of reports.csv:
{names}

* The share of people behind one value of a column: (mean - q) / (p - q).
capture program drop share
program define share
    args label column value p q
    tempvar y
    quietly generate double `y' = (`column' == `value') if !missing(`column')
    quietly summarize `y'
    local support = min(max((r(sum) + 0.5) / (r(N) + 1), `q'), `p')
    local error = sqrt(`support' * (1 - `support') / r(N)) / (`p' - `q')
    local found = (r(mean) - `q') / (`p' - `q')
    display "`label'" _column(50) %9.6f `found' "  (" %8.6f `error' ")  n = " r(N)
end

* A mean of numbers, in steps from a start, or of scores. The variance is within least and most:
* what the mechanism allows at this mean. Where two scores, low and high, make a share, one report
* with the score "added" is added for the error.
capture program drop average
program define average
    args label column start step least most added low high
    tempvar s
    quietly generate double `s' = `start' + `step' * `column'
    quietly summarize `s'
    local spread = r(Var) * (r(N) - 1) / r(N)
    if "`added'" != "" {{
        local m = min(max((r(N) * r(mean) + `added') / (r(N) + 1), 0), 1)
        local spread = (`high' - `m') * (`m' - `low')
    }}
    local error = sqrt(min(max(`spread', `least'), `most') / r(N))
    display "`label'" _column(50) %9.6f r(mean) "  (" %8.6f `error' ")  n = " r(N)
end

{among}capture program drop figures
program define figures
{calls}
end

figures
{strata}
{regression}"""

_R_AMONG: Final = """\
# The share of those who were asked: of people who gave this answer, over all but those whose true
# answer is "not applicable". The error is that of a ratio, by the delta method.
among <- function(question, part, label, column, hidden, p, q) {
  gave <- (na.omit(reports[[column]]) - q) / (p - q)
  asked <- 1 - (na.omit(reports[[hidden]]) - q) / (p - q)
  estimate <- if (mean(asked) > 0) mean(gave) / mean(asked) else NaN
  apart <- gave - estimate * asked
  error <- sqrt(mean((apart - mean(apart))^2) / length(apart)) / mean(asked)
  data.frame(question, part, label, n = length(apart), estimate, standard_error = error)
}

"""
_PYTHON_AMONG: Final = '''\
def among(column, hidden, p, q):
    """The share of those who were asked: of people who gave this answer, over all but those whose
    true answer is "not applicable". The error is that of a ratio, by the delta method.
    """
    gave = [(one - q) / (p - q) for one in integers(column)]
    asked = [1 - (one - q) / (p - q) for one in integers(hidden)]
    n, of_all = len(asked), math.fsum(asked)
    if of_all <= 0:
        return n, math.nan, math.nan
    ratio = math.fsum(gave) / of_all
    apart = [one - ratio * other for one, other in zip(gave, asked)]
    mean = math.fsum(apart) / n
    spread = math.fsum((one - mean) ** 2 for one in apart) / n
    return n, ratio, math.sqrt(spread / n) / (of_all / n)


'''
_STATA_AMONG: Final = """\
* The share of those who were asked: of people who gave this answer, over all but those whose true
* answer is "not applicable". The error is that of a ratio, by the delta method.
capture program drop among
program define among
    args label column hidden p q
    tempvar gave asked apart
    quietly generate double `gave' = (`column' - `q') / (`p' - `q')
    quietly generate double `asked' = 1 - (`hidden' - `q') / (`p' - `q')
    quietly summarize `gave'
    local of_all = r(mean)
    quietly summarize `asked'
    local of_asked = r(mean)
    local ratio = `of_all' / `of_asked'
    quietly generate double `apart' = `gave' - `ratio' * `asked'
    quietly summarize `apart'
    local error = sqrt(r(Var) * (r(N) - 1) / r(N) / r(N)) / `of_asked'
    display "`label'" _column(50) %9.6f `ratio' "  (" %8.6f `error' ")  n = " r(N)
end

"""
_Language = TypeVar("_Language", bound=ScriptCode)

# A subgroup has no bounds of its own for the error of a mean: they are rarely reached.
_ERRORS: Final = (
    "Then each stratum alone. Results may state another error of a mean there, where the mechanism"
    " allows none as small or as large."
)
_R_STRATA: Final = """
{errors}
everybody <- reports
results <- cbind(strata = "", results)
for (one in list(
{strata}
)) {{
  reports <- everybody[everybody[[one[[2]]]] == one[[3]], ]
  results <- rbind(results, cbind(strata = one[[1]], estimates()))
}}
reports <- everybody
"""
_PYTHON_ALL: Final = """
if __name__ == "__main__":
    print("question,part,label,n,estimate,standard_error")
    show()
"""
_PYTHON_STRATA: Final = """
{errors}
STRATA = [
{strata}
]
EVERYBODY = REPORTS

if __name__ == "__main__":
    print("strata,question,part,label,n,estimate,standard_error")
    show(",")
    for name, column, code in STRATA:
        REPORTS = [row for row in EVERYBODY if row[column] == code]
        show(name + ",")
    REPORTS = EVERYBODY
"""
_STATA_STRATA: Final = """
{errors}
{strata}
"""


def scripts_of(reports: ReportSet, script: Script) -> Iterator[tuple[str, str]]:
    """Yields the file name and the text of each script that estimates the results again: in R,
    Python and Stata."""
    columns, example = reports.columns, example_of(reports.columns)
    head = _head(reports, script)
    among = any(figure.method == "among" for figure in script.figures)
    yield (
        "analyse.R",
        R.filled(
            _R,
            head=_comments(R, head),
            among=R(_R_AMONG if among else ""),
            calls=R.joined(",\n", map(_in_r, script.figures)),
            strata=_r_strata(columns),
            regression=in_r(example) if example else R(),
        ).source,
    )
    yield (
        "analyse.py",
        Python.filled(
            _PYTHON,
            head=_comments(Python, head),
            among=Python(_PYTHON_AMONG if among else ""),
            calls=Python.joined("\n", map(_in_python, script.figures)),
            strata=_python_strata(columns),
            regression=in_python(example) if example else Python(),
        ).source,
    )
    names = (f"v{place}: {column.name}" for place, column in enumerate(columns, 2))
    calls = (line for figure in script.figures for line in _in_stata(figure, columns))
    yield (
        "analyse.do",
        Stata.filled(
            _STATA,
            head=_comments(Stata, head),
            among=Stata(_STATA_AMONG if among else ""),
            names=_comments(Stata, names),
            calls=Stata.joined("\n", (Stata.filled("    {line}", line=line) for line in calls)),
            strata=_stata_strata(columns),
            regression=in_stata(example, columns) if example else Stata(),
        ).source,
    )


def _comments(language: type[_Language], lines: Iterable[str]) -> _Language:
    return language.joined("\n", map(language.comment, lines))


def _head(reports: ReportSet, script: Script) -> list[str]:
    lines = [
        f"Works out the results of {reports.survey.name} again, from {len(reports):,} reports.",
        randomisation_note(reports.layout),
        "",
        f"{reports.survey.title} (definition {reports.survey.digest})",
    ]
    if script.left_out:
        lines += ["", "Not here, but in results.csv:", *(f"- {name}" for name in script.left_out)]
    return lines


def _subgroups(columns: FileColumns) -> Iterator[tuple[str, StratumColumn, int]]:
    """Yields, for each value of each stratum key: its name, its column and its code."""
    for column in columns.strata:
        for code, value in enumerate(column.categories):
            yield f"{column.key} {value}", column, code


def _r_strata(columns: FileColumns) -> R:
    strata = [
        R.filled(
            "  list({called}, {column}, {code})",
            called=R.text(called), column=R.text(column.name), code=R.number(code),
        )
        for called, column, code in _subgroups(columns)
    ]  # fmt: skip
    if not strata:
        return R()
    return R.filled(_R_STRATA, errors=R.comment(_ERRORS), strata=R.joined(",\n", strata))


def _python_strata(columns: FileColumns) -> Python:
    strata = [
        Python.filled(
            "    ({called}, {column}, {code}),",
            called=Python.text(called), column=Python.text(column.name),
            code=Python.text(str(code)),
        )
        for called, column, code in _subgroups(columns)
    ]  # fmt: skip
    if not strata:
        return Python(_PYTHON_ALL)
    errors = Python.comment(_ERRORS)
    return Python.filled(_PYTHON_STRATA, errors=errors, strata=Python.joined("\n", strata))


def _stata_strata(columns: FileColumns) -> Stata:
    strata = [
        Stata.filled(
            "display {called}\npreserve\nkeep if v{place} == {code}\nfigures\nrestore",
            # v1 is the number of the row; keys come next.
            called=Stata.text(called), place=Stata.number(column.place + 2),
            code=Stata.number(code),
        )
        for called, column, code in _subgroups(columns)
    ]  # fmt: skip
    if not strata:
        return Stata()
    errors = Stata.comment(_ERRORS)
    return Stata.filled(_STATA_STRATA, errors=errors, strata=Stata.joined("\n", strata))


# --- a figure ------------------------------------------------------------------------------------


def _in_r(figure: Scripted) -> R:
    label = spreadsheet_text(figure.label)
    labels = R.joined(", ", map(R.text, (figure.question, figure.part, label, figure.column)))
    numbers = _numbers(R, figure)
    if figure.method == "share":
        value = R.number(figure.value)
        return R.filled(
            "  share({labels}, {value}, {numbers})", labels=labels, value=value, numbers=numbers
        )
    if figure.method == "among":
        hidden = R.text(figure.hidden)
        return R.filled(
            "  among({labels}, {hidden}, {numbers})", labels=labels, hidden=hidden, numbers=numbers
        )
    if figure.method == "line":
        return R.filled("  line({labels}, {numbers})", labels=labels, numbers=numbers)
    return R.filled(
        "  scores({labels}, c({numbers}){bounds})",
        labels=labels, numbers=numbers, bounds=_bounds(R, figure),
    )  # fmt: skip


def _in_python(figure: Scripted) -> Python:
    label = spreadsheet_text(figure.label)
    labels = Python.joined(", ", map(Python.text, (figure.question, figure.part, label)))
    column, numbers = Python.text(figure.column), _numbers(Python, figure)
    if figure.method == "share":
        estimate = Python.filled(
            "share({column}, {value}, {numbers})",
            column=column, value=Python.number(figure.value), numbers=numbers,
        )  # fmt: skip
    elif figure.method == "among":
        estimate = Python.filled(
            "among({column}, {hidden}, {numbers})",
            column=column, hidden=Python.text(figure.hidden), numbers=numbers,
        )  # fmt: skip
    elif figure.method == "line":
        estimate = Python.filled("line({column}, {numbers})", column=column, numbers=numbers)
    else:
        estimate = Python.filled(
            "scores({column}, [{numbers}]{bounds})",
            column=column, numbers=numbers, bounds=_bounds(Python, figure),
        )  # fmt: skip
    return Python.filled("        ({labels}, {estimate}),", labels=labels, estimate=estimate)


def _in_stata(figure: Scripted, columns: FileColumns) -> Iterator[Stata]:
    """Yields the statements for one figure, a line each."""
    label = Stata.text(": ".join(filter(None, (figure.question, figure.part, figure.label))))
    column = _stata_column(figure.column, columns)
    numbers = Stata.joined(" ", map(Stata.number, figure.numbers))
    if figure.method == "share":
        value = Stata.number(figure.value)
        yield Stata.filled(
            "share {label} {column} {value} {numbers}",
            label=label, column=column, value=value, numbers=numbers,
        )  # fmt: skip
    elif figure.method == "among":
        hidden = _stata_column(figure.hidden, columns)
        yield Stata.filled(
            "among {label} {column} {hidden} {numbers}",
            label=label, column=column, hidden=hidden, numbers=numbers,
        )  # fmt: skip
    elif figure.method == "line":
        yield Stata.filled(
            "average {label} {column} {numbers} .", label=label, column=column, numbers=numbers
        )
    else:
        yield Stata.filled(
            # Stata has no vectors in a statement: the scores are words of a text, picked by
            # number.
            'generate double scored = real(word("{numbers}", {column} + 1))',
            numbers=numbers, column=column,
        )  # fmt: skip
        yield Stata.filled(
            "average {label} scored {rest}", label=label, rest=_bounds_in_stata(figure)
        )
        yield Stata("drop scored")


def _stata_column(name: str, columns: FileColumns) -> Stata:
    place = next(n for n, column in enumerate(columns, 2) if column.name == name)
    return Stata.filled("v{place}", place=Stata.number(place))


def _bounds_in_stata(figure: Scripted) -> Stata:
    maximum = Stata(".") if isinf(figure.most) else Stata.number(figure.most)
    rest = [Stata("0 1"), Stata.number(figure.least), maximum]
    if figure.added is not None:
        rest += map(Stata.number, (figure.added, min(figure.numbers), max(figure.numbers)))
    return Stata.joined(" ", rest)


def _bounds(language: type[_Language], figure: Scripted) -> _Language:
    """Returns the arguments of R and Python for what the scores do not tell about the error."""
    bounds: list[_Language] = []
    if figure.added is not None:
        bounds.append(language.filled(", added = {value}", value=language.number(figure.added)))
    if figure.least:
        bounds.append(language.filled(", least = {value}", value=language.number(figure.least)))
    if not isinf(figure.most):
        bounds.append(language.filled(", most = {value}", value=language.number(figure.most)))
    return language.joined("", bounds)


def _numbers(language: type[_Language], figure: Scripted) -> _Language:
    return language.joined(", ", map(language.number, figure.numbers))
