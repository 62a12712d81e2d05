"""``deniably audit``: compares the epsilon that a survey claims with what its reports realise."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import comb
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, TextIO, cast

import click

from deniably_server.commands.plan import read_definition

if TYPE_CHECKING:
    from deniably.audit.question_audit import Verdict
    from deniably.audit.whole_reports import ReportAudit, ReportWalk
    from deniably.survey.privacy import Privacy
    from deniably.survey.survey import Survey

_MOST_EPSILON = 64


@click.command()
@click.argument(
    "file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option(
    "--code",
    metavar="MODULE:FUNCTION",
    help="Instead of a survey, audit a Python function: module:function or file.py:function.",
)
@click.option(
    "--answers", help="With --code: the answers that it takes, such as a,b,c.  [default: yes,no]"
)
@click.option("--outputs", help="With --code: all reports that it may make, such as yes,no.")
@click.option("--epsilon", help="With --code: the epsilon that it claims.")
@click.option("--odds", help="With --code: the odds that it claims, such as 3 or 13/7.")
@click.option("--delta", help="With --code: the delta that it claims beside epsilon.")
@click.option(
    "--trials",
    type=click.IntRange(10),
    default=20_000,
    show_default=True,
    help="Reports of each of two answers, for every question.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def audit(
    file: Path | None,
    code: str | None,
    answers: str | None,
    outputs: str | None,
    epsilon: str | None,
    odds: str | None,
    delta: str | None,
    trials: int,
    as_json: bool,
) -> None:
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

    With --code it audits a randomiser of your own. Write it as randomise(answer, coins), with
    coins.below(n) for an integer below n, and every branch is walked: its epsilon is exact. Any
    other function of an answer is run, and its reports are counted. That shows a catastrophe of
    probability delta only from about 80/delta trials on.
    """  # fmt: skip
    if code is not None:
        if file is not None:
            raise click.UsageError("give a survey or --code, not both")
        from deniably_server.commands.own_code import audit_function

        claim = _claim(epsilon, odds, delta)
        audit_function(code, answers, outputs, claim, trials, as_json=as_json)
        return
    if file is None:
        raise click.UsageError("give a survey, or --code module:function")
    if any(one is not None for one in (answers, outputs, epsilon, odds, delta)):
        raise click.UsageError(
            "--answers, --outputs, --epsilon, --odds and --delta are for --code; a survey has its"
            " own"
        )
    _audit_survey(read_definition(file), trials, as_json=as_json)


def _claim(epsilon: str | None, odds: str | None, delta: str | None) -> Privacy | None:
    from deniably.survey.privacy import Privacy

    given = {"--epsilon": epsilon, "--odds": odds, "--delta": delta}
    if epsilon is not None and odds is not None:
        raise click.UsageError("give --epsilon or --odds, not both")
    if delta is not None and epsilon is None:
        raise click.UsageError("--delta stands beside --epsilon")
    exact: dict[str, Fraction] = {}
    for name, text in given.items():
        if text is None:
            continue
        try:
            exact[name] = Fraction(text)
        except (ValueError, ZeroDivisionError):
            raise click.UsageError(f"{name} is {text!r}; give a number, such as 1") from None
    if not 0 <= exact.get("--epsilon", Fraction(1)) <= _MOST_EPSILON:
        raise click.UsageError(f"--epsilon is {epsilon}; give it from 0 to {_MOST_EPSILON}")
    if exact.get("--odds", Fraction(1)) < 1:
        raise click.UsageError(f"--odds is {odds}; odds are at least 1")
    if not 0 < exact.get("--delta", Fraction(1, 2)) < 1:
        raise click.UsageError(f"--delta is {delta}; give a probability above 0, below 1")
    if not exact:
        return None
    return Privacy(exact.get("--epsilon"), exact.get("--odds"), exact.get("--delta"))


def _audit_survey(survey: Survey, trials: int, *, as_json: bool) -> None:
    from deniably.audit.survey_audit import explained, line, of_whole, recognition_fault

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
