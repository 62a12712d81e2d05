"""Whole reports, made with the system's own coins, are looked at together.

Replays record the coins of a device, which a device could notice; these reports nobody watches.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import pytest
from msgspec.structs import replace

from deniably.audit import survey_audit
from deniably.audit.report_statistics import Counted, count_reports
from deniably.audit.survey_audit import audit_survey
from deniably.authoring.compiling import publish_text
from deniably.core.coins import Coins
from deniably.survey.report import Report, make_report
from deniably.survey.survey import Survey
from support.every_type import survey_of_everything

EVERYTHING = survey_of_everything()
THREE = publish_text(
    "name: s\ntitle: T\nquestions:\n"
    + "".join(f"  - {{name: {name}, type: yes_no, label: Q, odds: 3}}\n" for name in "abc")
)
Said = Mapping[str, object]


def honest(survey: Survey, said: Said) -> Report:
    return make_report(survey, said).report


def with_id(report: Report, found: str) -> Report:
    return replace(report, id=found)


def own_too_often(survey: Survey, said: Said) -> Report:
    """The truth for once in four: 750 too often of 4,000 reports, where 280 are seen and a standard
    error is 50."""
    report = honest(survey, said)
    if Coins().below(4):
        return report
    truth = {one.name: [int(said[one.name] == "no")] for one in survey.questions}
    return replace(report, values=truth)


def one_coin_for_two(survey: Survey, said: Said) -> Report:
    """Each answer alone is right; the first two are mixed by the same coin, now and then."""
    values = dict(honest(survey, said).values)
    if not Coins().below(3):
        told = values["a"][0] == int(said["a"] == "no")
        values["b"] = [int((said["b"] == "no") == told)]
    return replace(honest(survey, said), values=values)


def one_coin_for_three(survey: Survey, said: Said) -> Report:
    """Any two of them are independent of each other: that shows only from all three."""
    signs = [3 * Coins().below(2) for _ in range(2)]
    told = [bool(one) for one in (*signs, signs[0] ^ signs[1])]
    values = {
        one.name: [int((said[one.name] == "no") == kept)]
        for one, kept in zip(survey.questions, told, strict=True)
    }
    return replace(honest(survey, said), values=values)


def answer_in_the_id(survey: Survey, said: Said) -> Report:
    """A bit of the id tells the first report, in some of them."""
    report = honest(survey, said)
    if Coins().below(3):
        return report
    digit = int(report.id[7], 16) & 14 | report.values["a"][0]
    return with_id(report, f"{report.id[:7]}{digit:x}{report.id[8:]}")


def uneven_ids(survey: Survey, said: Said) -> Report:
    report = honest(survey, said)
    return with_id(report, "07"[Coins().below(8) > 1] + report.id[1:])


def the_same_id(survey: Survey, said: Said) -> Report:
    report = honest(survey, said)
    return with_id(report, f"{Coins().below(1000):03x}".zfill(32))


def as_the_one_before() -> Callable[[Survey, Said], Report]:
    """Coins of the report before, in some."""
    told = [True]

    def make(survey: Survey, said: Said) -> Report:
        report = honest(survey, said)
        values = dict(report.values)
        if not Coins().below(3):
            values["a"] = [int((said["a"] == "no") == told[0])]
        told[0] = values["a"][0] == int(said["a"] == "no")
        return replace(report, values=values)

    return make


def test_nothing_is_seen_where_nothing_is_wrong() -> None:
    """In one of a million runs it would be."""
    for survey, n in ((EVERYTHING, 1000), (THREE, 4000)):
        found = count_reports(survey, n)

        assert (found.n, found.fault) == (n, None)
        assert found.tests > 10_000


@pytest.mark.parametrize(
    ("make", "n", "why"),
    [
        (own_too_often, 4000, r"likeliest cell: \+|likeliest cells of"),
        (one_coin_for_two, 2000, "a, .* with b, "),
        (answer_in_the_id, 2000, "a, .* with bit 28 of the id: "),
        (uneven_ids, 2000, "bit . of the id"),
        (the_same_id, 2000, "ids came before"),
        (as_the_one_before(), 2000, "a, .* with a, .* of the report before"),
    ],
)
def test_what_goes_together_is_seen(
    make: Callable[[Survey, Said], Report], n: int, why: str
) -> None:
    """The faintest in as many reports as an audit counts, the others in half of them."""
    fault = count_reports(THREE, n, make).fault

    assert fault is not None
    assert re.search(why, fault), fault


def test_what_only_three_together_show_is_seen() -> None:
    """At odds near 1 each two of three answers are as they must be, nearly."""
    none = publish_text(
        "name: s\ntitle: T\nquestions:\n"
        + "".join(f"  - {{name: {name}, type: yes_no, label: Q, odds: 1.02}}\n" for name in "abc")
    )

    fault = count_reports(none, 2000, one_coin_for_three).fault

    assert fault is not None
    assert fault.count("with") == 2, fault


def test_an_audit_says_what_it_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def counted(survey: Survey) -> Counted:
        return count_reports(survey, make=own_too_often)

    monkeypatch.setattr(survey_audit, "count_reports", counted)

    found = audit_survey(THREE, trials=10, scenarios=1)

    assert found.outcome == "failed"
    assert any(note.startswith("counts: FAILED: of 4,000 reports: ") for note in found.notes)


def test_reports_of_one_answer_by_unary_encoding_are_counted() -> None:
    """Its mechanism takes no choice at all, too, which is no answer to such a question."""
    survey = publish_text(
        "name: s\ntitle: T\nquestions:\n"
        "  - {name: a, type: select_one, label: Q, choices: [A, B, C], odds: 3, mechanism: oue}\n"
    )

    assert count_reports(survey, 200).fault is None


@pytest.mark.soak
def test_a_hundred_honest_runs_accuse_nobody() -> None:
    for _ in range(100):
        assert count_reports(EVERYTHING).fault is None
        assert count_reports(THREE).fault is None
