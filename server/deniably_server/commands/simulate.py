"""``deniably simulate``: runs a survey on a file of true answers and shows what an analyst sees.

It writes to the screen only.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from deniably.core.counting import counted
from deniably.core.steering import one_line
from deniably.core.table import aligned
from deniably_server.commands.plan import read_definition

if TYPE_CHECKING:
    from deniably.lab.published import PublishedFigures
    from deniably.simulation.people import People
    from deniably.simulation.reports import Run
    from deniably.simulation.runs import FigureRuns
    from deniably.survey.survey import Survey

MOST_RUNS = 10_000

_MOST_CLIPPED = 10
_WHOLE = 1_000
"""From this size on, a figure is shown as a whole number."""


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--truth",
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="CSV of true answers: a column for each question (question.part for parts) and each key of"
    " the strata, a row for each person; choices by name or label, several ticks as a;b.",
)
@click.option(
    "--for",
    "strata",
    multiple=True,
    metavar="KEY=VALUE",
    help="In a survey with strata, simulate only one subgroup: --for site=north.",
)
@click.option(
    "--runs",
    type=click.IntRange(2, MOST_RUNS),
    help="Repeat the survey on the same people, and compare the errors with the predicted ones.",
)
@click.option(
    "--curator",
    is_flag=True,
    help="Add what a trusted curator would publish from the same answers at the same epsilon.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--reports",
    type=click.Path(path_type=Path),
    help="Write only the reports, as a report set for `deniably tally`, into this new folder.",
)
@click.option(
    "--people",
    "count",
    type=click.IntRange(1),
    help="With --reports: the number of people. The people of --truth answer again and again.",
)
def simulate(
    file: Path,
    truth: Path,
    strata: tuple[str, ...],
    runs: int | None,
    curator: bool,
    as_json: bool,
    reports: Path | None,
    count: int | None,
) -> None:
    """Run the survey FILE on made-up or known people and compare with the truth.

    A trusted curator would collect the true answers and add noise to what is published. With
    --curator you see, beside every estimate, what a curator would publish. The curator's number is
    more precise, but people would have to trust the curator.
    """
    from deniably.simulation.runs import compare
    from deniably.survey.strata import titled

    survey = read_definition(file)
    subgroup = dict(option.split("=", 1) for option in strata if "=" in option)
    people = _people(survey, truth)
    title = one_line(titled(survey.title, subgroup))
    try:
        if len(subgroup) < len(strata):
            raise ValueError("--for is KEY=VALUE, once for each key, such as --for site=north")
        people = people.among(subgroup)
        if reports is not None or count is not None:
            click.echo(_write_reports(people, reports, count))
            return
        figures = compare(people, _runs(people, runs or 1))
    except ValueError as error:
        raise click.ClickException(one_line(str(error))) from None
    central: PublishedFigures = _published(people, runs or 1) if curator else {}
    if as_json:
        facts = _one_run if runs is None else _many_runs
        click.echo(json.dumps([facts(figure) | _central(figure, central) for figure in figures]))
    elif runs is None:
        click.echo(f"{title}: {counted(people.n, 'person', 'people')}\n")
        _show_one_run(figures, central)
    else:
        click.echo(f"{title}: {counted(people.n, 'person', 'people')}, {counted(runs, 'run')}\n")
        _show_many_runs(figures, runs, central)


def _write_reports(people: People, to: Path | None, count: int | None) -> str:
    """Writes a report set; says how large it is. Raises ValueError."""
    from deniably.simulation.reports import randomise_again
    from deniably.workbench.files.parquet_parts import write_parts
    from deniably.workbench.packing import layout
    from deniably.workbench.report_set import packed_simulation

    if to is None:
        raise ValueError("--people is for --reports")
    if people.survey.mixer:
        raise ValueError(
            "a report set has all answers of a person in one row, and a mixer passes every answer"
            " on apart, so nobody has such rows; leave out --reports"
        )
    n = count or people.n
    places = layout(people.survey, stratified=bool(people.survey.strata))
    blocks = (
        block for some in randomise_again(people, n) for block in packed_simulation(places, some)
    )
    parts = write_parts(to, places, blocks)
    return f"{n:,} randomised reports in {to}: {counted(len(parts), 'part')}"


def _published(people: People, runs: int) -> PublishedFigures:
    from deniably.core.coins import LARGEST, Coins
    from deniably.lab.draws import Draws
    from deniably.lab.published import published

    return published(people, Draws(Coins().below(LARGEST)), runs)


def _central(figure: FigureRuns, central: PublishedFigures) -> dict[str, float | None]:
    """What a curator published: the value of the one run, or the error over all."""
    if (figure.question, figure.truth.name) not in central:  # or of those who were asked
        return {}
    name, value = _of_curator(figure, central)
    return {name: _known(value)}


def _of_curator(figure: FigureRuns, central: PublishedFigures) -> tuple[str, float]:
    values = central[figure.question, figure.truth.name]
    if len(values) == 1:
        return "curator", float(values[0])
    errors = (values - figure.truth.value) ** 2
    known = errors[errors == errors]  # the noise may leave nobody on a scale
    return "curator_rmse", float(known.mean()) ** 0.5 if len(known) else float("nan")


def _curator_text(figure: FigureRuns, central: PublishedFigures) -> str:
    if (figure.question, figure.truth.name) not in central:
        return ""
    return _text(figure, _of_curator(figure, central)[1])


def _people(survey: Survey, path: Path) -> People:
    """Read the answers in the file. Raises ClickException with the row and what is wrong."""
    from deniably.core.bounded_files import text_lines
    from deniably.core.errors import BadAnswer
    from deniably.simulation.people import read_people

    try:
        return read_people(survey, csv.reader(text_lines(path)))
    except OSError as error:
        raise click.ClickException(one_line(f"{path}: {error.strerror}")) from None
    except (BadAnswer, csv.Error, UnicodeDecodeError) as error:
        why = "this is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else error
        raise click.ClickException(one_line(f"{path}: {why}")) from None


def _runs(people: People, runs: int) -> Iterator[Run]:
    from deniably.simulation.reports import simulate_whole

    with click.progressbar(range(runs), label="simulating", file=sys.stderr) as bar:
        for _ in bar:
            yield simulate_whole(people)


# --- what is shown ------------------------------------------------------------------------------


def _one_run(figure: FigureRuns) -> dict[str, Any]:
    return {
        "question": figure.question,
        "figure": figure.truth.name,
        "truth": figure.truth.value,
        "estimate": _known(figure.mean),
        "low": float(figure.low[0]),
        "high": float(figure.high[0]),
        "interval": figure.meant,
        "covered": figure.coverage == 1,
        **_clipped(figure),
        "noise": _known(figure.mean - figure.truth.asked),
    }


def _many_runs(figure: FigureRuns) -> dict[str, Any]:
    return {
        "question": figure.question,
        "figure": figure.truth.name,
        "runs": len(figure.estimates),
        "truth": figure.truth.value,
        "estimate": _known(figure.mean),
        "unknown": figure.unknown,
        "rmse": _known(figure.rmse),
        "predicted": figure.predicted,
        "interval": figure.meant,
        "coverage": figure.coverage,
        **_clipped(figure),
        "noise": _known(figure.noise),
    }


def _known(value: float) -> float | None:
    """The value, or None for NaN: no run could estimate it."""
    return None if value != value else value


def _clipped(figure: FigureRuns) -> dict[str, Any]:
    """The share of answers outside the bounds, and how far bounds alone move the figure."""
    return {"clipped": figure.truth.outside, "bias": figure.clipping}


def _show_one_run(figures: Sequence[FigureRuns], central: PublishedFigures) -> None:
    def line(figure: FigureRuns) -> tuple[str, ...]:
        low, high = figure.low[0], figure.high[0]
        return (
            figure.question,
            figure.truth.name,
            _text(figure, figure.truth.value),
            _text(figure, figure.mean),
            f"{_text(figure, low)} to {_text(figure, high)}{_mark(figure)}",
            "" if figure.coverage else "missed",
            *([_curator_text(figure, central)] if central else []),
        )

    more = ("curator",) if central else ()
    head = ("question", "figure", "truth", "estimate", "95 % interval", "", *more)
    _print(head, map(line, figures))
    missed = sum(not figure.coverage for figure in figures)
    click.echo(
        f"\n{len(figures) - missed} of {len(figures)} intervals hold the truth of the file; about"
        f" one in 20 misses. {_whose(figures)}"
    )
    _explain(central)
    _show_clipping(figures)


def _show_many_runs(figures: Sequence[FigureRuns], runs: int, central: PublishedFigures) -> None:
    def line(figure: FigureRuns) -> tuple[str, ...]:
        known = len(figure.estimates) - figure.unknown
        return (
            figure.question,
            figure.truth.name + (f" (told in {known:,} runs)" if known < runs else ""),
            _text(figure, figure.truth.value),
            _text(figure, figure.mean),
            _text(figure, figure.rmse),
            "" if figure.predicted is None else _text(figure, figure.predicted),
            f"{100 * figure.coverage:.1f} %{_mark(figure)}",
            *([_curator_text(figure, central)] if central else []),
        )

    head = ("question", "figure", "truth", "mean estimate", "RMSE", "predicted", "covered")
    _print((*head, "curator RMSE") if central else head, map(line, figures))
    click.echo(
        "\nRMSE: the root of the mean squared error about the truth of the file; predicted: the"
        " standard error that the design gives for these people; covered: the share of runs whose"
        f" 95 % interval holds the truth. {_whose(figures)}"
    )
    _explain(central)
    _show_clipping(figures)


def _explain(central: PublishedFigures) -> None:
    if central:
        click.echo(
            "\ncurator: what somebody would publish who collected the true answers, at the same"
            " epsilon. Everybody has to trust that party; here nobody has to."
        )


def _show_clipping(figures: Sequence[FigureRuns]) -> None:
    """Show how far clipping to the bounds moves each figure, apart from chance."""
    moved = [figure for figure in figures if figure.truth.outside and figure.clipping]
    if not moved:
        return
    shown = sorted(moved, key=_relative, reverse=True)[:_MOST_CLIPPED]
    runs = len(figures[0].estimates) > 1

    def line(figure: FigureRuns) -> tuple[str, ...]:
        truth = figure.truth
        noise = figure.noise if runs else figure.mean - truth.asked
        held = f"{100 * figure.coverage_asked:.1f} %" if runs else _held(figure)
        return (
            figure.question,
            truth.name,
            f"{100 * truth.outside:.1f} %",
            _text(figure, truth.asked),
            _text(figure, figure.clipping, "+"),
            _text(figure, noise, "-" if runs else "+"),
            held,
        )

    click.echo("\nNumbers outside the bounds of a question count as the nearer bound:\n")
    chance = "RMSE by chance" if runs else "by chance"
    head = ("question", "figure", "outside", "then it is", "moved", chance, "covered")
    _print(head, map(line, shown))
    if len(shown) < len(moved):
        click.echo(f"and {counted(len(moved) - len(shown), 'more figure')}, moved less")
    click.echo(
        "\noutside: the share of such answers; moved: by how much that alone is from the truth,"
        " however many people report; by chance: what the noise adds; covered: whether intervals"
        " hold what it then is. Wider bounds move less and cost more noise."
    )


def _relative(figure: FigureRuns) -> float:
    """How far clipping moves a figure, relative to the figure."""
    return abs(figure.clipping) / max(abs(figure.truth.value), abs(figure.truth.asked))


def _held(figure: FigureRuns) -> str:
    return "yes" if figure.coverage_asked else "no"


def _print(head: Sequence[str], lines: Iterable[Sequence[str]]) -> None:
    for line in aligned([head, *lines], texts=2):
        click.echo(line)


def _text(figure: FigureRuns, value: float, sign: Literal["+", "-"] = "-") -> str:
    """Format a value of the figure; with ``+``, positive values get a sign too."""
    if _known(value) is None:
        return "cannot be told"
    if figure.truth.share:
        return f"{round(100 * value, 1) or 0.0:{sign}.1f} %"  # never -0.0
    return f"{value:{sign},.0f}" if abs(value) >= _WHOLE else f"{value:{sign}.4g}"


def _mark(figure: FigureRuns) -> str:
    return "" if figure.meant == "these respondents" else " *"


def _whose(figures: Sequence[FigureRuns]) -> str:
    if not any(map(_mark, figures)):
        return "The intervals are those for these respondents."
    return (
        "The intervals are those for these respondents, or where marked * for the population:"
        " quantiles and shares of those asked have no others, and where some of the people report"
        " they are a sample of the file. Those hold the truth of a file more often."
    )
