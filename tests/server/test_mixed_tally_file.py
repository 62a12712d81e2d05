"""The counts of a survey with a mixer, from publishing it to what an analyst opens: on a real
server, through a real mixer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

import deniably as dn
from deniably.workbench.engines.tally_file import read_tally
from deniably_client import Device
from support.commands import call
from support.mixed_form import SIX, Through, TwoParties, which

QUESTIONS = [*SIX[:1], which("happy", "yes", "no", "neither")]
PEOPLE = 30
BLANKS = 220


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoParties]:
    two = TwoParties(tmp_path_factory.mktemp("counts"))
    yield two
    two.kill()


@pytest.fixture(scope="module")
def taken(two: TwoParties) -> Through:
    """A survey that 30 people answered, whose batch the server took."""
    through = two.publish("counts", QUESTIONS)
    for number in range(PEOPLE):
        answers = {"q1": "yes" if number % 3 else "no", "happy": "yes"}
        Device(f"{two.url}/s/counts", memory=None).answer(answers)
    two.pass_on(through)
    return through


def test_an_address_opens_as_a_study_with_counts(two: TwoParties, taken: Through) -> None:
    study = dn.open(f"{two.url}/surveys/counts")

    assert study.n == PEOPLE
    assert "Only counts: These answers travelled apart" in str(study)
    assert "signed by the author" in str(study)
    assert "Not verified" not in str(study)
    assert study.difference("happy").rows, "the server's results alone do not have this"
    served = requests.get(f"{two.url}/api/surveys/counts/results", timeout=30).json()
    assert study.estimate("q1").to_dict()["questions"] == served["questions"][:1]
    with pytest.raises(dn.TravelledApart):
        study.crosstab("q1", "happy")


def test_a_command_writes_the_tally_file(two: TwoParties, taken: Through, tmp_path: Path) -> None:
    file = tmp_path / "counts.json"
    done = call("tally", f"{two.url}/s/counts", "--to", file)

    assert done.returncode == 0, done.stderr
    assert "30 people" in done.stdout
    (stratum,) = json.loads(file.read_text())["strata"]
    assert stratum["n"] == PEOPLE
    assert stratum["pairs"] == []
    for tally in stratum["tallies"].values():
        assert (tally["n"], tally["blanks"]) == (PEOPLE, BLANKS)
    assert sum(stratum["tallies"]["q1"]["counts"]) == PEOPLE + BLANKS
    assert dn.open(file).estimate("q1").rows == dn.open(two.url + "/s/counts").estimate("q1").rows
    again = call("tally", f"{two.url}/s/counts", "--to", file)
    assert "is there already" in again.stderr


def test_nothing_is_counted_before_the_batch_has_come(two: TwoParties, tmp_path: Path) -> None:
    two.publish("early", QUESTIONS)
    file = tmp_path / "early.json"

    done = call("tally", f"{two.url}/s/early", "--to", file)
    assert done.returncode == 1
    assert "the survey is closed and its mixer passed on the answers" in done.stderr
    assert not file.exists()


def test_an_address_stands_alone(two: TwoParties, taken: Through, tmp_path: Path) -> None:
    url = f"{two.url}/s/counts"
    for more in ([url], ["--merge"], ["--pair", "q1", "happy"]):
        done = call("tally", url, *more, "--to", tmp_path / "counts.json")
        assert done.returncode == 2
        assert "a survey with a mixer has one batch" in done.stderr


def test_without_a_mixer_a_server_gives_out_no_counts(two: TwoParties) -> None:
    answer = requests.get(f"{two.url}/api/surveys/workplace/tally", timeout=30)
    assert answer.status_code == 404


def test_the_file_is_what_spec_says(two: TwoParties, taken: Through) -> None:
    answer = requests.get(f"{two.url}/api/surveys/counts/tally", timeout=30)

    assert answer.headers["Content-Type"] == "application/json"
    assert read_tally(answer.content).survey.digest == taken.digest
