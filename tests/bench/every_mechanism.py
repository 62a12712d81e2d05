"""Every mechanism in bulk and on the device, at epsilon 1."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from sheet import Sheet, rate, scaled, seconds_of

from deniably.core.coins import Coins
from deniably.design.named_mechanisms import (
    for_choice,
    for_distribution,
    for_mean,
    for_ticks,
    for_vector,
)
from deniably.mechanisms import Gaussian, Mechanism, SampledTicks, SetResponse, Unary, Vector
from deniably.simulation.bulk import randomise_many
from deniably.survey.privacy import Privacy

PURE = Privacy(epsilon=Fraction(1))
APPROXIMATE = Privacy(epsilon=Fraction(1), delta=Fraction(1, 100_000))


def mechanisms(many: int, few: int) -> dict[str, Callable[[], Mechanism]]:
    """By what they are called; with so many or few steps of a number."""
    return {
        "subset selection, 16 choices": lambda: for_choice(16, PURE),
        "subset selection, 144 areas": lambda: for_choice(144, PURE),
        "k-ary response, 16 choices": lambda: for_choice(16, PURE, "k_ary"),
        "OUE, 16 choices": lambda: for_choice(16, PURE, "oue"),
        "set response, 3 of 16": lambda: for_ticks(16, 3, PURE, "set_response"),
        "sampled ticks, 16 of 16": lambda: for_ticks(16, 16, PURE, "sampled_ticks"),
        "square wave, 32 buckets": lambda: for_distribution(32, PURE),
        f"best for a mean, {many} steps": lambda: for_mean(many, PURE),
        f"Laplace, {many} steps": lambda: for_mean(many, PURE, "laplace"),
        f"bounded Laplace, {few} steps": lambda: for_mean(few, PURE, "bounded_laplace"),
        "exponential mechanism, 5 scores": lambda: for_mean(5, PURE, "exponential"),
        f"Gaussian, {many} steps": lambda: for_mean(many, APPROXIMATE, "gaussian"),
        f"5 numbers of {few} steps": lambda: for_vector([few] * 5, PURE),
        f"Gaussian on 8 numbers of {few} steps": lambda: for_vector(
            [few] * 8, APPROXIMATE, "gaussian"
        ),
    }


def measure(sheet: Sheet) -> None:
    sheet.section("Every mechanism in bulk, one core, epsilon 1 (against the device's code)")
    bulk, device, rounds = (1_000, 20, 1) if sheet.quick else (1_000_000, 5_000, 5)
    steps = (11, 5) if sheet.quick else (1001, 101)
    for name, make in mechanisms(*steps).items():
        mechanism = make()
        answers = answers_for(mechanism, bulk)
        many = bulk / seconds_of(lambda m=mechanism, a=answers: randomise_many(m, a), rounds)
        given = list(one_by_one(mechanism, answers[:device]))
        one = device / seconds_of(lambda m=mechanism, a=given: each(m, a), rounds)
        sheet.figure(name, f"{rate(many)} ({scaled(many / one).strip()} x)")


def answers_for(mechanism: Mechanism, n: int) -> Any:
    """n answers, all of them equally often."""
    row = np.arange(n)
    match mechanism:
        case SampledTicks(k=k):
            return (row[:, None] + np.arange(k)) % 3 == 0
        case SetResponse(k=k, most=most) | Unary(k=k, most=most):
            return (np.arange(k) - row[:, None]) % k < most
        case Vector(parts=parts):
            return np.column_stack([row % part.k for part in parts])
        case Gaussian(k=k, d=d) if d > 1:
            return np.column_stack([row % k] * d)
        case _:
            return row % mechanism.k


def one_by_one(mechanism: Mechanism, answers: Any) -> Iterator[Any]:
    """The answers one by one, in the form that ``randomise`` takes on a device."""
    for answer in answers:
        if isinstance(mechanism, SampledTicks | SetResponse | Unary):
            yield tuple(np.flatnonzero(answer).tolist())
        else:
            yield answer.tolist() if answer.ndim == 0 else tuple(answer.tolist())


def each(mechanism: Any, answers: Sequence[Any]) -> None:
    for answer in answers:
        mechanism.randomise(answer, Coins())
