"""The most accurate mechanism of each type of question, by exact variance, or the one named.

Needs the extra ``author``. Every function takes a ``Privacy`` and gives a mechanism whose loss is
within it; raises ValueError with the mend where there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil, lcm
from typing import Literal, TypeVar, cast

import msgspec
import numpy as np

from deniably.core.binomial import Floats
from deniably.core.coins import LARGEST
from deniably.core.errors import BadMechanism
from deniably.design.mean_design import Design, best_channel, best_for_mean, best_window
from deniably.estimation.channels import matrix
from deniably.estimation.variances import mean_variance, share_variance
from deniably.mechanisms import (
    BoundedLaplace,
    Channel,
    Gaussian,
    Laplace,
    SampledTicks,
    SetResponse,
    SubsetSelection,
    Unary,
    Vector,
    Window,
)
from deniably.mechanisms.gaussian_noise import discrete_sigma2
from deniably.mechanisms.subset_selection import subset_selection
from deniably.survey.privacy import BITS, Privacy, plain

Beyond = Literal["clamp", "resample"]
OneOf = SubsetSelection | Channel | Unary

TYPICAL_SHARE = 0.2
"""The share of an option at which mechanisms for several ticks are compared."""

_T = TypeVar("_T", SetResponse, SampledTicks, SetResponse | SampledTicks)

_FEWEST_BITS = 12
_LARGEST_PART = 1 << 31
_PATIENCE = 2  # worse ones in a row before a search ends
_ALIKE = 65  # from so many positions on, one design serves all: windows have up to 64 rows
_EVERY_WIDTH = 64  # buckets up to which every width of a square wave is tried
_MOST_BOUNDED = 1024  # positions; its estimate inverts a square matrix of that size


def for_choice(k: int, privacy: Privacy, name: str | None = None) -> OneOf:
    """One answer out of k. Subset selection is the best for every k and epsilon."""
    own, other = privacy.weights()
    match name:
        case None | "subset_selection":
            return subset_selection(k, own, other)
        case "k_ary" | "grr":
            return SubsetSelection(k, 1, own, other)
        case "warner":
            if k != 2:
                raise ValueError("Warner's design is for two answers; for more write k_ary")
            return SubsetSelection(2, 1, own, other)
        case "oue":
            return _optimised(k, 1, privacy)
        case "rappor":
            return _symmetric(k, 1, privacy)
        case _:
            raise ValueError(
                f"{name} is no mechanism for one answer; allowed are subset_selection, k_ary,"
                " warner, oue and rappor"
            )


def two_coins(truth: Fraction, yes: Fraction) -> Channel:
    """Two-coin design for yes or no: the truth with probability ``truth``, else yes with ``yes``.

    Only a fair second coin (yes = 1/2) makes the best of its odds; others are for repeating a
    survey that was made with them. Raises ValueError unless both are strictly between 0 and 1, and
    where their common denominator is above 2**53.
    """
    if not (0 < truth < 1 and 0 < yes < 1):
        raise ValueError("the coins show 'truth' and 'yes' with probabilities between 0 and 1")
    says_yes = [truth + (1 - truth) * yes, (1 - truth) * yes]
    total = lcm(*(p.denominator for p in says_yes))
    if total > LARGEST:
        raise ValueError("write the coins with fewer digits, such as 2/3 or 0.67")
    return Channel(2, tuple((int(p * total), int((1 - p) * total)) for p in says_yes))


def for_ticks(
    k: int, most: int, privacy: Privacy, name: str | None = None
) -> SetResponse | SampledTicks | Unary:
    """Up to ``most`` of k options: the smallest variance at a share of one in five."""
    match name:
        case None:
            both: list[SetResponse | SampledTicks] = [*_set_responses(k, most, privacy)]
            return _most_accurate([*both, *_sampled(k, privacy)])
        case "set_response":
            found = _set_responses(k, most, privacy)
            if not found:
                raise ValueError("there are too many options for a set response")
            return _most_accurate(found)
        case "sampled_ticks":
            return _most_accurate(_sampled(k, privacy))
        case "oue":
            return _optimised(k, most, privacy)
        case "rappor":
            return _symmetric(k, most, privacy)
        case _:
            raise ValueError(
                f"{name} is no mechanism for several answers; allowed are set_response,"
                " sampled_ticks, oue and rappor"
            )


def for_mean(
    k: int, privacy: Privacy, name: str | None = None, beyond: Beyond = "clamp"
) -> Window | Channel | Laplace | BoundedLaplace | Gaussian:
    """The mean of a position on a grid of k: the smallest worst-case variance."""
    match name:
        case None:
            return _design(k, *privacy.weights()).mechanism
        case "window":
            return best_window(k, *privacy.weights()).mechanism
        case "channel":
            return best_channel(k, *privacy.weights()).mechanism
        case "laplace":
            return Laplace(k, _scale(k - 1, privacy, "laplace"))
        case "bounded_laplace":
            return _bounded(k, privacy, name, beyond)
        case "exponential":
            return _bounded(k, privacy, name, "resample")
        case "gaussian":
            return _gaussian(k, 1, privacy)
        case _:
            raise ValueError(
                f"{name} is no mechanism for a mean; allowed are window, channel, laplace,"
                " bounded_laplace, gaussian and (for a scale) exponential"
            )


def for_distribution(
    k: int, privacy: Privacy, name: str | None = None, beyond: Beyond = "clamp"
) -> Window | SubsetSelection | Laplace | BoundedLaplace | Gaussian:
    """The distribution over k ordered buckets: the square wave with the smallest summed variance
    of the unbiased distribution function, where answers are evenly spread.

    Subset selection has less of that variance (of 32 buckets 26 % at epsilon 0.25, 14 % at 1, 5 %
    at 2), but two to three times the error of the displayed distribution (W1, 32 buckets, 2,000
    people, epsilon up to 2): neighbours of the answer are no likelier in its reports than any other
    bucket, so the likelihood cannot use them. From about epsilon 4 on the best width is 1, which is
    k-ary response, and the best subset selection too.
    """
    match name:
        case "subset_selection":
            return subset_selection(k, *privacy.weights())
        case None | "window":
            return _best_square_wave(k, privacy)
        case "laplace" | "bounded_laplace" | "exponential" | "gaussian":
            found = for_mean(k, privacy, name, beyond)
            assert not isinstance(found, Channel)
            return found
        case _:
            raise ValueError(
                f"{name} is no mechanism for a distribution; allowed are window, subset_selection,"
                " laplace, bounded_laplace and gaussian"
            )


def for_vector(
    sizes: Sequence[int], privacy: Privacy, name: str | None = None
) -> Vector | Gaussian:
    """The means of several numbers: the smallest mean of their worst-case variances.

    Gaussian noise is compared where a delta is given, and needs grids of one size.
    """
    found: list[Vector | Gaussian] = []
    if name == "gaussian" or (name is None and privacy.delta is not None):
        if len(set(sizes)) > 1:
            raise ValueError(
                "gaussian needs parts with the same number of steps; change the steps"
                + ("" if name else ", or leave delta out")
            )
        found.append(_gaussian(sizes[0], len(sizes), privacy))
    if name in (None, "laplace") and (privacy.epsilon is not None or name):
        found.append(_laplace_vector(sizes, privacy))
    if name in (None, "sample"):
        found += _sampled_vectors(sizes, privacy)
    if not found:
        raise ValueError(f"{name} is no mechanism for a vector: laplace, gaussian and sample are")
    return min(found, key=vector_variance)


def vector_variance(mechanism: Vector | Gaussian) -> float:
    """n times the variance of a mean on [-1, 1], the average over the numbers."""
    if isinstance(mechanism, Gaussian):
        return mean_variance(mechanism)
    rare = len(mechanism.parts) / mechanism.s
    return rare * float(np.mean([mean_variance(part) for part in mechanism.parts]))


# --- ticks ------------------------------------------------------------------------------------


def _most_accurate(found: Sequence[_T]) -> _T:
    return min(found, key=lambda mechanism: share_variance(mechanism, TYPICAL_SHARE))


def _set_responses(k: int, most: int, privacy: Privacy) -> list[SetResponse]:
    """Every size of a report, until two in a row are worse or weights no longer fit."""
    found: list[SetResponse] = []
    for size in range(1, k + 1):
        one = _set_response(k, most, size, privacy)
        if one is None:
            break
        found.append(one)
        if len(found) > 2 and _most_accurate(found[-3:]) is found[-3]:
            break
    return found


def _set_response(k: int, most: int, size: int, privacy: Privacy) -> SetResponse | None:
    """With the finest weights that fit into 2**53; None where none do."""
    for bits in range(BITS, _FEWEST_BITS - 1, -1):
        own, other = privacy.weights(bits=bits)
        if own <= other:
            break
        try:
            return SetResponse(k, most, size, own, other)
        except BadMechanism:
            continue
    return None


def _sampled(k: int, privacy: Privacy) -> list[SampledTicks]:
    found: list[SampledTicks] = []
    for s in range(1, k + 1):
        own, other = privacy.weights(parts=s)
        if own <= other:
            break
        found.append(SampledTicks(k, s, own, other))
        if len(found) > 2 and _most_accurate(found[-3:]) is found[-3]:
            break
    return found


def _optimised(k: int, most: int, privacy: Privacy) -> Unary:
    """Optimised unary encoding with exact odds, on sets of up to ``most``, within the promise."""
    other = 1 << BITS

    def made(own: int) -> Unary:
        return Unary(k, most, own + other, 2 * other, 2 * (own + other))

    return _largest(made, privacy)


def _symmetric(k: int, most: int, privacy: Privacy) -> Unary:
    other = 1 << BITS
    return _largest(lambda own: Unary(k, most, own, other, own + other), privacy)


def _largest(made: Callable[[int], Unary], privacy: Privacy) -> Unary:
    """The encoding with the largest weight that keeps the promise, by bisection."""
    low = (1 << BITS) + 1
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
    if max(scale.numerator, scale.denominator) > _LARGEST_PART:
        finest = int(_LARGEST_PART / max(scale + 1, Fraction(1)))
        if not finest:
            raise ValueError("there are too many steps for such an epsilon: take a coarser step")
        scale = Fraction(ceil(scale * finest), finest)
    return str(scale)


def _bounded(k: int, privacy: Privacy, what: str, beyond: Beyond) -> BoundedLaplace:
    if k > _MOST_BOUNDED:
        raise ValueError(
            f"{what} is for up to {_MOST_BOUNDED} positions and here are {k}: take a coarser step,"
            " or leave mechanism out"
        )
    return BoundedLaplace(k, _scale(k - 1, privacy, what), beyond)


def _gaussian(k: int, d: int, privacy: Privacy) -> Gaussian:
    epsilon = privacy.exponent("gaussian")
    if privacy.delta is None:
        raise ValueError("gaussian needs a delta, such as 0.00001")
    sigma2 = discrete_sigma2(k - 1, d, epsilon, privacy.delta)
    try:
        return Gaussian(k, d, str(sigma2), plain(epsilon), plain(privacy.delta))
    except BadMechanism:
        raise ValueError(
            f"{k - 1} steps are too many for gaussian at this epsilon and delta: take a coarser"
            " step"
        ) from None


def _laplace_vector(sizes: Sequence[int], privacy: Privacy) -> Vector:
    d = len(sizes)
    return Vector(d, tuple(Laplace(k, _scale((k - 1) * d, privacy, "laplace")) for k in sizes))


def _sampled_vectors(sizes: Sequence[int], privacy: Privacy) -> list[Vector]:
    """Every number of sampled parts, until several in a row are worse."""
    found: list[Vector] = []
    for s in range(1, len(sizes) + 1):
        own, other = privacy.weights(parts=s)
        if own <= other:
            break
        found.append(Vector(s, tuple(_design(k, own, other).mechanism for k in sizes)))
        if min(found, key=vector_variance) not in found[-_PATIENCE - 1 :]:
            break
    return found


def _design(k: int, own: int, other: int) -> Design:
    """The best design for a mean; it is found once for all fine grids.

    Below odds of 1.1 it is a window: the programme's channel gains 0.1 % at 1.1, less below that,
    and loses from epsilon 0.02 on downwards, where its solver runs out of digits.
    """
    few = min(k, _ALIKE)
    found = (best_window if 10 * own < 11 * other else best_for_mean)(few, own, other)
    return Design(msgspec.structs.replace(found.mechanism, k=k), found.variance)


def _best_square_wave(k: int, privacy: Privacy) -> Window:
    """The width is in proportion to k, so with many buckets only those near that are tried."""
    if k <= _EVERY_WIDTH:
        widths = range(1, k + 1)
    else:
        near = _best_square_wave(_EVERY_WIDTH, privacy).w * k // _EVERY_WIDTH
        reach = k // _EVERY_WIDTH + 1
        widths = range(max(near - reach, 1), min(near + reach, k) + 1, max(reach // 4, 1))
    windows = [Window(k, k + w - 1, w, *privacy.weights()) for w in widths]
    return min(windows, key=lambda window: cdf_variance(matrix(window)))


def cdf_variance(channel: Floats) -> float:
    """The sum over all t of n Var F(t), answers evenly spread over the inputs.

    With D the probabilities of the outputs, the least n Var of t'f is t' (Q D^-1 Q')^-1 t less the
    square of t'f (Gauss-Markov), and F(t) adds up the first shares.
    """
    k = len(channel)
    information: Floats = (channel / channel.mean(axis=0)) @ channel.T
    inverse = cast(Floats, np.linalg.inv(information))
    squares: Floats = np.diag(inverse.cumsum(axis=0).cumsum(axis=1))[:-1]
    return float((squares - (np.arange(1, k) / k) ** 2).sum())
