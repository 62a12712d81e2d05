"""``deniably simulate``: a survey run on a file of true answers, and what the analyst would see.

Everything goes the way that real answers go: encoded, randomised, tallied, estimated. Nothing is
written anywhere but to the screen.
"""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deniably_server.plan_cli import read_definition

if TYPE_CHECKING:
    from deniably.questions import Question
    from deniably.survey import Survey
    from deniably_server.result import QuestionResult

Person = Mapping[str, Any]


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--truth",
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="CSV of true answers: a column a question (question.part for parts), a row a person;"
    " several ticks as a;b.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def simulate(file: Path, truth: Path, as_json: bool) -> None:
    """Run the survey FILE on made-up or known people and compare with the truth."""
    from deniably_server.result import result

    survey = read_definition(file)
    people = _people(survey, truth)
    tallies, asked = _run(survey, people)
    shown = result(survey, "simulated", tallies)
    rows = [
        row
        for question, found in zip(survey.questions, shown["questions"], strict=True)
        for row in _compare(question, found, asked[question.name])
    ]
    if as_json:
        click.echo(json.dumps(rows))
        return
    click.echo(f"{survey.title}: {len(people):,} people\n")
    table = [("question", "figure", "truth", "estimate", "95 % interval", "")]
    table += [
        (
            row["question"],
            row["figure"],
            row["truth"],
            row["estimate"],
            f"{row['low']} to {row['high']}",
            "" if row["covered"] else "missed",
        )
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        left = [cell.ljust(width) for cell, width in zip(line[:2], widths, strict=False)]
        right = [cell.rjust(width) for cell, width in zip(line[2:], widths[2:], strict=True)]
        click.echo("  ".join([*left, *right]).rstrip())
    missed = sum(not row["covered"] for row in rows)
    click.echo(
        f"\n{len(rows) - missed} of {len(rows)} intervals hold the truth of the file (it is taken"
        " as the population's, so about one in 20 misses)."
    )


def _people(survey: Survey, path: Path) -> list[Person]:
    """The answers in the file. Raises ClickException with the row and what is wrong."""
    from deniably.questions import Point, Product, SelectMultiple, VectorOfNumbers

    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file)
        columns = set(reader.fieldnames or ())
        people: list[Person] = []
        for row in reader:
            person: dict[str, Any] = {}
            for question in survey.questions:
                if isinstance(question, VectorOfNumbers | Point | Product):
                    parts = {
                        part.name: _cell(row, f"{question.name}.{part.name}", columns)
                        for part in question.parts
                    }
                    person[question.name] = parts
                elif isinstance(question, SelectMultiple):
                    cell = _cell(row, question.name, columns)
                    person[question.name] = [one.strip() for one in cell.split(";") if one.strip()]
                elif cell := _cell(row, question.name, columns):
                    person[question.name] = cell
            people.append(person)
    if not people:
        raise click.ClickException(f"{path} has no rows")
    return people


def _cell(row: Mapping[str, str | None], name: str, columns: set[str]) -> str:
    if name not in columns:
        raise click.ClickException(f"the column {name} is missing; there are {', '.join(columns)}")
    return (row[name] or "").strip()


def _run(survey: Survey, people: Sequence[Person]) -> tuple[Any, dict[str, list[object]]]:
    """The tallies, and of each question the true answers of those who were asked it."""
    from deniably.errors import BadAnswer
    from deniably.questions import NOT_APPLICABLE, SelectMultiple
    from deniably.report import draw_questions, is_shown, randomise_answers
    from deniably.tally import tally

    values: dict[str, list[list[int]]] = {question.name: [] for question in survey.questions}
    asked: dict[str, list[object]] = {question.name: [] for question in survey.questions}
    with click.progressbar(people, label="simulating", file=sys.stderr) as bar:
        for number, person in enumerate(bar, start=2):
            drawn = draw_questions(survey)
            try:
                report = randomise_answers(survey, person, questions=drawn)
            except BadAnswer as error:
                raise click.ClickException(f"row {number}: {error}") from None
            hidden: set[str] = set()
            for question in drawn:
                values[question.name].append(report.values[question.name])
                if not is_shown(question, person, hidden):
                    hidden.add(question.name)
                    several = isinstance(question, SelectMultiple)
                    asked[question.name].append([NOT_APPLICABLE] if several else NOT_APPLICABLE)
                else:
                    asked[question.name].append(person[question.name])
    tallies = {
        question.name: tally(values[question.name], question.mechanism.cell_count)
        for question in survey.questions
    }
    if short := [name for name, found in tallies.items() if found.n == 0]:
        raise click.ClickException(f"nobody was asked {', '.join(short)}; simulate more people")
    return tallies, asked


def _compare(
    question: Question, found: QuestionResult, true: Sequence[Any]
) -> list[dict[str, Any]]:
    """The truth beside every figure."""
    from deniably.analysis import UNSCORED
    from deniably.questions import (
        Number,
        Point,
        Product,
        Scale,
        SelectMultiple,
        VectorOfNumbers,
    )

    rows: list[dict[str, Any]] = []

    def add(figure: str, truth: float, one: Mapping[str, Any], percent: bool) -> None:
        low, high = one["interval"]
        shown = _percent if percent else _plain
        rows.append(
            {
                "question": question.name,
                "figure": figure,
                "truth": shown(truth),
                "estimate": shown(one["estimate"]),
                "low": shown(low),
                "high": shown(high),
                "covered": low - 1e-6 <= truth <= high + 1e-6,
            }
        )

    n = len(true)
    several = isinstance(question, SelectMultiple)
    counts = Counter(name for one in true for name in (one if several else [str(one)]))
    for choice in found["choices"]:
        add(choice["name"], counts[choice["name"]] / n, choice, True)
    if isinstance(question, Number) and found["mean"]:
        grid = question.range
        total = sum(float(grid.value(grid.position(x))) for x in true)
        add("mean", total / n, found["mean"], False)
    if isinstance(question, Scale) and found["mean"]:
        score = dict(zip(question.names, question.values, strict=True))
        scored = [score[one] for one in true if one not in UNSCORED]
        if scored:
            add("mean score", sum(scored) / len(scored), found["mean"], False)
    if isinstance(question, VectorOfNumbers):
        for part, shown_part in zip(question.parts, found["parts"], strict=True):
            numbers = [float(part.range.value(part.range.position(x[part.name]))) for x in true]
            if shown_part["mean"]:
                add(f"{part.name} mean", sum(numbers) / n, shown_part["mean"], False)
    if isinstance(question, Product):
        for shown_part in found["parts"]:
            name = shown_part["name"]
            seen = Counter(one[name] for one in true)
            for choice in shown_part["choices"]:
                add(f"{name}.{choice['name']}", seen[choice["name"]] / n, choice, True)
    if isinstance(question, Point):
        places = Counter(question.encode(one) for one in true)
        for index, cell in enumerate(found["cells"]):
            add(", ".join(cell["names"]), places[index] / n, cell, True)
    return rows


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _plain(value: float) -> str:
    return f"{value:.4g}"
