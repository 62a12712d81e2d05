"""Limits parameters that can have many values: the level of intervals, and what a figure is
compared with.

Each value is a computation of its own, as the interval ends, the sentences and the notes of a view
all follow from it. Without a token there are few values, so that anybody can have all of them
computed once, and no more. A holder of a token may use every value.

Ten levels are better for readers than all with two decimals: they cost a fifth of the computations,
and 97.5, 99.5 and 99.9 % are asked for, while 93 % is not.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction

from flask import request
from werkzeug.datastructures import ImmutableMultiDict

from deniably.results.result import CONFIDENCE
from deniably.survey.readable import number_text
from deniably_server.errors import BadParameter
from deniably_server.guard.app_state import current_asker
from deniably_server.web.operation import NAMED, QueryParameters

FINE = frozenset({"confidence", "share", "value"})
"""The parameters that can have many values."""
LEAST_CONFIDENCE, MOST_CONFIDENCE = 0.5, 0.999
LEVELS = (0.5, 0.68, 0.8, 0.9, 0.95, 0.975, 0.98, 0.99, 0.995, 0.999)
"""The confidence levels of intervals that may be asked for without a token."""
_CONFIDENCE = re.compile(r"0?\.[0-9]{1,3}")
_LISTED = f"{', '.join(map(str, LEVELS[:-1]))} or {LEVELS[-1]}"
_MOST_STEPS = 200
"""Without a token a figure is compared with at most this many numbers and one more."""
_STEPS = (1, 5)

LEVEL: QueryParameters = {
    "confidence": {
        "type": "number",
        "minimum": LEAST_CONFIDENCE,
        "maximum": MOST_CONFIDENCE,
        "description": f"Of the intervals; up to three decimals. Without a token {_LISTED}.",
        "default": CONFIDENCE,
    }
}
_STEPPED = (
    f"Without a token, in steps of 1 or 5 times a power of ten, of which at most {_MOST_STEPS} fit"
    " into the range."
)
COMPARED: QueryParameters = {
    "share": {**NAMED, "description": f"A number from 0 to 1. {_STEPPED}"},
    "value": {**NAMED, "description": f"A number in the question's range. {_STEPPED}"},
}


def confidence() -> float:
    """Returns the query's confidence level for intervals, from 0.5 to 0.999; 0.95 if it has none.
    Raises BadParameter for any other text."""
    text = request.args.get("confidence", str(CONFIDENCE))
    if not (_CONFIDENCE.fullmatch(text) and float(text) >= LEAST_CONFIDENCE):
        raise BadParameter(
            f"“confidence” is a number from {LEAST_CONFIDENCE} to {MOST_CONFIDENCE} with up to"
            " three decimals: 0.9 asks for 90 % intervals"
        )
    return float(text)


def settle_level() -> None:
    """Normalises the request's confidence level, so that equal levels share one cached answer;
    removes the parameter where the level is the default.

    Raises BadParameter for a text that is no level, and for a level that needs a token where the
    request has none.
    """
    if "confidence" not in request.args:
        return
    level = confidence()
    if level not in LEVELS and not current_asker().has_token:
        raise BadParameter(
            f"“confidence” is {_LISTED} without a token; with one it may be any number from"
            f" {LEAST_CONFIDENCE} to {MOST_CONFIDENCE} with up to three decimals"
        )
    _write("confidence", None if level == CONFIDENCE else str(level))


def settle_number(name: str, low: float, high: float) -> None:
    """Normalises the request's parameter ``name``, a number from ``low`` to ``high`` with which a
    figure is compared, so that equal numbers share one cached answer.

    Raises BadParameter for a text that is no such number, and for a number that needs a token
    where the request has none.
    """
    number = _number(request.args[name])
    if not low <= number <= high:
        ends = f"{number_text(low)} to {number_text(high)}"
        raise BadParameter(f"“{name}” is a number from {ends}")
    text = repr(number + 0.0).removesuffix(".0")  # no -0
    step = step_between(low, high)
    if Fraction(text) % step and not current_asker().has_token:
        raise BadParameter(
            f"“{name}” is a multiple of {number_text(step)} without a token; with one it may be any"
            f" number from {number_text(low)} to {number_text(high)}"
        )
    _write(name, text)


def step_between(low: float, high: float) -> Fraction:
    """Returns the smallest step, 1 or 5 times a power of ten, of which at most 200 fit between
    ``low`` and ``high``."""
    width = Fraction(str(high)) - Fraction(str(low))  # as they were written
    power = Fraction(10) ** (math.floor(math.log10(width / _MOST_STEPS)) if width else 0)
    steps = (times * power * ten for ten in (1, 10) for times in _STEPS)
    return next(step for step in steps if width / step <= _MOST_STEPS)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _write(name: str, text: str | None) -> None:
    """Sets a parameter of the request, or removes it."""
    others = {key: value for key, value in request.args.items() if key != name}
    arguments = others if text is None else {**others, name: text}
    request.args = ImmutableMultiDict(arguments)  # pyright: ignore[reportAttributeAccessIssue]
