"""``deniably simulate``: what the analyst would see, on people whose answers are known."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner, Result
from scipy import stats

from deniably.simulation import people
from deniably.simulation.bulk import uniform
from deniably_server.commands.simulate import simulate as command
from support.every_type import survey_of_everything
from support.known import (
    HABITS,
    SAMPLED,
    author,
    bounds,
    several,
    table,
)

SURE = 1e-8
"""The false alarm of each bound below; all together have one below 1e-6."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "survey.yaml"
    path.write_text(HABITS)
    return path


def write(path: Path, rows: Sequence[Sequence[str]]) -> Path:
    with path.open("w", newline="") as out:
        csv.writer(out).writerows(rows)
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(one) for one in arguments])


def test_who_clips_most_people_is_told_so_apart_from_the_noise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mean of 35,000 with a maximum of 20,000 is missed, and not because of the noise. (A fixed
    noise: one interval in twenty does not hold what it is for.)"""
    monkeypatch.setattr(uniform, "urandom", np.random.default_rng(1).bytes)
    survey, people = tmp_path / "s.json", tmp_path / "people.csv"
    asked = [question for question in bounds().questions if question.name in ("income", "place")]
    survey.write_bytes(msgspec.structs.replace(bounds(), questions=asked).canonical)
    random = Random(4)
    incomes = [random.randint(15_000, 55_000) for _ in range(3000)]
    rows = ["income,place.east,place.north"] + [f"{income},5,5" for income in incomes]
    people.write_text("\n".join(rows))
    mean, share = sum(incomes) / 3000, sum(income > 20_000 for income in incomes) / 3000

    shown = run(survey, "--truth", people).stdout
    facts = json.loads(run(survey, "--truth", people, "--json").stdout)
    many = json.loads(run(survey, "--truth", people, "--json", "--runs", 8).stdout)

    (line,) = [each.split() for each in shown.splitlines() if each.startswith("income  ")][:1]
    assert line[:3] == ["income", "mean", f"{mean:,.0f}"]
    assert line[-1] == "missed"
    _, _, told = shown.partition("Numbers outside the bounds of a question count as the nearer")
    (line,) = [each.split() for each in told.splitlines() if each.startswith("income")]
    assert line[2:4] == [f"{100 * share:.1f}", "%"]
    assert line[-1] == "yes", "the interval holds what the bounds leave"
    assert "place" not in told, "what is within its bounds is not spoken of"
    first = facts[0]
    assert (first["figure"], first["truth"]) == ("mean", pytest.approx(mean))
    assert first["clipped"] == pytest.approx(share)
    assert first["bias"] == pytest.approx(many[0]["bias"])
    assert first["estimate"] == pytest.approx(first["truth"] + first["bias"] + first["noise"])
    # The bias is far above the noise, whose standard error is below 400 (SURE: 6 of them).
    assert abs(first["bias"]) > 10_000
    assert abs(first["noise"]) < 2_400
    assert many[0]["noise"] < 2_400 < many[0]["rmse"]


def test_a_simulation_shows_truth_and_estimate(file: Path, tmp_path: Path) -> None:
    random = Random(1)
    rows = [(random.choice(["yes", "no", "no"]), str(random.randint(0, 20))) for _ in range(3000)]
    truth = write(tmp_path / "truth.csv", [("stolen", "drinks"), *rows])

    done = run(file, "--truth", truth, "--json")

    figures = {(row["question"], row["figure"]): row for row in json.loads(done.stdout)}
    assert set(figures) == {("stolen", "yes"), ("stolen", "no"), ("drinks", "mean")}
    stolen = figures["stolen", "yes"]
    assert stolen["truth"] == Counter(row[0] for row in rows)["yes"] / 3000
    # The standard error is at most 1.2 points: seven of them.
    assert stolen["estimate"] == pytest.approx(stolen["truth"], abs=0.085)
    assert stolen["interval"] == "these respondents"
    shown = run(file, "--truth", truth).output
    assert "of 3 intervals hold the truth" in shown
    assert "those for these respondents" in shown


def test_people_of_one_stratum_are_simulated_alone(tmp_path: Path) -> None:
    survey = tmp_path / "s.yaml"
    survey.write_text(
        HABITS.replace("title:", "strata: {site: [north, south], shift: [day, night]}\ntitle:", 1)
    )
    every = [("north", "day"), ("north", "night"), ("south", "day"), ("south", "night")]
    rows = [(*every[i % 4], "yes" if i % 4 > 1 else "no", "3") for i in range(200)]
    people = write(tmp_path / "p.csv", [("site", "shift", "stolen", "drinks"), *rows])

    def truth(*options: str) -> float:
        found = json.loads(run(survey, "--truth", people, "--json", *options).stdout)
        return float(found[0]["truth"])

    assert truth() == 0.5
    assert truth("--for", "site=south") == 1
    assert truth("--for", "site=north", "--for", "shift=day") == 0
    shown = run(survey, "--truth", people, "--for", "site=north", "--for", "shift=day").stdout
    assert "(shift day, site north): 50 people" in shown
    for options, why in (
        (("--for", "site=west"), "site is one of north, south"),
        (("--for", "age=old"), "no stratum age; there are shift, site"),
        (("--for", "north"), "--for is KEY=VALUE"),
        (("--for", "site=north", "--for", "site=south"), "once for each key"),
    ):
        refused = run(survey, "--truth", people, *options)
        assert (refused.exit_code, why in refused.stderr) == (1, True), refused.stderr


def test_a_large_file_is_simulated_as_a_whole(file: Path, tmp_path: Path) -> None:
    """300,000 rows, more than are laid out at once; the bounds are six standard errors."""
    assert people.BLOCK < 300_000
    rows = [("yes", "10"), ("no", "0"), ("no", "50"), ("no", "20")] * 75_000
    truth = write(tmp_path / "truth.csv", [("stolen", "drinks"), *rows])

    done = run(file, "--truth", truth, "--json")

    figures = {(row["question"], row["figure"]): row for row in json.loads(done.stdout)}
    assert figures["stolen", "yes"]["truth"] == 0.25
    assert figures["drinks", "mean"]["truth"] == 20
    assert figures["stolen", "yes"]["estimate"] == pytest.approx(0.25, abs=0.005)
    assert figures["drinks", "mean"]["estimate"] == pytest.approx(20, abs=0.5)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("stolen\nyes\n", "the column drinks is missing; there are stolen"),
        (
            "stolen,drinks\nyes,3\nperhaps,4\n",
            "row 3: stolen: the answer must be one of Yes (yes), No (no)",
        ),
        ("stolen,drinks\nyes,many\n", "row 2: drinks: needs a number"),
        ("stolen,drinks\nyes,\n", "row 2: drinks: needs an answer"),
        ("stolen,drinks\nyes,1\nno\n", "row 3: drinks: needs an answer"),
        ("stolen,drinks\n", "has no rows"),
        ("", "the column stolen is missing"),
        ("stolen,drinks\nyes,\xff\n", "this is not UTF-8 text"),
    ],
)
def test_a_wrong_file_is_explained(file: Path, tmp_path: Path, text: str, why: str) -> None:
    truth = tmp_path / "truth.csv"
    truth.write_text(text, encoding="latin-1")

    done = run(file, "--truth", truth)

    assert done.exit_code == 1
    assert why in done.output


@pytest.mark.parametrize("text", [HABITS, SAMPLED], ids=["split", "sample"])
def test_runs_err_as_the_design_predicts_and_their_intervals_cover(
    text: str, tmp_path: Path
) -> None:
    runs, n = 200, 1000
    survey = author(text)
    everybody = [
        {question.name: "yes" if index % 3 else "no" for question in survey.questions}
        | ({"drinks": index % 30} if text == HABITS else {})
        for index in range(n)
    ]
    file = tmp_path / "survey.yaml"
    file.write_text(text)
    truth = write(tmp_path / "truth.csv", table(everybody))

    done = run(file, "--truth", truth, "--runs", runs, "--json")

    rows = json.loads(done.stdout)
    assert len(rows) == (3 if text == HABITS else 8)
    for row in rows:
        assert row["runs"] == runs
        assert row["interval"] == ("these respondents" if text == HABITS else "the population")
        error = row["estimate"] - row["truth"]
        assert abs(error) < -stats.norm.ppf(SURE / 2) * row["predicted"] / runs**0.5 * 1.01
        low, high = (stats.chi2.ppf(end, runs) / runs for end in (SURE / 2, 1 - SURE / 2))
        # Of n reports the law is normal but for a little, 2 % of the variance.
        assert low * 0.98 < (row["rmse"] / row["predicted"]) ** 2 < high * 1.02
        # Intervals cover at least 0.93 of the time.
        assert row["coverage"] * runs >= stats.binom.ppf(SURE, runs, 0.93)


def test_runs_are_shown_in_a_table(tmp_path: Path) -> None:
    file, truth = tmp_path / "survey.json", tmp_path / "truth.csv"
    file.write_bytes(survey_of_everything().canonical)
    write(truth, table(several(300)))

    done = run(file, "--truth", truth, "--runs", 3)

    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0] == "Every kind of answer: 300 people, 3 runs"
    assert lines[2].split() == [
        "question", "figure", "truth", "mean", "estimate", "RMSE", "predicted", "covered",
    ]  # fmt: skip
    assert any(line.startswith("drugs     cannabis") for line in lines)
    assert any(line.startswith("vote      Red, Yes") for line in lines)
    assert any("quantile 0.5" in line and line.endswith("*") for line in lines)
    assert len(lines) > 100
    assert "where marked * for the population" in lines[-1]


def test_every_figure_of_every_type_is_for_programs_too(tmp_path: Path) -> None:
    file, truth = tmp_path / "survey.json", tmp_path / "truth.csv"
    file.write_bytes(survey_of_everything().canonical)
    write(truth, table(several(300)))

    rows = json.loads(run(file, "--truth", truth, "--runs", 2, "--json").stdout)

    names = {(row["question"], row["figure"]) for row in rows}
    assert names >= {
        ("drugs", "cannabis"), ("what", "not_applicable"), ("happy", "mean score"),
        ("income", "mean"), ("income", "at most 2500"), ("income", "quantile 0.5"),
        ("hours", "care mean"), ("vote", "party.red"), ("vote", "Red, Yes"),
        ("home", "-20 to -15, -20 to -15"),
    }  # fmt: skip
    assert all(0 <= row["coverage"] <= 1 and row["rmse"] >= 0 for row in rows)
    assert all(row["predicted"] is None for row in rows if row["figure"].startswith("quantile"))


def test_an_undetermined_mean_score_leaves_all_open_and_so_holds_the_truth(
    tmp_path: Path,
) -> None:
    """Nine of ten of 200 do not know. Runs that do not tell the mean count as holding it, or those
    that do, which are the odd ones, would be all."""
    text = """
name: s
title: Likert
questions:
  - {name: q, type: scale, label: Q, choices: [a, b, c, d, e], also: [dont_know], epsilon: 1}
"""
    file, runs = tmp_path / "survey.yaml", 20
    file.write_text(text)
    truth = write(tmp_path / "truth.csv", [("q",), *[("b",)] * 20, *[("dont_know",)] * 180])

    done = run(file, "--truth", truth, "--runs", runs, "--json")
    shown = run(file, "--truth", truth, "--runs", runs).stdout

    row = next(row for row in json.loads(done.stdout) if row["figure"] == "mean score")
    assert row["runs"] == runs
    assert 0 < row["unknown"] <= runs
    assert row["coverage"] * runs >= stats.binom.ppf(SURE, runs, 0.93)
    assert row["estimate"] is None or 1 <= row["estimate"] <= 5
    assert "(told in" in shown or "cannot be told" in shown


@pytest.mark.parametrize("runs", [0, 1, -5, 10_001, "many"])
def test_a_wrong_number_of_runs_is_refused(file: Path, tmp_path: Path, runs: object) -> None:
    truth = write(tmp_path / "truth.csv", [("stolen", "drinks"), ("yes", "3")])

    done = run(file, "--truth", truth, "--runs", runs)

    assert done.exit_code == 2
    assert "--runs" in done.output


def test_there_is_no_seed(file: Path) -> None:
    assert "--seed" not in run("--help").output
    assert run(file, "--truth", file, "--seed", 1).exit_code == 2
