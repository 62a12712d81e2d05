"""Many reports in one request: each line has its own outcome, and all rules of single reports."""

from __future__ import annotations

import io
import json
import secrets
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, cast

import pytest
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import example, given
from hypothesis import strategies as st

from deniably.survey.report import LARGEST_BODY, Report
from deniably.survey.survey import Survey
from deniably_server.api import report_lines
from deniably_server.api.report_lines import take_lines
from deniably_server.storage.store import Store
from deniably_server.storage.writing import commit
from support.cases import for_each
from support.material import (
    Server,
    a_report,
    assert_problem,
    lines_headers,
    new_token,
    signed,
    survey_named,
)

SURVEY = survey_named()
SOME = survey_named("some", ask=1)
DIVIDED = survey_named("divided", part=True)


@pytest.fixture
def store(address: str) -> Iterator[Store]:
    with closing(Store(address)) as store:
        for survey in (SURVEY, SOME):
            store.publish(survey, signed(survey))
        yield store


def body(*reports: Report | bytes) -> bytes:
    texts = [each if isinstance(each, bytes) else each.canonical for each in reports]
    return b"\n".join(texts) + b"\n"


def taken(store: Store, *reports: Report | bytes) -> dict[str, Any]:
    return take_lines(store, SURVEY, io.BytesIO(body(*reports))).document


def test_every_line_is_stored_and_counted(store: Store) -> None:
    reports = [a_report(SURVEY, stolen=[n % 2], often=[n % 3, 4]) for n in range(500)]

    assert taken(store, *reports) == {
        "read": 500, "ended": False, "stored": 500, "lines": [(1, 500, "stored")], "refusals": [],
    }  # fmt: skip

    tally = store.tally("workplace")
    assert tally == store.recount("workplace")
    assert tally["stolen"].counts.tolist() == [250, 250]
    assert tally["often"].counts.tolist() == [167, 167, 166, 0, 500]


def test_a_batch_that_is_sent_again_counts_once(store: Store) -> None:
    reports = [a_report(SURVEY) for _ in range(50)]
    store.add(SURVEY, reports[7])

    first = taken(store, *reports[:40])
    again = taken(store, *reports)

    assert (first["stored"], first["stored before"]) == (39, 1)
    assert again["lines"] == [(1, 40, "stored before"), (41, 50, "stored")]
    assert store.tally("workplace")["stolen"].n == 50
    assert store.tally("workplace") == store.recount("workplace")


def test_each_line_has_its_own_outcome(store: Store) -> None:
    good, twin = a_report(SURVEY, stolen=[1]), a_report(SURVEY)
    other = Report(good.id, good.survey, good.values | {"stolen": [0]})  # sorts before it
    spaced = json.dumps(json.loads(a_report(SURVEY).canonical), indent=None).encode()
    wrong = a_report(survey_named("another"))
    bad = a_report(SURVEY, often=[3, 1])
    repeated = a_report(SURVEY).canonical.replace(
        b'"survey"', f'"survey":"{SURVEY.digest}","survey"'.encode(), 1
    )

    found = taken(
        store, good, twin, b"", twin, other, spaced + b"\r", b"{", wrong, bad, b"\xff", repeated,
        b" " * (LARGEST_BODY + 1), a_report(SURVEY),
    )  # fmt: skip

    assert found["lines"] == [
        (1, 2, "stored"), (3, 3, "empty"), (4, 4, "stored before"), (5, 5, "conflict"),
        (6, 6, "stored"), (7, 12, "refused"), (13, 13, "stored"),
    ]  # fmt: skip
    assert [(each["line"], each["type"]) for each in found["refusals"]] == [
        (7, "/problems/malformed"), (8, "/problems/wrong-digest"), (9, "/problems/bad-report"),
        (10, "/problems/malformed"), (11, "/problems/malformed"), (12, "/problems/too-large"),
    ]  # fmt: skip
    assert found["refusals"][2]["path"] == "$.values.often"
    assert store.tally("workplace")["stolen"].n == 4
    assert store.tally("workplace") == store.recount("workplace")


@for_each("value", ["[0,1,2]", "[1,0]", "[00,1]", "[0,1,]", "[]", "[0,9]", "[-1,0]"])
def test_a_value_that_no_device_makes_is_refused_in_a_batch_too(store: Store, value: str) -> None:
    line = a_report(SURVEY, often=[0, 1]).canonical.replace(b"[0,1]", value.encode())

    found = taken(store, a_report(SURVEY), line)

    assert (found["stored"], found["refused"]) == (1, 1)


def test_of_surveys_that_ask_some_questions_each_counts_where_it_answers(store: Store) -> None:
    reports = [a_report(SOME) for _ in range(30)]
    for index, report in enumerate(reports):
        del report.values["often" if index % 3 == 0 else "stolen"]

    found = take_lines(store, SOME, io.BytesIO(body(*reports))).document

    assert found["stored"] == 30
    counted = {name: tally.n for name, tally in store.tally("some").items()}
    assert counted == {"stolen": 10, "often": 20}
    assert store.tally("some") == store.recount("some")


def test_a_closed_survey_takes_nothing_new(store: Store) -> None:
    old = a_report(SURVEY)
    store.add(SURVEY, old)
    store.close_survey("workplace")

    found = taken(store, old, a_report(SURVEY))

    assert found["lines"] == [(1, 1, "stored before"), (2, 2, "closed")]


def test_what_is_not_for_this_survey_at_all_is_not_read_to_the_end(store: Store) -> None:
    wrong = a_report(SOME).canonical + b"\n"
    sent = io.BytesIO(wrong * (3 * report_lines._CHUNK // len(wrong)))

    found = take_lines(store, SURVEY, sent).document

    assert (found["read"], found["refused"], found["ended"]) == (1000, 1000, True)
    assert sent.read(1), "the rest is left unread"


def test_a_flood_of_short_lines_ends_soon(store: Store) -> None:
    """What each refusal costs in memory must not be what the sender likes."""
    flood = io.BytesIO(b"x\n" * (report_lines._CHUNK // 2))

    found = take_lines(store, SURVEY, flood).document

    assert found["read"] == len(found["refusals"]) == 1000


@pytest.mark.parametrize("nothing", [b"\n", b"  \r\n"])
def test_a_flood_of_empty_lines_ends_soon(store: Store, nothing: bytes) -> None:
    found = take_lines(store, SURVEY, io.BytesIO(nothing * 5000)).document

    assert (found["read"], found["empty"], found["ended"]) == (1000, 1000, True)


def test_lines_without_end_have_one(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_lines, "_MOST_LINES", 500)
    again = b"\n".join([a_report(SURVEY).canonical, b""] * 300)

    found = take_lines(store, SURVEY, io.BytesIO(again)).document

    assert (found["read"], found["ended"]) == (500, True)


@given(size=st.integers(1, 700), plain=st.booleans())
def test_where_the_lines_are_cut_makes_no_difference(size: int, plain: bool) -> None:
    """However the bytes arrive, the lines are the same."""
    whole = [b"a" * 100, b"", b"b" * 300, b"c"] + ([] if plain else [b"d" * 2_000])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report_lines, "_CHUNK", size)
        patch.setattr(report_lines, "LARGEST_BODY", 256)
        chunks = report_lines._chunks(io.BytesIO(b"\n".join(whole)))
        found = [
            line if len(line) <= 256 else None
            for chunk in chunks
            for line in report_lines._lines(chunk)
        ]

    assert found == [None if len(line) > 256 else line for line in whole]


@given(
    start=st.integers(0, 600),
    gone=st.sampled_from([0, 1, 2, 40]),
    put=st.sampled_from([b"", b" ", b"  ", b"\n", b"A", b"0", b"]", b"\xff", b'"', b"{}"]),
)
@example(start=10, gone=2, put=b"  ")  # bytes.fromhex takes both
@example(start=10, gone=1, put=b"A")
@example(start=0, gone=0, put=b" ")
def test_what_lines_say_is_the_same_however_they_are_read(
    start: int, gone: int, put: bytes
) -> None:
    """At once, which needs canonical lines alone, or one by one."""
    whole = body(a_report(SURVEY), a_report(SURVEY, often=[1, 3]), a_report(SURVEY))
    changed = whole[:start] + put + whole[start + gone :]

    found = [_read(changed, plain=plain) for plain in (True, False)]

    assert found[0] == found[1]


SHORTER = ['"often":[0,1]', '"stolen":[1]']
"""Members of a report that may be left out, with the commas between them."""


@for_each("survey", [SOME, DIVIDED])
@given(
    kept=st.lists(st.sampled_from([*SHORTER, "", ",", ",,", '"stolen":[9]', '"other":[1]']),
                  max_size=4),
    between=st.sampled_from([",", "", ", "]),
)  # fmt: skip
@example(kept=SHORTER, between=",")
@example(kept=SHORTER, between="")
@example(kept=SHORTER[:1], between=",")
@example(kept=SHORTER[1:], between=",")
@example(kept=[*SHORTER[:1], ""], between=",")
@example(kept=["", *SHORTER[1:]], between=",")
@example(kept=SHORTER[::-1], between=",")
@example(kept=[], between=",")
def test_what_shorter_lines_say_is_the_same_however_they_are_read(
    survey: Survey, kept: list[str], between: str
) -> None:
    values = between.join(kept)
    line = f'{{"id":"{"0a" * 16}","survey":"{survey.digest}","values":{{{values}}}}}\n'
    reports = [a_report(survey), a_report(survey)]
    del reports[0].values["often"], reports[1].values["stolen"]
    whole = body(reports[0]) + line.encode() + body(reports[1])

    found = [_read(whole, survey, plain=plain) for plain in (True, False)]

    assert found[0] == found[1]


def test_a_chunk_with_shorter_lines_is_read_at_once() -> None:
    """A part of the questions costs those who sent all nothing."""
    reports = [a_report(DIVIDED), a_report(DIVIDED), a_report(DIVIDED)]
    del reports[0].values["often"], reports[1].values["stolen"]
    reader, batch = report_lines._Reader(cast(Store, None), DIVIDED), commit.BatchWrite(DIVIDED)

    assert reader._all_plain(batch, body(*reports))
    assert [[text != commit.NULL for text in texts] for texts in batch.values] == [
        [True, False, True], [False, True, True],
    ]  # fmt: skip


def test_a_line_that_is_too_long_is_refused_however_it_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    line = body(a_report(SURVEY))
    monkeypatch.setattr(report_lines, "LARGEST_BODY", len(line) - 2)

    for plain in (True, False):
        rows, _, _, refusals = _read(line, plain=plain)
        assert (rows, refusals[0]["type"]) == ([], "/problems/too-large")


def _read(
    chunk: bytes, survey: Survey = SURVEY, *, plain: bool
) -> tuple[list[Any], list[int], bytes, list[Any]]:
    """The rows, their lines, the codes of all lines and the refusals."""
    reader, found = report_lines._Reader(cast(Store, None), survey), report_lines.Outcomes()
    reader._plain = plain
    part = reader.read(chunk, found)
    return part.batch.rows, list(part.waiting), bytes(found.codes), found.refusals


def test_a_failure_in_the_middle_keeps_what_was_committed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports = [a_report(SURVEY) for _ in range(40)]
    monkeypatch.setattr(report_lines, "_CHUNK", 1000)
    real, calls = commit.add_counts, iter(range(99))

    def fail_at_the_third(*arguments: Any) -> None:
        if next(calls) == 2:
            raise OSError("no space left on device")
        real(*arguments)

    monkeypatch.setattr(commit, "add_counts", fail_at_the_third)
    with pytest.raises(Exception, match="could not be stored"):
        taken(store, *reports)
    monkeypatch.undo()

    kept = store.tally("workplace")["stolen"].n
    assert 0 < kept < 40
    assert store.tally("workplace") == store.recount("workplace")
    again = taken(store, *reports)
    assert (again["stored before"], again["stored"]) == (kept, 40 - kept)


# --- on the wire --------------------------------------------------------------------------------


def test_lines_are_sent_as_they_come(serve: Callable[..., Server]) -> None:
    server = serve()
    server.publish(SURVEY)
    reports = [a_report(SURVEY) for _ in range(100)]
    none = survey_named("none")

    def trickle() -> Iterator[bytes]:
        yield from (report.canonical + b"\n" for report in reports)

    chunked = server.send_lines(SURVEY, trickle())
    again = server.send_lines(SURVEY, body(*reports))
    nowhere = server.send_lines(none, body(*reports))

    assert chunked.status_code == again.status_code == 200
    assert chunked.json()["lines"] == [[1, 100, "stored"]]
    assert again.json()["lines"] == [[1, 100, "stored before"]]
    assert nowhere.status_code == 404
    assert nowhere.json()["type"] == "/problems/not-found"


def test_many_reports_come_from_who_has_an_authors_token(
    app: Flask, client: FlaskClient, survey: Survey
) -> None:
    """Of this survey; anybody else's are sent one by one."""
    store = app.extensions["deniably"]
    other = new_token(store, "author", "spring")
    operator = new_token(store, "operator")
    own = new_token(store, "author", survey.name)

    def send(headers: dict[str, str], end: str = "batches", **more: Any) -> Any:
        sent = a_report(survey).canonical + b"\n"
        return client.post(f"/api/surveys/{survey.name}/{end}", data=sent, headers=headers, **more)

    assert_problem(send({"Content-Type": "application/x-ndjson"}), 401, "unauthorised")
    for token in (other, operator):
        assert_problem(send(lines_headers(token)), 403, "forbidden")
    json_ = lines_headers(own) | {"Content-Type": "application/json"}
    assert_problem(send(json_), 415, "unsupported-media-type")
    told = assert_problem(send(lines_headers(own), "reports"), 415, "unsupported-media-type")
    assert f"/api/surveys/{survey.name}/batches" in told["detail"]
    assert store.tally(survey.name)["stolen"].n == 0
    assert send(lines_headers(own)).json["stored"] == 1


def test_a_batch_of_a_hundred_thousand_lines_takes_little_memory(
    serve: Callable[..., Server],
) -> None:
    server = serve()
    server.publish(SURVEY)
    (worker,) = server.workers
    one = a_report(SURVEY).canonical
    many = b"".join(
        one.replace(one[7:39], secrets.token_hex(16).encode()) + b"\n" for _ in range(100_000)
    )
    before = peak(worker)

    found = server.send_lines(SURVEY, many).json()

    assert found["stored"] == 100_000
    assert peak(worker) - before < 200 << 20


def peak(process: int) -> int:
    """The most memory that a process ever had, in bytes."""
    with open(f"/proc/{process}/status", encoding="ascii") as status:
        (line,) = (line for line in status if line.startswith("VmHWM"))
    return int(line.split()[1]) << 10
