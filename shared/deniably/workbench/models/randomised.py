"""Defines randomised columns: reports, and how likely each of them is for every true answer."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import Floats
from deniably.core.errors import BadModel
from deniably.workbench.models.fit import Ints

Probability = Fraction | float | str
"""A number from 0 to 1, or a text such as "3/4"."""
Pair = tuple[Probability, Probability]
_EXACT = 1e-6
"""The largest error of a channel's inverse that rounding explains."""


@dataclass(frozen=True)
class Design:
    """The design by which a column was randomised: ``channel[a][r]`` is P(report r | true answer
    a), so every row of ``channel`` sums to 1.

    Reports and answers are numbered from 0. ``choices`` are the names of the true answers, by
    default their numbers. ``values`` are their scores for ``score()`` in a formula: by default the
    choices if they are numbers, otherwise 0, 1, .... Raises BadModel unless ``channel`` consists
    of probabilities, and where its rows are linearly dependent, as reports then cannot tell the
    answers apart.
    """

    channel: Sequence[Sequence[Probability]]
    choices: Sequence[str | int] | None = None
    values: Sequence[float] | None = None

    def __post_init__(self) -> None:
        table = self.chances()
        k = table.shape[1]
        if k < 2 or abs(table.sum(axis=0) - 1).max() > 1e-9:
            sums = ", ".join(f"{total:g}" for total in table.sum(axis=0)[:8])
            raise BadModel(
                "a channel has a row for each of 2 or more true answers, and every row sums to 1;"
                f" these sum to {sums}"
            )
        if np.linalg.matrix_rank(table, tol=1e-12) < k:
            raise BadModel(
                "the reports cannot tell the answers apart: rows of the channel are equal, or"
                " follow from each other (p = q)"
            )
        for name, labels in (("choices", self.choices), ("values", self.values)):
            if labels is not None and len(labels) != k:
                raise BadModel(f"{len(labels)} {name} for a channel of {k} true answers")

    @classmethod
    def pair(cls, p: Probability, q: Probability) -> Design:
        """Returns the design of a column of 0 and 1 with p = P(1 | yes) and q = P(1 | no).

        Raises BadModel where p and q are equal, or not probabilities.

        >>> Design.pair("3/4", "1/4").chances().tolist()
        [[0.75, 0.25], [0.25, 0.75]]
        """
        first, second = _probability(p), _probability(q)
        if first == second:
            raise BadModel(
                f"p and q are equal, {first:g}: then a report says nothing of the answer"
            )
        return cls(((1 - second, second), (1 - first, first)))

    @classmethod
    def k_ary(
        cls,
        k: int,
        own: Probability,
        choices: Sequence[str | int] | None = None,
        values: Sequence[float] | None = None,
    ) -> Design:
        """Returns the design of k-ary randomised response: each of ``k`` answers is reported truly
        with probability ``own``, and otherwise as one of the other answers, all equally likely.

        >>> Design.k_ary(5, "3/5").chances()[0].tolist()
        [0.6, 0.1, 0.1, 0.1, 0.1]
        """
        kept = Fraction(str(own)) if _probability(own) else Fraction(0)
        other = (1 - kept) / (k - 1) if k > 1 else Fraction(0)
        rows = [[kept if a == r else other for r in range(k)] for a in range(k)]
        return cls(rows, choices, values)

    def chances(self) -> Floats:
        """Returns the channel transposed: P(report | true answer), shape (reports, true answers).
        Raises BadModel where the channel has values that are not probabilities, or rows of unequal
        length."""
        try:
            rows = [[_probability(probability) for probability in row] for row in self.channel]
            return np.array(rows, dtype=np.float64).T.copy()
        except BadModel:
            raise
        except (TypeError, ValueError) as error:
            raise BadModel(f"this is no channel: {error}") from None

    def of(self, name: str, reports: npt.ArrayLike) -> Randomised:
        """Returns the randomised column ``name`` with these ``reports``, shape (n,). Raises
        BadModel where a value is not a report of this design."""
        chances = self.chances()
        try:
            numbers = np.asarray(reports, np.float64)
        except (TypeError, ValueError):
            # -1 is no report, so that the first row is named below.
            numbers = np.full(len(np.asarray(reports, object)), -1.0)
        known = np.isin(numbers, np.arange(len(chances)))
        if not known.all():
            raise BadModel(
                f"{name}: row {int(np.argmin(known)) + 1} has no report of its design; reports are"
                f" the whole numbers 0 to {len(chances) - 1}"
            )
        k = chances.shape[1]
        choices = tuple(self.choices) if self.choices is not None else tuple(range(k))
        if self.values is not None:
            values = np.asarray(self.values, np.float64)
        elif all(isinstance(choice, int) for choice in choices):
            values = np.asarray(choices, np.float64)
        else:
            values = np.arange(k, dtype=np.float64)
        return Randomised(name, numbers.astype(np.int64), chances, choices, values)


def _probability(probability: Probability) -> float:
    try:
        number = float(Fraction(probability) if isinstance(probability, str) else probability)
    except (TypeError, ValueError, ZeroDivisionError):
        raise BadModel(f'{probability!r} is no probability, such as 0.75 or "3/4"') from None
    if not 0 <= number <= 1:
        raise BadModel(f"{number:g} is no probability")
    return number


@dataclass(frozen=True, eq=False)
class Randomised:
    """A randomised column: the reports of n people to one question with k true answers.

    ``codes`` (n,) has the number of each person's report, and ``chances`` (possible reports, k) =
    P(report | true answer). ``choices`` are the k true answers and ``values`` (k,) their scores,
    nan for an answer that is not on the scale. If a report can name several choices, ``chances``
    has only the reports that were sent (see ``complete``), and ``unbiased`` (reports, k) has
    scores for which E[unbiased[report, a]] is 1 if a is the true answer, else 0. ``unbiased`` is
    None for other columns, whose scores follow from ``chances``.
    """

    name: str
    codes: Ints
    chances: Floats
    choices: tuple[str | int, ...]
    values: Floats
    unbiased: Floats | None = None

    @property
    def k(self) -> int:
        """Returns the number of true answers."""
        return len(self.choices)

    @property
    def complete(self) -> bool:
        """Returns whether ``chances`` has every possible report."""
        return bool(abs(self.chances.sum(axis=0) - 1).max() < 1e-9)

    @cached_property
    def scores(self) -> Floats:
        """Returns unbiased scores of every answer, shape (reports, k): E[scores[report, a]] is 1
        if a is the true answer, else 0.

        If there are more reports than answers, several scores are unbiased; these have the least
        variance for evenly distributed answers. Raises BadModel where no unbiased scores exist.
        """
        if self.unbiased is not None:
            return self.unbiased
        # A generalised inverse of the channel, weighted by how often each report comes if all
        # answers are equally frequent.
        often = self.chances.sum(axis=1, keepdims=True)
        scaled = np.divide(self.chances, often, out=np.zeros_like(self.chances), where=often > 0)
        scores: Floats = np.zeros_like(scaled)
        with suppress(np.linalg.LinAlgError):  # by rounding, others have huge scores
            scores = (scaled @ np.linalg.inv(self.chances.T @ scaled)).astype(np.float64)
        if not self.complete or np.abs(self.chances.T @ scores - np.eye(self.k)).max() > _EXACT:
            raise BadModel(f"{self.name}: its reports have no unbiased scores of single answers")
        return scores

    @property
    def is_pair(self) -> bool:
        """Returns whether this is a column of 0 and 1 about no and yes."""
        return self.chances.shape == (2, 2) and self.complete

    @property
    def p(self) -> float:
        """Returns P(1 | yes) of a column of 0 and 1."""
        return float(self.chances[1, 1])

    @property
    def q(self) -> float:
        """Returns P(1 | no) of a column of 0 and 1."""
        return float(self.chances[1, 0])
