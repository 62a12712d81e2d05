"""Simulates how many people of a panel can be recognised from wave to wave by their reports alone.

A single report says little about an answer, but the reports of one person resemble each other. The
attacker here holds all earlier waves with each person's reports joined. For each person it picks
the report of the last wave with the largest likelihood ratio (that this person sent it, against
somebody else): the best test (Neyman and Pearson 1933). Log likelihood ratios add up over
questions.

The share that is picked rightly depends on how answers are spread. It is simulated for three
spreads, and the largest counts. It is an estimate for these, and no upper bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import Floats
from deniably.estimation.channels import rows
from deniably.mechanisms import Memoised, SetResponse
from deniably.mechanisms.law import Finite, HasLaw, Supporting
from deniably.mechanisms.memoised import Family
from deniably.survey.survey import Survey, Waves

SPREADS = (0.0, 1.0, 2.0)
"""Exponents s of the spreads of answers: the i-th choice has a share proportional to i**-s."""

_STATED, _GRAVE = 0.01, 0.1  # shares to state on the form, to be confirmed by an author
_OF = 1000  # people, to which a stated number refers

Asked = Memoised[Any] | Family
"""The mechanism of a question in waves: memoised, or randomised afresh in each."""

_Whole = npt.NDArray[np.int64]
_Masks = npt.NDArray[np.bool_]
_HISTORIES = 100  # people whose earlier waves are drawn
_LAST_REPORTS = 150  # reports of the last wave for each of them
_FEWEST_LAST_REPORTS = 30  # with fewer the figure falls by more than a tenth
_MOST_DRAWN = 20_000_000  # random numbers; long lists of choices get fewer last reports
_MOST_SETS = 300  # sets of ticks that answers are drawn from; all of them where there are no more
_TIE = 9  # decimals to which log likelihood ratios are equal


@dataclass(frozen=True)
class Recognition:
    """The risk that people are recognised by their earlier reports.

    ``share`` is the share of the ``people`` in one stratum whose report of the last wave can be
    linked to their earlier ones, over ``waves`` waves.
    """

    share: float
    people: int
    waves: int

    @property
    def of_1000(self) -> int:
        """How many of 1,000 people can be recognised, rounded."""
        return round(self.share * _OF)

    @property
    def stated(self) -> bool:
        """Whether the form tells respondents of the risk.

        It does where the share is at least 1 in 100, and at least twice what guessing gives.
        """
        return self.share >= max(_STATED, 2 / self.people)

    @property
    def grave(self) -> bool:
        """Whether an author must confirm the risk.

        That is so where the share is at least 1 in 10, and at least three times what guessing
        gives.
        """
        return self.share >= max(_GRAVE, 3 / self.people)

    def agrees(self, stated: int | None) -> bool:
        """Returns whether a survey's ``stated`` number of recognisable people agrees with this
        simulation.

        The number is of 1,000 people, and may be a quarter off (SPEC 4.4). None, where a survey
        states no number, agrees if three quarters of the share need not be stated.
        """
        if stated is None:
            return not replace(self, share=self.share * _NEAR).stated
        return abs(stated / _OF - self.share) <= self.share * (1 - _NEAR)


_NEAR = 0.75  # a stated figure may be a quarter off (SPEC 4.4)


def recognition(survey: Survey) -> Recognition:
    """Simulates the share of people who can be recognised in the panel of which ``survey`` is a
    wave."""
    assert isinstance(survey.waves, Waves)
    people, waves = survey.waves.smallest_group, survey.waves.number
    mechanisms = (cast(Asked, question.mechanism) for question in survey.questions)
    return Recognition(recognised(mechanisms, people, waves), people, waves)


def recognised(
    mechanisms: Iterable[Asked],
    people: int,
    waves: int = 2,
    *,
    known: bool = False,
    spreads: Sequence[float] = SPREADS,
) -> float:
    """Simulates which share of ``people`` is rightly linked to their report of the last wave.

    ``mechanisms`` has the mechanism of each question. The attacker knows all earlier reports of
    everybody, and with ``known`` the true answers of everybody too. With ``known``, ``waves`` may
    be 1. The i-th answer has a share in proportion to i**-s; of the results for each s in
    ``spreads`` the largest is returned. The simulation's standard deviation is some percent of the
    result. Ties are broken at random. The same arguments give the same share. Raises ValueError for
    too few people or waves.
    """
    if people < 2 or waves < 2 - known:
        raise ValueError(f"{people} people and {waves} waves; give at least 2 of each")
    questions = tuple(mechanisms)
    return max(_share(questions, people, waves, known, spread) for spread in spreads)


@lru_cache(maxsize=1024)
def _share(senders: Sequence[Asked], people: int, waves: int, known: bool, spread: float) -> float:
    coins = np.random.default_rng(20_261_101)
    width = sum(_sender(mechanism).reports.cells for mechanism in senders)
    draws = min(_LAST_REPORTS, max(_MOST_DRAWN // (_HISTORIES * width), _FEWEST_LAST_REPORTS))
    ratios = np.zeros((_HISTORIES, draws))
    for mechanism in senders:
        ratios += _log_ratios(mechanism, waves, known, spread, draws, coins)
    return _right_guesses(ratios, people)


def _log_ratios(
    mechanism: Asked, waves: int, known: bool, spread: float, draws: int, coins: np.random.Generator
) -> Floats:
    """ln P(last report | earlier ones) / P(last report), as histories x draws.

    Draws an answer and its earlier reports for each history, and then last reports given these.
    """
    sender = _sender(mechanism)
    shares = sender.shares(spread)
    everybody = shares @ sender.states
    answers = coins.choice(len(shares), _HISTORIES, p=shares)
    truth = np.eye(len(everybody))[_drawn(sender.states[answers], 1, coins)]
    knowledge = sender.states[answers] if known else np.tile(everybody, (_HISTORIES, 1))
    for _ in range(waves - 1):
        knowledge = knowledge * sender.reports.likelihoods(sender.reports.drawn(truth, 1, coins))
        # Bayes: what the attacker knows of each person's state after one more wave.
        knowledge /= knowledge.sum(axis=1, keepdims=True)
    last = sender.reports.drawn(knowledge, draws, coins)
    own = sender.reports.mixture(last, knowledge)
    anybody = sender.reports.mixture(last, everybody[np.newaxis])
    return cast(Floats, np.log(own / anybody).reshape(_HISTORIES, draws))


def _right_guesses(ratios: Floats, people: int) -> float:
    """The mean, over histories and last reports, of the chance to beat ``people - 1`` others.

    P(a stranger's ratio is L or more) = E[exp(-ratio); ratio >= L], over the person's own reports.
    So the tail is known far beyond one in the number of draws.
    """
    count = ratios.shape[1]
    won = 0.0
    for history in ratios:
        values: Floats = np.sort(cast(Floats, history.round(_TIE)))[::-1]
        tail = np.concatenate([[0.0], np.exp(-values).cumsum() / count]).clip(0, 1)
        above = tail[np.searchsorted(-values, -values, "left")]
        upto = tail[np.searchsorted(-values, -values, "right")]
        gap = upto - above
        safe = np.where(gap > 1e-12, gap, 1.0)
        ties = ((1 - above) ** people - (1 - upto) ** people) / (people * safe)
        # SPEC 4.4: among equal ratios one is picked at random; without ties this is (1 - above)^(M
        # - 1).
        won += float(np.where(gap > 1e-12, ties, (1 - above) ** (people - 1)).mean())
    return won / len(ratios)


def _drawn(shares: Floats, count: int, coins: np.random.Generator) -> _Whole:
    """``count`` columns for each row, by the row's shares; one row after the other."""
    limits = shares.cumsum(axis=1)
    at = np.sort(coins.random((len(shares), count)), axis=1) * limits[:, -1:]
    columns: list[_Whole] = [
        np.searchsorted(row, u, "right") for row, u in zip(limits, at, strict=True)
    ]
    return cast(_Whole, np.concatenate(columns).clip(0, shares.shape[1] - 1))


# --- what a device sends, given a hidden state ----------------------------------------------------


class _Reports(Protocol):
    """The law of reports, given a state: a memo, or the answer where none is kept.

    ``knowledge`` has the probabilities of the states, with a row for each history. Likelihoods are
    up to a factor that depends on the report alone, as a ratio needs them.
    """

    @property
    def cells(self) -> int:
        """The number of random numbers that a report takes."""
        ...

    def drawn(self, knowledge: Floats, count: int, coins: np.random.Generator) -> Any:
        """Draws ``count`` reports for each row of ``knowledge``, one row after the other."""
        ...

    def likelihoods(self, reports: Any) -> Floats:
        """Returns P(report | state), as reports x states."""
        ...

    def mixture(self, reports: Any, knowledge: Floats) -> Floats:
        """Returns P(report); each row of ``knowledge`` is for equally many successive reports."""
        ...


@dataclass(frozen=True, eq=False)
class _Outputs:
    """One output: ``channel`` has P(output | state), as states x outputs."""

    channel: Floats
    cells: int = 1

    def drawn(self, knowledge: Floats, count: int, coins: np.random.Generator) -> _Whole:
        return _drawn(knowledge @ self.channel, count, coins)

    def likelihoods(self, reports: _Whole) -> Floats:
        return self.channel.T[reports]

    def mixture(self, reports: _Whole, knowledge: Floats) -> Floats:
        sent = knowledge @ self.channel
        return cast(Floats, np.take_along_axis(sent, reports.reshape(len(sent), -1), 1).ravel())


@dataclass(frozen=True, eq=False)
class _Sets:
    """A set of ``size`` cells, of which ``shared`` has P(so many of them are the state's own).

    ``members`` are the cells of each state, equally many, as states x members. A set that meets
    them has ``odds`` times the probability of one that does not.
    """

    cells: int
    size: int
    members: _Whole
    shared: Floats
    odds: float

    def drawn(self, knowledge: Floats, count: int, coins: np.random.Generator) -> _Masks:
        states = _drawn(knowledge, count, coins)
        # The cells with the smallest of random numbers are a uniform sample; the state's own cells
        # get 2, which is never among them.
        order = coins.random((len(states), self.cells), dtype=np.float32)
        np.put_along_axis(order, self.members[states], 2.0, axis=1)
        own: _Whole = coins.choice(len(self.shared), len(states), p=self.shared)
        drawn = np.zeros((len(states), self.cells), dtype=bool)
        first = np.argpartition(order, self.size - 1, axis=1)[:, : self.size]
        others: _Whole = np.asarray(coins.permuted(first, axis=1), dtype=np.int64)
        needed: _Masks = np.less(np.arange(self.size), self.size - own[:, np.newaxis])
        np.put_along_axis(drawn, others, needed, axis=1)
        members: _Whole = np.asarray(coins.permuted(self.members[states], axis=1), dtype=np.int64)
        mine = members[:, : len(self.shared) - 1]
        kept: _Masks = np.less(np.arange(len(self.shared) - 1), own[:, np.newaxis])
        np.put_along_axis(drawn, mine, kept, axis=1)
        return drawn

    def likelihoods(self, reports: _Masks) -> Floats:
        return 1 + (self.odds - 1) * self._met(reports)

    def mixture(self, reports: _Masks, knowledge: Floats) -> Floats:
        met = self._met(reports).reshape(len(knowledge), -1, len(self.members))
        return 1 + (self.odds - 1) * (met @ knowledge[:, :, np.newaxis]).ravel()

    def _met(self, reports: _Masks) -> Floats:
        return cast(Floats, reports[:, self.members].any(axis=2).astype(np.float32))


@dataclass(frozen=True, eq=False)
class _Sender:
    """A question: ``states`` has P(state | answer), as answers x states."""

    states: Floats
    reports: _Reports

    def shares(self, spread: float) -> Floats:
        """Returns the shares of the answers, in proportion to i**-``spread`` for the i-th."""
        weights = np.arange(1.0, len(self.states) + 1) ** -spread
        return cast(Floats, weights / weights.sum())


@dataclass(frozen=True, eq=False)
class _Ticks(_Sender):
    """A question of several ticks. ``ticked`` are the options of each answer."""

    ticked: _Whole

    def shares(self, spread: float) -> Floats:
        weights = ((1.0 + self.ticked) ** -spread).prod(axis=1)
        return cast(Floats, weights / weights.sum())


@lru_cache(maxsize=16)  # that of a list of 1,000 choices takes 8 MB
def _sender(mechanism: Asked) -> _Sender:
    once = mechanism.single_report_mechanism if isinstance(mechanism, Memoised) else mechanism
    if isinstance(once, SetResponse):
        return _ticks(mechanism, once)
    if not isinstance(mechanism, Memoised):
        law = mechanism.law
        reports = _Outputs(rows(law)) if isinstance(law, Finite) else _one_choice(law)
        return _Sender(np.eye(law.rows if isinstance(law, Finite) else law.k), reports)
    memo = mechanism.memo.law
    states = rows(memo) if isinstance(memo, Finite) else _two_levels(mechanism, memo.k)
    fresh = mechanism.fresh
    return _Sender(states, _one_choice(fresh.law) if fresh else _Outputs(_sent_rows(mechanism)))


def _ticks(mechanism: Asked, once: SetResponse) -> _Ticks:
    ticked = _sets_of_ticks(once.k, once.most)
    if isinstance(mechanism, Memoised):
        assert mechanism.fresh is not None
        states = np.full((len(ticked), once.domain), float(mechanism.other))
        np.put_along_axis(states, ticked, float(mechanism.own), axis=1)
        states /= states.sum(axis=1, keepdims=True)
        return _Ticks(states, _one_choice(mechanism.fresh.law), ticked)
    weights = np.array([
        comb(once.most, i) * comb(once.k, once.size - i) * (once.own if i else once.other)
        for i in range(min(once.most, once.size) + 1)
    ], dtype=float)  # fmt: skip
    shared = weights / weights.sum()
    reports = _Sets(once.domain, once.size, ticked, shared, once.own / once.other)
    return _Ticks(np.eye(len(ticked)), reports, ticked)


def _sets_of_ticks(k: int, ticks: int) -> _Whole:
    """All answers with ``ticks`` ticks, or some, where there are very many."""
    if comb(k, ticks) <= _MOST_SETS:
        return np.array(list(combinations(range(k), ticks)), dtype=np.int64)
    coins = np.random.default_rng(k * 1024 + ticks)
    return np.sort(np.argsort(coins.random((_MOST_SETS, k)), axis=1)[:, :ticks], axis=1)


def _one_choice(law: Supporting) -> _Sets:
    """Subset selection: a report names ``most`` of k choices, and the answer with probability p."""
    p = float(law.p)
    odds = float(law.p * (law.k - law.most) / ((1 - law.p) * law.most))
    return _Sets(law.k, law.most, np.arange(law.k)[:, np.newaxis], np.array([1 - p, p]), odds)


def _two_levels(mechanism: Memoised[Any], k: int) -> Floats:
    states = np.full((k, k), float(mechanism.other))
    np.fill_diagonal(states, float(mechanism.own))
    return cast(Floats, states / states.sum(axis=1, keepdims=True))


def _sent_rows(kept: Memoised[Any]) -> Floats:
    """P(output | memo)."""
    weights = np.array([kept.row(memo) for memo in range(kept.memo.law.cell_count)], dtype=float)
    return cast(Floats, weights / weights.sum(axis=1, keepdims=True))


# --- what two reports of one memo have in common --------------------------------------------------


def overlap_law(mechanism: HasLaw[Supporting]) -> list[Fraction]:
    """Returns P(two reports from one memo have i choices in common), for i from 0 to omega.

    The memo is the permanently randomised answer, from which ``mechanism`` makes the reports.
    """
    law = mechanism.law
    k, omega, inside = law.k, law.most, law.p

    def shared(first: int, second: int, count: int) -> Fraction:
        """P(both reports share ``count`` other choices | they hold ``first`` and ``second``)."""
        if not 0 <= count <= min(first, second):
            return Fraction(0)
        return Fraction(
            comb(first, count) * comb(k - 1 - first, second - count), comb(k - 1, second)
        )

    return [
        inside**2 * shared(omega - 1, omega - 1, count - 1)
        + 2 * inside * (1 - inside) * shared(omega - 1, omega, count)
        + (1 - inside) ** 2 * shared(omega, omega, count)
        for count in range(omega + 1)
    ]
