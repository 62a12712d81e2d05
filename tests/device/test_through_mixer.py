"""Answers through a mixer: what is charged, kept and sent again."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from fractions import Fraction

import msgspec
import pytest

from deniably.core.coins import Coins
from deniably.core.errors import BadAnswer, BudgetSpent, Refused
from deniably.core.loss import Loss
from deniably.device.ledger import Limits, accounts, ledger_entry, share, spent, total_loss
from deniably.device.memory import (
    Memory,
    StoredReport,
    answer,
    fresh_questions,
    mark_sent,
    read_memory,
    replace,
)
from deniably.device.through_mixer import Envelopes, answer_through_mixer
from deniably.survey.report import Report
from deniably.survey.survey import Survey, as_survey
from spec.cases.mixers import EIGHT, SIGNING, mixed
from spec.cases.questions import YES_NO, changed, condition, survey

SURVEY = as_survey(mixed(YES_NO, EIGHT))
ANSWERS = {"a": "yes", "e": "no"}
AUTHOR = "a1" * 32
CLAIMED = Loss(exponent=Fraction("1.0986"), delta=Fraction(1, 10**6))


def seal(reports: Sequence[Report]) -> Envelopes:
    """No envelopes, but bytes that show which reports they are of."""
    inner = [report.canonical for report in reports]
    return Envelopes(b"to the mixer" + b"".join(inner), inner)


EMPTY, USUAL = Memory(), Limits()


def answered(
    memory: Memory = EMPTY,
    limits: Limits = USUAL,
    coins: Coins | None = None,
    of: Survey = SURVEY,
) -> Memory:
    answers = {question.name: "yes" for question in of.questions}
    return answer_through_mixer(
        memory, of, answers, seal, day="2026-11-21", limits=limits, author=AUTHOR, coins=coins
    )


def no_coins(size: int) -> bytes:
    raise AssertionError("a coin is thrown")


def test_the_memory_keeps_the_envelope_and_the_hashes_of_those_in_it() -> None:
    sealed: list[Envelopes] = []

    def watched(reports: Sequence[Report]) -> Envelopes:
        sealed.append(seal(reports))
        return sealed[0]

    memory = answer_through_mixer(
        Memory(), SURVEY, ANSWERS, watched, day="2026-11-21", limits=Limits()
    )

    kept = memory.reports[SURVEY.digest]
    assert kept.body == sealed[0].outer
    assert kept.inner == sorted(hashlib.sha256(each).hexdigest() for each in sealed[0].inner)
    assert not kept.sent
    assert kept.report is None
    assert memory.report(SURVEY.digest) is None
    assert read_memory(memory.canonical) == memory


def test_the_first_entry_has_the_whole_claim_and_the_others_nothing() -> None:
    first, second = answered().ledger

    assert [first.loss, second.loss] == [Loss(Fraction(3)), Loss(Fraction(8))]
    assert [first.counts("server"), second.counts("server")] == [CLAIMED, Loss()]
    assert msgspec.to_builtins(first.mixed) == {
        "epsilon": "5493/5000",
        "delta": "1/1000000",
        "mixer": SIGNING,
    }


def test_the_two_accounts_count_the_same_entries_differently() -> None:
    ledger = answered().ledger

    assert spent(ledger, SURVEY.digest, AUTHOR) == dict.fromkeys(
        ("survey", "author", "overall"), CLAIMED
    )
    assert spent(ledger, SURVEY.digest, AUTHOR, account="together") == dict.fromkeys(
        ("survey", "author", "overall"), Loss(Fraction(24))
    )
    assert share(total_loss(ledger), "survey", Limits()) == 22
    assert share(total_loss(ledger, "together"), "survey", Limits(), "together") == 13


def test_who_never_met_a_mixer_has_one_account() -> None:
    entry = ledger_entry("2026-11-21", "", "s", "0" * 64, "a", Loss(Fraction(3)))

    assert accounts([entry]) == ("server",)
    assert accounts([entry], answered().ledger) == ("server", "together")
    assert "mixed" not in msgspec.to_builtins(entry)


def test_a_second_time_the_same_bytes_are_sent_and_nothing_is_charged() -> None:
    memory = answered()

    assert answered(memory, coins=Coins(no_coins)) is memory
    assert fresh_questions(memory, SURVEY, SURVEY.questions) == []


def test_what_was_sealed_cannot_be_changed() -> None:
    with pytest.raises(BadAnswer, match="what was sealed for a mixer stays as it is"):
        fresh_questions(answered(), SURVEY, SURVEY.questions, changed=["a"])


def test_the_envelope_that_was_sent_is_marked_so() -> None:
    memory, version = answered(), SURVEY.digest
    body = memory.reports[version].body

    assert mark_sent(memory, version, body).reports[version].sent
    assert mark_sent(memory, version, b"another") is memory


TWELVE = as_survey(mixed(*(changed(EIGHT, name=f"q{i}") for i in range(12)), name="twelve"))
THIRTEEN = as_survey(mixed(*(changed(EIGHT, name=f"q{i}") for i in range(13)), name="more"))


def test_servers_alone_are_looked_at_first() -> None:
    with pytest.raises(BudgetSpent) as refused:
        answered(limits=Limits.of("1"), coins=Coins(no_coins), of=THIRTEEN)

    assert refused.value.scope == "survey"
    assert not refused.value.together
    assert refused.value.limit == 1


def test_thirteen_questions_with_odds_8_are_too_many_together() -> None:
    with pytest.raises(BudgetSpent) as refused:
        answered(coins=Coins(no_coins), of=THIRTEEN)

    assert refused.value.together
    assert str(refused.value) == (
        "this device has given away at most epsilon 0.00 in this survey if mixers work together"
        " with servers, and this would add 27.04: more than its limit of 25"
    )


def test_twelve_are_not_and_of_one_author_two_such_surveys_are_the_most() -> None:
    memory = answered(of=TWELVE)
    entries = [msgspec.structs.replace(each, version="9" * 64) for each in memory.ledger]
    once, twice = (replace(Memory(), ledger=(*entries,) * times) for times in (1, 2))

    assert len(answered(once, of=TWELVE).ledger) == 24
    with pytest.raises(BudgetSpent) as refused:
        answered(twice, of=TWELVE)
    assert (refused.value.scope, refused.value.together) == ("author", True)
    assert refused.value.until == "2027-11-21"


def test_an_owner_who_sets_larger_limits_has_them_in_both_accounts() -> None:
    assert len(answered(limits=Limits.of("28"), of=THIRTEEN).ledger) == 13


def test_hidden_questions_are_sealed_like_all_others() -> None:
    later = changed(EIGHT, type="select_one", show_if=condition("a", "no"))
    later["choices"] = [*later["choices"], {"name": "not_applicable", "label": "N"}]
    later["mechanism"] = later["mechanism"] | {"k": 3}
    memory = answered(of=as_survey(mixed(YES_NO, later)))

    assert len(next(iter(memory.reports.values())).inner or []) == 2


def test_a_device_does_not_answer_such_a_survey_with_one_report() -> None:
    with pytest.raises(Refused, match="sealed for its mixer"):
        answer(Memory(), SURVEY, ANSWERS, day="2026-11-21", limits=Limits(), coins=Coins(no_coins))


def test_only_a_survey_with_a_mixer_is_answered_so() -> None:
    with pytest.raises(ValueError, match="no mixer"):
        answered(of=as_survey(survey(EIGHT)))


@pytest.mark.parametrize(
    "parts", [{}, {"text": "{}", "sealed": "00"}, {"sealed": "00"}, {"inner": ["0" * 64]}]
)
def test_either_a_report_is_kept_or_an_envelope(parts: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="either the text"):
        StoredReport(sent=False, **parts)  # type: ignore[arg-type]
