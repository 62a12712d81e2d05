"""Finds groups of people on a map, by k-means on the de-biased shares of its areas.

Needs the extra ``clusters`` (scikit-learn). Nobody's position is known, so k-means clusters the
middles of the areas, weighted by the shares for display. Adding noise to both coordinates and
clustering noisy points would be useless at the same epsilon. A similar method under central
privacy: Su, Cao, Li, Bertino and Jin 2016 (CODASPY, "Differentially private k-means clustering",
EUGkM).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deniably.core.binomial import Floats
from deniably.estimation.blank_laws import coins
from deniably.estimation.estimate import project
from deniably.estimation.question_shares import cell_shares
from deniably.estimation.tally import Tally
from deniably.mechanisms.law import Supporting
from deniably.survey.questions import Point

if TYPE_CHECKING:
    from collections.abc import Callable

RESAMPLES = 20
_STARTS = 8  # of k-means, which may end in a local minimum


@dataclass(frozen=True, eq=False)
class Cluster:
    """A group of people on a map: its centre in the map's own units, and the share of people in it.

    ``centre_error`` and ``share_error`` are root mean squares: how far the centre and the share
    moved when the survey was repeated in simulation.
    """

    centre: tuple[float, float]
    share: float
    centre_error: float
    share_error: float


@dataclass(frozen=True, eq=False)
class Clusters:
    """The groups of people on a map, in falling order of their share.

    ``spread`` is the mean squared distance of people to the nearest centre, with each axis scaled
    to run from 0 to 1. It is optimistic, because the centres were fitted to the same noisy shares.
    """

    n: int
    groups: list[Cluster]
    spread: float
    resamples: int


def clusters(
    question: Point,
    tally: Tally,
    count: int,
    resamples: int = RESAMPLES,
    seed: int | None = None,
) -> Clusters:
    """Finds ``count`` groups of people on the map of ``question``.

    The errors come from ``resamples`` surveys that are simulated from the estimated shares (a
    parametric bootstrap, Efron 1979). In each, new answers and reports are drawn and clustered, and
    each group is compared with the nearest group of the simulated survey. By default ``seed`` is
    made from the tally, so that the same reports always give the same figures. A seed that others
    can guess is safe here, because the people are simulated.
    Raises ValueError if there is no report or ``count`` is not from 1 to the number of areas, and
    ImportError without scikit-learn.
    """
    areas = question.grid**2
    if not 1 <= count <= areas:
        raise ValueError(f"{count} groups; a map of {areas} areas has from 1 to {areas}")
    fit = _lloyd(_middles(question.grid), count)
    shares = cell_shares(question, tally).consistent
    centres, labels, spread = fit(shares)
    weights = np.bincount(labels, shares, minlength=count)
    moved = np.zeros(count)
    changed = np.zeros(count)
    # A pseudo-random generator will do: it simulates people, and hides nobody.
    generator = np.random.default_rng(tally.counts if seed is None else seed)
    for _ in range(resamples):
        again = _again(question.report_mechanism.law, shares, tally, generator)
        new, new_labels, _ = fit(again)
        new_weights = np.bincount(new_labels, again, minlength=count)
        # Groups have no names: each is compared with the nearest one of the simulated survey.
        distances = ((_scaled(question, centres)[:, None] - _scaled(question, new)) ** 2).sum(
            axis=2
        )
        nearest = distances.argmin(axis=1)
        moved += distances.min(axis=1)
        changed += (new_weights[nearest] - weights) ** 2
    errors = np.sqrt(np.array([moved, changed]) / max(resamples, 1))
    places = _scaled(question, centres)
    # Stable: of equal shares the order must not differ from run to run.
    order = np.argsort(-weights, kind="stable")
    return Clusters(
        n=tally.n,
        groups=[
            Cluster(
                (float(places[i, 0]), float(places[i, 1])),
                float(weights[i]),
                float(errors[0, i]),
                float(errors[1, i]),
            )
            for i in order
        ],
        spread=spread,
        resamples=resamples,
    )


def _lloyd(
    points: Floats, count: int
) -> Callable[[Floats], tuple[Floats, npt.NDArray[np.int64], float]]:
    """Weighted k-means on fixed points: weights -> centres, label of each point, mean distance.

    It keeps to one thread. By default scikit-learn takes all cores, whose threads wait busily: so
    few points are not faster for it, and one request would hold up all others.
    """
    from sklearn import cluster

    make: Any = cluster.KMeans

    def fit(weights: Floats) -> tuple[Floats, npt.NDArray[np.int64], float]:
        positive = weights > 0
        # Fewer places than groups: every group still needs one.
        usable = positive if positive.sum() >= count else np.ones_like(positive)
        mass = np.where(positive, weights, 1e-9)[usable]
        with _thread_pools().limit(limits=1):
            fitted: Any = make(count, n_init=_STARTS, random_state=0).fit(
                points[usable], sample_weight=mass
            )
            labels: npt.NDArray[np.int64] = fitted.predict(points).astype(np.int64)
        centres: Floats = fitted.cluster_centers_
        return centres, labels, float(fitted.inertia_ / mass.sum())

    return fit


@cache
def _thread_pools() -> Any:
    """Those of the libraries that scikit-learn has loaded: to look for them takes longer than to
    group a map."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _again(law: Supporting, shares: Floats, tally: Tally, generator: np.random.Generator) -> Floats:
    """The shares for display of a simulated survey with as many people and blanks.

    The supports of areas are drawn independently: their exact law correlates them only weakly, and
    k-means averages over many.
    """
    n, made_up = tally.n, coins(law, tally)
    people = generator.multinomial(n, shares)
    p, q = float(law.p), float(law.q)
    support = generator.binomial(people, p) + generator.binomial(n - people, q)
    if made_up.number:
        support = support + generator.binomial(made_up.number, made_up.chance, len(support))
    return project(((support - made_up.expected) / n - q) / (p - q))


def _middles(grid: int) -> Floats:
    """The middle of every area on the unit square, in the order of the cells."""
    middle = (np.arange(grid) + 0.5) / grid
    return np.stack([np.repeat(middle, grid), np.tile(middle, grid)], axis=1)


def _scaled(question: Point, places: Floats) -> Floats:
    """Places on the unit square in the units of the map; a position covers half a step each way."""
    low: list[float] = []
    size: list[float] = []
    for part in question.parts:
        step = float(part.range.step)
        low.append(float(part.range.minimum) - step / 2)
        size.append(part.range.positions * step)
    scaled: Floats = np.array(low) + places * np.array(size)
    return scaled
