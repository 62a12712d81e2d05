"""Loads surveys from files: an author's YAML or JSON, or a published definition."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import Any, cast

import msgspec

from deniably.authoring.compiling import compile_survey, load
from deniably.authoring.documents import span_of
from deniably.authoring.geojson import lines_of
from deniably.authoring.outlines import Side, outline
from deniably.core.bounded_files import SMALL, read_file
from deniably.core.canonical import canonical
from deniably.core.errors import BadInput, BadSurvey, Problem
from deniably.survey.parts import OUTLINE
from deniably.survey.survey import Survey, as_survey
from deniably.trust.mixer_offer import read_offer


def load_survey(source: str | Path | Mapping[str, object]) -> Survey:
    """Returns the survey in a file: YAML or JSON as authors write it, or a published definition.

    ``source`` is a path, or the document itself. Raises OSError where the file cannot be read,
    BadInput where the file is larger than 16 MiB or not a regular file, and BadSurvey with
    everything that is wrong in the survey.

    >>> survey = load_survey({
    ...     "name": "workplace",
    ...     "title": "Honesty at work",
    ...     "questions": [{"name": "stolen", "type": "yes_no", "label": "Stolen?", "odds": 3}],
    ... })
    >>> survey.total.epsilon_text()
    '1.10'
    """
    document = read_document(source)
    if not is_published(document):
        return compile_survey(document)
    return as_survey(document)


def is_published(document: object) -> bool:
    """Returns whether a document is a published definition, and not what an author writes."""
    return isinstance(document, dict) and "spec" in document


def read_document(source: str | Path | Mapping[str, object]) -> object:
    """Returns the document in a file, or the one given as a mapping.

    Each float becomes the decimal that Python prints for it. Raises OSError where the file cannot
    be read, BadInput where it is too large or not a regular file, and BadSurvey where it is neither
    YAML nor JSON.
    """
    if isinstance(source, Mapping):
        return _written(source)
    return load(with_named_files(read_file(source, SMALL), Path(source).parent))


def with_named_files(text: bytes, folder: Path) -> bytes:
    """Returns an author's text with the content of the files in ``folder`` that it names: outlines
    of maps and the offer of a mixer.

    So a server, which reads no files, gets them too. All else stays as it is. Raises BadSurvey
    where such a file cannot be read or used.
    """
    return _with_offer(with_outlines(text, folder), folder)


def _with_offer(text: bytes, folder: Path) -> bytes:
    if b"mixer" not in text:
        return text
    document = load(text)
    mixer = cast(dict[str, Any], document).get("mixer") if isinstance(document, dict) else None
    name = cast(dict[str, Any], mixer).get("offer") if isinstance(mixer, dict) else None
    whole = text.decode("utf-8-sig")
    if not isinstance(name, str) or not (span := span_of(whole, "mixer", "offer")):
        return text
    try:
        offer = read_offer(load(_read_beside(folder, name, "an offer", (".json",))))
    except (ValueError, BadInput, OSError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise BadSurvey([Problem("$.mixer.offer", f"{name}: {why}")]) from None
    written = canonical(msgspec.to_builtins(offer)).decode()
    return f"{whole[: span[0]]}{written}{whole[span[1] :]}".encode()


def with_outlines(text: bytes, folder: Path) -> bytes:
    """Returns an author's text in which the outlines of GeoJSON files are written out.

    The text names the files, which are in ``folder``. A server reads no files, so it needs this
    text. The rest of the text is not changed. Raises BadSurvey where such a file cannot be read or
    drawn.
    """
    if b"outline" not in text:
        return text
    document = load(text)
    named = list(_outline_files(document))
    whole = text.decode("utf-8-sig")
    problems: list[Problem] = []
    # From the last one back, so that the places of the earlier ones stay valid.
    for index, name, sides in reversed(named):
        try:
            drawn = outline(lines_of(_read_beside(folder, name, *_OUTLINES)), sides)
        except (ValueError, BadInput, OSError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            problems.insert(0, Problem(f"$.questions[{index}].outline", f"{name}: {why}"))
            continue
        if span := span_of(whole, "questions", index, "outline"):
            whole = f'{whole[: span[0]]}"{drawn}"{whole[span[1] :]}'
    if problems:
        raise BadSurvey(problems)
    return whole.encode() if named else text


def _outline_files(document: object) -> Iterator[tuple[int, str, tuple[Side, Side]]]:
    """Of each question that names a file: its index, the name, and the sides of its map.

    A question that has no such sides is passed over: compiling says why.
    """
    if not isinstance(document, dict):
        return
    questions = cast(dict[str, Any], document).get("questions")
    if not isinstance(questions, list):
        return
    for index, question in enumerate(cast(list[object], questions)):
        if not isinstance(question, dict):
            continue
        group = cast(dict[str, Any], question)
        name = group.get("outline")
        if not isinstance(name, str) or re.match(OUTLINE, name):
            continue
        with suppress(ArithmeticError, KeyError, TypeError, ValueError):
            first, second = group["parts"]
            yield index, name, (_side(first), _side(second))


def _side(part: dict[str, Any]) -> Side:
    """Raises KeyError, TypeError, ValueError or ArithmeticError where it is no side."""
    step = part.get("step", 1)
    side = Side(str(part["label"]), *map(float, (part["minimum"], part["maximum"], step)))
    # Fails now, while it can be passed over, if the side has no width.
    side.at(side.low)
    return side


_OUTLINES = ("an outline", (".geojson", ".json"))


def _read_beside(folder: Path, name: str, what: str, kinds: Sequence[str]) -> bytes:
    """The file. A survey is passed on: it may name files beside it alone, and of these kinds."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or path.suffix not in kinds:
        raise ValueError(
            f"{what} is the name of a {' or '.join(kinds)} file in the folder of the survey, or"
            " below it"
        )
    return read_file(folder / path, SMALL)


def _written(value: object) -> object:
    """The value as a file would give it: a float becomes the decimal that Python prints."""
    match value:
        case Mapping():
            mapping = cast("Mapping[Any, object]", value)
            return {str(key): _written(item) for key, item in mapping.items()}
        case list() | tuple():
            return [_written(item) for item in cast("list[object]", value)]
        case float():
            return Decimal(repr(value))
        case _:
            return value
