"""Finds the function that ``deniably audit --code`` names in somebody's Python file, and shows its
audit."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import log
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, cast

import click

from deniably.audit.blackbox import ALPHA, smallest_visible
from deniably.audit.state_check import CALLS, StateCheck, largest_period, state_check, unlisted
from deniably.audit.verdict_levels import EXIT, Rung, worst
from deniably.core.counting import counted
from deniably.core.table import aligned

if TYPE_CHECKING:
    from deniably.audit.own_code import CodeAudit
    from deniably.survey.privacy import Privacy

_MOST_LINES = 20
_ODDS_3 = log(3)
"""The epsilon of odds 3, ln 3: what is supposed where nothing is claimed."""
_WIDTH = 92


def find_function(code: str) -> Callable[..., Hashable]:
    """Returns the function that ``module:function`` or ``file.py:function`` names.

    Raises ClickException where there is none, or where its module cannot be imported.
    """
    place, _, name = code.rpartition(":")
    if not place or not name:
        raise click.ClickException(
            f"{code!r} names no function: write module:function or file.py:function"
        )
    function = getattr(_module(place), name, None)
    if function is None:
        raise click.ClickException(f"{place} has no function {name}")
    if not callable(function):
        raise click.ClickException(f"{name} in {place} is no function")
    return cast("Callable[..., Hashable]", function)


def _module(place: str) -> Any:
    try:
        if place.endswith(".py"):
            return _of_file(Path(place))
        sys.path.insert(0, "")  # the current folder, as for python -m
        try:
            return importlib.import_module(place)
        finally:
            sys.path.remove("")
    except ModuleNotFoundError as error:
        if error.name is not None and place.split(".")[0] != error.name.split(".")[0]:
            raise click.ClickException(f"{place} needs the module {error.name}") from None
        raise click.ClickException(
            f"there is no module {place} here; write the path of a file, such as mine.py:randomise"
        ) from None
    except SyntaxError as error:
        raise click.ClickException(f"{place}, line {error.lineno}: {error.msg}") from None
    except click.ClickException:
        raise
    except (Exception, SystemExit) as error:  # whatever somebody's module does on import
        raise click.ClickException(f"{place} raises {type(error).__name__}: {error}") from None


def _of_file(path: Path) -> Any:
    if not path.is_file():
        raise click.ClickException(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look for themselves there
    spec.loader.exec_module(module)
    return module


def values(text: str | None) -> list[Hashable] | None:
    """Returns the answers in a comma-separated text. A number, true or false becomes a Python
    number or bool, and everything else a string. Returns None if ``text`` is None."""
    if text is None:
        return None
    return [_value(part.strip()) for part in text.split(",")]


def _value(text: str) -> Hashable:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return text if value is None or isinstance(value, list | dict) else value


def audit_function(
    code: str, answers: str | None, outputs: str | None, claim: Privacy | None, trials: int,
    *, as_json: bool,
) -> None:  # fmt: skip
    """Audits the function that ``code`` names, and prints the result.

    Raises SystemExit with the verdict's exit status unless the verdict is a pass, and
    ClickException where the function cannot be audited.
    """
    from deniably.audit.own_code import OTHER_CHANCE, BadCode, audit_code, reports_made

    function = find_function(code)
    listed = values(answers) or ["yes", "no"]
    bar = click.progressbar(
        length=reports_made(len(listed), trials), label="counting", file=sys.stderr,
        hidden=not sys.stderr.isatty(),
    )  # fmt: skip

    def audited(not_walked: str = "") -> CodeAudit:
        return audit_code(
            function, listed, claim, outputs=values(outputs), trials=trials, not_walked=not_walked,
            progress=bar.update,
        )  # fmt: skip

    try:
        audit = audited()
        around = _around(code, function, audit)
        if around.state.unlike and audit.laws is not None:
            # A walk was complete for the coins, and there is chance beside them.
            audit = audited(OTHER_CHANCE)
    except (BadCode, ValueError) as error:
        raise click.ClickException(str(error)) from None
    finally:
        bar.render_finish()
    rung = _rung(audit, around)
    click.echo(_as_json(audit, rung, around) if as_json else "\n".join(_told(code, audit, around)))
    if EXIT[rung]:
        raise SystemExit(EXIT[rung])


@dataclass(frozen=True)
class _Around:
    """What a walk does not see: a state, other chance, and answers that nobody listed."""

    state: StateCheck
    taken: tuple[Hashable, Hashable] | None = None

    @property
    def sentences(self) -> Iterator[str]:
        """What is wrong, in words."""
        if self.state.departed:
            yield (
                f"FAILED: of the same answer and coins it makes another report after other calls:"
                f" {self.state.departed:,} of {CALLS:,} calls differ in another order or process."
                " It keeps a state, which no report's probability shows."
            )
        if self.taken:
            answer, report = self.taken
            yield (
                f"In part: it also takes {answer!r}, which you did not list, and sends {report!r}."
                " Raise an error for every answer that is not listed."
            )


def _around(code: str, function: Callable[..., Hashable], audit: CodeAudit) -> _Around:
    place, _, name = code.rpartition(":")
    takes_coins = "takes no coins" not in audit.not_walked
    state = state_check(place, name, audit.answers) if takes_coins else StateCheck()
    return _Around(state, unlisted(function, audit.answers, takes_coins))


def _rung(audit: CodeAudit, around: _Around) -> Rung:
    """Where it stands: a pass takes a complete walk, no state, and nothing unlisted.

    Without a claim it is measured: exit 0 then says that its epsilon is exactly this, and no more.
    """
    rungs: list[Rung] = []
    if audit.outcome == "failed" or around.state.departed:
        rungs.append("failed")
    if audit.outcome == "counted":
        rungs.append("counted")
    if around.taken:
        rungs.append("in part")
    return worst(rungs)


def _told(code: str, audit: CodeAudit, around: _Around) -> Iterator[str]:
    from deniably.audit.own_code import law_lines

    claimed = f", claimed {_claim_text(audit.claim)}" if audit.claim else ""
    yield f"{code}: {', '.join(map(str, audit.answers))}{claimed}\n"
    yield fill(_verdict(audit, passes=_rung(audit, around) == "proved"), _WIDTH)
    for sentence in around.sentences:
        yield fill(sentence, _WIDTH)
    if audit.laws is not None:
        lines = list(law_lines(audit))
        yield ""
        yield from aligned(lines[: _MOST_LINES + 1], texts=1)
        if len(lines) > _MOST_LINES + 1:
            yield f"and {counted(len(lines) - _MOST_LINES - 1, 'more report')}"
    yield ""
    yield fill(_limit(audit), _WIDTH)


def _verdict(audit: CodeAudit, *, passes: bool) -> str:
    if audit.outcome == "failed":
        return f"FAILED: {_why_failed(audit)}"
    if audit.laws is not None:
        sentence = (
            f"every branch walked ({audit.paths:,} paths): epsilon is {_epsilon(audit.epsilon)}"
            f"{_where(audit)}"
        )
        if not passes:
            return sentence
        alone = (
            f"Reports depend on answer and coins alone, as far as {CALLS:,} calls in three orders"
            f" show: a departure at every {largest_period():,}th call would have been seen."
        )
        if audit.claim:
            return f"Passed: {sentence}. {alone}"
        return f"Exact: {sentence}. {alone} Nothing was claimed, so nothing passed or failed."
    assert audit.counted is not None
    if not audit.counted.epsilon:
        return f"counted, nothing certified: {audit.not_walked}"
    more = "This contradicts no claim and proves none" if audit.claim else "It may be more"
    return (
        f"counted: epsilon is at least {audit.counted.epsilon:.4f}, but for one chance in a"
        f" million. {more}: {audit.not_walked}"
    )


def _why_failed(audit: CodeAudit) -> str:
    if shift := audit.broken:
        some = ", ".join(map(repr, shift.reports[:3])) + (" ..." if len(shift.reports) > 3 else "")
        about = "" if audit.laws is not None else "at least "
        other = "" if audit.laws is not None else "at most "
        return (
            f"the answer {shift.first!r} gives {some} with probability {about}"
            f"{_share(shift.seen)}, and {shift.second!r} with {other}{_share(shift.against)}: more"
            f" than {_claim_text(audit.claim)} allows"
        )
    assert audit.counted is not None
    return (
        f"reports of {audit.counted.first!r} and {audit.counted.second!r} prove that epsilon is at"
        f" least {audit.counted.epsilon:.4f}, more than {_claim_text(audit.claim)}, but for one"
        " chance in a million"
    )


def _where(audit: CodeAudit) -> str:
    worst = audit.worst
    if worst is None:
        return ": all answers look alike"
    if worst.against:
        return f" (odds {worst.seen / worst.against})"
    return (
        f", because the answer {worst.second!r} never gives {worst.reports[0]!r}, which"
        f" {worst.first!r} gives with probability {_share(worst.seen)}"
        + (f"; the claim's delta of {_delta(audit.claim)} covers that" if audit.claim else "")
    )


def _limit(audit: CodeAudit) -> str:
    """The smallest catastrophe that would have been seen: a report that gives an answer away."""
    visible = _smallest_visible(audit)
    head = "Smallest visible catastrophe"
    if audit.laws is not None:
        return f"{head}: any, however rare, since every branch was walked."
    if audit.counted is None:
        return f"{head}: {visible:.2g}, the probability of the branches that were not walked."
    seen = f"1 in {1 / visible:,.0f}" if visible < 1 else "none"
    at = "" if audit.claim else ", at a claim of odds 3"
    return (
        f"{head}: {seen}{at}. {audit.counted.trials:,} reports of each answer were counted. To see"
        " one of probability delta, at a claim of odds 3, takes about 80/delta reports: 8,000,000"
        " for 0.00001. A walk sees all of them."
    )


def _smallest_visible(audit: CodeAudit) -> float:
    """The smallest probability of a catastrophe that this audit shows; 0 after a whole walk."""
    if audit.laws is not None:
        return 0.0
    if audit.counted is None:
        return audit.unexplored_mass
    claim = audit.claim
    epsilon, delta = (claim.ln, float(claim.delta or 0)) if claim else (_ODDS_3, 0.0)
    pairs = len(audit.answers) * (len(audit.answers) - 1)
    return smallest_visible(audit.counted.trials, epsilon, ALPHA / pairs, delta)


def _share(share: Fraction) -> str:
    return str(share) if share.denominator <= 10**9 else f"{float(share):.6g}"


def _epsilon(epsilon: float) -> str:
    return "infinite" if epsilon == float("inf") else f"{epsilon:.4f}"


def _claim_text(claim: Privacy | None) -> str:
    assert claim is not None
    parts = " and ".join(f"{name} {value}" for name, value in claim.claim.items())
    return parts if claim.epsilon is not None else f"{parts} (epsilon {claim.ln:.4f})"


def _delta(claim: Privacy | None) -> str:
    return "" if claim is None else claim.claim.get("delta", "0")


def _as_json(audit: CodeAudit, rung: Rung, around: _Around) -> str:
    from deniably.audit.own_code import law_lines

    infinite = audit.epsilon == float("inf")
    return json.dumps(
        {
            "answers": list(audit.answers),
            "outcome": audit.outcome if rung in ("proved", audit.outcome) else rung,
            "exit": EXIT[rung],
            "departed": around.state.departed,
            "unlisted": [repr(answer) for answer in around.taken] if around.taken else None,
            "walked": audit.laws is not None,
            "paths": audit.paths,
            "epsilon": None if infinite else audit.epsilon,
            "infinite": infinite,
            "trials": audit.counted.trials if audit.counted else 0,
            "smallest_visible": _smallest_visible(audit),
            "fault": _why_failed(audit) if audit.outcome == "failed" else None,
            "not_walked": audit.not_walked or None,
            "law": [list(line) for line in law_lines(audit)] if audit.laws is not None else None,
        }
    )
