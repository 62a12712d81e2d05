"""Planted faults: randomisers and definitions as somebody might write them by mistake.

A ``Planted`` randomiser goes, under the honest definition of its ``question``, through the shipped
``audit_question``. A definition goes through ``deniably audit`` as a file. Claims are odds 3
unless it says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

from msgspec import to_builtins
from msgspec.structs import replace

from deniably.audit.memoised_waves import InWaves
from deniably.core.coins import Coins
from deniably.lab.curator import ClassicalGaussNoise
from deniably.mechanisms import (
    BoundedLaplace,
    Cells,
    Channel,
    Gaussian,
    Laplace,
    Mechanism,
    Memoised,
    SampledTicks,
    SetResponse,
    SubsetSelection,
    Unary,
    Window,
)
from deniably.mechanisms.memoised import memoised
from deniably.mechanisms.noise import discrete_gaussian, discrete_laplace
from deniably.survey.questions import Question
from deniably.survey.survey import Survey, as_survey
from support.every_type import QUESTIONS, survey_of_everything

OWN_E, OTHER = 11674931554, 1 << 32  # epsilon 1
ROOT_E = math.floor(math.exp(0.5) * OTHER)

Faulty = Callable[[Any, Coins], Hashable]


def asked(mechanism: Mechanism | Memoised[Any], **claim: Any) -> Question:
    """A question with this mechanism: of choices, of ticks, or of a number."""
    definition = {"name": "asked", "label": "?", "claim": claim or {"odds": "3"}}
    definition["mechanism"] = to_builtins(mechanism)
    waves = {"waves": {"panel": "planted"}} if isinstance(mechanism, Memoised) else {}
    if isinstance(mechanism, Memoised):
        mechanism = mechanism.single_report_mechanism
    k: int = mechanism.k  # type: ignore[union-attr]
    several = isinstance(mechanism, SetResponse | SampledTicks) or (
        isinstance(mechanism, Unary) and mechanism.most > 1
    )
    if several:
        definition |= {"type": "select_multiple", "most": getattr(mechanism, "most", k)}
    elif isinstance(mechanism, SubsetSelection | Unary):
        definition |= {"type": "select_one"}
    else:
        definition |= {"type": "number", "aim": "mean"}
        definition["range"] = {"minimum": "0", "maximum": str(k - 1), "step": "1"}
    if definition["type"] != "number":
        definition["choices"] = [{"name": f"c{i}", "label": "?"} for i in range(k)]
    return as_survey(document(definition) | waves).questions[0]


def survey_of(*questions: dict[str, Any]) -> Any:
    return as_survey(document(*questions))


def document(*questions: dict[str, Any]) -> dict[str, Any]:
    return {
        "spec": 1, "name": "planted", "title": "Planted", "language": "en",
        "results": {"minimum": 1, "while_open": True}, "questions": list(questions),
    }  # fmt: skip


def number(claim: dict[str, str], **mechanism: Any) -> dict[str, Any]:
    """The definition of a number, whether it is valid or not."""
    return {
        "name": "asked", "label": "?", "type": "number", "aim": "mean", "claim": claim,
        "range": {"minimum": "0", "maximum": str(mechanism["k"] - 1), "step": "1"},
        "mechanism": mechanism,
    }  # fmt: skip


def tuple_of(d: int, **claim: str) -> Question:
    """``d`` yes/no questions with one joint report, at epsilon 1."""
    choices = [{"name": name, "label": "?"} for name in ("no", "yes")]
    return survey_of({
        "name": "asked", "label": "?", "type": "product", "claim": claim or {"epsilon": "1"},
        "parts": [{"name": f"p{i}", "label": "?", "choices": choices} for i in range(d)],
        "mechanism": {
            "name": "subset_selection", "k": 2**d, "omega": 1, "own": OWN_E, "other": OTHER,
        },
    }).questions[0]  # fmt: skip


@cache
def every_type() -> Survey:
    """The survey of every type, its vector of 17 x 17 answers: 81 x 81 are walked for seconds."""
    claim = {"claim": {"epsilon": "2"}}
    return survey_of_everything(
        questions=[claim | (smaller(one) if one["type"] == "vector" else one) for one in QUESTIONS]
    )


def smaller(vector: dict[str, Any]) -> dict[str, Any]:
    """The definition of a vector with parts from 0 to 16."""
    parts, mechanism = vector["parts"], vector["mechanism"]
    return vector | {
        "parts": [one | {"range": one["range"] | {"maximum": "16"}} for one in parts],
        "mechanism": mechanism | {"parts": [one | {"k": 17} for one in mechanism["parts"]]},
    }


@cache
def named(name: str) -> Question:
    """The question of this name in the survey of every type."""
    return {question.name: question for question in every_type().questions}[name]


@dataclass(frozen=True)
class Planted:
    """A wrong randomiser under a right definition; where it is known, what it realises."""

    name: str
    question: Question
    randomise: Faulty
    realises: float | None = None
    reports_over_waves: InWaves | None = None


# --- the randomisers ------------------------------------------------------------------------------


def kept(answer: int, coins: Coins, own: int = 3, other: int = 1, k: int = 4) -> int:
    """Correct k-ary response."""
    return SubsetSelection(k, 1, own, other).randomise(answer, coins)[0]


def truth_first(answer: int, coins: Coins) -> Hashable:
    report = SubsetSelection(5, 2, 3, 1).randomise(answer, coins)
    return (answer, *(c for c in report if c != answer)) if answer in report else report


def without_reset(set_when_0: tuple[int, int], set_when_1: tuple[int, int]) -> Faulty:
    """pure-LDP up to 1.1.2: the true bit keeps the noise of a false one as well."""

    def faulty(answer: tuple[int, ...], coins: Coins) -> Hashable:
        bits = [coins.choose(set_when_0) == 0 for _ in range(2)]
        for tick in answer:
            bits[tick] = coins.choose(set_when_1) == 0 or bits[tick]
        return tuple(option for option in range(2) if bits[option])

    return faulty


def float_laplace(answer: int, coins: Coins) -> Hashable:
    """x + scale * log(u) in doubles: one answer gives what the other cannot (Mironov 2012)."""
    u = (coins.below(512) + 0.5) / 512
    sign = 1 if coins.below(2) else -1
    return (float(answer) + sign * 3.7 * math.log(u),)


def rarely_the_truth(question: Question, one_in: int) -> Faulty:
    """The catastrophe mechanism: a report that the answer decides, with a small probability."""
    mechanism = question.mechanism
    fixed = {
        answer: mechanism.randomise(answer, Coins(lambda count: Random(7).randbytes(count)))
        for answer in mechanism.law.extremes
    }

    def faulty(answer: Any, coins: Coins) -> Hashable:
        if coins.choose((1, one_in - 1)) == 0 and answer in fixed:
            return fixed[answer]
        return mechanism.randomise(answer, coins)

    return faulty


def another_generator(question: Question) -> Faulty:
    """`random` instead of the coins, as Math.random would be in a browser."""
    other = Random(1)
    return lambda answer, _: question.mechanism.randomise(answer, Coins(other.randbytes))


def another_generator_beside_the_coins(question: Question) -> Faulty:
    """The coins are drawn, and then not used for one report in a thousand."""
    other = Random(1)

    def faulty(answer: Any, coins: Coins) -> Hashable:
        report = question.mechanism.randomise(answer, coins)
        if other.random() < 0.001:
            return question.mechanism.randomise(answer, Coins(other.randbytes))
        return report

    return faulty


def seeded_by_the_answer(question: Question) -> Faulty:
    def faulty(answer: Any, _: Coins) -> Hashable:
        seeded = Random(str(answer))
        return question.mechanism.randomise(answer, Coins(seeded.randbytes))

    return faulty


def seeded_by_few_coins(question: Question) -> Faulty:
    """Twelve bits of the system's randomness, stretched: the law is nearly right."""

    def faulty(answer: Any, coins: Coins) -> Hashable:
        seeded = Random(coins.below(1 << 12))
        return question.mechanism.randomise(answer, Coins(seeded.randbytes))

    return faulty


def unpadded_sets(answer: tuple[int, ...], coins: Coins) -> Hashable:
    return (coins.choose([3 if v in answer else 1 for v in range(4)]),)


def swapped_p_and_q(answer: int, coins: Coins) -> Hashable:
    """The weights of keeping and of all others have changed places."""
    if coins.choose((4, 3)) == 0:
        return (answer,)
    return ((answer + 1 + coins.below(4)) % 5,)


def off_by_one_bound(answer: int, coins: Coins) -> Hashable:
    u = coins.below(5)  # of 3 + 3 * 1 weights, the last is never drawn
    return (answer if u < 3 else (answer + u - 2) % 4,)


def random_sampling_plus_fake_data(d: int) -> Faulty:
    """RS+FD: one of d answers at epsilon' = ln(d (e^epsilon - 1) + 1), the others made up. The
    whole report realises epsilon', not epsilon. (Arcolezi et al. 2021 state it for neighbours that
    differ in one answer only.) So it is not offered."""
    own = round((d * (math.e - 1) + 1) * OTHER)

    def faulty(answer: int, coins: Coins) -> Hashable:
        bits = [answer >> i & 1 for i in range(d)]
        real = coins.below(d)
        flip = coins.choose((own, OTHER))
        sent = [bits[i] ^ flip if i == real else coins.below(2) for i in range(d)]
        return (sum(bit << i for i, bit in enumerate(sent)),)

    return faulty


def no_rejection(answer: int, coins: Coins) -> Hashable:
    """A draw of three bits modulo 5: the first three values come up twice as often."""
    u = coins.below(8) % 5  # 3 for keeping, 1 for each of the two others
    return (answer if u < 3 else (answer + u - 2) % 3,)


def window_clipped_at_the_ends(answer: int, coins: Coins) -> Hashable:
    """A window that is cut off instead of starting further in has fewer outputs."""
    return (coins.choose([3 if abs(y - answer) <= 1 else 1 for y in range(6)]),)


def rounded_up(answer: int, coins: Coins) -> Hashable:
    return (kept(answer, coins, OWN_E + 1, OTHER),)


def never_lies(answer: int, coins: Coins) -> Hashable:
    return (answer,) if coins.choose((3, 1)) == 0 else ()


def asks_about_ticks_only(answer: tuple[int, ...], coins: Coins) -> Hashable:
    """Sampling an option among the ticked ones instead of among all."""
    options = answer or range(4)
    option = options[coins.below(len(options))]
    return (2 * option + ((option in answer) ^ coins.choose((3, 1))),)


def order_of_insertion(answer: int, coins: Coins) -> Hashable:
    others = [c for c in range(4) if c != answer]
    first = answer if coins.choose((6, 2)) == 0 else others.pop(coins.below(3))
    rest = [c for c in others if c != first]
    return first, rest[coins.below(len(rest))]


def hidden_question_sends_nothing(answer: int, coins: Coins) -> Hashable:
    """The last choice is not_applicable."""
    return () if answer == 2 else (kept(answer, coins, k=3),)


def whole_epsilon_for_each_part(answer: int, coins: Coins) -> Hashable:
    bits = [kept(answer >> i & 1, coins, OWN_E, OTHER, 2) for i in range(2)]
    return (bits[0] | bits[1] << 1,)


def noise_of_half_the_scale(answer: int, coins: Coins) -> Hashable:
    return (answer + discrete_laplace(Fraction(5), coins),)


def gaussian_for_one_step(answer: int, coins: Coins) -> Hashable:
    return (answer + discrete_gaussian(Fraction(14), coins),)


def a_window_that_forgets_its_rounding(answer: int, coins: Coins) -> Hashable:
    mechanism = named("income").mechanism
    assert isinstance(mechanism, Window)
    if coins.below(20):
        return (answer + coins.below(mechanism.w),)
    return mechanism.randomise(answer, coins)


def ticks_that_tell_how_many(answer: tuple[int, ...], coins: Coins) -> Hashable:
    return (*SetResponse(4, 2, 1, 3, 1).randomise(answer, coins), len(answer))


def central_laplace(answer: int, coins: Coins) -> Hashable:
    """Scale sensitivity / epsilon on a range 100 times the sensitivity: 1.490 instead of 1 between
    neighbours, and far more between the ends."""
    return BoundedLaplace(20_001, "200", "resample").randomise(answer, coins)


def a_new_memo_in_each_wave(mechanism: Any) -> InWaves:
    return lambda answer, waves, coins: [mechanism.randomise(answer, coins) for _ in range(waves)]


def the_same_chance_in_each_wave(mechanism: Any) -> InWaves:
    """The whole report is kept instead of the memo: it never changes, and can be joined."""
    return lambda answer, waves, coins: [mechanism.randomise(answer, coins)] * waves


def a_new_memo_now_and_then(mechanism: Any) -> InWaves:
    def faulty(answer: Any, waves: int, coins: Coins) -> list[Cells]:
        memo = mechanism.draw_memo(answer, coins)
        if coins.below(4) == 0:
            return [mechanism.randomise(answer, coins) for _ in range(waves)]
        return [mechanism.report_from_memo(memo, coins) for _ in range(waves)]

    return faulty


def keeps_too_much(mechanism: Any) -> Faulty:
    """The memo is drawn with odds that are one part in a hundred too large."""
    more = replace(mechanism, own=101 * mechanism.own, other=100 * mechanism.other)

    def faulty(answer: Any, coins: Coins) -> Cells:
        return mechanism.report_from_memo(more.draw_memo(answer, coins), coins)

    return faulty


def in_a_panel(once: Any, history: int = 9) -> Question:
    return asked(memoised(once, Fraction(history)), odds="3", history={"odds": str(history)})


def planted_over_waves(name: str, fault: Callable[[Any], InWaves], once: Any) -> Planted:
    question = in_a_panel(once)
    waves = fault(question.mechanism)
    return Planted(f"{fault.__name__}_{name}", question, question.mechanism.randomise, None, waves)


_PANELS: dict[str, Any] = {
    "yes_no": SubsetSelection(2, 1, 3, 1),
    "select_one": SubsetSelection(8, 2, 3, 1),
    "ticks": SetResponse(4, 2, 1, 3, 1),
    "window": Window(11, 2, 1, 3, 1),
    "channel": Channel(3, ((6, 2, 2), (3, 4, 3), (2, 2, 6))),
}

_E = {"epsilon": "1"}
_OUE = Unary(2, 1, OWN_E + OTHER, 2 * OTHER, 2 * (OWN_E + OTHER))
_SUE = Unary(2, 1, ROOT_E, OTHER, ROOT_E + OTHER)

FAULTS = [
    Planted("truth_first", asked(SubsetSelection(5, 2, 3, 1)), truth_first, math.inf),
    Planted("unary_without_reset", asked(_OUE, **_E),
            without_reset((OTHER, OWN_E), (1, 1)), 1.5514),
    Planted("symmetric_unary_without_reset", asked(_SUE, **_E),
            without_reset((OTHER, ROOT_E), (ROOT_E, OTHER)), 1.6803),
    Planted("truncated_laplace_in_the_central_calibration",
            asked(BoundedLaplace(20_001, "20000", "resample"), **_E), central_laplace),
    Planted("float_laplace", asked(Laplace(2, "1"), **_E), float_laplace, math.inf),
    *(Planted(f"catastrophe_{name}", named(name), rarely_the_truth(named(name), 10_000))
      for name in
      ("stolen", "what", "caught", "drugs", "worries", "happy", "trust", "drinks", "income",
       "hours", "home", "vote")),
    *(Planted(f"one_truth_in_20_{name}", named(name), rarely_the_truth(named(name), 20))
      for name in ("drugs", "sick", "fines")),
    *(Planted(f"{fault.__name__}_{question.name}", question, fault(question))
      for fault in
      (another_generator, another_generator_beside_the_coins, seeded_by_the_answer,
       seeded_by_few_coins)
      for question in every_type().questions),
    Planted("unpadded_sets", asked(SetResponse(4, 3, 1, 3, 1)), unpadded_sets),
    Planted("swapped_p_and_q", asked(SubsetSelection(5, 1, 3, 1)), swapped_p_and_q,
            math.log(16 / 3)),
    Planted("off_by_one_bound", asked(SubsetSelection(4, 1, 3, 1)), off_by_one_bound),
    Planted("random_sampling_plus_fake_data_2", tuple_of(2),
            random_sampling_plus_fake_data(2), 1.4899),
    Planted("random_sampling_plus_fake_data_3", tuple_of(3),
            random_sampling_plus_fake_data(3), 1.8172),
    Planted("no_rejection", asked(SubsetSelection(3, 1, 3, 1)), no_rejection),
    Planted("window_clipped_at_the_ends", asked(Window(6, 6, 3, 3, 1)),
            window_clipped_at_the_ends),
    Planted("epsilon_rounded_up", asked(SubsetSelection(4, 1, OWN_E, OTHER), **_E), rounded_up),
    Planted("never_lies", asked(SubsetSelection(2, 1, 3, 1)), never_lies, math.inf),
    Planted("asks_about_ticks_only", asked(SampledTicks(4, 1, 3, 1)), asks_about_ticks_only,
            math.inf),
    Planted("order_of_insertion", asked(SubsetSelection(4, 2, 3, 1)), order_of_insertion),
    Planted("hidden_question_sends_nothing", asked(SubsetSelection(3, 1, 3, 1)),
            hidden_question_sends_nothing, math.inf),
    Planted("whole_epsilon_for_each_part", tuple_of(2), whole_epsilon_for_each_part, 2.0),
    Planted("noise_of_half_the_scale", named("sick"), noise_of_half_the_scale),
    Planted("gaussian_for_one_step",
            asked(Gaussian(101, 1, "200000", "1", "0.00001"), epsilon="1", delta="0.00001"),
            gaussian_for_one_step),
    Planted("a_window_that_forgets_its_rounding", named("income"),
            a_window_that_forgets_its_rounding),
    *(planted_over_waves(name, fault, once)
      for fault in
      (a_new_memo_in_each_wave, the_same_chance_in_each_wave, a_new_memo_now_and_then)
      for name, once in _PANELS.items()),
    *(Planted(f"keeps_too_much_{name}", question, keeps_too_much(question.mechanism))
      for name, once in _PANELS.items()
      for question in [in_a_panel(once)]),
    Planted("ticks_that_tell_how_many", asked(SetResponse(4, 2, 1, 3, 1)),
            ticks_that_tell_how_many, math.inf),
]  # fmt: skip

_DELTA = {"delta": "0.00001"}

DEFINITIONS: dict[str, dict[str, Any]] = {
    "textbook_gaussian": number(  # sqrt(2 ln(1.25/delta)) / epsilon does not hold at epsilon 10
        {"epsilon": "10"} | _DELTA,
        name="gaussian", k=101, d=1, epsilon="10", **_DELTA,
        sigma2=str(int(ClassicalGaussNoise(10, 1e-5).noise(100).scale ** 2)),
    ),
    "gaussian_for_one_step": number(
        _E | _DELTA, name="gaussian", k=101, d=1, sigma2="14", epsilon="1", **_DELTA
    ),
    "truncated_laplace_in_the_central_calibration": number(
        _E, name="bounded_laplace", k=20_001, scale="200", beyond="resample"
    ),
    "scale_for_a_shorter_range": number(_E, name="laplace", k=11, scale="9"),
    "epsilon_rounded_up": number(
        _E, name="window", k=11, m=2, w=1, own=OWN_E + 1, other=OTHER
    ),
    "whole_epsilon_for_each_part": {
        "name": "asked", "label": "?", "type": "vector", "claim": _E,
        "parts": [
            {"name": name, "label": "?",
             "range": {"minimum": "0", "maximum": "10", "step": "1"}} for name in "ab"
        ],
        "mechanism": {"name": "vector", "s": 2, "parts": [
            {"name": "window", "k": 11, "m": 2, "w": 1, "own": OWN_E, "other": OTHER}
        ] * 2},
    },
}  # fmt: skip


# --- what is right --------------------------------------------------------------------------------

CLASSICS: dict[str, Question] = {
    "Warner 1965": asked(SubsetSelection(2, 1, 3, 1)),
    "forced response, Boruch 1971": asked(Channel(2, ((3, 1), (1, 3)))),
    "unrelated question, Greenberg 1969": asked(Channel(2, ((5, 1), (2, 4))), odds="4"),
    "k-ary response": asked(SubsetSelection(7, 1, OWN_E, OTHER), **_E),
    "subset selection": asked(SubsetSelection(6, 3, 3, 1)),
    "optimised unary encoding": asked(_OUE, **_E),
    "basic RAPPOR": asked(_SUE, **_E),
    "PrivSet": asked(SetResponse(5, 2, 2, 3, 1)),
    "sampled ticks": asked(SampledTicks(6, 2, 3, 1), odds="9"),
    "Duchi, Jordan and Wainwright 2018": asked(Window(21, 2, 1, 3, 1)),
    "square wave": asked(Window(6, 9, 4, 3, 1)),
    "piecewise": asked(Window(21, 13, 4, 3, 1)),
    "exponential mechanism": asked(BoundedLaplace(7, "6", "resample"), **_E),
    "clamped Laplace": asked(BoundedLaplace(7, "6", "clamp"), **_E),
    "discrete Laplace": asked(Laplace(7, "6"), **_E),
    "two rounds, Erlingsson 2014": in_a_panel(SubsetSelection(2, 1, 3, 1)),
    **{f"a memo, {name}": in_a_panel(once) for name, once in _PANELS.items()},
    "discrete Gaussian": asked(
        Gaussian(11, 1, "1400", "1", "0.00001"), epsilon="1", delta="0.00001"
    ),
}
