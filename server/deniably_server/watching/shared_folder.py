"""A temporary folder that the processes of a server share, for their counts or for files.

The server removes it at the end. If the server is killed, the next one on this machine removes it:
the folder's lock is free then, because the kernel releases the locks of dead processes.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

_LOCK = "lock"


@contextmanager
def shared_folder(purpose: str) -> Generator[Path]:
    """Create a folder, readable by its owner alone, and remove it when the block ends.

    Its name has the ``purpose``, a word.

    Raises OSError where no temporary folder can be created.
    """
    prefix = f"deniably-{purpose}-"
    _remove_abandoned(prefix)
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        with (folder / "new").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            (folder / "new").rename(folder / _LOCK)  # so it is never visible unlocked
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned(prefix: str) -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with suppress(OSError):  # another user's, or in use
            if folder.lstat().st_uid != os.geteuid():
                continue
            with (folder / _LOCK).open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
