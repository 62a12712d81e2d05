"""A mechanism is a class and its law: all else works for it as it stands.

Four mechanisms that nothing but this module knows, one of each shape, go through everything that
the package does with a mechanism; and what shipping one needs besides fails where it is missing.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations
from math import e, exp, sqrt
from pathlib import Path
from random import Random
from typing import Any, get_args

import msgspec
import numpy as np
import pytest

from deniably.audit.question_audit import audit_question
from deniably.audit.walking import walk
from deniably.core.coins import Coins
from deniably.core.errors import BadSurvey
from deniably.core.loss import Loss
from deniably.design.planning import plan_figures
from deniably.estimation.figures import FigureEstimate, groups
from deniably.estimation.scores import of_choice, of_target
from deniably.estimation.tally import Tally, tally
from deniably.mechanisms import Mechanism
from deniably.mechanisms.cells import Cells, check_one, check_subset
from deniably.mechanisms.law import (
    CoinEach,
    CoinForSome,
    Finite,
    Noise,
    One,
    Supporting,
    Ticks,
)
from deniably.mechanisms.noise import discrete_laplace
from deniably.results import plausibility
from deniably.results.result import result
from deniably.results.spreadsheet import spreadsheet
from deniably.simulation import bulk
from deniably.simulation.people import read_people
from deniably.simulation.reports import simulate
from deniably.simulation.runs import compare
from deniably.survey.parts import Choice, Claim, Range
from deniably.survey.questions import Number, Question, SelectMultiple, SelectOne
from deniably.survey.report import randomise_answers
from deniably.survey.survey import ResultsRule, Survey, as_survey
from deniably.wording.explain import describe_sending, icon_arrays
from support.leverage import leverages
from support.seeded import seeded_coins

N = 2_000


# --- four mechanisms ------------------------------------------------------------------------


class Hadamard(msgspec.Struct, frozen=True, tag_field="name", tag="hadamard"):
    """Hadamard response (Acharya, Sun and Zhang 2019): more outputs than choices, of which half
    are likelier, by the answer's row of a Hadamard matrix."""

    k: int
    own: int
    other: int

    @property
    def outputs(self) -> int:
        return 1 << self.k.bit_length()

    def _row(self, answer: int) -> list[int]:
        signs = [((answer + 1) & y).bit_count() % 2 for y in range(self.outputs)]
        return [self.other if sign else self.own for sign in signs]

    @property
    def described(self) -> str:
        return f"Hadamard response, {self.outputs} outputs"

    @property
    def loss(self) -> Loss:
        return Loss(Fraction(self.own, self.other))

    @property
    def law(self) -> Finite:
        return Finite(One(self.k), self.k, self.outputs, self._row, self)

    def randomise(self, answer: int, coins: Coins) -> Cells:
        return (coins.choose(self._row(answer)),)

    def check(self, report: Sequence[int], path: str = "$") -> None:
        check_one(report, 0, self.outputs - 1, path)


class Named(msgspec.Struct, frozen=True, tag_field="name", tag="any_named"):
    """Every choice by a coin of its own, for one answer: a report names any number of them."""

    k: int
    own: int
    other: int
    total: int

    @property
    def described(self) -> str:
        return f"named choices of {self.k}"

    @property
    def loss(self) -> Loss:
        p, q = self.law.p, self.law.q
        return Loss(p / q * (1 - q) / (1 - p))

    @property
    def law(self) -> Supporting:
        p, q = Fraction(self.own, self.total), Fraction(self.other, self.total)
        return Supporting(One(self.k), p, q, CoinEach(p, q, self.k))

    def randomise(self, answer: int, coins: Coins) -> Cells:
        weights = [self.own if choice == answer else self.other for choice in range(self.k)]
        return tuple(v for v, w in enumerate(weights) if not coins.choose((w, self.total - w)))

    def check(self, report: Sequence[int], path: str = "$") -> None:
        check_subset(report, None, self.k, path)


class OneTick(msgspec.Struct, frozen=True, tag_field="name", tag="one_tick"):
    """One option, drawn without looking, with its tick by Warner's design."""

    k: int
    own: int
    other: int

    @property
    def described(self) -> str:
        return f"one tick of {self.k}"

    @property
    def loss(self) -> Loss:
        return Loss(Fraction(self.own, self.other))

    @property
    def law(self) -> Supporting:
        p = Fraction(self.own, self.own + self.other)
        joint = CoinForSome(p, 1 - p, self.k)
        return Supporting(Ticks(self.k), p, 1 - p, joint, 1, Fraction(1, self.k), both=True)

    def randomise(self, answer: Sequence[int], coins: Coins) -> Cells:
        option = coins.below(self.k)
        return (2 * option + ((option in answer) ^ coins.choose((self.own, self.other))),)

    def check(self, report: Sequence[int], path: str = "$") -> None:
        check_one(report, 0, 2 * self.k - 1, path)


class Twice(msgspec.Struct, frozen=True, tag_field="name", tag="laplace_twice"):
    """A number plus the sum of two discrete Laplace noises, each of this scale."""

    k: int
    scale: int

    @property
    def described(self) -> str:
        return f"two Laplace noises of scale {self.scale}"

    @property
    def loss(self) -> Loss:
        return Loss(exponent=Fraction(self.k - 1, self.scale))

    @property
    def reach(self) -> int:
        return 60 * self.scale

    @property
    def law(self) -> Noise:
        a = exp(-1 / self.scale)
        variance = 4 * a / (1 - a) ** 2
        usual = 0.6 * sqrt(variance)
        return Noise(One(self.k), variance, usual, self.reach, self._mass, self._tail, self)

    def _mass(self, noise: Any) -> Any:
        a = exp(-1 / self.scale)
        middle = (1 + a * a) / (1 - a * a)
        return ((1 - a) / (1 + a)) ** 2 * e ** (-abs(noise) / self.scale) * (abs(noise) + middle)

    def _tail(self, noise: Any) -> Any:
        a = exp(-1 / self.scale)
        return self._mass(noise) / (1 - a) ** 2

    def randomise(self, answer: int, coins: Coins) -> Cells:
        noise = sum(discrete_laplace(Fraction(self.scale), coins) for _ in range(2))
        return (min(max(answer + noise, -self.reach), self.k - 1 + self.reach),)

    def check(self, report: Sequence[int], path: str = "$") -> None:
        check_one(report, -self.reach, self.k - 1 + self.reach, path)


HADAMARD, NAMED, ONE_TICK, TWICE = (
    Hadamard(3, 3, 1), Named(4, 4, 2, 8), OneTick(3, 3, 1), Twice(11, 5),
)  # fmt: skip
FOUR: list[Any] = [HADAMARD, NAMED, ONE_TICK, TWICE]
FINITE: list[Any] = [HADAMARD, NAMED, ONE_TICK]


def name_of(mechanism: Any) -> str:
    return type(mechanism).__name__


each = pytest.mark.parametrize("mechanism", FOUR, ids=name_of)


# --- a survey that asks by them -------------------------------------------------------------


def choices(k: int) -> list[Choice]:
    return [Choice(name=name, label=name.upper()) for name in "abcd"[:k]]


def claim(mechanism: Any) -> Claim:
    loss = mechanism.loss
    if loss.exponent:
        return Claim(epsilon=str(loss.exponent))
    return Claim(odds=str(loss.odds))


def question_of(mechanism: Any) -> Question:
    asked = {"label": "What?", "claim": claim(mechanism), "mechanism": mechanism}
    match mechanism:
        case Hadamard():
            return SelectOne(name="hadamard", choices=choices(3), **asked)
        case Named():
            return SelectOne(name="named", choices=choices(4), **asked)
        case OneTick():
            return SelectMultiple(name="ticks", choices=choices(3), most=2, **asked)
        case _:
            grid = Range(minimum="0", maximum="10", step="1")
            return Number(name="number", range=grid, aim="mean", **asked)


def survey() -> Survey:
    return Survey(
        spec=1,
        name="new",
        title="New mechanisms",
        language="en",
        results=ResultsRule(minimum=1, while_open=True),
        questions=[question_of(one) for one in FOUR],
    )


def somebody(random: Random) -> dict[str, Any]:
    return {
        "hadamard": random.choice("aaab"),
        "named": random.choice("aabd"),
        "ticks": [tick for tick in "ab" if random.random() < 0.4],
        "number": random.randrange(8),
    }


@pytest.fixture(scope="module")
def people() -> list[dict[str, Any]]:
    random = Random(7)
    return [somebody(random) for _ in range(N)]


@pytest.fixture(scope="module")
def tallies(people: list[dict[str, Any]]) -> dict[str, Tally]:
    """Of the reports that devices make of these answers, with coins of a fixed seed."""
    new, coins = survey(), seeded_coins(11)
    made = [randomise_answers(new, one, coins).values for one in people]
    return {
        one.name: tally([report[one.name] for report in made], one.mechanism.law.cell_count)
        for one in new.questions
    }


def some_answer(mechanism: Any) -> Any:
    match mechanism:
        case OneTick():
            return ["a"]
        case Twice():
            return 7
        case _:
            return "a"


def found_in(question: Question, counted: Tally) -> list[FigureEstimate]:
    found = [one for group in groups(question) for one in group.estimate_figures(counted)]
    return [one for one in found if one is not None]


def encoded(mechanism: Any, people: list[dict[str, Any]]) -> Any:
    question = question_of(mechanism)
    inputs = [question.encode(one[question.name]) for one in people]
    if not isinstance(mechanism, OneTick):
        return np.array(inputs)
    return np.array([[option in ticks for option in range(mechanism.k)] for ticks in inputs])


# --- privacy --------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", FINITE, ids=name_of)
def test_every_branch_is_walked_and_realises_what_is_claimed(mechanism: Any) -> None:
    walked = walk(mechanism, mechanism.randomise)

    assert walked.fault is None
    assert walked.complete
    assert walked.realised == pytest.approx(mechanism.loss.epsilon)


def test_noise_is_walked_as_far_as_it_goes() -> None:
    walked = walk(TWICE, TWICE.randomise)

    assert walked.fault is None
    assert 0 < walked.unexplored_mass < 1


@each
def test_an_audit_passes_it(mechanism: Any) -> None:
    verdict = audit_question(
        question_of(mechanism), mechanism.randomise, 400, coins=partial(seeded, Random(3))
    )

    assert verdict.fault is None
    assert verdict.walk.answers > 1


def leaky(mechanism: Any) -> Callable[[Any, Coins], Cells]:
    """The mechanism's randomiser with a mistake: its reports give away more than it states."""
    match mechanism:
        case Hadamard():
            return Hadamard(3, 4, 1).randomise
        case Named():
            return Named(4, 5, 2, 8).randomise
        case OneTick():  # an option that is ticked is drawn, where there is one
            return lambda answer, coins: (
                (2 * answer[coins.below(len(answer))] + 1,)
                if answer
                else mechanism.randomise(answer, coins)
            )
        case _:  # noise once
            return lambda answer, coins: (
                answer + discrete_laplace(Fraction(mechanism.scale), coins),
            )


@each
def test_an_audit_catches_a_leaky_variant(mechanism: Any) -> None:
    verdict = audit_question(
        question_of(mechanism), leaky(mechanism), 400, coins=partial(seeded, Random(3))
    )

    assert verdict.fault is not None
    assert verdict.outcome == "failed"


def seeded(random: Random) -> Coins:
    return Coins(random.randbytes)


# --- reports, tallies, estimates ------------------------------------------------------------


@each
def test_bulk_reports_fall_as_the_law_says(mechanism: Any) -> None:
    """Of one answer, cell by cell within six standard deviations: a false alarm in 10**6 runs."""
    question, n = question_of(mechanism), 20_000
    if isinstance(mechanism, Twice):
        n = 2_000
    answer = question.encode(some_answer(mechanism))
    row = [v in answer for v in range(3)] if isinstance(answer, tuple) else answer
    counted = bulk.tally_many(mechanism, bulk.randomise_many(mechanism, np.array([row] * n)))

    assert counted.n == n
    law, cells = mechanism.law, counted.cells()
    for cell in law.cells(answer):
        share = float(law.cell_probability(answer, cell))
        assert abs(cells.get(cell, 0) - n * share) <= 6.5 * sqrt(n * share * (1 - share)) + 6.5


def test_estimates_find_the_truth_within_their_joint_reach(
    people: list[dict[str, Any]], tallies: dict[str, Tally]
) -> None:
    """Every figure within five of its standard errors of the share or mean in the file."""
    truth = {
        "hadamard": [sum(one["hadamard"] == c for one in people) / N for c in "abc"],
        "named": [sum(one["named"] == c for one in people) / N for c in "abcd"],
        "ticks": [sum(c in one["ticks"] for one in people) / N for c in "abc"],
        "number": [sum(one["number"] for one in people) / N],
    }
    for question in survey().questions:
        found = found_in(question, tallies[question.name])
        assert len(found) == len(truth[question.name])
        for one, true in zip(found, truth[question.name], strict=True):
            assert one.estimate is not None
            assert one.standard_error is not None
            assert abs(one.estimate - true) < 5 * one.standard_error
            assert one.population_margin[0] < one.estimate < one.population_margin[1]


# --- planning, defence, simulation ----------------------------------------------------------


def test_a_plan_says_what_repeated_surveys_show(people: list[dict[str, Any]]) -> None:
    """The deviation of 60 simulated surveys and the planned one: within a factor of 1.8, which by
    chance they leave once in ten million times."""
    new = survey()
    rows = plan_figures(new, n=N, share=0.5)
    assert [row.question for row in rows] == ["hadamard", "named", "ticks", "number"]
    for mechanism in FOUR:
        question = question_of(mechanism)
        given, seen = encoded(mechanism, people[:200]), list[Any]()
        for _ in range(60):
            counted = bulk.tally_many(mechanism, bulk.randomise_many(mechanism, given))
            seen.append(found_in(question, counted)[0].estimate)
        score = of_target(mechanism) if isinstance(mechanism, Twice) else first_choice(mechanism)
        noise = score.noise if isinstance(mechanism, Twice) else score.noise[[0, -1]]
        width = 10 if isinstance(mechanism, Twice) else 1
        expected = width * sqrt(float(noise.max()) / score.sampled_fraction / 200)
        assert expected / 1.8 < np.std(seen) < expected * 1.8
        assert next(row for row in rows if row.question == question.name).plan.margin > 0


def first_choice(mechanism: Any) -> Any:
    if isinstance(mechanism.law, Supporting):
        return of_choice(mechanism)
    return of_target(mechanism, np.eye(mechanism.k)[0])


@each
def test_the_worst_report_of_all_moves_a_figure_by_its_leverage(mechanism: Any) -> None:
    """Every report that passes the check is added to 50 honest ones, and how far it moves each
    figure is taken back to its score: the largest and the smallest are those that are said."""
    question = question_of(mechanism)
    (leverage,) = leverages(question)
    assert leverage is not None
    answer = question.encode(some_answer(mechanism))
    coins = seeded_coins(5)
    honest = [mechanism.randomise(answer, coins) for _ in range(50)]

    before, moved = figures_of(question, honest), list[float]()
    for report in every_report(mechanism):
        if isinstance(mechanism, OneTick):  # only the reports of an option count in its share
            asked = 1 + np.bincount([cell // 2 for (cell,) in honest], minlength=3)
            asked[[v for v in range(3) if v != report[0] // 2]] = 0
        else:
            asked = np.full(len(before), 51)
        after = figures_of(question, [*honest, report])
        moved += (before + (after - before) * asked)[asked > 0].tolist()
    if isinstance(mechanism, Twice):
        moved = [one / 10 for one in moved]

    assert max(moved) == pytest.approx(leverage.high)
    assert min(moved) == pytest.approx(leverage.low)


def every_report(mechanism: Any) -> list[Cells]:
    match mechanism:
        case Named():
            return [report for n in range(5) for report in combinations(range(4), n)]
        case Twice():
            return [(-mechanism.reach,), (3,), (mechanism.k - 1 + mechanism.reach,)]
        case _:
            return [(cell,) for cell in range(mechanism.law.cell_count)]


def figures_of(question: Question, reports: Sequence[Cells]) -> Any:
    counted = tally(reports, question.mechanism.law.cell_count)
    return np.array([one.estimate for one in found_in(question, counted)])


def test_implausible_counts_are_reported(tallies: dict[str, Tally]) -> None:
    for mechanism in (NAMED, ONE_TICK):
        honest = tallies[question_of(mechanism).name]
        assert not plausibility.impossible(mechanism, honest, 1e-6).any()
        fake = tally([(0,)] * 500, mechanism.law.cell_count)
        assert plausibility.impossible(mechanism, fake, 1e-6).any()
    far = tally([(11 + TWICE.reach - 5,)] * 3 + [(3,)] * 100, None)
    assert plausibility.beyond_noise(TWICE, far, 1e-6) == 3
    assert plausibility.beyond_noise(TWICE, tallies["number"], 1e-6) == 0


def test_a_simulation_of_known_people_holds_its_predictions(people: list[dict[str, Any]]) -> None:
    """Eight runs: each estimate within six predicted standard errors."""
    rows = [
        [str(one["hadamard"]), str(one["named"]), ";".join(one["ticks"]), str(one["number"])]
        for one in people[:500]
    ]
    known = read_people(survey(), [["hadamard", "named", "ticks", "number"], *rows])
    compared = compare(known, [simulate(known) for _ in range(8)])

    assert Counter(one.question for one in compared) == {
        "hadamard": 3, "named": 4, "ticks": 3, "number": 1,
    }  # fmt: skip
    for one in compared:
        assert one.predicted is not None
        assert np.abs(one.estimates - one.truth.asked).max() < 6 * one.predicted + 1e-9


# --- results --------------------------------------------------------------------------------


def test_results_and_the_spreadsheet_show_it(tallies: dict[str, Tally]) -> None:
    new = survey()
    shown = result(new, "closed", tallies)
    document = json.loads(msgspec.json.encode(shown))

    for mechanism, question in zip(FOUR, document["questions"], strict=True):
        assert question["method"] == mechanism.described
        assert question["mechanism"]["name"] == mechanism.__struct_config__.tag
        assert question["sentence"]
        assert question["poisoning"]["exchange"] > 1
    lines = spreadsheet(shown).splitlines()
    for question in new.questions:
        assert any(question.name in line for line in lines)


@each
def test_respondents_read_what_is_sent_by_the_family_of_its_law(mechanism: Any) -> None:
    question = question_of(mechanism)

    assert describe_sending(question)
    assert isinstance(icon_arrays(question), list)


# --- what shipping it needs besides ---------------------------------------------------------


def test_a_device_refuses_a_mechanism_that_is_not_registered() -> None:
    definition = json.loads(survey().canonical)

    with pytest.raises(BadSurvey, match="there is no such mechanism"):
        as_survey(definition)


def test_results_fail_loudly_of_a_mechanism_that_nobody_described(
    tallies: dict[str, Tally],
) -> None:
    class Silent(msgspec.Struct, frozen=True, tag_field="name", tag="silent"):
        k: int = 3
        loss = HADAMARD.loss
        law = HADAMARD.law

    new = survey()
    new = msgspec.structs.replace(
        new, questions=[msgspec.structs.replace(new.questions[0], mechanism=Silent())]
    )
    with pytest.raises(AttributeError, match="described"):
        result(new, "closed", tallies)


SHIPPED = {
    "the twin in JavaScript": "client/deniably_client/web/mechanisms/mechanism.js",
    "the independent reference": "shared/deniably/reference/mechanisms.py",
    "the specification": "shared/SPEC.md",
    "the vectors": "shared/vectors/*.json",
}


def missing(tag: str) -> list[str]:
    """What does not know of a mechanism with this tag."""
    root = Path(__file__).parents[2]
    texts = {
        what: "".join(path.read_text(encoding="utf-8") for path in root.glob(place))
        for what, place in SHIPPED.items()
    }
    return [what for what, text in texts.items() if not re.search(rf"\b{tag}\b", text)]


@pytest.mark.parametrize("kind", get_args(Mechanism), ids=lambda kind: kind.__name__)
def test_whatever_is_registered_has_its_twins_vectors_and_paragraph(kind: Any) -> None:
    assert missing(kind.__struct_config__.tag) == []


@pytest.mark.parametrize("kind", [Hadamard, Named, OneTick, Twice], ids=lambda kind: kind.__name__)
def test_what_is_missing_is_found(kind: Any) -> None:
    assert missing(kind.__struct_config__.tag) == list(SHIPPED)


def test_an_author_has_no_name_for_it_until_there_is_one() -> None:
    from deniably.design.named_mechanisms import NAMES, for_choice
    from deniably.survey.privacy import Privacy

    assert not {one.__struct_config__.tag for one in FOUR} & set(NAMES)
    with pytest.raises(ValueError, match="hadamard is no mechanism for one answer"):
        for_choice(3, Privacy(epsilon=Fraction(1)), "hadamard")
