"""``deniably audit``: compares the epsilon that a survey claims with what its reports realise."""

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
    """Audit the privacy of the survey FILE with the code that devices run.

    It walks every branch of that code and compares the probabilities with the exact law of the
    published integers. Where there are too many branches, it walks the likeliest and counts
    reports. Reports of two answers also certify a lower bound on epsilon. It fails (exit 1) if
    anything contradicts the claim; the chance of a false alarm is at most one in a million for each
    question. "Counted, nothing certified" is not a pass: nothing contradicts the claim, and nothing
    was shown for it.

    Questions that are right one by one can reveal more together. So it also walks whole reports, as
    they are sent. It compares them with the product of the questions' laws and an independent id:
    for all questions together, or else for every two, as far as possible.

    Of a wave it checks how many people it says can be recognised, which devices show unchecked.
    """  # fmt: skip
    from deniably.audit.survey_audit import explained, line, of_whole, recognition_fault

    survey = read_definition(file)
    done: list[Verdict] = []
    shown = None if as_json else _Lines(survey)
    for one in _audited(survey, trials):
        done.append(one)
        if shown:
            shown.show(line(one))
    whole = _walked_together(survey)
    recognition = recognition_fault(survey)
    if as_json:
        click.echo(_as_json(done, whole, recognition))
    else:
        click.echo(f"\nwhole reports: {of_whole(whole)}\n")
        if recognition:
            click.echo(f"recognition: FAILED: {recognition}\n")
        for said in explained(done, whole, trials):
            click.echo(fill(said, 92))
    if whole.fault or recognition or any(one.fault for one in done):
        raise SystemExit(1)


def _walked_together(survey: Survey) -> ReportAudit:
    from deniably.audit.whole_reports import ReportAudit, whole_reports

    show_progress("walking whole reports")
    found: list[ReportWalk] = []
    for one in whole_reports(survey):
        found.append(one)
        show_progress(
            f"walking whole reports, pair {len(found)} of {comb(len(survey.questions), 2)}"
        )
    show_progress("")
    together, *pairs = found
    return ReportAudit(together, tuple(pairs))


def _audited(survey: Survey, trials: int) -> Iterator[Verdict]:
    from deniably.audit.question_audit import verdicts

    running = verdicts(survey, trials)
    for number, question in enumerate(survey.questions, start=1):
        show_progress(f"auditing {question.name}, {number} of {len(survey.questions)} questions")
        yield next(running)


def show_progress(text: str, stream: TextIO | None = None) -> None:
    """Show progress on a terminal, on one line that the next call overwrites."""
    stream = stream or cast("TextIO", sys.stderr)
    if stream.isatty():
        stream.write(f"\r\x1b[K{text}" + (" ..." if text else ""))
        stream.flush()


class _Lines:
    """Shows the rows of a table one by one, as they are computed."""

    def __init__(self, survey: Survey) -> None:
        from deniably.audit.survey_audit import HEADING

        names = ["question", *(question.name for question in survey.questions)]
        self.widths = [max(map(len, names)), 8, 8, 10]
        self.show(HEADING)

    def show(self, row: Sequence[str]) -> None:
        """Show one line."""
        name, *figures, outcome = row
        cells = [f.rjust(width) for f, width in zip(figures, self.widths[1:], strict=True)]
        show_progress("")
        click.echo("  ".join([name.ljust(self.widths[0]), *cells, outcome]).rstrip())


def _as_json(done: Sequence[Verdict], whole: ReportAudit, recognition: str | None) -> str:
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
    found = {"questions": rows, "whole_reports": walked, "recognition": {"fault": recognition}}
    return json.dumps(found)
