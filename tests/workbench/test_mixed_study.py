"""The library on a survey with a mixer: what its counts tell, and what nobody can know."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniably as dn
from deniably.core.errors import TravelledApart
from deniably.estimation.tally import Tally
from deniably.simulation.reports import randomise, simulate_people
from deniably.survey.survey import Survey, as_survey
from deniably.workbench.collected import Collected
from deniably.workbench.engines.tally_file import read_tally, tally_text
from deniably.workbench.engines.tallying import Counts, TalliedSet
from deniably.workbench.files.optional_libraries import NoExport
from deniably.workbench.packing import layout
from deniably.workbench.report_set import ReportSet, of_simulation
from spec.cases.mixers import EIGHT
from spec.cases.questions import survey
from support.cases import for_each
from support.mixed_results import BLANKS, passed_on, through_mixer

SENTENCE = "These answers travelled apart, so that nobody can put them together again."


@pytest.fixture(scope="module")
def asked() -> Survey:
    return through_mixer()


@pytest.fixture(scope="module")
def batch(asked: Survey) -> TalliedSet:
    return passed_on(asked, 300)


@pytest.fixture(scope="module")
def file(batch: TalliedSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("mixed") / "tally.json"
    path.write_bytes(tally_text(batch))
    return path


@pytest.fixture(scope="module")
def study(file: Path) -> dn.Study:
    return dn.open(file)


def test_a_tally_file_has_people_and_blanks_apart(file: Path, batch: TalliedSet) -> None:
    written = json.loads(file.read_text())
    (stratum,) = written["strata"]

    assert stratum["n"] == 300
    assert {(one["n"], one["blanks"]) for one in stratum["tallies"].values()} == {(300, BLANKS)}
    assert sum(stratum["tallies"]["stolen"]["counts"]) == 300 + BLANKS
    read = read_tally(file.read_bytes())
    assert read.tallies == batch.tallies
    assert tally_text(read) == file.read_bytes()


def test_a_tally_file_without_a_mixer_has_no_such_key() -> None:
    counts = Counts(3, {"e": Tally(3, np.array([1, 2]))})
    text = tally_text(TalliedSet(as_survey(survey(EIGHT)), (counts,)))
    assert b"blanks" not in text
    assert read_tally(text).tallies == counts.tallies


@for_each("change", [{"blanks": 0}, {"blanks": BLANKS - 1}, {"blanks": None}, {"n": 520}])
def test_a_tally_file_whose_blanks_are_wrong_is_refused(file: Path, change: dict[str, Any]) -> None:
    written = json.loads(file.read_text())
    counts = written["strata"][0]["tallies"]["stolen"]
    counts |= change
    written["strata"][0]["tallies"]["stolen"] = {
        key: value for key, value in counts.items() if value is not None
    }
    with pytest.raises(NoExport, match="stolen"):
        read_tally(json.dumps(written).encode())


def test_counts_of_a_batch_do_not_add_up(batch: TalliedSet) -> None:
    """There is one; a second one would tell the answers of those who sent in between."""
    with pytest.raises(NoExport, match="one batch"):
        batch + batch


def test_a_study_of_a_tally_file_says_what_it_is_of(study: dn.Study) -> None:
    text = str(study)
    assert study.n == 300
    assert f"Only counts: {SENTENCE}" in text
    assert "among 220 blanks for each question" in text
    assert "and 1.10 against the server without the mixer" in text


def test_every_figure_of_one_question_is_there(study: dn.Study, asked: Survey) -> None:
    """Estimates of everything, of one question after the other, as the counts alone allow."""
    assert study.estimate().document.senders == 300
    for question in asked.questions:
        assert study.estimate(question.name).rows
        assert "300" in study.sentence(question.name)
        assert study.figure(question.name)
    assert study.mean("drinks").rows
    assert study.distribution("income").rows
    assert study.quantile("income", 0.3).rows
    assert study.difference("happy").rows
    assert study.groups("home", 2).rows
    assert "220 blanks" in study.methods()
    assert study.plan("stolen", difference=0.1).rows


@for_each(
    "ask",
    [
        lambda study: study.crosstab("stolen", "happy"),
        lambda study: study.crosstab("stolen", "no_such_question"),
        lambda study: study.regress("stolen ~ happy"),
        lambda study: study.estimate(by="site"),
        lambda study: study.mean("drinks", by="site"),
        lambda study: study.difference("happy", by="site"),
        lambda study: study.figure("happy", by="site"),
        lambda study: study.plan("stolen", difference=0.1, by="site"),
        lambda study: study.estimate("stolen", weights={"north": 1.0}),
        lambda study: study.distribution("income", weights={"north": 1.0}),
        lambda study: study.rake({"site": {"north": 1.0}}),
        lambda study: study.trend("stolen", [study]),
        lambda study: study.reports,
    ],
)
def test_what_needs_several_answers_of_one_person_is_refused_with_one_sentence(
    study: dn.Study, ask: Callable[[dn.Study], object]
) -> None:
    with pytest.raises(TravelledApart) as refused:
        ask(study)
    assert str(refused.value) == SENTENCE
    # Callers that handle what a study lacks, or what a survey does not have, handle this, too.
    assert isinstance(refused.value, dn.NoResults)
    assert isinstance(refused.value, dn.NoFigure)


def test_whole_reports_cannot_even_be_held(asked: Survey) -> None:
    simulated = randomise(simulate_people(asked, 20))
    for hold in (
        lambda: of_simulation(simulated),
        lambda: dn.open((asked, simulated)),
        lambda: ReportSet(layout(asked), np.zeros((0, layout(asked).width), np.uint8)),
    ):
        with pytest.raises(TravelledApart):
            hold()


def test_a_server_s_results_alone_lack_counts_and_not_reports(
    study: dn.Study, asked: Survey
) -> None:
    """A difference of two choices could be tested, if the server gave out the counts."""
    document = study.estimate().document
    served = Collected(asked, "closed", 300, None, SENTENCE, None, document)
    with pytest.raises(dn.NoResults, match="everything: this needs counts, and there are only"):
        served.tallies  # noqa: B018
    with pytest.raises(TravelledApart):
        served.reports  # noqa: B018
