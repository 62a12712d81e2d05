"""Rakes: computes weights of rows so that weighted shares of public columns are known ones.

Of all weights that meet the margins, raked ones are nearest to equal ones: they minimise the sum
of w log w - w + 1. Each is the exponential of a sum of one number per value of a column (Deville
and Sarndal 1992, J. Am. Stat. Assoc. 87:376, case 2). Weighting to one margin after the other
converges to the same weights (Deming and Stephan 1940, Ann. Math. Stat. 11:427), but may need many
thousands of rounds where a combination of values is rare. Newton's method on the convex dual needs
about ten.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from deniably.core.binomial import Floats
from deniably.core.errors import BadModel, NoEstimate
from deniably.workbench.models.fit import Ints
from deniably.workbench.models.model_columns import read_columns

if TYPE_CHECKING:
    import pandas as pd

_CLOSE = 1e-10
"""The largest relative error of a weighted share."""
_MOST_STEPS = 200
_FARTHEST = 100.0
"""A logarithm of a weight beyond this means that the weights diverge."""
_RIDGE = 1e-13  # relative to the trace, only against singularity
_SURELY = 1000.0  # times the error of the margins: such a share is not 0 by rounding
_SMALLEST = 1e-9
"""A least weight that a linear programme cannot tell from 0."""
_MOST_SECONDS = 60.0
_UNEVEN, _FEW = 1000.0, 0.1


def rake(frame: object, margins: Mapping[str, Mapping[Any, float]]) -> Floats:
    """Returns a weight for each of n rows, shape (n,) with mean 1, so that weighted shares are
    equal to known shares, the ``margins``.

    ``margins`` has for each column the known share of each of its values, such as ``{"region":
    {"north": 0.4, "south": 0.6}}``. Of all weights that meet the margins, those nearest to equal
    weights are returned (Deming and Stephan 1940, Ann. Math. Stat. 11:427; by Newton's method as
    in Deville and Sarndal 1992, J. Am. Stat. Assoc. 87:376). They meet every margin to 1 part in
    10^10. Never rake to a randomised column: its reports are not the true answers.

    Raises BadModel for shares that do not sum to 1 or are not positive, and for values of a column
    that have no share or no row. Raises NoEstimate where no weights meet all margins, or only
    weights of 0 for a combination of values; a linear programme decides that. Warns (UserWarning)
    where the largest weight is more than 1,000 times the smallest, or Kish's effective sample size
    is below a tenth of the rows.

    >>> rake({"sex": ["f", "f", "f", "m"]}, {"sex": {"f": 0.5, "m": 0.5}}).round(3).tolist()
    [0.667, 0.667, 0.667, 2.0]
    """
    if not margins:
        raise BadModel("give the known shares of at least one column")
    table = read_columns(frame, margins)
    known = [_margin(name, table[name], shares) for name, shares in margins.items()]
    kinds = _kinds_of(known, len(table))
    by_kind = _raked(kinds, margins)
    _warn_of_uneven(by_kind, kinds.parts, len(table))
    return by_kind[kinds.of_row]


@dataclass(frozen=True, eq=False)
class _Kinds:
    """The distinct combinations of values: their ``parts`` of all rows, and the number of each
    row's, ``of_row``.

    ``values`` (kinds, margins) are the numbers of the values in each combination. ``wanted`` are
    the known shares of all values, one margin after the other, each of which begins at its number
    in ``starts``.
    """

    parts: Floats
    of_row: Ints
    values: Ints
    wanted: Floats
    starts: Ints

    @property
    def indicators(self) -> Any:
        """Returns which values each combination has: a sparse matrix (kinds, all values) of 0 and
        1."""
        from scipy import sparse

        matrix: Any = sparse.csr_array
        count, each = len(self.values), len(self.starts)
        columns: Ints = (self.values + self.starts).ravel()
        rows: Ints = np.repeat(np.arange(count), each)
        ones = np.ones(count * each)
        return matrix((ones, (rows, columns)), shape=(count, len(self.wanted)))

    def named(self, kind: int, margins: Mapping[str, Mapping[Any, float]]) -> str:
        """Returns a combination in words, such as "site north and sex f"."""
        return " and ".join(
            f"{name} {list(shares)[number]}"
            for (name, shares), number in zip(
                margins.items(), self.values[kind].tolist(), strict=True
            )
        )


def _kinds_of(known: list[tuple[Ints, Floats]], n: int) -> _Kinds:
    import pandas as pd

    of_row = np.zeros(n, np.int64)
    for codes, wanted in known:  # numbered again each time: products of many would overflow
        of_row = pd.factorize(of_row * len(wanted) + codes)[0].astype(np.int64)
    counts = np.bincount(of_row)
    first = np.empty(len(counts), np.int64)
    first[of_row[::-1]] = np.arange(n)[::-1]
    # A kind has one value of each margin, that of any of its rows.
    values = np.column_stack([codes[first] for codes, _ in known])
    sizes = np.array([len(wanted) for _, wanted in known])
    starts = np.concatenate([[0], sizes.cumsum()[:-1]])
    return _Kinds(counts / n, of_row, values, np.concatenate([w for _, w in known]), starts)


def _margin(name: str, column: pd.Series[Any], shares: Mapping[Any, float]) -> tuple[Ints, Floats]:
    import pandas as pd

    try:
        wanted = np.array([float(share) for share in shares.values()])
    except (TypeError, ValueError):
        raise BadModel(f"{name}: the known shares are numbers above 0 that sum to 1") from None
    if not (wanted > 0).all() or not abs(wanted.sum() - 1) <= 1e-9:
        raise BadModel(
            f"{name}: the known shares are above 0 and sum to 1; here they sum to"
            f" {wanted.sum():.10g}" + ("" if (wanted > 0).all() else ", and some are not above 0")
        )
    place = {value: number for number, value in enumerate(shares)}
    codes, different = pd.factorize(column)
    here = [*cast(Any, different)]
    if without := sorted(str(value) for value in here if value not in place):
        raise BadModel(f"{name}: no known share of {', '.join(without)}")
    if empty := sorted(str(value) for value in set(place) - set(here)):
        raise BadModel(f"{name}: no row has {', '.join(empty)}; merge it with another value")
    numbered = np.array([place[value] for value in here], np.int64)
    return numbered[codes], wanted / wanted.sum()  # so that all margins sum exactly alike


# --- the weights ------------------------------------------------------------------------------


def _raked(kinds: _Kinds, margins: Mapping[str, Mapping[Any, float]]) -> Floats:
    """Returns the weight of each combination. Raises NoEstimate where no weights above 0 meet the
    margins."""
    weights, missed = _by_newton(kinds)
    shares = weights * kinds.parts
    # Where only weights of 0 meet the margins, these are missed by as much as they are above 0.
    if missed < _CLOSE and shares.min() > _SURELY * missed * kinds.wanted.max():
        return weights
    # Slow, so that it is asked only where Newton's weights are not surely above 0.
    least = _largest_least_weight(kinds)
    if least is None:
        raise NoEstimate(
            "no weights meet all margins: some combinations of values have no row, and the others"
            " cannot make up for them. Merge values, or leave a margin out"
        )
    if least < _SMALLEST:
        raise NoEstimate(
            "the margins are met only by giving some rows no weight, such as those with"
            f" {kinds.named(int(weights.argmin()), margins)}. Merge values, or leave a margin out"
        )
    if missed < _CLOSE:
        return weights
    if least == np.inf:
        raise NoEstimate(
            f"no weights were found that meet all margins, nor was it shown within"
            f" {_MOST_SECONDS:g} s that there are none: give fewer margins, or merge values"
        )
    raise NoEstimate(
        "weights that meet all margins exist, but rounding kept them from being found: the nearest"
        f" ones miss a share by {missed:.1g} of it. Merge rare values"
    )


def _by_newton(kinds: _Kinds) -> tuple[Floats, float]:
    """Returns the weights with the smallest relative error of a known share, and that error.

    Minimises sum parts exp(x'a) - wanted'a, whose gradient is the error of the margins, in units
    of the square roots of the known shares, so that rare values are as steep as others.
    """
    x, parts, wanted = kinds.indicators, kinds.parts, kinds.wanted
    unit = 1 / np.sqrt(wanted)
    logs = np.zeros(len(wanted))

    def at(logs: Floats) -> tuple[Floats, Floats, float]:
        # Where no weights exist the logarithms run away; exp must not overflow before that is seen.
        weights: Floats = np.exp(np.minimum(x @ logs, 2 * _FARTHEST))
        off: Floats = x.T @ (weights * parts) - wanted
        return weights, off, float(parts @ weights - wanted @ logs)

    weights, off, height = at(logs)
    best, missed = weights, float(np.abs(off / wanted).max())
    for _ in range(_MOST_STEPS):
        before = missed
        curve = (x.T @ (x * (weights * parts)[:, None])).toarray() * unit[:, None] * unit
        step = -unit * _solved(curve, off * unit)
        length, slope = 1.0, float(off @ step)
        while True:
            weights, off, lower = at(logs + length * step)
            now = float(np.abs(off / wanted).max())
            # Armijo's rule; near the end heights agree to the last digit, and the miss decides.
            if lower <= height + 1e-4 * length * slope or now < missed or length < 1e-6:
                break
            length /= 2
        logs, height = logs + length * step, lower
        if now < missed:
            best, missed = weights, now
        # One step more than enough: it is what shows that the end is a finite one.
        if (before < _CLOSE and now > before / 4) or np.abs(logs).max() > _FARTHEST:
            break
        if before < _CLOSE and missed < _CLOSE * 1e-4:
            break
    return best, missed


def _solved(curve: Floats, off: Floats) -> Floats:
    """Returns curve^-1 off. A little is added to the diagonal, as margins that all sum to 1 make
    the matrix singular."""
    from scipy import linalg

    factor: Any = linalg.cho_factor  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]
    solve: Any = linalg.cho_solve  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]
    fit: Any = linalg.lstsq  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]
    ridge = _RIDGE * float(np.trace(curve))  # beside the size of the matrix, whatever its unit
    curve = curve + ridge * np.eye(len(curve))
    try:
        return cast(Floats, solve(factor(curve), off))
    except linalg.LinAlgError:
        return cast(Floats, fit(curve, off)[0])


def _largest_least_weight(kinds: _Kinds) -> float | None:
    """Returns the largest smallest weight of any weights that meet the margins; None where no
    weights do.

    Computed by linear programming (HiGHS). Infinite where that does not end in time.
    """
    from scipy import optimize, sparse

    linprog: Any = optimize.linprog  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]
    hstack: Any = sparse.hstack  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]
    x, count = kinds.indicators.T, len(kinds.parts)
    # Shares of kinds are their part times the least weight, and something from 0 on.
    equalities = hstack([x, (x @ kinds.parts)[:, None]], format="csr")
    solved = linprog(
        np.r_[np.zeros(count), -1.0],
        A_eq=equalities,
        b_eq=kinds.wanted,
        bounds=(0, None),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "time_limit": _MOST_SECONDS},
    )
    if solved.status == 2:
        return None
    # Status 2 of linprog: infeasible.
    return float(solved.x[-1]) if solved.success else np.inf


def _warn_of_uneven(weights: Floats, parts: Floats, n: int) -> None:
    kish = n * float(parts @ weights) ** 2 / float(parts @ weights**2)
    ratio = float(weights.max() / weights.min())
    if ratio > _UNEVEN or kish < _FEW * n:
        warnings.warn(
            f"the largest weight is {ratio:,.0f} times the smallest, and {n:,} rows say as much as"
            f" {kish:,.0f} without weights: a few rows decide the estimates. Merge rare values",
            UserWarning,
            stacklevel=3,
        )
