"""Makes files once, and keeps them in a temporary folder for as long as the server runs.

The folder is the operator's alone (mode 0700, files 0600), and its size is bounded: the file that
was not asked for the longest goes first. It never takes more than half of the room that the disk
has left, so that reports can still be stored. A file gets its name once it is whole and on disk, so
a crash leaves none that is cut. The name has the digest of its bytes, which serves as its ETag:
servers that share a database make the same bytes, and a download goes on at another one.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp
from typing import NamedTuple

_MOST = 4 << 30
"""The most bytes of all files together."""
_PART, _ABANDONED_SECONDS = ".part", 3600
_LOOK = 1 << 22
"""Bytes that are written between two looks at the room that the disk has left."""


class KeptFile(NamedTuple):
    """A file that the server made once and keeps for later requests: its path, and the SHA-256 of
    its bytes in hexadecimal."""

    path: Path
    digest: str


class KeptFiles:
    """A cache of files in ``folder``, so that each is made only once. Together they have at most
    ``maximum`` bytes.

    Several processes may share a folder.
    """

    def __init__(self, folder: Path, maximum: int = _MOST) -> None:
        self._folder, self._most = folder, maximum

    def find(self, key: str) -> KeptFile | None:
        """Returns the file that was made for ``key``, a short name without dots. Returns None where
        the folder has no such file."""
        for path in self._folder.glob(f"{key}.*"):
            if path.suffix != _PART:
                with suppress(OSError):
                    os.utime(path)  # the file that was used least recently is removed first
                    return KeptFile(path, path.name.partition(".")[2])
        return None

    def make(self, key: str, pieces: Iterable[bytes]) -> KeptFile:
        """Returns the file for ``key``, and writes it first from ``pieces`` if the folder has no
        such file. Raises OSError where the disk has too little room."""
        if kept := self.find(key):
            return kept
        self._forget_abandoned()
        file, name = mkstemp(dir=self._folder, suffix=_PART)
        try:
            with os.fdopen(file, "wb") as out:
                digest = hashlib.sha256()
                for piece in self._fitting(pieces):
                    out.write(piece)
                    digest.update(piece)
                out.flush()
                os.fsync(out.fileno())
            new = KeptFile(self._folder / f"{key}.{digest.hexdigest()}", digest.hexdigest())
            # Only now, whole and synced, does it get a name that `find` sees.
            Path(name).rename(new.path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        self._make_room(new.path)
        return new

    def _fitting(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Yields the pieces as long as there is room. Raises OSError where there is none."""
        written = looked = 0
        for piece in pieces:
            written += len(piece)
            if written - looked >= _LOOK or not looked:
                looked = written
                # The room shrinks as this writes, so it ends at half of what was free.
                if written > min(self._most, shutil.disk_usage(self._folder).free):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            yield piece

    def _make_room(self, newest: Path) -> None:
        # A file that starts with "lock" is the folder's own, see ``watching.shared_folder``.
        others = list[tuple[float, int, Path]]()
        for path in self._folder.iterdir():
            with suppress(OSError):  # another process removed it
                status = path.stat()
                if path != newest and path.suffix != _PART and not path.name.startswith("lock"):
                    others.append((status.st_mtime, status.st_size, path))
        room = self._most - newest.stat().st_size - sum(size for _, size, _ in others)
        for _, size, path in sorted(others):
            if room >= 0:
                return
            path.unlink(missing_ok=True)
            room += size

    def _forget_abandoned(self) -> None:
        """Removes the half-written files of processes that were killed."""
        for path in self._folder.glob(f"*{_PART}"):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > _ABANDONED_SECONDS:
                    path.unlink()
