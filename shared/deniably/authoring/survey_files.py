"""Loads surveys from files: an author's YAML or JSON, or a published definition."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

from deniably.authoring.compiling import compile_survey, load
from deniably.core.bounded_files import SMALL, read_file
from deniably.survey.survey import Survey, as_survey


def load_survey(source: str | Path | Mapping[str, object]) -> Survey:
    """The survey in a file: YAML or JSON as authors write it, or a published definition.

    ``source`` is a path, or the document itself. Raises OSError where the file cannot be read,
    BadInput where it is larger than 16 MiB or no regular file, and BadSurvey with everything that
    is wrong in it.

    >>> survey = load_survey({
    ...     "name": "workplace",
    ...     "title": "Honesty at work",
    ...     "questions": [{"name": "stolen", "type": "yes_no", "label": "Stolen?", "odds": 3}],
    ... })
    >>> survey.total.epsilon_text()
    '1.10'
    """
    document = read_document(source)
    if not _is_published(document):
        return compile_survey(document)
    return as_survey(document)


def _is_published(document: object) -> bool:
    return isinstance(document, dict) and "spec" in document


def read_document(source: str | Path | Mapping[str, object]) -> object:
    """The document in a file, or a mapping made in Python. Raises OSError and BadSurvey."""
    if isinstance(source, Mapping):
        return _written(source)
    return load(read_file(source, SMALL))


def _written(value: object) -> object:
    """The value as a file would give it: a float becomes the decimal that Python prints."""
    match value:
        case Mapping():
            given = cast("Mapping[Any, object]", value)
            return {str(key): _written(one) for key, one in given.items()}
        case list() | tuple():
            return [_written(one) for one in cast("list[object]", value)]
        case float():
            return Decimal(repr(value))
        case _:
            return value
