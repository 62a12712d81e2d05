"""``deniably plan`` and ``audit``: what authors try before they publish."""

from __future__ import annotations

import io
import json
import math
import re
import secrets
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from click.testing import CliRunner, Result

from deniably.audit import question_audit, survey_audit, whole_reports
from deniably.audit.survey_audit import recognition_fault
from deniably.authoring.compiling import publish_text
from deniably.core.coins import Coins
from deniably.mechanisms import SubsetSelection
from deniably.survey.survey import read_survey
from deniably_server.commands.audit import audit, show_progress
from deniably_server.commands.authoring import check
from deniably_server.commands.plan import plan
from support.every_type import survey_of_everything
from support.whole_faults import PLANTED, send_with

SURVEY = """
name: s
title: Habits
budget: {epsilon: 4, spend: split}
questions:
  - {name: stolen, type: yes_no, label: Stolen}
  - {name: drinks, type: number, label: Drinks, minimum: 0, maximum: 50}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "survey.yaml"
    path.write_text(SURVEY)
    return path


@pytest.fixture
def short(tmp_path: Path) -> Path:
    """A survey with few possible answers, whose branches an audit walks quickly."""
    path = tmp_path / "short.yaml"
    path.write_text(SURVEY.replace("maximum: 50", "maximum: 3"))
    return path


def run(command, *arguments: object) -> Result:  # type: ignore[no-untyped-def]
    return CliRunner().invoke(command, [str(one) for one in arguments])


def test_the_number_of_respondents_follows_from_epsilon_and_margin() -> None:
    done = run(plan, "--epsilon", 1, "--margin", 0.05)

    assert done.exit_code == 0
    assert "1,799" in done.output
    assert "385 people asked directly" in done.output
    assert "4.7 times the respondents" in done.output


def test_every_epsilon_has_its_odds_and_its_worst_guess(short: Path) -> None:
    """A survey's three answers to odds 3 and twice e: the last row is for both together."""
    (row,) = json.loads(run(plan, "--epsilon", 1.0986123, "--n", 100, "--json").output)
    assert row["odds"] == pytest.approx(3)
    assert row["worst_guess"] == pytest.approx(0.75)

    *rows, together = json.loads(run(plan, short, "--n", 2000, "--json").output)
    assert [row["odds"] for row in rows] == pytest.approx([math.exp(2)] * 2)
    assert together["odds"] == pytest.approx(math.exp(4), rel=1e-4)
    shown = run(plan, short, "--n", 2000).output
    assert shown.splitlines()[1].split()[:5] == ["stolen", "share", "2.00", "7.39", "89"]
    assert "Worst guess: of 100 guesses" in shown


def test_the_curve_says_what_a_margin_costs_at_every_epsilon() -> None:
    rows = json.loads(run(plan, "--curve", "--margin", 0.05, "--json").stdout)
    by_epsilon = {row["epsilon"]: row for row in rows}

    assert by_epsilon[1.0]["n"] == 1799
    assert {row["direct"] for row in rows} == {385}
    assert by_epsilon[1.0]["curator"] == 392
    assert all(row["direct"] <= row["curator"] <= row["n"] for row in rows)
    counts = [row["n"] for row in rows]
    assert counts == sorted(counts, reverse=True)
    for epsilon, row in by_epsilon.items():
        (alone,) = json.loads(run(plan, "--epsilon", epsilon, "--margin", 0.05, "--json").output)
        assert (alone["n"], alone["odds"]) == (row["n"], row["odds"])


def test_the_curve_of_a_survey_has_a_column_for_each_question(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(
        "{name: s, title: T, questions: ["
        "{name: stolen, type: yes_no, label: Stolen, epsilon: 1},"
        "{name: often, type: select_one, label: Often, epsilon: 2, choices: [a, b, c, d]}]}"
    )

    shown = run(plan, file, "--curve", "--margin", 0.05).stdout
    rows = json.loads(run(plan, file, "--margin", 0.05, "--json").output)

    heading = next(line for line in shown.splitlines() if line.startswith("epsilon"))
    assert heading.split()[:6] == ["epsilon", "odds", "worst", "guess", "stolen", "often"]
    at = {line.split()[0]: line.split() for line in shown.splitlines() if line[:7].strip()}
    assert at["1"][3] == f"{rows[0]['n']:,}"
    assert at["2"][4] == f"{rows[1]['n']:,}"


def test_the_drawing_of_a_curve_has_the_numbers_of_its_table(tmp_path: Path) -> None:
    """The lines' points, read back from the file, lie where the table's numbers do."""
    path = tmp_path / "curve.svg"

    rows = json.loads(run(plan, "--curve", "--margin", 0.05, "--json", "--svg", path).stdout)
    root = ElementTree.fromstring(path.read_text())

    of_svg = "{http://www.w3.org/2000/svg}"
    lines = [one.attrib["points"].split() for one in root.iter(f"{of_svg}polyline")]
    described = root.findtext(f"{of_svg}desc") or ""
    for line, column in zip(lines, ("n", "curator", "direct"), strict=True):
        for point, row in zip(line, rows, strict=True):
            across, down = map(float, point.split(","))
            place = math.log(row["epsilon"] / 0.1) / math.log(5 / 0.1)
            assert across == pytest.approx(1000 * place, abs=0.01)
            height = math.log(row[column] / 100) / math.log(10**6 / 100)
            assert down == pytest.approx(1000 * (1 - height), abs=0.01)
            assert f"{row[column]:,} at epsilon {row['epsilon']:g}" in described


def test_the_drawing_of_a_survey_has_its_dearest_and_its_cheapest_question(tmp_path: Path) -> None:
    names = {"two": "[a, b]", "four": "[a, b, c, d]", "six": "[a, b, c, d, e, f]"}
    questions = [
        f"{{name: {name}, type: select_one, label: {name}?, epsilon: 1, choices: {choices}}}"
        for name, choices in names.items()
    ]
    file, path = tmp_path / "s.yaml", tmp_path / "s.svg"
    file.write_text(f"{{name: s, title: T, questions: [{', '.join(questions)}]}}")

    done = run(plan, file, "--curve", "--margin", 0.1, "--svg", path)

    assert done.exit_code == 0
    texts = [one.text for one in ElementTree.fromstring(path.read_text()).iter() if one.text]
    legend = ["six", "two", "a trusted curator", "asked directly"]
    assert [one for one in texts if one in (*names, *legend)] == legend


def test_a_drawing_that_cannot_be_written_is_explained(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere" / "curve.svg"

    failed = run(plan, "--curve", "--margin", 0.05, "--svg", nowhere)

    assert failed.exit_code == 1
    assert "cannot draw into" in failed.output
    refused = run(plan, "--epsilon", 1, "--margin", 0.05, "--svg", tmp_path / "x.svg")
    assert refused.exit_code == 2
    assert "add --curve" in refused.output


@pytest.mark.parametrize("more", [("--epsilon", 1), ("--n", 100)])
def test_the_curve_needs_a_margin_and_nothing_else(more: tuple[object, ...]) -> None:
    assert run(plan, "--curve").exit_code == 2
    refused = run(plan, "--curve", "--margin", 0.05, *more)

    assert refused.exit_code == 2
    assert "with --curve give --margin, without --epsilon and --n" in refused.output


def test_a_delta_above_one_in_n_squared_is_warned_of(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(
        "{name: s, title: T, questions: [{name: drinks, type: number, label: Drinks, minimum: 0,"
        " maximum: 9, epsilon: 1, delta: 0.000001, mechanism: gaussian}]}"
    )

    few, many = (run(plan, file, "--n", n).output for n in (1000, 1001))

    assert "1/n²" not in few
    assert "delta 0.000001 is above 1/n²: of 1,001 people" in many
    file.write_text(file.read_text().replace("0.000001", "0.00001"))
    assert "delta 0.00001 is above 1/n²: of 1,000 people" in run(check, file).output


@pytest.mark.parametrize(("n", "grid"), [(300, 4), (2000, 4), (5000, 7)])
def test_the_plan_of_a_map_says_which_grid_its_people_support(
    tmp_path: Path, n: int, grid: int
) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(
        "{name: s, title: T, questions: [{name: home, type: point, label: Home, epsilon: 1,"
        " grid: 6, parts: [{name: x, label: X, minimum: 0, maximum: 99},"
        " {name: y, label: Y, minimum: 0, maximum: 99}]}]}"
    )

    shown = run(plan, file, "--n", n).output

    assert f"with {n:,} respondents grid: {grid} errs least, and grid: 6 1." in shown
    file.write_text(file.read_text().replace("grid: 6", f"grid: {grid}"))
    assert f"grid: {grid} errs least, as here" in run(plan, file, "--n", n).output


@pytest.mark.parametrize(
    "arguments", [("--epsilon", 1), ("--n", 5), (), ("--epsilon", 1, "--n", 5, "--margin", 0.1)]
)
def test_two_of_the_three_are_needed(arguments: tuple[object, ...]) -> None:
    done = run(plan, *arguments)

    assert done.exit_code == 2
    assert "give two of --epsilon, --margin and --n" in done.output


def test_a_survey_is_planned_question_by_question(short: Path) -> None:
    done = run(plan, short, "--n", 2000, "--json")

    rows = json.loads(done.output)
    assert [row["question"] for row in rows] == ["stolen", "drinks", "all together"]
    assert all(row["n"] == 2000 and 0 < row["margin"] < 0.1 for row in rows)
    assert rows[-1]["margin"] == max(row["margin"] for row in rows)
    assert rows[-1]["epsilon"] == pytest.approx(4)
    assert run(plan, short, "--n", 5, "--epsilon", 1).exit_code == 2


def test_a_survey_is_planned_for_the_epsilon_that_it_needs(short: Path) -> None:
    done = run(plan, short, "--n", 2000, "--margin", 0.1, "--json")

    *rows, together = json.loads(done.output)
    assert all(row["margin"] <= 0.1 and row["epsilon"] < 2 for row in rows)
    assert together["epsilon"] == pytest.approx(sum(row["epsilon"] for row in rows))
    failed = run(plan, short, "--n", 20, "--margin", 0.01)
    assert failed.exit_code == 1
    assert "stolen: no epsilon up to 10 brings 20 respondents within 0.01" in failed.output


def test_a_delta_stands_beside_every_epsilon_that_has_one(tmp_path: Path, file: Path) -> None:
    noisy = tmp_path / "noisy.yaml"
    noisy.write_text(
        "{name: s, title: T, questions: ["
        "{name: stolen, type: yes_no, label: Stolen, epsilon: 1},"
        "{name: drinks, type: number, label: Drinks, minimum: 0, maximum: 50, epsilon: 1,"
        " delta: 0.00001, mechanism: gaussian}]}"
    )

    rows = json.loads(run(plan, noisy, "--n", 2000, "--json").output)

    assert [row["delta"] for row in rows] == ["0", "0.00001", "0.00001"]
    heading, stolen, drinks, *_ = run(plan, noisy, "--n", 2000).output.splitlines()
    assert heading.index("delta") > heading.index("epsilon")
    assert "  0.00001  " in drinks
    assert "0.00001" not in stolen
    assert "delta" not in run(plan, file, "--n", 2000).output


def test_a_question_that_half_of_the_devices_draw_needs_twice_the_respondents(
    tmp_path: Path,
) -> None:
    everybody = (
        "{name: s, title: T, questions: [{name: a, type: yes_no, label: A, epsilon: 1},"
        " {name: b, type: yes_no, label: B, epsilon: 1}]}"
    )
    some = (
        "{name: s, title: T, budget: {epsilon: 1, spend: sample, ask: 1},"
        " questions: [{name: a, type: yes_no, label: A}, {name: b, type: yes_no, label: B}]}"
    )
    needed: list[int] = []
    for text in (everybody, some):
        file = tmp_path / "survey.yaml"
        file.write_text(text)
        needed.append(json.loads(run(plan, file, "--margin", 0.05, "--json").output)[0]["n"])

    assert needed[1] == pytest.approx(2 * needed[0], abs=1)


def test_a_plan_says_what_a_figure_is(tmp_path: Path) -> None:
    """A product has a margin for its parts and one for its combinations, a map for its areas."""
    file = tmp_path / "everything.json"
    file.write_bytes(survey_of_everything().canonical)

    shown = run(plan, file, "--n", 2000).output

    for figure in ("share of party", "share of union", "share of a combination", "mean of care"):
        assert figure in shown
    assert "home, share of an area: each of 64 areas, about 5.125 km by 5.125 km" in shown
    assert "vote, share of a combination: each of the 6 combinations" in shown


# --- audit --------------------------------------------------------------------------------------


@pytest.fixture
def tape(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fixed coins: an audit with fresh ones is wrong about one question in a million."""
    monkeypatch.setattr(secrets, "token_bytes", Random(1).randbytes)


WALKED: dict[object, Any] = {}


@pytest.fixture
def walked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What several of these tests have audited is walked once for all, and its reports are counted
    once: a walk draws no coins, and what is shipped is the same in each of them."""
    of_question, of_reports = question_audit.walk, whole_reports.walk_reports
    count = survey_audit.count_reports

    def question(mechanism: Any, randomise: Any) -> Any:
        assert randomise == mechanism.randomise
        if mechanism not in WALKED:
            WALKED[mechanism] = of_question(mechanism, randomise)
        return WALKED[mechanism]

    def reports(surveys: Any, send: Any, paths: int) -> Any:
        key = (*(survey.digest for survey in surveys), paths)
        if key not in WALKED:
            WALKED[key] = of_reports(surveys, send, paths)
        return WALKED[key]

    def counted(survey: Any) -> Any:
        if survey.digest not in WALKED:
            WALKED[survey.digest] = count(survey)
        return WALKED[survey.digest]

    monkeypatch.setattr(survey_audit, "count_reports", counted)
    monkeypatch.setattr(question_audit, "walk", question)
    monkeypatch.setattr(whole_reports, "walk_reports", reports)


@pytest.mark.usefixtures("tape", "walked_once")
def test_an_audit_shows_claimed_exact_and_certified(short: Path) -> None:
    done = run(audit, short, "--seconds", 0, "--trials", 2000)

    assert done.exit_code == 3, done.output
    first, second = done.output.splitlines()[1:3]
    assert first.split()[:3] == ["stolen", "2.0000", "2.0000"]
    assert first.endswith("every branch walked")
    assert second.startswith("drinks")
    assert "one chance in a million" in done.output


def noisy(tmp_path: Path, *names: str) -> Path:
    """A survey of some of the questions of every type."""
    survey = survey_of_everything()
    some = [question for question in survey.questions if question.name in names]
    file = tmp_path / "noisy.json"
    file.write_bytes(msgspec.structs.replace(survey, questions=some).canonical)
    return file


@pytest.mark.usefixtures("walked_once")
def test_an_audit_that_showed_nothing_does_not_say_passed(tmp_path: Path) -> None:
    """Reports of noise, whose branches have no end, prove nothing, and nothing was replayed."""
    file = noisy(tmp_path, "fines")

    done = run(audit, file, "--seconds", 0, "--trials", 10)
    said = " ".join(done.output.split())
    (row,) = json.loads(run(audit, file, "--seconds", 0, "--trials", 10, "--json").output)[
        "questions"
    ]

    assert done.exit_code == 3, done.output
    assert "nothing  likeliest branches" in done.output
    assert "passed" not in done.output.lower()
    assert "Certified:" not in done.output
    assert "Nothing certified: 10 reports of each of two answers are too few" in said
    assert (row["outcome"], row["passed"], row["certified"]) == ("in part", False, 0)


@pytest.mark.usefixtures("tape", "walked_once")
def test_an_audit_says_of_which_questions_every_report_was_walked(tmp_path: Path) -> None:
    done = run(audit, noisy(tmp_path, "stolen", "fines"), "--seconds", 0, "--trials", 500)
    said = " ".join(done.output.split())

    assert "stolen in part: every branch of its 2 answers walked in Python." in said
    assert "fines in part. Python was not run (no time was given to replays)." in said


@pytest.mark.usefixtures("tape")
def test_of_a_walk_that_hardly_began_no_0_0_percent_is_claimed(tmp_path: Path) -> None:
    shown = run(audit, noisy(tmp_path, "home"), "--seconds", 0, "--trials", 500).output

    assert "likeliest branches (below 0.1%) of 3 of 64 answers" in shown
    assert "every branch" not in shown


def test_an_audit_shows_each_question_as_soon_as_it_is_done(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user who stops it has seen the results so far."""
    whole = question_audit.audit_question

    def stopped(question: Any, *rest: Any) -> Any:
        if question.name != "stolen":
            raise KeyboardInterrupt
        return whole(question, *rest)

    monkeypatch.setattr(question_audit, "audit_question", stopped)
    done = run(audit, file, "--seconds", 0, "--trials", 500)

    assert done.exit_code == 1
    assert "stolen" in done.output.splitlines()[1]


def test_on_a_terminal_an_audit_says_what_it_is_doing() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal, pipe = Terminal(), io.StringIO()
    for stream in (terminal, pipe):
        show_progress("auditing stolen, 1 of 2 questions", stream)
        show_progress("", stream)

    assert terminal.getvalue() == "\r\x1b[Kauditing stolen, 1 of 2 questions ...\r\x1b[K"
    assert pipe.getvalue() == ""


@pytest.mark.usefixtures("walked_once")
def test_an_audit_walks_whole_reports_to_the_end_where_they_are_small(tmp_path: Path) -> None:
    done = run(audit, noisy(tmp_path, "stolen", "caught"), "--seconds", 0, "--trials", 500)
    said = " ".join(done.output.split())

    assert done.exit_code == 3, done.output
    assert "Every branch of all 4 answers to the 2 questions together walked in Python." in said


@pytest.mark.usefixtures("walked_once")
def test_an_audit_says_how_far_whole_reports_were_walked(tmp_path: Path) -> None:
    file = noisy(tmp_path, "stolen", "caught", "fines")
    done = run(audit, file, "--seconds", 0, "--trials", 500)
    said = " ".join(done.output.split())

    assert done.exit_code == 3, done.output
    assert "Walked in Python: likeliest branches (" in said
    assert "of 3 pairs of questions 1 to the end, 2 in part" in said
    told = json.loads(run(audit, file, "--seconds", 0, "--trials", 10, "--json").output)[
        "whole_reports"
    ]
    assert (told["outcome"], told["fault"]) == ("in part", None)
    assert told["pairs"] == {"of": 3, "walked": 1, "in_part": 2}


@pytest.mark.parametrize(
    "name",
    [
        "one question copies another's report where the answers agree",
        "the last digit of the id carries an answer",
    ],
)
def test_an_audit_fails_where_questions_tell_more_together_than_apart(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every question of them is right by itself."""
    planted = next(one for one in PLANTED if one.name == name)
    assert planted.python
    send = send_with(planted.python)[0]
    monkeypatch.setattr(whole_reports, "reports", lambda: send)

    done = run(audit, noisy(tmp_path, "stolen", "caught"), "--seconds", 0, "--trials", 500)

    assert done.exit_code == 1
    assert done.output.count("every branch walked") == 2
    assert "FAILED: for stolen: yes, caught: " in " ".join(done.output.split())


@pytest.mark.usefixtures("walked_once")
def test_an_audit_can_be_read_by_programs(short: Path) -> None:
    told = json.loads(run(audit, short, "--seconds", 0, "--trials", 2000, "--json").output)

    together = told["whole_reports"]
    assert (told["outcome"], told["exit"], told["witness"]) == ("in part", 3, None)
    assert (together["outcome"], together["fault"]) == ("in part", None)
    assert together["answers"] == [8, 8]
    assert set(told["replays"]) == {"Python", "JavaScript"}
    for row in told["questions"]:
        assert row["walked"]
        assert not row["passed"], "nothing was replayed"
        assert 0.5 < row["certified"] <= row["exact"] <= row["claimed"] + 1e-9


WAVE = """
{name: w, title: W, waves: {panel: p, count: 3, recognisable: true}, questions: [
  {name: a, type: select_one, label: A?, choices: [a, b, c, d, e], odds: 50},
  {name: b, type: select_one, label: B?, choices: [a, b, c, d, e], odds: 50}]}
"""


@pytest.mark.usefixtures("walked_once")
@pytest.mark.parametrize(
    ("factor", "why"),
    [
        (1, None),
        (0, "the survey says of nobody that they can be recognised"),
        (2, "the survey says that [0-9]+ of 1,000 people can be recognised"),
    ],
)
def test_an_audit_checks_how_many_people_a_wave_says_can_be_recognised(
    factor: int, why: str | None, tmp_path: Path
) -> None:
    """Devices show that number and do not check it."""
    definition = json.loads(publish_text(WAVE).canonical)
    people = definition["waves"].pop("recognised")
    assert people > 10
    if factor:
        definition["waves"]["recognised"] = factor * people
    file = tmp_path / "wave.json"
    file.write_text(json.dumps(definition))

    done = run(audit, file, "--seconds", 0, "--trials", 10)
    told = json.loads(run(audit, file, "--seconds", 0, "--trials", 10, "--json").output)[
        "recognition"
    ]["fault"]

    assert done.exit_code == (1 if why else 3), done.output
    assert ("recognition: FAILED" in done.output) == bool(why)
    if why is None:
        assert told is None
    else:
        assert re.match(f"{why} from wave to wave; about {people} can$", told)
    assert recognition_fault(read_survey(file.read_bytes())) == told


def test_a_survey_that_gives_away_more_than_it_claims_fails(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A randomiser that keeps the answer too often, under a definition that is right."""
    honest = SubsetSelection.randomise

    def faulty(self: SubsetSelection, answer: int, coins: Coins) -> tuple[int, ...]:
        return (answer,) if coins.choose((1, 3)) == 0 else honest(self, answer, coins)

    monkeypatch.setattr(SubsetSelection, "randomise", faulty)
    done = run(audit, short, "--seconds", 0, "--trials", 2000)

    assert done.exit_code == 1
    assert "FAILED" in done.output


# --- what an ethics board asks beside the plan ----------------------------------------------------

TWO_COINS = """
name: s
title: Habits
questions:
  - {name: stolen, type: yes_no, label: Stolen, coins: {truth: 0.5}}
"""


@pytest.fixture
def two_coins(tmp_path: Path) -> Path:
    path = tmp_path / "coins.yaml"
    path.write_text(TWO_COINS)
    return path


def test_a_plan_says_what_half_and_double_the_epsilon_would_cost(two_coins: Path) -> None:
    """Of two coins, odds 3 become the root of 3 or 9: Warner's variance at one half is
    (1/2 + 1/(odds - 1))^2, here as a ratio."""

    def respondents(*more: object) -> int:
        done = run(plan, two_coins, "--margin", 0.05, "--json", *more)
        return int(json.loads(done.output)[-1]["n"])

    own = respondents()
    for times, odds in ((0.5, math.sqrt(3)), (2, 9)):
        ratio = ((0.5 + 1 / (odds - 1)) / (0.5 + 1 / 2)) ** 2
        assert respondents("--times", times) == pytest.approx(own * ratio, abs=1.5)
    assert respondents("--times", 1) == own
    refused = run(plan, two_coins, "--times", 9.5, "--margin", 0.05)
    assert refused.exit_code == 1
    assert "stolen: no mechanism keeps epsilon 10.4368" in refused.output
    for wrong in (["--times", 2], ["--counts"]):
        assert run(plan, "--epsilon", 1, "--n", 100, *wrong).exit_code == 2
    assert run(plan, two_coins, "--n", 9, "--margin", 0.1, "--times", 2).exit_code == 2


def test_a_plan_says_what_counts_alone_give_away(two_coins: Path) -> None:
    shown = run(plan, two_coins, "--n", 2584, "--counts").output
    assert "among 2,584 honest reports in hidden order they keep epsilon 0.084" in shown
    assert "0.084" not in run(plan, two_coins, "--n", 2584).output

    few = run(plan, two_coins, "--n", 2, "--counts").output
    assert "are not known to protect more than each report does" in few
    two_coins.write_text(TWO_COINS + "results: {minimum: 9, while_open: true}\n")
    assert "can subtract" in run(plan, two_coins, "--n", 2584, "--counts").output


def test_a_check_says_what_fake_reports_weigh(two_coins: Path, file: Path) -> None:
    """(1 - q) / (p - q), Cao, Jia and Gong 2021: of two coins 3/4 over 1/2."""
    assert "stolen: 1.50 people, 7.5" in run(check, two_coins).output
    file.write_text(SURVEY.replace("maximum: 50", "maximum: 50, mechanism: laplace"))
    assert "drinks: 21.00 people, > 100" in run(check, file).output, "noise of 20 ranges, cut off"
