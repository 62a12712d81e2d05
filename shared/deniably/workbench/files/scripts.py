"""Ready scripts for R, Stata and Python, which work the results out again from reports.csv."""

from __future__ import annotations

import re
from collections.abc import Iterator

from deniably.core.steering import one_line
from deniably.workbench.columns import FileColumns, told
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

# A mean: every value of an index has a score, whose expectation is the true number. Results.csv
# states a slightly larger error where the mechanism allows no smaller one.
scores <- function(question, part, label, column, score) {{
  s <- score[na.omit(reports[[column]]) + 1]
  error <- sqrt(mean((s - mean(s))^2) / length(s))
  data.frame(question, part, label, n = length(s), estimate = mean(s), standard_error = error)
}}

# A mean of numbers with noise of a known variance, in steps from a start.
line <- function(question, part, label, column, start, step, noise) {{
  s <- start + step * na.omit(reports[[column]])
  error <- sqrt(max(mean((s - mean(s))^2), noise) / length(s))
  data.frame(question, part, label, n = length(s), estimate = mean(s), standard_error = error)
}}

# A logistic regression on a 0/1 column: glm(y ~ x, family = binomial(randomised(p, q)),
# start = c(0, 0)), or with weights survey::svyglm(y ~ x, design,
# family = quasibinomial(randomised(p, q)), start = c(0, 0)). Coefficients are those of the true
# answer.
randomised <- function(p, q) structure(list(
  linkfun = function(mu) qlogis((mu - q) / (p - q)),
  linkinv = function(eta) q + (p - q) * plogis(eta),
  mu.eta = function(eta) (p - q) * dlogis(eta),
  valideta = function(eta) TRUE,
  name = paste0("randomised(", p, ", ", q, ")")
), class = "link-glm")

results <- rbind(
{calls}
)

if ("--csv" %in% commandArgs(trailingOnly = TRUE)) {{
  print_digits <- function(x) formatC(x, digits = 17, format = "g")
  results$estimate <- print_digits(results$estimate)
  results$standard_error <- print_digits(results$standard_error)
  write.csv(results, stdout(), row.names = FALSE, fileEncoding = "UTF-8")
}} else {{
  print(results, digits = 6, row.names = FALSE)
}}
"""

_PYTHON = '''\
{head}
# Python 3 alone is enough. For a regression: statsmodels GLM with the inverse link
# q + (p - q) / (1 + exp(-eta)), or deniably's own.

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
    support = min(max((sum(y) + 0.5) / (n + 1), q), p)
    error = math.sqrt(support * (1 - support) / n) / (p - q)
    return n, (sum(y) / n - q) / (p - q), error


def mean(s, noise=0.0):
    n, found = len(s), math.fsum(s) / len(s)
    variance = max(math.fsum((one - found) ** 2 for one in s) / n, noise)
    return n, found, math.sqrt(variance / n)


def scores(column, score):
    """A mean: every value of an index has a score, whose expectation is the true number."""
    return mean([score[one] for one in integers(column)])


def line(column, start, step, noise):
    """A mean of numbers with noise of a known variance, in steps from a start."""
    return mean([start + step * one for one in integers(column)], noise)


FIGURES = [
{calls}
]

if __name__ == "__main__":
    print("question,part,label,n,estimate,standard_error")
    for question, part, label, (n, estimate, error) in FIGURES:
        quoted = '"' + label.replace('"', '""') + '"'
        print(question, part, quoted, n, repr(estimate), repr(error), sep=",")
'''

_STATA = """\
{head}
* In Stata 14 or later, in this folder: do analyse.do

version 14
import delimited using "reports.csv", varnames(nonames) rowrange(2) clear
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

* A mean of numbers with noise of a known variance, in steps from a start.
capture program drop line
program define line
    args label column start step noise
    tempvar s
    quietly generate double `s' = `start' + `step' * `column'
    quietly summarize `s'
    local error = sqrt(max(r(Var) * (r(N) - 1) / r(N), `noise') / r(N))
    display "`label'" _column(50) %9.6f r(mean) "  (" %8.6f `error' ")  n = " r(N)
end

{calls}

* A logistic regression on a 0/1 column y: rrlogit y x, pyes(q) pno(1-p)
"""


def scripts_of(reports: ReportSet, script: Script) -> Iterator[tuple[str, str]]:
    """The name and the text of each script."""
    yield (
        "analyse.R",
        _R.format(head=_head(reports, script, "#"), calls=",\n".join(map(_in_r, script.figures))),
    )
    yield (
        "analyse.py",
        _PYTHON.format(
            head=_head(reports, script, "#"), calls="\n".join(map(_in_python, script.figures))
        ),
    )
    columns = reports.columns
    names = "\n".join(f"* v{n}: {one.name}" for n, one in enumerate(columns, 2))
    calls = "\n".join(_in_stata(one, columns) for one in script.figures)
    yield "analyse.do", _STATA.format(head=_head(reports, script, "*"), names=names, calls=calls)


def _head(reports: ReportSet, script: Script, mark: str) -> str:
    lines = [
        f"Works out the results of {reports.survey.name} again, from {len(reports):,} reports.",
        told(reports.layout),
        "",
        f"{reports.survey.title} (definition {reports.survey.digest})",
    ]
    if script.left_out:
        lines += ["", "Not here, but in results.csv:", *(f"- {one}" for one in script.left_out)]
    return "\n".join(f"{mark} {one_line(line)}".rstrip() for line in lines)


def _in_r(one: Scripted) -> str:
    said = ", ".join(_r_text(text) for text in (one.question, one.part, one.label, one.column))
    if one.method == "share":
        return f"  share({said}, {one.value}, {_numbers(one)})"
    if one.method == "line":
        return f"  line({said}, {_numbers(one)})"
    return f"  scores({said}, c({_numbers(one)}))"


def _in_python(one: Scripted) -> str:
    said = ", ".join(ascii(text) for text in (one.question, one.part, one.label))
    if one.method == "share":
        found = f"share({one.column!a}, {one.value}, {_numbers(one)})"
    elif one.method == "line":
        found = f"line({one.column!a}, {_numbers(one)})"
    else:
        found = f"scores({one.column!a}, [{_numbers(one)}])"
    return f"    ({said}, {found}),"


def _in_stata(one: Scripted, columns: FileColumns) -> str:
    place = next(n for n, column in enumerate(columns, 2) if column.name == one.column)
    said = ": ".join(filter(None, (one.question, one.part, one.label)))
    label = re.sub(r"[`\"$\\]", "'", one_line(said))
    numbers = _numbers(one).replace(",", "")
    if one.method == "share":
        return f'share "{label}" v{place} {one.value} {numbers}'
    if one.method == "line":
        return f'line "{label}" v{place} {numbers}'
    recoded = " ".join(f"({value}={score!r})" for value, score in enumerate(one.numbers))
    return f'recode v{place} {recoded}, generate(scored)\nline "{label}" scored 0 1 0\ndrop scored'


def _numbers(one: Scripted) -> str:
    return ", ".join(map(repr, one.numbers))


def _r_text(text: str) -> str:
    """A string of R in ASCII, which reads the same in every locale."""
    parts = (_r_character(one) for one in text)
    return f'"{"".join(parts)}"'


def _r_character(one: str) -> str:
    if one in '"\\':
        return f"\\{one}"
    return one if " " <= one <= "~" else f"\\U{{{ord(one):x}}}"
