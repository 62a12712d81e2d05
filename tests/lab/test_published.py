"""What a trusted curator would publish of a survey: right without noise, and with enough of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import deniably as dn
from deniably.core.binomial import Floats
from deniably.lab import published as module
from deniably.lab.curator import Added, LaplaceNoise
from deniably.lab.draws import Draws
from deniably.lab.published import published
from deniably.simulation.people import People
from deniably.simulation.truth import truths
from deniably_server.commands.simulate import simulate
from support.every_type import survey_of_everything

RUNS = 4000
PARTS = [{"name": one, "label": one, "minimum": 0, "maximum": 10} for one in "abc"]
QUESTIONS: dict[str, dict[str, Any]] = {
    "yes": {"type": "yes_no"},
    "one": {"type": "select_one", "choices": list("pqrs")},
    "some": {"type": "select_multiple", "choices": list("pqrs"), "most": 2},
    "any": {"type": "select_multiple", "choices": list("pqrs")},
    "hours": {"type": "number", "minimum": 0, "maximum": 50},
    "parts": {"type": "vector", "parts": PARTS},
    "noisy": {"type": "vector", "parts": PARTS, "mechanism": "gaussian", "delta": 0.00001},
}
FIRST = {"yes": "yes", "one": "p", "some": "p;q", "any": "p;q;r;s", "hours": "50"}
OTHER = {"yes": "no", "one": "q", "some": "r;s", "any": "", "hours": "0"}


def survey(*names: str, **keys: Any) -> dn.Survey:
    asked = [{"name": one, "label": f"{one}?", "epsilon": 1, **QUESTIONS[one]} for one in names]
    if "budget" in keys:
        asked = [{key: value for key, value in one.items() if key != "epsilon"} for one in asked]
    return dn.load_survey({"name": "s", "title": "T", "questions": asked, **keys})


def people(name: str, cells: list[str], **keys: Any) -> People:
    """People who write the same cell into every column of a question."""
    columns = [f"{name}.{one}" for one in "abc"] if name in ("parts", "noisy") else [name]
    rows = [columns, *([cell] * len(columns) for cell in cells)]
    return dn.read_people(survey(name, **keys), rows)


@contextmanager
def without_noise(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Added]]:
    """Curators add nothing within this; yields the noise that they would have added."""
    seen: list[Added] = []

    def draw(self: Added, draws: Draws, size: int) -> Floats:
        seen.extend([self] * size)
        return np.zeros(size)

    with monkeypatch.context() as patched:
        patched.setattr(Added, "draw", draw)
        yield seen


def test_without_noise_a_curator_publishes_the_truth_of_every_figure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """But for the mean of a number that is asked in buckets, which counts as their middles."""
    with Draws(1).bulk():
        everybody = dn.simulate_people(survey_of_everything(), 300)
    exact = {
        (answers.question.name, one.name): one.asked
        for answers in everybody.answers
        for one in truths(answers)
        if one is not None
    }

    with without_noise(monkeypatch):
        found = published(everybody, Draws(1))

    in_buckets = ("income", "mean")
    assert found[in_buckets][0] == pytest.approx(exact.pop(in_buckets), rel=5e-3)
    assert {key: found[key][0] for key in exact} == pytest.approx(exact)


@pytest.mark.parametrize("name", FIRST)
def test_one_person_moves_what_is_published_by_no_more_than_the_noise_hides(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the sum over all numbers with noise, in units of its scale: epsilon at most, and all of
    it for the two answers that are farthest apart. Neighbours differ in one person's answer."""
    crowd = [FIRST[name]] * 3 + [OTHER[name]] * 3
    with without_noise(monkeypatch) as noise:
        before = published(people(name, [FIRST[name], *crowd]), Draws(1))
        count = len(noise)
        after = published(people(name, [OTHER[name], *crowd]), Draws(1))
    moved = [abs(float(after[key][0] - before[key][0])) for key in before]
    numbers = [one for one in moved if one][:count]
    unit = 1.0 if name == "hours" else 1 / 7
    scale = noise[0].scale * unit

    assert {one.shape for one in noise} == {"laplace"}
    assert sum(numbers[: 1 if name == "yes" else count]) / scale == pytest.approx(1)


@pytest.mark.parametrize(
    ("name", "deviation"),
    [
        ("yes", sqrt(2)),  # one count
        ("one", sqrt(2) * 2 * sqrt(3 / 4)),  # two counts move, and the sum is known
        ("some", sqrt(2) * 4),
        ("any", sqrt(2) * 4),
        ("hours", sqrt(2) * 50),
        ("parts", sqrt(2) * 3 * 10),
        ("noisy", 3.73063 * sqrt(3) * 10),
    ],
)
def test_the_error_of_a_curator_is_that_of_its_noise(name: str, deviation: float) -> None:
    cells = ["5"] * 50 if name in ("hours", "parts", "noisy") else [FIRST[name]] * 50

    found = published(people(name, cells), Draws(1), RUNS)

    for (_, figure), values in found.items():
        # The relative standard error of a deviation is below 2.3/sqrt(2 n) for these laws.
        assert values.std() * 50 == pytest.approx(deviation, rel=4 * 2.3 / sqrt(2 * RUNS)), figure


def test_where_devices_draw_questions_a_curator_divides_the_epsilon_of_a_report() -> None:
    drawn = survey("yes", "one", budget={"epsilon": 1, "spend": "sample", "ask": 1})
    rows = [["yes", "one"], *([["yes", "p"]] * 20)]

    found = published(dn.read_people(drawn, rows), Draws(1), RUNS)

    half = LaplaceNoise(0.5).noise(1.0).deviation / 20
    assert found["yes", "yes"].std() == pytest.approx(half, rel=4 * 2.3 / sqrt(2 * RUNS))


def test_the_same_seed_publishes_the_same() -> None:
    everybody = people("one", ["p", "q", "r"])

    one, other, third = (published(everybody, Draws(seed), 3) for seed in (1, 1, 2))

    assert all((one[key] == other[key]).all() for key in one)
    assert any((one[key] != third[key]).any() for key in one)


def test_a_broken_calibration_moves_what_is_published(monkeypatch: pytest.MonkeyPatch) -> None:
    everybody = people("yes", ["yes"] * 50)
    right = published(everybody, Draws(1), RUNS)["yes", "yes"].std()

    monkeypatch.setattr(module, "LaplaceNoise", lambda epsilon: LaplaceNoise(2 * epsilon))

    assert published(everybody, Draws(1), RUNS)["yes", "yes"].std() == pytest.approx(right / 2)


# --- the command --------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    file, table = tmp_path / "s.yaml", tmp_path / "people.csv"
    file.write_text(
        "{name: s, title: T, questions: [{name: stolen, type: yes_no, label: Stolen, epsilon: 1}]}"
    )
    table.write_text("stolen\n" + "yes\n" * 300 + "no\n" * 700)
    return str(file), str(table)


def test_simulate_puts_a_curator_beside_the_survey(files: tuple[str, str]) -> None:
    file, table = files
    arguments = [file, "--truth", table, "--curator"]

    rows = json.loads(CliRunner().invoke(simulate, [*arguments, "--json"]).stdout)
    shown = CliRunner().invoke(simulate, arguments).stdout

    # Noise of scale 1 on a count of 1,000: beyond 25 once in 7e10 times.
    assert rows[0]["curator"] == pytest.approx(0.3, abs=0.025)
    assert rows[0]["curator"] + rows[1]["curator"] == pytest.approx(1)
    assert shown.splitlines()[2].split()[-1] == "curator"
    assert "Everybody has to trust that party" in shown


def test_over_many_runs_a_curator_errs_far_less_than_the_survey(files: tuple[str, str]) -> None:
    file, table = files
    arguments = [file, "--truth", table, "--curator", "--runs", "40"]

    rows = json.loads(CliRunner().invoke(simulate, [*arguments, "--json"]).stdout)
    shown = CliRunner().invoke(simulate, arguments).stdout

    # sqrt(2) of 1,000 people; the bounds leave out less than one in ten million.
    assert 0.0005 < rows[0]["curator_rmse"] < 0.004 < rows[0]["rmse"]
    assert "curator RMSE" in shown


def test_without_the_option_there_is_no_curator(files: tuple[str, str]) -> None:
    file, table = files

    done = CliRunner().invoke(simulate, [file, "--truth", table, "--json"])

    assert "curator" not in done.stdout
