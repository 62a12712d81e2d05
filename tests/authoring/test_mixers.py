"""An author writes a mixer: the offer is read, the blanks are found, and both odds are shown."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from fractions import Fraction
from math import log
from pathlib import Path
from typing import Any

import msgspec
import pytest

from deniably.authoring.checking import check_survey
from deniably.authoring.compiling import compile_with_notes
from deniably.authoring.mixers import NOBODY, has_key, require_key
from deniably.authoring.quick_check import quick_check
from deniably.authoring.survey_files import load_survey, with_named_files
from deniably.core.errors import BadSurvey
from deniably.core.loss import Loss
from deniably.design.blanks import HiddenPair, blanks_law, mixed_delta
from deniably.design.plan_table import plan_survey
from deniably.survey.mixer import Mixer
from deniably.survey.questions import Number, SelectMultiple
from deniably.survey.survey import Survey
from deniably.trust.mixed_survey import mixed_survey, read_mixed_survey
from deniably.trust.mixer_offer import make_offer
from spec.cases.mixers import KEY, OPEN
from support.cases import for_each
from support.keys import key_of

OFFER = msgspec.to_builtins(
    make_offer(key_of(b"mixer".ljust(32)), "https://mixer.example.net", "Works council", KEY)
)
TEN = {"type": "number", "minimum": 0, "maximum": 10}
YES_NO = {"name": "q", "type": "yes_no", "label": "Q?"}


def written(*questions: Any, mixer: Any = None, **more: Any) -> dict[str, Any]:
    """A document with a mixer; without questions it has six with yes and no."""
    asked = questions or [YES_NO | {"name": f"q{i}"} for i in range(6)]
    stated = {"offer": OFFER, "odds": 3} | (mixer or {})
    stated = {key: value for key, value in stated.items() if value is not None}
    head = {"name": "workplace", "title": "Honesty at work", "questions": list(asked)}
    return head | {"mixer": stated} | more


def compiled(*questions: Any, mixer: Any = None, **more: Any) -> Survey:
    return load_survey(written(*questions, mixer=mixer, **more))


def mixer_of(survey: Survey) -> Mixer:
    assert isinstance(survey.mixer, Mixer)
    return survey.mixer


def claimed(survey: Survey, blanks: int) -> bool:
    """Whether so many blanks keep the claim, with the room that a mixer is left."""
    claim = mixer_of(survey).claim.loss
    laws = [blanks_law(blanks, HiddenPair.of(each.report_mechanism)) for each in survey.questions]
    return mixed_delta(laws, float(claim.exponent)) <= 0.99 * float(claim.delta)


def problems(*questions: Any, mixer: Any = None, **more: Any) -> list[str]:
    with pytest.raises(BadSurvey) as refused:
        compiled(*questions, mixer=mixer, **more)
    return [str(problem) for problem in refused.value.problems]


# What it compiles to --------------------------------------------------------------------------


def test_the_definition_has_the_offer_and_a_claim_that_the_fewest_blanks_keep() -> None:
    survey = compiled(mixer={"open": OPEN})

    mixer = mixer_of(survey)
    assert (mixer.address, mixer.by, mixer.key) == tuple(
        OFFER[name] for name in ("address", "by", "key")
    )
    assert (mixer.signing, mixer.open, mixer.length) == (OFFER["signing"], OPEN, 192)
    assert msgspec.to_builtins(mixer.claim) == {"epsilon": "1.0986", "delta": "0.000001"}
    assert claimed(survey, mixer.blanks)
    assert not claimed(survey, mixer.blanks - 1)


def test_questions_have_local_odds_of_8_unless_they_say_otherwise() -> None:
    survey = compiled(YES_NO, YES_NO | {"name": "r", "odds": 5})

    assert [each.mechanism.loss for each in survey.questions] == [
        Loss(Fraction(8)),
        Loss(Fraction(5)),
    ]


@for_each(
    ("question", "kind"),
    [
        ({"type": "select_one", "choices": ["A", "B", "C"]}, object),
        ({"type": "select_multiple", "choices": ["A", "B", "C"], "most": 2}, SelectMultiple),
        ({"type": "scale", "choices": ["A", "B", "C"], "aim": "mean"}, object),
        ({**TEN, "aim": "distribution", "buckets": 5}, Number),
        (TEN, Number),
        ({**TEN, "mechanism": "laplace"}, Number),
    ],
)
def test_every_type_of_question_has_local_odds_of_8_at_most(
    question: dict[str, Any], kind: type
) -> None:
    survey = compiled({"name": "q", "label": "Q?"} | question)

    (asked,) = survey.questions
    assert isinstance(asked, kind)
    assert 7.9 < float(asked.mechanism.loss.odds_bound) <= 8


@for_each(("odds", "epsilon"), [(3, "1.0986"), ("13/7", "0.619"), (2, "0.6931"), ("1.5", "0.4054")])
def test_the_claim_is_the_logarithm_of_the_odds_rounded_down(odds: Any, epsilon: str) -> None:
    number = odds if isinstance(odds, int) or "/" in odds else float(odds)

    found = mixer_of(compiled(YES_NO, mixer={"odds": number, "blanks": None})).claim.epsilon

    assert found == epsilon
    exact = log(Fraction(str(odds)))
    assert exact - 1e-4 < float(found) <= exact


def test_an_author_may_state_epsilon_delta_and_blanks() -> None:
    mixer = mixer_of(
        compiled(mixer={"odds": None, "epsilon": 1.5, "delta": 0.00001, "blanks": 500})
    )

    assert msgspec.to_builtins(mixer.claim) == {"epsilon": "1.5", "delta": "0.00001"}
    assert mixer.blanks == 500


def test_longer_reports_get_longer_envelopes() -> None:
    question = {"name": "q", "type": "select_multiple", "label": "Q?"}
    many = compiled(question | {"choices": [f"c{i}" for i in range(200)], "mechanism": "rappor"})

    assert mixer_of(many).length == -(-(136 + 1 + 12 * 200) // 64) * 64


def test_device_mixer_and_server_read_the_same_of_a_definition() -> None:
    survey = compiled({**YES_NO, "odds": 5}, {**YES_NO, "name": "r"})
    read = mixed_survey(survey, invited=True)

    assert read_mixed_survey(read.text) == read
    assert read.digest == survey.digest
    assert [each.name for each in read.questions] == ["q", "r"]
    assert [each.mechanism for each in read.questions] == [
        each.mechanism for each in survey.questions
    ]
    assert (read.blanks, read.length) == (mixer_of(survey).blanks, mixer_of(survey).length)
    assert (read.minimum, read.invited) == (survey.results.minimum, True)
    without = load_survey({"name": "a", "title": "A", "questions": [YES_NO | {"odds": 3}]})
    with pytest.raises(ValueError, match="has no mixer"):
        mixed_survey(without)


def test_no_device_answers_a_part() -> None:
    assert "part" not in msgspec.to_builtins(compiled())


def test_the_author_reads_how_many_blanks_keep_what() -> None:
    survey, notes = compile_with_notes(written())

    assert notes[0] == (
        f"mixer: {mixer_of(survey).blanks} blanks for each question keep odds 3.00 (epsilon 1.0986,"
        " delta 0.000001) for all answers together against the server alone. If mixer and server"
        " work together, they are 262144"
    )
    assert "neither signed nor published" in notes[1]
    assert len(compile_with_notes(written(mixer={"open": OPEN}))[1]) == 1


# The key of the server ------------------------------------------------------------------------


def test_nobody_has_the_key_that_stands_in_for_the_servers() -> None:
    assert NOBODY[2:66] == hashlib.sha256(b"deniably nobody's key 2").hexdigest()
    assert mixer_of(compiled()).open == NOBODY


def test_a_survey_without_the_servers_key_is_neither_signed_nor_published() -> None:
    without, with_key = compiled(), compiled(mixer={"open": OPEN})

    assert not has_key(without)
    with pytest.raises(BadSurvey, match="key of envelopes of the survey's server is missing"):
        require_key(without)
    assert has_key(with_key)
    require_key(with_key)
    assert quick_check(lambda: written()).digest is None
    assert quick_check(lambda: written(mixer={"open": OPEN})).digest == with_key.digest


# What is refused ------------------------------------------------------------------------------


@for_each(
    ("more", "path", "mend"),
    [
        ({"waves": {"panel": "p"}}, "$.waves", "leave out waves"),
        ({"strata": {"site": ["n", "s"]}}, "$.strata", "ask for the group as a question"),
        ({"part": True}, "$.part", "leave out part"),
        ({"invited": True}, "$.invited", "invite people at the mixer"),
        (
            {"results": {"minimum": 50, "while_open": True}},
            "$.results.while_open",
            "write while_open: false in results",
        ),
        (
            {"results": {"minimum": 50, "reports": "public", "linkable": True}},
            "$.results.reports",
            "or write never",
        ),
        ({"budget": {"epsilon": 2}}, "$.budget", "leave out budget"),
    ],
)
def test_what_does_not_go_with_a_mixer_is_refused_at_its_key(
    more: dict[str, Any], path: str, mend: str
) -> None:
    found = problems(**more)

    assert [problem for problem in found if problem.startswith(f"{path}: ")]
    assert found[0].endswith(mend)


@for_each(
    ("mixer", "why"),
    [
        ({"odds": None}, "$.mixer: state once what the survey's server alone may learn"),
        ({"epsilon": 1}, "$.mixer: state once"),
        ({"odds": 1}, "$.mixer.odds: use odds from about 1.0101"),
        ({"delta": 0.00003}, "$.mixer: the delta of a mixer's claim is 0.00003; use one over"),
        ({"blanks": 100}, "$.mixer.blanks: 100 blanks do not keep this; write 2"),
        ({"odds": 300_000}, "$.mixer.odds: "),
        ({"offer": "offer.json"}, "$.mixer.offer: offer names the file “offer.json”, which is not"),
        ({"offer": OFFER | {"by": "Somebody else"}}, "$.mixer.offer: the mixer did not sign this"),
        ({"open": KEY}, "$.mixer: mixer.key and mixer.open are the same"),
        ({"open": "04"}, "$.mixer: mixer.open is no point of P-256; copy the whole key again"),
    ],
)
def test_a_mixer_that_keeps_no_promise_is_refused_with_its_mend(mixer: Any, why: str) -> None:
    assert problems(mixer=mixer)[0].startswith(why)


def test_odds_that_need_no_mixer_are_refused() -> None:
    assert problems(YES_NO, mixer={"odds": 8}) == [
        "$.mixer: the local odds of all questions together are 8, so they keep this without a"
        " mixer; state smaller odds for the mixer, or leave it out"
    ]


def test_odds_that_no_number_of_blanks_keeps_are_refused() -> None:
    (found,) = problems(mixer={"odds": None, "epsilon": 0.01})

    assert found.startswith("$.mixer: more than 20,000 blanks for each question are needed")


@for_each(
    ("question", "why"),
    [
        ({"odds": 21}, "q: the odds are 21.00; with a mixer they are at most 20"),
        ({"odds": 3, "epsilon": 1}, "state the privacy once"),
        (
            TEN | {"mechanism": "gaussian", "epsilon": 1, "delta": 0.00001},
            "q: a mixer's blanks hide no mechanism with a delta",
        ),
    ],
)  # fmt: skip
def test_a_question_that_a_mixer_cannot_hide_is_refused(question: Any, why: str) -> None:
    assert why in problems(YES_NO | question)[0]


# Files ----------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "offer.json").write_text(json.dumps(OFFER, indent=2), encoding="utf-8")
    return tmp_path


SURVEY = """\
name: workplace
title: Honesty at work
mixer:
  offer: offer.json  # from the council
  odds: 3
questions:
  - {name: q, type: yes_no, label: "Q?"}
"""


@for_each(
    "text",
    [
        SURVEY,
        SURVEY.replace("offer.json  #", '"offer.json" #'),
        SURVEY.replace(
            "mixer:\n  offer: offer.json  # from the council\n  odds: 3\n",
            "mixer: {offer: offer.json, odds: 3}\n",
        ),
        json.dumps(written(YES_NO, mixer={"offer": "offer.json"})),
    ],
)
def test_an_offer_is_read_from_a_file_beside_the_survey(text: str, folder: Path) -> None:
    file = folder / "survey.yaml"
    file.write_text(text, encoding="utf-8")

    assert load_survey(file) == compiled(YES_NO)


def test_a_server_gets_the_offer_instead_of_the_files_name(folder: Path) -> None:
    sent = with_named_files(SURVEY.encode(), folder)

    assert b"offer.json" not in sent
    assert b"# from the council" in sent
    assert load_survey(msgspec.json.decode(json.dumps(written(YES_NO)))) == compiled(YES_NO)


@for_each(
    ("name", "change", "why"),
    [
        ("offer.json", lambda file: file.unlink(), "offer.json: No such file"),
        ("offer.json", lambda file: file.write_text("{}"), "offer.json: this is no offer of a"),
        ("offer.json", lambda file: file.write_text("{"), "offer.json: "),
        (
            "offer.json",
            lambda file: file.write_text(json.dumps(OFFER | {"by": "Somebody"})),
            "offer.json: the mixer did not sign this offer",
        ),
        ("../offer.json", lambda file: None, "an offer is the name of a .json file in the folder"),
        ("offer.yaml", lambda file: None, "an offer is the name of a .json file in the folder"),
    ],
)
def test_a_file_that_is_no_offer_is_refused(
    name: str, change: Callable[[Path], object], why: str, folder: Path
) -> None:
    change(folder / "offer.json")
    (folder / "survey.yaml").write_text(SURVEY.replace("offer.json", name), encoding="utf-8")

    with pytest.raises(BadSurvey) as refused:
        load_survey(folder / "survey.yaml")

    (problem,) = refused.value.problems
    assert problem.path == "$.mixer.offer"
    assert why in problem.why
    (folder / "offer.json").write_text(json.dumps(OFFER), encoding="utf-8")


# What the author sees -------------------------------------------------------------------------


def test_a_check_has_both_odds_of_each_question_and_of_all() -> None:
    checked = check_survey(written())

    assert checked.lines[0] == [
        "question", "type", "mechanism", "server alone", "together", "margin",
    ]  # fmt: skip
    assert checked.lines[1][3:] == ["1.53", "8", "4.2"]
    assert checked.lines[-1] == ["all together", "", "", "3.00", "262144", ""]
    assert checked.rows[0]["server_epsilon"] == "0.43"
    assert checked.refused == []
    assert any(note.startswith("Server alone: how far at most") for note in checked.notes)
    assert not any("alone of their kind" in note for note in checked.notes)


def test_a_plan_has_them_too_and_margins_with_the_blanks() -> None:
    survey = compiled()

    table = plan_survey(survey, n=1_000, share=0.3)

    assert table.lines[0] == (
        "question", "figure", "server alone", "together", "respondents", "margin",
        "asked directly",
    )  # fmt: skip
    assert table.lines[1][2:6] == ("1.53", "8", "1,000", "4.2 %")
    assert table.lines[-1][2:4] == ("3.00", "262144")
    assert table.rows[-1]["server_odds"] == pytest.approx(3, abs=1e-4)


def test_a_plan_finds_the_fewest_people_for_a_margin() -> None:
    survey = compiled()

    n = plan_survey(survey, margin=0.05).rows[0]["n"]

    assert isinstance(n, int)
    margins = [plan_survey(survey, n=each).rows[0]["margin"] for each in (n - 1, n)]
    assert margins[0] > 0.05 >= margins[1]  # type: ignore[operator]
    assert plan_survey(load_survey(_alone()), margin=0.05).rows[0]["n"] < n  # type: ignore[operator]


def _alone() -> dict[str, Any]:
    """The same questions without a mixer, with the same local odds."""
    document = written(*(YES_NO | {"name": f"q{i}", "odds": 8} for i in range(6)))
    del document["mixer"]
    return document


def test_a_survey_with_a_mixer_is_planned_at_its_own_odds() -> None:
    for other in ({"n": 1_000, "margin": 0.05}, {"n": 1_000, "times": 2}):
        with pytest.raises(ValueError, match="planned at its own odds: give n or margin alone"):
            plan_survey(compiled(), **other)  # type: ignore[arg-type]


def test_a_check_for_programs_counts_what_the_server_learns() -> None:
    view = quick_check(lambda: written())

    assert view.used.total == 22
    assert set(view.used.each.values()) == {9}
    assert [each.id for each in view.ways if each.chosen] == ["mixer"]
    assert (view.mends, view.n_openly) == ([], None)
    assert view.questions[0].figures[0].margin == pytest.approx(0.044, abs=0.0005)


@for_each(
    ("document", "why"),
    [
        (
            written(mixer={"odds": None, "epsilon": 5.5}),
            "epsilon above 5 against the survey's server alone: 5.50. Devices refuse this survey;"
            " in a terminal and in Python a respondent can set a higher limit, in a browser nobody"
            " can. To mend it, state smaller odds for the mixer.",
        ),
        (
            written(*(YES_NO | {"name": f"q{i}"} for i in range(13))),
            "epsilon above 25 if the mixer and the survey's server work together: 27.04. Devices"
            " refuse this survey; in a terminal and in Python a respondent can set a higher limit,"
            " in a browser nobody can. To mend it, ask fewer questions, or state smaller odds for"
            " them.",
        ),
    ],
)
def test_what_devices_refuse_is_said_by_account(document: dict[str, Any], why: str) -> None:
    assert check_survey(document).refused == [why]
