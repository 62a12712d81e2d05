"""``deniably audit``: what a survey claims, what it realises, and what its reports prove."""

from __future__ import annotations

import json
from pathlib import Path

import click

from deniably_server.plan_cli import read_definition


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--trials",
    type=click.IntRange(10),
    default=20_000,
    show_default=True,
    help="Reports of each of two answers, for every question.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def audit(file: Path, trials: int, as_json: bool) -> None:
    """Audit the privacy of the survey FILE by the code that devices run.

    Fails (exit 1) where a question realises more than it claims. What is certified is wrong with
    a chance of at most one in a million for each question.
    """  # fmt: skip
    from deniably.auditing import audit as run

    survey = read_definition(file)
    verdicts = run(survey, trials)
    if as_json:
        click.echo(
            json.dumps(
                [
                    {
                        "question": one.question,
                        "claimed": one.claimed,
                        "exact": one.exact.epsilon,
                        "delta": float(one.exact.delta),
                        "certified": one.certified.epsilon,
                        "trials": one.certified.trials,
                        "walked": one.walked,
                        "passed": one.passed,
                    }
                    for one in verdicts
                ]
            )
        )
    else:
        rows = [("question", "claimed", "exact", "certified", "")]
        rows += [
            (
                one.question,
                f"{one.claimed:.4f}",
                f"{one.exact.epsilon:.4f}",
                f">= {one.certified.epsilon:.4f}",
                ("passed" if one.passed else "FAILED")
                + (", every branch walked" if one.walked else "")
                + (f", delta {float(one.exact.delta):g}" if one.exact.delta else ""),
            )
            for one in verdicts
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for name, *figures, verdict in rows:
            cells = [f.rjust(width) for f, width in zip(figures, widths[1:], strict=False)]
            click.echo("  ".join([name.ljust(widths[0]), *cells, verdict]).rstrip())
        click.echo(
            f"\nCertified from {trials:,} reports of each of two answers: the epsilon is at least"
            " that, but for one chance in a million."
        )
    if not all(one.passed for one in verdicts):
        raise SystemExit(1)
