"""Fair's survey from end to end: published, answered by 6,366 devices, closed, exported, and the
figures of other packages found again from the folder.

What devices would draw is fixed here (``support.fair``), so every figure is known. Age, years of
marriage, religion and weights are columns of a researcher's own: nothing links them to an exported
report, and ``tests/workbench/test_golden_regressions.py`` has the models on them.
"""

from __future__ import annotations

import csv
import hashlib
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import requests

import deniably as dn
from deniably.survey.report import Report
from deniably.workbench.files.examples import MARK
from deniably_server.storage.store import Store
from support import fair
from support.commands import call
from support.material import Server, new_token

DEFINITION = """
name: fair
title: Marriage and affairs
results: {minimum: 100, reports: analysts}
strata: {site: [s0, s1, s2, s3]}
questions:
  - {name: affair, type: yes_no, label: "Have you had an affair?", odds: 3}
  - name: marriage
    type: scale
    label: How happy is your marriage?
    choices: [awful, bad, fair, good, great]
    scores: [-2, -1, 0, 1, 2]
    aim: distribution
    odds: 6
  - {name: children, type: yes_no, label: "Do you have children?", odds: 3}
"""
ALONE = 20
"""Reports that are sent each by itself; all others in one body, as a collecting device does."""


def reports(definition: dn.Survey) -> Iterator[Report]:
    """The randomised values, as devices write them: of yes and no, yes is 0."""
    drawn = fair.reports()
    columns = (1 - drawn["affair"], drawn["marriage"], 1 - drawn["children"], drawn["site"])
    for row, (affair, marriage, children, site) in enumerate(
        zip(*(one.tolist() for one in columns), strict=True)
    ):
        values = {"affair": [affair], "marriage": [marriage], "children": [children]}
        yield Report(id_of(row), definition.digest, values, {"site": f"s{site}"})


def id_of(row: int) -> str:
    """As random as those that devices draw."""
    return hashlib.md5(f"{row}".encode()).hexdigest()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with the closed survey."""
    folder = tmp_path_factory.mktemp("fair")
    (folder / "fair.yaml").write_text(DEFINITION)
    server = Server(folder / "deniably.db")
    to = ("--server", server.url, "--token", server.token)
    done = call("publish", folder / "fair.yaml", *to)
    assert done.returncode == 0, done.stderr
    survey = dn.load_survey(requests.get(f"{server.url}/api/surveys/fair", timeout=30).json())
    sent = list(reports(survey))
    for one in sent[:ALONE]:
        assert server.post(survey, one).status_code == 201
    answer = server.send_lines(survey, b"\n".join(one.canonical for one in sent[ALONE:]))
    assert answer.json()["stored"] == fair.N - ALONE, answer.text
    assert server.close(survey).ok
    yield server
    server.kill()


@pytest.fixture(scope="module")
def folder(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``deniably export`` writes for an analyst."""
    to = tmp_path_factory.mktemp("export") / "fair"
    with closing(Store(str(server.database))) as store:
        token = new_token(store, "analyst")
    done = call("export", "fair", "--to", to, "--server", server.url, "--token", token)
    assert (done.returncode, "6,366 randomised reports" in done.stdout) == (0, True), done.stderr
    return to


@pytest.fixture(scope="module")
def study(folder: Path) -> dn.Study:
    return dn.open(folder)


SHARES = {
    ("affair", "yes"): (0.3136977694, 0.0123149),
    ("marriage", "awful"): (0.01834747, 0.0078178),
    ("marriage", "bad"): (0.05290606, 0.0083318),
    ("marriage", "fair"): (0.15406849, 0.0095686),
    ("marriage", "good"): (0.36456173, 0.0112836),
    ("marriage", "great"): (0.41011624, 0.0115424),
    ("children", "yes"): (2 * 3565 / 6366 - 0.5, 2 * (3565 * 2801 / 6365) ** 0.5 / 6366),
}
"""RRreg's, whose errors are over n - 1."""


def test_the_server_shows_the_published_shares(server: Server, folder: Path) -> None:
    """To its six decimals; errors are over n, with half a report on either side."""
    document = requests.get(f"{server.url}/api/surveys/fair/results", timeout=30).json()
    shown = {
        (question["name"], choice["name"]): choice
        for question in document["questions"]
        for choice in question["choices"]
    }
    with (folder / "results.csv").open(encoding="utf-8", newline="") as lines:
        exported = {(row["question"], row["choice"]): row for row in csv.DictReader(lines)}

    assert document["n"] == fair.N
    for key, (share, error) in SHARES.items():
        for row in (shown[key], exported[key]):
            assert float(row["estimate"]) == round(share, 6)
            assert float(row["standard_error"]) == pytest.approx(error, abs=3e-6)


def test_the_folder_has_the_published_shares_to_every_digit(study: dn.Study) -> None:
    for question in ("affair", "marriage", "children"):
        found = study.regress(f"{question} ~ 1").predict({"all": [0]}).rows
        for row in found:
            share, error = SHARES[question, str(row["answer"])]
            assert row["estimate"] == pytest.approx(share, abs=5e-9)
            by_n_less_1 = row["standard_error"] * (6366 / 6365) ** 0.5
            assert by_n_less_1 == pytest.approx(error, abs=6e-8)
    assert study.regress("affair ~ 1", link="identity").estimates == pytest.approx(
        [0.3136977694], abs=5e-11
    )


def test_both_sides_randomised_as_base_r_has_it(study: dn.Study) -> None:
    found = study.regress("affair ~ score(marriage)")

    assert found.estimates == pytest.approx([0.2489125032, -1.0437162728], abs=3e-7)
    errors = [one.standard_error for one in found.coefficients]
    assert errors == pytest.approx([0.18635, 0.18409], abs=5e-6)
    assert found.log_likelihood == pytest.approx(-14009.41846, abs=5e-6)


def test_sites_have_the_shares_of_their_own_reports(study: dn.Study) -> None:
    drawn = fair.reports()
    assert {site: len(one) for site, one in study.reports.by("site").items()} == {
        "s0": 1592, "s1": 1563, "s2": 1637, "s3": 1574,
    }  # fmt: skip
    found = study.regress("affair ~ C(site)").predict({"site": ["s0", "s1", "s2", "s3"]}).rows
    for number, row in enumerate(found):
        said = drawn["affair"][drawn["site"] == number].mean()
        assert row["estimate"] == pytest.approx(2 * said - 0.5, abs=1e-9)


@pytest.mark.thorough
def test_r_finds_the_same_from_the_folder(study: dn.Study, folder: Path, tmp_path: Path) -> None:
    """``analyse.R`` with its example: the results, glm and svyglm on the sites."""
    rscript = shutil.which("Rscript")
    assert rscript, "make test installs R; else, as root: apt-get install r-base-core r-cran-survey"
    script = (folder / "analyse.R").read_text(encoding="utf-8").replace(f"\n#{MARK}", "\n")
    (tmp_path / "analyse.R").write_text(script)
    shutil.copy(folder / "reports.csv", tmp_path)
    command = [rscript, "--vanilla", "analyse.R", "--csv"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    table, plain, weighted = done.stdout.split(" " * 16 + "Estimate")

    printed = {
        (row["question"], row["label"]): row
        for row in csv.DictReader(table.splitlines())
        if not row["strata"]
    }
    for (question, choice), (share, _) in SHARES.items():
        row = printed[question, choice.title() if question != "marriage" else choice]
        assert float(row["estimate"]) == pytest.approx(share, abs=5e-9)
    alike = study.rake({"site": dict.fromkeys(("s0", "s1", "s2", "s3"), 0.25)})
    for text, ours in (
        (plain, study.regress("affair ~ site")),
        (weighted, study.regress("affair ~ site", weights=alike, strata="site", se="robust")),
    ):
        rows = [line.split()[1:3] for line in text.splitlines()[1:]]
        theirs = np.array([row for row in rows if len(row) == 2], float)
        expected: Any = [(one.estimate, one.standard_error) for one in ours.coefficients]
        assert theirs == pytest.approx(np.array(expected), abs=1e-6)


def test_nothing_of_a_device_is_in_the_folder(folder: Path) -> None:
    texts = [one.read_text(encoding="utf-8") for one in folder.iterdir()]
    survey = msgspec.json.decode((folder / "survey.json").read_bytes())

    ids = [id_of(row) for row in (0, 1, 5000)]
    assert not [one for one in ids for text in texts if one in text]
    assert survey["strata"] == {"site": ["s0", "s1", "s2", "s3"]}
