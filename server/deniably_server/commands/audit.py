"""``deniably audit``: compares what devices do with the specification, and with what is claimed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from fractions import Fraction
from math import comb
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, TextIO, cast

import click

from deniably.core.steering import printable
from deniably_server.commands.plan import read_definition

if TYPE_CHECKING:
    from deniably.audit.question_audit import Verdict
    from deniably.audit.replay.replaying import Tally
    from deniably.audit.replay.witness import Witness
    from deniably.audit.survey_audit import Audited
    from deniably.audit.verdict_levels import Judged
    from deniably.survey.privacy import Privacy
    from deniably.survey.survey import Survey

_MOST_EPSILON = 64
_WIDTH = 92
_CODE_TRIALS = 20_000
_SURVEY_TRIALS = 5_000
_NOT_AGAIN = 3


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
    help="Reports to count, for each of two answers to every question; with --code, for each"
    f" answer.  [default: {_SURVEY_TRIALS}; with --code {_CODE_TRIALS}]",
)
@click.option(
    "--seconds",
    type=click.FloatRange(0, 86_400),
    help="Seconds for replays; up to twice as many if a verdict needs them.  [default: 10, or"
    " fewer if that is plenty, or up to 60 if a verdict needs them]",
)
@click.option(
    "--again",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Instead of a survey, run the witness of a fault again, such as fault.json.",
)
@click.option(
    "--browser",
    is_flag=True,
    help="Also fill in the form in Chromium, for about a minute. Needs Playwright: pip install"
    " playwright, then playwright install chromium.",
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
    trials: int | None,
    seconds: float | None,
    again: Path | None,
    browser: bool,
    as_json: bool,
) -> None:
    """Audit the privacy of the survey FILE with the code that devices run.

    The audit answers the survey with the code of devices: in Python and, with Node.js 20 or later,
    in JavaScript. It records the random bytes from the operating system. A second implementation,
    written from the specification alone, gets the same answers and bytes. Its output must equal
    every byte that devices send and keep, and every byte of the Python client's requests, which a
    server on this machine records. The audit also walks every branch of the Python code, and for
    small questions of the JavaScript code. It compares the probabilities with the published
    integers, for each question and for whole reports. As a guard it also counts reports whose bytes
    were not recorded: to each question, and up to 4,000 whole reports. In these it looks for
    dependence: between questions, between the bits of ids, and between a report and the one before.

    The verdict is the worst of all questions and of whole reports, in both languages:

    \b
    proved    exit 0  every branch walked, every class of inputs replayed
    replayed  exit 0  each answer often enough, byte for byte as specified
    in part   exit 3  no fault, but not all was reached or JavaScript not run
    counted   exit 4  only the frequencies of reports were tested
    failed    exit 1  a fault; --again runs its witness once more

    Only exit 0 is a pass. The chance of a false alarm is at most one in a million for each
    question. Replays find mistakes but not malice: code can notice that it is watched.

    With --browser it also fills in the real form in Chromium. It compares what the form sends
    (address, headers, body) and leaves behind (databases, storage, caches, cookies).

    For a wave it checks the stated number of people who can be recognised, because devices show
    this number unchecked. With a mixer it checks what the survey claims against its server alone.
    It looks into what devices seal, and sees nothing of what the mixer does.

    With --code it audits a randomiser of your own. Write it as randomise(answer, coins), with
    coins.below(n) for an integer below n. Then every branch is walked, and the epsilon is exact.
    For a function without coins, the audit only counts how often it returns each report. It takes
    about 80/delta trials to see a failure of probability delta; the command prints the smallest
    delta that your trials can show. A function that keeps a state fails. A function that also takes
    answers which you did not list passes only in part. Without --epsilon or --odds, exit 0 only
    says that the printed epsilon is exact.
    """  # fmt: skip
    if again is not None:
        if file is not None or code is not None:
            raise click.UsageError("give a survey, --code or --again, and one alone")
        _run_again(again)
        return
    if code is not None:
        if file is not None:
            raise click.UsageError("give a survey or --code, not both")
        from deniably_server.commands.own_code import audit_function

        claim = _claim(epsilon, odds, delta)
        audit_function(code, answers, outputs, claim, trials or _CODE_TRIALS, as_json=as_json)
        return
    if file is None:
        raise click.UsageError("give a survey, or --code module:function")
    if any(option is not None for option in (answers, outputs, epsilon, odds, delta)):
        raise click.UsageError(
            "--answers, --outputs, --epsilon, --odds and --delta are for --code; a survey has its"
            " own"
        )
    survey = read_definition(file)
    _audit_survey(survey, trials or _SURVEY_TRIALS, seconds, browser=browser, as_json=as_json)


def _claim(epsilon: str | None, odds: str | None, delta: str | None) -> Privacy | None:
    from deniably.survey.privacy import Privacy

    claims = {"--epsilon": epsilon, "--odds": odds, "--delta": delta}
    if epsilon is not None and odds is not None:
        raise click.UsageError("give --epsilon or --odds, not both")
    if delta is not None and epsilon is None:
        raise click.UsageError("--delta stands beside --epsilon")
    exact: dict[str, Fraction] = {}
    for name, text in claims.items():
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


def _audit_survey(
    survey: Survey, trials: int, seconds: float | None, *, browser: bool, as_json: bool
) -> None:
    from deniably.audit.survey_audit import audit_survey, line

    in_browser: Callable[[Survey], Judged] | None = None
    if browser:
        from deniably_server.commands.audit_browser import judge_browser, need_browser

        need_browser()
        in_browser = judge_browser

    def walked(verdict: Verdict) -> None:
        if shown:
            shown.show(line(verdict))

    shown = None if as_json else _Lines(survey)
    audited = audit_survey(
        survey,
        trials=trials,
        seconds=seconds,
        browser=in_browser,
        progress=show_progress,
        walked=walked,
    )
    witness = audited.witness
    place = _write_witness(witness) if witness else None
    if as_json:
        click.echo(_as_json(audited, place))
    else:
        for sentence in _told(audited, place):
            click.echo(printable(sentence))
    if audited.exit_code:
        raise SystemExit(audited.exit_code)


def _told(audited: Audited, place: Path | None) -> Iterator[str]:
    """A sentence for each part, and the conclusion."""
    yield ""
    judged = [*audited.judged, *([audited.browser] if audited.browser else [])]
    width = max(len(part.name) for part in judged) + 2
    for part in judged:
        yield fill(
            part.text, _WIDTH, initial_indent=part.name.ljust(width), subsequent_indent=" " * width
        )
    yield ""
    if audited.recognition:
        yield fill(f"recognition: FAILED: {audited.recognition}", _WIDTH) + "\n"
    if audited.claim:
        yield fill(f"mixer: FAILED: {audited.claim}", _WIDTH) + "\n"
    for sentence in audited.sentences:
        yield fill(sentence, _WIDTH)
    yield fill(audited.conclusion, _WIDTH)
    if place:
        yield f"Again: deniably audit --again {place}"


def _write_witness(witness: Witness) -> Path | None:
    """The new file with the witness of a fault; None where it cannot be written."""
    for number in range(1, 1000):
        # Mode "x": the witness of an earlier fault is kept.
        place = Path("fault.json" if number == 1 else f"fault-{number}.json")
        try:
            with place.open("x", encoding="utf-8") as file:
                file.write(witness.text)
        except FileExistsError:
            continue
        except OSError as error:
            click.echo(f"the witness cannot be written: {place}: {error.strerror}", err=True)
            return None
        return place
    return None


def _run_again(file: Path) -> None:
    from deniably.audit.replay.javascript_device import NodeFailed, NoNode
    from deniably.audit.replay.witness import BadWitness, again, read_witness
    from deniably.audit.verdict_levels import witness_said

    try:
        witness = read_witness(file.read_text(encoding="utf-8"))
        fault = again(witness)
    except (OSError, UnicodeDecodeError, BadWitness, NoNode, NodeFailed) as error:
        raise click.ClickException(printable(f"{file}: {error}")) from None
    if fault:
        click.echo(fill(printable(f"FAILED: {witness_said(fault)}."), _WIDTH))
        raise SystemExit(1)
    click.echo(
        "Not seen again: of the same answers and bytes the code here makes what the specification"
        " says.\nThat is no pass. Audit the survey again."
    )
    raise SystemExit(_NOT_AGAIN)


def show_progress(text: str, stream: TextIO | None = None) -> None:
    """Shows progress on a terminal, on one line that the next call overwrites."""
    stream = stream or cast("TextIO", sys.stderr)
    if stream.isatty():
        stream.write(f"\r\x1b[K{text}" + (" ..." if text else ""))
        stream.flush()


class _Lines:
    """Shows the rows of a table one by one, as questions are walked."""

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


def _as_json(audited: Audited, place: Path | None) -> str:
    rows = [
        {
            "question": verdict.question,
            "claimed": verdict.claimed,
            "exact": verdict.exact.epsilon,
            "delta": float(verdict.exact.delta),
            "certified": verdict.certified.epsilon,
            "trials": verdict.certified.trials,
            "walked": verdict.walk.complete,
            "answers": [verdict.walk.answers, verdict.walk.of],
            "paths": verdict.walk.paths,
            "rest": verdict.walk.unexplored_mass,
            "history": verdict.history.epsilon if verdict.history else None,
            "outcome": judged.rung,
            "languages": dict(judged.rungs),
            "missing": list(judged.missing),
            "passed": judged.rung in ("proved", "replayed"),
            "fault": verdict.fault,
        }
        # ``judged`` has one more, the last: that of whole reports.
        for verdict, judged in zip(audited.verdicts, audited.judged, strict=False)
    ]
    whole, judged = audited.whole, audited.judged[-1]
    together = whole.together
    walked = {
        "outcome": judged.rung,
        "languages": dict(judged.rungs),
        "missing": list(judged.missing),
        "questions": len(together.questions),
        "answers": [together.answers, together.of],
        "paths": together.paths,
        "rest": together.unexplored_mass,
        "pairs": {
            "of": comb(len(rows), 2),
            "walked": whole.complete_pairs,
            "in_part": len(whole.pairs) - whole.complete_pairs,
        },
        "fault": whole.fault,
    }
    replays = {
        tally.language: _of_tally(tally)
        for tally in (audited.replays.python, audited.replays.javascript)
    }
    return json.dumps(
        {
            "outcome": audited.outcome,
            "exit": audited.exit_code,
            "said": audited.conclusion,
            "witness": str(place) if place else None,
            "questions": rows,
            "whole_reports": walked,
            "counts": asdict(audited.counted) if audited.counted else None,
            "replays": replays,
            "browser": _of_browser(audited.browser),
            "recognition": {"fault": audited.recognition},
            "claim": {"fault": audited.claim},
        }
    )


def _of_browser(judged: Judged | None) -> dict[str, object] | None:
    if judged is None:
        return None
    return {"outcome": judged.rung, "said": judged.text, "missing": list(judged.missing)}


def _of_tally(tally: Tally) -> dict[str, object]:
    fault = tally.fault.why if tally.fault else tally.coins
    version = tally.version or None
    facts: dict[str, object] = {
        "reports": tally.reports, "not_run": tally.not_run, "node": version, "fault": fault,
    }  # fmt: skip
    return facts | ({"visits": tally.visits} if tally.language == "Python" else {})
