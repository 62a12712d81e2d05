"""Everything that Deniably refuses, as one tree.

    DeniablyError
      BadMechanism        parameters that make no mechanism
      BadAnswer           an answer outside the question's choices (never names the answer)
      BadReport           a report that its survey cannot have produced
      BadSurvey           a definition that is not valid; carries every problem found
      Refused             a device will not answer this survey; says why

Messages are sentences: what was wrong and what is allowed. No message ever holds an answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


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


class Refused(DeniablyError):
    """The device will not answer: the sentence says what the survey got wrong."""
