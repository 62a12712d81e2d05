"""Estimates from the reports of people and of a mixer's blanks together."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations_with_replacement, product

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from deniably.core.binomial import AddedCoins
from deniably.estimation import blank_laws
from deniably.estimation.channels import matrix
from deniably.estimation.clusters import clusters
from deniably.estimation.difference import SupportCount, against, between_choices, between_groups
from deniably.estimation.estimate import estimate, standard_error
from deniably.estimation.figures import Share, groups
from deniably.estimation.inversion import linear, scores
from deniably.estimation.question_distributions import number_distribution
from deniably.estimation.question_means import mean
from deniably.estimation.question_shares import standing_out, weighted_mean
from deniably.estimation.scores import of_choice, of_target
from deniably.estimation.shares_among_asked import among_asked, counts_alone, follow_ups
from deniably.estimation.smoothing import smoothed
from deniably.estimation.tally import Tally, tally
from deniably.mechanisms import Laplace, SampledTicks, SetResponse, SubsetSelection, Unary, Window
from deniably.mechanisms.law import Law, One, Randomiser, Supporting
from deniably.simulation.bulk import randomise_many, tally_many
from deniably.simulation.reports import simulate_people
from deniably.simulation.runs import estimates
from deniably.simulation.truth import truths
from deniably.survey.questions import Number, Point, Scale
from support.blanks import PEOPLE, every_answer, expected_batch, made_up, mixed, tally_of
from support.cases import for_each
from support.every_type import survey_of_everything
from support.thorough import thorough
from support.two_binomials import rates, sum_of

Floats = npt.NDArray[np.float64]
BLANKS = 220
YES_NO = SubsetSelection(k=2, omega=1, own=8, other=1)


# --- what a blank is --------------------------------------------------------------------------


@for_each(
    "mechanism",
    [
        YES_NO,
        SubsetSelection(k=5, omega=2, own=3, other=1),
        SetResponse(k=4, most=2, size=2, own=8, other=1),
        SampledTicks(k=4, s=2, own=8, other=1),
        Unary(k=3, most=2, own=3, other=1, total=4),
        Window(k=5, m=6, w=2, own=8, other=1),
        Window(k=9, m=6, w=2, own=8, other=1),
    ],
)
def test_a_blank_is_the_report_of_a_uniformly_random_answer(mechanism: Randomiser[Law]) -> None:
    """Its cells, against the mean over every answer."""
    law = mechanism.law
    answers = [
        answer if isinstance(law.domain, One) else tuple(np.flatnonzero(answer).tolist())
        for answer in every_answer(law).tolist()
    ]
    mean = [
        sum(law.cell_probability(answer, cell) for answer in answers) / len(answers)
        for cell in range(law.cell_count or 0)
    ]
    if isinstance(law, Supporting):
        supported = mean[1 : 2 * law.k : 2] if law.both else mean[: law.k]
        assert set(supported) == {blank_laws.support(law) * law.sampled_fraction}
    else:
        np.testing.assert_allclose(blank_laws.outputs(law), [float(one) for one in mean])


def test_a_blank_of_noise_is_spread_over_the_range_and_beyond() -> None:
    law = Laplace(k=11, scale="3").law
    numbers = np.arange(-400, 411)
    mass = np.array([law.mass(numbers - answer) for answer in range(11)]).mean(axis=0)
    middle, variance = blank_laws.position(law)

    assert mass @ numbers == pytest.approx(middle) == 5
    assert mass @ (numbers - middle) ** 2 == pytest.approx(variance)


def test_ticks_of_a_blank_are_any_set_that_the_mechanism_takes() -> None:
    """Of up to two of four options there are 1 + 4 + 6; each option is in 1 + 3 of these."""
    law = SetResponse(k=4, most=2, size=2, own=8, other=1).law

    assert blank_laws.has_choice(law.domain) == pytest.approx(4 / 11)


# --- the tally --------------------------------------------------------------------------------


def test_a_tally_counts_people_and_knows_its_blanks() -> None:
    batch = tally([[0]] * 30 + [[1]] * 90, cell_count=2).with_blanks(20)

    assert (batch.n, batch.blanks, batch.reports) == (100, 20, 120)
    assert batch.with_blanks(20) == batch != batch.with_blanks(0)
    both = batch + batch.with_blanks(5)
    assert (both.n, both.blanks) == (215, 25)
    endless = tally([[-3], [8]], cell_count=None).with_blanks(1)
    assert (endless + endless).blanks == 2
    for blanks in (121, -1):
        with pytest.raises(ValueError, match="blanks among 120 reports"):
            batch.with_blanks(blanks)


def test_a_batch_of_blanks_alone_has_no_estimate() -> None:
    batch = made_up(YES_NO, BLANKS, seed=1).with_blanks(BLANKS)

    with pytest.raises(ValueError, match="at least one report"):
        estimate(batch, YES_NO)


# --- every figure of every question -----------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("blanks", [22_000, 200_000])
def test_every_figure_of_every_question_is_that_of_people_alone(blanks: int) -> None:
    """The expected counts of 100,000 people and of blanks: shares, means, quantiles."""
    survey = survey_of_everything()
    for answers in simulate_people(survey, 400).answers:
        question = answers.question
        alone = estimates(question, expected_batch(answers, 0))
        batch = expected_batch(answers, blanks)
        found = estimates(question, batch)

        assert batch.n == PEOPLE
        for figure, before, true in zip(found, alone, truths(answers), strict=True):
            if figure is None or before is None or true is None:
                assert figure == before
                continue
            low, high = figure.population_margin
            start, end = before.population_margin
            assert high - low >= (end - start) * (1 - 1e-3), "blanks never tell anything"
            if figure.standard_error is None or figure.estimate is None:
                continue  # a quantile, in buckets
            assert figure.estimate == pytest.approx(before.estimate, abs=figure.standard_error / 9)
            assert low - 1e-4 <= figure.estimate <= high + 1e-4


@pytest.mark.thorough
def test_the_plan_of_every_figure_is_what_its_estimate_varies_by() -> None:
    """Standard errors of 100,000 people against n times the variance, at the same answers."""
    survey, blanks = survey_of_everything(), 50_000
    for answers in simulate_people(survey, 400).answers:
        question = answers.question
        batch = expected_batch(answers, blanks)
        for group in groups(question):
            found = group.estimate_figures(batch)
            for figure, estimated in zip(group.figures, found, strict=True):
                if not isinstance(figure, Share) or estimated is None:
                    continue
                assert estimated.estimate is not None
                assert estimated.standard_error is not None
                share = min(max(estimated.estimate, 0.0), 1.0)
                planned = figure.variance(question.report_mechanism, share, blanks / PEOPLE)
                assert estimated.standard_error <= math.sqrt(planned / PEOPLE) * 1.02


# --- shares -----------------------------------------------------------------------------------


def test_the_normal_interval_of_a_thousand_people_covers_as_simulated() -> None:
    p, q = rates(2, 8)
    n, share, coins = 1000, 0.3, AddedCoins(BLANKS, 0.5)
    counts = np.arange(n + BLANKS + 1)
    raw = ((counts - coins.expected) / n - q) / (p - q)
    half = 1.96 * standard_error(counts, n, p, q, coins)
    law = sum_of(n, q + (p - q) * share, coins)

    assert law[(raw - half <= share) & (share <= raw + half)].sum() == pytest.approx(
        0.948, abs=0.003
    )
    assert law @ raw == pytest.approx(share)
    deviation = math.sqrt(law @ (raw - share) ** 2)
    assert law @ half / 1.96 == pytest.approx(deviation, rel=0.002)
    assert 1.96 * deviation == pytest.approx(0.042, abs=0.0005), "the plan's 4.2 points"


def test_joint_intervals_hold_all_shares_with_blanks() -> None:
    """Of few people and many choices, by simulation; they are exact, so never below."""
    mechanism = SubsetSelection(k=8, omega=1, own=8, other=1)
    answers = np.repeat(np.arange(8), [20, 10, 5, 5, 0, 0, 0, 0])
    true = np.bincount(answers, minlength=8) / 40
    held = 0
    for seed in range(400):
        batch = mixed(
            tally_many(mechanism, randomise_many(mechanism, answers)), made_up(mechanism, 60, seed)
        )
        found = estimate(batch, mechanism)
        held += bool(((found.joint_low <= true) & (true <= found.joint_high)).all())
        assert (found.low <= found.high).all()
        assert found.consistent.sum() == pytest.approx(1)
    assert held >= 0.95 * 400


@for_each("answer", [0, 1])
@for_each("n", [1, 2, 50])
def test_few_people_who_all_answer_alike_have_intervals(answer: int, n: int) -> None:
    for seed in range(20):
        alike = tally_many(YES_NO, randomise_many(YES_NO, np.full(n, answer)))
        found = estimate(mixed(alike, made_up(YES_NO, BLANKS, seed)), YES_NO)
        assert found.n == n
        assert (found.standard_error > 0).all()
        ends = np.stack([found.low, found.high, found.respondents_low, found.respondents_high])
        assert ((ends >= 0) & (ends <= 1)).all()
        assert found.effective_n is None or found.effective_n < n


def test_many_choices_have_shares_for_pictures_and_stand_out_rarely() -> None:
    """k = 60: nobody has the last 50; at most 5 of 100 batches name one of them."""
    mechanism = SubsetSelection(k=60, omega=3, own=8, other=1)
    answers = np.repeat(np.arange(10), 30)
    wrong = right = 0
    for seed in range(200):
        batch = mixed(
            tally_many(mechanism, randomise_many(mechanism, answers)), made_up(mechanism, 300, seed)
        )
        out = standing_out(mechanism, batch, single=True)
        wrong += bool(out[10:].any())
        right += int(out[:10].sum())
    assert wrong <= 0.05 * 200
    assert right > 0


# --- means, distributions and maps ------------------------------------------------------------


def questions(name: str) -> object:
    return next(one for one in survey_of_everything().questions if one.name == name)


@pytest.mark.parametrize(
    ("name", "truth"),
    [
        ("trust", [0, 0, 1, 2, 4]),
        ("income", [0, 3, 4, 4, 15]),
        thorough("sick", [0, 0, 2, 20]),
        thorough("happy", [0, 2, 2, 3, 4]),
    ],
)
def test_the_margins_of_means_cover_with_blanks(name: str, truth: list[int]) -> None:
    """At a nominal 95 %: of 60 people whose answers are drawn, and of these people alone."""
    question = questions(name)
    assert isinstance(question, Number | Scale)
    mechanism, generator = question.report_mechanism, np.random.default_rng(7)
    everybody = mean(question, _exact_tally(mechanism, truth))
    assert everybody is not None
    population = respondents = 0
    for seed in range(250):
        answers = generator.choice(truth, 60)
        batch = mixed(
            tally_many(mechanism, randomise_many(mechanism, answers)), made_up(mechanism, 80, seed)
        )
        found = mean(question, batch)
        if found is None:  # too few seem to have a score: the margin is the whole scale
            population, respondents = population + 1, respondents + 1
            continue
        assert found.n == 60
        of_these = mean(question, _exact_tally(mechanism, answers.tolist()))
        assert of_these is not None
        low, high = found.population_margin.low, found.population_margin.high
        population += low - 1e-6 <= everybody.estimate <= high + 1e-6
        low, high = found.sample_margin.low, found.sample_margin.high
        respondents += low - 1e-6 <= of_these.estimate <= high + 1e-6
    assert population >= 0.92 * 250
    assert respondents >= 0.92 * 250


def _exact_tally(mechanism: Randomiser[Law], answers: list[int]) -> Tally:
    """As if every report came as often as its probability says, a million times over."""
    law, times = mechanism.law, 10**6
    cells: dict[int, float] = {}
    reach = range(law.cell_count) if law.cell_count else range(-400, 430)
    for answer, cell in product(set(answers), reach):
        often = answers.count(answer) / len(answers)
        chance = float(law.cell_probability(answer, cell))
        cells[cell] = cells.get(cell, 0.0) + often * chance * times
    counts = {cell: round(count) for cell, count in cells.items() if round(count)}
    return tally_of(law, times, counts)


def test_linear_estimates_of_two_answers_are_those_of_counts() -> None:
    """The blended channel, with what is saved, is the sum of two binomials."""
    channel, n = matrix(YES_NO), 300
    counts = np.array([180, n + BLANKS - 180])
    batch = Tally(n, counts, blanks=BLANKS)
    found = linear(
        counts, scores(channel, [1.0, 0.0]), channel, blanks=blank_laws.blanks_of(YES_NO, batch)
    )

    shares = estimate(batch, YES_NO)
    assert found.n == n
    assert found.estimate == pytest.approx(shares.raw[0])
    margins = found.population_margin, found.sample_margin
    ends = [end for margin in margins for end in (margin.low, margin.high)]
    expected = [
        shares.low[0],
        shares.high[0],
        shares.respondents_low[0],
        shares.respondents_high[0],
    ]
    np.testing.assert_allclose(ends, expected, atol=2e-5)
    weighted = weighted_mean(batch, YES_NO, [1.0, 0.0])
    assert weighted.population_margin.low == pytest.approx(shares.low[0], abs=2e-5)
    assert weighted.sample_margin.high == pytest.approx(shares.respondents_high[0], abs=2e-5)


def test_quantiles_and_shapes_of_numbers_take_blanks_out() -> None:
    question = questions("income")
    assert isinstance(question, Number)
    mechanism, answers = question.report_mechanism, np.repeat([2, 3, 12], [300, 150, 150])
    covered = 0
    for seed in range(60):
        batch = mixed(
            tally_many(mechanism, randomise_many(mechanism, answers)),
            made_up(mechanism, 400, seed),
        )
        found = number_distribution(question, batch, levels=(0.5,))
        assert found.n == 600
        covered += found.quantiles[0].low <= 2 <= found.quantiles[0].high
        assert found.shares[[2, 3, 12]].sum() > 0.4, "of a uniform distribution it is 0.19"
        assert smoothed(question, batch, found).shares.sum() == pytest.approx(1)
    assert covered >= 0.92 * 60


def test_groups_on_a_map_take_blanks_out() -> None:
    pytest.importorskip("sklearn")
    question = questions("home")
    assert isinstance(question, Point)
    mechanism = question.report_mechanism
    answers = np.repeat([0, question.grid**2 - 1], [3000, 1000])
    people = tally_many(mechanism, randomise_many(mechanism, answers))
    found = clusters(question, mixed(people, made_up(mechanism, 2000, seed=4)), 2, seed=1)
    alone = clusters(question, people, 2, seed=1)

    assert found.n == 4000
    assert found.groups[0].share == pytest.approx(0.75, abs=0.1)
    assert found.groups[0].share_error > 0
    assert alone.groups[0].share == pytest.approx(found.groups[0].share, abs=0.15)


def test_those_who_were_asked_are_told_from_this_question_alone() -> None:
    survey = survey_of_everything()
    follow_up = follow_ups(survey)["what"]
    mechanism = follow_up.question.report_mechanism
    assert isinstance(mechanism.law, Supporting)
    answers = np.repeat([0, 1, follow_up.hidden], [400, 1200, 1400])  # 0.25 of 1,600 asked
    held = 0
    for seed in range(60):
        batch = mixed(
            tally_many(mechanism, randomise_many(mechanism, answers)),
            made_up(mechanism, 1500, seed),
        )
        found = among_asked(follow_up, counts_alone(follow_up, batch))
        assert found is not None
        held += found.shares[0].low <= 0.25 <= found.shares[0].high
        assert found.asked.estimate == pytest.approx(1600 / 3000, abs=0.15)
    assert held >= 0.92 * 60


# --- tests ------------------------------------------------------------------------------------


def test_the_test_of_a_share_never_exceeds_its_level() -> None:
    """Exact with both binomials, so it rejects at most 5 of 100 batches of the true share."""
    p, q = rates(2, 8)
    n, coins = 30, AddedCoins(50, 0.5)
    for share in (0.0, 0.1, 0.5):
        law = sum_of(n, q + (p - q) * share, coins)
        rejected = [
            against(SupportCount(count, n, p, q, coins), share).p_value <= 0.05
            for count in range(n + 51)
        ]
        assert law[rejected].sum() <= 0.05


def test_the_test_of_two_groups_keeps_its_level_with_blanks() -> None:
    p, q = rates(2, 8)
    n, coins = 25, AddedCoins(30, 0.5)
    counts = range(n + 31)
    rejected = np.array(
        [
            [
                between_groups(
                    SupportCount(first, n, p, q, coins), SupportCount(second, n, p, q, coins)
                ).p_value
                <= 0.05
                for second in counts
            ]
            for first in counts
        ]
    )
    for share in (0.0, 0.05, 0.3, 0.5):
        law = sum_of(n, q + (p - q) * share, coins)
        assert law @ rejected @ law <= 0.05
    quiet, loud = (sum_of(n, q + (p - q) * share, coins) for share in (0.0, 1.0))
    assert quiet @ rejected @ loud > 0.9, "it finds what there is"


def test_the_test_of_two_choices_keeps_its_level_with_blanks() -> None:
    """All counts of three choices: 20 people who choose evenly among two, and 20 blanks."""
    p, q = rates(3, 8)
    n, blanks = 20, 20
    coins = AddedCoins(blanks, 1 / 3)
    person = [(p + q) / 2, (p + q) / 2, q]
    people = _counts(n, person)
    made = _counts(blanks, [1 / 3] * 3)
    level = 0.0
    p_values: dict[tuple[int, int], float] = {}
    for (counts, chance), (others, other) in product(people, made):
        first, second = (one + more for one, more in zip(counts[:2], others[:2], strict=True))
        if (first, second) not in p_values:
            p_values[first, second] = between_choices(
                first, second, n, p, q, pair_own=0.0, pair_other=0.0, blanks=(coins, 0.0)
            ).p_value
        level += chance * other * (p_values[first, second] <= 0.05)
    assert level <= 0.05


def _counts(n: int, shares: list[float]) -> list[tuple[tuple[int, ...], float]]:
    found: list[tuple[tuple[int, ...], float]] = []
    for ends in combinations_with_replacement(range(n + 1), 2):
        counts = ends[0], ends[1] - ends[0], n - ends[1]
        found.append((counts, float(stats.multinomial.pmf(counts, n, shares))))
    return found


# --- planning ---------------------------------------------------------------------------------


def exact_variances(mechanism: Randomiser[Law]) -> Iterator[tuple[float, float]]:
    """By true answer: the variance of the score of the position, and that of a blank."""
    law = mechanism.law
    assert isinstance(law.domain, One)
    channel = matrix(law)
    v = scores(channel, np.linspace(0, 1, law.k))
    blank = channel.mean(axis=0)
    made = float(blank @ v**2 - (blank @ v) ** 2)
    for row in channel:
        yield float(row @ v**2 - (row @ v) ** 2), made


@for_each("mechanism", [YES_NO, SubsetSelection(k=4, omega=1, own=8, other=1)])
def test_the_score_of_a_blank_has_the_variance_of_its_law(mechanism: Randomiser[Law]) -> None:
    score = of_target(mechanism)
    noise, made = zip(*exact_variances(mechanism), strict=True)

    np.testing.assert_allclose(score.noise, noise)
    assert score.blank_variance == pytest.approx(made[0])
    assert score.worst(0.5) == pytest.approx(score.worst() + 0.5 * made[0])


def test_the_variance_of_a_share_gains_that_of_the_blanks() -> None:
    p, q = rates(2, 8)
    n, share, coins = 400, 0.2, AddedCoins(BLANKS, 0.5)
    law = sum_of(n, q + (p - q) * share, coins)
    raw = ((np.arange(n + BLANKS + 1) - coins.expected) / n - q) / (p - q)
    variance = law @ (raw - share) ** 2

    assert of_choice(YES_NO).at(share, BLANKS / n) / n == pytest.approx(variance)


# --- refusals ---------------------------------------------------------------------------------


def test_ticks_of_those_who_were_asked_are_refused_by_name() -> None:
    ticks = replace(
        follow_ups(survey_of_everything())["what"],
        question=replace_mechanism(Unary(k=4, most=1, own=2, other=1, total=4)),
    )
    batch = made_up(ticks.question.report_mechanism, 30, seed=1).with_blanks(10)

    with pytest.raises(ValueError, match="several ticks, cannot be estimated where a mixer"):
        counts_alone(ticks, batch)


def replace_mechanism(mechanism: Unary) -> object:
    import msgspec

    question = follow_ups(survey_of_everything())["what"].question
    return msgspec.structs.replace(question, mechanism=mechanism)
