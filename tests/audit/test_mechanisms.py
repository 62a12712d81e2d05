"""Privacy, unbiasedness and variance of every finite mechanism, on its enumerated channel.

Nothing here is sampled: the laws are exact fractions of the running code, compared with ==.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import chain, combinations, product
from typing import Any

import numpy as np
import pytest

from deniably.audit.enumeration import worst_odds
from deniably.core.errors import BadAnswer, BadMechanism, BadReport
from deniably.estimation.channels import matrix, position_scores
from deniably.mechanisms import Channel, SampledTicks, SetResponse, Unary, Vector, Window
from support.cases import for_each
from support.exact_laws import distribution

Law = dict[tuple[int, ...], Fraction]

POSITIONS = [
    Window(5, 5, 2, 3, 1),
    Window(3, 2, 1, 3, 1),
    Window(4, 7, 4, 13, 7),
    Window(2, 5, 1, 3, 2),
    Window(9, 4, 2, 11674931554, 1 << 32),
    Channel(2, ((5, 1), (2, 4))),
    Channel(5, ((4, 2, 1, 1), (2, 4, 1, 1), (1, 1, 2, 4))),
    Channel(3, ((6, 2, 2), (3, 4, 3), (2, 2, 6))),
]
TICKS = [
    *(SetResponse(3, most, size, 3, 1) for most in (1, 2, 3) for size in (1, 2, 3)),
    SetResponse(4, 2, 2, 13, 7),
    SetResponse(4, 2, 1, 11674931554, 1 << 32),
    *(SampledTicks(3, s, 3, 1) for s in (1, 2, 3)),
    *(Unary(4, most, 4, 2, 8) for most in (1, 2, 3, 4)),  # optimised, odds 3 for one tick
    *(Unary(3, most, 3, 1, 4) for most in (1, 2, 3)),  # symmetric
]
VECTORS = [
    Vector(1, (Window(3, 2, 1, 3, 1), Window(2, 3, 1, 2, 1))),
    Vector(2, (Window(3, 2, 1, 3, 1), Channel(2, ((5, 1), (2, 4))))),
]


def named(mechanism: Any) -> str:
    return (
        "-".join(str(part) for part in mechanism.__struct_config__.tag.split("_"))
        + (
            "-" + "-".join(str(getattr(mechanism, field)) for field in mechanism.__struct_fields__)
        ).replace(" ", "")[:40]
    )


def walk(mechanism: Any, answers: Sequence[Any]) -> list[Law]:
    return [distribution(lambda coins, a=a: mechanism.randomise(a, coins)) for a in answers]


def tick_sets(k: int, most: int) -> list[tuple[int, ...]]:
    return list(chain.from_iterable(combinations(range(k), ticks) for ticks in range(most + 1)))


def realised_and_claimed(mechanism: Any, laws: list[Law]) -> None:
    assert [sum(law.values()) for law in laws] == [1] * len(laws)
    assert worst_odds(laws) == mechanism.loss.odds > 1
    assert mechanism.loss.exponent == mechanism.loss.delta == 0
    for law in laws:
        for report in law:
            mechanism.check(report)
            assert all(0 <= cell < mechanism.law.cell_count for cell in report)


@pytest.mark.parametrize("mechanism", POSITIONS, ids=named)
def test_positions_are_as_private_as_stated_and_unbiased(mechanism: Window | Channel) -> None:
    laws = walk(mechanism, range(mechanism.k))

    realised_and_claimed(mechanism, laws)
    exact = np.array(
        [[float(law.get((y,), 0)) for y in range(mechanism.law.cell_count)] for law in laws]
    )
    np.testing.assert_allclose(matrix(mechanism), exact, rtol=1e-12)
    np.testing.assert_allclose(
        exact @ position_scores(mechanism), np.arange(mechanism.k), atol=1e-9 * mechanism.k
    )


@pytest.mark.parametrize("mechanism", TICKS, ids=named)
def test_ticks_are_as_private_as_stated_and_unbiased(
    mechanism: SetResponse | SampledTicks | Unary,
) -> None:
    most = mechanism.k if isinstance(mechanism, SampledTicks) else mechanism.most
    answers = tick_sets(mechanism.k, most)
    laws = walk(mechanism, answers)

    realised_and_claimed(mechanism, laws)
    for answer, law in zip(answers, laws, strict=True):
        for option in range(mechanism.k):
            if isinstance(mechanism, SampledTicks):
                asked = sum(
                    pr for report, pr in law.items() if {2 * option, 2 * option + 1} & set(report)
                )
                assert asked == Fraction(mechanism.s, mechanism.k)
                support = sum(pr for report, pr in law.items() if 2 * option + 1 in report) / asked
            else:
                support = sum(pr for report, pr in law.items() if option in report)
            assert support == (mechanism.p if option in answer else mechanism.q)


def test_without_padding_the_number_of_ticks_would_show() -> None:
    """The planted fault of 'unpadded sets': the weights of two answers have other sums."""

    def unpadded(answer: tuple[int, ...]) -> Law:
        weights = {(v,): Fraction(3 if v in answer else 1) for v in range(3)}
        return {report: weight / sum(weights.values()) for report, weight in weights.items()}

    laws = [unpadded(answer) for answer in tick_sets(3, 2)]
    worst = worst_odds(laws)
    assert worst is not None
    assert worst > 3


@pytest.mark.parametrize("mechanism", VECTORS, ids=named)
def test_vectors_are_as_private_as_stated(mechanism: Vector) -> None:
    answers = list(product(*(range(part.k) for part in mechanism.parts)))
    laws = walk(mechanism, answers)

    realised_and_claimed(mechanism, laws)
    d = len(mechanism.parts)
    for part in range(d):
        picked = sum(pr for report, pr in laws[0].items() if part in {cell % d for cell in report})
        assert picked == Fraction(mechanism.s, d)


@pytest.mark.parametrize("mechanism", VECTORS, ids=named)
def test_vectors_are_unbiased_and_vary_as_stated(mechanism: Vector) -> None:
    """A part is counted d / s times where it is picked, else as 0; so its mean is exact and its
    variance is (d / s) (v + x**2) - x**2, with v that of the part's own mechanism."""
    d = len(mechanism.parts)
    for answer in product(*(range(part.k) for part in mechanism.parts)):
        law = walk(mechanism, [answer])[0]
        for index, (part, position) in enumerate(zip(mechanism.parts, answer, strict=True)):
            scores = position_scores(part)
            values = [
                sum(d / mechanism.s * scores[cell // d] for cell in report if cell % d == index)
                for report in law
            ]
            shares = [float(share) for share in law.values()]
            mean = np.dot(shares, values)
            own = matrix(part)[position]

            assert mean == pytest.approx(position, abs=1e-9)
            assert np.dot(shares, np.square(values)) - mean**2 == pytest.approx(
                d / mechanism.s * (own @ scores**2) - position**2, rel=1e-9
            )


def test_unary_encoding_at_a_nominal_epsilon_gives_away_k_times_as_much_on_any_set() -> None:
    """k ln((e^eps + 1) / 2) for any set of k = 4 options at eps = 1: 2.48 instead of 1."""
    own, other = 11674931554, 1 << 32

    loss = Unary(4, 4, own + other, 2 * other, 2 * (own + other)).loss

    assert loss.epsilon == pytest.approx(4 * np.log((np.e + 1) / 2), abs=1e-8)
    assert loss.epsilon == pytest.approx(2.48, abs=0.005)


@for_each(
    ("kind", "parameters", "why"),
    [
        (Window, (1, 5, 2, 3, 1), "positions are allowed"),
        (Window, (5, 5, 5, 3, 1), "w is 5; the window has"),
        (Window, (5, 5, 2, 1, 1), "other < own"),
        (Window, (5, 2, 1, 1 << 53, 1), "2\\*\\*53"),
        (Channel, (3, ((1, 2),)), "rows; it must have from 2 to k"),
        (Channel, (3, ((1, 2), (2, 2))), "differ in their sum"),
        (Channel, (3, ((0, 3), (2, 1))), "rule an answer out"),
        (Channel, (3, ((1, 2), (1, 2))), "all the same"),
        (Channel, (3, ((1, 2), (1, 1, 1))), "differ in length"),
        (SetResponse, (3, 4, 1, 3, 1), "most is 4; from 1 to k ticks"),
        (SetResponse, (3, 2, 4, 3, 1), "size"),
        (SetResponse, (1000, 3, 9, 3, 1), "at most 2\\*\\*53"),
        (SampledTicks, (3, 4, 3, 1), "s is 4; a report has from 1 to k"),
        (Unary, (3, 1, 4, 2, 4), "own < total"),
        (Vector, (3, VECTORS[0].parts), "s is 3; a report has from 1 to 2"),
        (Vector, (1, VECTORS[0].parts[:1]), "2 to 64"),
    ],
)
def test_parameters_that_make_no_mechanism_are_refused(
    kind: Any, parameters: tuple[Any, ...], why: str
) -> None:
    with pytest.raises(BadMechanism, match=why):
        kind(*parameters)


@pytest.mark.parametrize(
    ("mechanism", "answer"),
    [
        (POSITIONS[0], 5),
        (POSITIONS[0], -1),
        (POSITIONS[5], 2),
        (TICKS[0], (0, 1)),
        (TICKS[4], (1, 0)),
        (TICKS[4], (1, 1)),
        (TICKS[4], (3,)),
        (VECTORS[0], (0,)),
        (VECTORS[0], (0, 2)),
    ],
)
def test_answers_out_of_range_are_refused_before_any_draw(mechanism: Any, answer: Any) -> None:
    def no_coins(_: int) -> bytes:
        raise AssertionError("a byte was drawn")

    from deniably.core.coins import Coins

    with pytest.raises(BadAnswer):
        mechanism.randomise(answer, Coins(no_coins))


@pytest.mark.parametrize(
    ("mechanism", "report"),
    [
        (POSITIONS[0], (5,)),
        (POSITIONS[0], ()),
        (POSITIONS[0], (-1,)),
        (TICKS[4], (0,)),
        (TICKS[4], (1, 0)),
        (TICKS[4], (4, 5)),
        (SampledTicks(3, 2, 3, 1), (0, 1)),
        (SampledTicks(3, 2, 3, 1), (0, 6)),
        (VECTORS[1], (0, 2)),
        (VECTORS[1], (1, 0)),
        (VECTORS[1], (4, 1)),
        (VECTORS[0], (-2,)),
    ],
)
def test_reports_that_no_device_makes_are_refused(mechanism: Any, report: tuple[int, ...]) -> None:
    with pytest.raises(BadReport):
        mechanism.check(report)
