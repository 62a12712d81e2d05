"""Attacks on a register of the surveys first, w and last, by its server or a proxy."""

from __future__ import annotations

from deniably.survey.survey import Survey
from support.intercepting_proxy import Entries
from support.keys import key_of
from support.material import signed

STRANGER = key_of(bytes(32))


def entry_of(entries: Entries, name: str = "w") -> dict[str, object]:
    (found,) = (entry for entry in entries if entry["survey"] == name)
    return found


def missing(entries: Entries) -> None:
    """The survey is in the register of nobody else: it was made for one person."""
    entries.remove(entry_of(entries))


def listed_twice(entries: Entries) -> None:
    entries.append(dict(entry_of(entries)))


def smaller_epsilon(entries: Entries) -> None:
    """Others are told that the survey protects better."""
    entry_of(entries)["epsilon"] = "1.10"


def smaller_epsilon_of_a_question(entries: Entries) -> None:
    entry = entry_of(entries)
    entry["questions"] = [
        question | {"epsilon": "0.10"}
        for question in entry["questions"]  # type: ignore[attr-defined]
    ]


def another_mechanism(entries: Entries) -> None:
    entry = entry_of(entries)
    entry["questions"] = [
        question | {"mechanism": "window"}
        for question in entry["questions"]  # type: ignore[attr-defined]
    ]


def a_delta(entries: Entries) -> None:
    entry_of(entries)["delta"] = "0.0001"


def another_version(entries: Entries) -> None:
    """Others are asked another survey of this name."""
    entry_of(entries)["digest"] = "ab" * 32


def a_wrong_signature(entries: Entries) -> None:
    entry = entry_of(entries)
    entry["signature"] = entry_of(entries, "first")["signature"]


def another_author(entries: Entries) -> None:
    """A stranger's name on what the author signed."""
    entry_of(entries)["author"] = STRANGER.author


def a_member_more(entries: Entries) -> None:
    entry_of(entries)["note"] = "for you only"


def no_day(entries: Entries) -> None:
    entry_of(entries)["day"] = "today"


def signed_by_a_stranger(entries: Entries, survey: Survey) -> None:
    """A stranger signs and enters the survey of the author."""
    signature = signed(survey, STRANGER)
    entry_of(entries).update(author=signature.author, signature=signature.value)


def history_rewritten(entries: Entries) -> None:
    """Another survey was there first, all at once."""
    entries[0]["day"] = "2020-02-20"


def cut(entries: Entries) -> None:
    del entries[2:]


def forked(entries: Entries) -> None:
    """What came after the survey is another than this device saw."""
    entries[2]["epsilon"] = "9.99"


FIRST_CONTACT_ATTACKS = {
    missing: "the register does not list the survey w",
    smaller_epsilon: "the register tells others another epsilon",
    smaller_epsilon_of_a_question: "the register tells others another mechanism or epsilon",
    another_mechanism: "the register tells others another mechanism or epsilon",
    a_delta: "the register tells others another delta",
    another_version: "the register shows others another version of this survey",
    a_wrong_signature: "the signature is not this author's",
    another_author: "the signature is not this author's",
    a_member_more: "the register tells others another note",
    no_day: "day is",
}
"""Attacks that a device detects at its first contact -> what it says."""

WHOLE_ATTACKS = FIRST_CONTACT_ATTACKS | {
    listed_twice: "the register lists 2 surveys of the name w",
}
"""Attacks that are detected by whoever reads the whole register -> what it says."""

LATER_ATTACKS = {
    history_rewritten: "the register's history was rewritten",
    cut: "the register was cut",
    forked: "the register's history was rewritten",
}
"""Attacks that a device detects once it saw the true register -> what it says."""
