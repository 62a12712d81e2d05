"""The most accurate mechanism of each type of question, by exact variance, or the one named.

Needs the extra ``author``. Every function takes a ``Privacy`` and gives a mechanism whose loss is
within it; raises ValueError with the mend where there is none. The names by which authors ask for a
mechanism stand in one table for each thing that questions ask of one (``ONE_ANSWER``, ``TICKS``,
``MEAN``, ...), beside what is made of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Generic, ParamSpec, TypeVar

from deniably.design.calibration import (
    Beyond,
    best_square_wave,
    bounded_laplace,
    design_for_mean,
    exponential,
    gaussian,
    gaussian_vector,
    k_ary,
    laplace,
    laplace_vector,
    most_accurate,
    optimised,
    sampled_ticks,
    sampled_vector,
    set_responses,
    symmetric,
    warner,
)
from deniably.design.mean_design import best_channel, best_window
from deniably.estimation.variances import mean_variance
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
from deniably.mechanisms.subset_selection import subset_selection
from deniably.survey.privacy import Privacy
from deniably.survey.questions import Aim

OneOf = SubsetSelection | Unary
OfMean = Window | Channel | Laplace | BoundedLaplace | Gaussian
OfDistribution = Window | SubsetSelection | Laplace | BoundedLaplace | Gaussian


def for_choice(k: int, privacy: Privacy, name: str | None = None) -> OneOf:
    """One answer out of k. Subset selection is the best for every k and epsilon."""
    return ONE_ANSWER[name or "subset_selection"].build(k, privacy)


def for_ticks(
    k: int, most: int, privacy: Privacy, name: str | None = None
) -> SetResponse | SampledTicks | Unary:
    """Up to ``most`` of k options: the smallest variance at a share of one in five."""
    if name:
        return TICKS[name].build(k, most, privacy)
    both: list[SetResponse | SampledTicks] = [*set_responses(k, most, privacy)]
    return most_accurate([*both, *sampled_ticks(k, privacy)])


def _set_response(k: int, most: int, privacy: Privacy) -> SetResponse:
    found = set_responses(k, most, privacy)
    if not found:
        raise ValueError("there are too many options for a set response")
    return most_accurate(found)


def for_scale(k: int, aim: Aim, privacy: Privacy, name: str | None = None) -> OneOf | OfMean:
    """One of k choices in their order, for their distribution or the mean of their places."""
    if aim == "distribution":
        return SCALE[name or "subset_selection"].build(k, privacy)
    if name in MEAN and name not in SCALE_MEAN:
        raise ValueError(f"{name} is for numbers; for a scale write exponential")
    return for_mean(k, privacy, name)


def for_mean(k: int, privacy: Privacy, name: str | None = None, beyond: Beyond = "clamp") -> OfMean:
    """The mean of a position on a grid of k: the smallest worst-case variance."""
    if name:
        return MEAN[name].build(k, privacy, beyond)
    return design_for_mean(k, *privacy.weights()).mechanism


def for_distribution(
    k: int, privacy: Privacy, name: str | None = None, beyond: Beyond = "clamp"
) -> OfDistribution:
    """The distribution over k ordered buckets: the square wave with the smallest summed variance
    of the unbiased distribution function, where answers are evenly spread.

    Subset selection has less of that variance (of 32 buckets 26 % at epsilon 0.25, 14 % at 1, 5 %
    at 2), but two to three times the error of the displayed distribution (W1, 32 buckets, 2,000
    people, epsilon up to 2): neighbours of the answer are no likelier in its reports than any other
    bucket, so the likelihood cannot use them. From about epsilon 4 on the best width is 1, which is
    k-ary response, and the best subset selection too.
    """
    return DISTRIBUTION[name or "window"].build(k, privacy, beyond)


def for_vector(
    sizes: Sequence[int], privacy: Privacy, name: str | None = None
) -> Vector | Gaussian:
    """The means of several numbers: the smallest mean of their worst-case variances.

    Gaussian noise is compared where a delta is given, and needs grids of one size.
    """
    if name:
        return VECTOR[name].build(sizes, privacy)
    found: list[Vector | Gaussian] = []
    if privacy.delta is not None:
        found.append(gaussian_vector(sizes, privacy, ", or leave delta out"))
    if privacy.epsilon is not None:
        found.append(laplace_vector(sizes, privacy))
    found.append(sampled_vector(sizes, privacy))
    return min(found, key=mean_variance)


def for_joint(kind: str, k: int, privacy: Privacy, name: str | None = None) -> SubsetSelection:
    """One of the k areas of a map, or combinations of a product."""
    if name not in (None, *JOINT):
        raise ValueError(f"a {kind} is always asked by subset_selection")
    return subset_selection(k, *privacy.weights())


# --- by name ----------------------------------------------------------------------------------

P = ParamSpec("P")
M_co = TypeVar("M_co", bound=Mechanism, covariant=True)


@dataclass(frozen=True)
class Named(Generic[P, M_co]):
    """One mechanism that authors can ask for: what it is ``made`` as, and how it is built.

    ``is_it`` tells it from others of its class. ``listed`` is how a sentence on what is allowed
    calls it; empty where that would name it twice, or to those who have no use for it.
    """

    made: type[M_co]
    build: Callable[P, M_co]
    is_it: Callable[[Any], bool] = bool  # mechanisms are true
    listed: str = "{}"


@dataclass(frozen=True)
class Names(Generic[P, M_co]):
    """The mechanisms that can do one task, by name; ``refusal`` is said of any other name."""

    refusal: str
    rows: Mapping[str, Named[P, M_co]]

    def __getitem__(self, name: str) -> Named[P, M_co]:
        if name not in self.rows:
            *others, last = [row.listed.format(one) for one, row in self.rows.items() if row.listed]
            raise ValueError(self.refusal.format(name, f"{', '.join(others)} and {last}"))
        return self.rows[name]

    @property
    def _listed(self) -> str:
        *others, last = [row.listed.format(name) for name, row in self.rows.items() if row.listed]
        return f"{', '.join(others)} and {last}" if others else last

    def __contains__(self, name: object) -> bool:
        return name in self.rows

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def of(self, mechanism: Mechanism) -> str | None:
        """The name by which an author would ask for this mechanism; None where there is none."""
        return next(
            (
                name
                for name, row in self.rows.items()
                if isinstance(mechanism, row.made) and row.is_it(mechanism)
            ),
            None,
        )


ONE_ANSWER: Names[[int, Privacy], OneOf] = Names(
    "{} is no mechanism for one answer; allowed are {}",
    {
        "subset_selection": Named(
            SubsetSelection,
            lambda k, privacy: subset_selection(k, *privacy.weights()),
            is_it=lambda one: one.omega > 1,
        ),
        "k_ary": Named(SubsetSelection, k_ary),
        "grr": Named(SubsetSelection, k_ary, listed=""),
        "warner": Named(SubsetSelection, warner),
        "oue": Named(
            Unary,
            lambda k, privacy: optimised(k, 1, privacy),
            is_it=lambda one: one.own + one.other != one.total,
        ),
        "rappor": Named(Unary, lambda k, privacy: symmetric(k, 1, privacy)),
    },
)
TICKS: Names[[int, int, Privacy], SetResponse | SampledTicks | Unary] = Names(
    "{} is no mechanism for several answers; allowed are {}",
    {
        "set_response": Named(SetResponse, _set_response),
        "sampled_ticks": Named(
            SampledTicks, lambda k, _, privacy: most_accurate(sampled_ticks(k, privacy))
        ),
        "oue": Named(Unary, optimised, is_it=ONE_ANSWER["oue"].is_it),
        "rappor": Named(Unary, symmetric),
    },
)
MEAN: Names[[int, Privacy, Beyond], OfMean] = Names(
    "{} is no mechanism for a mean; allowed are {}",
    {
        "window": Named(Window, lambda k, privacy, _: best_window(k, *privacy.weights()).mechanism),
        "channel": Named(
            Channel, lambda k, privacy, _: best_channel(k, *privacy.weights()).mechanism
        ),
        "laplace": Named(Laplace, lambda k, privacy, _: laplace(k, privacy)),
        "bounded_laplace": Named(BoundedLaplace, bounded_laplace),
        "gaussian": Named(Gaussian, lambda k, privacy, _: gaussian(k, 1, privacy)),
        "exponential": Named(
            BoundedLaplace,
            lambda k, privacy, _: exponential(k, privacy),
            listed="(for a scale) {}",
        ),
    },
)
DISTRIBUTION: Names[
    [int, Privacy, Beyond], Window | SubsetSelection | Laplace | BoundedLaplace | Gaussian
] = Names(
    "{} is no mechanism for a distribution; allowed are {}",
    {
        "window": Named(Window, lambda k, privacy, _: best_square_wave(k, privacy)),
        "subset_selection": Named(
            SubsetSelection, lambda k, privacy, _: subset_selection(k, *privacy.weights())
        ),
        "laplace": Named(Laplace, lambda k, privacy, _: laplace(k, privacy)),
        "bounded_laplace": Named(BoundedLaplace, bounded_laplace),
        "gaussian": Named(Gaussian, lambda k, privacy, _: gaussian(k, 1, privacy)),
        "exponential": Named(
            BoundedLaplace, lambda k, privacy, _: exponential(k, privacy), listed=""
        ),
    },
)
PLACES: dict[str, Named[[int, Privacy], Window | BoundedLaplace]] = {
    "window": Named(Window, best_square_wave, listed=""),
    "exponential": Named(BoundedLaplace, exponential, listed=""),
}
"""Mechanisms of a scale that need a place on it for every choice."""
SCALE: Names[[int, Privacy], SubsetSelection | Unary | Window | BoundedLaplace] = Names(
    ONE_ANSWER.refusal, {**ONE_ANSWER.rows, **PLACES}
)
SCALE_MEAN: Names[
    [int, Privacy, Beyond], Window | Channel | Laplace | BoundedLaplace | Gaussian
] = Names(MEAN.refusal, {name: MEAN[name] for name in ("window", "channel", "exponential")})
VECTOR: Names[[Sequence[int], Privacy], Vector | Gaussian] = Names(
    "{} is no mechanism for a vector: {} are",
    {
        "laplace": Named(
            Vector,
            laplace_vector,
            is_it=lambda one: all(isinstance(part, Laplace) for part in one.parts),
        ),
        "gaussian": Named(Gaussian, gaussian_vector),
        "sample": Named(Vector, sampled_vector),
    },
)
JOINT: Names[[int, Privacy], OneOf] = Names(
    "{} is no mechanism for a combination; allowed is {}",
    {"subset_selection": ONE_ANSWER["subset_selection"]},
)

_EVERY: tuple[Names[..., Mechanism], ...] = (
    ONE_ANSWER,
    TICKS,
    SCALE_MEAN,
    MEAN,
    DISTRIBUTION,
    SCALE,
    VECTOR,
    JOINT,
)
NAMES = tuple(dict.fromkeys(chain.from_iterable(_EVERY)))
"""Every name that an author can write."""


def made_by(name: str) -> set[type[Mechanism]]:
    """What mechanisms of this name are made as."""
    return {names[name].made for names in _EVERY if name in names}


@dataclass(frozen=True)
class Task:
    """What a question asks of its mechanism: ``choose`` the best that keeps a promise, or the one
    of a name out of ``names``; raises ValueError with the mend where there is none."""

    names: Names[..., Mechanism]
    choose: Callable[[Privacy, str | None], Mechanism]


def choice_task(k: int) -> Task:
    """One answer out of k."""
    return Task(ONE_ANSWER, partial(for_choice, k))


def ticks_task(k: int, most: int) -> Task:
    """Up to ``most`` of k options."""
    return Task(TICKS, partial(for_ticks, k, most))


def scale_task(k: int, aim: Aim) -> Task:
    """One of k choices in their order."""
    return Task(SCALE_MEAN if aim == "mean" else SCALE, partial(for_scale, k, aim))


def number_task(k: int, aim: Aim, beyond: Beyond = "clamp") -> Task:
    """A position on a grid of k: their mean, or their distribution over as many buckets."""
    if aim == "mean":
        return Task(MEAN, partial(for_mean, k, beyond=beyond))
    return Task(DISTRIBUTION, partial(for_distribution, k, beyond=beyond))


def vector_task(sizes: Sequence[int]) -> Task:
    """The means of several numbers."""
    return Task(VECTOR, partial(for_vector, sizes))


def joint_task(kind: str, k: int) -> Task:
    """One of the k areas of a map, or combinations of a product."""
    return Task(JOINT, partial(for_joint, kind, k))
