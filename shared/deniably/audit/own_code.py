"""Audits a randomiser that somebody wrote: a Python function from an answer to a report.

A function that takes coins as well, ``randomise(answer, coins)``, is walked branch by branch, and
the probabilities of its reports are exact. Any other function is run many times and its reports are
counted, as in ``blackbox``, which proves less.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from math import inf, log
from typing import Literal

from deniably.audit.blackbox import ALPHA, chosen, lower_bound
from deniably.audit.enumeration import Exploration, explore
from deniably.audit.report_checker import made_twice
from deniably.core.coins import Coins
from deniably.core.exponential import exp_bounds
from deniably.survey.privacy import Privacy

TRIALS = 20_000
"""How many reports of each answer are counted."""
MOST_ANSWERS = 32
"""The maximum of answers of a function."""
PATHS = 1 << 15
"""The maximum of paths of one answer; the rest is counted."""
_FIRST, _LITTLE = 1 << 11, Fraction(1, 100)
"""Where the first paths leave little, branches are endless, as those of noise are: more paths cost
much and add next to nothing."""

_CHECKS = 50  # runs of each answer that are repeated from the same coins
_BITS = 64

OTHER_CHANCE = "the same coins make other reports: it has chance or a state beside them"
"""Why a function is not walked that has chance beside its coins, or a state."""

Answer = Hashable
Probabilities = Mapping[Hashable, Fraction]


class BadCode(ValueError):
    """Raised where a function cannot be audited; the message says why, and what to change."""


@dataclass(frozen=True)
class Shift:
    """A set of ``reports`` that shifts the odds between two answers.

    The answer ``first`` makes one of the reports with the probability ``seen``, the answer
    ``second`` with the probability ``against``. If not all branches were walked, ``seen`` is
    rounded down and ``against`` up.
    """

    first: Answer
    second: Answer
    reports: tuple[Hashable, ...]
    seen: Fraction
    against: Fraction

    @property
    def epsilon(self) -> float:
        """The ln of ``seen / against``; infinite where ``against`` is 0."""
        return log(self.seen / self.against) if self.against else inf


@dataclass(frozen=True)
class CountedBound:
    """A lower bound of epsilon that counted reports prove, except with a chance of one in a
    million.

    ``first`` and ``second`` are the answers whose reports prove the largest epsilon.
    """

    epsilon: float
    first: Answer
    second: Answer
    trials: int


@dataclass(frozen=True)
class CodeAudit:
    """The audit of a function: what a walk through its branches and counted reports prove.

    If every branch was walked, ``laws`` has for each answer {report: probability}, and ``worst`` is
    the report with the largest ratio of probabilities. ``broken`` is a set of reports that shows
    that the ``claim`` does not hold. If not every branch was walked, ``counted`` is what counted
    reports prove, and ``not_walked`` says why.
    """

    answers: tuple[Answer, ...]
    claim: Privacy | None
    laws: tuple[Probabilities, ...] | None
    paths: int
    unexplored_mass: float
    worst: Shift | None
    broken: Shift | None
    counted: CountedBound | None
    not_walked: str

    @property
    def outcome(self) -> Literal["failed", "passed", "measured", "counted"]:
        """The outcome: "failed", "passed", "measured" or "counted".

        After a walk of every branch it is "passed" if the claim holds, and "measured" if there is
        no claim. "counted" means that reports were only counted, and that nothing contradicts the
        claim.
        """
        if self.broken or (self.counted and self.counted.epsilon > claimed_epsilon(self.claim)):
            return "failed"
        if self.laws is None:
            return "counted"
        return "passed" if self.claim else "measured"

    @property
    def epsilon(self) -> float:
        """The exact epsilon if every branch was walked; otherwise the largest that is proved, or
        0."""
        if self.laws is not None:
            return self.worst.epsilon if self.worst else 0.0
        return self.counted.epsilon if self.counted else 0.0


def claimed_epsilon(claim: Privacy | None) -> float:
    """Returns the epsilon of a claim; infinite where there is no claim."""
    return claim.ln if claim else inf


def audit_code(
    function: Callable[..., Hashable],
    answers: Sequence[Answer],
    claim: Privacy | None = None,
    *,
    outputs: Sequence[Hashable] | None = None,
    trials: int = TRIALS,
    alpha: float = ALPHA,
    coins: Callable[[], Coins] = Coins,
    not_walked: str = "",
    progress: Callable[[int], object] = lambda done: None,
) -> CodeAudit:
    """Audits ``function(answer)`` or ``function(answer, coins)`` over all ``answers``.

    If the function takes coins, and makes the same report from the same coins, the branches of its
    draws are walked. If branches are left over, or there was no walk, ``trials`` reports of each
    answer are counted; a correct claim is then accused with probability at most ``alpha``.
    ``outputs`` are all reports that the function may make. A text in ``not_walked`` prevents the
    walk and says why it would show nothing. ``progress`` is called with the number of reports made
    since its last call.

    Raises BadCode where the function cannot be called, raises an error, or returns something that
    is no report, and ValueError for fewer than two answers, more than 32, or fewer than 10 trials.
    """
    if not 2 <= len(answers) <= MOST_ANSWERS or len(set(answers)) < len(answers):
        raise ValueError(f"give from 2 to {MOST_ANSWERS} different answers")
    if trials < 10:
        raise ValueError(f"trials is {trials}; an audit needs at least 10 trials")
    code = _Code(function, None if outputs is None else frozenset(outputs))
    explored: list[Exploration[Hashable]] = []
    not_walked = not_walked or code.why_not_walked(answers, coins)
    if not not_walked:
        explored = [_explored(code, answer) for answer in answers]
    rest = max((exploration.unexplored_mass for exploration in explored), default=Fraction(1))
    laws = tuple(dict(exploration.law) for exploration in explored)
    walked = bool(explored) and not rest
    if not walked and not not_walked:
        not_walked = (
            f"it has too many branches, and {_part(1 - rest)} of them were walked. Draw a rare case"
            " by coins.choose([1, 999999]), which has two branches; coins.below(1000000) has a"
            " million"
        )
    broken = _broken(answers, explored, claim) if explored else None
    counted = None
    if not walked and not broken:
        delta = float(claim.delta or 0) if claim else 0.0
        counted = _count(code, answers, trials, alpha, delta, coins, progress)
    return CodeAudit(
        tuple(answers),
        claim,
        laws if walked else None,
        sum(exploration.paths for exploration in explored),
        float(rest),
        _worst(answers, laws) if walked else None,
        broken,
        counted,
        not_walked,
    )


def _explored(code: _Code, answer: Answer) -> Exploration[Hashable]:
    explored = explore(lambda door: code(answer, door), _FIRST)
    if explored.unexplored_mass < _LITTLE:
        return explored
    return explore(lambda door: code(answer, door), PATHS)


def _part(share: Fraction) -> str:
    return f"{float(share):.1%}" if share >= Fraction(1, 1000) else "below 0.1%"


# --- calling it ---------------------------------------------------------------------------------


class _Code:
    """A function with its faults turned into sentences."""

    def __init__(
        self, function: Callable[..., Hashable], outputs: frozenset[Hashable] | None
    ) -> None:
        self.function, self.outputs = function, outputs
        self.takes_coins = _takes(function, 2)
        if not self.takes_coins and not _takes(function, 1):
            raise BadCode(
                f"{_name(function)} takes other arguments; write {_name(function)}(answer) or"
                f" {_name(function)}(answer, coins)"
            )

    def __call__(self, answer: Answer, coins: Coins) -> Hashable:
        try:
            report = self.function(answer, coins) if self.takes_coins else self.function(answer)
            # Reports are counted, so they need a hash.
            hash(report)
        except TypeError as error:
            if "unhashable" not in str(error):
                raise self._raised(answer, error) from error
            raise BadCode(
                f"{_name(self.function)} of {answer!r} gives what cannot be counted ({error});"
                " return a text, a number or a tuple"
            ) from error
        # A function that exits must not end the audit.
        except (Exception, SystemExit) as error:
            raise self._raised(answer, error) from error
        if report is None:
            raise BadCode(f"{_name(self.function)} of {answer!r} gives None; return a report")
        if self.outputs is not None and report not in self.outputs:
            allowed = ", ".join(sorted(map(repr, self.outputs)))
            raise BadCode(
                f"{_name(self.function)} of {answer!r} gives {report!r}, which is none of the"
                f" outputs {allowed}"
            )
        return report

    def _raised(self, answer: Answer, error: BaseException) -> BadCode:
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        line = f" in line {trace.tb_lineno}" if trace is not None else ""
        return BadCode(
            f"{_name(self.function)} of {answer!r} raises {type(error).__name__}{line}: {error}"
        )

    def why_not_walked(self, answers: Sequence[Answer], coins: Callable[[], Coins]) -> str:
        """Returns why the function cannot be walked, in words; empty where it can."""
        if not self.takes_coins:
            return (
                f"it takes no coins; write {_name(self.function)}(answer, coins) to have it walked"
            )
        for answer in answers:
            for _ in range(_CHECKS):
                if not made_twice(lambda door, a=answer: self(a, door), coins())[2]:  # type: ignore[misc]
                    return OTHER_CHANCE
        return ""


def _takes(function: Callable[..., Hashable], count: int) -> bool:
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # built in, without a signature
        return count == 1
    return True


def _name(function: Callable[..., Hashable]) -> str:
    return getattr(function, "__name__", "the function")


# --- what a walk shows --------------------------------------------------------------------------


def _worst(answers: Sequence[Answer], laws: Sequence[Probabilities]) -> Shift | None:
    """The report with the largest ratio of probabilities; None where all answers look alike."""
    worst: Shift | None = None
    for (first, ours), (second, theirs) in permutations(zip(answers, laws, strict=True), 2):
        for report, seen in ours.items():
            against = theirs.get(report, Fraction(0))
            if seen > against and (worst is None or _beats(seen, against, worst)):
                worst = Shift(first, second, (report,), seen, against)
    return worst


def _beats(seen: Fraction, against: Fraction, than: Shift) -> bool:
    """Whether one shift is worse; if the other answer can make neither report, the likelier is."""
    if not against or not than.against:
        return not against and (bool(than.against) or seen > than.seen)
    return seen / against > than.seen / than.against


def _broken(
    answers: Sequence[Answer], explored: Sequence[Exploration[Hashable]], claim: Privacy | None
) -> Shift | None:
    """Reports that are surely likelier than the claim allows: a > e^epsilon b + delta."""
    if claim is None:
        return None
    for (first, ours), (second, theirs) in permutations(zip(answers, explored, strict=True), 2):
        bits = _BITS
        while True:
            low, high = _odds(claim, bits)
            surely, perhaps = (_likelier(first, second, ours, theirs, odds) for odds in (high, low))
            delta = claim.delta or Fraction(0)
            # The claim is decided between rational bounds of e^epsilon; more bits, as long as they
            # disagree.
            if surely.seen > high * surely.against + delta:
                return surely
            if perhaps.seen <= low * perhaps.against + delta:
                break
            bits *= 2
    return None


def _likelier(
    first: Answer,
    second: Answer,
    ours: Exploration[Hashable],
    theirs: Exploration[Hashable],
    odds: Fraction,
) -> Shift:
    """All reports that are more than ``odds`` times as likely under the first answer."""
    none = Fraction(0)
    # This set has the largest a - odds * b, so if any set breaks the claim, it does.
    reports = [r for r, seen in ours.law.items() if seen > odds * theirs.law.get(r, none)]
    return Shift(
        first,
        second,
        tuple(reports),
        sum((ours.law[report] for report in reports), none),
        # All that was not explored could be among these reports.
        sum((theirs.law.get(report, none) for report in reports), theirs.unexplored_mass),
    )


def _odds(claim: Privacy, bits: int) -> tuple[Fraction, Fraction]:
    """Bounds of the odds of a claim; the same number twice where they are stated."""
    if claim.odds is not None:
        return claim.odds, claim.odds
    assert claim.epsilon is not None
    low, high = exp_bounds(claim.epsilon, bits)
    return Fraction(low, 1 << bits), Fraction(high, 1 << bits)


# --- what counting shows ------------------------------------------------------------------------


def _count(
    code: _Code, answers: Sequence[Answer], trials: int, alpha: float, delta: float,
    coins: Callable[[], Coins], progress: Callable[[int], object],
) -> CountedBound:  # fmt: skip
    """The pair of answers whose reports prove the largest epsilon.

    A first fifth of the reports chooses what is counted in the others; see ``blackbox.certify``.
    """
    few = max(trials // 5, 2)
    learnt = {a: _reports(code, a, few, coins, progress) for a in answers}
    counts = {a: Counter(_reports(code, a, trials, coins, progress)) for a in answers}
    pairs = list(permutations(answers, 2))
    best = CountedBound(0.0, *pairs[0], trials)
    for first, second in pairs:
        # All pairs share alpha (Bonferroni), since the best of them is returned.
        each = alpha / len(pairs)
        event = chosen(learnt[first], learnt[second], trials, None, delta, each)
        seen, against = (
            sum(number for report, number in counts[answer].items() if event(report))
            for answer in (first, second)
        )
        proved = lower_bound(seen, against, trials, delta, each)
        if proved > best.epsilon:
            best = CountedBound(proved, first, second, trials)
    return best


def reports_made(answers: int, trials: int) -> int:
    """Returns how many reports an audit makes if those of all answers are counted.

    It is for a progress bar.
    """
    return answers * (trials + max(trials // 5, 2))


_STEP = 1000


def _reports(
    code: _Code, answer: Answer, count: int, coins: Callable[[], Coins],
    progress: Callable[[int], object],
) -> list[Hashable]:  # fmt: skip
    reports: list[Hashable] = []
    for start in range(0, count, _STEP):
        some = min(_STEP, count - start)
        reports += [code(answer, coins()) for _ in range(some)]
        progress(some)
    return reports


def law_lines(audit: CodeAudit) -> Iterator[tuple[str, ...]]:
    """Yields the probabilities of reports as lines of a table, after a walk of every branch.

    The first line is the heading. Then there is a line for each report and a column for each
    answer.
    """
    assert audit.laws is not None
    yield ("report", *map(str, audit.answers))
    for report in dict.fromkeys(report for law in audit.laws for report in law):
        yield (str(report), *(str(law.get(report, Fraction(0))) for law in audit.laws))
