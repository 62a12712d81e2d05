"""Questions that experiments ask where no survey is given, made as authors make them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from deniably.authoring.files import load_survey
from deniably.survey.questions import Question


@lru_cache(maxsize=64)
def _question(written: tuple[tuple[str, object], ...], inner: tuple[str, ...]) -> Question:
    found: dict[str, object] = {"name": "answer", "label": "Have you?"}
    found |= {key: dict(value) if key in inner else value for key, value in written}  # type: ignore[call-overload]
    survey = load_survey({"name": "lab", "title": "The lab", "questions": [found]})
    return survey.questions[0]


def question(**written: object) -> Question:
    """The question that ``deniably publish`` makes of these keys of a survey's file.

    >>> question(type="yes_no", coins={"truth": "1/2", "yes": "1/2"}).mechanism
    SubsetSelection(k=2, omega=1, own=3, other=1)
    """
    inner = tuple(key for key, value in written.items() if isinstance(value, Mapping))
    flat = (
        (key, tuple(value.items()) if isinstance(value, Mapping) else value)
        for key, value in written.items()
    )
    return _question(tuple(flat), inner)
