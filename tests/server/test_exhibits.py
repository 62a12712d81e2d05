"""The formats of an exhibit: a CSV comes from its document alone."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from deniably.authoring.compiling import compile_survey
from deniably.core.coins import Coins
from deniably.exhibits import difference_exhibit
from deniably.survey.report import randomise_answers
from deniably.survey.survey import Survey
from deniably.trust.signing import new_key
from deniably.workbench.files.report_lines import read_ndjson
from deniably.workbench.report_set import ReportSet
from deniably_server.app import create_app
from support.every_type import reports_by_seed
from support.stored import stored


def wave_with(question: str) -> Survey:
    """A wave that asks this question alone."""
    return compile_survey({
        "name": f"wave-{question}", "title": "A panel", "results": {"minimum": 5},
        "questions": [{"name": question, "type": "yes_no", "label": "Yes?", "odds": 9}],
        "waves": {"panel": "panel", "recognisable": True},
    })  # fmt: skip


def reports_of(survey: Survey, count: int) -> ReportSet:
    """Reports of people who all answer yes."""
    (question,) = survey.questions
    coins = Coins(Random(1).randbytes)
    lines = (
        randomise_answers(survey, {question.name: "yes"}, coins).canonical for _ in range(count)
    )
    return read_ndjson(survey, lines)


def test_a_panel_without_a_common_question_has_a_csv_of_its_columns(tmp_path: Path) -> None:
    author, address = new_key(), str(tmp_path / "deniably.db")
    for question in ("first", "second"):
        with closing(stored(address, reports_of(wave_with(question), 50), author)) as store:
            store.close_survey(f"wave-{question}")
    app = create_app({"DATABASE": address, "TESTING": True})
    with closing(app.extensions["deniably"]):
        client = app.test_client()
        sheet = client.get("/api/surveys/wave-second/waves.csv")

        assert sheet.status_code == 200
        assert [line.partition(",")[0] for line in sheet.text.splitlines()] == ["panel"]
        assert "No question was asked alike" in client.get("/surveys/wave-second/waves").text


def test_a_csv_makes_nothing_of_its_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    survey = compile_survey({
        "name": "s", "title": "T", "results": {"minimum": 5},
        "questions": [{"name": "stolen", "type": "yes_no", "label": "Stolen?", "odds": 9}],
    })  # fmt: skip
    address = str(tmp_path / "deniably.db")
    with closing(stored(address, reports_by_seed(survey, 60, 1))) as store:
        store.close_survey("s")
    app = create_app({"DATABASE": address, "TESTING": True})
    monkeypatch.delattr(difference_exhibit, "exhibit")
    with closing(app.extensions["deniably"]):
        sheet = app.test_client().get("/api/surveys/s/differences.csv?question=stolen")

        assert sheet.status_code == 200
        assert len(sheet.text.splitlines()) == 2
