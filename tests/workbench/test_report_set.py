"""The set of a survey's reports: the server's counts, whatever the ids and the order were."""

from __future__ import annotations

import json
from random import Random

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniably
from deniably.authoring.compiling import compile_survey
from deniably.core.errors import BadReport
from deniably.mechanisms.law import Supporting
from deniably.simulation.reports import randomise, simulate_people, tally
from deniably.survey.report import randomise_answers
from deniably.survey.survey import Survey
from deniably.workbench.files.report_lines import ndjson_of, read_ndjson
from deniably.workbench.files.tables import csv_of
from deniably.workbench.ordering import in_order, sorted_blocks
from deniably.workbench.packing import layout
from deniably.workbench.report_columns import columns_of
from deniably.workbench.report_set import ReportSet, of_simulation, report_set
from support.every_type import somebody, survey_of_everything

EVERYTHING = survey_of_everything()
SOME = survey_of_everything(
    ask=3,
    questions=[
        {key: value for key, value in one.items() if key != "show_if"}
        for one in msgspec.to_builtins(EVERYTHING)["questions"]
    ],
)
SITES = survey_of_everything(
    strata={"site": ["north", "south", "row"], "row": ["day", "night"]},
)


def sent(survey: Survey, count: int, seed: int = 1) -> list[bytes]:
    """Reports as devices send them, in the order of arrival."""
    random = Random(seed)
    people = (somebody(random) for _ in range(count))
    return [
        randomise_answers(survey, one, strata=random.choice(survey.every_stratum)).canonical
        for one in people
    ]


def shown(found: ReportSet) -> bytes:
    rows = [found.rows]
    return b"".join(csv_of(found.columns, rows)) + b"".join(ndjson_of(found.layout, rows))


FORTY = {survey.digest: sent(survey, 40) for survey in (EVERYTHING, SITES)}


@pytest.fixture(scope="module", params=[EVERYTHING, SOME, SITES], ids=["all", "some", "sites"])
def reports(request: pytest.FixtureRequest) -> tuple[Survey, list[bytes]]:
    return request.param, sent(request.param, 300)


def test_its_tally_is_the_tally_of_the_reports(reports: tuple[Survey, list[bytes]]) -> None:
    survey, lines = reports
    found = read_ndjson(survey, lines).tally()

    for question in survey.questions:
        values = [json.loads(line)["values"].get(question.name) for line in lines]
        cells = [cell for value in values if value for cell in value]
        assert found[question.name].n == sum(value is not None for value in values)
        assert found[question.name].cells() == {cell: cells.count(cell) for cell in set(cells)}


@settings(max_examples=20, deadline=None)
@given(
    survey=st.sampled_from([EVERYTHING, SITES]),
    order=st.permutations(range(40)),
    ids=st.randoms(use_true_random=False),
)
def test_other_ids_and_another_order_of_arrival_leave_every_byte_as_it_was(
    survey: Survey, order: list[int], ids: Random
) -> None:
    lines = FORTY[survey.digest]
    others = [json.loads(lines[at]) | {"id": f"{ids.getrandbits(128):032x}"} for at in order]

    again = read_ndjson(survey, [json.dumps(one).encode() for one in others])
    assert shown(again) == shown(read_ndjson(survey, lines))


def test_nothing_but_the_values_is_in_an_export(reports: tuple[Survey, list[bytes]]) -> None:
    survey, lines = reports
    text = shown(read_ndjson(survey, lines))

    for line in lines:
        assert json.loads(line)["id"].encode() not in text
    assert survey.digest.encode() not in text


def test_rows_are_sorted_by_content_and_numbered(reports: tuple[Survey, list[bytes]]) -> None:
    survey, lines = reports
    rows = [json.loads(line) for line in _lines(read_ndjson(survey, lines))]

    assert [row["row"] for row in rows] == list(range(1, 301))
    keys = {"row", "randomised", *(["strata"] if survey.strata else [])}
    assert all(set(row) == keys for row in rows)
    one = read_ndjson(survey, lines).rows.tobytes()
    width = read_ndjson(survey, lines).layout.width
    kept = [one[at : at + width] for at in range(0, len(one), width)]
    assert kept == sorted(kept)


def test_lines_come_back_as_the_same_set(reports: tuple[Survey, list[bytes]]) -> None:
    survey, lines = reports
    found = read_ndjson(survey, lines)

    assert read_ndjson(survey, _lines(found)) == found
    assert sorted(json.dumps(json.loads(line)["values"], sort_keys=True) for line in lines) == [
        *sorted(json.dumps(json.loads(one)["randomised"], sort_keys=True) for one in _lines(found))
    ]


def test_columns_come_back_as_the_same_set(reports: tuple[Survey, list[bytes]]) -> None:
    survey, lines = reports
    found = read_ndjson(survey, lines)
    columns = found.columns
    filled = dict(zip(columns.names, columns.filled(found.rows), strict=True))

    assert np.array_equal(columns.pack(filled), found.rows)


def test_a_column_of_a_choice_counts_the_reports_that_name_it() -> None:
    found = read_ndjson(EVERYTHING, sent(EVERYTHING, 200))

    for column in columns_of(layout(EVERYTHING)).columns:
        law = column.question.mechanism.law
        if column.kind == "named" and isinstance(law, Supporting) and not law.both:
            assert set(found.column(column.name).values.tolist()) <= {0, 1}
            counts = found.tally()[column.question.name].counts
            assert found.column(column.name).values.sum() == counts[column.place]


def test_the_names_of_columns_are_those_of_the_questions_and_choices() -> None:
    names = columns_of(layout(EVERYTHING)).names

    assert names[:3] == ["stolen", "stolen__yes", "stolen__no"]
    assert {"drugs__cannabis", "worries__love", "hours__work", "home__0_7"} <= {*names}
    assert {"vote", "vote__party", "vote__union", "vote__red_yes", "drinks", "sick"} <= {*names}
    assert len({name.casefold() for name in names}) == len(names)


def test_names_that_would_be_the_same_are_told_apart() -> None:
    questions = [
        {"name": "a", "label": "A", "type": "select_one", "choices": ["b", "c"], "odds": 3},
        {"name": "a__b", "label": "AB", "type": "yes_no", "odds": 3},
        {"name": "row", "label": "Row", "type": "yes_no", "odds": 3},
    ]
    survey = compile_survey({"name": "s", "title": "T", "questions": questions})

    assert columns_of(layout(survey)).names == [
        "a", "a__b", "a__c", "a__b_2", "a__b__yes", "a__b__no", "row_2", "row__yes", "row__no",
    ]  # fmt: skip


def test_what_the_link_said_stands_beside_each_report_and_is_not_randomised() -> None:
    lines = FORTY[SITES.digest]
    found = read_ndjson(SITES, lines)

    said = sorted(json.loads(line)["strata"].items() for line in lines)
    rows = [
        {"site": site, "row": row}
        for site, row in zip(*(found.strata[key] for key in ("site", "row")), strict=True)
    ]
    assert sorted(sorted(one.items()) for one in rows) == sorted(sorted(one) for one in said)
    assert found.columns.names[:3] == ["row_2", "site", "stolen"]
    assert [SITES.strata["site"][code] for code in found.column("site").values] == found.strata[
        "site"
    ]  # type: ignore[index]
    assert "not randomised" in found.columns.strata[0].title


def test_a_set_without_its_strata_has_the_same_other_columns_in_an_order_of_their_own() -> None:
    lines = [json.loads(line) for line in FORTY[SITES.digest]]
    found = read_ndjson(SITES, FORTY[SITES.digest])
    bare = read_ndjson(SITES, [json.dumps({"values": one["values"]}).encode() for one in lines])

    assert bare != found
    assert bare.strata == {}
    assert bare.columns.names == found.columns.names[2:]
    assert bare.tally() == found.tally()
    assert np.array_equal(bare.rows, in_order(found.rows[:, 1:]))
    assert json.loads(_lines(bare)[0]).keys() == {"row", "randomised"}


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([b'{"strata": {"site": "north"}, "values": {}}'], "line 1: .*no such stratum"),
        ([b'{"strata": {"site": "x", "row": "day"}, "values": {}}'], "no such stratum"),
        ([b'{"strata": ["site"], "values": {}}'], "line 1"),
        (
            [FORTY[SITES.digest][0], FORTY[SITES.digest][1].replace(b"strata", b"strata_")],
            "line 2: .*others none",
        ),
    ],
)
def test_strata_that_no_link_says_are_refused(lines: list[bytes], why: str) -> None:
    with pytest.raises(BadReport, match=why):
        read_ndjson(SITES, lines)


def test_simulated_reports_have_the_tally_of_the_simulation() -> None:
    for survey in (EVERYTHING, SOME):
        simulated = randomise(simulate_people(survey, 200))

        found = of_simulation(simulated)
        assert found.tally() == tally(simulated) == deniably.tally(simulated)
        assert len(found) == 200


@pytest.mark.parametrize("room", [1, 100, 5_000, 1 << 24])
def test_a_sort_in_little_room_is_the_same(room: int) -> None:
    rows = of_simulation(randomise(simulate_people(EVERYTHING, 500))).rows
    mixed = rows[np.argsort(np.arange(500) * 7919 % 500)]
    blocks = [mixed[:13], mixed[13:200], mixed[200:200], mixed[200:]]

    found = [*sorted_blocks(blocks, rows.shape[1], room)]
    assert np.array_equal(np.vstack(found), rows)
    assert np.array_equal(in_order(mixed), rows)


def test_a_set_of_nobody_is_empty() -> None:
    found = report_set(layout(EVERYTHING), [])

    assert len(found) == 0
    assert {one.n for one in found.tally().values()} == {0}
    assert shown(found).count(b"\n") == 1


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"{", "line 1: "),
        (b"[]", "line 1: "),
        (b'{"row": 1}', "randomised or values"),
        (b'{"values": []}', "integers by question"),
        (b'{"values": {"nobody": [1]}}', "no question nobody"),
        (b'{"values": {"stolen": [2]}}', "from 0 to 1"),
        (b'{"values": {"stolen": [true]}}', "list of integers"),
        (b'{"values": {"stolen": "0"}}', "list of integers"),
        (b'{"values": {"stolen": [0]}}', "values of 14 questions"),
        (b'{"survey": "0", "values": {}}', "another survey"),
    ],
)
def test_a_line_that_is_no_report_is_refused(line: bytes, why: str) -> None:
    with pytest.raises(BadReport, match=why):
        read_ndjson(EVERYTHING, [line])


def _lines(found: ReportSet) -> list[bytes]:
    return b"".join(ndjson_of(found.layout, [found.rows])).splitlines()
