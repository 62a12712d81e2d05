"""Finds what an exported folder contains beyond what follows from its set of reports.

An export is a function of the definition, of the register's entries, and of the reports as a set,
without ids, receipts, times and order. So the folder is read, written again and compared byte by
byte. Whatever differs could tell something about a person.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from deniably.core.bounded_files import read_json
from deniably.core.own_version import own_version
from deniably.workbench.files.folder import DEFINITION, DESIGN, FORMATS, read_export, write_folder
from deniably.workbench.files.optional_libraries import NoExport

_LIKE_IDS = re.compile(rb"(?<![0-9a-f])[0-9a-f]{32}(?:[0-9a-f]{32})?(?![0-9a-f])")
"""Ids have 32 hexadecimal digits, and receipts 64."""
_NUMBERED = re.compile(rb'^(?:\{"row":)?\d+,')
"""The number at the beginning of a line of reports."""


@dataclass(frozen=True)
class Leftover:
    """A ``file`` of an export with content that does not follow from the reports; ``what``
    describes that content."""

    file: Path
    what: str


def is_export(folder: Path) -> bool:
    """Returns whether a folder has the definition and the design of an export."""
    return (folder / DEFINITION).is_file() and (folder / DESIGN).is_file()


def leftovers(folder: Path) -> list[Leftover]:
    """Returns everything in an exported folder that does not follow from its reports: an empty
    list if the folder reveals nothing else.

    Raises NoExport for an export by another version of Deniably, as only that version can write
    the same files again to compare.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    try:
        reports, source = read_export(folder)
    except NoExport as error:
        whole = Leftover(folder, f"it cannot be read and written again: {error}")
        return [whole, *(word for file in files for word in _words(file, b""))]
    wrote = cast("dict[str, object]", read_json(folder / DESIGN))["software"]
    if wrote != (mine := f"deniably {own_version()}"):
        raise NoExport(f"{folder} is of {wrote}, and this is {mine}: take that to look into it")
    formats = [name for name, kind in FORMATS.items() if (folder / kind.file).exists()]
    with TemporaryDirectory() as elsewhere:
        again = Path(elsewhere) / "again"
        write_folder(again, reports, source, formats)
        return [
            word for file in files for word in _compared(file, again / file.relative_to(folder))
        ]


def _compared(file: Path, again: Path) -> Iterator[Leftover]:
    if not again.is_file():
        yield Leftover(file, "no export has such a file")
        yield from _words(file, b"")
        return
    written, expected = file.read_bytes(), again.read_bytes()
    if written == expected:
        return
    rows = file.name in {FORMATS[name].file for name in ("csv", "ndjson")}
    # The same rows in another order: it could be the order in which they came.
    if rows and _unordered(written) == _unordered(expected):
        yield Leftover(file, "its rows are in another order than that of what they say")
        return
    yield Leftover(file, "it has bytes that do not follow from its reports")
    yield from _words(file, expected)


def _unordered(text: bytes) -> list[bytes]:
    return sorted(_NUMBERED.sub(b"", line) for line in text.splitlines())


def _words(file: Path, expected: bytes) -> Iterator[Leftover]:
    """Yields a leftover if a file has words that could be ids or receipts, besides those that
    belong there."""
    known = set(_LIKE_IDS.findall(expected))
    words = [word for word in _LIKE_IDS.findall(file.read_bytes()) if word not in known]
    if words:
        yield Leftover(file, f"{len(words):,} words as long as ids or receipts")
