"""Estimates the answers of those who were asked a question with ``show_if``.

Everybody reports an answer to such a question. "Not applicable", from those who were not asked, is
randomised as any other answer is. So the share of an answer b among those who were asked is a ratio
of two estimates: f_b over the share of those who were asked.

Two questions say who was asked: this one, and the earlier one that decides whether it is shown.
Only some pairs of true answers can occur: (a choice that does not lead here, not applicable) and
(one that does, b). So the channel of whole pairs of reports has few rows, and determines the ratio
up to twice as well as this question alone, or as a cross-table, which allows for all pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from math import comb, inf
from statistics import NormalDist
from typing import cast

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import Floats, upper_tail
from deniably.estimation.channels import matrix
from deniably.estimation.intervals import IntervalEnds
from deniably.estimation.inversion import Mean, Uncertain, linear, scores, uncertain
from deniably.estimation.shares_within_rows import WIDEST
from deniably.estimation.tally import Tally, support_rows
from deniably.estimation.weighted_tally import Ints, Weighing, WeightedTally
from deniably.mechanisms.law import CoinEach, Finite, Law, Supporting
from deniably.survey.parts import Choice
from deniably.survey.questions import NOT_APPLICABLE, Conditional, OfChoices, Question
from deniably.survey.survey import Survey, show_if

Pairs = Iterable[Sequence[Sequence[list[int] | None]]]
"""Some reports at a time: of each the values of the question that decides, and of this one."""

_LEAST = 0.02  # of everybody: what a pair of answers counts as, when scores are chosen
_NOBODY = 1e-6  # the estimated share of those who were asked that counts as none
_GRID, _HALVINGS = 17, 14  # shares that are tested; then bisections between two of them
_ROUNDS = 200  # of proportional fitting; far more than a table of two by two takes


@dataclass(frozen=True)
class FollowUp:
    """A question with ``show_if``, asked only of those who gave some answers to an earlier one.

    ``decides`` is the earlier question, ``among`` are the indices of its choices that lead to this
    ``question``.
    """

    question: Conditional
    decides: Question
    among: tuple[int, ...]

    @property
    def choices_that_lead(self) -> Sequence[Choice]:
        """All choices of the earlier question, including those after which this question is not
        asked."""
        assert isinstance(self.decides, OfChoices)
        return self.decides.choices

    @property
    def hidden(self) -> int:
        """The index of the choice "not applicable", which stands for people who are not asked."""
        return self.question.names.index(NOT_APPLICABLE)

    @property
    def tells_who_is_asked(self) -> bool:
        """Whether reports to the earlier question can be paired with those to this one.

        They cannot where each device reports only a sample of the earlier question's options.
        """
        return _decides(_law(self.decides))

    @property
    def answers(self) -> list[int]:
        """The indices of the choices that are offered to those who are asked: all but "not
        applicable"."""
        return [index for index in range(len(self.question.names)) if index != self.hidden]


def follow_ups(survey: Survey) -> dict[str, FollowUp]:
    """Returns {name: follow-up} of the questions with ``show_if``.

    Questions for which the shares among those asked cannot be estimated are left out.
    """
    earlier = {question.name: question for question in survey.questions}
    by_name: dict[str, FollowUp] = {}
    for question in survey.questions:
        condition = show_if(question)
        if condition is None or not isinstance(question, Conditional):
            continue
        decides = earlier[condition.question]
        assert isinstance(decides, OfChoices)  # yes_no, select_one or scale
        among = tuple(decides.names.index(name) for name in condition.among)
        follow_up = FollowUp(question, decides, among)
        if _tells(question.report_mechanism.law):
            by_name[question.name] = follow_up
    return by_name


# --- counts -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FollowUpCounts:
    """The counts of pairs of reports of the same people: to the earlier question and to this one.

    ``counts`` has the shape (outputs of the earlier question, tables, outputs of this one). Where
    reports to this question name choices, there is a table for each answer. Its outputs say whether
    "not applicable" is named and whether the answer is. Other mechanisms have a single table with
    their own outputs. Where only this question's reports are known, ``alone`` is true and the
    earlier question has a single output; ``blanks`` is the share of a mixer's blanks among the
    reports.

    With weights, the counts of each table add up to its effective sample size, and ``weighted`` has
    the weighted tally of each table.
    """

    counts: Floats
    alone: bool
    weighted: Sequence[WeightedTally] = ()
    blanks: float = 0.0

    @property
    def people(self) -> int:
        """The number of reports, whatever their weights."""
        return self.weighted[0].n if self.weighted else self.n

    @property
    def n(self) -> int:
        """The number of reports; with weights, the effective sample size."""
        return round(float(self.counts[:, 0].sum()))


def joint_counts(
    survey: Survey, reports_to: Callable[[int, int], Pairs | None], only: str | None = None
) -> dict[str, FollowUpCounts]:
    """Returns {name: counts of pairs of reports} of the questions with ``show_if``.

    With ``only``, the question of this name alone is counted. ``reports_to(i, j)`` returns the
    pairs of reports to the earlier question and to the question that depends on it, by their
    indices in the survey; None where only tallies are known. Questions whose reports cannot be
    paired are left out, and so are all of a survey with a mixer.
    """
    if survey.mixer:
        return {}
    names = [question.name for question in survey.questions]
    counts: dict[str, FollowUpCounts] = {}
    for name, follow_up in follow_ups(survey).items():
        if only not in (None, name) or not follow_up.tells_who_is_asked:
            continue
        blocks = reports_to(names.index(follow_up.decides.name), names.index(name))
        if blocks is not None:
            counts[name] = counts_of_pairs(follow_up, blocks)
    return counts


def counts_of_pairs(follow_up: FollowUp, blocks: Pairs) -> FollowUpCounts:
    """Returns the counts of pairs of reports of the same people.

    Where a report to the earlier question names choices, its output is the number of named choices
    that lead to this question.
    """
    outputs = _decision_outputs(follow_up)
    tables, size = _table_shape(follow_up)
    counts = np.zeros((tables, outputs * size))
    for kinds in _kinds(follow_up, blocks):
        counts += [np.bincount(table, minlength=outputs * size) for table in kinds]
    return FollowUpCounts(_by_output(counts, outputs), alone=False)


def weighted_counts(
    follow_up: FollowUp, blocks: Pairs, weighing: Weighing, *, alone: bool = False
) -> FollowUpCounts:
    """Returns the counts of pairs of reports with weights.

    ``weighing`` has the weights of the people who have both reports, in the order of ``blocks``.
    With ``alone``, the first report of each pair is ignored. Raises BadModel where the weights give
    no standard error: all are 0, a stratum has one report, or there are fewer than two.
    """
    outputs = 1 if alone else _decision_outputs(follow_up)
    tables, size = _table_shape(follow_up)
    blocked = list(_kinds(follow_up, blocks, alone=alone))
    kinds = np.concatenate(blocked, axis=1) if blocked else np.zeros((tables, 0), np.int64)
    weighted = [weighing.tally(table, outputs * size) for table in kinds]
    counts = np.array([table.kish * table.shares for table in weighted])
    return FollowUpCounts(_by_output(counts, outputs), alone, weighted)


def _kinds(follow_up: FollowUp, blocks: Pairs, *, alone: bool = False) -> Iterator[Ints]:
    """The kind of each pair of reports in every table, shape (tables, n), a block at a time."""
    size = _table_shape(follow_up)[1]
    for block in blocks:
        both = [row for row in block if None not in row]
        if both:
            # The kind of a pair: the first report's output times the number of the second's, plus
            # that.
            first = 0 if alone else size * _gather(follow_up, [row[0] or [] for row in both])
            second = _outputs(follow_up, [row[1] or [] for row in both])
            yield np.array([first + output for output in second])


def _by_output(tables: Floats, outputs: int) -> Floats:
    """Tables (t, outputs * size) in the shape of ``FollowUpCounts.counts``."""
    return tables.reshape(len(tables), outputs, -1).swapaxes(0, 1)


def _decision_outputs(follow_up: FollowUp) -> int:
    return int(_gathered(_law(follow_up.decides), len(follow_up.among)).shape[1])


def told_alone(follow_up: FollowUp, tally: Tally) -> bool:
    """Returns whether the question's reports alone tell shares among those who were asked.

    Not if there are blanks among reports of ticks: a blank may tick "not applicable" with others.
    """
    law = follow_up.question.report_mechanism.law
    return not tally.blanks or not isinstance(law, Supporting) or law.single


def counts_alone(follow_up: FollowUp, tally: Tally) -> FollowUpCounts:
    """Returns the counts of this question's reports alone, from its tally.

    A tally does not say how often two choices are named together. That is taken from the
    mechanism's probabilities at the estimated shares, and matters only for the variance. Raises
    ValueError unless ``told_alone``.
    """
    if not told_alone(follow_up, tally):
        tally.without_blanks("a share of those who were asked, of answers with several ticks,")
    law, blanks = follow_up.question.report_mechanism.law, tally.blanks / max(tally.reports, 1)
    if isinstance(law, Finite):
        counts = tally.counts.astype(np.float64)[None, None]
        return FollowUpCounts(counts, alone=True, blanks=blanks)
    assert isinstance(law, Supporting)
    margins = _margins(law, tally)
    channel, _ = _of_answers(follow_up, 0, blanks)
    hidden, n = margins[follow_up.hidden], tally.reports
    tables = [_fitted(channel, hidden, margins[answer], n) for answer in follow_up.answers]
    return FollowUpCounts(np.array(tables)[None], alone=True, blanks=blanks)


def expected_alone(follow_up: FollowUp, tally: Tally, n: int) -> FollowUpCounts:
    """Returns the counts to expect of ``n`` people whose answers are spread as those of a tally's,
    with as many blanks as the tally has; of this question's reports alone.

    Raises ValueError unless ``told_alone``.
    """
    counts = counts_alone(follow_up, tally).counts[0]
    # Where all reports are blanks, the rows of the channel are equal.
    channels = [_of_answers(follow_up, place, 1.0)[0] for place in range(len(counts))]
    made_up = tally.blanks * np.array([channel[0] for channel in channels])
    people = (counts - made_up) * (n / tally.n)
    expected = np.maximum(people + made_up, 0.0)[None]
    return FollowUpCounts(expected, alone=True, blanks=tally.blanks / (n + tally.blanks))


def _margins(law: Supporting, tally: Tally) -> Floats:
    """How many reports have each state of each choice, shape (k, states): see ``_states``."""
    counts = tally.counts.astype(np.float64)
    if law.both:
        no, yes = counts[0::2], counts[1::2]
        return np.stack([tally.reports - no - yes, no, yes], axis=1)
    named = counts[: law.k]
    return np.stack([tally.reports - named, named], axis=1)


def _fitted(channel: Floats, hidden: Floats, answer: Floats, n: int) -> Floats:
    """The likely counts of pairs of states, shape (states^2,), with the counts of the states of
    each: proportional fitting (Deming and Stephan 1940) of what the law expects."""
    states = len(hidden)
    table: Floats
    parts = np.array([_share(channel, counts, n) for counts in (hidden, answer)])
    parts /= max(float(parts.sum()), 1.0)
    expected = np.array([*parts, 1 - parts.sum()]) @ channel
    # Fitting multiplies, so a cell of 0 would stay 0 whatever its margins say.
    table = np.maximum(expected.reshape(states, states), 1e-12)
    for _ in range(_ROUNDS):
        rows = table.sum(axis=1)
        table *= np.divide(hidden, rows, out=np.zeros(states), where=rows > 0)[:, None]
        columns = table.sum(axis=0)
        table *= np.divide(answer, columns, out=np.zeros(states), where=columns > 0)
    return table.ravel()


def _share(channel: Floats, states: Floats, n: int) -> float:
    """The share of a choice from the counts of its states, kept possible."""
    size = len(states)
    own, other = (
        channel[0].reshape(size, size).sum(axis=1),
        channel[2].reshape(size, size).sum(axis=1),
    )
    share = (states[-1] / n - other[-1]) / (own[-1] - other[-1])
    return float(np.clip(share, 0, 1))


# --- channels ---------------------------------------------------------------------------------


def _law(question: Question) -> Law:
    mechanism = question.mechanism
    return cast(Law, getattr(mechanism, "single_report_mechanism", mechanism).law)


def _tells(law: Law) -> bool:
    """Whether shares among those who were asked can be estimated from reports by this law."""
    return isinstance(law, Supporting | Finite)


def _decides(law: Law) -> bool:
    """Whether reports by this law to the question that decides have few outputs."""
    return isinstance(law, Finite | Supporting) and law.sampled_fraction == 1


def _states(law: Supporting) -> int:
    """What a report says of one choice: whether it names it; or, of ticks that are sampled, that it
    is not among them, or which of two cells is named."""
    return 3 if law.both else 2


def _table_shape(follow_up: FollowUp) -> tuple[int, int]:
    law = follow_up.question.report_mechanism.law
    if isinstance(law, Supporting):
        return len(follow_up.answers), _states(law) ** 2
    assert isinstance(law, Finite)
    return 1, law.outputs


def _outputs(follow_up: FollowUp, reports: Sequence[list[int]]) -> list[npt.NDArray[np.int64]]:
    """The output of each report, for each answer, or once for all."""
    law = follow_up.question.report_mechanism.law
    if isinstance(law, Finite):
        return [np.array([value for (value,) in reports], dtype=np.int64)]
    assert isinstance(law, Supporting)
    named = support_rows(reports, law.cell_count)
    if law.both:
        states = named[:, 0::2] + 2 * named[:, 1::2].astype(np.int64)
    else:
        states = named[:, : law.k].astype(np.int64)
    hidden = _states(law) * states[:, follow_up.hidden]
    return [hidden + states[:, answer] for answer in follow_up.answers]


def _named_together(law: Supporting) -> Floats:
    """P(state of "not applicable", state of an answer), shape (3, states^2).

    The rows are: not asked; asked, and this answer; asked, and not this answer.
    """
    p, q = float(law.p), float(law.q)
    if law.both:
        k, sampled = law.k, law.size or 0
        both = sampled * (sampled - 1) / (k * (k - 1))
        # Two of the ``sampled`` out of k options: P(both are sampled), P(exactly this one),
        # P(none).
        exactly_one = sampled / k - both
        none = 1 - both - 2 * exactly_one
        rows: list[Floats] = []
        for hidden, answer in ((p, q), (q, p), (q, q)):
            first, second = np.array([0, 1 - hidden, hidden]), np.array([0, 1 - answer, answer])
            blank = np.array([1.0, 0, 0])
            table = none * np.outer(blank, blank) + both * np.outer(first, second)
            rows.append(table + exactly_one * (np.outer(first, blank) + np.outer(blank, second)))
        return np.array(rows).reshape(3, -1)
    assert law.joint.with_own is not None
    with_own, neither = map(float, law.joint.with_own)
    pairs = ((p, q, with_own), (q, p, with_own), (q, q, neither))
    cells = [[1 - a - b + both, b - both, a - both, both] for a, b, both in pairs]
    chances: Floats = np.maximum(np.array(cells), 0.0)  # fractions round
    return chances


def _gathered(law: Law, among: int) -> Floats:
    """P(output) of reports to the question that decides, (rows, outputs).

    Where reports name choices, for an answer elsewhere and for one of the choices that lead here,
    with the number of these that are named. Else for every answer.
    """
    if isinstance(law, Finite):
        return matrix(law)
    assert isinstance(law, Supporting)
    if isinstance(law.joint, CoinEach):
        p, q = float(law.p), float(law.q)
        others = _binomial(among - 1, q)
        return np.array([_binomial(among, q), np.convolve(others, [1 - p, p])])
    assert law.size is not None
    k, size, p = law.k, law.size, float(law.p)

    def named(inside: int, drawn: int) -> Floats:
        """P(j of ``inside`` choices are among ``drawn``, of all but the answer), j to ``among``."""
        ways = [
            comb(inside, j) * comb(k - 1 - inside, drawn - j) if j <= drawn else 0
            for j in range(among + 1)
        ]
        return np.array([way / max(comb(k - 1, drawn), 1) for way in ways])

    # Hypergeometric, with and without the answer in the set, as in ``question_shares``.
    own = p * np.append(0.0, named(among - 1, size - 1)[:-1]) + (1 - p) * named(among - 1, size)
    other = p * named(among, size - 1) + (1 - p) * named(among, size)
    return np.array([other, own])


def _binomial(n: int, share: float) -> Floats:
    law = np.ones(1)
    for _ in range(n):
        law = np.convolve(law, [1 - share, share])
    return law


def _gather(follow_up: FollowUp, reports: Sequence[list[int]]) -> npt.NDArray[np.int64]:
    """The output of each report to the question that decides."""
    law = _law(follow_up.decides)
    if isinstance(law, Finite):
        return np.array([value for (value,) in reports], dtype=np.int64)
    assert isinstance(law, Supporting)
    supports = support_rows(reports, law.cell_count)
    outputs: npt.NDArray[np.int64] = supports[:, list(follow_up.among)].sum(axis=1, dtype=np.int64)
    return outputs


# --- estimates --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ShareAmong:
    """The share of an answer among those who were asked, with its interval and its test.

    ``estimate`` and ``standard_error`` are None where the interval is wider than 0.8: too few
    people seem to have been asked.
    """

    estimate: float | None
    standard_error: float | None
    low: float
    high: float
    test: RatioTest

    def interval(self, confidence: float) -> tuple[float, float]:
        """Returns the ends of the interval at ``confidence``, widened to hold the estimate if there
        is one."""
        low, high = self.test.interval(confidence)
        if self.estimate is None:
            return low, high
        return min(low, self.estimate), max(high, self.estimate)

    def ends(self, confidence: float) -> IntervalEnds:
        """Returns the ends of ``interval`` as arrays of shape ()."""
        low, high = self.interval(confidence)
        return np.asarray(low), np.asarray(high)


@dataclass(frozen=True, eq=False)
class AmongAsked:
    """The estimates of one question with ``show_if``, about those who were asked it.

    ``asked`` is the share of all people who were asked. ``shares`` has for each of
    ``FollowUp.answers`` its share among the people who were asked. ``alone`` is true where only
    this question's reports were used.
    """

    asked: Mean
    shares: list[ShareAmong]
    alone: bool


@dataclass(frozen=True, eq=False)
class RatioTest:
    """Tests any hypothetical share R of an answer among those who were asked.

    The test is whether the mean of (gave the answer) - R (was asked) is 0. Source: Fieller 1954 (J.
    R. Stat. Soc. B 16:175). A row stands for a combination of true answers to the two questions.
    ``counts`` (outputs,) are the counts of reports, and ``channel`` (rows, outputs) has the
    probability of each output given a row. ``gave`` and ``asked`` (rows,) are 1 in the rows of
    people who gave the answer, or who were asked, and 0 in the others. The scores have the least
    variance at the estimated shares of the rows, each taken as at least 0.02.

    With weights, every R is tested with the effective sample size for the mean of its score (Korn
    and Graubard 1998).
    """

    counts: Floats
    channel: Floats
    gave: Floats
    asked: Floats
    weighted: WeightedTally | None = None

    @cached_property
    def _scores(self) -> Floats:
        """Those of ``gave`` and ``asked``, shape (2, outputs)."""
        every_score = scores(self.channel, np.eye(len(self.channel)))
        shares = np.maximum(every_score @ self.counts / self.counts.sum(), _LEAST)
        # Two steps: shares with scores for an even spread, then scores for those shares.
        return scores(self.channel, np.stack([self.gave, self.asked]), shares / shares.sum())

    @cached_property
    def means(self) -> tuple[float, float]:
        """The unbiased estimates of two shares of all people: who gave the answer, and who was
        asked."""
        gave, was_asked = (self._scores @ self.counts / self.counts.sum()).tolist()
        return gave, was_asked

    @cached_property
    def share_asked(self) -> Mean:
        """The estimated share of people who were asked, with margins at 95 %."""
        return linear(self._told(self._scores[1]), self._scores[1], self.channel)

    @cached_property
    def ratio(self) -> float:
        """The ratio of the unbiased shares, kept within 0 to 1; 0.5 where nobody seems to have been
        asked."""
        gave, was_asked = self.means
        return min(max(gave / was_asked, 0.0), 1.0) if was_asked > _NOBODY else 0.5

    def interval(self, confidence: float) -> tuple[float, float]:
        """Returns the lowest and the highest R that is not rejected; 0 and 1 where every R is
        rejected."""
        wanted = NormalDist().inv_cdf((1 + confidence) / 2)
        grid = sorted({*np.linspace(0, 1, _GRID).tolist(), self.ratio})
        kept = [place for place, share in enumerate(grid) if self._away(share) <= wanted]
        if not kept:
            return 0.0, 1.0
        first, last = kept[0], kept[-1]
        low = self._last(grid[first], grid[max(first - 1, 0)], wanted)
        high = self._last(grid[last], grid[min(last + 1, len(grid) - 1)], wanted)
        return low, high

    def deviate(self, share: float) -> float:
        """Returns how many standard deviations the estimate lies above ``share``, less half a step.

        The result is limited by an exact test: how surprising it would be if the reports that
        favour the answer (or, for a negative result, the other answers) had all come about by
        chance.
        """
        low, high = self._furthest
        deviate = self._deviates(share)
        # The normal deviate, or the exact one if that is nearer to 0.
        return min(deviate, low) if share < self.ratio else max(deviate, -high)

    @cached_property
    def _furthest(self) -> tuple[float, float]:
        """How far below and above the ratio a share can be told from it."""
        return self._beyond_chance(self.gave > 0), self._beyond_chance(self.gave < self.asked)

    def _beyond_chance(self, rows: npt.NDArray[np.bool_]) -> float:
        """The deviate of the reports that speak for these rows, if chance alone made them.

        At high epsilon hardly any such report comes by chance, and a single one moves the estimate
        far. The test is exact: without these rows, the reports that they make likelier than others
        are binomial, if all others make them equally often. So it is with this question alone and
        one choice a report. With both questions such a report is seen for what it is.
        """
        if not rows.any():
            return inf
        others = self.channel[~rows]
        telling = self.channel[rows].max(axis=0) > others.max(axis=0) + 1e-12
        chances = others[:, telling].sum(axis=1)
        if not telling.any() or np.ptp(chances) > 1e-9:
            return inf
        # Counts that were fitted round.
        counts = self._told(telling.astype(np.float64))
        n, seen = round(float(counts.sum())), round(float(counts[telling].sum()))
        chance = float(upper_tail(seen, n, float(chances.max())))
        if not 0 < chance < 1:
            return 0.0 if chance else inf
        return max(-NormalDist().inv_cdf(chance), 0.0)

    def error(self, share: float) -> float:
        """Returns the standard error of the ratio, linearised at ``share``."""
        return self._about(share).error / self.means[1]

    def _last(self, inner: float, outer: float, wanted: float) -> float:
        for _ in range(_HALVINGS if inner != outer else 0):
            middle = (inner + outer) / 2
            inside = self._away(middle) <= wanted
            inner, outer = (middle, outer) if inside else (inner, middle)
        return inner

    def _away(self, share: float) -> float:
        return abs(self.deviate(share))

    @cached_property
    def _deviates(self) -> _Deviate:
        def deviate(share: float) -> float:
            return self._about(share).deviate(0.0)

        return cache(deviate)

    def _about(self, share: float) -> Uncertain:
        gave, asked_score = self._scores
        score = gave - share * asked_score
        return uncertain(self._told(score), score, self.channel)[0]

    def _told(self, score: Floats) -> Floats:
        """The counts of the people who would know the mean of a score as well."""
        return self.counts if self.weighted is None else self.weighted.counts(score)


_Deviate = Callable[[float], float]


def among_asked(
    follow_up: FollowUp, counts: FollowUpCounts, confidence: float = 0.95
) -> AmongAsked | None:
    """Estimates the shares among those who were asked; None where reports do not determine them.

    Coverage at a nominal 0.95, 300 simulated surveys each, epsilon 1 to 8, n 30 to 5000, 5 to 100 %
    asked, shares of 0 to 60 % and up to 20 choices: see
    ``tests/estimation/test_shares_among_asked.py``.
    Raises ValueError without a report.
    """
    if counts.n < 1:
        raise ValueError("an estimate needs at least one report")
    tests = [_test(follow_up, counts, place) for place in range(len(follow_up.answers))]
    try:
        shares = [_share_among(test, confidence) for test in tests]
    except ValueError:  # of a window with fewer outputs than choices
        return None
    return AmongAsked(tests[0].share_asked, shares, counts.alone)


def share_among_asked(
    follow_up: FollowUp, counts: FollowUpCounts, place: int, confidence: float = 0.95
) -> ShareAmong:
    """Estimates one answer's share among those who were asked.

    ``place`` is the index of the answer in ``FollowUp.answers``.

    Raises ValueError without a report, and where reports do not determine the share.
    """
    if counts.n < 1:
        raise ValueError("an estimate needs at least one report")
    return _share_among(_test(follow_up, counts, place), confidence)


def _share_among(test: RatioTest, confidence: float) -> ShareAmong:
    low, high = test.interval(confidence)
    # Too wide to say anything: the interval alone is shown.
    if high - low >= WIDEST or test.means[1] <= _NOBODY:
        return ShareAmong(None, None, low, high, test)
    shown = min(max(test.ratio, low), high)
    return ShareAmong(shown, test.error(shown), low, high, test)


def _test(follow_up: FollowUp, counts: FollowUpCounts, place: int) -> RatioTest:
    """The test of one of the answers, by its place among them."""
    second, answers = _of_answers(follow_up, place, counts.blanks)
    first, leads = _of_decisions(follow_up, counts)
    rows = [
        (np.outer(decision, second[row]).ravel(), answers[row])
        # Only pairs of true answers that can occur: one that leads here with an answer, or one that
        # does not with "not applicable".
        for decision, here in zip(first, leads, strict=True)
        for row in range(len(second))
        if here == (answers[row] is not None)
    ]
    table = place if counts.counts.shape[1] > 1 else 0
    return RatioTest(
        counts.counts[:, table].ravel(),
        np.array([row for row, _ in rows]),
        np.array([float(bool(answer)) for _, answer in rows]),
        np.array([float(answer is not None) for _, answer in rows]),
        counts.weighted[table] if counts.weighted else None,
    )


def _of_answers(follow_up: FollowUp, place: int, blanks: float) -> tuple[Floats, list[bool | None]]:
    """The channel of reports to this question, and of each row whether it is of the answer; None
    for "not applicable". A share ``blanks`` of the reports are of uniformly random answers."""
    law, k = follow_up.question.report_mechanism.law, len(follow_up.question.names)
    answer = follow_up.answers[place]
    if isinstance(law, Supporting):
        channel, answers = _named_together(law), [1, 1, k - 2]
        kinds: list[bool | None] = [None, True, False]
    else:
        channel, answers = matrix(law), [1] * k
        kinds = [None if row == follow_up.hidden else row == answer for row in range(k)]
    if blanks:
        channel = channel + blanks * (np.array(answers) / k @ channel - channel)
    return channel, kinds


def _of_decisions(follow_up: FollowUp, counts: FollowUpCounts) -> tuple[Floats, list[bool]]:
    """The channel of reports to the question that decides, and which rows lead to this one."""
    if counts.alone:
        return np.ones((2, 1)), [False, True]
    law = _law(follow_up.decides)
    channel = _gathered(law, len(follow_up.among))
    if isinstance(law, Supporting):
        return channel, [False, True]
    return channel, [row in follow_up.among for row in range(len(channel))]


def expected_margin(
    follow_up: FollowUp, n: int, asked: float, share: float, confidence: float = 0.95
) -> float:
    """Returns half the width of the interval to expect for a ``share`` among those asked.

    It is computed from the expected reports of n people, a fraction ``asked`` of whom is asked. The
    result is 0.5, half of the whole range, where too few are asked. Raises ValueError where reports
    do not determine shares.
    """
    alone = not follow_up.tells_who_is_asked
    test = _test(follow_up, FollowUpCounts(np.zeros((1, 1, 1)), alone), 0)
    kinds = ((test.asked == 0, 1 - asked), (test.gave > 0, asked * share),
             (test.gave < test.asked, asked * (1 - share)))  # fmt: skip
    people = np.zeros(len(test.channel))
    for rows, part in kinds:
        people[rows] = n * part / rows.sum()
    low, high = replace(test, counts=people @ test.channel).interval(confidence)
    return (high - low) / 2
