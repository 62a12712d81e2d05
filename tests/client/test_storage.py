"""Memory at rest: encrypted, whole after every crash, and never taken for empty."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
from collections.abc import Callable, Sequence
from contextlib import closing
from inspect import getsource
from pathlib import Path

import pytest

from deniably.device.ledger import Limits, total_loss
from deniably.device.memory import Memory, answer
from deniably_client.errors import MemoryUnusable
from deniably_client.storage import Storage
from support.material import Process, survey_named
from support.nursery import the_nursery

SURVEY = survey_named()
ANSWERS = {"stolen": "yes", "often": "never"}


def answered(memory: Memory) -> Memory:
    return answer(memory, SURVEY, ANSWERS, day="2026-11-21", limits=Limits())


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return Storage(tmp_path / "device")


HEAD = f"""
import json, os, resource, signal, sys, time
from pathlib import Path

import msgspec

from deniably.device.ledger import Limits
from deniably.device.memory import Memory, answer, replace
from deniably.survey.survey import as_survey
from deniably_client.storage import Storage

storage, SURVEY = Storage(Path(sys.argv[1])), as_survey(json.loads(sys.argv[2]))
ANSWERS = {ANSWERS!r}

def wait():
    while not storage.folder.with_name("go").exists():
        time.sleep(0.001)

{getsource(answered)}
"""


def python(code: str, storage: Storage, *arguments: str) -> Process:
    """Another process that has the same storage, named ``storage``, and a survey, ``SURVEY``. What
    it writes is beside the storage; where it waits, it is for a file there."""
    given = [str(storage.folder), SURVEY.canonical.decode(), *arguments]
    return the_nursery().begin_program(HEAD + code, given, storage.folder.with_name("out"))


def together(others: Sequence[Process], storage: Storage) -> None:
    """Let processes that wait go on, until they have ended well."""
    storage.folder.with_name("go").touch()
    ended = [each.wait(120) for each in others]
    assert not any(ended), storage.folder.with_name("out").read_text()


def test_what_is_kept_is_there_for_the_next_process(storage: Storage) -> None:
    kept = storage.update(answered)

    assert Storage(storage.folder).read() == kept
    assert len(kept.ledger) == 2


def test_reading_where_there_never_was_a_memory_makes_no_file(storage: Storage) -> None:
    assert storage.read() == Memory()
    assert not storage.folder.exists()


def test_nothing_is_readable_on_the_disk(storage: Storage) -> None:
    storage.update(answered)

    files = list(storage.folder.iterdir())
    assert {path.name for path in files} == {"memory.db", "memory.key"}
    for path in files:
        for secret in (b"stolen", b"workplace", b"odds", SURVEY.digest.encode(), b"never"):
            assert secret not in path.read_bytes()


def test_only_its_owner_may_read_it(storage: Storage) -> None:
    storage.update(answered)

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in storage.folder.iterdir()}
    assert modes == {"memory.db": 0o600, "memory.key": 0o600}
    assert stat.S_IMODE(storage.folder.stat().st_mode) == 0o700


def test_every_writing_has_a_nonce_of_its_own(storage: Storage) -> None:
    seen = set()
    for _ in range(5):
        storage.update(lambda memory: answered(Memory()))
        with closing(sqlite3.connect(storage.folder / "memory.db")) as connection:
            seen.add(connection.execute("SELECT nonce FROM memory").fetchone()[0])

    assert len(seen) == 5
    assert {len(nonce) for nonce in seen} == {12}


def test_a_change_that_fails_leaves_everything_as_it_was(storage: Storage) -> None:
    storage.update(answered)

    def fail(memory: Memory) -> Memory:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        storage.update(fail)
    assert len(storage.read().ledger) == 2


def test_a_first_change_that_fails_can_be_tried_again(storage: Storage) -> None:
    with pytest.raises(ZeroDivisionError):
        storage.update(lambda memory: 1 // 0)  # type: ignore[arg-type, return-value]

    storage.update(answered)
    assert len(storage.read().ledger) == 2


# --- what cannot be read is not empty ---------------------------------------------------------


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def write(path: Path, at: int, byte: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] = byte
    path.write_bytes(data)


def run(path: Path, statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(statements)


def in_the_schema(file: Path) -> int:
    """Where SQLite has the name of the table."""
    return file.read_bytes().index(b"memory")


def sealed_at(storage: Storage) -> int:
    """Where in the file the ciphertext is."""
    file = storage.folder / "memory.db"
    with closing(sqlite3.connect(file)) as connection:
        (sealed,) = connection.execute("SELECT sealed FROM memory").fetchone()
    return file.read_bytes().index(sealed)


Harm = Callable[[Path, Storage], object]
HARMS: dict[str, Harm] = {
    "a flipped bit": lambda file, storage: flip(file, sealed_at(storage) + 7),
    "a flipped bit of the key": lambda file, storage: flip(file.with_name("memory.key"), 3),
    "a file cut short": lambda file, _: os.truncate(file, file.stat().st_size // 2),
    "a file of nothing": lambda file, _: os.truncate(file, 0),
    "no file": lambda file, _: file.unlink(),
    "no key": lambda file, _: file.with_name("memory.key").unlink(),
    "a key cut short": lambda file, _: os.truncate(file.with_name("memory.key"), 5),
    "another key": lambda file, _: file.with_name("memory.key").write_bytes(b"k" * 32),
    "another kind of file": lambda file, _: file.write_bytes(b"not a database at all" * 99),
    "a database of the future": lambda file, _: write(file, 47, 5),
    "a schema that is no text": lambda file, _: write(file, in_the_schema(file), 255),
    "a text for bytes": lambda file, _: run(file, "UPDATE memory SET nonce = 'a'"),
    "a view": lambda file, _: run(file, "DROP TABLE memory; CREATE VIEW memory AS SELECT 1"),
    "a folder": lambda file, _: (file.unlink(), file.mkdir()),
}


@pytest.mark.parametrize("harm", HARMS.values(), ids=lambda harm: "")
@pytest.mark.parametrize("first", ["read", "update"])
def test_what_was_harmed_is_refused_until_it_is_forgotten(
    storage: Storage, harm: Harm, first: str
) -> None:
    storage.update(answered)
    file = storage.folder / "memory.db"
    harm(file, storage)

    for _ in range(2):  # a refusal mends nothing
        with pytest.raises(MemoryUnusable, match="deniably forget"):
            storage.read() if first == "read" else storage.update(answered)

    if not file.is_dir():
        storage.forget()
        assert storage.read() == Memory()
        assert len(storage.update(answered).ledger) == 2


def test_no_flipped_bit_anywhere_is_taken_for_another_memory(storage: Storage) -> None:
    """Many bits of a database carry nothing; wherever one does, it is noticed."""
    kept = storage.update(answered)
    file = storage.folder / "memory.db"
    whole = file.read_bytes()
    refused = 0
    for at in range(0, len(whole), 41):
        flip(file, at)
        try:
            assert storage.read() == kept, f"byte {at}"
        except MemoryUnusable:
            refused += 1
        file.write_bytes(whole)
        file.with_name("memory.db-journal").unlink(missing_ok=True)
    assert refused > 20


def test_a_folder_that_cannot_be_written_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(MemoryUnusable, match=r"cannot be written or read \(Not a directory\)"):
        Storage(tmp_path / "file" / "device").update(answered)


def test_a_full_disk_is_explained_and_loses_nothing(storage: Storage) -> None:
    """A limit on the size of files stands for the disk."""
    storage.update(answered)
    code = """
resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
storage.update(lambda memory: Memory(ledger=memory.ledger * 400))
"""
    assert python(code, storage).wait(60) == 1

    error = storage.folder.with_name("out").read_text()
    assert "MemoryUnusable" in error
    assert "cannot be written or read now" in error
    assert len(storage.read().ledger) == 2


# --- forgetting -------------------------------------------------------------------------------


def test_forgetting_leaves_nothing_to_decrypt(storage: Storage) -> None:
    storage.update(answered)
    with closing(sqlite3.connect(storage.folder / "memory.db")) as connection:
        (sealed,) = connection.execute("SELECT sealed FROM memory").fetchone()

    storage.forget()

    assert [path.name for path in storage.folder.iterdir()] == ["memory.db"]
    assert sealed[:64] not in (storage.folder / "memory.db").read_bytes()
    assert storage.read() == Memory()


def test_forgetting_where_there_is_nothing_is_no_mistake(storage: Storage) -> None:
    storage.forget()
    storage.forget()

    assert storage.read() == Memory()


# --- many at once, and crashes ----------------------------------------------------------------


def test_many_processes_at_once_lose_no_entry(storage: Storage) -> None:
    """Every process adds entries of its own; all of them are there in the end."""
    code = """
entry = answered(Memory()).ledger[0]
wait()
for number in range(20):
    mine = msgspec.structs.replace(entry, question=f"q{sys.argv[3]}_{number}")
    storage.update(lambda memory: replace(memory, ledger=(*memory.ledger, mine)))
"""
    others = [python(code, storage, str(number)) for number in range(4)]
    together(others, storage)

    names = [each.question for each in storage.read().ledger]
    assert len(names) == 80
    assert set(names) == {f"q{one}_{number}" for one in range(4) for number in range(20)}


def test_many_processes_that_answer_at_once_spend_once(storage: Storage) -> None:
    code = "wait(); storage.update(answered)"
    others = [python(code, storage) for _ in range(4)]
    together(others, storage)

    memory = storage.read()
    assert total_loss(memory.ledger).odds == 9
    assert len(memory.reports) == 1


@pytest.mark.parametrize("moment", ["first", "later"])
def test_a_process_that_is_killed_inside_a_change_leaves_what_was_before(
    storage: Storage, moment: str
) -> None:
    if moment == "later":
        storage.update(answered)
    before = storage.read()
    code = """
def die(memory):
    os.kill(os.getpid(), signal.SIGKILL)
storage.update(die)
"""

    assert python(code, storage).wait(60) == -signal.SIGKILL
    assert storage.read() == before
    assert len(storage.update(answered).ledger) == 2


@pytest.mark.parametrize(
    "call", ["fsync", "replace", "write", "unlink"], ids=lambda call: f"before_{call}"
)
def test_a_kill_at_any_step_of_the_first_change_loses_nothing(storage: Storage, call: str) -> None:
    """The key is made, and then the first document: at no step between is the device locked out."""
    code = """
target = {"fsync": (os, "fsync"), "replace": (Path, "replace"), "unlink": (Path, "unlink"),
          "write": (os, "open")}[sys.argv[3]]
def die(*arguments, **options):
    os.kill(os.getpid(), signal.SIGKILL)
def answered_and_die(memory):
    setattr(*target, die)
    return answered(memory)
storage.update(answered_and_die)
"""

    assert python(code, storage, call).wait(60) == -signal.SIGKILL
    assert len(storage.read().ledger) == (2 if call == "replace" else 0)
    assert len(storage.update(answered).ledger) == 2
