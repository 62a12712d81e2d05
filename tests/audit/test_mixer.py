"""The audit of a survey with a mixer: what devices make before they seal it, and what they seal."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from deniably.audit.replay import python_device
from deniably.audit.replay.javascript_device import Node
from deniably.audit.replay.replaying import Replays, replay
from deniably.audit.replay.witness import again, read_witness, witness_of
from deniably.audit.report_statistics import count_reports
from deniably.audit.survey_audit import claim_fault
from deniably.audit.whole_reports import whole_reports
from deniably.core.coins import Coins
from deniably.device import through_mixer
from deniably.survey.report import Report, separate_reports
from deniably.survey.survey import Survey, as_survey
from deniably_client.device import Device
from spec.cases.mixers import EIGHT, mixed
from spec.cases.questions import ONE, YES_NO, changed, condition
from support.modules import PACKAGE, WEB, ModuleFolder

SURVEY = as_survey(mixed(YES_NO, EIGHT))
HIDING = as_survey(mixed(YES_NO, changed(ONE, show_if=condition("a", "yes"))))
DEFINITION: dict[str, Any] = json.loads(SURVEY.canonical)


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    with Node() as node:
        yield node


# --- walks of all reports together ---------------------------------------------------------------


@pytest.mark.parametrize("survey", [SURVEY, HIDING])
def test_the_reports_of_one_person_are_walked_together_to_the_end(survey: Survey) -> None:
    (together,) = whole_reports(survey)

    assert together.fault is None
    assert together.complete


def same_coins(survey: Survey, answers: Mapping[str, object], coins: Coins) -> tuple[Report, ...]:
    """The second value depends on the first one's coin, though each question alone is right."""
    first, second = separate_reports(survey, answers, coins)
    lies = first.values["a"] != [0 if answers["a"] == "yes" else 1]
    told = 0 if answers["e"] == "yes" else 1
    values = {"e": [1 - told if lies else told]}
    return first, Report(second.id, second.survey, values)


def one_id(survey: Survey, answers: Mapping[str, object], coins: Coins) -> tuple[Report, ...]:
    """All reports of a person have one id, so that a server can put them together."""
    whole = separate_reports(survey, answers, coins)
    return tuple(Report(whole[0].id, each.survey, each.values) for each in whole)


def in_another_order(
    survey: Survey, answers: Mapping[str, object], coins: Coins
) -> tuple[Report, ...]:
    return separate_reports(survey, answers, coins)[::-1]


def one_too_few(survey: Survey, answers: Mapping[str, object], coins: Coins) -> tuple[Report, ...]:
    return separate_reports(survey, answers, coins)[:1]


Separate = Callable[[Survey, Mapping[str, object], Coins], tuple[Report, ...]]


@pytest.mark.parametrize("fault", [same_coins, one_id, in_another_order, one_too_few])
def test_a_fault_between_the_reports_is_found(fault: Separate) -> None:
    def send(surveys: Sequence[Survey], answers: Mapping[str, object], coins: Coins) -> list[bytes]:
        return [each.canonical for each in fault(surveys[0], answers, coins)]

    (together,) = whole_reports(SURVEY, send)

    assert together.fault


def test_reports_that_go_together_are_counted() -> None:
    def joined(survey: Survey, answers: Mapping[str, object]) -> Report:
        reports = same_coins(survey, answers, Coins())
        values = {name: value for each in reports for name, value in each.values.items()}
        return Report(reports[0].id, survey.digest, values)

    assert count_reports(SURVEY).fault is None
    assert count_reports(SURVEY, make=joined).fault


# --- replays --------------------------------------------------------------------------------------


def reached(found: Replays) -> None:
    for tally in (found.python, found.javascript):
        assert tally.fault is None, tally.fault
        assert tally.classes_done
        assert found.missing_states(tally) == []


def test_both_devices_are_replayed_byte_for_byte_until_they_seal(node: Node) -> None:
    for survey in (SURVEY, HIDING):
        reached(replay(json.loads(survey.canonical), scenarios=1, node=node, visits=5))


def test_what_the_client_seals_is_opened_and_every_byte_of_its_requests_compared() -> None:
    found = replay(DEFINITION, scenarios=1, languages=["Python"], visits=30)

    assert found.python.fault is None
    assert found.python.visits == 30


def test_a_client_that_seals_something_else_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = through_mixer.seal_reports

    def swapped(survey: Survey, reports: Sequence[Report], code: str = "") -> Any:
        return real(survey, [reports[0], reports[0]], code)

    monkeypatch.setattr("deniably_client.mixer_exchange.seal_reports", swapped)
    found = replay(DEFINITION, scenarios=1, languages=["Python"], visits=10)

    assert found.python.fault
    witness = witness_of(found.study, found.python.fault)
    assert witness
    assert again(read_witness(witness.text))
    monkeypatch.undo()
    assert again(read_witness(witness.text)) is None


def test_a_client_that_puts_a_code_of_its_own_into_the_envelope_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = through_mixer.seal_reports
    monkeypatch.setattr(
        "deniably_client.mixer_exchange.seal_reports",
        lambda survey, reports, code: real(survey, reports, "000000000000000000"),
    )

    assert replay(DEFINITION, scenarios=1, languages=["Python"], visits=10).python.fault


def test_a_client_that_sends_another_header_to_the_mixer_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    octets = {"Content-Type": "application/octet-stream", "X-Answer": "yes"}
    monkeypatch.setattr("deniably_client.mixer_exchange._OCTETS", octets)

    fault = replay(DEFINITION, scenarios=1, languages=["Python"], visits=10).python.fault

    assert fault
    assert "X-Answer" in fault.why


def test_a_client_that_seals_without_a_statement_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Device, "needs_invitation", False)

    fault = replay(DEFINITION, scenarios=1, languages=["Python"], visits=10).python.fault

    assert fault
    assert "GET /mix/" in fault.why


def test_a_python_device_that_randomises_again_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = through_mixer.answer_through_mixer

    def again_and_again(memory: Any, survey: Survey, *rest: Any, **more: Any) -> Any:
        reports = {k: v for k, v in memory.reports.items() if k != survey.digest}
        return real(through_mixer.replace(memory, reports=reports), survey, *rest, **more)

    monkeypatch.setattr(python_device, "answer_through_mixer", again_and_again)

    assert replay(DEFINITION, scenarios=1, languages=["Python"]).python.fault


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> ModuleFolder:
    folder = tmp_path_factory.mktemp("modules") / "shipped"
    shutil.copytree(WEB, folder)
    (folder / PACKAGE).write_text('{"type": "module"}')
    return ModuleFolder(folder)


@pytest.mark.parametrize(
    ("text", "planted"),
    [
        ("const id = i ? coins.drawId() : made.id;", "const id = made.id;"),
        ("values: { [name]: values[name] }", "values: { [name]: values[fresh[0].name] }"),
        ("inner: [...inner].sort()", "inner: [...inner].reverse()"),
        ("{ ...memory, ledger, reports", "{ ...memory, reports"),
    ],
)
def test_a_fault_of_the_module_is_found(
    text: str, planted: str, node: Node, shipped: ModuleFolder
) -> None:
    with shipped.planted("through_mixer.js", (text, planted)) as folder:
        found = replay(DEFINITION, scenarios=1, languages=["JavaScript"], modules=folder, node=node)

    assert found.javascript.fault


# --- the claim -----------------------------------------------------------------------------------


def test_a_claim_that_is_smaller_than_what_the_blanks_keep_is_a_fault() -> None:
    six = [changed(EIGHT, name=f"q{i}") for i in range(6)]
    right = as_survey(mixed(*six))
    wrong = as_survey(mixed(*six, mixer={"blanks": 41}))

    assert claim_fault(right) is None
    assert "with 41 blanks for each question the chance is up to" in (claim_fault(wrong) or "")
