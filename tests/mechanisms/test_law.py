"""The law of every mechanism is that of its running code, and says no more than it."""

from collections.abc import Hashable
from fractions import Fraction
from math import fsum
from typing import Any

import msgspec
import pytest

from deniably.audit.enumeration import worst_odds
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
from deniably.mechanisms.law import Supporting
from support.cases import for_each
from support.exact_laws import distribution

FINITE: list[Any] = [
    SubsetSelection(2, 1, 3, 1),
    SubsetSelection(5, 2, 13, 7),
    SubsetSelection(4, 3, 3, 1),
    Window(5, 5, 2, 3, 1),
    Window(9, 4, 2, 11674931554, 1 << 32),
    Window(2, 5, 1, 3, 2),
    Channel(2, ((5, 1), (2, 4))),
    Channel(5, ((4, 2, 1, 1), (2, 4, 1, 1), (1, 1, 2, 4))),
    *(SetResponse(3, most, size, 3, 1) for most in (1, 2, 3) for size in (1, 2, 3)),
    *(SampledTicks(3, s, 3, 1) for s in (1, 2, 3)),
    *(Unary(4, most, 3, 1, 6) for most in (1, 2, 3, 4)),
    *(Unary(3, most, 3, 1, 4) for most in (1, 2, 3)),
    Vector(1, (Window(3, 2, 1, 3, 1), Window(2, 3, 1, 2, 1))),
    Vector(2, (Window(3, 2, 1, 3, 1), Channel(2, ((5, 1), (2, 4))))),
]
NAMING: list[Any] = [one for one in FINITE if isinstance(one.law, Supporting)]
NOISY: list[Any] = [
    Laplace(5, "3"),
    Laplace(2, "1/2"),
    Laplace(1001, "100/3"),
    BoundedLaplace(6, "5/2", "clamp"),
    BoundedLaplace(6, "5/2", "resample"),
    BoundedLaplace(400, "300", "resample"),
    Gaussian(3, 1, "100", "1", "0.0001"),
    Gaussian(3, 2, "200", "1", "0.0001"),
    Vector(1, (Laplace(4, "3"), BoundedLaplace(3, "2", "clamp"))),
]


def named(mechanism: Any) -> str:
    return repr(mechanism).replace(" ", "")[:60]


@for_each("mechanism", FINITE + NOISY, ids=named)
def test_a_law_is_made_once_and_is_no_part_of_what_is_published(mechanism: Any) -> None:
    untouched = msgspec.structs.replace(mechanism)

    assert mechanism.law is mechanism.law
    assert mechanism == untouched
    assert hash(mechanism) == hash(untouched)
    assert msgspec.json.encode(mechanism) == msgspec.json.encode(untouched)


@for_each("mechanism", FINITE, ids=named)
def test_the_law_is_that_of_the_running_code(mechanism: Any) -> None:
    law = mechanism.law
    answers = list(law.domain.some(1000))

    assert len(answers) == law.domain.count
    assert law.exact
    for answer in answers:
        made = distribution(lambda coins, a=answer: mechanism.randomise(a, coins))  # type: ignore[misc]
        assert {report: law.probability(answer, report) for report in made} == made
        counted: dict[int, Fraction] = dict.fromkeys(law.cells(answer), Fraction(0))
        for report, share in made.items():
            for cell in report:
                counted[cell] += share
        assert {cell: law.cell_probability(answer, cell) for cell in law.cells(answer)} == counted


@for_each("mechanism", FINITE, ids=named)
def test_two_extreme_answers_realise_all_that_the_mechanism_claims(mechanism: Any) -> None:
    first, second = mechanism.law.extremes

    made: list[dict[Hashable, Fraction]] = [
        dict(distribution(lambda coins, a=answer: mechanism.randomise(a, coins)))  # type: ignore[misc]
        for answer in (first, second)
    ]
    assert worst_odds(made) == mechanism.loss.odds
    assert max(made[0][r] / made[1][r] for r in made[0]) == mechanism.loss.odds


@for_each("mechanism", NAMING, ids=named)
def test_the_most_telling_reports_are_known_where_reports_name_cells(mechanism: Any) -> None:
    law = mechanism.law
    first, second = law.extremes
    made = distribution(lambda coins: mechanism.randomise(first, coins))
    ratios = {r: law.probability(first, r) / law.probability(second, r) for r in made}

    telling = {r for r in made if law.joint.telling(law.own(first), law.own(second), r)}
    assert telling == {r for r in made if ratios[r] == max(ratios.values())}


@for_each("mechanism", [one for one in NAMING if one.law.joint.pairs], ids=named)
def test_pairs_are_counted_as_the_running_code_names_them(mechanism: Any) -> None:
    one = 0 if mechanism.law.single else (0,)
    made = distribution(lambda coins: mechanism.randomise(one, coins))

    def both(u: int, v: int) -> Fraction:
        return sum((p for r, p in made.items() if {u, v} <= set(r)), Fraction(0))

    assert (both(0, 1), both(1, 2)) == mechanism.law.joint.pairs


@pytest.mark.parametrize("mechanism", NOISY, ids=named)
def test_probabilities_of_noise_sum_to_one(mechanism: Any) -> None:
    law = mechanism.law
    for part in getattr(law, "parts", (law,)):
        for answer in (0, part.k // 2, part.k - 1):
            if part.cell_count is None:
                reports = range(-part.reach, part.k + part.reach)
            else:
                reports = range(part.cell_count)
            every = [float(part.probability(answer, (report,))) for report in reports]
            assert fsum(every) == pytest.approx(1 + 1e-9, abs=1e-12)


@for_each("mechanism", [*FINITE, *NOISY], ids=named)
def test_the_law_says_what_is_published_of_the_mechanism(mechanism: Any) -> None:
    law, twin = (
        mechanism.law,
        type(mechanism)(*(getattr(mechanism, f) for f in mechanism.__struct_fields__)),
    )

    assert law.law is law
    assert law == twin.law
    assert hash(law) == hash(twin.law)
    assert law.cell_count == mechanism.law.cell_count
