"""Estimates how many people always say no, whatever the coins demand, from two groups with
different designs."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

import numpy as np

from deniably.core.errors import BadModel
from deniably.core.table import Table
from deniably.workbench.models.coefficients import p_text
from deniably.workbench.models.randomised import Design, Pair
from deniably.workbench.models.regress import design_of


@dataclass(frozen=True, eq=False, repr=False)
class Compliance(Table):
    """The estimated shares of people who answer yes honestly, who answer no honestly, and who
    always say no.

    ``yes_at_least`` is the true share of yes if the answer is no for all people who always say no;
    ``yes_at_most`` is that share if the answer is yes for all of them. ``p_value`` is that of the
    one-sided test that nobody always says no. ``price`` compares with a single group that has the
    better of the two designs and in which everybody is believed: how many times as many
    respondents the share of honest yes needs here for the same precision.
    """

    yes_at_least: float
    yes_at_most: float
    p_value: float
    price: float


def non_compliance(
    first: tuple[int, int],
    second: tuple[int, int],
    *,
    designs: tuple[Pair | Design, Pair | Design],
    confidence: float = 0.95,
) -> Compliance:
    """Estimates how many people always say no, from two random groups whose coins have different
    probabilities.

    **Estimator.** ``first`` and ``second`` are (ones, reports) of the two groups, ``designs``
    their (p, q) = (P(1 | yes), P(1 | no)). Let a be the share of honest yes and b that of honest
    no. People who always say no never send a 1, so P(1) = p a + q b in each group: two equations
    with two unknowns (Clark and Desharnais 1998, Psychological Methods 3:160). **Assumption.** The
    groups are drawn by lot, and the same share would cheat in both. The method is for coins in
    respondents' own hands. On a device that answers for them, respondents can only cheat about the
    answer itself, and no design detects that.

    Raises BadModel for impossible counts, and for two designs with the same q / p, from which
    cheating cannot be told from honest noes.

    >>> found = non_compliance((384, 1000), (672, 1000), designs=((1, "0.2"), (1, "0.6")))
    >>> [round(row["estimate"], 2) for row in found.rows]
    [0.24, 0.72, 0.04]
    """
    pairs = [_pair(design) for design in designs]
    counts = [first, second]
    for ones, n in counts:
        if not (0 <= ones <= n and n >= 2):
            raise BadModel(f"{ones} ones of {n} reports: give (ones, reports), 2 reports or more")
    # P(1) = channel @ (yes, no): one equation per group.
    channel = np.array(pairs)
    if abs(np.linalg.det(channel)) < 1e-9:  # two unknown shares need two equations that differ
        raise BadModel(
            "the two designs have the same ratio of q to p, so they cannot tell people who always"
            " say no: give the groups coins of different strength"
        )
    yes_shares = np.array([ones / n for ones, n in counts])
    # Reports that are all alike are not known exactly: half a report may have been otherwise.
    inside = [min(max(ones, 0.5), n - 0.5) / n for ones, n in counts]
    spread = np.array(
        [share * (1 - share) / n for share, (_, n) in zip(inside, counts, strict=True)]
    )
    back = np.linalg.inv(channel)
    # The third share is 1 less the two others, so its weights are minus their sum.
    weights = np.vstack([back, -back.sum(axis=0)])  # of yes, no, always no
    estimates = weights @ yes_shares + np.array([0.0, 0.0, 1.0])
    errors = np.sqrt(weights**2 @ spread)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    labels = ("yes, honestly", "no, honestly", "always no")
    rows: list[dict[str, str | float]] = [
        {"answer": label, "estimate": float(f), "standard_error": float(e),
         "low": float(f - z * e), "high": float(f + z * e)}
        for label, f, e in zip(labels, estimates, errors, strict=True)
    ]  # fmt: skip
    p_value = _nobody(channel, yes_shares, [n for _, n in counts])
    price = _price(pairs, float(estimates[0]), float(errors[0]), sum(n for _, n in counts))
    yes, _, cheats = (float(estimate) for estimate in estimates)
    lines = [
        ["answer", "estimate", "std. error", f"{100 * confidence:g} % from", "to"],
        *([str(row["answer"]), *(f"{row[name]:.4f}" for name in _SHOWN)] for row in rows),
    ]
    maximum = yes + max(cheats, 0.0)
    notes = [
        f"Between {100 * yes:.1f} % and {100 * maximum:.1f} % would have to say yes,"
        " if nobody or all of those who always say no had to.",
        f"That nobody always says no: p {_is(p_value)} (one-sided).",
        f"Price: the share of yes takes {price:.1f} times the respondents of one group that is"
        " believed.",
    ]
    title = f"Who always says no, {sum(n for _, n in counts):,} reports in two groups"
    return Compliance(title, rows, lines, 1, notes, yes, maximum, p_value, price)


def _is(p: float) -> str:
    text = p_text(p)
    return text.replace("<", "< ") if text.startswith("<") else f"= {text}"


_SHOWN = ("estimate", "standard_error", "low", "high")


def _pair(design: Pair | Design) -> tuple[float, float]:
    chances = design_of(design).chances()
    if chances.shape != (2, 2):
        raise BadModel("the two designs are pairs (p, q) of a question of yes and no")
    return float(chances[1, 1]), float(chances[1, 0])


def _nobody(channel: np.typing.NDArray[np.float64], yes_shares: object, ns: list[int]) -> float:
    """Returns the p-value of a score test that nobody always says no. If all were honest, both
    groups would estimate the same share; cheats lower P(1) more in the group with the larger q."""
    y = np.asarray(yes_shares, np.float64)
    slopes, starts = channel[:, 0] - channel[:, 1], channel[:, 1]
    groups = list(zip(ns, slopes.tolist(), starts.tolist(), y.tolist(), strict=True))

    def score(share: float) -> float:
        total = 0.0
        for n, slope, start, seen in groups:
            # A share of 0 or 1 would divide by 0.
            mean = min(max(start + slope * share, 1e-12), 1 - 1e-12)
            total += n * slope * (seen - mean) / (mean * (1 - mean))
        return total

    low, high = 0.0, 1.0
    for _ in range(60):  # the likeliest common share
        middle = (low + high) / 2
        low, high = (middle, high) if score(middle) > 0 else (low, middle)
    mean = starts + slopes * (low + high) / 2  # of a 1, if everybody is honest
    weights = -np.linalg.inv(channel).sum(axis=0)
    # The variance under the hypothesis, as a score test has it.
    variance = float(weights**2 @ (mean * (1 - mean) / np.array(ns)))
    cheats = 1 + float(weights @ y)
    if variance <= 0:
        return 1.0 if cheats <= 0 else 0.0
    return NormalDist().cdf(-cheats / sqrt(variance))


def _price(pairs: list[tuple[float, float]], share: float, error: float, n: int) -> float:
    at = min(max(share, 0.0), 1.0)
    # The variance of the share of yes by one design with all respondents (Warner 1965).
    alone: list[float] = []
    for p, q in pairs:
        support = q + (p - q) * at
        alone.append(support * (1 - support) / (p - q) ** 2 / n)
    least = min(alone)
    return error**2 / least if least > 0 else float("inf")
