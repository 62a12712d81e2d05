"""Remembers which files a tally has counted, by their digests, so that no file is counted twice.

The digests are kept in a file beside the tally file and not in it. A tally file is meant to be
passed on, and a digest gives a small file away: anyone can list all possible sets of five reports,
hash each, and find the one with this digest, and with it every report.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from hashlib import sha256
from os import SEEK_END
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from deniably.core.bounded_files import read_file
from deniably.core.canonical import canonical
from deniably.core.errors import DeniablyError
from deniably.workbench.files.file_places import Place, each, opened
from deniably.workbench.files.optional_libraries import NoExport
from deniably.workbench.files.parquet_parts import Parts

VERSION = 1
"""The version of the format of these files."""
_WHOLE, _BLOCKS = 1 << 20, 8
"""The largest file, in bytes, whose digest is of all its bytes; of a larger one as many blocks are
hashed."""
_Digest = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    counted: int
    tally: _Digest
    files: list[_Digest]


def digests_of(parts: Parts) -> list[str]:
    """Returns a SHA-256 digest for each file of a set, as ``digest_of`` computes it.

    The design of the folder is hashed before the content: files of two different sets can have
    equal content by chance, but their designs differ, as they state the numbers of reports and
    files. Raises NoExport where a file cannot be read.
    """
    designs = dict(zip(parts.files, parts.designs, strict=True))
    try:
        return each(lambda file: digest_of(designs[file], file), parts.files)
    except OSError as error:
        raise NoExport(f"{error.filename}: {error.strerror}") from None


def digest_of(design: bytes, file: Place) -> str:
    """Returns the SHA-256 digest of the ``design`` of a folder followed by a ``file`` in it, in
    hexadecimal (SPEC 12.3).

    A file above 1 MiB may be in a cloud store and is not read whole: only its length and 8 evenly
    spaced blocks are hashed, from its first to its last bytes. Raises OSError, and NoExport for a
    file of a store that cannot be read.
    """
    digest = sha256(design)
    with opened(file) as content:
        length: int = content.seek(0, SEEK_END)
        starts, size = [0], length
        if length > _WHOLE:
            digest.update(length.to_bytes(8, "big"))
            size = _WHOLE // _BLOCKS
            # Evenly spaced, so that the last block ends where the file ends.
            starts = [place * (length - size) // (_BLOCKS - 1) for place in range(_BLOCKS)]
        for start in starts:
            content.seek(start)
            digest.update(content.read(size))
    return digest.hexdigest()


def check_disjoint(named: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """Returns the digests of several sets, sorted; ``named`` has the name and the digests of each
    set. Raises NoExport where two sets share a file.

    Equal files within one set are allowed: the design of the set lists every file, so neither is
    there by mistake.
    """
    seen, all_digests = dict[str, str](), list[str]()
    for name, digests in named:
        if again := seen.keys() & {*digests}:
            other = seen[min(again)]
            raise NoExport(
                f"{name} has a file that {other} has counted, and its reports would count twice. If"
                " they are other reports that happen to be equal, gather the lines of both together"
            )
        seen |= dict.fromkeys(digests, name)
        all_digests += digests
    return sorted(all_digests)


def digests_file(tally: Path) -> Path:
    """Returns the path of the file with a tally file's digests: ``day.files.json`` beside
    ``day.json``."""
    return tally.with_name(f"{tally.stem}.files.json")


def write_tally(to: Path, text: bytes, digests: Sequence[str]) -> None:
    """Writes a new tally file, and beside it, readable by its owner alone, the digests of the
    counted files.

    Raises NoExport where one of the two files is there already, and OSError where the disk
    refuses; then neither is written.
    """
    held = canonical(
        {"counted": VERSION, "tally": sha256(text).hexdigest(), "files": list(digests)}
    )
    written = list[Path]()
    try:
        # The digests first: a tally file without them could not be added to safely.
        for path, content, mode in ((digests_file(to), held, 0o600), (to, text, 0o666)):
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
                written.append(path)
                file.write(content)
    except OSError as error:
        for path in written:
            path.unlink()
        if isinstance(error, FileExistsError):
            name = error.filename
            raise NoExport(f"{name} is there already; a tally replaces nothing") from None
        raise


def read_digests(tally: Path) -> list[str]:
    """Returns the digests of the files that a tally file counted.

    Raises NoExport where the file of digests is missing, damaged, or belongs to another tally
    file.
    """
    path = digests_file(tally)
    try:
        written = msgspec.json.decode(read_file(path), type=_File)
        text = read_file(tally)
    except FileNotFoundError:
        raise NoExport(
            f"{path} is missing. It says which files {tally.name} has counted, so that none counts"
            " twice: copy it there, or count those files again"
        ) from None
    except (msgspec.DecodeError, OSError, DeniablyError) as error:
        raise NoExport(f"{path}: {error}") from None
    if written.counted != VERSION:
        raise NoExport(f"{path} is of version {written.counted}, not {VERSION}")
    if written.tally != sha256(text).hexdigest():
        raise NoExport(f"{path} is of another tally file than {tally.name}")
    return written.files
