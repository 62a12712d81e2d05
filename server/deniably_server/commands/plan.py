"""``deniably plan``: respondents, margin and epsilon, any of the three from the other two."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deniably.survey.privacy import plain
from deniably.survey.steering import one_line, steering_problems

if TYPE_CHECKING:
    from deniably.design.planning import Goal, Plan, Row
    from deniably.survey.survey import Survey

TOGETHER = "all together"

_NEEDED = "give two of --epsilon, --margin and --n (of a survey: --margin, --n or both)"


@click.command()
@click.argument(
    "file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option(
    "--choices",
    type=click.IntRange(2, 1024),
    default=2,
    show_default=True,
    help="Number of choices, where no survey is given.",
)
@click.option("--most", type=click.IntRange(1, 1024), help="Ticks allowed, for several answers.")
@click.option("--mean", is_flag=True, help="Plan a mean (margins are parts of its range).")
@click.option("--epsilon", type=click.FloatRange(0.01, 10), help="Privacy of the question.")
@click.option(
    "--margin",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Wanted margin either way, such as 0.05 for five points.",
)
@click.option("--n", "n", type=click.IntRange(1), help="Number of respondents.")
@click.option("--share", type=click.FloatRange(0, 1), help="Expected share [default: the worst].")
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Share of surveys in which a margin holds.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def plan(
    file: Path | None,
    choices: int,
    most: int | None,
    mean: bool,
    epsilon: float | None,
    margin: float | None,
    n: int | None,
    share: float | None,
    confidence: float,
    as_json: bool,
) -> None:
    """Plan a survey: of epsilon, margin and n give two, get the third and its price.

    With a survey FILE its own epsilons hold where you give --margin or --n; give both to get the
    epsilon that each question needs.
    """  # fmt: skip
    from deniably.design import planning

    if file is None:
        goal = planning.mean_goal(101) if mean else planning.share_goal(choices, share, most)
        found = _solve(goal, epsilon, margin, n, confidence)
        rows = [planning.Row("the question", "mean" if mean else "share", found)]
    else:
        if epsilon is not None:
            raise click.UsageError("a survey has its epsilon already; give --margin, --n or both")
        if margin is None and n is None:
            raise click.UsageError(_NEEDED)
        survey = read_definition(file)
        try:
            rows = planning.plan_survey(
                survey, n=n, margin=margin, share=share, confidence=confidence
            )
        except ValueError as error:
            raise click.ClickException(str(error)) from None
        together = planning.whole(survey, rows)
        rows.append(planning.Row(TOGETHER, "", together, delta=survey.total.delta))
    if as_json:
        click.echo(json.dumps([_as_json(row) for row in rows]))
    else:
        _show(rows, confidence)


def _solve(
    goal: Goal, epsilon: float | None, margin: float | None, n: int | None, confidence: float
) -> Plan:
    from deniably.design import planning

    solve: Callable[[], Plan]
    match epsilon, margin, n:
        case float(), float(), None:
            solve = lambda: planning.respondents(goal, epsilon, margin, confidence)  # noqa: E731
        case float(), None, int():
            solve = lambda: planning.margin(goal, epsilon, n, confidence)  # noqa: E731
        case None, float(), int():
            solve = lambda: planning.epsilon(goal, n, margin, confidence)  # noqa: E731
        case _:
            raise click.UsageError(_NEEDED)
    try:
        return solve()
    except ValueError as error:
        raise click.ClickException(str(error)) from None


def read_definition(file: Path) -> Survey:
    """An author's survey or a published definition. Raises ClickException."""
    from deniably.authoring.authoring import compile_survey, load
    from deniably.core.errors import BadSurvey
    from deniably.survey.survey import as_survey

    try:
        document: Any = load(file.read_bytes())
        if not _is_published(document):
            return compile_survey(document)
        if problems := list(steering_problems(document)):
            raise BadSurvey(problems)
        return as_survey(document)
    except BadSurvey as error:
        found = "\n".join(one_line(str(problem)) for problem in error.problems)
        raise click.ClickException(f"{file} is no valid survey:\n{found}") from None


def _is_published(document: Any) -> bool:
    return isinstance(document, dict) and "spec" in document


def _as_json(row: Row) -> dict[str, Any]:
    return (
        {"question": row.question, "figure": row.figure}
        | asdict(row.plan)
        | {
            "design_effect": round(row.plan.design_effect, 4),
            "note": row.note,
            "delta": plain(row.delta),
        }
    )


def _show(rows: list[Row], confidence: float) -> None:
    table: list[tuple[str, ...]] = [
        (
            "question",
            "figure",
            "epsilon",
            "delta",
            "respondents",
            "margin",
            "asked directly",
            "trusted curator",
        )
    ]
    table += [(row.question, row.figure, *_cells(row)) for row in rows]
    if not any(row.delta for row in rows):
        table = [(*line[:3], *line[4:]) for line in table]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for first, second, *rest in table:
        cells = [cell.rjust(width) for cell, width in zip(rest, widths[2:], strict=True)]
        click.echo("  ".join([first.ljust(widths[0]), second.ljust(widths[1]), *cells]))
    notes = [f"{row.question}, {row.figure}: {row.note}" for row in rows if row.note]
    if notes:
        click.echo("\n" + "\n".join(notes))
    asked = [row for row in rows if row.question != TOGETHER]
    worst = max(asked, key=lambda row: (row.plan.n, row.plan.design_effect)).plan
    click.echo(
        f"\nMargins hold in {100 * confidence:g} of 100 surveys. The same margin would take"
        f" {worst.direct:,} people asked directly, and {worst.curator:,} if a trusted curator"
        " collected true answers and published at the same epsilon: protection costs"
        f" {'up to ' if len(asked) > 1 else ''}{worst.design_effect:.1f} times the respondents."
    )


def _cells(row: Row) -> tuple[str, ...]:
    plan = row.plan
    return (
        f"{plan.epsilon:.2f}",
        plain(row.delta),
        f"{plan.n:,}",
        f"{100 * plan.margin:.1f} %",
        f"{plan.direct:,}",
        f"{plan.curator:,}",
    )
