"""A survey that is repeated: its results, its waves side by side, and what its pages say."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from flask import Flask
from flask.testing import FlaskClient

from deniably.authoring.compiling import compile_survey
from deniably.mechanisms import Memoised
from deniably.survey.report import make_report
from deniably.survey.survey import Survey
from deniably_server.app import create_app
from deniably_server.commands.audit import audit
from deniably_server.commands.authoring import check
from deniably_server.commands.plan import plan
from deniably_server.commands.simulate import simulate
from deniably_server.storage.store import Store
from deniably_server.storage.writing.commit import BatchWrite
from support.keys import key_of
from support.material import new_token, signed, signed_headers, survey_named
from support.waves import ANSWERS, EVERY

QUESTIONS: list[dict[str, Any]] = [
    {"name": "stolen", "type": "yes_no", "label": "Stolen?", "odds": 3},
    {"name": "happy", "type": "scale", "label": "Happy?", "choices": [*"abcde"], "odds": 3,
     "aim": "mean"},
]  # fmt: skip
Memos = dict[int, Mapping[str, Sequence[int]]]


def wave(number: int, panel: str | None = "workplace") -> Survey:
    head: dict[str, Any] = {
        "name": f"{panel}-{number}",
        "title": "Honesty at work",
        "results": {"minimum": 1, "while_open": True},
    }
    waves = {"waves": {"panel": panel, "recognisable": True}} if panel else {}
    return compile_survey(head | waves | {"questions": QUESTIONS})


def answered(
    store: Store, survey: Survey, people: Sequence[Mapping[str, object]], memos: Memos
) -> None:
    """Each of the people answers from the memos that their devices keep."""
    store.publish(survey, signed(survey))
    batch = BatchWrite(survey)
    for index, person in enumerate(people):
        made = make_report(survey, person, memos=memos.get(index))
        memos[index] = made.memos
        batch.add(made.report)
    store.begin(batch)
    batch.wait()


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    """Two waves of 300 people, 100 of whom say yes; nobody changes. And one of another panel."""
    database = tmp_path_factory.mktemp("waves") / "deniably.db"
    app = create_app({"DATABASE": str(database), "TESTING": True})
    store: Store = app.extensions["deniably"]
    people = [{"stolen": "yes" if i < 100 else "no", "happy": "abcde"[i % 5]} for i in range(300)]
    memos: Memos = {}
    for number in (1, 2):
        answered(store, wave(number), people, memos)
    answered(store, wave(1, "other"), people, {})
    yield app
    store.close()


def shown(client: FlaskClient, path: str) -> dict[str, Any]:
    found = client.get(f"/api/surveys/{path}")
    assert found.status_code == 200, found.text
    body: dict[str, Any] = found.get_json()
    return body


def test_each_wave_is_estimated_as_if_it_were_alone(client: FlaskClient) -> None:
    """Within six standard errors: false alarm below 1e-8."""
    for number in (1, 2):
        found = shown(client, f"workplace-{number}/results")
        yes = found["questions"][0]["choices"][0]
        mean = found["questions"][1]["mean"]

        assert found["total"] == {"odds": "9", "epsilon": "2.20", "history": "4.40"}
        assert found["questions"][0]["epsilon"] == "1.10", "one report's"
        assert found["questions"][0]["claim"] == {"odds": "3", "history": {"odds": "9"}}
        assert found["questions"][0]["mechanism"]["name"] == "memoised"
        assert abs(yes["estimate"] - 1 / 3) < 6 * yes["standard_error"]
        assert abs(mean["estimate"] - 3) < 6 * mean["standard_error"]


def test_two_waves_of_one_panel_are_compared_with_a_note(client: FlaskClient) -> None:
    for query in ("question=stolen&choice=yes", "question=happy"):
        found = shown(client, f"workplace-2/difference?{query}&survey=workplace-1")
        assert found["note"].startswith("Both are waves of the panel workplace.")
        assert "a change in the panel looks smaller than it is" in found["note"]
        assert found["p_value"] > 4e-7, "nobody changed"  # twice: a false alarm below 1e-6
    every = shown(client, "workplace-2/differences?question=stolen&survey=workplace-1")
    assert all(one["note"] for one in every["differences"])


def test_other_comparisons_need_no_note(client: FlaskClient) -> None:
    for path in (
        "workplace-2/difference?question=stolen&choice=yes&survey=other-1",
        "workplace-2/difference?question=stolen&choice=yes&share=0.5",
        "workplace-2/difference?question=happy&value=3",
    ):
        assert shown(client, path)["note"] is None


def test_the_pages_tell_of_all_waves(client: FlaskClient) -> None:
    form = client.get("/s/workplace-1").text
    dashboard = client.get("/surveys/workplace-1").text

    assert "You may be asked the same again." in form
    assert "at most 81 times" in form
    script = re.search(r'src="([^"]+page\.js)"', form)
    assert script
    assert "drawMemo" in client.get(script[1]).text, "the form's code can keep memos"
    assert "over all waves 4.40" in dashboard
    assert "This is one wave of several." in dashboard


def test_reports_of_the_same_people_go_together_as_their_memos_do() -> None:
    """Of the first question, exactly: two reports of one memo are the same if both say it, or
    neither does. Six standard errors: false alarm below 1e-8."""
    survey = wave(1)
    mechanism = survey.questions[0].mechanism
    assert isinstance(mechanism, Memoised)
    assert mechanism.fresh is not None
    said, n = float(mechanism.fresh.p), 2000
    expected = said**2 + (1 - said) ** 2

    def same() -> bool:
        person = {"stolen": "no", "happy": "c"}
        first = make_report(survey, person)
        second = make_report(survey, person, memos=first.memos)
        return first.report.values["stolen"] == second.report.values["stolen"]

    found = np.mean([same() for _ in range(n)])
    assert abs(found - expected) < 6 * (expected * (1 - expected) / n) ** 0.5


def test_of_waves_that_are_drawn_afresh_no_page_speaks_of_old_answers(
    app: Flask, client: FlaskClient
) -> None:
    store: Store = app.extensions["deniably"]
    for number in (1, 2):
        head = {"name": f"few-{number}", "title": "T", "questions": QUESTIONS}
        head |= {"results": {"minimum": 1, "while_open": True}}
        survey = compile_survey(
            head | {"waves": {"panel": "few", "count": 3, "recognisable": True}}
        )
        answered(store, survey, [{"stolen": "no", "happy": "c"}] * 20, {})

    found = shown(client, "few-1/difference?question=stolen&choice=yes&survey=few-2")
    dashboard = client.get("/surveys/few-1").text

    assert "Both are waves of the panel few." in found["note"]
    assert "old one" not in found["note"] + dashboard
    assert "Devices draw each afresh, and answer no more than 3." in dashboard


# --- side by side -----------------------------------------------------------------------------


def test_the_waves_of_a_panel_have_a_page_that_every_wave_links_to(client: FlaskClient) -> None:
    found = shown(client, "workplace-1/waves")
    page = client.get("/surveys/workplace-2/waves").text

    assert [one["survey"] for one in found["waves"]] == ["workplace-1", "workplace-2"]
    assert found["hidden"] == 0
    assert "no change is shown" in page.lower()
    assert page.count('class="plot trend"') == 2
    assert "real changes look smaller" in page
    assert "style=" not in page
    assert 'href="/surveys/workplace-1/waves"' in client.get("/surveys/workplace-1").text
    text = client.get("/api/surveys/workplace-1/waves.csv").text
    rows = list(csv.DictReader(text.splitlines()))
    yes = [row for row in rows if row["choice"] == "yes"]
    places = found["questions"][0]["choices"][0]["places"]
    assert [float(row["estimate"]) for row in yes] == [place["estimate"] for place in places]


def test_a_survey_without_a_panel_has_no_waves(app: Flask, client: FlaskClient) -> None:
    survey = compile_survey({"name": "alone", "title": "T", "questions": QUESTIONS,
                             "results": {"minimum": 1, "while_open": True}})  # fmt: skip
    app.extensions["deniably"].publish(survey, signed(survey))
    answered_once(app, survey)

    found = client.get("/api/surveys/alone/waves")

    assert found.status_code == 404
    assert "no wave of a panel" in found.get_json()["detail"]
    assert "alone/waves" not in client.get("/surveys/alone").text


def answered_once(app: Flask, survey: Survey) -> None:
    batch = BatchWrite(survey)
    for _ in range(12):
        batch.add(make_report(survey, {"stolen": "no", "happy": "c"}).report)
    app.extensions["deniably"].begin(batch)
    batch.wait()


def quiet(number: int, panel: str, **rules: object) -> Survey:
    waves = {"panel": panel, "recognisable": True}
    head = {"name": f"{panel}-{number}", "title": "T", "waves": waves}
    results = {"results": {"minimum": 1, "while_open": True} | rules}
    return compile_survey(head | results | {"questions": QUESTIONS})


def test_waves_that_the_caller_may_not_see_are_counted_and_not_shown(
    app: Flask, client: FlaskClient
) -> None:
    store: Store = app.extensions["deniably"]
    rules: list[dict[str, object]] = [{}, {}, {"while_open": False}, {"to": "analysts"}]
    for number, rule in enumerate(rules, 1):
        survey = quiet(number, "mixed", **rule)
        store.publish(survey, signed(survey))
        answered_once(app, survey)

    found = shown(client, "mixed-1/waves")
    assert [one["survey"] for one in found["waves"]] == ["mixed-1", "mixed-2"]
    assert found["hidden"] == 2
    page = client.get("/surveys/mixed-1/waves").text
    assert "2 more waves are not shown" in page
    assert "<h1>All waves, up to “T”</h1>" in page

    token = {"Authorization": f"Bearer {new_token(store, 'analyst')}"}
    more = client.get("/api/surveys/mixed-1/waves", headers=token).get_json()
    assert [one["survey"] for one in more["waves"]] == ["mixed-1", "mixed-2", "mixed-4"]
    assert client.get("/api/surveys/mixed-3/waves").status_code == 403
    assert "not shown yet" in client.get("/surveys/mixed-3/waves").text
    assert client.get("/api/surveys/mixed-4/waves").status_code == 401
    asked = client.get("/surveys/mixed-4/waves").text
    assert "The results are for analysts" in asked
    assert "<svg" not in asked


def test_waves_keep_their_numbers_where_earlier_ones_are_hidden(
    app: Flask, client: FlaskClient
) -> None:
    store: Store = app.extensions["deniably"]
    for number, rule in enumerate([{"while_open": False}, {}, {}], 1):
        survey = quiet(number, "late", **rule)
        store.publish(survey, signed(survey))
        answered_once(app, survey)

    found = shown(client, "late-2/waves")
    page = client.get("/surveys/late-3/waves").text
    rows = csv.DictReader(client.get("/api/surveys/late-2/waves.csv").text.splitlines())

    assert [(one["number"], one["survey"]) for one in found["waves"]] == [
        (2, "late-2"),
        (3, "late-3"),
    ]
    places = found["questions"][0]["choices"][0]["places"]
    assert [place["wave"] for place in places] == [2, 3]
    assert {row["wave"] for row in rows} == {"2", "3"}
    figure = client.get("/api/surveys/late-2/waves.svg?question=stolen").text
    for text in (page, figure):
        assert "wave 2" in text
        assert "Wave 2 to wave 3" in text
        assert not re.search(r"wave 1\b", text, re.I)
    assert '<th scope="col">Wave 2 to 3</th>' in page
    assert page.count("Yes, wave 2") == page.count("Yes, wave 3") == 1


def test_another_authors_panel_of_the_same_name_is_another_panel(
    app: Flask, client: FlaskClient
) -> None:
    store: Store = app.extensions["deniably"]
    for number in (1, 2):
        survey = quiet(number, "shared")
        store.publish(survey, signed(survey))
        answered_once(app, survey)
    foreign = quiet(3, "shared")
    store.publish(foreign, signed(foreign, key_of(bytes(32))))
    answered_once(app, foreign)

    assert [w["survey"] for w in shown(client, "shared-1/waves")["waves"]] == [
        "shared-1",
        "shared-2",
    ]
    assert client.get("/api/surveys/shared-3/waves").status_code == 403
    assert "two are needed" in client.get("/surveys/shared-3/waves").text


# --- on the command line --------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "wave.json"
    waves = {"panel": "workplace", "recognisable": True}
    head = {"name": "workplace-1", "title": "T", "waves": waves}
    path.write_text(json.dumps(head | {"questions": EVERY}), encoding="utf-8")
    return path


def run(command: Any, *arguments: object) -> Result:
    found = CliRunner().invoke(command, [str(one) for one in arguments])
    assert found.exit_code == 0, found.output
    return found


def test_check_shows_the_epsilon_of_one_report_and_of_all_waves(file: Path) -> None:
    text = run(check, file).output

    rows = {line.split("  ")[0]: line.split() for line in text.splitlines()}
    assert rows["stolen"][-2] == "1.10"
    assert rows["all together"][-1] == "9.10"
    assert rows["all waves"][-1] == "27.30"
    assert "of a kept answer" in text
    assert "all waves 27.30. Devices refuse this" in text


def recognisable(choices: int, **waves: object) -> str:
    names = [f"c{i}" for i in range(choices)]
    asked = [
        {"name": f"q{i}", "type": "select_one", "label": f"{i}?", "choices": names, "epsilon": 1}
        for i in range(10)
    ]
    size = {"panel": "p", "history": 2, "people": 1000, "waves": 2}
    head = {"name": "panel-1", "title": "T", "waves": size | waves}
    return json.dumps(head | {"questions": asked})


def test_check_says_how_many_could_be_recognised_and_refuses_many(tmp_path: Path) -> None:
    path = tmp_path / "panel.json"
    path.write_text(recognisable(8), encoding="utf-8")
    text = run(check, path).output
    assert re.search(r"About \d\.\d of 100 people can be recognised over 2 waves of 1,000", text)
    assert "Separate invitations for each wave do not keep such reports apart." in text

    path.write_text(recognisable(20), encoding="utf-8")
    refused = CliRunner().invoke(check, [str(path)])
    assert refused.exit_code == 1
    assert re.search(r"About [34]\d of 100 people can be recognised over 2 waves", refused.output)
    assert "recognisable: true" in refused.output
    assert "Ask fewer questions, raise history," in refused.output


def test_less_epsilon_is_no_advice_against_recognition(tmp_path: Path) -> None:
    """The answer that is kept has the epsilon of the history: the less accurate it is, the more
    plainly each wave has to show it."""
    path = tmp_path / "panel.json"

    def people(epsilon: float) -> float:
        document = json.loads(recognisable(20, recognisable=True))
        for question in document["questions"]:
            question["epsilon"] = epsilon
        path.write_text(json.dumps(document), encoding="utf-8")
        share = re.search(r"About ([\d.]+) of 100 people can be recog", run(check, path).output)
        assert share
        return float(share[1])

    assert people(0.1) > people(0.4)


def test_recognisable_waves_are_checked_where_the_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "panel.json"

    path.write_text(recognisable(20, recognisable=True), encoding="utf-8")
    assert re.search(r"About [34]\d of 100 people can be recogn", run(check, path).output)


def test_check_says_which_waves_devices_will_refuse(tmp_path: Path) -> None:
    """A memo is paid for at once, waves that are drawn afresh one by one."""
    path = tmp_path / "panel.json"
    document = {"name": "p-1", "title": "T", "questions": EVERY[:4]}  # epsilon 4.10 together

    head = {"panel": "p", "recognisable": True}

    def said(**waves: object) -> str:
        path.write_text(json.dumps(document | {"waves": head | waves}), encoding="utf-8")
        return run(check, path).output

    assert "all waves 8.20. Devices refuse this" in said(history=2)
    assert "refuse" not in said(count=2)
    assert "epsilon 12.30 over all 3 waves is above the 10" in said(count=3)


def test_a_server_publishes_recognisable_waves_only_if_the_file_says_so(
    app: Flask, author: dict[str, str]
) -> None:
    client = app.test_client()
    refused = client.post(
        "/api/surveys",
        data=recognisable(20),
        headers=author | signed_headers(survey_named()),
        content_type="application/json",
    )
    assert refused.status_code == 422
    assert refused.get_json()["type"] == "/problems/bad-survey"
    assert "recognisable: true" in refused.get_data(as_text=True)


def test_the_form_and_its_receipt_say_how_many_are_recognised(app: Flask) -> None:
    survey = compile_survey(json.loads(recognisable(20, recognisable=True)))
    app.extensions["deniably"].publish(survey, signed(survey))
    form = app.test_client().get("/s/panel-1").text

    people = survey.recognised_of_100
    assert people is not None
    assert 30 <= people <= 50
    assert f"About {people} of 100 people in this study can be recognised" in form
    receipt = f"<dt>From wave to wave</dt><dd>about {people} of 100 people in this study can be"
    assert receipt in form


@pytest.mark.thorough
def test_plan_and_audit_take_a_survey_with_waves(file: Path, tmp_path: Path) -> None:
    """A share of yes at odds 3 needs what it needs without waves."""
    found = json.loads(run(plan, file, "--margin", "0.05", "--json").output)
    small = tmp_path / "small.json"
    document = json.loads(file.read_text()) | {"questions": EVERY[:2]}
    small.write_text(json.dumps(document), encoding="utf-8")
    alone = tmp_path / "alone.json"
    alone.write_text(json.dumps({k: v for k, v in document.items() if k != "waves"}))

    both = [
        json.loads(run(plan, one, "--margin", "0.05", "--json").output) for one in (small, alone)
    ]
    options = ("--trials", "500", "--seconds", "0.2")  # so few replays are no verdict
    audited = CliRunner().invoke(audit, [str(small), *options, "--json"])
    verdicts = json.loads(audited.output)["questions"]

    assert found
    assert both[0] == both[1]
    assert audited.exit_code == 3, audited.output
    assert [(one["fault"], one["walked"]) for one in verdicts] == [(None, True)] * 2
    assert verdicts[0]["history"] == pytest.approx(2 * verdicts[0]["exact"])
    text = CliRunner().invoke(audit, [str(small), "--trials", "10", "--seconds", "0"]).output
    assert "waves from one memo, in all 2.1972" in text


def test_simulate_runs_a_survey_with_waves(file: Path, tmp_path: Path) -> None:
    columns: dict[str, str] = {}
    for name, answer in ANSWERS.items():
        if isinstance(answer, dict):
            columns |= {f"{name}.{part}": str(said) for part, said in answer.items()}
        else:
            columns[name] = ";".join(answer) if isinstance(answer, list) else str(answer)
    truth = tmp_path / "truth.csv"
    with truth.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, columns)
        writer.writeheader()
        writer.writerows([columns] * 200)

    rows = json.loads(run(simulate, file, "--truth", truth, "--json").stdout)

    assert {row["question"] for row in rows} == set(ANSWERS)
