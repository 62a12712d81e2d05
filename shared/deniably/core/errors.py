"""The exceptions of Deniably, as one tree.

    DeniablyError
      BadMechanism        parameters that make no mechanism
      BadAnswer           an answer outside the question's choices (never names the answer)
      BadReport           a report that its survey cannot have produced
      BadSurvey           a definition that is not valid; carries every problem found
      BadKey              a file that is not an author's key
      BadWords            words that do not open the copy of a signature
      BadSignature        a signature that is not the author's
      BadInvitation       a text that is not an invitation code, for example after a typing error
      BadEnvelope         an envelope that does not open, or a text that does not fit into one
      BadBatch            a mixer's batch or manifest that cannot be right; the message says why
      Incomparable        figures that cannot be tested against each other
      BadRegister         a register that contradicts itself or an earlier copy of it
      Refused             the device will not answer this survey; the message says why
        AuthorChanged     the author is not one known at this server; the owner may accept it
        SurveyChanged     the server now shows another version than the one that was loaded
        Uninvited         the survey needs an invitation, and the device has none
        BadLink           the link does not say which of the survey's strata it is for
        BudgetSpent       a report would exceed a privacy limit of the device's owner
        WavesSent         the reports of all waves of a panel were sent
      BadMemory           a file that is not a device's memory; the message holds nothing of it
      BadInput            a file or an answer that goes beyond its limits; the message says which
      NoResults           the server shows no results of the survey; the message says why
      NoFigure            a question or a figure that a survey does not have
        TravelledApart    a figure of several questions, where a mixer took answers apart
      BadModel            a model that cannot be fitted to these reports; the message says why
        NoEstimate        the reports do not determine its coefficients

Messages are sentences that say what was wrong and what is allowed. No message holds an answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from errno import EINVAL
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deniably.core.loss import Loss


class DeniablyError(Exception):
    """The base class of every error that Deniably raises on purpose."""


class BadMechanism(DeniablyError, ValueError):
    """The parameters do not describe a mechanism."""


class BadAnswer(DeniablyError, ValueError):
    """An answer is missing, or is not one of the question's choices.

    Attributes: ``question``, the name of the question; None where a mechanism was called by
    itself.
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
    """One thing that is wrong in a definition, and where.

    ``code`` is the type of the mistake for programs: unreadable, unknown-key, missing-key,
    not-allowed (a value), control-character, or impossible (each key is right by itself, but not
    all together).
    """

    path: str
    why: str
    code: str = field(default="impossible", compare=False)

    def __str__(self) -> str:
        # Both may quote what somebody else wrote, and each problem has a line of its own.
        return " ".join(f"{self.path}: {self.why}".splitlines())


class BadSurvey(DeniablyError, ValueError):
    """A definition is not valid. ``problems`` lists everything that is wrong in it."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class BadKey(DeniablyError, ValueError):
    """A file is not an author's key. The message has no content of the file."""


class BadWords(DeniablyError, ValueError):
    """The words that were typed do not open the encrypted copy of an author's key. The message has
    none of these words."""


class BadSignature(DeniablyError, ValueError):
    """A signature is missing, malformed, or not the author's over this definition."""


class BadInvitation(DeniablyError, ValueError):
    """A text is not an invitation code. The message has no part of the text."""


class BadEnvelope(DeniablyError, ValueError):
    """An envelope does not open, or a text does not fit into one. The message does not say what is
    wrong with an envelope, so that nobody learns from trying."""


class BadBatch(DeniablyError, ValueError):
    """A mixer's batch, or its manifest, cannot be right. The message is shown to everybody, and has
    nothing of what is in an envelope."""


class Incomparable(DeniablyError, ValueError):
    """Figures that cannot be compared: the reports or the questions do not match."""


class BadRegister(DeniablyError, ValueError):
    """A register contradicts itself, an earlier copy of the same register, or a survey's
    definition."""


class Refused(DeniablyError):
    """The device will not answer this survey; the message says why."""


class AuthorChanged(Refused):
    """The survey is signed by an author whom the device does not know at this server.

    Attributes: ``origin`` (the server), ``fingerprint`` (of the new author's key), and ``known``
    (the fingerprints of the authors that the device knows there).
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
    """The server now shows another version than the one that the respondent saw."""


class Uninvited(Refused):
    """The survey needs an invitation, and this device has not redeemed one."""


class BadLink(Refused):
    """The link lacks a value of a key of the survey's strata, or has a value that the survey does
    not have.

    Attributes: ``key``, that key. The message has no part of the link.
    """

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(
            f"this link does not say the {key} that it is for, or not one that the survey has; ask"
            " the person who sent it for the right link"
        )


class BudgetSpent(Refused):
    """A report would raise the privacy loss of one person above a limit of the device.

    Attributes: ``scope`` of the limit (survey, author or overall), the loss ``spent`` so far and
    the loss ``asked`` for now, and ``limit``, an epsilon (a delta where ``of_delta`` is true).
    ``together`` is true where the losses are those that count if mixers work together with servers.
    ``until`` is the first day, such as 2027-03-03, on which old losses no longer count and the
    report fits the limit; None if there is no such day.
    """

    until: str | None = None

    def __init__(
        self,
        scope: str,
        spent: Loss,
        asked: Loss,
        limit: Fraction,
        *,
        of_delta: bool = False,
        together: bool = False,
    ) -> None:
        self.scope = scope
        self.of_delta = of_delta
        self.together = together
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
        together_with = " if mixers work together with servers" if together else ""
        super().__init__(
            f"this device has given away at most {before} {where}{together_with}, and this"
            f" would add {more}: more than its limit of {float(limit):g}"
        )

    def __str__(self) -> str:
        if self.until is None:
            return super().__str__()
        return (
            f"{super().__str__()}. It can answer from {self.until} on, once the server's register"
            " has come to that day"
        )


class WavesSent(Refused):
    """This device has sent the reports of all the waves that the panel announced.

    Attributes: ``count``, the number of those waves.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(
            f"this device has answered {count} waves with these questions, and no more were stated"
        )


class BadMemory(DeniablyError, ValueError):
    """A file is not a device's memory. The message has no content of the file."""


class BadInput(DeniablyError, OSError):
    """A file or an HTTP response is not read: it is too large, too slow, or no regular file.

    As an OSError it has a ``strerror`` (what is wrong, and how to mend it) and a ``filename``.
    """

    def __init__(self, why: str, source: object) -> None:
        # OSError sets ``strerror`` and ``filename`` from these; no system call gave the number.
        super().__init__(EINVAL, why, str(source))

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"


class NoResults(DeniablyError):
    """The server shows no results: they are hidden, or the survey or server does not exist."""


class NoFigure(DeniablyError, ValueError):
    """The survey has no such question, or the question has no such figure; the message says
    which."""


class TravelledApart(NoFigure, NoResults):
    """A figure needs several answers of one person, and the survey has a mixer: each answer came in
    an envelope of its own. Both the figure and whole reports exist nowhere."""

    def __init__(
        self,
        why: str = "These answers travelled apart, so that nobody can put them together again.",
    ) -> None:
        super().__init__(why)


class BadModel(DeniablyError, ValueError):
    """A model cannot be fitted to these reports: the message says why, and how to mend it."""


class NoEstimate(BadModel):
    """The reports do not determine the coefficients: separation, or no convergence."""
