"""``import deniably``: what a notebook needs, by documented, typed names, loaded late."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
import typing
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pytest
import requests

import deniably as dn
from deniably.exhibits.results_table import as_results
from deniably.results.rows import COLUMNS
from deniably.simulation import people_table
from deniably.simulation.reports import simulate
from deniably.survey.report import make_report
from support.every_type import survey_of_everything
from support.material import Server

if TYPE_CHECKING:
    import pandas as pd  # which takes long to load

WORKPLACE = """
name: workplace
title: Honesty at work
results: {minimum: 50}
questions:
  - {name: stolen, type: yes_no, label: Have you ever stolen from work?, coins: {truth: 0.5}}
  - {name: often, type: select_one, label: How often?, choices: [Never, Once, Often], epsilon: 1}
  - {name: hours, type: number, label: Hours a week, minimum: 0, maximum: 60, epsilon: 1}
"""


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    file = tmp_path / "workplace.yaml"
    file.write_text(WORKPLACE)
    return file


@pytest.fixture
def survey(workplace: Path) -> dn.Survey:
    return dn.load_survey(workplace)


def table_of(n: int) -> pd.DataFrame:
    """30 % have stolen; of n people a third is of each sort, and all work 40 hours."""
    import pandas as pd

    return pd.DataFrame(
        {
            "stolen": ["Yes" if i % 10 < 3 else "No" for i in range(n)],
            "often": [("Never", "Once", "Often")[i % 3] for i in range(n)],
            "hours": [40.0] * n,
            "besides": ["not looked at"] * n,
        }
    )


# --- the names ----------------------------------------------------------------------------------


def test_they_are_about_a_dozen_and_each_is_there_and_documented() -> None:
    functions = [name for name in dn.__all__ if inspect.isfunction(getattr(dn, name))]

    assert len(functions) <= 12
    assert set(dir(dn)) == set(dn.__all__)
    for name in dn.__all__:
        text = inspect.getdoc(getattr(dn, name)) or ""
        assert text.split(".")[0].strip(), name
    for name in functions:
        assert all(kind is not Any for kind in typing.get_type_hints(getattr(dn, name)).values())
    assert "load_survey" in (dn.__doc__ or "")


def test_a_type_checker_sees_the_same_names() -> None:
    """What is imported for type checkers alone, what is loaded late, and ``__all__``."""
    tree = ast.parse(Path(str(dn.__file__)).read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    told = {one.asname: node.module for node in imports for one in node.names}

    rooms = dict.fromkeys(dn._ROOMS, "deniably")
    assert told == rooms | {name: f"deniably.{home}" for name, home in dn._HOMES.items()}
    assert {*dn._HOMES, *dn._ROOMS} == set(dn.__all__)
    assert len(dn.__all__) == len(set(dn.__all__))


def test_another_name_is_refused_as_python_does() -> None:
    with pytest.raises(AttributeError, match="module 'deniably' has no attribute 'estimates'"):
        _ = dn.estimates


def test_nothing_is_loaded_before_it_is_used_and_never_a_server() -> None:
    program = """
import sys
def loaded(*names): return [name for name in names if name in sys.modules]
import deniably, deniably_client
deniably.lab
assert not loaded("numpy", "flask", "pandas", "deniably.survey.survey"), sys.modules
deniably_client.Device
assert not loaded("numpy", "flask", "pandas", "yaml"), sys.modules
deniably.estimate, deniably.load_survey, deniably.simulate_people, deniably.open
assert loaded("numpy") and not loaded("flask", "pandas", "deniably_server"), sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


# --- from a file and a table to a table ---------------------------------------------------------


def test_ten_lines_go_from_a_file_and_people_to_estimates(workplace: Path) -> None:
    survey = dn.load_survey(workplace)
    people = dn.read_people(survey, table_of(30_000))
    reports = dn.randomise(people)
    results = dn.estimate(survey, dn.tally(reports))
    frame = results.to_frame()

    assert len(reports) == people.n == 30_000
    assert tuple(frame.columns) == COLUMNS, "as in results.csv"
    shares = frame.set_index(["question", "choice"])["estimate"]
    # Six standard errors (.006 and .008): beyond with a chance below 2e-9 for each.
    assert abs(shares["stolen", "yes"] - 0.3) < 0.036
    assert abs(shares["often", "once"] - 1 / 3) < 0.05
    (mean,) = frame[frame["figure"] == "mean"].to_dict("records")
    assert mean["low"] < mean["estimate"] < mean["high"]
    assert abs(mean["estimate"] - 40) < 6 * mean["standard_error"]


def test_results_read_well_in_a_notebook_and_in_a_terminal(survey: dn.Survey) -> None:
    tallies = simulate(dn.simulate_people(survey, 200))
    results = dn.estimate(survey, tallies, confidence=0.9)
    shown, html = repr(results), results._repr_html_()

    for text in ("Honesty at work", "Never", "90\u202f% interval", "in 100"):
        assert text in shown
        assert text in html
    assert "stolen" in shown
    assert html.count("<svg") == 2 + 3 + 1 + 3, "a strip for each figure, and three axes"
    assert html.count("<style>") == 1
    assert not re.search(r"https?:|<script|<link", html), "a notebook fetches nothing"
    assert results.document.n == 200
    assert '"survey":"workplace"' in results.to_json()
    assert results.figure("stolen", width=180).startswith("<svg xmlns=")


def test_what_is_shown_is_escaped() -> None:
    survey = dn.load_survey(
        {
            "name": "s",
            "title": "<script>alert(1)</script>",
            "questions": [
                {"name": "a", "type": "select_one", "label": "?", "choices": ["<b>bold", "&amp"],
                 "epsilon": 1.5},
            ],
        }
    )  # fmt: skip
    html = dn.estimate(survey, simulate(dn.simulate_people(survey, 50)))._repr_html_()

    assert "<script>" not in html
    assert "<b>bold" not in html
    assert "&lt;b&gt;bold" in html


def test_every_type_of_question_goes_all_the_way() -> None:
    survey = survey_of_everything()
    people = dn.simulate_people(survey, 400)
    again = dn.read_people(survey, people.to_frame())
    results = dn.estimate(survey, dn.tally(dn.randomise(again)))

    assert {row["question"] for row in results.rows} == {one.name for one in survey.questions}
    assert repr(results)
    for own, other in zip(people.answers, again.answers, strict=True):
        for block, same in zip(own.blocks(), other.blocks(), strict=True):
            assert np.array_equal(block, same)


def test_reports_are_what_a_server_would_see(survey: dn.Survey) -> None:
    reports = dn.randomise(dn.read_people(survey, table_of(300)))
    rows = list(reports.rows())

    tallies = dn.tally(reports)
    for name, choices in (("stolen", ("yes", "no")), ("often", ("never", "once", "often"))):
        counted = [sum(choice == row[name] for row in rows) for choice in choices]
        assert counted == tallies[name].counts.tolist()
    assert "300 reports in all" in repr(reports)
    assert repr(dn.read_people(survey, table_of(3))) == "3 people with answers to 3 questions"


def test_one_persons_report_is_drawn_as_a_device_draws_it(survey: dn.Survey) -> None:
    answers = {"stolen": "no", "often": "Never", "hours": "40"}
    report = dn.randomise_answers(survey, answers)

    report.check(survey)
    assert report.values.keys() == make_report(survey, answers).report.values.keys()


# --- checking, planning, auditing ---------------------------------------------------------------


def test_a_check_says_what_the_command_says(workplace: Path) -> None:
    checked = dn.check_survey(workplace)

    assert [row["question"] for row in checked.rows] == ["stolen", "often", "hours"]
    assert [row["odds"] for row in checked.rows] == ["3", "2.72", "2.72"]
    assert checked.survey == dn.load_survey(workplace)
    assert checked.refused == []
    assert checked.first_page[0] == "Honesty at work"
    assert checked.to_frame()["margin"].between(0.02, 0.2).all()


def test_a_survey_that_devices_refuse_is_reported() -> None:
    question = {"name": "a", "type": "yes_no", "label": "?", "epsilon": 9}
    checked = dn.check_survey({"name": "s", "title": "T", "questions": [question]})

    (refused,) = checked.refused
    assert "Devices refuse this survey" in refused
    assert refused in repr(checked)


def test_a_plan_has_a_row_a_figure_and_one_for_all(survey: dn.Survey) -> None:
    planned = dn.plan_survey(survey, margin=0.05)

    assert [row["question"] for row in planned.rows] == ["stolen", "often", "hours", "all together"]
    assert planned.rows[-1]["n"] == max(row["n"] for row in planned.rows)
    assert "protection costs" in planned.notes[-1]


def test_an_audit_has_a_row_a_question() -> None:
    asked = [{"name": name, "type": "yes_no", "label": "?", "odds": 3} for name in "ab"]
    survey = dn.load_survey({"name": "s", "title": "T", "questions": asked})
    audited = dn.audit_survey(survey, trials=200, scenarios=1)

    assert not audited.passed, "each input was replayed, and whole reports too seldom"
    assert audited.outcome == "in part"
    assert [row["outcome"] for row in audited.rows] == ["proved"] * 2
    assert "proved in Python and JavaScript" in repr(audited)


# --- bad input ----------------------------------------------------------------------------------


def test_errors_say_what_was_wrong_and_how_to_mend_it(
    survey: dn.Survey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(dn.BadSurvey, match="questions"):
        dn.load_survey({"name": "s", "title": "T"})
    with pytest.raises(FileNotFoundError):
        dn.load_survey(tmp_path / "nothing.yaml")
    with pytest.raises(dn.BadAnswer, match="column often is missing"):
        dn.read_people(survey, table_of(3).drop(columns="often"))
    with pytest.raises(ValueError, match="at least 1"):
        dn.simulate_people(survey, 0)
    with pytest.raises(ValueError, match="stolen has no reports"):
        dn.estimate(survey, {})
    tallies = simulate(dn.simulate_people(survey, 10))
    with pytest.raises(ValueError, match="the confidence is 95; it is above 0 and below 1"):
        dn.estimate(survey, tallies, confidence=95)
    with pytest.raises(ValueError, match="is no survey's address"):
        dn.open("http://example.org/workplace")
    with pytest.raises(ValueError, match=r"leave out \?site=north of the address"):
        dn.open("http://example.org/surveys/workplace?site=north")
    with pytest.raises(ValueError, match="over https"):
        dn.open("http://example.org/s/workplace", token="secret")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"-m pip install 'deniably\[notebook\]'"):
        dn.estimate(survey, tallies).to_frame()


def test_an_answer_that_is_none_is_never_repeated(survey: dn.Survey) -> None:
    people = table_of(3)
    people.loc[1, "stolen"] = "a secret"
    with pytest.raises(dn.BadAnswer, match="row 3: stolen") as refused:
        dn.read_people(survey, people)

    assert "secret" not in str(refused.value)


def test_a_table_is_read_from_a_file_from_rows_and_from_a_frame(
    survey: dn.Survey, tmp_path: Path
) -> None:
    file = tmp_path / "people.csv"
    table_of(30).to_csv(file, index=False)
    rows = [list(map(str, row)) for row in people_table.rows_of(file)]
    inputs = [
        [block.tolist() for one in dn.read_people(survey, table).answers for block in one.blocks()]
        for table in (file, str(file), rows, table_of(30))
    ]

    assert all(one == inputs[0] for one in inputs)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(dn.BadAnswer, match="not UTF-8"):
        dn.read_people(survey, file)


def test_missing_cells_of_a_frame_are_empty_and_whole_numbers_stay_whole() -> None:
    import pandas as pd

    frame = pd.DataFrame({"a": [1, None, 2.5], "b": ["x", None, pd.NaT]})
    nullable = pd.DataFrame({"a": pd.array([1, pd.NA], dtype="Int64"), "b": [pd.NA, "x"]})

    assert list(people_table.rows_of(frame)) == [["a", "b"], ["1", "x"], ["", ""], ["2.5", ""]]
    assert list(people_table.rows_of(nullable)) == [["a", "b"], ["1", ""], ["", "x"]]


# --- the results of a server --------------------------------------------------------------------


@pytest.fixture
def server(tmp_path: Path, survey: dn.Survey) -> Iterator[Server]:
    server = Server(tmp_path / "deniably.db")
    server.publish(survey)
    yield server
    server.kill()


def test_results_of_a_server_are_those_it_would_count(server: Server, survey: dn.Survey) -> None:
    """Hidden, then shown: the same figures from the server as from the reports in a notebook."""
    address = f"{server.url}/surveys/{survey.name}"
    with pytest.raises(dn.NoResults, match="closed"):
        dn.open(address)
    answers = [{"stolen": "no", "often": "never", "hours": str(i)} for i in range(50)]
    reports = [dn.randomise_answers(survey, one) for one in answers]
    server.send_lines(survey, b"".join(report.canonical + b"\n" for report in reports))
    server.close(survey)

    found = dn.open(address).estimate(confidence=0.9)

    assert found.document.n == 50
    assert found.document.confidence == 0.9
    names = [choice.name for choice in found.document.questions[0].choices]
    said = Counter(names[cell] for report in reports for cell in report.values["stolen"])
    counts = {row["choice"]: row["count"] for row in found.rows if row["question"] == "stolen"}
    assert counts == {name: said[name] for name in names}
    for other in (f"{server.url}/s/workplace", f"{address}/results.csv", f"{address}/results/"):
        assert dn.open(other).estimate(confidence=0.9).rows == found.rows
    with pytest.raises(dn.NoFigure, match=r"it is from 0\.5 to 0\.999"):
        dn.open(address).estimate(confidence=95)
    with pytest.raises(dn.NoResults, match="no survey"):
        dn.open(f"{server.url}/surveys/another")


def test_an_address_without_a_server_is_reported() -> None:
    with pytest.raises(dn.NoResults, match=r"cannot reach 127\.0\.0\.1:9"):
        dn.open("http://127.0.0.1:9/s/workplace", token="sent-to-this-machine-alone")


def test_a_server_cannot_steer_the_terminal_of_an_analyst(survey: dn.Survey) -> None:
    document = dn.estimate(survey, simulate(dn.simulate_people(survey, 50))).document
    hostile = msgspec.structs.replace(document, title="\x1b[2Jgone\n95 % interval 0 to 0")

    shown = repr(as_results(hostile))

    assert "\x1b" not in shown
    assert shown.splitlines()[0] == "[2Jgone 95 % interval 0 to 0"


def test_the_token_is_sent_as_it_is_and_past_every_proxy(
    server: Server, survey: dn.Survey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not a password of ~/.netrc or of the address in its place, and to nobody on the way."""
    sent: list[requests.PreparedRequest] = []
    send = requests.Session.send

    def seen(self: requests.Session, request: requests.PreparedRequest, **more: Any) -> Any:
        sent.append(request)
        return send(self, request, **more)

    monkeypatch.setattr(requests.Session, "send", seen)
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password mine\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    for name in ("http_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    address = f"{server.url}/surveys/{survey.name}".replace("http://", "http://you:yours@")

    for token, header in (("secret", "Bearer secret"), (None, None)):
        with pytest.raises(dn.NoResults, match="closed"):
            dn.open(address, token=token)
        assert sent[-1].headers.get("Authorization") == header

    for name in ("http_proxy", "all_proxy"):
        monkeypatch.delenv(name)
    monkeypatch.setattr("deniably.results.remote.is_here", lambda _: False)  # as of a server afar
    with pytest.raises(dn.NoResults, match="closed"):
        dn.open(address)
    assert "Authorization" not in sent[-1].headers
