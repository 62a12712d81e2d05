"""Calibrates one mechanism: finds the parameters with the most accuracy for a level of privacy.

Needs the extra ``author``. Every function takes a ``Privacy`` and returns a mechanism whose loss is
within it. Where there is none, it raises ValueError, whose message says what the author can change.
``named_mechanisms`` compares the mechanisms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil, lcm, log, sqrt
from typing import Literal, TypeVar, cast

import msgspec
import numpy as np

from deniably.core.binomial import Floats
from deniably.core.coins import LARGEST
from deniably.core.errors import BadMechanism
from deniably.design.mean_design import best_channel, best_window
from deniably.design.stand_ins import DesignKey, design_for_mean
from deniably.estimation.channels import matrix
from deniably.estimation.variances import mean_variance, share_variance
from deniably.mechanisms import (
    BoundedLaplace,
    Channel,
    Gaussian,
    Laplace,
    Mechanism,
    SampledTicks,
    SetResponse,
    SubsetSelection,
    Unary,
    Vector,
    Window,
)
from deniably.mechanisms.gaussian_delta import discrete_sigma2
from deniably.mechanisms.subset_selection import subset_selection
from deniably.survey.privacy import BITS, Privacy, to_decimal_text

Beyond = Literal["clamp", "resample"]

OfChoice = SubsetSelection | Unary
SomeOf = SetResponse | SampledTicks | Unary
OfMean = Window | Channel | Laplace | BoundedLaplace | Gaussian
OfDistribution = Window | SubsetSelection | Laplace | BoundedLaplace | Gaussian
OfVector = Vector | Gaussian

TYPICAL_SHARE = 0.2
"""The share of an option at which mechanisms for several ticks are compared."""

_T = TypeVar("_T", SetResponse, SampledTicks, SetResponse | SampledTicks)

_FEWEST_BITS = 12  # of the weight ``other``: coarser ones would lose too much of the odds
_LARGEST_PART = 1 << 31  # of a scale's numerator or denominator (SPEC 2.10)
_PATIENCE = 2  # worse ones in a row before a search ends
_ALIKE = 65  # from so many positions on, one design serves all: windows have up to 64 rows
_NARROW_UP_TO = 2  # epsilon
_EVERY_WIDTH = 64  # buckets up to which every width of a square wave is tried
_MOST_BOUNDED = 1024  # positions; its estimate inverts a square matrix of that size

# --- one answer -------------------------------------------------------------------------------


def two_coins(truth: Fraction, yes: Fraction) -> Channel:
    """Returns the two-coin design for a yes/no question, as a channel.

    The device reports the truth with probability ``truth``, else "yes" with probability ``yes`` and
    "no" otherwise. A fair second coin (yes = 1/2) is the most accurate for its odds; use other
    values only to repeat a survey that was made with them. Raises ValueError unless both
    probabilities are strictly between 0 and 1, and where their common denominator is above 2**53.
    """
    if not (0 < truth < 1 and 0 < yes < 1):
        raise ValueError(
            f"the coins show 'truth' with probability {truth} and 'yes' with {yes}; use numbers"
            " between 0 and 1"
        )
    says_yes = [truth + (1 - truth) * yes, (1 - truth) * yes]
    # Whole weights: the smallest common denominator of both rows.
    total = lcm(*(p.denominator for p in says_yes))
    if total > LARGEST:
        raise ValueError(
            f"write the coins with fewer digits than {truth} and {yes}, such as 2/3 or 0.67"
        )
    return Channel(2, tuple((int(p * total), int((1 - p) * total)) for p in says_yes))


def best_subset(k: int, privacy: Privacy) -> SubsetSelection:
    """Returns subset selection (Ye and Barg 2018) with subsets of the best size."""
    return subset_selection(k, *privacy.weights())


def k_ary(k: int, privacy: Privacy) -> SubsetSelection:
    """Returns generalised randomised response (GRR, k-RR; Kairouz, Oh and Viswanath 2014)."""
    return SubsetSelection(k, 1, *privacy.weights())


def warner(k: int, privacy: Privacy) -> SubsetSelection:
    """Returns Warner's randomised response (1965), for two answers. Raises ValueError for more."""
    if k != 2:
        raise ValueError(f"Warner's design is for two answers, not {k}; for more write k_ary")
    return k_ary(2, privacy)


def one_optimised(k: int, privacy: Privacy) -> Unary:
    """Returns optimised unary encoding (OUE; Wang et al. 2017) of one answer out of k."""
    return optimised(k, 1, privacy)


def one_symmetric(k: int, privacy: Privacy) -> Unary:
    """Returns symmetric unary encoding (SUE, basic RAPPOR; Erlingsson et al. 2014) of one answer
    out of k."""
    return symmetric(k, 1, privacy)


# --- ticks ------------------------------------------------------------------------------------


def most_accurate(mechanisms: Sequence[_T]) -> _T:
    """Returns the mechanism with the smallest variance of an option's share, at a share of 20 %."""
    return min(mechanisms, key=lambda mechanism: share_variance(mechanism, TYPICAL_SHARE))


def set_responses(k: int, maximum: int, privacy: Privacy) -> list[SetResponse]:
    """Returns set responses with reports of size 1, 2, ..., until two in a row are less accurate.

    The list also ends where the weights no longer fit into 2**53. A person may tick ``maximum`` of
    k options.
    """
    responses: list[SetResponse] = []
    for size in range(1, k + 1):
        response = _set_response(k, maximum, size, privacy)
        if response is None:
            break
        responses.append(response)
        if len(responses) > 2 and most_accurate(responses[-3:]) is responses[-3]:
            break
    return responses


def best_set_response(k: int, maximum: int, privacy: Privacy) -> SetResponse:
    """Returns the set response with the most accurate report size. Raises ValueError for too many
    options."""
    responses = set_responses(k, maximum, privacy)
    if not responses:
        raise ValueError(
            f"there are too many options for a set response: {k}, of which {maximum} may be ticked"
        )
    return most_accurate(responses)


def best_sampled_ticks(k: int, maximum: int, privacy: Privacy) -> SampledTicks:
    """Returns sampled ticks with the best number of sampled options; ignores ``maximum``."""
    del maximum
    return most_accurate(sampled_ticks(k, privacy))


def best_of_ticks(k: int, maximum: int, privacy: Privacy) -> SetResponse | SampledTicks:
    """Returns the more accurate of the best set response and the best sampled ticks."""
    both: list[SetResponse | SampledTicks] = [*set_responses(k, maximum, privacy)]
    return most_accurate([*both, *sampled_ticks(k, privacy)])


def _set_response(k: int, maximum: int, size: int, privacy: Privacy) -> SetResponse | None:
    """A set response with the finest weights within 2**53; None where none fit."""
    for bits in range(BITS, _FEWEST_BITS - 1, -1):
        # Coarser weights until their sum over all reports fits; own / other stays within the odds.
        own, other = privacy.weights(bits=bits)
        if own <= other:
            break
        try:
            return SetResponse(k, maximum, size, own, other)
        except BadMechanism:
            continue
    return None


def sampled_ticks(k: int, privacy: Privacy) -> list[SampledTicks]:
    """Returns sampled ticks with 1, 2, ... sampled options, until two in a row are less accurate.

    The list also ends where the epsilon of a single tick would be 0.
    """
    ticks: list[SampledTicks] = []
    for s in range(1, k + 1):
        own, other = privacy.weights(parts=s)
        if own <= other:
            break
        ticks.append(SampledTicks(k, s, own, other))
        if len(ticks) > 2 and most_accurate(ticks[-3:]) is ticks[-3]:
            break
    return ticks


def optimised(k: int, maximum: int, privacy: Privacy) -> Unary:
    """Returns optimised unary encoding (OUE) of up to ``maximum`` ticks of k options.

    Its weights are the largest that keep the ``privacy``. Raises ValueError where none do.
    """
    other = 1 << BITS

    def made(own: int) -> Unary:
        # p = own' / total = 1/2, and q = other / (own + other).
        return Unary(k, maximum, own + other, 2 * other, 2 * (own + other))

    return _largest(made, privacy)


def symmetric(k: int, most: int, privacy: Privacy) -> Unary:
    """Returns symmetric unary encoding (SUE, RAPPOR) of up to ``most`` ticks of k options.

    Its weights are the largest that keep the ``privacy``. Raises ValueError where none do.
    """
    other = 1 << BITS
    return _largest(lambda own: Unary(k, most, own, other, own + other), privacy)


def _largest(made: Callable[[int], Unary], privacy: Privacy) -> Unary:
    """The encoding with the largest weight that keeps the promise, by bisection."""
    low = (1 << BITS) + 1
    # The odds of a single option are at most those of the whole answer.
    high = privacy.weights()[0] * (1 << BITS) // privacy.weights()[1] + 1
    if not privacy.covers(made(low).loss):
        raise ValueError("so many ticks leave nothing to each; allow fewer or raise epsilon")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if privacy.covers(made(middle).loss) else (low, middle)
    return made(low)


# --- numbers ----------------------------------------------------------------------------------


def _scale(distance: int | Fraction, privacy: Privacy, what: str) -> str:
    """distance / epsilon, rounded up where it has too many digits."""
    scale = Fraction(distance) / privacy.exponent(what)
    # A larger scale is more noise, so rounding up keeps the privacy.
    if max(scale.numerator, scale.denominator) > _LARGEST_PART:
        finest = int(_LARGEST_PART / max(scale + 1, Fraction(1)))
        if not finest:
            raise ValueError("there are too many steps for such an epsilon: take a coarser step")
        scale = Fraction(ceil(scale * finest), finest)
    return str(scale)


def laplace(k: int, privacy: Privacy) -> Laplace:
    """Returns discrete Laplace noise on one number of k positions."""
    return Laplace(k, _scale(k - 1, privacy, "laplace"))


def bounded_laplace(k: int, privacy: Privacy, beyond: Beyond = "clamp") -> BoundedLaplace:
    """Returns discrete Laplace noise that stays within the range of k positions.

    Noise beyond the range is clamped to the range or drawn again, as ``beyond`` says.
    """
    return _bounded(k, privacy, "bounded_laplace", beyond)


def beyond_of(mechanism: Mechanism) -> Beyond:
    """Returns what a mechanism does with noise beyond the range: "clamp" or "resample".

    The result is "clamp" for all mechanisms other than bounded Laplace noise.
    """
    return mechanism.beyond if isinstance(mechanism, BoundedLaplace) else "clamp"


def exponential(k: int, privacy: Privacy) -> BoundedLaplace:
    """Returns the exponential mechanism on a scale of k choices; the utility is minus the
    distance."""
    return _bounded(k, privacy, "exponential", "resample")


def _bounded(k: int, privacy: Privacy, what: str, beyond: Beyond) -> BoundedLaplace:
    if k > _MOST_BOUNDED:
        raise ValueError(
            f"{what} is for up to {_MOST_BOUNDED} positions and here are {k}: take a coarser step,"
            " or leave mechanism out"
        )
    return BoundedLaplace(k, _scale(k - 1, privacy, what), beyond)


def gaussian(k: int, d: int, privacy: Privacy) -> Gaussian:
    """Returns discrete Gaussian noise on d numbers of k positions, within an epsilon and a delta.

    Raises ValueError without a delta, and where there are too many steps.
    """
    epsilon = privacy.exponent("gaussian")
    if privacy.delta is None:
        raise ValueError("gaussian needs a delta, such as 0.00001")
    sigma2 = discrete_sigma2(k - 1, d, epsilon, privacy.delta)
    try:
        return Gaussian(k, d, str(sigma2), to_decimal_text(epsilon), to_decimal_text(privacy.delta))
    except BadMechanism:
        raise ValueError(
            f"{k - 1} steps are too many for gaussian at this epsilon and delta: take a coarser"
            " step"
        ) from None


def one_gaussian(k: int, privacy: Privacy) -> Gaussian:
    """Returns discrete Gaussian noise on one number of k positions. Raises ValueError without a
    delta."""
    return gaussian(k, 1, privacy)


def gaussian_vector(sizes: Sequence[int], privacy: Privacy, mend: str = "") -> Gaussian:
    """Returns discrete Gaussian noise on several numbers with ``sizes`` positions.

    All sizes must be equal. Raises ValueError where they differ, with a message that ends with
    ``mend``, and as ``gaussian`` does.
    """
    if len(set(sizes)) > 1:
        raise ValueError(
            f"gaussian needs parts with the same number of steps; change the steps{mend}"
        )
    return gaussian(sizes[0], len(sizes), privacy)


def laplace_vector(sizes: Sequence[int], privacy: Privacy) -> Vector:
    """Returns discrete Laplace noise on several numbers, each with an equal part of the epsilon."""
    d = len(sizes)
    # A scale d times as large: each number has epsilon / d.
    return Vector(d, tuple(Laplace(k, _scale((k - 1) * d, privacy, "laplace")) for k in sizes))


def sampled_vector(sizes: Sequence[int], privacy: Privacy) -> Vector:
    """Returns the vector mechanism that reports some of the numbers, drawn at random.

    It reports as many numbers as is most accurate; they are tried from 1 on, until two in a row are
    worse.
    """
    rated: list[tuple[float, Vector]] = []
    for s in range(1, len(sizes) + 1):
        own, other = privacy.weights(parts=s)
        if own <= other:
            break
        designs = {k: _design(k, own, other) for k in dict.fromkeys(sizes)}
        vector = Vector(s, tuple(designs[k] for k in sizes))
        rated.append((mean_variance(vector), vector))
        if min(rated, key=_variance) not in rated[-_PATIENCE - 1 :]:
            break
    return min(rated, key=_variance)[1]


def _variance(rated: tuple[float, Vector]) -> float:
    return rated[0]


def is_of_noise(mechanism: Vector) -> bool:
    """Returns whether all numbers of a vector are reported with Laplace noise."""
    return all(isinstance(part, Laplace) for part in mechanism.parts)


def window_for_mean(k: int, privacy: Privacy) -> Window:
    """Returns the window on k positions with the smallest worst-case variance of the mean."""
    mechanism = best_window(k, *privacy.weights()).mechanism
    assert isinstance(mechanism, Window)
    return mechanism


def channel_for_mean(k: int, privacy: Privacy) -> Channel:
    """Returns the channel on k positions with the smallest worst-case variance of the mean."""
    mechanism = best_channel(k, *privacy.weights()).mechanism
    assert isinstance(mechanism, Channel)
    return mechanism


def best_for_a_mean(k: int, privacy: Privacy) -> Window | Channel:
    """Returns the more accurate of the best window and the best channel for a mean on k
    positions."""
    return _design(k, *privacy.weights())


def _design(k: int, own: int, other: int) -> Window | Channel:
    """The best design for a mean; one serves all fine grids.

    Below odds of 1.1 it is a window. There the linear programme's channel gains at most 0.1 %, and
    below epsilon 0.02 it loses, because its solver runs out of digits.
    """
    key = DesignKey(min(k, _ALIKE), own, other)
    few = best_window(*key).mechanism if 10 * own < 11 * other else design_for_mean(key)
    return msgspec.structs.replace(few, k=k)


def best_square_wave(k: int, privacy: Privacy) -> Window:
    """Returns the square wave (Li et al. 2020) over k buckets that suits the displayed
    distribution.

    Up to epsilon 2 it is ``narrow_square_wave``. Above epsilon 2 a report of that would name so few
    buckets that the fitted distribution scatters as much as the reports do. So the width is then at
    least that of Li et al. (2020, SIGMOD, 5.3), which maximises the mutual information. With 32
    buckets, four shapes of the truth and 10,000 reports, the W1 error of the displayed distribution
    is 27 % less at epsilon 4, and 25 % less at 3. ``width_price`` says how much wider intervals
    become.
    """
    narrow = narrow_square_wave(k, privacy)
    width = informative_width(k, narrow)
    if width <= narrow.w:
        return narrow
    return Window(k, k + width - 1, width, *privacy.weights())


def informative_width(k: int, window: Window) -> int:
    """Returns the width of the square wave of Li et al. (2020) over k buckets, at the odds of
    ``window``.

    It is 2 b k, rounded, with b = (eps e^eps - e^eps + 1) / (2 e^eps (e^eps - 1 - eps)); 0 up to
    epsilon 2.
    """
    odds = window.own / window.other
    epsilon = log(odds)
    if epsilon <= _NARROW_UP_TO + 1e-9:
        return 0
    return round(k * (epsilon * odds - odds + 1) / (odds * (odds - 1 - epsilon)))


def width_price(mechanism: object) -> float:
    """Returns how many times wider intervals are for the width of a square wave.

    The intervals are those of shares up to a number. They are compared with the ones of the best
    narrower window. The result is 1 for other mechanisms, and where the width is not that of
    ``informative_width``. It is the root of the ratio of the two windows' mean variances of the
    unbiased distribution function, for evenly spread answers.
    """
    if not isinstance(mechanism, Window) or mechanism.k > _EVERY_WIDTH:
        return 1.0
    k, own, other = mechanism.k, mechanism.own, mechanism.other
    if not 0 < mechanism.w == informative_width(k, mechanism) == mechanism.m - k + 1:
        return 1.0
    narrower = (Window(k, k + w - 1, w, own, other) for w in range(1, mechanism.w + 1))
    least = min(cdf_variance(matrix(window)) for window in narrower)
    return sqrt(cdf_variance(matrix(mechanism)) / least)


def narrow_square_wave(k: int, privacy: Privacy) -> Window:
    """Returns the square wave over k buckets with the smallest ``cdf_variance``.

    The best width is proportional to k, so with many buckets only widths near the one for 64
    buckets, scaled up, are tried.
    """
    if k <= _EVERY_WIDTH:
        widths = range(1, k + 1)
    else:
        near = narrow_square_wave(_EVERY_WIDTH, privacy).w * k // _EVERY_WIDTH
        reach = k // _EVERY_WIDTH + 1
        widths = range(max(near - reach, 1), min(near + reach, k) + 1, max(reach // 4, 1))
    windows = [Window(k, k + w - 1, w, *privacy.weights()) for w in widths]
    return min(windows, key=lambda window: cdf_variance(matrix(window)))


def cdf_variance(channel: Floats) -> float:
    """Returns the sum over t of n Var F(t), for the unbiased estimate F of the distribution
    function.

    ``channel`` has shape (inputs, outputs), and answers are evenly spread over the inputs. Q is the
    channel, D the diagonal matrix of the probabilities of the outputs, and f the shares. For any
    weights w, the least n Var of w'f is w' (Q D^-1 Q')^-1 w less the square of w'f (Gauss-Markov).
    F(t) is such a sum, of the first shares.
    """
    k = len(channel)
    information: Floats = (channel / channel.mean(axis=0)) @ channel.T
    inverse = cast(Floats, np.linalg.inv(information))
    squares: Floats = np.diag(inverse.cumsum(axis=0).cumsum(axis=1))[:-1]
    return float((squares - (np.arange(1, k) / k) ** 2).sum())
