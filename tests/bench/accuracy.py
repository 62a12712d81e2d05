"""Mean squared error against the bound that no mechanism can beat, and against the others.

What is compared: n answers drawn independently from the true shares of k choices, each answer
perturbed at epsilon. ``error`` is n times the squared distance of the estimated from the true
shares, in expectation: the noise of privacy and that of sampling. For unbiased estimates it is
largest where the truth is uniform, and is then the same for every n. The bound is that of Ye
and Barg (2018), for the worst truth, any estimator and n towards infinity:

    (k-1)^2 / (k (e^epsilon - 1)^2) * min over d of (d e^epsilon + k - d)^2 / (d (k - d)).

Estimates that are moved to lie between 0 and 1 are biased and can be below it at a small n;
how good they are depends on the truth, so they are compared at two.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from alternatives import NOT_PRIVATE, Peers, rows_of
from sheet import Sheet
from speed import mechanism

from deniably.estimation.estimate import estimate
from deniably.estimation.tally import tally_packed
from deniably.mechanisms.subset_selection import SubsetSelection
from deniably.simulation.bulk import randomise_many

N = 1000
SIZES = (2, 16, 128)
EPSILONS = (0.5, 1.0, 2.0, 4.0)
BLOCK, QUICK_BLOCK = 250, 20


class Setting(NamedTuple):
    """Where methods are compared. ``truth`` is "uniform" or "halving"."""

    k: int
    epsilon: float
    truth: str

    @property
    def shares(self) -> npt.NDArray[np.float64]:
        shares = np.ones(self.k) if self.truth == "uniform" else 0.5 ** np.arange(self.k)
        return np.asarray(shares / shares.sum())

    @property
    def bound(self) -> float:
        k, a = self.k, math.exp(self.epsilon)
        least = min((d * a + k - d) ** 2 / (d * (k - d)) for d in range(1, k))
        return (k - 1) ** 2 / (k * (a - 1) ** 2) * least

    def __str__(self) -> str:
        return f"k = {self.k:<3} epsilon {self.epsilon:<3g}"


class Mean(NamedTuple):
    """A mean of repetitions and its standard error."""

    value: float
    error: float

    def over(self, other: Mean) -> Mean:
        value = self.value / other.value
        relative = math.hypot(self.error / self.value, other.error / other.value)
        return Mean(value, value * relative)

    def __str__(self) -> str:
        return f"{self.value:.3f}±{self.error:.3f}"


class Errors(NamedTuple):
    """Of one method in one setting, by kind of estimate."""

    name: str
    unbiased: Mean
    inside: Mean


Case = tuple[str, str, Setting]  # package, method, setting


def measure(sheet: Sheet, peers: Peers | None) -> None:
    sheet.section(f"Squared error of real reports / Ye-Barg bound, uniform truth, n = {N}")
    worst = [Setting(k, epsilon, "uniform") for k in SIZES for epsilon in EPSILONS]
    skewed = [Setting(k, epsilon, "halving") for k in SIZES[1:] for epsilon in EPSILONS]
    if sheet.quick:
        worst, skewed = worst[::5], skewed[::5]
    ours = {}
    precision = (0.5, QUICK_BLOCK) if sheet.quick else (0.005, BLOCK)
    for setting in worst + skewed:
        sheet.progress(f"error of real reports, {setting} {setting.truth}")
        ours[setting] = our_errors(setting, *precision)
    for setting in worst:
        exact = exact_error(mechanism(setting.k, setting.epsilon)) / setting.bound
        ratio = ours[setting].unbiased.over(Mean(setting.bound, 0))
        # Within 1 % once the Monte Carlo error is taken off: 3.5 standard errors, which chance
        # exceeds once in 2000 times.
        met = abs(exact - 1) <= 0.01 and abs(ratio.value - 1) <= 0.01 + 3.5 * ratio.error
        name = f"{setting} exactly {exact:.7f}, measured"
        sheet.figure(name, str(ratio), "1.00 within 1 %", met)
    if peers:
        if sheet.quick:
            worst, skewed = worst[1:2], skewed[:1]
        best = their_best(sheet, peers, worst + skewed)
        sheet.note("")
        sheet.note(
            "Ours / the best of the others (found by a first run, measured by a second), and"
        )
        sheet.note("ours / the best that is private as it is, which * is not (see above).")
        sheet.note("Unbiased estimates, truth uniform")
        against(sheet, "unbiased", worst, ours, best)
        for truth, settings in {"uniform": worst, "halving from choice to choice": skewed}.items():
            sheet.note(f"Estimates moved to lie between 0 and 1, n = {N}, truth {truth}")
            against(sheet, "inside", settings, ours, best)


def against(
    sheet: Sheet,
    kind: str,
    settings: Iterable[Setting],
    ours: dict[Setting, Errors],
    best: dict[tuple[str, bool, Setting], Errors],
) -> None:
    for setting in settings:
        mine = getattr(ours[setting], kind)
        columns = []
        for private in (False, True):
            theirs = best[kind, private, setting]
            columns.append(f"{mine.over(getattr(theirs, kind))!s:>12} {theirs.name:<20}")
        sheet.note(f"   {setting} " + "  ".join(columns).rstrip())


def exact_error(channel: SubsetSelection) -> float:
    """Each of the k counts is binomial; its share of n is p / k + (1 - 1/k) q."""
    support = channel.p / channel.k + (1 - Fraction(1, channel.k)) * channel.q
    return float(channel.k * support * (1 - support) / (channel.p - channel.q) ** 2)


def our_errors(setting: Setting, precision: float, block: int) -> Errors:
    """From real reports, tallied and estimated as shipped, to a relative standard error; so many
    surveys at once."""
    k, shares = setting.k, setting.shares
    channel = mechanism(k, setting.epsilon)
    losses: list[list[float]] = []
    # The squared distance is about chi-square with k - 1 degrees of freedom.
    while len(losses) < 2 / ((k - 1) * precision**2):
        answers = np.random.default_rng().choice(k, block * N, p=shares)
        for part in randomise_many(channel, answers).reshape(block, N, -1):
            found = estimate(tally_packed(part, k), channel)
            estimates = (found.raw, found.consistent)
            losses.append([N * float(((each - shares) ** 2).sum()) for each in estimates])
    means = np.mean(losses, axis=0)
    deviations = np.std(losses, axis=0, ddof=1) / len(losses) ** 0.5
    return Errors("ours", *map(Mean, means.tolist(), deviations.tolist()))


def their_best(
    sheet: Sheet, peers: Peers, settings: list[Setting]
) -> dict[tuple[str, bool, Setting], Errors]:
    """The best of the others, by kind of estimate, whether it must be private, and setting."""
    methods = [(row["package"], row["method"]) for row in peers.rows("methods")]
    seconds = 0.05 if sheet.quick else 0.5
    screened = run(
        sheet, peers, [(*method, setting) for setting in settings for method in methods], seconds
    )
    best: dict[tuple[str, bool, Setting], Case] = {}
    for setting in settings:
        for kind in ("unbiased", "inside"):
            for private in (False, True):
                allowed = [method for method in methods if not (private and method == NOT_PRIVATE)]
                # Two standard errors on top: luck with few repetitions makes nobody the best.
                _, method = min(
                    (found.value + 2 * found.error, method)
                    for method in allowed
                    for found in [getattr(screened[*method, setting], kind)]
                )
                best[kind, private, setting] = (*method, setting)
    # The least of many noisy figures is too small on average, so the best are measured anew.
    again = run(sheet, peers, sorted(set(best.values())), 6 * seconds)
    return {place: again[case] for place, case in best.items()}


def run(sheet: Sheet, peers: Peers, cases: list[Case], seconds: float) -> dict[Case, Errors]:
    sheet.progress(f"error of {len(cases)} cases of the other libraries")
    halves = [half for half in (cases[::2], cases[1::2]) if half]  # on two cores
    running = [
        peers.start(
            "error", settings=[[*case[:2], *case[2]] for case in half], n=N, seconds=seconds
        )
        for half in halves
    ]
    found = {}
    for row in rows_of(running):
        package, method = row["package"], row["method"]
        name = f"{package} {method}" + "*" * ((package, method) == NOT_PRIVATE)
        setting = Setting(row["k"], row["epsilon"], row["truth"])
        found[package, method, setting] = Errors(name, Mean(*row["error"]), Mean(*row["inside"]))
    return found
