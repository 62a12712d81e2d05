"""``deniably lab``: the textbooks' experiments as pictures, made by the code that ships.

There is a command for each experiment of the catalogue, with its inputs as options.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deniably.core.steering import printable
from deniably.survey.mixer import Mixer
from deniably_server.commands.lab_class import in_class
from deniably_server.commands.plan import read_definition

if TYPE_CHECKING:
    from deniably.lab.catalogue import Entry
    from deniably.lab.experiment import Experiment
    from deniably.survey.survey import Survey

_ALL, _CLASS = "all", "class"
_FILE = click.Path(dir_okay=False, writable=True, path_type=Path)
_OUTPUT = click.Option(
    ["--output", "-o"], type=_FILE, help="Write one HTML page that needs nothing else."
)
_SEED, _VALUES = "seed", "values"


class _Lab(click.Group):
    """A command for each experiment, one for all of them, one for a class that asks itself, and one
    for each survey file."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from deniably.lab.catalogue import entries

        return [_ALL, _CLASS, *entries()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from deniably.lab.catalogue import entries

        if cmd_name == _ALL:
            return _everything()
        if cmd_name == _CLASS:
            return in_class
        if entry := entries().get(cmd_name):
            return _one(entry)
        if (file := Path(cmd_name)).is_file():
            return _of_a_survey(file)
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and self.get_command(ctx, args[0]) is None:
            known = ", ".join(self.list_commands(ctx))
            raise click.UsageError(
                f"{printable(args[0])} is neither an experiment nor a survey's file; there are"
                f" {known}"
            )
        return super().resolve_command(ctx, args)


@click.group(cls=_Lab, invoke_without_command=True, subcommand_metavar="[NAME | FILE] [OPTIONS]")
@click.pass_context
def lab(context: click.Context) -> None:
    """Show experiments from textbooks as pictures, with the mechanisms of real surveys.

    Without a NAME it lists the experiments. With a survey's FILE it runs all experiments that apply
    to the survey, with the survey's exact probabilities. `deniably lab all -o handout.html` makes a
    handout. `deniably lab class` makes and publishes a survey of one question, with a page for the
    projector.
    """
    if context.invoked_subcommand is None:
        from deniably.lab.catalogue import entries

        for entry in entries().values():
            click.echo(f"{entry.name}\n    {entry.question}")


def _one(entry: Entry) -> click.Command:
    """The command of an experiment."""

    def run(
        as_json: bool, as_csv: bool, svg: Path | None, output: Path | None,
        values: Path | None = None, column: str | None = None, **options: str | None,
    ) -> None:  # fmt: skip
        try:
            read = entry.read({name: value for name, value in options.items() if value is not None})
            table = {} if values is None else {_VALUES: _numbers(values, column)}
            shown = entry.function(**read, **table)
        except ValueError as error:
            raise click.UsageError(printable(str(error))) from None
        if svg:
            for file, picture in zip(_files(svg, len(shown.pictures)), shown.pictures, strict=True):
                _write(file, picture.svg())
        if output:
            _write(output, _page(shown.title, [shown]))
        if as_json:
            click.echo(shown.to_json())
        elif as_csv:
            click.echo(shown.to_csv(), nl=False)
        elif not (svg or output):
            click.echo(printable(repr(shown)))

    return click.Command(
        entry.name,
        params=[
            *_inputs(entry),
            *_table(entry),
            click.Option(["--json", "as_json"], is_flag=True, help="Print JSON."),
            click.Option(["--csv", "as_csv"], is_flag=True, help="Print the table as CSV."),
            click.Option(
                ["--svg"], type=_FILE,
                help="Write the picture into this file; further pictures go to FILE-2.svg and so"
                " on.",
            ),
            _OUTPUT,
        ],
        callback=run,
        help=f"{entry.title}. {entry.question}",
    )  # fmt: skip


def _inputs(entry: Entry) -> Iterator[click.Option]:
    from deniably.lab.experiment import text_of

    for name, input_of in entry.inputs.items():
        shown = text_of(entry.read({})[name])
        yield click.Option(
            [f"--{name.replace('_', '-')}", name],
            metavar=name.upper(),
            help=f"{input_of.help} It is {input_of.allowed}. [default: {shown}]",
        )


def _table(entry: Entry) -> Iterator[click.Option]:
    """Where an experiment can be made of known numbers: the options that name them."""
    if _VALUES in inspect.signature(entry.function).parameters:
        file = click.Path(exists=True, dir_okay=False, path_type=Path)
        yield click.Option(
            [f"--{_VALUES}"], type=file, help="A CSV file of numbers that are known."
        )
        yield click.Option(["--column"], metavar="NAME", help="Its column, if it has several.")


def _numbers(file: Path, column: str | None) -> list[float]:
    """The numbers of a column. Errors name the line and never what stands there."""
    from deniably.simulation.people_table import rows_of

    try:
        names, *lines = [*rows_of(file)] or [[]]
    except OSError as error:
        raise click.ClickException(f"{file}: {error.strerror}") from None
    name = column if column is not None else names[0] if len(names) == 1 else None
    if name is None or name not in names:
        known = f"the columns {', '.join(map(printable, names))}" if names else "no columns"
        raise click.UsageError(f"{file} has {known}; name one by --column")
    numbers: list[float] = []
    for place, line in enumerate(lines, start=2):
        try:
            numbers.append(float(line[names.index(name)]))
        except (ValueError, IndexError):
            raise click.UsageError(
                f"{file}, line {place}: {printable(name)} has no number there"
            ) from None
    return numbers


def _everything() -> click.Command:
    def run(seed: str | None, output: Path) -> None:
        from deniably.lab.catalogue import entries

        try:
            experiments = [
                entry.run(**({_SEED: seed} if seed and _SEED in entry.inputs else {}))
                for entry in entries().values()
            ]
        except ValueError as error:
            raise click.UsageError(printable(str(error))) from None
        _write(output, _page("The lab", experiments))

    return _written(_ALL, run, "Make a handout of all experiments.")


def _of_a_survey(file: Path) -> click.Command:
    def run(seed: str | None, output: Path) -> None:
        from deniably.lab.catalogue import of_survey
        from deniably.lab.inputs import SEED

        survey = read_definition(file)
        try:
            experiments = of_survey(survey, seed=SEED.read(_SEED, seed or 1))
        except ValueError as error:
            raise click.UsageError(printable(str(error))) from None
        _write(output, _page(f"{survey.title}{_whose_odds(survey)}", experiments))

    return _written(str(file), run, "Make all pictures that apply to the survey.")


def _whose_odds(survey: Survey) -> str:
    """Returns whose odds the pictures have where there is a mixer, and those of the server alone:
    pictures are of what devices do."""
    from deniably.survey.odds import odds_text

    if not isinstance(survey.mixer, Mixer):
        return ""
    both, alone = survey.total.odds_bound, survey.mixer.claim.loss.odds_bound
    return (
        f", if mixer and server work together: odds of {odds_text(both)} for all answers"
        f" (the server alone: {odds_text(alone)})"
    )


def _written(name: str, run: Callable[..., None], about: str) -> click.Command:
    output = click.Option(
        ["--output", "-o"], type=_FILE, required=True,
        help="The file: one HTML page that needs nothing else.",
    )  # fmt: skip
    seed = click.Option(["--seed"], metavar="SEED", help="Seed of all draws. [default: 1]")
    return click.Command(name, params=[seed, output], callback=run, help=about)


def _page(title: str, experiments: Sequence[Experiment]) -> str:
    from deniably.lab.experiment import handout
    from deniably_server.web.static_files import text_of

    return handout(title, experiments, text_of("style/lab-page.css")).source


def _files(first: Path, count: int) -> list[Path]:
    """The files of several pictures: the first one's name, then with -2, -3 and so on."""
    return [first.with_stem(f"{first.stem}-{k}") if k > 1 else first for k in range(1, count + 1)]


def _write(file: Path, text: Any) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"{file}: {error.strerror}") from None
    click.echo(f"wrote {file}", err=True)
