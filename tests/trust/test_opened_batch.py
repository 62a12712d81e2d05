"""A batch as the survey's server reads it: what it takes, leaves out, and refuses as a whole."""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

import msgspec
import pytest

from deniably.core.errors import BadBatch
from deniably.trust.batch import LARGEST_BATCH, Batch
from deniably.trust.envelope import new_opening_key
from deniably.trust.opened_batch import (
    BatchReader,
    OpenedBatch,
    batch_size,
    check_manifest,
)
from support.passing_on import PassedOn, passed_on, yes_no

SOME = passed_on(blanks=100)


def read(some: PassedOn, batch: Batch, step: int = 1_000) -> OpenedBatch | None:
    check_manifest(some.survey, batch.manifest)
    reader = BatchReader(some.survey, some.opening, batch.manifest)
    for start in range(0, len(batch.envelopes), step):
        reader.add(batch.envelopes[start : start + step])
    return reader.finish()


def taken(some: PassedOn, batch: Batch, **more: Any) -> OpenedBatch:
    found = read(some, batch, **more)
    assert found is not None
    return found


# What is taken -------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [1, 272, 273, 274, 1_000, 1 << 20])
def test_every_report_is_found_in_pieces_of_any_size(step: int) -> None:
    some = passed_on(blanks=4)
    batch = some.batch(people=3)

    found = taken(some, batch, step=step)

    assert found.refused == 0
    assert [sum(each.question == n for each in found.reports) for n in (0, 1)] == [7, 7]
    assert len({each.id for each in found.reports}) == 14


def test_the_list_has_the_digest_of_every_envelope_ascending() -> None:
    envelopes = SOME.envelopes()

    found = taken(SOME, SOME.batch(envelopes))

    assert found.hashes == sorted(hashlib.sha256(each).digest() for each in envelopes)


# What is left out ----------------------------------------------------------------------------


def one_more(fault: bytes) -> OpenedBatch:
    """What is found where one person's first envelope is another one."""
    envelopes = SOME.envelopes()
    return taken(SOME, SOME.batch([fault, *envelopes[1:]]))


def changed(envelope: bytes) -> bytes:
    return envelope[:-1] + bytes([envelope[-1] ^ 1])


@pytest.mark.parametrize(
    ("what", "fault"),
    [
        ("one changed", lambda: changed(SOME.report("a"))),
        ("no point", lambda: bytes(65) + SOME.report("a")[65:]),
        ("to another key", lambda: passed_on().report("a")),
        ("no JSON", lambda: SOME.seal(b"{")),
        ("no report", lambda: SOME.seal(b"[]")),
        ("empty", lambda: SOME.seal(b"")),
        ("of another survey", lambda: SOME.report("a", survey="0" * 64)),
        ("to no question", lambda: SOME.report("c")),
        ("to two questions", lambda: SOME.report("a", values={"a": [0], "b": [0]})),
        ("to none", lambda: SOME.report("a", values={})),
        ("no value", lambda: SOME.report("a", [7])),
        ("a stratum", lambda: SOME.report("a", strata={"site": "north"})),
        ("a time", lambda: SOME.report("a", time=1)),
        ("a huge number", lambda: SOME.report("a", [10**30])),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_what_is_no_report_is_left_out_and_counted(what: str, fault: Any) -> None:
    found = one_more(fault())

    assert found.refused == 1, what
    assert len(found.reports) == len(found.hashes) - 1, "it is on the list all the same"


def test_an_id_counts_once() -> None:
    envelopes = SOME.envelopes()
    twice = [SOME.report("a", id="5e" * 16) for _ in range(2)]

    found = taken(SOME, SOME.batch([*twice, *envelopes[4:], *SOME.person()[1:], SOME.report("b")]))

    assert found.refused == 1
    assert [each.id for each in found.reports].count(bytes.fromhex("5e" * 16)) == 1


def test_nobody_answers_a_question_for_somebody_else() -> None:
    envelopes = SOME.envelopes()
    both = [SOME.report("a"), SOME.report("a")]

    found = taken(SOME, SOME.batch([*both, *envelopes[2:]]))

    assert found.refused == 1
    assert [sum(each.question == n for each in found.reports) for n in (0, 1)] == [105, 104]


def noise(count: int) -> list[bytes]:
    return [secrets.token_bytes(273) for _ in range(count)]


def test_made_up_senders_do_not_void_the_answers_of_all_others() -> None:
    honest = [e for _ in range(SOME.survey.results.minimum) for e in SOME.person()]

    found = taken(SOME, SOME.batch([*SOME.blanks(), *honest, *noise(2_000)], people=1_003))

    assert found.refused == 2_000
    assert [sum(each.question == n for each in found.reports) for n in (0, 1)] == [103, 103]


def test_a_question_that_keeps_too_few_people_voids_the_batch() -> None:
    """Two of five to the second question could be read, and the results need three."""
    honest = [SOME.person() for _ in range(5)]
    envelopes = [e for both in honest[:2] for e in both] + [both[0] for both in honest[2:]]

    with pytest.raises(BadBatch) as refused:
        read(SOME, SOME.batch([*SOME.blanks(), *envelopes, *noise(3)]))
    assert str(refused.value) == (
        "only 102 of its reports to b could be read, and the results need 103: 100 blanks, and"
        " 3 people"
    )


def test_blanks_that_the_mixer_left_out_are_counted_as_what_could_not_be_read() -> None:
    honest = [e for _ in range(150) for e in SOME.person()]

    found = taken(SOME, SOME.batch([*honest, *noise(200)], people=150))

    assert found.refused == 200


# What is refused as a whole ------------------------------------------------------------------


def test_order_of_arrival_is_refused() -> None:
    with pytest.raises(BadBatch, match="do not ascend by their bytes"):
        read(SOME, SOME.signed_as(SOME.envelopes()))


def test_one_twice_is_refused() -> None:
    first, _, *rest = sorted(SOME.envelopes())

    with pytest.raises(BadBatch, match="do not ascend"):
        read(SOME, SOME.signed_as([first, first, *rest]))


def test_another_length_is_refused() -> None:
    longer = passed_on()
    mixer: Any = longer.survey.mixer
    assert mixer.length == 192
    first, second, *rest = sorted(SOME.envelopes())

    with pytest.raises(BadBatch, match=r"do not ascend|could be read"):
        read(SOME, SOME.signed_as([first + bytes(64), second[:-64], *rest]))
    with pytest.raises(BadBatch, match="another number of envelopes"):
        read(SOME, SOME.signed_as([first + bytes(64), second, *rest]))


def test_another_number_of_envelopes_is_refused() -> None:
    envelopes = sorted(SOME.envelopes())

    for some in (envelopes[1:], [b"", *envelopes, b"\xff" * 273]):
        with pytest.raises(BadBatch, match="another number of envelopes"):
            read(SOME, SOME.signed_as(some, envelopes=len(envelopes)))


def test_bytes_that_the_mixer_did_not_sign_are_nobodys_fault() -> None:
    batch = SOME.batch()
    other = SOME.signed_as(SOME.envelopes())

    for body in (changed(batch.envelopes), batch.envelopes[:-1], other.envelopes, b""):
        assert read(SOME, Batch(batch.manifest, batch.signature, [body])) is None


def test_another_key_opens_nothing() -> None:
    batch = SOME.batch()
    thief = PassedOn(SOME.survey, SOME.signing, new_opening_key())

    with pytest.raises(BadBatch, match="only 0 of its reports to a could be read"):
        read(thief, batch)


# Manifests -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"blanks": 99}, "has 99 blanks for each question, and the survey promises 100"),
        ({"blanks": 101}, "has 101 blanks"),
        ({"senders": 2}, "has 2 senders, and the survey's results need 3"),
        ({"senders": 4}, "has 210 envelopes; its senders and blanks have 104 .* so 208"),
        ({"envelopes": 209}, "has 209 envelopes"),
        ({"envelopes": -210, "senders": -205}, "has -205 senders"),
        ({"survey": "0" * 64}, "is of another survey"),
        ({"senders": 10**30, "envelopes": 2 * (10**30 + 100)}, "at most 536,870,912 bytes"),
    ],
)
def test_numbers_that_cannot_be_are_refused(changes: dict[str, Any], why: str) -> None:
    manifest = msgspec.structs.replace(SOME.batch().manifest, **changes)

    with pytest.raises(BadBatch, match=why):
        check_manifest(SOME.survey, manifest)


def test_the_largest_batch_has_half_a_gibibyte() -> None:
    some = passed_on(yes_no("a"), blanks=100)
    batch = some.batch(people=5)

    def with_senders(senders: int) -> Any:
        return msgspec.structs.replace(batch.manifest, senders=senders, envelopes=senders + 100)

    most = LARGEST_BATCH // 273 - 100
    check_manifest(some.survey, with_senders(most))
    assert batch_size(some.survey, with_senders(most)) <= LARGEST_BATCH
    with pytest.raises(BadBatch):
        check_manifest(some.survey, with_senders(most + 1))
