"""The scripts of an export, run by R and Python: they print the results again."""

from __future__ import annotations

import csv
import io
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deniably.estimation.figures import groups
from deniably.simulation.reports import randomise, simulate_people
from deniably.survey.survey import Survey
from deniably.workbench.files.folder import write_folder
from deniably.workbench.report_set import ReportSet, of_simulation
from support.every_type import QUESTIONS, survey_of_everything
from support.material import source_of

SURVEYS = {
    "everything": survey_of_everything(),
    "some": survey_of_everything(
        ask=4,
        questions=[
            {"claim": {"epsilon": "2"}} | {key: one[key] for key in one if key != "show_if"}
            for one in QUESTIONS
        ],
    ),
    "odd": survey_of_everything(
        title='Odd "title" \\ `x` $y\n# 你 \U0001f600',
        questions=[
            {"claim": {"epsilon": "2"}} | one | {"label": 'A "quote" \\ `x` $y \U0001f600?'}
            for one in QUESTIONS[:1]
        ],
    ),
}  # fmt: skip


@pytest.fixture(scope="module", params=[*SURVEYS])
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    survey: Survey = SURVEYS[request.param]
    reports = of_simulation(randomise(simulate_people(survey, 3_000)))
    folder = tmp_path_factory.mktemp("export") / "out"
    write_folder(folder, reports, source_of(reports.survey))
    return reports, folder


def rows(text: str) -> dict[tuple[str, str, str], dict[str, str]]:
    found = csv.DictReader(io.StringIO(text))
    return {(row["question"], row["part"], row["label"]): row for row in found}


def assert_results(reports: ReportSet, printed: str) -> None:
    """All figures of the results are printed, but for a mean among some people (a ratio)."""
    expected = dict(unrounded(reports))
    found = rows(printed)
    for key, row in found.items():
        wanted = expected[key]
        assert float(row["estimate"]) == pytest.approx(wanted.estimate, abs=1e-6), key
        error = float(row["standard_error"])
        if key[1] or key[2] == "mean":  # results add up to half a report, or what is least
            assert wanted.standard_error * 0.9 <= error <= wanted.standard_error * 1.001, key
        else:
            assert error == pytest.approx(wanted.standard_error, abs=1e-6), key
    assert set(expected) - set(found) <= {("happy", "", "mean")}


def unrounded(reports: ReportSet) -> Iterator[tuple[tuple[str, str, str], Any]]:
    """The figures of the results before they are rounded, but for those up to a number."""
    for question in reports.survey.questions:
        for group in groups(question):
            part = group.part.name if group.part else ""
            found = group.found(reports.tally()[question.name])
            for figure, one in zip(group.figures, found, strict=True):
                if figure.kind in ("share", "joint share"):
                    yield (question.name, part, figure.label), one
                elif figure.kind == "mean":
                    yield (question.name, part, "mean"), one


def run(*command: str | Path, folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_r_prints_the_results(exported: Any) -> None:
    reports, folder = exported
    rscript = shutil.which("Rscript")
    assert rscript, "make test installs R; else, as root: apt-get install r-base-core"

    assert_results(reports, run(rscript, "--vanilla", "analyse.R", "--csv", folder=folder))


def test_python_prints_the_results(exported: Any) -> None:
    reports, folder = exported

    assert_results(reports, run(sys.executable, "-I", "analyse.py", folder=folder))
