"""A device with little of its budget left, in Python and in the terminal."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner

from deniably.authoring.compiling import publish_text
from deniably.core.errors import BudgetSpent
from deniably.core.loss import Loss
from deniably.device.ledger import ledger_entry
from deniably.device.memory import replace
from deniably.wording.words import LANGUAGES, Words
from deniably_client import Device
from deniably_client.storage import Storage
from deniably_client.terminal import answer
from support.material import Server

DAY = "2999-01-01"
TEXT = """
name: w
title: At work
part: true
results: {minimum: 1, while_open: false}
questions:
  - {name: a, type: yes_no, label: First, odds: 2}
  - {name: b, type: yes_no, label: Second, odds: 2}
  - {name: c, type: yes_no, label: Third, odds: 2}
"""
SURVEY = publish_text(TEXT)
WHOLE = publish_text(
    TEXT.replace("name: w\n", "name: whole\n").replace("part: true\n", "part: false\n")
)
ANSWERS = {"a": "yes", "b": "no", "c": "yes"}


def spent(storage: Storage, epsilon: str) -> None:
    """Charge another author's survey with so much."""
    loss = Loss(Fraction(1), Fraction(epsilon), Fraction(0))
    entry = ledger_entry(DAY, "", "other", "e" * 64, "q", loss)
    storage.update(lambda memory: replace(memory, ledger=(*memory.ledger, entry)))


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    storage = Storage(tmp_path / "device")
    spent(storage, "18.5")  # 1.5 of 20 are left: two questions of 0.693
    return storage


def test_a_part_is_taken_on_request_alone(server: Server, storage: Storage) -> None:
    server.publish(SURVEY)
    url = f"{server.url}/s/w"
    with pytest.raises(BudgetSpent):
        Device(url, memory=storage).answer(ANSWERS)

    device = Device(url, memory=storage)
    part = [question.name for question in device.take_part()]
    again = [question.name for question in Device(url, memory=storage).take_part()]
    receipt = device.answer({name: ANSWERS[name] for name in part})

    assert len(part) == 2
    assert again == part
    assert list(receipt.losses) == part
    memory = storage.read()
    assert not memory.orders
    assert [entry.question for entry in memory.ledger[1:]] == part
    (known, _) = Device(url, memory=storage).known
    Device(url, memory=storage).answer({known.name: "no"})  # the stored one again, and no charge
    assert storage.read().ledger == memory.ledger


def test_no_part_where_all_fits_or_the_author_allows_none(server: Server, tmp_path: Path) -> None:
    server.publish(SURVEY)
    server.publish(WHOLE)
    storage = Storage(tmp_path / "other")

    assert len(Device(f"{server.url}/s/w", memory=storage).take_part()) == 3
    spent(storage, "19")
    with pytest.raises(BudgetSpent):
        Device(f"{server.url}/s/whole", memory=storage).take_part()
    spent(storage, "0.9")
    with pytest.raises(BudgetSpent):
        Device(f"{server.url}/s/w", memory=storage).take_part()


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_terminal_tells_before_it_asks(
    server: Server, storage: Storage, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.publish(SURVEY)
    monkeypatch.setenv("DENIABLY_HOME", str(storage.folder))
    words = Words(language)

    done = CliRunner().invoke(answer, [f"{server.url}/s/w", "--language", language], input="1\n2\n")

    told = words("part.told", count=2, all=3)
    assert told in done.output, done.output
    asked = [done.output.index(label) for label in ("First", "Second", "Third")
             if label in done.output]  # fmt: skip
    assert len(asked) == 2
    assert done.output.index(told) < min(asked)
