"""Whole-number noise in bulk, the samplers of SPEC 2.10 with all reports at each step.

Source: Canonne, Kamath and Steinke 2020, algorithms 1 to 3. Draws that are refused are made again
for the reports concerned, until none is left. No floating-point number takes part.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt

import numpy as np

from deniably.mechanisms import BoundedLaplace, Gaussian, Laplace
from deniably.mechanisms.noise import ratio
from deniably.simulation.bulk.blocks import Samplers
from deniably.simulation.bulk.uniform import Booleans, Int64, signed_below

_LOW = 20  # scales in the range up to which a uniform position is the faster proposal
_LARGEST_ROOT = isqrt((1 << 63) - 1)


# --- samplers -------------------------------------------------------------------------------


def chance(numerators: Int64, d: int) -> Booleans:
    """Draws for each n True with probability exactly ``e**-(n/d)``, for 0 <= n <= d <= 2**53."""
    odd = np.ones(len(numerators), dtype=np.bool_)
    going = np.arange(len(numerators))
    step = 1
    while going.size:
        # The step that ends a chain of coins, of chances x, x/2, x/3, ..., is odd with probability
        # e**-x. It needs whole numbers alone (Canonne, Kamath and Steinke 2020, algorithm 1).
        odd[going] = step % 2 == 1
        going = going[signed_below(d, going.size) < numerators[going]]
        going = going[signed_below(step, going.size) == 0]
        step += 1
    return odd


def fall(numerators: Int64, d: int) -> Booleans:
    """Draws for each n >= 0 True with probability exactly ``e**-(n/d)``."""
    return _fall(*np.divmod(numerators, d), d)


def discrete_laplace(t: int, s: int, size: int) -> Int64:
    """Draws ``size`` whole numbers y, with probability proportional to ``e**(-|y| s / t)``."""

    def propose(places: Int64) -> tuple[Int64, Booleans]:
        u = signed_below(t, places.size)
        kept = chance(u, t)
        at = np.flatnonzero(kept)
        magnitude = (u[at] + t * _successes(at.size)) // s
        negative = signed_below(2, at.size) == 1
        # Zero has no sign: with -0 kept, too, it would come twice as often.
        kept[at] = (magnitude > 0) | ~negative
        u[at] = np.where(negative, -magnitude, magnitude)
        return u, kept

    return _until_kept(size, propose)


def discrete_gaussian(p: int, q: int, size: int) -> Int64:
    """Draws ``size`` whole numbers y, with probability proportional to ``e**(-y**2 q / (2 p))``."""
    # A Laplace of the scale of sigma proposes; few of its draws are refused then.
    t = isqrt(p // q) + 1

    def propose(places: Int64) -> tuple[Int64, Booleans]:
        y = discrete_laplace(t, 1, places.size)
        d = 2 * p * q * t * t
        return y, _fall(*_square_divmod(np.abs(y) * (q * t) - p, d), d)

    return _until_kept(size, propose)


def _fall(whole: Int64, rest: Int64, d: int) -> Booleans:
    alive = np.ones(len(whole), dtype=np.bool_)
    turn = 0
    while (at := np.flatnonzero(alive & (whole > turn))).size:
        alive[at] = chance(np.ones(at.size, dtype=np.int64), 1)
        turn += 1
    at = np.flatnonzero(alive)
    alive[at] = chance(rest[at], d)
    return alive


def _successes(size: int) -> Int64:
    """How often a coin of e**-1 shows heads before it shows tails, ``size`` times."""
    count = np.zeros(size, dtype=np.int64)
    going = np.arange(size)
    while going.size:
        going = going[chance(np.ones(going.size, dtype=np.int64), 1)]
        count[going] += 1
    return count


def _square_divmod(roots: Int64, d: int) -> tuple[Int64, Int64]:
    """Quotients and remainders of the squares by d, beyond 64 bits too."""
    if np.abs(roots).max(initial=0) <= _LARGEST_ROOT:
        whole, rest = np.divmod(roots * roots, d)
        return whole, rest
    pairs = [divmod(root * root, d) for root in roots.tolist()]
    whole, rest = np.array(pairs, dtype=np.int64).T
    return whole, rest


def _until_kept(size: int, propose: Callable[[Int64], tuple[Int64, Booleans]]) -> Int64:
    """Rejection: ``propose(places)`` gives a value for each place and whether it is kept."""
    result = np.empty(size, dtype=np.int64)
    left = np.arange(size)
    while left.size:
        values, kept = propose(left)
        result[left[kept]] = values[kept]
        left = left[~kept]
    return result


# --- mechanisms -----------------------------------------------------------------------------


def laplace(mechanism: Laplace, answers: Int64) -> Int64:
    """Draws noisy positions, shape (n,), for valid positions."""
    scale = ratio(mechanism.scale, "scale")
    noise = discrete_laplace(scale.numerator, scale.denominator, len(answers))
    return _within(answers + noise, mechanism)


def gaussian(mechanism: Gaussian, answers: Int64) -> Int64:
    """Draws cells ``number * d + coordinate`` in the shape of the answers, (n, d), or (n,) for
    one."""
    variance = ratio(mechanism.sigma2, "sigma2")
    noise = discrete_gaussian(variance.numerator, variance.denominator, answers.size)
    noisy = _within(answers + noise.reshape(answers.shape), mechanism)
    return noisy * mechanism.d + np.arange(mechanism.d)


def _within(noisy: Int64, mechanism: Laplace | Gaussian) -> Int64:
    return np.clip(noisy, -mechanism.reach, mechanism.k - 1 + mechanism.reach)


def bounded_laplace(mechanism: BoundedLaplace, answers: Int64) -> Int64:
    """Draws noisy positions within the range, shape (n,), for valid positions.

    Where it resamples, noise beyond the ends would be refused, most of it at a large scale. The law
    is the same by a uniform position y that is kept with probability ``e**-(|y - x| / scale)``.
    """
    k, scale = mechanism.k, ratio(mechanism.scale, "scale")
    t, s = scale.numerator, scale.denominator

    def noisy(places: Int64) -> tuple[Int64, Booleans]:
        reported = answers[places] + discrete_laplace(t, s, places.size)
        return reported, (reported >= 0) & (reported < k)

    def uniform(places: Int64) -> tuple[Int64, Booleans]:
        reported = signed_below(k, places.size)
        return reported, fall(np.abs(reported - answers[places]) * s, t)

    if mechanism.beyond == "clamp":
        return np.clip(noisy(np.arange(len(answers)))[0], 0, k - 1)
    return _until_kept(len(answers), uniform if _LOW * t >= s * k else noisy)


SAMPLERS: Samplers = {Laplace: laplace, BoundedLaplace: bounded_laplace, Gaussian: gaussian}
