"""Ready scripts for R, Stata and Python, which work the results out again from reports.csv."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import isinf

from deniably.core.steering import one_line
from deniably.workbench.columns import FileColumns, StratumColumn, told
from deniably.workbench.files.examples import example_of, in_python, in_r, in_stata, r_text
from deniably.workbench.report_set import ReportSet
from deniably.workbench.scripted import Script, Scripted

_R = """\
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

# The link of a regression on a 0/1 column. Coefficients are those of the true answer.
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

_PYTHON = '''\
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


def figures():
    return [
{calls}
    ]


def show(before=""):
    for question, part, label, (n, estimate, error) in figures():
        quoted = '"' + label.replace('"', '""') + '"'
        print(before + question, part, quoted, n, repr(estimate), repr(error), sep=",")

{strata}
{regression}'''

_STATA = """\
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

capture program drop figures
program define figures
{calls}
end

figures
{strata}
{regression}"""

# A subgroup has no bounds of its own for the error of a mean: they are rarely reached.
_ERRORS = (
    "Then each stratum alone. Results may state another error of a mean there, where the mechanism"
    " allows none as small or as large."
)
_R_STRATA = """
# {errors}
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
_PYTHON_ALL = """
if __name__ == "__main__":
    print("question,part,label,n,estimate,standard_error")
    show()
"""
_PYTHON_STRATA = """
# {errors}
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
_STATA_STRATA = """
* {errors}
{strata}
"""


def scripts_of(reports: ReportSet, script: Script) -> Iterator[tuple[str, str]]:
    """The name and the text of each script."""
    columns = reports.columns
    some = example_of(columns)
    for name, template, mark, call, comma, strata, regression in (
        ("analyse.R", _R, "#", _in_r, ",\n", _r_strata, in_r),
        ("analyse.py", _PYTHON, "#", _in_python, "\n", _python_strata, in_python),
    ):
        yield name, template.format(
            head=_head(reports, script, mark), calls=comma.join(map(call, script.figures)),
            strata=strata(columns), regression=regression(some) if some else "",
        )  # fmt: skip
    names = "\n".join(f"* v{n}: {one.name}" for n, one in enumerate(columns, 2))
    lines = (line for one in script.figures for line in _in_stata(one, columns).splitlines())
    calls = "\n".join(f"    {line}" for line in lines)
    yield "analyse.do", _STATA.format(
        head=_head(reports, script, "*"), names=names, calls=calls,
        strata=_stata_strata(columns), regression=in_stata(some, columns) if some else "",
    )  # fmt: skip


def _subgroups(columns: FileColumns) -> Iterator[tuple[str, StratumColumn, int]]:
    """What each value of each key is called, its column and its code."""
    for column in columns.strata:
        for code, value in enumerate(column.categories):
            yield f"{column.key} {value}", column, code


def _r_strata(columns: FileColumns) -> str:
    strata = ",\n".join(
        f"  list({r_text(called)}, {r_text(column.name)}, {code})"
        for called, column, code in _subgroups(columns)
    )
    return _R_STRATA.format(errors=_ERRORS, strata=strata) if strata else ""


def _python_strata(columns: FileColumns) -> str:
    strata = "\n".join(
        f'    ("{called}", "{column.name}", "{code}"),'
        for called, column, code in _subgroups(columns)
    )
    return _PYTHON_STRATA.format(errors=_ERRORS, strata=strata) if strata else _PYTHON_ALL


def _stata_strata(columns: FileColumns) -> str:
    strata = "\n".join(
        f'display "{called}"\npreserve\nkeep if v{column.place + 2} == {code}\nfigures\nrestore'
        for called, column, code in _subgroups(columns)
    )
    return _STATA_STRATA.format(errors=_ERRORS, strata=strata) if strata else ""


def _head(reports: ReportSet, script: Script, mark: str) -> str:
    lines = [
        f"Works out the results of {reports.survey.name} again, from {len(reports):,} reports.",
        told(reports.layout),
        "",
        f"{reports.survey.title} (definition {reports.survey.digest})",
    ]
    if script.left_out:
        lines += ["", "Not here, but in results.csv:", *(f"- {one}" for one in script.left_out)]
    told_lines = [f"{mark} {one_line(line)}".rstrip() for line in lines]
    return "\n".join(map(_stata_text, told_lines) if mark == "*" else told_lines)


def _in_r(one: Scripted) -> str:
    said = ", ".join(r_text(text) for text in (one.question, one.part, one.label, one.column))
    if one.method == "share":
        return f"  share({said}, {one.value}, {_numbers(one)})"
    if one.method == "line":
        return f"  line({said}, {_numbers(one)})"
    return f"  scores({said}, c({_numbers(one)}){_bounds(one)})"


def _in_python(one: Scripted) -> str:
    said = ", ".join(ascii(text) for text in (one.question, one.part, one.label))
    if one.method == "share":
        found = f"share({one.column!a}, {one.value}, {_numbers(one)})"
    elif one.method == "line":
        found = f"line({one.column!a}, {_numbers(one)})"
    else:
        found = f"scores({one.column!a}, [{_numbers(one)}]{_bounds(one)})"
    return f"        ({said}, {found}),"


def _in_stata(one: Scripted, columns: FileColumns) -> str:
    place = next(n for n, column in enumerate(columns, 2) if column.name == one.column)
    said = ": ".join(filter(None, (one.question, one.part, one.label)))
    label = _stata_text(re.sub(r"[`\"$\\{}]", "'", one_line(said)))
    numbers = _numbers(one).replace(",", "")
    if one.method == "share":
        return f'share "{label}" v{place} {one.value} {numbers}'
    if one.method == "line":
        return f'average "{label}" v{place} {numbers} .'
    scores = " ".join(map(repr, one.numbers))
    most = "." if isinf(one.most) else repr(one.most)
    rest = f"0 1 {one.least!r} {most}"
    if one.added is not None:
        rest += f" {one.added!r} {min(one.numbers)!r} {max(one.numbers)!r}"
    average = f'average "{label}" scored {rest}'
    scored = f'generate double scored = real(word("{scores}", v{place} + 1))'
    return f"{scored}\n{average}\ndrop scored"


def _stata_text(text: str) -> str:
    """A text without the marks of a comment, which Stata heeds within comments and strings, too."""
    return re.sub(r"/(?=[/*])|\*(?=/)", lambda found: f"{found[0]} ", text)


def _bounds(one: Scripted) -> str:
    """What scores alone do not tell of the error, for R and Python."""
    found = {
        "added": one.added,
        "least": one.least or None,
        "most": None if isinf(one.most) else one.most,
    }
    return "".join(f", {name} = {value!r}" for name, value in found.items() if value is not None)


def _numbers(one: Scripted) -> str:
    return ", ".join(map(repr, one.numbers))
