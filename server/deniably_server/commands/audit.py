"""``deniably audit``: what a survey claims, what it realises, and what its reports prove."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from math import comb
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, TextIO, cast

import click

from deniably_server.commands.plan import read_definition

if TYPE_CHECKING:
    from deniably.audit.question_audit import Verdict
    from deniably.audit.whole_reports import ReportAudit, ReportWalk
    from deniably.survey.survey import Survey


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
    chance of at most one in a million for each question. "Counted, nothing certified" is no pass:
    nothing is against the claim there, and nothing was shown for it.

    Questions that are right one by one can tell more together. So whole reports are walked, too, as
    they are sent, and held to the product of the questions' laws with an id that nothing else is
    made of: of all questions together, or else of every two of them, as far as that goes.
    """  # fmt: skip
    from deniably.audit.survey_audit import explained, line, of_whole

    survey = read_definition(file)
    done: list[Verdict] = []
    shown = None if as_json else _Lines(survey)
    for one in _audited(survey, trials):
        done.append(one)
        if shown:
            shown.show(line(one))
    whole = _walked_together(survey)
    if as_json:
        click.echo(_as_json(done, whole))
    else:
        click.echo(f"\nwhole reports: {of_whole(whole)}\n")
        for said in explained(done, whole, trials):
            click.echo(fill(said, 92))
    if whole.fault or any(one.fault for one in done):
        raise SystemExit(1)


def _walked_together(survey: Survey) -> ReportAudit:
    from deniably.audit.whole_reports import ReportAudit, whole_reports

    tell("walking whole reports")
    found: list[ReportWalk] = []
    for one in whole_reports(survey):
        found.append(one)
        tell(f"walking whole reports, pair {len(found)} of {comb(len(survey.questions), 2)}")
    tell("")
    together, *pairs = found
    return ReportAudit(together, tuple(pairs))


def _audited(survey: Survey, trials: int) -> Iterator[Verdict]:
    from deniably.audit.question_audit import verdicts

    running = verdicts(survey, trials)
    for number, question in enumerate(survey.questions, start=1):
        tell(f"auditing {question.name}, {number} of {len(survey.questions)} questions")
        yield next(running)


def tell(text: str, stream: TextIO | None = None) -> None:
    """What is being done, on a line of a terminal that the next one takes the place of."""
    stream = stream or cast("TextIO", sys.stderr)
    if stream.isatty():
        stream.write(f"\r\x1b[K{text}" + (" ..." if text else ""))
        stream.flush()


class _Lines:
    """Rows that are shown as soon as they are there."""

    def __init__(self, survey: Survey) -> None:
        from deniably.audit.survey_audit import HEADING

        names = ["question", *(question.name for question in survey.questions)]
        self.widths = [max(map(len, names)), 8, 8, 10]
        self.show(HEADING)

    def show(self, row: Sequence[str]) -> None:
        """Show one line."""
        name, *figures, outcome = row
        cells = [f.rjust(width) for f, width in zip(figures, self.widths[1:], strict=True)]
        tell("")
        click.echo("  ".join([name.ljust(self.widths[0]), *cells, outcome]).rstrip())


def _as_json(done: Sequence[Verdict], whole: ReportAudit) -> str:
    rows = [
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
            "rest": one.walk.unexplored_mass,
            "history": one.history.epsilon if one.history else None,
            "outcome": one.outcome,
            "passed": one.outcome == "passed",
            "fault": one.fault,
        }
        for one in done
    ]
    together = whole.together
    walked = {
        "outcome": whole.outcome,
        "questions": len(together.questions),
        "answers": [together.answers, together.of],
        "paths": together.paths,
        "rest": together.unexplored_mass,
        "pairs": {
            "of": comb(len(done), 2),
            "walked": whole.complete_pairs,
            "in_part": len(whole.pairs) - whole.complete_pairs,
        },
        "fault": whole.fault,
    }
    return json.dumps({"questions": rows, "whole_reports": walked})
