"""Compiles surveys that are repeated in waves: checks, memoisation, and the epsilon of all waves.

Needs the extra ``author``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from math import ceil
from typing import Any, get_args

from msgspec.structs import replace

from deniably.authoring.written import (
    Choosing,
    WrittenNumber,
    WrittenQuestion,
    WrittenScale,
    WrittenSelectMultiple,
    WrittenSurvey,
    WrittenVector,
)
from deniably.core.coins import LARGEST
from deniably.core.errors import Problem
from deniably.design.named_mechanisms import made_by
from deniably.mechanisms import Mechanism, Memoised
from deniably.mechanisms.memoised import (
    Family,
    memoised,
    narrowed,
    reweighed,
    total_weight,
    width,
)
from deniably.survey.parts import LARGEST_EPSILON, odds_allowed
from deniably.survey.privacy import BITS, Privacy

_HISTORY = Fraction(2)
_WIDER = Fraction(3)  # for reports with several choices: a memo stands before more of them

_FINE = 1 << 12  # the odds of a memo are rounded to one part in this many
_FEWEST_BITS = 12

_SHOWN_ALL = "in waves everybody is asked everything: leave {} out, or ask in a survey of its own"


def wave_problems(written: WrittenSurvey) -> Iterator[Problem]:
    """Yields the problems of a survey whose keys cannot go together with its waves."""
    assert written.waves is not None
    budget, history = written.budget, written.waves.history
    if written.waves.count is not None and written.waves.waves is not None:
        why = "count says how many waves there are; leave out waves"
        yield Problem("$.waves.waves", why)
    if budget and budget.ask is not None:
        yield Problem("$.budget.ask", _SPLIT)
    if budget and budget.spend == "sample":
        yield Problem("$.budget.spend", _SPLIT)
    for index, question in enumerate(written.questions):
        yield from _question_problems(question, f"$.questions[{index}]")
        whole = history is None or history.exact.denominator == 1
        if not whole and question.epsilon is None and not budget:
            why = "beside odds or coins the history is a whole number; or state epsilon"
            yield Problem("$.waves.history", why)


_SPLIT = "waves ask everybody everything: write spend: split"


def _question_problems(question: WrittenQuestion, path: str) -> Iterator[Problem]:
    if isinstance(question, Choosing) and question.show_if:
        yield Problem(f"{path}.show_if", _SHOWN_ALL.format("show_if"))
    name = question.mechanism
    if isinstance(question, WrittenVector):
        why = "no memo is kept of a vector; ask its numbers as separate questions"
        yield Problem(f"{path}.type", why)
    elif name and _keeps_no_memo(name):
        why = f"no memo is kept with {name}; leave mechanism out"
        yield Problem(f"{path}.mechanism", why)


def _keeps_no_memo(name: str) -> bool:
    made = made_by(name)
    return bool(made) and made.isdisjoint(get_args(Family))


def remembering(question: WrittenQuestion, *, afresh: bool = False) -> WrittenQuestion:
    """Returns the question with a mechanism that memoisation supports.

    Memoisation randomises an answer once, and makes each wave's report from the result. A question
    that is asked ``afresh`` in each wave gets a mechanism for which the risk of recognition is
    known. The best channel for a mean has at most a sixth less variance than a window, but its
    rarest outputs leave no weights for a memo.
    """
    if question.mechanism is not None:
        return question
    if isinstance(question, WrittenSelectMultiple):
        return replace(question, mechanism="set_response")
    if not afresh and isinstance(question, WrittenNumber | WrittenScale) and question.aim == "mean":
        return replace(question, mechanism="window")
    return question


def usual_history(mechanisms: Iterable[tuple[Mechanism, Privacy]]) -> tuple[Fraction, str]:
    """Returns the default epsilon of all waves, as a multiple of one report's, and a note on it.

    The multiple is 2 where reports have one choice. Where reports have several choices it is 3,
    which keeps their accuracy and makes far fewer people recognisable. It stays at 2 where 3 would
    exceed the largest allowed epsilon.
    """
    promised = list(mechanisms)
    if all(width(mechanism) == 1 for mechanism, _ in promised):
        return _HISTORY, _SAID.format("twice", "2")
    if not all(_allowed(privacy.times(_WIDER)) for _, privacy in promised):
        return _HISTORY, _SAID.format("twice", "2")
    return _WIDER, f"{_SAID.format('three times', '3')} {_WHY_WIDER}"


_SAID = "All waves together give away at most {} the epsilon of one (history: {})."
_WHY_WIDER = (
    "Reports here name several choices or neighbours. A kept answer within twice the epsilon"
    " could hide fewer people, or be less accurate."
)


def _allowed(history: Privacy) -> bool:
    if history.epsilon is not None:
        return history.epsilon <= LARGEST_EPSILON
    return history.odds is not None and odds_allowed(history.odds)


def with_memo(
    once: Mechanism, privacy: Privacy, times: Fraction
) -> tuple[Memoised[Any], dict[str, str]]:
    """Returns the mechanism with a memo, and the claim of all waves together.

    The mechanism randomises an answer once (the memo), and each wave's report from that. All waves
    together keep ``times`` the epsilon of one wave. A single report has the probabilities of
    ``once``, or of the nearest mechanism that memoisation supports. Raises ValueError where there
    is none; the message says what to write instead.
    """
    history = privacy.times(times)
    if not _allowed(history):
        raise ValueError(
            f"epsilon {history.ln:.4g} for the whole history is too much, 10 is the most: write a"
            " smaller history, or less for one report"
        )
    if not isinstance(once, Family):
        raise ValueError(f"no memo is kept of {once.__struct_config__.tag}; leave mechanism out")
    odds = Fraction(*history.weights())
    return memoised(_with_room(narrowed(once, odds), privacy, odds), odds), history.claim


def _with_room(once: Family, privacy: Privacy, history: Fraction) -> Family:
    """The mechanism with the finest weights that leave room for a memo's within 2**53."""
    room = LARGEST // max(ceil(history), _FINE)
    for bits in range(BITS, _FEWEST_BITS, -1):
        own, other = privacy.weights(bits=bits)
        if own > other and total_weight(mechanism := reweighed(once, own, other)) <= room:
            return mechanism
    return once
