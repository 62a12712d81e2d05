"""Draws whole-number noise for many answers at once, by the samplers of SPEC 2.10.

Source: Canonne, Kamath and Steinke 2020, algorithms 1 to 3. Each step is done for all reports
together; rejected draws are repeated for their reports until none is left. No floating-point number
takes part.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt

import numpy as np

from deniably.mechanisms import BoundedLaplace, Gaussian, Laplace
from deniably.mechanisms.noise import ratio
from deniably.simulation.bulk.blocks import Samplers
from deniably.simulation.bulk.uniform import Booleans, Int64, signed_below

_LOW = 20  # up to this many scales in the range, a uniform proposal is faster
# The largest number whose square is still an int64.
_LARGEST_ROOT = isqrt((1 << 63) - 1)


# --- samplers -------------------------------------------------------------------------------


def chance(numerators: Int64, d: int) -> Booleans:
    """Draws a coin for each of ``numerators``: for the numerator x it is True with probability
    exactly ``e**-(x/d)``, for 0 <= x <= d <= 2**53. Returns the shape of ``numerators``."""
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
    """Draws a coin for each of ``numerators``: for the numerator x >= 0 it is True with
    probability exactly ``e**-(x/d)``. Unlike in ``chance``, x may exceed d."""
    return _fall(*np.divmod(numerators, d), d)


def discrete_laplace(t: int, s: int, size: int) -> Int64:
    """Draws ``size`` whole numbers of discrete Laplace noise: y has a probability proportional to
    ``e**(-|y| s / t)`` (Canonne, Kamath and Steinke 2020, algorithm 2)."""

    def propose(places: Int64) -> tuple[Int64, Booleans]:
        u = signed_below(t, places.size)
        kept = chance(u, t)
        at = np.flatnonzero(kept)
        # u is uniform below t, thinned by e**-(u/t); each success of a coin of e**-1 adds t. So u +
        # t * successes is geometric with ratio e**-(1/t), and the division by s makes the ratio
        # e**-(s/t).
        magnitude = (u[at] + t * _successes(at.size)) // s
        negative = signed_below(2, at.size) == 1
        # Zero has no sign: with -0 kept, too, it would come twice as often.
        kept[at] = (magnitude > 0) | ~negative
        u[at] = np.where(negative, -magnitude, magnitude)
        return u, kept

    return _until_kept(size, propose)


def discrete_gaussian(p: int, q: int, size: int) -> Int64:
    """Draws ``size`` whole numbers of discrete Gaussian noise: y has a probability proportional to
    ``e**(-y**2 q / (2 p))``, for the variance parameter p/q (Canonne, Kamath and Steinke 2020,
    algorithm 3)."""
    # A Laplace of the scale of sigma proposes; few of its draws are refused then.
    t = isqrt(p // q) + 1

    def propose(places: Int64) -> tuple[Int64, Booleans]:
        y = discrete_laplace(t, 1, places.size)
        # Kept with probability e**-((|y| - sigma2 / t)**2 / (2 sigma2)), as a fraction over d.
        d = 2 * p * q * t * t
        return y, _fall(*_square_divmod(np.abs(y) * (q * t) - p, d), d)

    return _until_kept(size, propose)


def _fall(whole: Int64, rest: Int64, d: int) -> Booleans:
    # e**-(whole + rest/d) is ``whole`` coins of e**-1 and one of e**-(rest/d), all of them True.
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
    # Python's integers have no limit; this is slow, but only for the largest variances.
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
    """Returns the reported positions of n people, shape (n,): each valid position in ``answers``
    plus discrete Laplace noise."""
    scale = ratio(mechanism.scale, "scale")
    noise = discrete_laplace(scale.numerator, scale.denominator, len(answers))
    return _within(answers + noise, mechanism)


def gaussian(mechanism: Gaussian, answers: Int64) -> Int64:
    """Returns reports of people who have d numbers each, with discrete Gaussian noise. A report is
    the cell ``noisy position * d + coordinate`` of each number, in the shape of ``answers``: (n,
    d), or (n,) where d is 1."""
    variance = ratio(mechanism.sigma2, "sigma2")
    noise = discrete_gaussian(variance.numerator, variance.denominator, answers.size)
    noisy = _within(answers + noise.reshape(answers.shape), mechanism)
    return noisy * mechanism.d + np.arange(mechanism.d)


def _within(noisy: Int64, mechanism: Laplace | Gaussian) -> Int64:
    return np.clip(noisy, -mechanism.reach, mechanism.k - 1 + mechanism.reach)


def bounded_laplace(mechanism: BoundedLaplace, answers: Int64) -> Int64:
    """Returns the reported positions of n people, shape (n,): each valid position in ``answers``
    plus Laplace noise, kept within the grid.

    One kind of this mechanism moves a position outside the grid to the nearest end. The other
    resamples: it draws noise until the position is on the grid. With a large scale, that would take
    many draws. Then a position y is drawn uniformly on the grid instead, and kept with probability
    ``e**-(|y - x| / scale)``, where x is the answer, or else drawn again. The distribution is that
    of resampling.
    """
    k, scale = mechanism.k, ratio(mechanism.scale, "scale")
    t, s = scale.numerator, scale.denominator

    def noisy(places: Int64) -> tuple[Int64, Booleans]:
        reported = answers[places] + discrete_laplace(t, s, places.size)
        return reported, (reported >= 0) & (reported < k)

    def uniform(places: Int64) -> tuple[Int64, Booleans]:
        reported = signed_below(k, places.size)
        return reported, fall(np.abs(reported - answers[places]) * s, t)

    # Clamping needs one draw; resampling needs as many as it takes.
    if mechanism.beyond == "clamp":
        return np.clip(noisy(np.arange(len(answers)))[0], 0, k - 1)
    return _until_kept(len(answers), uniform if _LOW * t >= s * k else noisy)


SAMPLERS: Samplers = {Laplace: laplace, BoundedLaplace: bounded_laplace, Gaussian: gaussian}
