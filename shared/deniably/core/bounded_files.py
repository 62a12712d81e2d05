"""Files that somebody else may have made, read within limits.

Only regular files are read: a FIFO or a device may block for ever, or never end. A document is read
whole and has a limit in bytes. Reports and tables are read line by line, so that their files may be
as large as the disk; there a line has the limit.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO
from zipfile import ZipFile, ZipInfo

from deniably.core.errors import BadInput

DOCUMENT = 64 << 20
"""Bytes of a document that is read whole, such as a definition, a register or a tally file."""
SMALL = 16 << 20
"""Bytes of a document without a type: Python's objects for it take up to 30 times as much."""
LINE = 1 << 20
"""Bytes of a line. A report has at most as many (SPEC 5)."""
UNPACKED = 1 << 32
"""Bytes of a file in a .zip, unpacked: 4 GB, which is more than 20 million reports."""
RATIO = 200
"""How many times as large a file of a .zip may become, from ``DOCUMENT`` bytes on. Text of reports
with a byte of chance each becomes some 40 times as large; Deflate can do 1,032."""
_PIECE = 1 << 20
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


def open_file(path: str | Path) -> BinaryIO:
    """Opens a regular file and returns it for reading bytes. Never waits for another program, as
    opening a pipe would.

    Links are followed, and only the file that they lead to matters. Raises BadInput for a folder,
    a pipe, a device and a socket, and OSError where the file cannot be opened.
    """
    # O_NONBLOCK: a FIFO without a writer would hold us up before we could look at what it is.
    names = ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY")
    held = os.open(path, os.O_RDONLY | sum(getattr(os, name, 0) for name in names))
    try:
        _check_regular(path, os.fstat(held).st_mode)
        return os.fdopen(held, "rb")
    except BaseException:
        os.close(held)
        raise


def check_file(path: str | Path) -> Path:
    """Returns ``path`` if a regular file is there that can be opened. For libraries that open the
    file themselves.

    Raises BadInput for a folder, a pipe, a device and a socket, and OSError where the file cannot
    be opened.
    """
    with open_file(path):
        return Path(path)


def _check_regular(path: str | Path, mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    kind = next((name for test, name in _KINDS if test(mode)), "no regular file")
    mend = "name a file in it" if stat.S_ISDIR(mode) else "copy what it holds into a file"
    raise BadInput(f"this is {kind}, and only regular files are read: {mend}", path)


def read_file(path: str | Path, limit: int = DOCUMENT) -> bytes:
    """Returns the bytes of a file of at most ``limit`` bytes.

    Raises BadInput for a larger file and for anything that is not a regular file, and OSError
    where the file cannot be read.
    """
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        # The file may have grown since its size was read: one byte more than the limit shows it.
        content = b"" if size > limit else file.read(limit + 1)
    if max(size, len(content)) > limit:
        raise BadInput(
            f"this has more than {megabytes(limit)}, and such a document is read up to there: look"
            " whether it is the right file",
            path,
        )
    return content


def read_json(path: str | Path, limit: int = SMALL) -> object:
    """Returns the value in a JSON file of at most ``limit`` bytes.

    Raises BadInput and OSError as ``read_file`` does, and ValueError where the file holds no JSON.
    """
    try:
        value: object = json.loads(read_file(path, limit))
    except RecursionError:
        raise ValueError(f"{path} has lists within lists, deeper than any such file") from None
    return value


def file_lines(path: str | Path, longest: int = LINE) -> Iterator[bytes]:
    """Yields the lines of a file, each with its line break.

    Raises BadInput for a line of more than ``longest`` bytes and for anything that is not a
    regular file, and OSError where the file cannot be read.
    """
    with open_file(path) as file:
        number = 0
        while line := file.readline(longest + 1):
            number += 1
            if len(line) > longest:
                raise BadInput(
                    f"line {number:,} has more than {megabytes(longest)}: look whether it is the"
                    " right file",
                    path,
                )
            yield line


def text_lines(path: str | Path, encoding: str = "utf-8") -> Iterator[str]:
    """Yields the decoded lines of a text file, each with its line break; a byte order mark is left
    out.

    Raises BadInput and OSError as ``file_lines`` does, and UnicodeDecodeError where the text is
    not in ``encoding``.
    """
    for number, line in enumerate(file_lines(path)):
        yield line.decode(f"{encoding}-sig" if number == 0 else encoding)


def unpack(archive: ZipFile, member: ZipInfo, to: Path) -> None:
    """Unpacks one file of a .zip into the new file ``to``, within limits of size.

    The file may have at most 4 GiB, and above 64 MiB at most 200 times its packed size. Raises
    BadInput where it becomes larger, whatever its header says, FileExistsError where ``to``
    exists, and the errors of zipfile for a damaged archive.
    """
    limit = min(UNPACKED, max(DOCUMENT, RATIO * member.compress_size))
    why = f"{Path(member.filename).name} in it unpacks to more than {megabytes(limit)}: "
    why += f"that is more than {RATIO} times its size. " if limit < UNPACKED else ""
    size, too_large = 0, BadInput(f"{why}Unpack it yourself if you trust it, and open the folder",
                                  archive.filename or "the .zip")  # fmt: skip
    if member.file_size > limit:
        raise too_large
    with archive.open(member) as packed, to.open("xb") as plain:
        # The size in the header may be false, so what comes is counted.
        while piece := packed.read(_PIECE):
            size += len(piece)
            if size > limit:
                raise too_large
            plain.write(piece)


def check_zip(path: str | Path) -> Path:
    """Returns the path of a .zip, such as a workbook, if it unpacks to an acceptable size. For
    libraries that unpack it in memory themselves.

    Raises BadInput where all its files together would take more than 4 GiB, or more than 64 MiB
    and 200 times the size of the .zip, and for anything that is not a regular file. Raises
    BadZipFile where the file is not a .zip.
    """
    with open_file(path) as file, ZipFile(file) as archive:
        members = archive.infolist()
        packed = os.fstat(file.fileno()).st_size
        unpacked = sum(max(member.file_size, 0) for member in members)
    if unpacked > min(UNPACKED, max(DOCUMENT, RATIO * packed)):
        raise BadInput(
            f"this would unpack to {megabytes(unpacked)}, {unpacked // max(packed, 1):,} times its"
            " size: no export is like that",
            path,
        )
    return Path(path)


def megabytes(size: int) -> str:
    """Returns a number of bytes as text for people.

    >>> megabytes(64 << 20), megabytes(1 << 16), megabytes(5 << 30)
    ('64 MiB', '64 KiB', '5,120 MiB')
    """
    return f"{size >> 20:,} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"
