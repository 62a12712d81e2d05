"""Planning: known sample sizes come out, and what is planned is what the results then show."""

from __future__ import annotations

from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from deniably.authoring.compiling import compile_survey
from deniably.design import planning
from deniably.design.at_privacy import mechanism_at
from deniably.design.named_mechanisms import for_choice
from deniably.estimation.channels import matrix
from deniably.estimation.estimate import estimate
from deniably.estimation.figures import groups
from deniably.estimation.question_distributions import number_distribution
from deniably.estimation.tally import Tally
from deniably.estimation.variances import marginal_variance
from deniably.mechanisms import Channel, SubsetSelection, Window
from deniably.survey.privacy import Privacy
from deniably.survey.questions import Number, Product, Question
from deniably.survey.survey import Survey
from support.every_type import QUESTIONS, survey_of_everything

Z = NormalDist().inv_cdf(0.975)
PARTS = [{"name": name, "label": name, "minimum": 0, "maximum": 8} for name in ("x", "y")]

# Binary, worst case, five points at 95 %, with z^2 = 3.84 instead of 3.8415.
BINARY = [(0.5, 6402), (1, 1798), (2, 662), (3, 469)]


@pytest.mark.parametrize(("epsilon", "n"), BINARY)
def test_known_sample_sizes_come_out(epsilon: float, n: int) -> None:
    found = planning.respondents_for(planning.share_goal(2), epsilon, 0.05)

    assert found.n == pytest.approx(n, rel=3e-3)
    assert found.direct == 385
    assert found.direct < found.curator < found.n
    assert found.design_effect == pytest.approx(n / 385, rel=3e-3)


def test_five_choices_need_fewer_with_subset_selection() -> None:
    """k-ary response at a share of .3: 4,104 at epsilon 1, 930 at 2."""
    for epsilon, k_ary in ((1, 4104), (2, 930)):
        mechanism = for_choice(5, Privacy(epsilon=planning.Fraction(epsilon)), "k_ary")
        assert isinstance(mechanism, SubsetSelection)
        goal = planning.mechanism_goal(mechanism, 0.3, 1.0)
        assert planning.respondents_for(goal, epsilon, 0.05).n == pytest.approx(k_ary, rel=3e-3)
        ours = planning.respondents_for(planning.share_goal(5, 0.3), epsilon, 0.05).n
        assert ours <= planning.respondents_for(goal, epsilon, 0.05).n


@pytest.mark.parametrize("goal", [planning.share_goal(2), planning.share_goal(5, 0.3)])
def test_any_of_the_three_follows_from_the_other_two(goal: planning.Goal) -> None:
    n = planning.respondents_for(goal, 1.5, 0.04).n

    assert planning.margin_for(goal, 1.5, n).margin <= 0.04
    assert planning.margin_for(goal, 1.5, n - 1).margin > 0.04
    assert planning.epsilon_for(goal, n, 0.04).epsilon == 1.5
    assert planning.margin_for(goal, 1.49, n).margin > 0.04


def test_what_is_planned_is_what_the_results_show() -> None:
    found = planning.respondents_for(planning.share_goal(2), 1, 0.05)
    mechanism = for_choice(2, Privacy(epsilon=planning.Fraction(1)))
    assert isinstance(mechanism, SubsetSelection)
    half = found.n // 2

    shown = estimate(Tally(found.n, np.array([half, found.n - half])), mechanism)

    assert (shown.high[0] - shown.low[0]) / 2 == pytest.approx(0.05, rel=0.01)


def test_sampled_questions_need_more_people() -> None:
    whole = planning.respondents_for(planning.share_goal(2), 1, 0.05).n
    third = planning.respondents_for(planning.share_goal(2, reports=1 / 3), 1, 0.05).n

    assert third == pytest.approx(3 * whole, abs=3)


def test_a_mean_is_planned_in_parts_of_its_range() -> None:
    """At worst half the people are at either end: their spread of 1/4 adds to the noise, which at
    epsilon 1 is 4 on a range of 2."""
    found = planning.respondents_for(planning.mean_goal(101), 1, 0.05)

    assert found.n == pytest.approx(3.8415 * (4.0 / 4 + 0.25) / 0.05**2, rel=0.01)


@pytest.mark.parametrize("epsilon", [0.5, 2, 6, 10])
def test_protection_never_saves_respondents(epsilon: float) -> None:
    for goal in (planning.mean_goal(9), planning.share_goal(2), planning.share_goal(9, 0.1)):
        found = planning.respondents_for(goal, epsilon, 0.05)
        assert found.direct <= found.n


# --- a whole survey -----------------------------------------------------------------------------

EVERYTHING = survey_of_everything()
FIGURES = {
    "stolen": ["share"],
    "what": ["share"],
    "caught": ["share"],
    "drugs": ["share"],
    "worries": ["share"],
    "happy": ["share", "mean"],
    "trust": ["mean"],
    "drinks": ["mean"],
    "income": ["mean", "share up to a number"],
    "sick": ["mean"],
    "fines": ["mean"],
    "hours": ["mean of work", "mean of care"],
    "home": ["share of an area"],
    "vote": ["share of party", "share of union", "share of a combination"],
}


def coarse(question: dict[str, Any]) -> dict[str, Any]:
    """With three positions where several numbers are designed for again and again."""
    if question["type"] != "vector":
        return question
    parts = [part | {"range": part["range"] | {"maximum": "2"}} for part in question["parts"]]
    windows = [window | {"k": 3} for window in question["mechanism"]["parts"]]
    return question | {"parts": parts, "mechanism": question["mechanism"] | {"parts": windows}}


ONE_BY_ONE = [
    survey_of_everything(questions=[{"claim": {"epsilon": "2"}} | coarse(question)])
    for question in QUESTIONS
    if "show_if" not in question
]


def test_every_figure_of_every_type_is_planned() -> None:
    rows = planning.plan_figures(EVERYTHING, n=2000)

    for name, expected in FIGURES.items():
        assert [row.figure for row in rows if row.question == name] == expected
    assert all(row.plan.direct <= row.plan.curator <= row.plan.n for row in rows)
    notes = {(row.question, row.figure): row.note for row in rows if row.note}
    assert "64 areas, about 5.125 km by 5.125 km" in notes["home", "share of an area"]
    assert "6 combinations" in notes["vote", "share of a combination"]


@pytest.mark.slow
@pytest.mark.parametrize("survey", ONE_BY_ONE, ids=lambda one: one.questions[0].name)
def test_the_three_ways_to_plan_agree_for_every_type(survey: Survey) -> None:
    for index, row in enumerate(planning.plan_figures(survey, margin=0.06)):
        n = row.plan.n

        def margin(n: int, index: int = index) -> float:
            return planning.plan_figures(survey, n=n)[index].plan.margin

        assert row.plan.margin == 0.06
        assert margin(n) <= 0.06 < margin(n - 1)
        # The question's own mechanism may be another than the one made for its epsilon.
        question, group = survey.questions[0], groups(survey.questions[0])[index]
        needed = planning.plan_figures(survey, n=n, margin=0.06)[index].plan
        assert needed.n == n
        assert needed.margin <= 0.06
        below = mechanism_at(question, privacy(question, needed.epsilon - 0.01))
        assert group.variance(below) / n > (0.06 / Z) ** 2


def privacy(question: Question, epsilon: float) -> Privacy:
    delta = question.claim.delta
    return Privacy(
        epsilon=Fraction(str(round(epsilon, 2))),
        delta=Fraction(delta) if isinstance(delta, str) else None,
    )


def test_a_whole_survey_is_as_good_as_its_weakest_figure() -> None:
    by_n = planning.plan_figures(EVERYTHING, n=2000)
    by_margin = planning.plan_figures(EVERYTHING, margin=0.05)

    assert planning.combined_plan(EVERYTHING, by_n).margin == max(row.plan.margin for row in by_n)
    assert planning.combined_plan(EVERYTHING, by_margin).n == max(row.plan.n for row in by_margin)
    assert planning.combined_plan(EVERYTHING, by_n).epsilon == pytest.approx(
        EVERYTHING.total.epsilon
    )


def test_the_epsilon_of_a_sampled_survey_is_that_of_what_is_asked() -> None:
    some = compile_survey(
        {
            "name": "s",
            "title": "S",
            "budget": {"epsilon": 2, "spend": "sample", "ask": 1},
            "questions": [
                {"name": name, "label": name, "type": "yes_no"} for name in ("a", "b", "c")
            ],
        }
    )
    alone = planning.respondents_for(planning.share_goal(2), 2, 0.05).n

    rows = planning.plan_figures(some, margin=0.05)

    assert planning.combined_plan(some, rows).epsilon == pytest.approx(2)
    assert [row.plan.n for row in rows] == [pytest.approx(3 * alone, abs=3)] * 3
    needed = planning.plan_figures(some, n=3 * alone, margin=0.05)
    assert planning.combined_plan(some, needed).epsilon == pytest.approx(2)


@pytest.mark.parametrize("share", [None, 0.1])
def test_a_marginal_is_planned_with_its_own_variance(share: float | None) -> None:
    """Of the law of all reports (``test_variances``), not of one cell with as many people."""
    (question,) = compile_survey(
        {
            "name": "s",
            "title": "S",
            "questions": [
                {"name": "q", "label": "Q", "type": "product", "epsilon": 1, "parts": [
                    {"name": "six", "label": "Six", "choices": list("abcdef")},
                    {"name": "four", "label": "Four", "choices": list("abcd")},
                ]}
            ],
        }
    ).questions  # fmt: skip
    assert isinstance(question, Product)
    mechanism = question.report_mechanism
    six, four, cell = groups(question)

    assert six.variance(mechanism, share) != cell.variance(mechanism, share)
    for group, size in ((six, 6), (four, 4)):
        curve = [marginal_variance(mechanism, size, f / 1000) for f in range(1001)]
        expected = marginal_variance(mechanism, size, share) if share else max(curve)
        assert group.variance(mechanism, share) == pytest.approx(expected, rel=1e-6)


def test_shares_through_any_channel_are_those_of_the_same_design() -> None:
    """Warner's design, written as a channel, is planned as Warner's design."""
    (share,) = groups(EVERYTHING.questions[0])
    warner, channel = SubsetSelection(2, 1, 3, 1), Channel(2, ((3, 1), (1, 3)))

    assert share.variance(channel) == pytest.approx(share.variance(warner))


def test_the_plan_of_a_distribution_is_what_the_results_show() -> None:
    """Among people at one place or at two, and reports as expected, the worst is the planned."""
    income = next(one for one in EVERYTHING.questions if one.name == "income")
    assert isinstance(income, Number)
    assert isinstance(income.mechanism, Window)
    planned = planning.plan_figures(EVERYTHING, n=100_000)
    widest = next(row.plan.margin for row in planned if row.figure == "share up to a number")
    channel = matrix(income.mechanism)
    shown = 0.0
    for low in range(0, 16, 3):
        for high in range(low, 16, 3):
            counts = np.round(100_000 * (channel[low] + channel[high]) / 2).astype(np.int64)
            found = number_distribution(income, Tally(int(counts.sum()), counts)).at_most
            shown = max(shown, *(Z * one.population_margin.standard_error for one in found))

    assert widest * 0.9 < shown < widest * 1.001


@pytest.mark.parametrize(
    "question",
    [
        {"type": "yes_no"},
        {"type": "select_one", "choices": list("abcde"), "mechanism": "k_ary"},
        {"type": "select_one", "choices": list("abcde"), "mechanism": "oue"},
        {"type": "select_multiple", "choices": list("abcde"), "most": 2},
        {"type": "select_multiple", "choices": list("abcde"), "mechanism": "sampled_ticks"},
        {"type": "select_multiple", "choices": list("abcd"), "most": 1, "mechanism": "rappor"},
        {"type": "scale", "choices": list("abcde"), "aim": "mean"},
        {"type": "scale", "choices": list("abcde"), "mechanism": "window"},
        {"type": "scale", "choices": list("abcde"), "aim": "mean", "mechanism": "exponential"},
        {"type": "number", "minimum": 0, "maximum": 8, "mechanism": "window"},
        {"type": "number", "minimum": 0, "maximum": 8, "mechanism": "bounded_laplace"},
        {"type": "number", "minimum": 0, "maximum": 8, "mechanism": "gaussian", "delta": 1e-5},
        {"type": "number", "minimum": 0, "maximum": 8, "aim": "distribution"},
        {"type": "number", "minimum": 0, "maximum": 8, "aim": "distribution",
         "mechanism": "subset_selection"},
        {"type": "number", "minimum": 0, "maximum": 8, "aim": "distribution", "buckets": 4,
         "mechanism": "laplace"},
        {"type": "vector", "parts": PARTS, "mechanism": "laplace"},
        {"type": "vector", "parts": PARTS},
        {"type": "point", "parts": PARTS, "grid": 5},
        {"type": "product", "parts": [
            {"name": name, "label": name, "choices": list("abc")} for name in ("p", "q")]},
    ],
    ids=lambda one: f"{one['type']}-{one.get('mechanism', 'best')}",
)  # fmt: skip
def test_a_question_at_its_own_epsilon_keeps_its_mechanism(question: dict[str, Any]) -> None:
    (asked,) = compile_survey(
        {
            "name": "s",
            "title": "S",
            "questions": [{"name": "q", "label": "Q", "epsilon": 1.5} | question],
        }
    ).questions

    assert mechanism_at(asked, privacy(asked, 1.5)) == asked.mechanism
    assert type(mechanism_at(asked, privacy(asked, 1.4))) is type(asked.mechanism)


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: planning.respondents_for(planning.share_goal(2), 1, 0), "margin"),
        (lambda: planning.margin_for(planning.share_goal(2), 1, 0), "at least 1"),
        (lambda: planning.share_goal(2, 1.5), "between 0 and 1"),
        (lambda: planning.epsilon_for(planning.share_goal(2), 10, 0.01), "ask more people"),
        (lambda: planning.respondents_for(planning.share_goal(2), 1, 0.1, 1), "confidence"),
        (lambda: planning.epsilon_for(planning.share_goal(2), 0, 0.1), "at least 1"),
        (lambda: planning.plan_figures(EVERYTHING), "a margin or both"),
        (lambda: planning.plan_figures(EVERYTHING, n=0), "at least 1"),
        (lambda: planning.plan_figures(EVERYTHING, n=100, share=2), "between 0 and 1"),
        (lambda: planning.plan_figures(EVERYTHING, n=10, margin=0.01), "stolen: no epsilon up to"),
    ],
)
def test_what_cannot_be_planned_is_explained(call, why: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=why):
        call()
