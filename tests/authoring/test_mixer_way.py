"""The way through a mixer: an offer makes it one of the ways to ask, with figures of its own."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import log
from typing import Any

import pytest

from authoring.test_mixers import OFFER
from authoring.test_ways import after, scale, survey_of, yes_no
from deniably.authoring.checking import refusals
from deniably.authoring.drafts import written
from deniably.authoring.quick_check import QuickCheck, quick_check
from deniably.authoring.ways import MIXER_ODDS, Way, changed, widest_margins
from deniably.design.mixer_plan import LOCAL_ODDS, answer_losses
from deniably.survey.guessing_rates import guessing, rate_text
from deniably.survey.mixer import Mixer
from deniably.survey.odds import surest
from deniably.survey.spending import privacy_spent

SIX = survey_of(*(yes_no(f"q{number}") for number in range(6)))
"""132 of 100: without a mixer devices refuse it."""
FOUR = survey_of(yes_no("a"), yes_no("b"), scale("c"), scale("d"))


def view_of(document: dict[str, Any], offer: object = OFFER) -> QuickCheck:
    return quick_check(lambda: document, 600, offer=offer)


def way(view: QuickCheck, id_: str = "mixer") -> Way:
    (found,) = (each for each in view.ways if each.id == id_)
    return found


def taken(document: dict[str, Any]) -> dict[str, Any]:
    """The document after the way through the mixer was taken."""
    return changed(document, way(view_of(document)).operations)


def test_without_an_offer_there_is_no_such_way() -> None:
    assert "mixer" not in [each.id for each in view_of(FOUR, None).ways]
    assert "mixer" in [each.id for each in view_of(FOUR).ways]


@pytest.mark.parametrize("document", [FOUR, SIX, survey_of(yes_no("one"))])
def test_its_figures_are_those_of_the_survey_that_it_gives(document: dict[str, Any]) -> None:
    shown = way(view_of(document))
    survey = after(document, shown.operations)

    assert isinstance(survey.mixer, Mixer)
    assert not refusals(survey)
    assert (shown.used, shown.chosen) == (privacy_spent(survey.server_loss), False)
    assert shown.margins == widest_margins(survey, 600)
    both = guessing(survey)
    assert shown.together is not None
    assert shown.together.one == (rate_text(both.lowest), rate_text(both.highest))
    assert shown.together.all_answers == rate_text(both.together)
    assert shown.all_answers == shown.worst == rate_text(surest(survey.server_loss.odds_bound))
    largest = max(answer_losses(survey).values())
    assert shown.one[1] == rate_text(surest(largest.odds_bound))
    assert f"{survey.mixer.blanks:,} made-up answers" in shown.note
    assert survey.mixer.by in shown.note


def test_each_answer_has_the_usual_local_odds_and_all_together_odds_of_three() -> None:
    document = survey_of(
        yes_no("a", odds=20), yes_no("b", coins={"truth": 0.5}), scale("c", epsilon=1)
    )
    survey = after(document, way(view_of(document)).operations)

    assert [each.mechanism.loss.odds_bound for each in survey.questions] == [LOCAL_ODDS] * 3
    assert survey.server_loss.odds_bound <= MIXER_ODDS
    assert survey.server_loss.epsilon == pytest.approx(log(3), abs=1e-3)


def test_it_never_promises_less_than_the_survey_does_now() -> None:
    document = survey_of(yes_no("a"), yes_no("b")) | {
        "questions": [{key: each[key] for key in each if key != "odds"} for each in (
            yes_no("a"), yes_no("b"))],
        "budget": {"epsilon": Decimal("0.5"), "spend": "split"},
    }  # fmt: skip
    survey = after(document, way(view_of(document)).operations)

    assert survey.server_loss.at_most_epsilon(Fraction(1, 2))


def test_results_while_it_is_open_are_given_up() -> None:
    found = taken(FOUR | {"results": {"while_open": True, "minimum": 50}})

    assert found["results"] == {"minimum": 50}
    assert "results" not in taken(FOUR | {"results": {"while_open": True}})


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"waves": {"panel": "p"}}, "cannot have waves"),
        ({"strata": {"site": ["a", "b"]}}, "cannot have strata"),
        ({"invited": True}, "has the mixer's invitations"),
    ],
)
def test_what_does_not_go_with_a_mixer_is_said(more: dict[str, Any], why: str) -> None:
    view = view_of(FOUR | more)

    assert "mixer" not in [each.id for each in view.ways]
    assert why in " ".join(view.no_mixer)


def test_an_offer_that_was_changed_is_refused() -> None:
    view = view_of(FOUR, OFFER | {"by": "Somebody else"})

    assert "mixer" not in [each.id for each in view.ways]
    assert "did not sign this offer" in " ".join(view.no_mixer)


@pytest.mark.parametrize("document", [FOUR, SIX])
def test_with_a_mixer_the_other_ways_keep_what_it_promises_against_the_server(
    document: dict[str, Any],
) -> None:
    mixed = taken(document)
    view = view_of(mixed, None)
    promised = way(view).used

    assert [each.id for each in view.ways if each.chosen] == ["mixer"]
    assert {each.id for each in view.ways} > {"own", "all", "some", "mixer"}
    for each in view.ways:
        survey = after(mixed, each.operations)
        assert bool(survey.mixer) == (each.id == "mixer")
        assert each.used == privacy_spent(survey.server_loss) <= promised
        assert each.margins == widest_margins(survey, 600)
        if each.id not in ("mixer", "joint"):
            assert max(each.margins.values()) > max(way(view).margins.values())


def test_it_is_taken_back_from_questions_with_odds_of_their_own() -> None:
    mixed = taken(FOUR)
    mixed["questions"] = [mixed["questions"][0] | {"epsilon": 2}, *mixed["questions"][1:]]

    for each in view_of(mixed, None).ways:
        assert after(mixed, each.operations).name == "s", each.id


def test_the_guessing_scale_is_that_of_the_server_alone_and_that_of_both() -> None:
    view = view_of(taken(SIX), None)

    assert view.used is not None
    assert view.guessing is not None
    assert (view.guessing.all, view.guessing.worst) == (75, 75)
    assert view.guessing.one[1] < view.guessing.all
    assert view.guessing.together is not None
    assert view.guessing.together.one == (89, 89)
    assert (view.used.total, view.used.together) == (22, 50)
    assert [row.against for row in view.experts][-2:] == ["server", "together"]
    assert view_of(FOUR, None).used.together is None  # type: ignore[union-attr]


def test_mends_of_a_survey_in_which_both_together_would_learn_too_much() -> None:
    thirteen = survey_of(*(yes_no(f"q{number}", odds=2) for number in range(13)))
    found = view_of(thirteen)
    assert "together would learn more than devices allow" in " ".join(found.no_mixer)

    many = thirteen | {
        "mixer": {"offer": OFFER, "odds": 3},
        "questions": [yes_no(f"q{number}", odds=8) for number in range(13)],
    }
    view = view_of(many, None)

    assert view.refused
    assert len(view.mends) >= 2
    for mend in view.mends:
        survey = after(many, mend.operations)
        assert survey.mixer
        assert not refusals(survey)
        assert mend.used == privacy_spent(survey.server_loss)
        assert mend.margins == widest_margins(survey, 600)


def test_mends_of_a_mixer_that_lets_the_server_learn_too_much() -> None:
    much = taken(SIX)
    much["mixer"] = much["mixer"] | {"odds": 200}
    view = view_of(much, None)

    assert view.refused
    assert view.mends
    for mend in view.mends:
        survey = after(much, mend.operations)
        assert not refusals(survey)
        assert survey.server_loss.odds_bound <= MIXER_ODDS


def test_a_draft_keeps_an_offer_that_no_survey_has() -> None:
    draft = FOUR | {"offer": OFFER, "expect": 5, "questions": []}

    assert "offer" not in written(draft)
