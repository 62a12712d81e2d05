"""Devices replayed: no honest one is accused, and each planted fault is seen, with a witness."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from deniably.audit import survey_audit, verdict_levels
from deniably.audit.question_audit import audit
from deniably.audit.replay import python_device, replaying
from deniably.audit.replay.coins_check import below_in_python, edge_draws
from deniably.audit.replay.input_classes import decimal_text, inputs_of
from deniably.audit.replay.javascript_device import JavaScriptDevice, Node, NoNode, find_node
from deniably.audit.replay.javascript_process import JavaScriptProcess
from deniably.audit.replay.python_device import PythonDevice
from deniably.audit.replay.replaying import ALL, EACH, VISITS, Replays, replay, study_of
from deniably.audit.replay.scenarios import PART
from deniably.audit.replay.tap import tapped
from deniably.audit.replay.witness import BadWitness, again, read_witness, witness_of
from deniably.audit.survey_audit import audit_survey
from deniably.audit.verdict_levels import EXIT, RUNGS, judge_question, judge_whole, one_in, worst
from deniably.audit.whole_reports import ReportAudit, whole_reports
from deniably.authoring.compiling import publish_text
from deniably.core.coins import Coins
from deniably.device.memory import Memory, replace
from deniably.reference.coins import Blocks, Tape
from deniably.survey.survey import Survey, as_survey
from support.device_faults import JAVASCRIPT, PYTHON, STUDIES, Fault, FaultOfModules, planted
from support.every_type import survey_of_everything
from support.modules import PACKAGE, WEB, ModuleFolder
from support.soak import soak

Definition = dict[str, Any]


def definition(name: str) -> Definition:
    found: Definition = json.loads(as_survey(STUDIES[name]).canonical)
    return found


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    with Node() as process:
        yield process


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> ModuleFolder:
    folder = tmp_path_factory.mktemp("replayed") / "shipped"
    for module in WEB.glob("*/*.js"):
        (folder / module.parent.name).mkdir(parents=True, exist_ok=True)
        shutil.copyfile(module, folder / module.parent.name / module.name)
    (folder / PACKAGE).write_text('{"type": "module"}')
    return ModuleFolder(folder)


# --- no false alarm -------------------------------------------------------------------------------


def no_fault(found: Replays) -> None:
    for tally in (found.python, found.javascript):
        assert tally.fault is None, tally.fault
        assert tally.coins is None


@pytest.mark.parametrize("name", [one for one in STUDIES if one not in ("many coins", "numbers")])
def test_a_device_as_it_is_shipped_shows_no_difference(name: str) -> None:
    """And every class of inputs, and every state of a device, is reached at once."""
    found = replay(definition(name), scenarios=1, languages=["Python"])

    no_fault(found)
    assert found.python.classes_done
    assert found.missing_states(found.python) == []
    for question in found.study.questions:
        assert found.missing_kinds(found.python, question["name"]) == []


def test_nor_does_one_in_javascript(node: Node) -> None:
    found = replay(definition("hours"), scenarios=1, languages=["JavaScript"], node=node)

    no_fault(found)
    assert found.javascript.classes_done
    assert found.missing_states(found.javascript) == []
    assert found.missing_kinds(found.javascript, "hours") == []


@soak
@pytest.mark.parametrize("name", [*STUDIES, "every type"])
def test_a_hundred_honest_audits_accuse_nobody(name: str, node: Node) -> None:
    """Each time with other made-up answers and other coins: 20 surveys, 5 or more times each."""
    each = definition(name) if name in STUDIES else json.loads(survey_of_everything().canonical)

    for seed in range(6):
        no_fault(replay(each, 2, node=node, seed=seed))


def test_each_type_of_question_and_each_mechanism_is_replayed() -> None:
    """All fourteen together, as far as a moment goes; ``make soak`` goes on."""
    everything: Definition = json.loads(survey_of_everything().canonical)

    found = replay(everything, 0.3, languages=["Python"])

    no_fault(found)
    assert set(found.python.questions) == {one["name"] for one in everything["questions"]}


# --- planted faults -------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", PYTHON, ids=lambda fault: fault.name)
def test_a_fault_of_the_python_device_is_seen(fault: Fault) -> None:
    with planted(fault):
        found = replay(definition(fault.study), 3, languages=["Python"]).python

    assert found.fault or found.coins


@pytest.mark.parametrize("fault", JAVASCRIPT, ids=lambda fault: fault.name)
def test_a_fault_of_the_modules_is_seen(
    fault: FaultOfModules, node: Node, shipped: ModuleFolder
) -> None:
    each = definition(fault.study)
    with shipped.planted(fault.module, (fault.text, fault.planted)) as folder:
        found = replay(each, 3, languages=["JavaScript"], modules=folder, node=node).javascript

    assert found.fault or found.coins


@pytest.mark.thorough
def test_javascript_is_replayed_in_a_process_beside(shipped: ModuleFolder) -> None:
    (fault,) = [one for one in JAVASCRIPT if one.name == "an id carries an answer"]
    each = definition(fault.study)
    python = replay(each, 1e-9, languages=["Python"])
    with (
        shipped.planted(fault.module, (fault.text, fault.planted)) as folder,
        JavaScriptProcess(each, 0.5, until_enough=False, modules=None, walks=[]) as right,
        JavaScriptProcess(each, 3, until_enough=False, modules=folder, walks=[]) as wrong,
    ):
        found, failed = right.joined(python), wrong.joined(python)

    no_fault(found)
    assert found.python is python.python
    assert found.javascript.reports > 20
    assert found.javascript.version
    assert failed.javascript.fault
    assert failed.fault is failed.javascript.fault


def test_where_the_process_beside_ends_javascript_was_not_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    each = definition("two questions")

    with JavaScriptProcess(each, 1, until_enough=False, modules=None, walks=[]) as nobody:
        found = nobody.joined(replay(each, 1e-9, languages=["Python"]))

    assert found.javascript.not_run == "its process ended with status 1"


def test_a_fault_that_a_count_lets_through_is_a_failure_of_the_whole_audit() -> None:
    """Its own answer is always in the report: a lower bound of epsilon was once called a pass."""
    (fault,) = [one for one in PYTHON if one.name == "an answer is always in its own report"]
    with planted(fault):
        found = audit_survey(as_survey(STUDIES[fault.study]), trials=10, scenarios=1)

    assert (found.outcome, found.passed, found.exit_code) == ("failed", False, 1)
    assert "Passed" not in str(found)
    assert found.conclusion.startswith("FAILED: which, Python: for ")
    assert "of the same coins" in found.conclusion


# --- witnesses ------------------------------------------------------------------------------------


def test_a_witness_shows_the_fault_again_and_nothing_once_it_is_mended() -> None:
    """A departure that chance made in one report of many is made again, by the same bytes."""
    (fault,) = [one for one in PYTHON if one.name == "7.5 is told"]
    with planted(fault):
        found = replay(definition(fault.study), 3, languages=["Python"])
        assert found.fault
        witness = witness_of(found.study, found.fault)
        assert witness
        read = read_witness(witness.text)
        repeated = again(read)

    assert repeated
    assert repeated.difference == found.fault.difference
    assert again(read) is None


def test_a_witness_of_javascript_is_run_in_javascript(shipped: ModuleFolder) -> None:
    (fault,) = [one for one in JAVASCRIPT if one.name == "an id carries an answer"]
    with shipped.planted(fault.module, (fault.text, fault.planted)) as folder:
        found = replay(definition(fault.study), 3, languages=["JavaScript"], modules=folder)
        assert found.fault
        witness = witness_of(found.study, found.fault)
        assert witness
        repeated = again(witness, folder)

    assert repeated
    assert repeated.difference == found.fault.difference
    assert again(witness) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"language": "Python"}', "[" * 10**5])
def test_what_is_no_witness_is_refused(text: str) -> None:
    with pytest.raises(BadWitness):
        read_witness(text)


def test_a_witness_that_cannot_be_run_is_refused() -> None:
    study = study_of(definition("two questions"))
    broken = {"language": "Python", "question": None, "bytes": []}
    broken |= {"survey": study.survey, "scenario": {"document": None, "steps": [{"do": "answer"}]}}

    with pytest.raises(BadWitness):
        again(read_witness(json.dumps(broken)))


# --- the tap and the coins ------------------------------------------------------------------------


def test_the_tap_sees_what_coins_are_made_of_and_leaves_no_trace() -> None:
    import os
    import random
    import secrets

    before = random._urandom, os.urandom  # type: ignore[attr-defined]
    with tapped() as tap:
        tap.begin()
        coins = Coins()
        values = [coins.below(7) for _ in range(50)]
        same, tap.blocks = tap.blocks, []
        token = secrets.token_bytes(5)

        assert tap.blocks == [token]
    blocks = Blocks(same)

    assert [blocks.below(7) for _ in range(50)] == values
    assert (random._urandom, os.urandom) == before  # type: ignore[attr-defined]


def test_words_at_the_edges_are_drawn_as_specified_in_both_languages() -> None:
    """Words that no run meets: below 3, that of 2^53 - 2 is thrown away once in 2^52 draws."""
    draws = edge_draws()
    right = []
    for n, tape in draws:
        coins = Tape(tape)
        right.append((coins.below(n), coins.consumed))

    assert {taken for _, taken in right} == {7, 14}
    assert below_in_python(draws) == right
    with JavaScriptDevice(study_of(definition("two questions"))) as device:
        device.verify()
        assert device.below(draws) == right


# --- inputs ---------------------------------------------------------------------------------------


def test_a_number_is_typed_in_every_way_that_matters() -> None:
    grid = {"minimum": "0", "maximum": "40", "step": "1"}
    question = STUDIES["hours"]["questions"][0]
    inputs = inputs_of(question | {"range": grid}, Random(1))
    texts = {one.typed for one in inputs if isinstance(one.typed, str) and not one.refused}

    assert {"0", "40", "41", "-1", "0.5", "-0.5", "40.5", "7.5", "39.5", ".5", "+7", "7."} <= texts
    assert any(len(one) > 9 and one.startswith("7.4999") for one in texts)
    assert {7, 7.5} & {one.typed for one in inputs if isinstance(one.typed, int | float)}
    assert {"1e1", "", "seven"} <= {one.typed for one in inputs if isinstance(one.typed, str)}


@pytest.mark.parametrize(("value", "text"), [("-15/2", "-7.5"), ("1/8", "0.125"), ("-40", "-40")])
def test_a_decimal_is_written_plainly(value: str, text: str) -> None:
    from fractions import Fraction

    assert decimal_text(Fraction(value)) == text


# --- verdicts -------------------------------------------------------------------------------------


def test_the_ladder_has_an_exit_code_for_each_verdict() -> None:
    assert [EXIT[rung] for rung in RUNGS] == [0, 0, 3, 4, 1]
    assert worst(["proved", "in part", "replayed"]) == "in part"
    assert worst(["counted", "in part"]) == "counted"
    assert worst([]) == "proved"


def test_the_numbers_of_replays_miss_a_departure_once_in_a_million() -> None:
    assert (19 / 20) ** EACH < 1e-6 < (19 / 20) ** (EACH - 10)
    assert (999 / 1000) ** ALL < 1.01e-6
    assert (one_in(EACH), one_in(ALL)) == (20, 1000)


def judged(name: str, replays: Replays) -> tuple[str, str]:
    """The verdicts on the first question, and on whole reports."""
    survey = as_survey(STUDIES[name])
    (first, *_), (together, *pairs) = audit(survey, 100), whole_reports(survey)
    question = judge_question(survey.questions[0], first, replays)
    return question.rung, judge_whole(ReportAudit(together, tuple(pairs)), replays).rung


@pytest.fixture
def few_visits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three people answer through the whole client, for tests of what else an audit says."""
    monkeypatch.setattr(survey_audit, "VISITS", 3)
    monkeypatch.setattr(verdict_levels, "VISITS", 3)


@pytest.mark.usefixtures("few_visits")
def test_without_javascript_nothing_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """However often the Python was replayed: phones run JavaScript."""
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(NoNode, match="there is no node here"):
        find_node()

    found = audit_survey(as_survey(STUDIES["two questions"]), trials=10, scenarios=1)

    assert (found.outcome, found.exit_code) == ("in part", 3)
    assert found.conclusion == (
        "In part: JavaScript was not run (there is no node here), and phones run JavaScript."
    )
    assert "JavaScript was not run" in str(found)


def test_a_class_that_was_not_reached_is_named() -> None:
    replays = replay(definition("hours"), scenarios=1, languages=["Python"])
    replays.python.kinds.discard(("hours", "beyond the ends"))
    survey = as_survey(STUDIES["hours"])

    found = judge_question(survey.questions[0], audit(survey, 10)[0], replays)

    assert found.rungs["Python"] == "in part"
    assert "Not reached in Python: beyond the ends." in found.text


def test_what_was_replayed_often_enough_passes() -> None:
    """Each answer 276 times and all together 13,800 times, in JavaScript 2,760."""
    replays = replay(definition("twelve"), scenarios=1, languages=["Python"])
    for tally, reports in ((replays.python, ALL), (replays.javascript, 2_760)):
        tally.__dict__ |= {
            "reports": reports,
            "answers": type(tally.answers)({("which", str(i)): EACH for i in range(12)}),
            "questions": type(tally.questions)({"which": reports}),
            "kinds": {("which", kind) for kind in replays.kinds["which"]},
            "states": set(replays.states),
            "classes_done": True,
            "not_run": None,
            "visits": VISITS,
        }

    assert judged("twelve", replays)[1] == "replayed"
    replays.javascript.answers["which", "3"] -= 1
    survey = as_survey(STUDIES["twelve"])
    memoless = audit(survey, 10)[0]
    part = type(memoless.walk)(3, 12, 100, 0.5, None, None)
    found = judge_question(
        survey.questions[0], type(memoless)(**memoless.__dict__ | {"walk": part}), replays
    )
    assert found.rungs == {"Python": "replayed", "JavaScript": "in part"}
    assert "the rarest answer 275 of 276" in found.text


def test_a_walked_question_takes_no_number_of_replays_beside_its_classes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was walked is proved; many replays of its rarest answer would prove no more."""
    monkeypatch.setattr(replaying, "ALL", 60)
    monkeypatch.setattr(replaying, "EACH", 60)
    given = definition("twelve")

    walked = replay(given, until_enough=True, languages=["Python"], walked={"which"}).python
    other = replay(given, until_enough=True, languages=["Python"]).python

    (question,) = given["questions"]
    assert walked.classes_done
    assert 60 <= walked.reports < other.reports
    assert walked.least(question) < 60 <= other.least(question)


@pytest.mark.usefixtures("few_visits")
def test_proof_takes_a_walk_in_both_languages() -> None:
    found = audit_survey(as_survey(STUDIES["numbers"]), trials=10, scenarios=1)

    assert [one.rung for one in found.judged] == ["proved", "proved", "in part"]
    assert found.replays.javascript.walked == {"first", "second"}
    assert "proved in Python and JavaScript: each of 2 answers" in found.judged[0].text


def test_a_law_of_javascript_that_is_another_is_no_proof(node: Node, shipped: ModuleFolder) -> None:
    """Found by the walk alone: no report is ever replayed."""
    text = "const kept = coins.choose([omega * own, (k - omega) * other]) === 0;"
    swapped = "const kept = coins.choose([(k - omega) * other, omega * own]) === 1;"
    with shipped.planted(
        "subset_selection.js", (text, swapped.replace("=== 1", "=== 0"))
    ) as folder:
        found = replay(
            definition("two questions"), 1e-9, languages=["JavaScript"], modules=folder, node=node,
            walks=[("first", [0, 1])],
        ).javascript  # fmt: skip

    assert found.fault
    assert found.reports == 0
    assert "another law than the published integers" in found.fault.why


def test_a_survey_that_the_reference_does_not_know_is_counted() -> None:
    strange = definition("two questions") | {"spec": 2}

    found = replay(strange, 1)

    assert found.foreign
    assert found.python.not_run
    assert judged("two questions", found) == ("counted", "counted")


def test_a_module_that_does_not_load_is_a_fault(node: Node, tmp_path: Path) -> None:
    found = replay(
        definition("two questions"), 1, languages=["JavaScript"], modules=tmp_path, node=node
    )

    assert found.javascript.fault
    assert "do not take the survey" in found.javascript.fault.why


def test_devices_are_run_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that is replaced by another is noticed: there is no copy of it in the audit."""
    from deniably.device import memory

    with PythonDevice(study_of(definition("two questions"))) as device:
        monkeypatch.setattr(memory, "answer", lambda *_, **__: 1 / 0)
        (seen, *_) = device.run([{"document": None, "steps": [_STEP]}])[0]

    assert seen.broken
    assert seen.broken.startswith("ZeroDivisionError")


_STEP = {
    "do": "answer", "survey": 0, "typed": {}, "plain": {}, "author": "", "day": "2026-01-01",
    "stratum": None, "limits": None,
}  # fmt: skip


def test_a_pass_names_what_nobody_looked_at_and_no_option_that_is_not_there() -> None:
    from deniably.audit.verdict_levels import conclusion
    from deniably_server.commands.audit import audit as command

    replays = replay(definition("two questions"), scenarios=1, languages=["Python"])
    replays.python.reports, replays.javascript.reports = ALL, 2_760
    replays.javascript.version = "20.1.0"

    said = conclusion("replayed", replays)

    assert said.startswith("Passed: Python here, JavaScript in Node 20. Not looked at: ")
    assert said.endswith("departures rarer than 1 in 1,000 (in JavaScript 1 in 200).")
    options = {name for one in command.params for name in one.opts}
    assert {word for word in said.split() if word.startswith("--")} <= options


def divided(ask: int | None) -> Definition:
    """Questions of different prices, of which a device may answer a part."""
    kinds = ["odds: 2", "odds: 3", "epsilon: 0.3"]
    text = "name: divided\ntitle: T\npart: true\nquestions:\n" + "".join(
        f"  - {{name: q{i}, type: yes_no, label: Q, {kind}}}\n" for i, kind in enumerate(kinds)
    )
    found: Definition = json.loads(publish_text(text).canonical)
    return found | ({"ask": ask} if ask else {})


@pytest.mark.parametrize(
    ("ask", "languages"),
    [(None, ["JavaScript"]), pytest.param(2, ["Python"], marks=pytest.mark.soak)],
)
@pytest.mark.thorough
def test_parts_are_drawn_kept_and_answered_as_specified(
    ask: int | None, languages: list[Any], node: Node
) -> None:
    found = replay(divided(ask), 1, languages=languages, node=node)

    no_fault(found)
    assert {"little budget left", PART} <= set(found.states)
    tally = found.python if ask else found.javascript
    assert found.missing_states(tally) == []


def test_an_order_that_is_not_drawn_by_chance_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def sorted_order(memory: Memory, survey: Survey) -> Memory:
        names = [question.name for question in survey.questions]
        return replace(memory, orders={survey.digest: names})

    monkeypatch.setattr(python_device, "with_order", sorted_order)

    found = replay(divided(None), 1, languages=["Python"])

    assert found.python.fault
