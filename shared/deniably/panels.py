"""Surveys that are repeated in waves, as authors write them: what goes with that, and the memos.

Needs the extra ``author``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, get_args

from deniably.errors import Problem
from deniably.mechanisms import Mechanism, Memoised
from deniably.mechanisms.memoised import Family, memoised
from deniably.parts import LARGEST_EPSILON, odds_allowed
from deniably.privacy import Privacy

_Question = Mapping[str, Any]

HISTORY = Fraction(2)
"""How many times the epsilon of one report all waves together may give away."""

_FORGETFUL = {
    "laplace", "bounded_laplace", "exponential", "gaussian", "sampled_ticks", "oue", "rappor",
}  # fmt: skip
_SHOWN_ALL = "in waves everybody is asked everything: leave {} out, or ask in a survey of its own"


def wave_problems(written: Mapping[str, Any], questions: Sequence[_Question]) -> Iterator[Problem]:
    """What does not go with waves."""
    budget: Mapping[str, Any] = written.get("budget") or {}
    for key in ("ask", "spend"):
        if (key == "ask" and key in budget) or budget.get(key) == "sample":
            yield Problem(f"$.budget.{key}", "waves ask everybody everything: write spend: split")
    whole = Fraction(str(written["waves"].get("history", HISTORY))).denominator == 1
    for index, question in enumerate(questions):
        path = f"$.questions[{index}]"
        if "show_if" in question:
            yield Problem(f"{path}.show_if", _SHOWN_ALL.format("show_if"))
        if question["type"] == "vector":
            why = "no memo is kept of a vector; ask its numbers as separate questions"
            yield Problem(f"{path}.type", why)
        elif question.get("mechanism") in _FORGETFUL:
            why = f"no memo is kept with {question['mechanism']}; leave mechanism out"
            yield Problem(f"{path}.mechanism", why)
        if not whole and "epsilon" not in question and not budget:
            why = "beside odds or coins the history is a whole number; or state epsilon"
            yield Problem("$.waves.history", why)


def remembering(question: _Question) -> _Question:
    """The question, asked by a mechanism of which a memo can be kept.

    The best channel for a mean has a sixth less variance than a window, at most; but its rarest
    outputs leave next to nothing that could be drawn afresh: the same people would send the same
    in every wave, and their reports could be joined.
    """
    if question["type"] == "select_multiple":
        return {"mechanism": "set_response", **question}
    usual = {"number": "mean", "scale": "distribution"}.get(question["type"])
    mean = usual is not None and question.get("aim", usual) == "mean"
    return {"mechanism": "window", **question} if mean else question


def with_memo(
    once: Mechanism, privacy: Privacy, times: Fraction
) -> tuple[Memoised[Any], dict[str, str]]:
    """The mechanism whose reports are those of ``once``, one by one, and give away at most
    ``times`` the epsilon of one together; and the claim of that. Raises ValueError."""
    history = privacy.times(times)
    if history.epsilon is None:
        assert history.odds is not None
        allowed = odds_allowed(history.odds)
    else:
        allowed = history.epsilon <= LARGEST_EPSILON
    if not allowed:
        raise ValueError(
            f"epsilon {history.ln:.4g} for the whole history is too much, 10 is the most: write a"
            " smaller history, or less for one report"
        )
    if not isinstance(once, get_args(Family)):
        raise ValueError("no memo is kept of this mechanism; leave mechanism out")
    return memoised(once, Fraction(*history.weights())), history.claim
