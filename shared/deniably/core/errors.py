"""Everything that Deniably refuses, as one tree.

    DeniablyError
      BadMechanism        parameters that make no mechanism
      BadAnswer           an answer outside the question's choices (never names the answer)
      BadReport           a report that its survey cannot have produced
      BadSurvey           a definition that is not valid; carries every problem found
      BadKey              a file that holds no author's key
      BadSignature        a signature that is not the author's
      BadInvitation       a text that is no invitation's code, such as one with a typing error
      Incomparable        figures that no test compares, or that nobody was asked both of
      BadRegister         a register that contradicts itself, or what was seen or said elsewhere
      Refused             a device will not answer this survey; says why
        AuthorChanged     another author asks than those known there; its owner may accept it
        SurveyChanged     the server shows another version than the one that was loaded
        Uninvited         the survey needs an invitation, and none was traded
        BudgetSpent       a report would give away more than the device's owner allows
      BadMemory           a device's memory that no device wrote; carries no part of it
      NoResults           a server shows no results of a survey; says why

Messages are sentences: what was wrong and what is allowed. No message ever holds an answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deniably.core.loss import Loss


class DeniablyError(Exception):
    """The root of every error raised on purpose."""


class BadMechanism(DeniablyError, ValueError):
    """The parameters do not describe a mechanism."""


class BadAnswer(DeniablyError, ValueError):
    """An answer is missing or is none of the question's choices.

    Attributes: ``question`` (a name, or None where the mechanism alone was called).
    """

    def __init__(self, why: str, question: str | None = None) -> None:
        self.question = question
        super().__init__(why if question is None else f"{question}: {why}")


class BadReport(DeniablyError, ValueError):
    """A report breaks the specification. Attributes: ``path`` (JSONPath-like), ``why``."""

    def __init__(self, why: str, path: str = "$") -> None:
        self.why = why
        self.path = path
        super().__init__(f"{path}: {why}")


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong in a definition, and where."""

    path: str
    why: str

    def __str__(self) -> str:
        return f"{self.path}: {self.why}"


class BadSurvey(DeniablyError, ValueError):
    """A definition is not valid. Attributes: ``problems``, every one that was found."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class BadKey(DeniablyError, ValueError):
    """What was read holds no author's key. The message never holds any of it."""


class BadSignature(DeniablyError, ValueError):
    """A signature is missing, malformed, or not the author's over this definition."""


class BadInvitation(DeniablyError, ValueError):
    """A text is no invitation's code. The message never holds any of it."""


class Incomparable(DeniablyError, ValueError):
    """Figures of reports that do not go together, or not in this way."""


class BadRegister(DeniablyError, ValueError):
    """A register contradicts itself, what was seen of it before, or a definition."""


class Refused(DeniablyError):
    """The device will not answer: the sentence says what the survey got wrong."""


class AuthorChanged(Refused):
    """Another author signed than those that the device knows at this server.

    Attributes: ``origin``, the ``fingerprint`` of the new author, and ``known``, those before.
    """

    def __init__(self, origin: str, fingerprint: str, known: tuple[str, ...]) -> None:
        self.origin = origin
        self.fingerprint = fingerprint
        self.known = known
        super().__init__(
            f"another author signed this survey than those that this device knows at {origin}: the"
            f" fingerprint is {fingerprint}, and was {' or '.join(known)}"
        )


class SurveyChanged(Refused):
    """The server shows another version by now than the one that the respondent saw."""


class Uninvited(Refused):
    """The survey needs an invitation, and this device has traded none."""


class BudgetSpent(Refused):
    """A report would take what is given away about one person over a limit of the device.

    Attributes: ``scope`` (survey, author or overall), ``spent`` before and ``asked`` now (losses),
    ``limit``: an epsilon, or a delta where the limit is ``of_delta``.
    """

    def __init__(
        self, scope: str, spent: Loss, asked: Loss, limit: Fraction, *, of_delta: bool = False
    ) -> None:
        self.scope = scope
        self.of_delta = of_delta
        self.spent = spent
        self.asked = asked
        self.limit = limit
        where = {
            "survey": "in this survey",
            "author": "to the author of this survey",
            "overall": "over all surveys",
        }[scope]
        before, more = (
            (f"delta {float(spent.delta):g}", f"{float(asked.delta):g}")
            if of_delta
            else (f"epsilon {spent.epsilon_text()}", asked.epsilon_text())
        )
        super().__init__(
            f"this device has given away at most {before} {where}, and this"
            f" would add {more}: more than its limit of {float(limit):g}"
        )


class WavesSent(Refused):
    """This device has sent the reports of all waves that were stated for a panel."""

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(
            f"this device has answered {count} waves with these questions, and no more were stated"
        )


class BadMemory(DeniablyError, ValueError):
    """What should be a device's memory is none. The sentence holds nothing of it."""


class NoResults(DeniablyError):
    """A server shows no results: they are hidden, or there is no such survey or server."""
