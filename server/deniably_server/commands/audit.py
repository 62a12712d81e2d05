"""``deniably audit``: what a survey claims, what it realises, and what its reports prove."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deniably_server.commands.plan import read_definition

if TYPE_CHECKING:
    from deniably.auditing import Verdict


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

    Every branch of it is walked and held to the exact law of the published integers; where there
    are too many, the likeliest, and reports are counted. Apart from that, reports of two answers
    certify an epsilon. Fails (exit 1) where any of it is against the claim, or wrongly so with a
    chance of at most one in a million for each question.
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
                        "walked": one.walk.complete,
                        "answers": [one.walk.answers, one.walk.of],
                        "paths": one.walk.paths,
                        "rest": one.walk.rest,
                        "history": one.history.epsilon if one.history else None,
                        "passed": one.passed,
                        "fault": one.fault,
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
                _outcome(one),
            )
            for one in verdicts
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for name, *figures, verdict in rows:
            cells = [f.rjust(width) for f, width in zip(figures, widths[1:], strict=False)]
            click.echo("  ".join([name.ljust(widths[0]), *cells, verdict]).rstrip())
        click.echo(
            "\nWalked: every report of the code has exactly the probability that its published"
            f"\nintegers say. Certified: {trials:,} reports of each of two answers prove that the"
            "\nepsilon is at least that, but for one chance in a million."
        )
    if not all(one.passed for one in verdicts):
        raise SystemExit(1)


def _outcome(one: Verdict) -> str:
    delta = f", delta {float(one.exact.delta):g}" if one.exact.delta else ""
    if one.fault:
        return f"FAILED: {one.fault}{delta}"
    walk = one.walk
    some = f"{walk.answers:,} of {walk.of:,} answers"
    if walk.complete:
        how = "every branch walked"
    elif not walk.rest:
        how = f"every branch of {some} walked, reports counted"
    else:
        how = f"likeliest branches ({1 - walk.rest:.1%}) of {some} walked, reports counted"
    if one.history:
        how += f"; waves from one memo, in all {one.history.epsilon:.4f}"
    return f"passed, {how}{delta}"
