"""Folders that are written whole, or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

from deniably.workbench.files.optional_libraries import NoExport


@contextmanager
def whole_folder(to: Path) -> Generator[Path]:
    """Gives a temporary folder beside ``to``, which becomes ``to`` where the block ends without
    error.

    Only its owner may read it.
    """
    if to.exists():
        raise NoExport(f"{to} is there already; an export replaces nothing")
    try:
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
