"""Lines in the usual forms, packed many at a time, are what they are one by one."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniably.core.errors import BadReport
from deniably.survey.survey import Survey
from deniably.workbench.files.lines import ndjson_of, read_ndjson
from deniably.workbench.files.usual_lines import UsualLines
from deniably.workbench.packing import Layout, Rows, WireBlock, layout
from deniably.workbench.report_set import checked
from support.every_type import SHAPES, sent_lines, survey_of_everything

SITES = {"site": ["north", "south"]}
SURVEYS = {
    "all": survey_of_everything(),
    "strata": survey_of_everything(strata=SITES),
    "some": survey_of_everything(questions=SHAPES[:4], ask=2, strata=SITES),
    "part": survey_of_everything(questions=SHAPES[:4], part=True),
}


LINES = {name: sent_lines(survey, 40) for name, survey in SURVEYS.items()}


def exported(survey: Survey, lines: Sequence[bytes]) -> list[bytes]:
    reports = read_ndjson(survey, lines)
    return b"".join(ndjson_of(reports.layout, [reports.rows])).splitlines(keepends=True)


def spaced(_: Survey, lines: Sequence[bytes]) -> list[bytes]:
    return [json.dumps(json.loads(line)).encode() for line in lines]


def one_by_one(places: Layout, lines: Sequence[bytes]) -> Rows:
    """Raises BadReport for what is no report; of lines that say nothing of strata, without them."""
    found = [json.loads(line) for line in lines]
    if any(("strata" in one) is not places.stratified for one in found):
        raise BadReport("some have strata, and others none", "$")
    survey = places.survey
    values = [checked(survey, one.get("values", one.get("randomised"))) for one in found]
    strata = [survey.stratum_number(one["strata"]) for one in found if places.stratified]
    return places.pack(WireBlock(values, strata if places.stratified else None))


@pytest.mark.parametrize("form", [lambda _, lines: lines, exported, spaced])
@pytest.mark.parametrize("name", [*SURVEYS])
def test_what_devices_send_and_what_exports_have_is_packed_at_once(
    name: str, form: Callable[[Survey, Sequence[bytes]], list[bytes]]
) -> None:
    survey = SURVEYS[name]
    lines, places = form(survey, LINES[name]), layout(survey, stratified=bool(survey.strata))
    usual = UsualLines(places)

    for some in (lines[:30], lines[20:]):  # what was seen before is looked up
        packed = usual.pack(some)
        assert packed is not None
        assert np.array_equal(packed, one_by_one(places, some))


def test_texts_are_forgotten_where_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniably.workbench.files.usual_lines._MOST", 3)
    places = layout(SURVEYS["all"])
    usual = UsualLines(places)

    for at in range(0, 40, 8):
        some = LINES["all"][at : at + 8]
        assert np.array_equal(usual.pack(some), one_by_one(places, some))  # type: ignore[arg-type]


_PIECES = st.sampled_from(
    [b"", b"0", b"1", b"9", b"-", b",", b" ", b"[", b"]", b"{", b"}", b'"', b".5", b"e0", b"null",
     b'"id":"x",', b'"stolen":[1],', b'"x":[0],', b"\\u0030", b"\xff", b"\n", b"north", b"a",
     b"99999999999999999999"]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(
    name=st.sampled_from([*SURVEYS]),
    form=st.sampled_from([lambda _, lines: lines, exported]),
    row=st.integers(0, 3),
    at=st.integers(0, 1_000),
    cut=st.integers(0, 3),
    piece=_PIECES,
)
def test_a_line_that_is_no_report_is_never_packed(
    name: str, form: Callable[..., list[bytes]], row: int, at: int, cut: int, piece: bytes
) -> None:
    """Whatever is changed in a line: it is packed as it is read alone, or left alone."""
    survey = SURVEYS[name]
    lines, places = form(survey, LINES[name][:4]), layout(survey, stratified=bool(survey.strata))
    place = at % len(lines[row])
    lines[row] = lines[row][:place] + piece + lines[row][place + cut :]

    packed = UsualLines(places).pack(lines)

    if packed is not None:
        assert np.array_equal(packed, one_by_one(places, lines))
        assert json.loads(lines[row]).get("survey", survey.digest) == survey.digest
