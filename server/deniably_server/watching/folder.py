"""The folder in which the processes of a server keep what they count. It vanishes with the server.

A server that is killed cannot remove its folder; the next one that starts on this machine does.
Whose server is gone is known by a lock, which the kernel takes away from the dead.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "deniably-counts-"
_LOCK = "lock"


@contextmanager
def shared_folder() -> Generator[Path]:
    """A new one, readable by its owner alone, until the block ends. Raises OSError where no folder
    for temporary files can be written to."""
    _remove_abandoned()
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    try:
        with (folder / "new").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            (folder / "new").rename(folder / _LOCK)  # nobody finds it unlocked
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # somebody else's, or in use
            if folder.lstat().st_uid != os.geteuid():
                continue
            with (folder / _LOCK).open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
