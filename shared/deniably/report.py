"""What leaves a device: the survey's digest, a random id and one perturbed value a question."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from typing import Annotated

import msgspec

from deniably.canonical import parse
from deniably.coins import Coins
from deniably.errors import BadAnswer, BadReport
from deniably.survey import Survey

LARGEST_BODY = 1 << 20
"""Bytes that a report may have at most."""

_Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
_Id = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{32}\Z")]


class Report(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One respondent's perturbed values. There is no room for a time, a device or a person."""

    id: _Id
    survey: _Digest
    values: dict[str, list[int]]

    @property
    def canonical(self) -> bytes:
        """The bytes that are sent and stored. (Keys and values are ASCII and integers, for
        which sorted compact JSON is RFC 8785.)"""
        return msgspec.json.encode(self, order="sorted")

    @property
    def receipt(self) -> str:
        """SHA-256 of the bytes that were sent, for the respondent to keep."""
        return hashlib.sha256(self.canonical).hexdigest()

    def check(self, survey: Survey) -> None:
        """Raise BadReport unless a device could have made this report for ``survey``."""
        names = [question.name for question in survey.questions]
        for name in self.values:
            if name not in names:
                raise BadReport("the survey has no question of this name", "$.values")
        for question in survey.questions:
            if question.name not in self.values:
                raise BadReport(f"the question {question.name} has no value", "$.values")
            path = f"$.values.{question.name}"
            question.mechanism.check(self.values[question.name], path)


_DECODER = msgspec.json.Decoder(Report, strict=True)


def read_report(body: bytes) -> Report:
    """The report in a request's body, checked for everything that needs no survey.

    Raises BadReport (``MalformedReport`` where the bytes are not JSON at all).
    """
    try:
        report = _DECODER.decode(body)
    except msgspec.ValidationError as error:
        why, _, path = str(error).partition(" - at `")
        raise BadReport(why, path.rstrip("`") or "$") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise MalformedReport("the body is not JSON") from None
    if report.canonical != body:  # other spacing or order is fine, a repeated key is not
        try:
            parse(body)
        except ValueError as error:
            raise MalformedReport(str(error)) from None
    return report


class MalformedReport(BadReport):
    """The bytes are not JSON, or are JSON with a repeated key."""


def randomise_answers(
    survey: Survey, answers: Mapping[str, str], coins: Coins | None = None
) -> Report:
    """The report for a respondent's true ``answers`` (question name -> choice name).

    Every question needs an answer: a missing report would itself be an exact one. Raises
    BadAnswer, which names the question and the choices that exist but never the answer.
    """
    for name in answers:
        if all(name != question.name for question in survey.questions):
            raise BadAnswer("the survey has no such question; it was changed or misspelt", name)
    indices: list[int] = []
    for question in survey.questions:
        names = [choice.name for choice in question.choices]
        if question.name not in answers:
            raise BadAnswer("needs an answer: one of " + ", ".join(names), question.name)
        if answers[question.name] not in names:
            raise BadAnswer("the answer is none of " + ", ".join(names), question.name)
        indices.append(names.index(answers[question.name]))
    coins = coins or Coins()
    values = {
        question.name: list(question.mechanism.randomise(index, coins))
        for question, index in zip(survey.questions, indices, strict=True)
    }
    return Report(id=secrets.token_hex(16), survey=survey.digest, values=values)
