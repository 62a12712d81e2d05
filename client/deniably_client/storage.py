"""Stores a device's memory: encrypted in one SQLite file, its key in a second file.

    device = Device(url, memory=Storage())

Every change is one transaction that starts by taking the lock. So concurrent processes lose no
entry and spend nothing twice, and a crash leaves all of a change or none. Unreadable memory is an
error, never empty memory: an empty ledger would forget what was spent.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from deniably.core.errors import BadMemory
from deniably.core.user_folder import home
from deniably.device.memory import Memory, read_memory
from deniably_client.errors import MemoryUnusable

Change = Callable[[Memory], Memory]
"""Returns the memory that replaces the given one. It may run while a lock is held."""

_PURPOSE = b"deniably memory 1"
"""Data that AES-GCM binds to the text: nothing else under this key passes for a memory."""
_WAIT = 30.0
"""Seconds to wait for another process that holds the lock."""

_TABLE = """CREATE TABLE IF NOT EXISTS memory (
    id INTEGER PRIMARY KEY CHECK (id = 1), nonce BLOB NOT NULL, sealed BLOB NOT NULL
)"""


class Transient:
    """A device's memory that ends with this object. It writes nothing to disk."""

    def __init__(self) -> None:
        self._memory = Memory()

    def read(self) -> Memory:
        """Returns the memory as it is."""
        return self._memory

    def update(self, change: Change) -> Memory:
        """Applies ``change`` to the memory and returns the new memory. If ``change`` raises, the
        memory stays as it was."""
        self._memory = change(self._memory)
        return self._memory


class Storage:
    """A device's memory in a folder: ``memory.db``, encrypted, and ``memory.key``.

    The default folder is ``DENIABLY_HOME``, else the user's settings folder. Every method raises
    MemoryUnusable where the memory cannot be read or written.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or home()
        self._file = self.folder / "memory.db"
        self._key = self.folder / "memory.key"
        self._new_key = self.folder / "memory.key.new"

    def read(self) -> Memory:
        """Returns the memory; an empty one, without making a file, where none was stored."""
        if not self._file.exists() and not self._key.exists():
            return Memory()
        with self._explained(), self._transaction() as connection:
            return self._open(connection)

    def update(self, change: Change) -> Memory:
        """Changes the memory in one transaction, and returns the new memory once it is on the
        disk.

        ``change`` gets the present memory and returns the new one. It runs while the memory is
        locked. If it raises, nothing changes.
        """
        with self._explained(), self._transaction() as connection:
            before = self._open(connection)
            after = change(before)
            if after != before:
                self._seal(connection, after)
        # After the commit: a key gets its name only once a document that it opens exists.
        with self._explained():
            self._settle_key()
        return after

    def forget(self) -> None:
        """Destroys the key and the memory, whether or not they can be read."""
        with self._explained():
            try:
                with self._transaction() as connection:
                    # First the key: without it nobody can read what is left if this is cut short.
                    self._destroy_keys()
                    connection.execute("DROP TABLE IF EXISTS memory")
            except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
                if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
                    raise  # another process holds the lock; nothing was destroyed
                self._destroy_keys()  # the file is no database
                for suffix in ("", "-journal", "-wal", "-shm"):
                    self._file.with_name(self._file.name + suffix).unlink(missing_ok=True)

    @contextmanager
    def _transaction(self) -> Generator[sqlite3.Connection]:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # sqlite3 would create the file with the umask's mode, which others may read.
        os.close(os.open(self._file, os.O_CREAT | os.O_RDWR, 0o600))
        opened = sqlite3.connect(self._file, timeout=_WAIT, isolation_level=None)
        with closing(opened) as connection:
            connection.execute("PRAGMA secure_delete = ON")  # overwrites what is deleted
            connection.execute("PRAGMA synchronous = EXTRA")  # also syncs the folder
            connection.execute("BEGIN IMMEDIATE")  # takes the lock before the memory is read
            yield connection
            connection.execute("COMMIT")

    def _open(self, connection: sqlite3.Connection) -> Memory:
        """Decrypt the memory in the file, with the lock held.

        No document and no key means a new device, or one that forgot. A key without a document
        means that the document was lost.
        """
        row = _row(connection)
        if row is None:
            if self._key.exists():
                raise self._unusable("it is missing, and its key is there")
            return Memory()
        self._settle_key()
        if not self._key.exists():
            raise self._unusable("its key is missing")
        try:
            nonce, sealed = row
            return read_memory(AESGCM(self._key.read_bytes()).decrypt(nonce, sealed, _PURPOSE))
        except (InvalidTag, ValueError, TypeError, BadMemory):
            raise self._unusable("it was changed, or its key was") from None

    def _seal(self, connection: sqlite3.Connection, memory: Memory) -> None:
        key = self._key.read_bytes() if self._key.exists() else self._make_key()
        nonce = secrets.token_bytes(12)
        sealed = AESGCM(key).encrypt(nonce, memory.canonical, _PURPOSE)
        connection.execute(_TABLE)
        connection.execute("INSERT OR REPLACE INTO memory VALUES (1, ?, ?)", (nonce, sealed))

    def _make_key(self) -> bytes:
        """Make a key that is on the disk before anything is encrypted with it.

        It gets its final name once a document exists, so a crash leaves no key without one.
        """
        key = AESGCM.generate_key(256)
        self._new_key.unlink(missing_ok=True)
        with open(os.open(self._new_key, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as to:
            to.write(key)
            to.flush()
            os.fsync(to.fileno())
        return key

    def _settle_key(self) -> None:
        if not self._key.exists():
            with suppress(FileNotFoundError):  # another process was quicker
                self._new_key.replace(self._key)

    def _destroy_keys(self) -> None:
        for path in (self._key, self._new_key):
            if path.exists():
                # Overwritten before it is unlinked: unlinking leaves the bytes on the disk.
                with path.open("r+b") as file:
                    file.write(bytes(path.stat().st_size))
                    file.flush()
                    os.fsync(file.fileno())
                path.unlink()

    @contextmanager
    def _explained(self) -> Generator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise self._unusable(f"it cannot be written or read now ({error})") from None
        except (sqlite3.DatabaseError, UnicodeDecodeError):  # a damaged schema raises the latter
            raise self._unusable("it was changed or cut short") from None
        except OSError as error:
            raise self._unusable(f"it cannot be written or read ({error.strerror})") from None

    def _unusable(self, why: str) -> MemoryUnusable:
        return MemoryUnusable(f"{self.folder}: {why}")


def _row(connection: sqlite3.Connection) -> tuple[bytes, bytes] | None:
    has_table = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'memory'"
    if connection.execute(has_table).fetchone() is None:
        return None
    row: tuple[bytes, bytes] | None = connection.execute(
        "SELECT nonce, sealed FROM memory"
    ).fetchone()
    return row
