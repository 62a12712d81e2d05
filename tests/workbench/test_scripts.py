"""The scripts of an export, run by R and Python: they print the results again."""

from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import deniably as dn
from deniably.core.languages.csv_text import spreadsheet_text
from deniably.estimation.figures import groups
from deniably.estimation.shares_among_asked import follow_ups
from deniably.results.subgroups import every_subgroup
from deniably.survey.strata import stratum_text
from deniably.workbench import rake
from deniably.workbench.files.examples import MARK
from deniably.workbench.files.folder import write_folder
from deniably.workbench.report_set import ReportSet, of_simulation
from deniably.workbench.scripted import scores_of, script_of, worked_out
from support.every_type import QUESTIONS, reports_by_seed, survey_of_everything
from support.material import source_of
from support.nursery import the_nursery

Rows = dict[tuple[str, str, str], dict[str, str]]
Figures = dict[tuple[str, str, str], Any]
PLAIN = [
    {"claim": {"epsilon": "2"}} | {key: one[key] for key in one if key != "show_if"}
    for one in QUESTIONS
]
STRATA = {"site": ["north", "south", "west"], "a-shift": ["day", "night"]}
SURVEYS = {
    "everything": (survey_of_everything(strata=STRATA), 600),
    "some": (survey_of_everything(ask=4, questions=PLAIN), 60),
    "odd": (  # marks that mean something to R, to Python or to Stata
        survey_of_everything(
            title='Odd "title" \\ `x` $y /* // */ # 你 \U0001f600',
            questions=[
                {"claim": {"epsilon": "2"}} | one | {"label": '"A" \\ `x` $y /* // {b} \U0001f600?'}
                for one in QUESTIONS[:1]
            ],
        ),
        300,
    ),
}  # fmt: skip

AS_MAIN = "import runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__')"


@pytest.fixture(scope="module", params=[*SURVEYS])
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Reports, always the same, and their folder; the examples of its scripts are no comments."""
    survey, n = SURVEYS[request.param]
    reports = reports_by_seed(survey, n, 4)
    folder = tmp_path_factory.mktemp("export") / "out"
    write_folder(folder, reports, source_of(reports.survey))
    for name in ("analyse.R", "analyse.py"):
        text = (folder / name).read_text(encoding="utf-8")
        assert f"\n#{MARK}" in text
        running = text.replace(f"\n#{MARK}", "\n")
        (folder / name).write_text(running, encoding="utf-8")
    return reports, folder


@pytest.fixture(scope="module")
def expected(exported: Any) -> dict[str, tuple[int, Figures]]:
    """How many reports there are of all and of each value of a key, and their figures."""
    reports, _ = exported
    some = {
        stratum_text(stratum): reports.among(stratum)
        for stratum in every_subgroup(reports.survey.strata or {})
        if len(stratum) == 1
    }
    return {name: (len(one), dict(unrounded(one))) for name, one in ({"": reports} | some).items()}


def rows(text: str, strata: str = "") -> Rows:
    """The printed figures of a subgroup, or of all."""
    found = csv.DictReader(io.StringIO(text))
    return {
        (row["question"], row["part"], row["label"]): row
        for row in found
        if row.get("strata", "") == strata and row["standard_error"]
    }


def assert_results(expected: dict[str, tuple[int, Figures]], printed: str) -> None:
    """All figures of the results are printed, but for a mean among some people (a ratio)."""
    (_, of_all), found = expected[""], rows(printed)
    for key, row in found.items():
        wanted = of_all[key]
        assert float(row["estimate"]) == pytest.approx(wanted.estimate, abs=1e-6), key
        assert float(row["standard_error"]) == pytest.approx(wanted.standard_error, abs=1e-6), key
    assert set(of_all) - set(found) <= {("happy", "", "mean")}
    for name, (n, figures) in expected.items():
        if name:
            assert_subgroup(n, figures, rows(printed, name), found)


def assert_subgroup(n: int, expected: Figures, found: Rows, of_all: Rows) -> None:
    """The same figures of a subgroup; its means have no bounds of their own for their errors."""
    assert found.keys() == of_all.keys()
    for key, row in found.items():
        wanted = expected[key]
        assert int(row["n"]) <= n < int(of_all["stolen", "", "Yes"]["n"])
        assert float(row["estimate"]) == pytest.approx(wanted.estimate, abs=1e-6), key
        if not (key[1] or key[2] == "mean"):
            error = float(row["standard_error"])
            assert error == pytest.approx(wanted.standard_error, abs=1e-6), key


def unrounded(reports: ReportSet) -> Iterator[tuple[tuple[str, str, str], Any]]:
    """The figures of the results before they are rounded, but for those up to a number."""
    for question in reports.survey.questions:
        for group in groups(question):
            part = group.part.name if group.part else ""
            found = group.estimate_figures(reports.tally()[question.name])
            for figure, one in zip(group.figures, found, strict=True):
                if figure.kind in ("share", "joint share"):
                    yield (question.name, part, spreadsheet_text(figure.label)), one
                elif figure.kind == "mean":
                    yield (question.name, part, "mean"), one
        yield from of_those_asked(reports, question.name)


def of_those_asked(reports: ReportSet, name: str) -> Iterator[tuple[tuple[str, str, str], Any]]:
    """Shares among those who were asked, from this question alone: a ratio of two estimates."""
    for one in follow_ups(reports.survey).values():
        if one.question.name != name:
            continue
        (group,) = groups(one.question)
        shares = [
            share.estimate for share in group.estimate_figures(reports.tally()[name]) if share
        ]
        law: Any = one.question.mechanism.law
        names = [f"{name}__{choice}" for choice in one.question.names]
        columns = [reports.column(column) for column in names]
        named = np.array([column.values[column.there] for column in columns]) / float(law.p - law.q)
        for answer in one.answers:
            asked = 1 - shares[one.hidden]
            ratio = shares[answer] / asked
            error = np.cov([named[answer], named[one.hidden]], bias=True)
            gradient = np.array([1, ratio]) / asked
            deviation = (gradient @ error @ gradient / named.shape[1]) ** 0.5
            label = f"{one.question.choices[answer].label}, of those asked"
            found = SimpleNamespace(estimate=ratio, standard_error=deviation)
            yield (name, "", spreadsheet_text(label)), found


def run(*command: str | Path, folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def regressions(printed: str) -> list[list[tuple[float, float]]]:
    """The estimates and errors of each table of coefficients, which begins with the constant."""
    found: list[list[tuple[float, float]]] = []
    for line in printed.splitlines():
        figures = re.fullmatch(r"(\S+) +(-?[\d.e+-]+) +([\d.e+-]+) +[\d.e+-]+ .*", line)
        if figures:
            found += [[]] if "Intercept" in figures[1] else []
            found[-1].append((float(figures[2]), float(figures[3])))
    return found


def assert_regressions(reports: ReportSet, printed: str, near: float) -> None:
    """That of the first column on all strata; with strata also the weighted one."""
    column = next(one for one in reports.columns.columns if one.p is not None)
    there = reports.column(column.name).there
    frame: dict[str, Any] = {"y": reports.column(column.name).values[there]}
    for key, values in reports.strata.items():
        frame[key] = np.array(values, object)[there]
    formula = f"y ~ {' + '.join(f'`{key}`' for key in reports.strata) or '1'}"
    wanted = [dn.regress(formula, frame, designs={"y": (column.p, column.q)})]
    if reports.strata:
        stratum = [" ".join(one) for one in zip(*reports.strata.values(), strict=True)]
        weights = rake({"of": stratum}, {"of": dict.fromkeys(stratum, 1 / 6)})
        frame["of"] = stratum
        more: Any = {"weights": weights, "strata": "of", "se": "robust"}
        wanted.append(dn.regress(formula, frame, designs={"y": (column.p, column.q)}, **more))
    found = regressions(printed)
    assert len(found) == len(wanted)
    for model, table in zip(wanted, found, strict=True):
        ours = [(one.estimate, one.standard_error) for one in model.coefficients]
        assert np.array(table) == pytest.approx(np.array(ours), abs=near)


@pytest.mark.thorough
def test_r_prints_the_results_and_fits_the_example(exported: Any, expected: Any) -> None:
    reports, folder = exported
    rscript = shutil.which("Rscript")
    assert rscript, "make test installs R; else, as root: apt-get install r-base-core"

    printed = run(rscript, "--vanilla", "analyse.R", "--csv", folder=folder)
    assert_results(expected, printed)
    assert_regressions(reports, printed, 1e-6)


def forked(script: Path) -> str:
    """What a script prints in a process that has imported everything already."""
    out = script.parent.with_name("printed")
    assert the_nursery().begin_program(AS_MAIN, [str(script)], out).wait(120) == 0, out.read_text()
    return out.read_text(encoding="utf-8")


def test_python_prints_the_results_and_fits_the_example(
    exported: Any, expected: Any, request: pytest.FixtureRequest
) -> None:
    """One of them as a user runs it: to import what models need takes a second."""
    reports, folder = exported

    if request.node.callspec.params["exported"] == "odd":
        printed = run(sys.executable, "-I", "analyse.py", folder=folder)
    else:
        printed = forked(folder / "analyse.py")
    assert_results(expected, printed)
    assert_regressions(reports, printed, 6e-6)


def test_the_script_for_stata_has_the_same_figures(exported: Any) -> None:
    """Its programs, written down again: Stata itself is on no machine of the project."""
    reports, folder = exported
    lines = (folder / "analyse.do").read_text(encoding="utf-8").splitlines()
    body = lines[lines.index("program define figures") + 1 : lines.index("figures")]
    with (folder / "reports.csv").open(encoding="utf-8", newline="") as file:
        columns = list(zip(*list(csv.reader(file))[1:], strict=True))
    figures = [worked_out(one, reports) for one in script_of(reports).figures]

    expected = [(one.estimate, (one.variance / one.n) ** 0.5) for one in figures]
    assert np.array(list(of_stata(body, columns))) == pytest.approx(np.array(expected))
    for line in lines:
        assert line.count('"') % 2 == 0 or line.startswith("*"), line
        assert not re.search(r"/\*|\*/|//", line), "a mark of a comment, heeded in strings, too"
        assert len(line) < 165_200


def of_stata(lines: Sequence[str], columns: Sequence[Sequence[str]]) -> Iterator[Any]:
    """The estimate and the standard error of each line of a script that shows a figure."""
    scored = np.zeros(0)
    for line in lines:
        if found := re.search(r'share "[^"]*" v(\d+) (\d+) (\S+) (\S+)$', line):
            place, value, p, q = map(float, found.groups())
            y = numbers(columns[int(place) - 1]) == value
            support = min(max((y.sum() + 0.5) / (len(y) + 1), q), p)
            yield (y.mean() - q) / (p - q), (support * (1 - support) / len(y)) ** 0.5 / (p - q)
        elif found := re.search(r'among "[^"]*" v(\d+) v(\d+) (\S+) (\S+)$', line):
            gave, hidden, p, q = map(float, found.groups())
            of_all = (numbers(columns[int(gave) - 1]) - q) / (p - q)
            asked = 1 - (numbers(columns[int(hidden) - 1]) - q) / (p - q)
            ratio = of_all.mean() / asked.mean()
            apart = of_all - ratio * asked
            yield ratio, apart.std() / len(apart) ** 0.5 / asked.mean()
        elif found := re.search(r'= real\(word\("([^"]*)", v(\d+) \+ 1\)\)$', line):
            scores = np.array(found[1].split(), np.float64)
            scored = scores[numbers(columns[int(found[2]) - 1]).astype(int)]
        elif found := re.search(r'average "[^"]*" (scored|v(\d+)) (.+)$', line):
            column = numbers(columns[int(found[2]) - 1]) if found[2] else scored
            told = [inf if word == "." else float(word) for word in found[3].split()]
            start, step, least, most, *rest = told
            s = start + step * column
            spread = s.var()
            if rest:
                added, low, high = rest
                m = min(max((s.sum() + added) / (len(s) + 1), 0), 1)
                spread = (high - m) * (m - low)
            yield s.mean(), (min(max(spread, least), most) / len(s)) ** 0.5
        else:
            assert line.strip() in ("", "drop scored", "end"), line


def numbers(cells: Sequence[str]) -> Any:
    return np.array([cell for cell in cells if cell], np.float64)


def test_the_error_of_a_share_is_worked_out_and_never_given(exported: Any) -> None:
    """Of some means it is: where the mechanism allows no smaller variance at this mean."""
    reports, _ = exported
    given = [one for one in script_of(reports).figures if one.least or one.most < inf]

    assert {one.figure for one in given} <= {"mean"}
    assert len(given) < 3


def test_scores_of_a_mean_take_no_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    """There may be thousands of scores, and nobody reads the interval of one."""

    def refuse(*_: object) -> None:
        raise AssertionError("nobody reads this interval")

    survey = dn.load_survey({"name": "s", "title": "S", "questions": [
        {"name": "pay", "type": "number", "label": "Pay?", "minimum": 0, "maximum": 20,
         "epsilon": 1, "mechanism": "bounded_laplace"}]})  # fmt: skip
    reports = of_simulation(dn.randomise(dn.simulate_people(survey, 50)))
    (question,) = survey.questions
    (group,) = groups(question)
    monkeypatch.setattr("deniably.estimation.inversion.tilted", refuse)
    scored = scores_of(question, group, reports.columns.of("pay"))

    assert scored is not None
    assert len(scored[2][0]) == 21
