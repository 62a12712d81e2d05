"""Files that are none, or that are larger than any honest one."""

from __future__ import annotations

import io
import os
import socket
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from deniably.core.bounded_files import (
    RATIO,
    check_file,
    check_zip,
    file_lines,
    open_file,
    read_file,
    read_json,
    text_lines,
    unpack,
)
from deniably.core.errors import BadInput


def fifo(folder: Path) -> Path:
    os.mkfifo(folder / "x")
    return folder / "x"


def link_to_zeros(folder: Path) -> Path:
    (folder / "x").symlink_to("/dev/zero")
    return folder / "x"


def a_folder(folder: Path) -> Path:
    return folder


def a_socket(folder: Path) -> Path:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "x"))
    return folder / "x"


NOT_REGULAR = [fifo, link_to_zeros, a_folder, a_socket]
READERS: list[Callable[[Path], object]] = [
    read_file, read_json, check_file, check_zip, lambda path: list(file_lines(path)),
    lambda path: list(text_lines(path)), lambda path: open_file(path).read(1),
]  # fmt: skip


@pytest.mark.parametrize("make", NOT_REGULAR)
@pytest.mark.parametrize("read", READERS)
def test_only_regular_files_are_read_and_nobody_waits(
    tmp_path: Path, make: Callable[[Path], Path], read: Callable[[Path], object]
) -> None:
    path = make(tmp_path)

    with pytest.raises(OSError, match=str(path)) as raised:
        read(path)

    if make is not a_socket:  # which cannot be opened at all
        assert isinstance(raised.value, BadInput)
        assert "only regular files are read: " in str(raised.value.strerror)
        assert raised.value.filename == str(path)


def test_a_link_to_a_file_is_followed(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"{}")
    (tmp_path / "link").symlink_to(tmp_path / "file")

    assert read_file(tmp_path / "link") == b"{}"


def test_a_document_is_read_up_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"x" * 1000)

    assert read_file(path, 1000) == b"x" * 1000
    with pytest.raises(BadInput, match=r"this has more than 0 KiB.*right file"):
        read_file(path, 999)


def test_a_file_with_holes_and_one_that_hides_its_size(tmp_path: Path) -> None:
    with (tmp_path / "holes").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(BadInput, match="more than 64 MiB"):
        read_file(tmp_path / "holes")
    with pytest.raises(BadInput, match="line 1 has more than 1 MiB"):
        list(file_lines(tmp_path / "holes"))
    with pytest.raises(BadInput, match="more than 0 KiB"):
        read_file("/proc/self/status", 10)  # a regular file of 0 bytes, says the system


def test_lines_may_be_any_number_and_only_their_length_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes("\ufeffa,b\r\n".encode() + b"1,2\r\n" * 10_000 + b"3,4")

    assert len(list(file_lines(path, 10))) == 10_002
    assert next(text_lines(path)) == "a,b\r\n"
    path.write_bytes(b"ok\n" + b"x" * 99)
    with pytest.raises(BadInput, match="line 2 has more than"):
        list(file_lines(path, 50))


def test_lists_within_lists_are_an_error_like_any_other(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"[" * 200_000)

    with pytest.raises(ValueError, match="lists within lists"):
        read_json(tmp_path / "x")


# --- .zip ---------------------------------------------------------------------------------------


def packed(folder: Path, body: bytes, times: int = 1) -> Path:
    with (
        zipfile.ZipFile(folder / "x.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=4) as archive,
        archive.open("reports.csv", "w") as member,
    ):
        for _ in range(times):
            member.write(body)
    return folder / "x.zip"


def unpacked(path: Path, to: Path) -> bytes:
    with zipfile.ZipFile(path) as archive:
        unpack(archive, archive.infolist()[0], to)
    return to.read_bytes()


def test_what_is_packed_as_reports_are_is_unpacked(tmp_path: Path) -> None:
    body = b"".join(b"%d,%d,%d\r\n" % (n, n % 7, n % 3) for n in range(50_000))

    assert unpacked(packed(tmp_path, body), tmp_path / "y") == body
    assert unpacked(packed(tmp_path, b" " * 900_000), tmp_path / "z") == b" " * 900_000


def test_a_bomb_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    path = packed(tmp_path, b" " * (1 << 20), 65)

    with pytest.raises(BadInput, match=f"more than {RATIO} times its size. Unpack it yourself"):
        unpacked(path, tmp_path / "y")
    assert not (tmp_path / "y").exists()


def test_a_bomb_whose_header_lies_writes_no_more_than_its_limit(tmp_path: Path) -> None:
    """The size that it says is 1,000 bytes; zipfile reads no further than that."""
    path = packed(tmp_path, b" " * (1 << 20), 65)
    text = bytearray(path.read_bytes())
    for start, at in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        where = text.index(start) + at
        text[where : where + 4] = struct.pack("<I", 1_000)
    path.write_bytes(text)

    with pytest.raises((zipfile.BadZipFile, BadInput)):
        unpacked(path, tmp_path / "y")
    assert (tmp_path / "y").stat().st_size <= 1_000


def test_a_workbook_that_unpacks_to_too_much_is_not_opened(tmp_path: Path) -> None:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(9):
            archive.writestr(f"xl/{number}.xml", b" " * (8 << 20), compresslevel=4)
    (tmp_path / "x.xlsx").write_bytes(held.getvalue())

    with pytest.raises(BadInput, match="would unpack to 72 MiB"):
        check_zip(tmp_path / "x.xlsx")
    (tmp_path / "y.xlsx").write_bytes(b"none")
    with pytest.raises(zipfile.BadZipFile):
        check_zip(tmp_path / "y.xlsx")
