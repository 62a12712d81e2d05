"""``deniably lab`` as its user calls it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from deniably.lab.catalogue import entries
from support.commands import call, in_a_process

SURVEY = """
name: honesty
title: Honesty at work
questions:
  - {name: stolen, type: yes_no, label: "Have you ever stolen from work?", odds: 5}
  - {name: often, type: select_one, label: "How often?", choices: [Never, Often, Daily], epsilon: 1}
"""


def test_without_a_name_it_lists_every_experiment_with_its_question() -> None:
    done = in_a_process("lab")

    assert done.returncode == 0
    for entry in entries().values():
        assert entry.name in done.stdout.splitlines()
        assert entry.question in done.stdout


def test_a_name_shows_the_answer_and_all_numbers() -> None:
    done = call("lab", "coins", "--truth", "0.8", "--share", "20 %", "--seed", "7")

    assert done.returncode == 0
    assert "a factor of at most 9" in done.stdout
    assert "standard_error" in done.stdout


def test_json_csv_and_pictures(tmp_path: Path) -> None:
    found = json.loads(call("lab", "coins", "--json").stdout)
    lines = list(csv.DictReader(io.StringIO(call("lab", "coins", "--csv").stdout)))
    done = call("lab", "coins", "--svg", tmp_path / "coins.svg", "-o", tmp_path / "coins.html")

    assert found["inputs"]["truth"] == "1/2"
    assert len(lines) == len(found["rows"])
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == ["coins-2.svg", "coins-3.svg", "coins.html", "coins.svg"]
    assert all(name in done.stderr for name in files), "it says what it wrote"
    assert not done.stdout
    for path in tmp_path.glob("*.svg"):
        assert ElementTree.parse(path).getroot().get("width") == "640"
    assert found["answer"] in (tmp_path / "coins.html").read_text(encoding="utf-8")


def test_known_numbers_come_from_a_column_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "incomes.csv"
    file.write_text("name,income\nAnn,1000\nBob,2000\nCid,3000\nDan,10000\n")
    told = ("lab", "bounds", "--n", "10", "--maximum", "4000", "--values", file)
    found = json.loads(call(*told, "--column", "income", "--json").stdout)

    (row,) = (row for row in found["rows"] if row["what"] == "maximum that was given")
    assert (row["clipped"], row["clipping"]) == (0.25, 1500)
    assert "the columns name, income; name one by --column" in call(*told).stderr
    refused = call(*told, "--column", "name")
    assert "line 2: name has no number there" in refused.stderr
    assert "Ann" not in refused.stderr, "never what stands there"
    file.write_text("income\n-5\n")
    assert "values are numbers from 0" in call(*told).stderr
    file.write_text("")
    assert call(*told).returncode == 2


def test_a_survey_gives_the_pictures_of_its_own_whole_numbers(tmp_path: Path) -> None:
    file, page = tmp_path / "honesty.yaml", tmp_path / "lab.html"
    file.write_text(SURVEY)
    done = call("lab", file, "--output", page)
    text = page.read_text(encoding="utf-8")

    assert done.returncode == 0
    assert "Honesty at work" in text
    assert "a factor of 5 at most" in text, "the odds of the survey, not those of two coins"
    assert text.count("Have you ever stolen from work?") >= 3
    assert "How often?" in text


def test_a_handout_is_drawn_with_the_seed_that_is_given_and_else_with_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two experiments, of which one draws nothing."""
    few = {name: entries()[name] for name in ("true-or-false", "coins")}
    assert ["seed" in entry.inputs for entry in few.values()] == [False, True]
    monkeypatch.setattr("deniably.lab.catalogue.entries", lambda: few)
    pages = []
    for number, given in enumerate([(), ("--seed", "1"), ("--seed", "3")]):
        page = tmp_path / f"{number}.html"
        assert call("lab", "all", "-o", page, *given).returncode == 0
        pages.append(page.read_text(encoding="utf-8"))

    assert pages[0] == pages[1] != pages[2]
    assert all(entry.question in page for entry in few.values() for page in pages)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["coins", "--truth", "1.5"], "truth is '1.5'; it is a number from 0.01 to 0.99"),
        (["one-report", "--epsilon", "many"], "epsilon is 'many'; it is a number from 0.01"),
        (["noise-averages-out", "--n", "1,2"], "n is '1'; it is a whole number from 2"),
        (["all", "-o", "x.html", "--seed", "-1"], "seed is '-1'; it is a whole number from 0"),
        (["nothing"], "nothing is neither an experiment nor a survey's file; there are all, class"),
        (["all"], "Missing option '--output'"),
        (["coins", "--svg", "/nowhere/at/all.svg"], "No such file or directory"),
    ],
)
def test_what_is_wrong_is_said_with_the_mend(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = call("lab", *arguments)

    assert done.returncode in (1, 2)
    assert said in " ".join(done.stderr.split())
    assert not list(tmp_path.iterdir())
