"""Draws the figure of a fitted regression for a paper: coefficients with intervals, and their
table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from math import exp, floor, log10

from deniably.core.counting import counted
from deniably.exhibits.paper import MOST_ROWS
from deniably.results.drawing import axes, rounding
from deniably.results.drawing.paper_columns import PaperColumns
from deniably.results.drawing.paper_figure import Paper, PaperPart
from deniably.results.drawing.paper_strips import PaperStrips
from deniably.results.drawing.row import Row
from deniably.results.narrative import level_text
from deniably.workbench.models.coefficients import Coefficient, CoefficientTable

CONSTANT = "Intercept"
_LEVEL = re.compile(r"(?:C\()?(\w+)\)?\[(?:T\.)?([^\]]*)\]")  # such as C(site)[T.south]
_HYPHEN = re.compile(r"(?<!\w)-(?=\d)")  # before a digit: a minus sign
_LOGITS = ("logistic", "multinomial")
_KINDS = {
    "logistic": "Logistic regression",
    "multinomial": "Multinomial logistic regression",
    "linear": "Linear regression",
    "linear probability": "Linear probability model",
}


def model_paper(model: CoefficientTable) -> Paper:
    """Returns the figure of a model for a paper. For each answer that has coefficients, the figure
    has a picture and a table."""
    blocks = [
        (answer, list(some))
        for answer, some in groupby(model.coefficients, key=lambda coefficient: coefficient.answer)
    ]
    several = len(blocks) > 1
    parts = [
        part
        for answer, some in blocks
        for part in _parts(model, some, _against(model, answer) if several else "")
    ]
    n, level = counted(model.n, "report"), level_text(model.confidence)
    unit = "log odds" if model.model in _LOGITS else "the unit of the outcome"
    if model.model == "linear probability":
        unit = "parts of 1"
    about = f"{_KINDS[model.model]} of {_outcome(model)}"
    return Paper(
        title=about,
        lede=f"{model.formula}, {n}{', weighted' if model.weighted else ''}. Coefficients in"
        f" {unit}.",
        parts=parts,
        notes=[
            _legend(model.confidence, odds=model.model in _LOGITS),
            *(_HYPHEN.sub(rounding.MINUS, note) for note in model.notes),
            *_left_out(model),
            "Made with Deniably.",
        ],
        words=(
            f"{about}, {model.formula}, on {n} that were randomised on respondents' devices or by"
            f" a design that is known ({model.estimator}; {model.se} standard errors). Coefficients"
            f" in {unit} with {level} intervals:"
        ),
    )


def _outcome(model: CoefficientTable) -> str:
    """Returns what a logistic model is about: the outcome, and the second of two answers unless it
    is 1."""
    if model.model == "logistic" and model.answers and model.answers[-1] not in ("1", "True"):
        return f"{model.outcome} “{model.answers[-1]}”"
    return model.outcome


def _against(model: CoefficientTable, answer: str | None) -> str:
    return f"“{answer}” rather than “{model.answers[0]}”"


def _parts(model: CoefficientTable, some: Sequence[Coefficient], title: str) -> Iterator[PaperPart]:
    slopes = [coefficient for coefficient in some if coefficient.term != CONSTANT] or list(some)
    rows = [_row(slope, model.confidence) for slope in slopes[:MOST_ROWS]]
    reach = [0.0, *(end for row in rows for end in row.interval)]
    yield PaperStrips(rows, axes.of_values(reach), title)
    odds = model.model in _LOGITS
    statistic = "z" if all(coefficient.degrees is None for coefficient in some) else "t"
    heads = ["term", "b", "SE", statistic, "p", *(["OR"] if odds else [])]
    lines = [
        _line(coefficient, odds=odds)
        for coefficient in (*slopes[:MOST_ROWS], *_constant(some, slopes))
    ]
    yield PaperColumns(heads, lines)


def _constant(some: Sequence[Coefficient], slopes: Sequence[Coefficient]) -> list[Coefficient]:
    return [coefficient for coefficient in some if coefficient not in slopes]


def _row(coefficient: Coefficient, confidence: float) -> Row:
    """Returns the drawn row of a coefficient with its narrower intervals."""
    interval = (coefficient.low, coefficient.high)
    places = rounding.places(interval) + 1
    bare = (
        f"{rounding.number(coefficient.low, places)} to {rounding.number(coefficient.high, places)}"
    )
    reading = rounding.Reading(rounding.number(coefficient.estimate, places), bare, bare, "known")
    none = coefficient.low <= 0 <= coefficient.high
    eighty = coefficient.interval_80 if confidence > 0.8 else None
    fifty = coefficient.interval_50 if confidence > 0.5 else None
    return Row(
        label=called(coefficient.term), estimate=coefficient.estimate, interval=interval,
        band_80=eighty, band_50=fifty, reading=reading, open=none, muted=none,
    )  # fmt: skip


def _line(coefficient: Coefficient, *, odds: bool) -> list[str]:
    places = rounding.places((coefficient.low, coefficient.high)) + 1
    figures = [
        rounding.number(coefficient.estimate, places),
        rounding.number(coefficient.standard_error, places),
        rounding.number(coefficient.z, 2),
        rounding.p_cell(coefficient.p_value),
    ]
    return [
        called(coefficient.term),
        *figures,
        *([_odds_ratio(coefficient.estimate)] if odds else []),
    ]


def _odds_ratio(logit: float) -> str:
    """Returns e to the power of a coefficient, with three significant digits as far as they are
    decimals."""
    ratio = exp(logit)
    return rounding.number(ratio, max(0, 2 - floor(log10(ratio))))


def called(term: str) -> str:
    """Returns the name of a model's column in words.

    >>> called("C(site)[T.south]"), called("age"), called("C(site)[T.south]:age")
    ('site: south', 'age', 'site: south × age')
    """
    pieces = re.split(r":(?![^\[]*\])", term)
    return " × ".join(_LEVEL.sub(r"\1: \2", piece) for piece in pieces)


def _legend(confidence: float, *, odds: bool) -> str:
    levels = [level_text(level) for level in (0.8, 0.5) if level < confidence]
    bands = f"; bands: {' and '.join(levels)}" if levels else ""
    ratio = "; OR: odds ratio, e to the power of b" if odds else ""
    return (
        "Dots: coefficients; grey and open where the interval has 0 in it. Lines:"
        f" {level_text(confidence)} intervals{bands}. b: coefficient; SE: standard error{ratio}."
    )


def _left_out(model: CoefficientTable) -> Iterator[str]:
    terms = {coefficient.term for coefficient in model.coefficients} - {CONSTANT}
    if len(terms) > MOST_ROWS:
        yield f"Of {len(terms)} terms, the first {MOST_ROWS}."
