"""Chooses the most accurate mechanism for a question by exact variance, or the one named.

Needs the extra ``author``. Every function takes a ``Privacy`` and returns a mechanism whose loss is
within it. Where there is none, it raises ValueError, whose message says what the author can change.
Tables list the names that authors can write, one table for each task of a question: ``ONE_ANSWER``,
``TICKS``, ``MEAN`` and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Generic, ParamSpec, TypeVar, get_type_hints

from deniably.design.best_mechanisms import (
    Beyond,
    OfChoice,
    OfDistribution,
    OfMean,
    OfVector,
    SomeOf,
    best_for_a_mean,
    best_of_ticks,
    best_sampled_ticks,
    best_set_response,
    best_square_wave,
    best_subset,
    bounded_laplace,
    channel_for_mean,
    exponential,
    gaussian_vector,
    is_of_noise,
    k_ary,
    laplace,
    laplace_vector,
    one_gaussian,
    one_optimised,
    one_symmetric,
    optimised,
    sampled_vector,
    symmetric,
    warner,
    window_for_mean,
)
from deniably.estimation.variances import mean_variance
from deniably.mechanisms import Mechanism
from deniably.survey.privacy import Privacy
from deniably.survey.questions import Aim


def for_choice(k: int, privacy: Privacy, name: str | None = None) -> OfChoice:
    """Returns the mechanism for one answer out of k choices.

    By default it is subset selection, the most accurate one for every k and epsilon; ``name`` asks
    for another. Raises ValueError for an unknown name.

    >>> for_choice(10, Privacy(odds=3)).omega
    3
    """
    return ONE_ANSWER[name or "subset_selection"].build(k, privacy)


def for_ticks(k: int, maximum: int, privacy: Privacy, name: str | None = None) -> SomeOf:
    """Returns the mechanism for up to ``maximum`` ticks of k options.

    By default it is the one with the smallest variance at a share of 1 in 5; ``name`` asks for
    another. Raises ValueError for an unknown name, and where no mechanism keeps the privacy.
    """
    if name:
        return TICKS[name].build(k, maximum, privacy)
    return best_of_ticks(k, maximum, privacy)


def for_scale(k: int, aim: Aim, privacy: Privacy, name: str | None = None) -> OfChoice | OfMean:
    """Returns the mechanism for one of k ordered choices, by its ``aim``.

    The aim is the distribution over the choices, or the mean of their scores. Raises ValueError
    where ``name`` is a mechanism that is for numbers alone.
    """
    if aim == "distribution":
        return SCALE[name or "subset_selection"].build(k, privacy)
    if name in MEAN and name not in SCALE_MEAN:
        raise ValueError(f"{name} is for numbers; for a scale write exponential")
    return for_mean(k, privacy, name)


def for_mean(k: int, privacy: Privacy, name: str | None = None, beyond: Beyond = "clamp") -> OfMean:
    """Returns the mechanism for a mean on a grid of k positions.

    By default it is the one with the smallest worst-case variance; ``name`` asks for another.
    ``beyond`` says what bounded Laplace noise does beyond the range. Raises ValueError for an
    unknown name, and where the named mechanism does not keep the privacy.
    """
    if name == "bounded_laplace":
        return bounded_laplace(k, privacy, beyond)
    return MEAN[name].build(k, privacy) if name else best_for_a_mean(k, privacy)


def for_distribution(
    k: int, privacy: Privacy, name: str | None = None, beyond: Beyond = "clamp"
) -> OfDistribution:
    """Returns the mechanism for a distribution over k ordered buckets: the best square wave.

    Up to epsilon 2 its width minimises the summed variance of the unbiased distribution function
    with evenly spread answers; above, it is the wider one of Li et al. (2020), for the displayed
    distribution. Subset selection has a smaller summed variance: with 32 buckets 26 % less at
    epsilon 0.25, 14 % at 1, 5 % at 2. But its error of the displayed distribution is two to three
    times as large (W1, 32 buckets, 2,000 people, epsilon up to 2). In its reports the answer's
    neighbours are no likelier than other buckets, so the likelihood cannot use them. From about
    epsilon 4.5 on, the width is 1 of 32 buckets: k-ary response, which is then the best subset
    selection too.
    """
    if name == "bounded_laplace":
        return bounded_laplace(k, privacy, beyond)
    return DISTRIBUTION[name or "window"].build(k, privacy)


def for_vector(sizes: Sequence[int], privacy: Privacy, name: str | None = None) -> OfVector:
    """Returns the mechanism for the means of several numbers with ``sizes`` positions.

    By default it is the one with the smallest worst-case variance, averaged over the numbers.
    Gaussian noise is among the candidates where a delta is given; ValueError is raised if the sizes
    then differ.
    """
    if name:
        return VECTOR[name].build(sizes, privacy)
    mechanisms: list[OfVector] = []
    if privacy.delta is not None:
        mechanisms.append(gaussian_vector(sizes, privacy, ", or leave delta out"))
    if privacy.epsilon is not None:
        mechanisms.append(laplace_vector(sizes, privacy))
    mechanisms.append(sampled_vector(sizes, privacy))
    return min(mechanisms, key=mean_variance)


def for_joint(kind: str, k: int, privacy: Privacy, name: str | None = None) -> OfChoice:
    """Returns the mechanism for one of the k areas of a map, or combinations of a product.

    A product question asks several questions in one joint report. ``kind`` is the type of the
    question. Raises ValueError for a name of any mechanism but subset selection.
    """
    if name not in (None, *JOINT):
        raise ValueError(f"a {kind} is always asked by subset_selection")
    return best_subset(k, privacy)


# --- by name ----------------------------------------------------------------------------------

P = ParamSpec("P")
M_co = TypeVar("M_co", bound=Mechanism, covariant=True)


@dataclass(frozen=True)
class Named(Generic[P, M_co]):
    """A mechanism that authors can ask for by a name; ``build`` returns it.

    ``is_it`` says whether a mechanism of its class was built in this way. ``listed`` is the name in
    sentences that say what is allowed; it is empty for a second name of the same mechanism, and
    where the name is of no use. ``title`` is what people call the mechanism, if that is not its
    name: a text, or a function that makes the text from the mechanism.
    """

    build: Callable[P, M_co]
    is_it: Callable[[Any], bool] = bool  # mechanisms are true
    listed: str = "{}"
    title: str | Callable[[Any], str] = ""

    def titled(self, name: str, mechanism: Mechanism) -> str:
        """Returns what people call a ``mechanism`` that was built under this ``name``."""
        if callable(self.title):
            return self.title(mechanism)
        return self.title or name.replace("_", " ")

    @property
    def made(self) -> type[Mechanism]:
        """The class of the mechanisms that ``build`` returns."""
        # Read from the annotation, so that a row does not name its class a second time.
        made: type[Mechanism] = get_type_hints(self.build)["return"]
        return made


@dataclass(frozen=True)
class Names(Generic[P, M_co]):
    """The mechanisms for one task, by the names that authors write.

    ``refusal`` is the error for any other name.
    """

    refusal: str
    rows: Mapping[str, Named[P, M_co]]

    def __getitem__(self, name: str) -> Named[P, M_co]:
        if name not in self.rows:
            raise ValueError(self.refusal.format(name, self._listed))
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
        """Returns the name under which an author asks for this mechanism; None if it has none."""
        for name, row in self.rows.items():
            # The first row counts: other names of one mechanism, such as grr, stand behind.
            if isinstance(mechanism, row.made) and row.is_it(mechanism):
                return name
        return None


def _parts_a_person(vector: Any) -> str:
    return "one part a person" if vector.s == 1 else f"{vector.s} parts a person"


ONE_ANSWER: Names[[int, Privacy], OfChoice] = Names(
    "{} is no mechanism for one answer; allowed are {}",
    {
        "subset_selection": Named(best_subset, is_it=lambda made: made.omega > 1),
        "k_ary": Named(k_ary, title="k-ary response"),
        "grr": Named(k_ary, listed=""),
        "warner": Named(warner, title="Warner's coins"),
        "oue": Named(
            one_optimised, is_it=lambda made: made.own + made.other != made.total, title="OUE"
        ),
        "rappor": Named(one_symmetric, title="RAPPOR"),
    },
)
TICKS: Names[[int, int, Privacy], SomeOf] = Names(
    "{} is no mechanism for several answers; allowed are {}",
    {
        "set_response": Named(best_set_response),
        "sampled_ticks": Named(best_sampled_ticks),
        "oue": Named(optimised, is_it=ONE_ANSWER["oue"].is_it, title="OUE"),
        "rappor": Named(symmetric, title="RAPPOR"),
    },
)
MEAN: Names[[int, Privacy], OfMean] = Names(
    "{} is no mechanism for a mean; allowed are {}",
    {
        "window": Named(window_for_mean),
        "channel": Named(channel_for_mean),
        "laplace": Named(laplace, title="Laplace"),
        "bounded_laplace": Named(bounded_laplace, title="bounded Laplace"),
        "gaussian": Named(one_gaussian, title="Gaussian"),
        "exponential": Named(exponential, listed="(for a scale) {}"),
    },
)
DISTRIBUTION: Names[[int, Privacy], OfDistribution] = Names(
    "{} is no mechanism for a distribution; allowed are {}",
    {
        "window": Named(best_square_wave, title="square wave"),
        "subset_selection": Named(best_subset),
        "laplace": Named(laplace, title="Laplace"),
        "bounded_laplace": Named(bounded_laplace, title="bounded Laplace"),
        "gaussian": Named(one_gaussian, title="Gaussian"),
        "exponential": Named(exponential, listed=""),
    },
)
PLACES: dict[str, Named[[int, Privacy], OfDistribution]] = {
    "window": Named(best_square_wave, listed=""),
    "exponential": Named(exponential, listed=""),
}
"""Mechanisms for a scale of which every choice needs a score, such as 1 to 5."""
SCALE: Names[[int, Privacy], OfChoice | OfDistribution] = Names(
    ONE_ANSWER.refusal, {**ONE_ANSWER.rows, **PLACES}
)
SCALE_MEAN: Names[[int, Privacy], OfMean] = Names(
    MEAN.refusal, {name: MEAN[name] for name in ("window", "channel", "exponential")}
)
VECTOR: Names[[Sequence[int], Privacy], OfVector] = Names(
    "{} is no mechanism for a vector: {} are",
    {
        "laplace": Named(laplace_vector, is_it=is_of_noise, title="Laplace"),
        "gaussian": Named(gaussian_vector, title="Gaussian"),
        "sample": Named(sampled_vector, title=_parts_a_person),
    },
)
JOINT: Names[[int, Privacy], OfChoice] = Names(
    "{} is no mechanism for a combination; allowed is {}",
    {"subset_selection": ONE_ANSWER["subset_selection"]},
)

_OF_ONE: tuple[Names[..., Mechanism], ...] = (
    ONE_ANSWER,
    TICKS,
    SCALE_MEAN,
    MEAN,
    DISTRIBUTION,
    SCALE,
    JOINT,
)
NAMES = tuple(dict.fromkeys(chain(*_OF_ONE, VECTOR)))
"""All names of mechanisms that an author can write."""


def made_by(name: str) -> set[type[Mechanism]]:
    """Returns the classes of the mechanisms with this name, but not those of vectors."""
    return {names[name].made for names in _OF_ONE if name in names}


@dataclass(frozen=True)
class Task:
    """The task of a question's mechanism, with the ``names`` that an author can write for it.

    ``choose(privacy, name)`` returns the best mechanism (name None) or the named one. It raises
    ValueError where there is none; the message says what the author can change.
    """

    names: Names[..., Mechanism]
    choose: Callable[[Privacy, str | None], Mechanism]


def choice_task(k: int) -> Task:
    """Returns the task of estimating the shares of one answer out of k."""
    return Task(ONE_ANSWER, partial(for_choice, k))


def ticks_task(k: int, maximum: int) -> Task:
    """Returns the task of estimating the shares of up to ``maximum`` of k options."""
    return Task(TICKS, partial(for_ticks, k, maximum))


def scale_task(k: int, aim: Aim) -> Task:
    """Returns the task of estimating the distribution or the mean of one of k ordered choices."""
    return Task(SCALE_MEAN if aim == "mean" else SCALE, partial(for_scale, k, aim))


def number_task(k: int, aim: Aim, beyond: Beyond = "clamp") -> Task:
    """Returns the task of estimating a mean on a grid, or a distribution over buckets, by ``aim``.

    k is the number of positions of the grid, or of buckets. ``beyond`` says what bounded Laplace
    noise does beyond the range.
    """
    if aim == "mean":
        return Task(MEAN, partial(for_mean, k, beyond=beyond))
    return Task(DISTRIBUTION, partial(for_distribution, k, beyond=beyond))


def vector_task(sizes: Sequence[int]) -> Task:
    """Returns the task of estimating the means of several numbers with ``sizes`` positions."""
    return Task(VECTOR, partial(for_vector, sizes))


def joint_task(kind: str, k: int) -> Task:
    """Returns the task of estimating the shares of k areas of a map, or combinations of a product.

    A product question asks several questions in one joint report. ``kind`` is the type of the
    question.
    """
    return Task(JOINT, partial(for_joint, kind, k))
