"""``deniably plan``: computes respondents, margin or epsilon from the other two."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from deniably.core.steering import one_line
from deniably.core.table import Table, aligned
from deniably.design.capacity import FIELDWORK, plan_machines

if TYPE_CHECKING:
    from deniably.design.curve import Curve
    from deniably.design.plan_table import Planned
    from deniably.design.planning import Goal, Plan
    from deniably.design.power import Powered, TestOf
    from deniably.survey.survey import Survey

_T = TypeVar("_T", bound=Table)
_CURVE = "with --curve give --margin, without --epsilon and --n: it is respondents by epsilon"
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
    help="Number of choices, if no survey is given.",
)
@click.option("--most", type=click.IntRange(1, 1024), help="Ticks allowed, for several answers.")
@click.option("--mean", is_flag=True, help="Plan a mean. Its margin is a fraction of its range.")
@click.option("--epsilon", type=click.FloatRange(0.01, 10), help="Privacy of the question.")
@click.option(
    "--margin",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Wanted margin either way, such as 0.05 for five points.",
)
@click.option("--n", "n", type=click.IntRange(1), help="Number of respondents.")
@click.option("--share", type=click.FloatRange(0, 1), help="Expected share [default: the worst].")
@click.option(
    "--asked",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.5,
    show_default=True,
    help="Expected fraction of people who are asked a question with show_if.",
)
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Share of surveys in which a margin holds.",
)
@click.option(
    "--times",
    type=click.FloatRange(0.01, 100),
    help="Plan the survey FILE with every epsilon multiplied by this number.",
)
@click.option(
    "--counts",
    is_flag=True,
    help="Also say the epsilon of the published counts, for people who see these and no reports.",
)
@click.option(
    "--curve",
    is_flag=True,
    help="Show the respondents for --margin at every epsilon from 0.1 to 5.",
)
@click.option(
    "--svg",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="With --curve: draw the curve into this file.",
)
@click.option(
    "--difference",
    type=float,
    help="Plan a test of the survey FILE: the difference to see, such as 0.1 for ten points.",
)
@click.option(
    "--power",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="For a test: the wanted chance to see the difference. With --n it is computed.",
)
@click.option("--question", metavar="NAME", help="For a test: only this question.")
@click.option(
    "--test",
    type=click.Choice(["value", "groups", "waves", "slope"]),
    default="groups",
    show_default=True,
    help="The kind of test: against a value, between two groups of respondents, between two waves,"
    " or of a logistic slope (the difference) for one standard deviation of a covariate.",
)
@click.option(
    "--first",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.5,
    show_default=True,
    help="For a test of groups: the fraction of the respondents in the first group.",
)
@click.option(
    "--level",
    type=click.FloatRange(0, 0.5, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="For a test: the risk of a false alarm.",
)
@click.option(
    "--machines",
    type=click.Choice([*FIELDWORK]),
    help="With --n and no survey: the machines and money for a week's census, a panel of ten years,"
    " or a year's daily telemetry.",
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
    asked: float,
    confidence: float,
    times: float | None,
    counts: bool,
    curve: bool,
    svg: Path | None,
    difference: float | None,
    power: float | None,
    question: str | None,
    test: TestOf,
    first: float,
    level: float,
    machines: str | None,
    as_json: bool,
) -> None:
    """Plan a survey: give two of epsilon, margin and n, and get the third.

    With a survey FILE, give --margin or --n; the epsilons are the survey's own. Give both to get
    the epsilon that each question needs. With --difference and --power it plans a test: how many
    respondents show the difference. With --difference and --n it gives the power of the test.

    Every epsilon is printed with its odds and its worst guess. For the worst guess, somebody sees
    a report and guesses which of two equally likely answers is behind it. At most so many of 100
    such guesses are right.
    """
    if machines is not None:
        if n is None or any((file, epsilon, margin, difference, power, times, counts, curve)):
            raise click.UsageError("--machines plans for --n, the number of people, alone")
        _print(plan_machines(FIELDWORK[machines], [n]), click.echo, as_json=as_json)
        return
    if any(option is not None for option in (difference, power, question)):
        if margin is not None or curve or times is not None or counts:
            raise click.UsageError("a test has no --margin, --curve, --times and --counts")
        tested = _test(file, difference, power, n, question, test, share, first, level)
        _print(tested, click.echo, as_json=as_json)
        return
    if svg is not None and not curve:
        raise click.UsageError("--svg draws a curve; add --curve")
    if times is not None or counts:
        _only_for_a_survey(file, margin, n, curve=curve, times=times is not None)
    if curve:
        if margin is None or epsilon is not None or n is not None:
            raise click.UsageError(_CURVE)
        goals = {"respondents": _goal(choices, most, share, mean=mean)}
        by_epsilon = _curve(file, goals, margin, share, confidence)
        if svg is not None:
            _draw(by_epsilon, svg)
        _print(by_epsilon, _show_curve, as_json=as_json)
        return
    if file is None:
        table = _question_plan(_goal(choices, most, share, mean=mean), epsilon, margin, n,
                               confidence, mean=mean)  # fmt: skip
    else:
        table = _survey_plan(
            file, epsilon, margin, n, share, confidence, times, counts=counts, asked=asked
        )  # fmt: skip
    _print(table, _show, as_json=as_json)


def _print(table: _T, show: Callable[[_T], None], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(table.rows))
    else:
        show(table)


def _question_plan(
    goal: Goal, epsilon: float | None, margin: float | None, n: int | None, confidence: float,
    *, mean: bool,
) -> Planned:  # fmt: skip
    from deniably.design.plan_table import planned
    from deniably.design.planning import PlanRow

    solution = _solve(goal, epsilon, margin, n, confidence)
    return planned([PlanRow("the question", "mean" if mean else "share", solution)], confidence)


def _survey_plan(
    file: Path, epsilon: float | None, margin: float | None, n: int | None, share: float | None,
    confidence: float, times: float | None, *, counts: bool, asked: float,
) -> Planned:  # fmt: skip
    from deniably.design.plan_table import plan_survey

    if epsilon is not None:
        raise click.UsageError("a survey has its epsilon already; give --margin, --n or both")
    if margin is None and n is None:
        raise click.UsageError(_NEEDED)
    survey = read_definition(file)
    try:
        return plan_survey(
            survey, n=n, margin=margin, share=share, confidence=confidence,
            times=times or 1, counts=counts, asked=asked,
        )  # fmt: skip
    except ValueError as error:
        raise click.ClickException(str(error)) from None


def _test(
    file: Path | None,
    difference: float | None,
    power: float | None,
    n: int | None,
    question: str | None,
    test: TestOf,
    share: float | None,
    first: float,
    level: float,
) -> Powered:
    from deniably.design.power import plan_power

    if file is None:
        raise click.UsageError("a test is planned for a survey FILE")
    if difference is None:
        raise click.UsageError("a test needs the --difference to see")
    if (power is None) == (n is None):
        raise click.UsageError("a test needs --power or --n, and not both")
    try:
        return plan_power(
            read_definition(file), difference=difference, power=power, n=n, question=question,
            test=test, share=share, first=first, level=level,
        )  # fmt: skip
    except ValueError as error:
        raise click.ClickException(str(error)) from None


def _only_for_a_survey(
    file: Path | None, margin: float | None, n: int | None, *, curve: bool, times: bool
) -> None:
    if file is None or curve:
        raise click.UsageError("--times and --counts are for a survey, without --curve")
    if times and n is not None and margin is not None:
        raise click.UsageError("with --n and --margin the epsilon is looked for: leave out --times")


def _goal(choices: int, max_ticks: int | None, share: float | None, *, mean: bool) -> Goal:
    from deniably.design import planning

    # A mean on 101 positions, as of percentages: a finer grid needs hardly more people.
    return planning.mean_goal(101) if mean else planning.share_goal(choices, share, max_ticks)


def _curve(
    file: Path | None, goals: Mapping[str, Goal], margin: float, share: float | None,
    confidence: float,
) -> Curve:  # fmt: skip
    from deniably.design.curve import curve_of, curve_table, survey_goals

    if file is not None:
        goals = dict(survey_goals(read_definition(file), share))
    quiet = not sys.stderr.isatty()
    with click.progressbar(goals.items(), label="planning", file=sys.stderr, hidden=quiet) as bar:
        try:
            curves = [(name, curve_of(goal, margin, confidence)) for name, goal in bar]
        except ValueError as error:
            raise click.ClickException(str(error)) from None
    return curve_table(curves, margin)


def _draw(table: Curve, path: Path) -> None:
    from deniably.authoring.curve_drawing import curve_svg

    try:
        path.write_text(curve_svg(table), encoding="utf-8")
    except (OSError, ValueError) as error:
        raise click.ClickException(f"cannot draw into {path}: {error}") from None


def _show_curve(table: Curve) -> None:
    click.echo(f"{table.caption}\n")
    for line in aligned(table.lines, table.texts):
        click.echo(line)
    click.echo("\n" + "\n".join(table.notes))


def _solve(
    goal: Goal, epsilon: float | None, margin: float | None, n: int | None, confidence: float
) -> Plan:
    from deniably.design import planning

    try:
        match epsilon, margin, n:
            case float(), float(), None:
                return planning.respondents_for(goal, epsilon, margin, confidence)
            case float(), None, int():
                return planning.margin_for(goal, epsilon, n, confidence)
            case None, float(), int():
                return planning.epsilon_for(goal, n, margin, confidence)
            case _:
                raise click.UsageError(_NEEDED)
    except ValueError as error:
        raise click.ClickException(str(error)) from None


def read_definition(file: Path) -> Survey:
    """Returns the survey in a file, which is an author's or a published definition. Raises
    ClickException where the file cannot be read or is no valid survey."""
    from deniably.authoring.survey_files import load_survey
    from deniably.core.errors import BadSurvey

    try:
        return load_survey(file)
    except OSError as error:
        raise click.ClickException(one_line(f"{file}: {error.strerror}")) from None
    except BadSurvey as error:
        problems = "\n".join(one_line(str(problem)) for problem in error.problems)
        raise click.ClickException(f"{file} is no valid survey:\n{problems}") from None


def _show(table: Planned) -> None:
    for line in aligned(table.lines, table.texts):
        click.echo(line)
    *notes, price = table.notes
    if notes:
        click.echo("\n" + "\n".join(notes))
    click.echo(f"\n{price}")
