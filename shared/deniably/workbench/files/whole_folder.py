"""Writes folders completely, or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

from deniably.workbench.files.optional_libraries import NoExport


@contextmanager
def whole_folder(to: Path) -> Generator[Path]:
    """Yields a temporary folder beside ``to``, and renames it to ``to`` when the block ends
    without an error.

    Only the folder's owner may read it. Raises NoExport where ``to`` exists already or the disk
    refuses.
    """
    if to.exists():
        raise NoExport(f"{to} is there already; an export replaces nothing")
    try:
        # In the same parent, as a rename is atomic only within one file system.
        folder = Path(mkdtemp(prefix=f".{to.name}-", dir=to.parent))
    except OSError as error:
        raise NoExport(f"{to.parent}: {error.strerror}") from None
    try:
        yield folder
        folder.rename(to)
    except OSError as error:
        raise NoExport(f"{to}: {error.strerror}; nothing was written") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
