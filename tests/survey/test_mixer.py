"""A survey with a mixer: what its definition may say, and why the rest is refused."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from deniably.core.coins import Coins
from deniably.core.errors import BadReport, BadSurvey
from deniably.core.loss import Loss
from deniably.survey.mixer import MixedClaim, Mixer, least_length, outer_text, usual_length
from deniably.survey.report import Report, randomise_answers, read_report, separate_reports
from deniably.survey.survey import Survey, as_survey
from spec.cases.mixers import EIGHT, KEY, MIXER, mixed
from spec.cases.questions import GAUSS, MULTIPLE, NUMBER, ONE, YES_NO, survey
from support.cases import for_each


def changed(change: Callable[[Any], object], *questions: Any) -> Survey:
    definition = mixed(*(questions or (EIGHT, NUMBER)))
    change(definition)
    return as_survey(definition)


@for_each(
    ("change", "why"),
    [
        (
            lambda d: d.update(waves={"panel": "p", "count": 2}),
            "a survey with a mixer cannot have waves, over which the blanks would average out;"
            " leave out waves",
        ),
        (
            lambda d: d.update(strata={"site": ["north", "south"]}),
            "a survey with a mixer cannot have strata, which envelopes do not show; ask for the"
            " group as a question",
        ),
        (
            lambda d: d.update(ask=1),
            "a survey with a mixer asks everybody everything; leave out ask",
        ),
        (
            lambda d: d.update(part=True),
            "a survey with a mixer asks everybody everything; leave out part",
        ),
        (
            lambda d: d.update(invited=True),
            "a survey with a mixer has the mixer's invitations; leave out invited, and invite"
            " people at the mixer",
        ),
        (
            lambda d: d["results"].update(while_open=True),
            "a survey with a mixer has results once it is closed; write while_open: false in"
            " results",
        ),
        (
            lambda d: d["results"].update(reports="public"),
            "a survey with a mixer has no whole reports to give out; leave out reports in results,"
            " or write never",
        ),
        (
            lambda d: d["questions"].append(GAUSS),
            "l: a mixer's blanks hide no mechanism with a delta, and this one has 0.00001; choose"
            " one without, such as laplace",
        ),
        (
            lambda d: d["questions"][0].update(
                claim={"odds": "21"}, mechanism=EIGHT["mechanism"] | {"own": 21}
            ),
            "e: the odds are 21.00; with a mixer they are at most 20, because they hold if both"
            " parties work together",
        ),
        (
            lambda d: d["mixer"].update(length=148),
            "mixer.length is 148; the reports to these questions need 149, so that none is too long"
            " for its envelope",
        ),
        (
            lambda d: d["mixer"].update(length=40_000),
            "with mixer.length 40000 the envelopes of 2 questions are longer than 65,535 bytes; ask"
            " fewer questions, or with fewer choices",
        ),
        (
            lambda d: d["mixer"].update(open=KEY),
            "mixer.key and mixer.open are the same, so the mixer could read the answers; each party"
            " needs a key of its own",
        ),
        (
            lambda d: d["mixer"].update(key=KEY[:-1] + "0"),
            "mixer.key is no point of P-256; copy the whole key again",
        ),
        (
            lambda d: d["mixer"]["claim"].update(epsilon="11"),
            "the epsilon of a mixer's claim is 11; use 0.01 to 10",
        ),
        (
            lambda d: d["mixer"]["claim"].update(delta="0.00003"),
            "the delta of a mixer's claim is 0.00003; use one over a whole number of 10,000 or"
            " more, such as 0.000001",
        ),
    ],
)
def test_what_does_not_go_with_a_mixer_is_refused_with_its_mend(
    change: Callable[[Any], object], why: str
) -> None:
    with pytest.raises(BadSurvey) as refused:
        changed(change)

    assert [problem.why for problem in refused.value.problems] == [why]


def test_both_losses_are_exact() -> None:
    both = as_survey(mixed(EIGHT, YES_NO))

    assert both.server_loss == Loss(exponent=Fraction("1.0986"), delta=Fraction(1, 10**6))
    assert both.total == Loss(Fraction(24))


def test_without_a_mixer_there_is_one_loss() -> None:
    alone = as_survey(survey(EIGHT, YES_NO))

    assert alone.server_loss == alone.total == Loss(Fraction(24))


def test_a_survey_without_a_mixer_has_no_trace_of_one() -> None:
    assert b"mixer" not in as_survey(survey(EIGHT)).canonical


def test_a_claim_stands_for_a_loss() -> None:
    assert MixedClaim(epsilon="1.0986", delta="0.000001").loss.delta == Fraction(1, 10**6)


def test_a_key_is_looked_at_wherever_a_mixer_is_made() -> None:
    with pytest.raises(ValueError, match="no point of P-256"):
        Mixer(**MIXER | {"key": "", "claim": MixedClaim(**MIXER["claim"])})


# Lengths --------------------------------------------------------------------------------------


def test_the_usual_length_is_a_multiple_of_64() -> None:
    questions = as_survey(mixed(EIGHT, MULTIPLE)).questions

    assert least_length(questions) == 136 + 1 + 12
    assert usual_length(questions) == 192


def test_the_outer_envelope_of_six_questions_holds_1656_bytes() -> None:
    assert outer_text(192, 6) == 18 + 6 * 273


# Reports --------------------------------------------------------------------------------------

ANSWERS = {"e": "yes", "b": "x", "c": ["p", "q"], "f": "10"}
APART = as_survey(mixed(EIGHT, ONE, MULTIPLE, NUMBER))


def separate(coins: Coins | None = None) -> tuple[Report, ...]:
    return separate_reports(APART, ANSWERS, coins)


def test_each_question_has_a_report_and_an_id_of_its_own() -> None:
    reports = separate()

    assert [list(report.values) for report in reports] == [["e"], ["b"], ["c"], ["f"]]
    assert {report.survey for report in reports} == {APART.digest}
    assert len({report.id for report in reports}) == 4
    for report in reports:
        read_report(report.canonical).check(APART)


def test_every_report_fits_into_its_envelope() -> None:
    assert max(len(report.canonical) for report in separate()) + 2 <= APART.mixer.length


def test_the_values_are_drawn_first_and_then_the_ids() -> None:
    taken: list[int] = []

    def source(size: int) -> bytes:
        taken.append(size)
        return bytes([len(taken) % 251] * size)

    whole = randomise_answers(APART, ANSWERS, Coins(source))
    first = list(taken)
    taken.clear()
    reports = separate(Coins(source))

    assert taken[: len(first)] == first
    assert len(taken) == len(first) + 3 * 4  # 128 bits in four draws
    assert {name: value for report in reports for name, value in report.values.items()} == dict(
        whole.values
    )
    assert reports[0].id == whole.id


def test_a_whole_report_is_none_of_a_survey_with_a_mixer() -> None:
    whole = randomise_answers(APART, ANSWERS)

    with pytest.raises(BadReport, match="has the value of one question"):
        whole.check(APART)


def test_a_report_without_a_value_is_none_either() -> None:
    with pytest.raises(BadReport, match="has the value of one question"):
        Report("0f" * 16, APART.digest, {}).check(APART)


def test_only_a_survey_with_a_mixer_has_separate_reports() -> None:
    with pytest.raises(ValueError, match="has no mixer"):
        separate_reports(as_survey(survey(EIGHT)), {"e": "yes"})
