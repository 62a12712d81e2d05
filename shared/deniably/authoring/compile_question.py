"""Compiles one authored question into its published form and chooses its mechanism (SPEC 4).

Needs the extra ``author``. The question's keys were checked before. Where no mechanism fits, a
ValueError says how to mend it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import msgspec

from deniably.authoring.key_types import WrittenChoice, WrittenChoicePart
from deniably.authoring.panels import with_memo
from deniably.authoring.written import (
    WrittenProduct,
    WrittenQuestion,
    WrittenSelectOne,
    WrittenYesNo,
)
from deniably.mechanisms import Mechanism
from deniably.survey.privacy import Privacy
from deniably.wording.words import ENGLISH, Words


def published(
    question: WrittenQuestion,
    privacy: Privacy,
    history: Fraction | None = None,
    words: Words = ENGLISH,
) -> Mapping[str, object]:
    """Returns the published question (SPEC 4.1): its texts and choices, its mechanism, and its
    claim of the privacy that the mechanism keeps.

    In a survey with waves, ``history`` is the epsilon of all waves as a multiple of one wave's.
    ``words`` label the choices that an author adds by name, in the survey's language. Raises
    ValueError where no mechanism fits; the message says how to change the question.
    """
    mechanism = question.mechanism_for(privacy)
    shown: dict[str, object] = {
        "name": question.name,
        "type": question.type,
        "label": question.label,
        "mechanism": msgspec.to_builtins(mechanism),
        "claim": _claim(mechanism, privacy),
    }
    if history is not None:
        keeping, promise = with_memo(mechanism, privacy, history)
        shown["mechanism"] = msgspec.to_builtins(keeping)
        shown["claim"] = _claim(mechanism, privacy) | {"history": promise}
    if question.hint is not None:
        shown["hint"] = question.hint
    if question.short is not None:
        shown["short"] = question.short
    return shown | question.published_fields(privacy, words)


def _claim(mechanism: Mechanism, privacy: Privacy) -> dict[str, object]:
    """The claim; with a delta only where the mechanism has one."""
    claim: dict[str, object] = {**privacy.claim}
    if not mechanism.loss.delta:
        claim.pop("delta", None)
    return claim


def sizes_together(questions: Sequence[WrittenQuestion]) -> list[int]:
    """Returns each question's number of choices if all questions fit into one product question.

    A product question asks several questions in one joint report. The list is empty if they do not
    fit.
    """
    sizes: list[int] = []
    for question in questions:
        if not isinstance(question, WrittenYesNo | WrittenSelectOne):
            return []
        # A product has no place for these keys of a question.
        if question.mechanism or question.show_if or question.hint or question.short:
            return []
        sizes.append(len(question.offered()))
    return sizes


def together_question(
    questions: Sequence[WrittenQuestion], words: Words = ENGLISH
) -> WrittenProduct:
    """Returns several questions with few choices as one product question.

    Its answers are sent in one joint report.
    """
    return WrittenProduct(
        name="together",
        label=words("choice.together"),
        parts=tuple(
            WrittenChoicePart(
                name=question.name,
                label=question.label,
                choices=tuple(
                    WrittenChoice(choice.name, choice.label) for choice in question.offered(words)
                ),
            )
            for question in questions
            if isinstance(question, WrittenYesNo | WrittenSelectOne)
        ),
    )
