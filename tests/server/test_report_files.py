"""The reports of a closed survey as files: by its own rule, streamed, and nothing about anybody."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any, NamedTuple

import psycopg
import pytest
import requests
from click.testing import CliRunner
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import EnvironBuilder

from deniably.authoring.compiling import compile_survey
from deniably.survey.report import Report, make_report, randomise_answers
from deniably.survey.survey import Survey
from deniably.workbench.files.arrow import read_parquet
from deniably.workbench.files.folder import read_export
from deniably.workbench.files.report_lines import read_ndjson
from deniably.workbench.files.tables import read_csv
from deniably.workbench.report_columns import note
from deniably_server.api import report_file_making
from deniably_server.api.report_file_making import sorted_reports
from deniably_server.app import create_app
from deniably_server.commands.export import export
from deniably_server.storage.store import Store
from deniably_server.storage.writing.commit import BatchWrite
from deniably_server.web import kept_files
from deniably_server.web.kept_files import KeptFiles
from support.commands import call
from support.every_type import SHAPES, somebody, survey_of_everything
from support.material import Server, assert_problem, new_token, signed
from support.nursery import Nursery
from support.people import answer

FILES = ("reports.csv", "reports.ndjson", "reports.parquet")
EVERYTHING = {"minimum": 5, "while_open": True}
SHORT = {"questions": SHAPES[:2]}
"""For what does not hang on the types of questions: all but a few lines of a file."""


def answers_to(survey: Survey, people: int, random: Random) -> list[dict[str, Any]]:
    """True answers of so many people to the questions that a survey has."""
    names = {one.name for one in survey.questions}
    every = [somebody(random) | {"set": "cannabis"} for _ in range(people)]
    return [{name: said for name, said in one.items() if name in names} for one in every]


def collected(
    store: Store, count: int = 40, *, closed: bool = True, short: bool = False, **results: Any
) -> tuple[Survey, dict[str, str]]:
    """A survey of every type, or a short one, with some reports, and an analyst's headers."""
    questions = SHORT if short else {}
    survey = survey_of_everything(results=EVERYTHING | results, **questions)
    store.publish(survey, signed(survey))
    answer(store, survey, answers_to(survey, count, Random(count)))
    if closed:
        store.close_survey(survey.name)
    return survey, {"Authorization": f"Bearer {new_token(store, 'analyst')}"}


def at(file: str) -> str:
    return f"/api/surveys/everything/{file}"


def test_what_is_given_out_has_the_servers_tally(
    store: Store, client: FlaskClient, tmp_path: Path
) -> None:
    survey, analyst = collected(store)

    table = client.get(at("reports.csv"), headers=analyst, buffered=True)
    lines = client.get(at("reports.ndjson"), headers=analyst, buffered=True)
    arrow = client.get(at("reports.parquet"), headers=analyst, buffered=True)

    assert (table.status_code, table.mimetype) == (200, "text/csv")
    assert "everything-randomised-reports.csv" in table.headers["Content-Disposition"]
    found = read_ndjson(survey, lines.data.splitlines())
    assert found.tally() == store.tally("everything")
    assert read_csv(survey, table.text.splitlines()) == found
    (tmp_path / "reports.parquet").write_bytes(arrow.data)
    assert read_parquet(survey, tmp_path / "reports.parquet") == found
    assert [json.loads(line)["row"] for line in lines.data.splitlines()] == [*range(1, 41)]


def test_other_ids_and_another_order_of_arrival_leave_every_byte_as_it_was(
    store: Store, client: FlaskClient, tmp_path: Path
) -> None:
    """Two servers with the same reports, the second under other ids and the other way round."""
    survey, analyst = collected(store)
    with closing(Store(str(tmp_path / "other.db"))) as other:
        other.publish(survey, signed(survey))
        batch = BatchWrite(survey)
        lines = client.get(at("reports.ndjson"), headers=analyst, buffered=True).data
        for row in map(json.loads, lines.splitlines()):
            batch.add(Report(secrets.token_hex(16), survey.digest, row["randomised"]))
        for column in (batch.keys, *batch.values):
            column.reverse()
        other.begin(batch)
        batch.wait()
        other.close_survey(survey.name)
        theirs = {"Authorization": f"Bearer {new_token(other, 'analyst')}"}
    app = create_app({"DATABASE": str(tmp_path / "other.db"), "TESTING": True})
    for file in FILES:
        one = client.get(at(file), headers=analyst, buffered=True).data
        assert app.test_client().get(at(file), headers=theirs, buffered=True).data == one
    app.extensions["deniably"].close()


@pytest.mark.parametrize("file", FILES)
def test_without_a_token_analysts_files_are_refused(
    store: Store, client: FlaskClient, file: str
) -> None:
    collected(store, short=True)

    assert_problem(client.get(at(file)), 401, "unauthorised")
    for role in ("author", "monitor", "operator"):
        token = {"Authorization": f"Bearer {new_token(store, role)}"}  # type: ignore[arg-type]
        assert_problem(client.get(at(file), headers=token), 403, "forbidden")
    other = {"Authorization": f"Bearer {new_token(store, 'analyst', 'another')}"}
    assert_problem(client.get(at(file), headers=other), 403, "forbidden")


@pytest.mark.parametrize("file", FILES)
def test_public_reports_need_no_token(store: Store, client: FlaskClient, file: str) -> None:
    collected(store, short=True, reports="public")

    assert client.get(at(file), buffered=True).status_code == 200


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize(
    ("rules", "count", "closed", "why"),
    [
        ({"reports": "never"}, 40, True, "never given out"),
        ({}, 40, False, "once the survey is closed"),
        ({"reports": "public"}, 40, False, "once the survey is closed"),
        ({}, 4, True, "from 5 on"),
    ],
)
def test_nothing_is_given_out_before_its_time_or_against_what_was_said(
    store: Store, client: FlaskClient, file: str, rules: Any, count: int, closed: bool, why: str
) -> None:
    _, analyst = collected(store, count, closed=closed, short=True, **rules)

    problem = assert_problem(client.get(at(file), headers=analyst, buffered=True), 403, "hidden")
    assert why in problem["detail"]


@pytest.mark.parametrize("file", FILES)
def test_other_methods_and_queries_are_refused(
    store: Store, client: FlaskClient, file: str
) -> None:
    _, analyst = collected(store, short=True)

    for method in ("POST", "PUT", "PATCH", "DELETE", "TRACE", "OPTIONS", "PROPFIND"):
        assert client.open(at(file), method=method, headers=analyst, buffered=True).status_code in (
            405,
            501,
        )
    head = client.head(at(file), headers=analyst, buffered=True)
    assert (head.status_code, head.data) == (200, b"")
    for _ in range(3):  # no place is lost
        assert client.head(at(file), headers=analyst, buffered=True).status_code == 200
        problem = client.get(f"{at(file)}?order=id", headers=analyst, buffered=True)
        assert_problem(problem, 400, "bad-parameter")
    assert_problem(
        client.get("/api/surveys/nothing/" + file, headers=analyst, buffered=True), 404, "not-found"
    )


def test_who_asks_for_the_header_alone_has_no_file_made(
    store: Store, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its length and its ETag are known once somebody had the file."""
    _, analyst = collected(store, short=True)
    with monkeypatch.context() as patch:
        patch.delattr(report_file_making, "sorted_reports")  # nothing can be made
        before = client.head(at("reports.csv"), headers=analyst | {"Range": "bytes=-0"})
    got = client.get(at("reports.csv"), headers=analyst, buffered=True)
    after = client.head(at("reports.csv"), headers=analyst)

    assert before.status_code == got.status_code == after.status_code == 200
    assert not {"ETag", "Content-Length"} & {*before.headers.keys()}
    assert dict(after.headers) | {"Content-Length": str(len(got.data))} == dict(after.headers)
    said = {"Content-Disposition", "Content-Type", "Deniably-Reports", "Accept-Ranges"}
    for one in said:
        assert before.headers[one] == got.headers[one] == after.headers[one]


def test_a_file_is_made_once_and_kept(
    store: Store, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, analyst = collected(store, short=True)
    made = list[str]()

    def counted(store: Store, places: Any) -> Any:
        made.append(places.survey.name)
        return sorted_reports(store, places)

    monkeypatch.setattr(report_file_making, "sorted_reports", counted)
    answers = [client.get(at(file), headers=analyst, buffered=True) for file in FILES * 3]
    answers += [client.head(at(file), headers=analyst) for file in FILES]

    assert made == ["everything"] * len(FILES)
    for one in answers:
        assert one.content_length == len(one.data) or one.request.method == "HEAD"
        assert one.headers["Accept-Ranges"] == "bytes"
        assert (
            one.headers["ETag"]
            == answers[FILES.index(one.request.path.rpartition("/")[2])].headers["ETag"]
        )


@pytest.mark.parametrize("file", FILES)
def test_a_part_of_a_file_is_exactly_that_part(
    store: Store, client: FlaskClient, file: str
) -> None:
    _, analyst = collected(store, short=True)
    whole = client.get(at(file), headers=analyst, buffered=True)
    size, tag = len(whole.data), whole.headers["ETag"]

    def part(wanted: str, **more: str) -> Any:
        headers = (
            analyst
            | {"Range": wanted}
            | {name.replace("_", "-"): is_ for name, is_ in more.items()}
        )
        return client.get(at(file), headers=headers, buffered=True)

    for wanted, start, stop in (
        ("bytes=0-0", 0, 1),
        ("bytes=7-19", 7, 20),
        ("bytes=100-", 100, size),
        ("bytes=-9", size - 9, size),
        (f"bytes=0-{10 * size}", 0, size),
    ):
        found = part(wanted, If_Range=tag)
        assert (found.status_code, found.data) == (206, whole.data[start:stop]), wanted
        assert found.headers["Content-Range"] == f"bytes {start}-{stop - 1}/{size}"
        assert found.content_length == stop - start
        assert found.headers["ETag"] == tag
    for ignored in (
        "bytes=0-1,3-4",
        "bytes=5-2",
        "bytes=x",
        f"bytes=-{10 * size}",
        "lines=1-2",
        "bytes=",
    ):
        assert (part(ignored).status_code, part(ignored).data) == (200, whole.data), ignored
    assert part("bytes=7-19", If_Range='"another"').data == whole.data
    for beyond in (f"bytes={size}-", "bytes=-0", "bytes = -000"):
        none = part(beyond, If_Range=tag)
        assert_problem(none, 416, "range-not-satisfiable")
        assert none.headers["Content-Range"] == f"bytes */{size}"
        assert part(beyond, If_Range='"another"').data == whole.data
    of_head = client.head(at(file), headers=analyst | {"Range": "bytes=7-19"})
    assert (of_head.status_code, of_head.content_length) == (200, size)
    same = client.get(at(file), headers=analyst | {"If-None-Match": tag}, buffered=True)
    assert (same.status_code, same.data) == (304, b"")


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    "asks",
    [{"Range": "bytes=0-9"}, {"If-None-Match": "*"}, {"If-None-Match": '"x"', "Range": "bytes=0-"}],
)
def test_who_may_not_have_a_file_may_have_no_part_of_it(
    app: Flask, store: Store, client: FlaskClient, method: str, asks: dict[str, str]
) -> None:
    """Also once it was made for others; and what is refused says nothing about it."""
    _, analyst = collected(store, short=True)
    assert client.get(at("reports.csv"), headers=analyst, buffered=True).status_code == 200
    tag = client.head(at("reports.csv"), headers=analyst).headers["ETag"]
    operator = {"Authorization": f"Bearer {new_token(store, 'operator')}"}

    for headers, status in (({}, 401), (operator, 403)):
        refused = client.open(
            at("reports.csv"), method=method, headers=asks | {"If-Range": tag} | headers
        )
        assert refused.status_code == status
        assert not {"ETag", "Content-Range", "Accept-Ranges", "Deniably-Reports"} & {
            *refused.headers.keys()
        }


def test_of_an_open_survey_there_is_no_part(store: Store, client: FlaskClient) -> None:
    _, analyst = collected(store, short=True, closed=False, reports="public")
    for method in ("GET", "HEAD"):
        refused = client.open(at("reports.csv"), method=method, headers={"Range": "bytes=0-9"})
        assert refused.status_code == 403
    hidden = client.get(at("reports.csv"), headers=analyst | {"If-None-Match": "*"})
    assert_problem(hidden, 403, "hidden")


def test_where_the_disk_is_full_nothing_is_left_and_it_is_tried_again(
    store: Store, client: FlaskClient, app: Flask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, analyst = collected(store, short=True)
    report_file_making.keep_report_files(app, tmp_path / "files")
    (tmp_path / "files").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(kept_files.shutil, "disk_usage", lambda _: Room(0))
        refused = client.get(at("reports.csv"), headers=analyst, buffered=True)
        assert_problem(refused, 503, "unavailable")
        assert [*(tmp_path / "files").iterdir()] == []

    assert client.get(at("reports.csv"), headers=analyst, buffered=True).status_code == 200
    (file,) = (tmp_path / "files").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert "everything" not in file.name


class Room(NamedTuple):
    """What a disk has left."""

    free: int


def test_kept_files_take_bounded_room_and_the_oldest_goes_first(tmp_path: Path) -> None:
    files = KeptFiles(tmp_path, maximum=25)
    for number, key in enumerate(("a", "b")):
        files.make(key, [bytes(10)])
        os.utime(next(tmp_path.glob(f"{key}.*")), (number, number))
    assert files.find("a")  # asked for later than b
    files.make("c", [b"0123456789"])

    assert [bool(files.find(key)) for key in "abc"] == [True, False, True]
    with pytest.raises(OSError, match="No space"):
        files.make("d", [bytes(26)])
    assert len([*tmp_path.iterdir()]) == 2


def test_a_file_that_was_left_half_written_is_none_and_goes(tmp_path: Path) -> None:
    files, left = KeptFiles(tmp_path), tmp_path / "abc.part"
    left.write_bytes(b"half")
    assert files.find("abc") is None

    def fails() -> Iterator[bytes]:
        yield b"begun"
        raise MemoryError

    with pytest.raises(MemoryError):
        files.make("abc", fails())
    assert [*tmp_path.iterdir()] == [left]
    os.utime(left, (0, 0))
    assert files.make("abc", [b"whole"]).path.read_bytes() == b"whole"
    assert not left.exists()


@pytest.mark.parametrize("file", FILES)
def test_no_layer_holds_a_whole_file(store: Store, app: Flask, file: str) -> None:
    _, analyst = collected(store)
    environ = EnvironBuilder(path=at(file), headers=analyst).get_environ()

    body = app.wsgi_app(environ, lambda *_: lambda _: None)
    assert not isinstance(body, list | tuple)
    assert b"".join(body)
    body.close()  # type: ignore[attr-defined]


def test_a_server_sends_it_in_pieces_and_whole(
    serve: Callable[..., Server], database: Path
) -> None:
    server = serve()
    store = Store(str(database))
    survey, analyst = collected(store, 3_000, short=True)

    head = requests.head(server.url + at("reports.csv"), headers=analyst, timeout=30)
    assert head.status_code == 200
    assert "Content-Length" not in head.headers, "nothing is made for it"
    with requests.get(server.url + at("reports.csv"), headers=analyst, stream=True) as table:
        assert int(table.headers["Content-Length"]) > 30_000
        rows = b"".join(table.iter_content(None)).decode().splitlines()
    assert len(rows) == 3_001
    assert read_csv(survey, rows).tally() == store.tally("everything")
    store.close()


@pytest.mark.parametrize(
    ("rules", "closed", "shown", "hidden"),
    [
        ({"reports": "public"}, True, "reports.csv", "for analysts"),
        ({}, True, ">Data<", "reports.csv"),
        ({"reports": "never"}, True, "How to read", "/handbook/data"),
        ({"reports": "public", "minimum": 1}, False, "How to read", "/handbook/data"),
    ],
)
def test_the_results_page_leads_to_the_data_where_there_are_some(
    store: Store, client: FlaskClient, rules: Any, closed: bool, shown: str, hidden: str
) -> None:
    collected(store, closed=closed, short=True, **rules)

    page = client.get("/surveys/everything").text
    assert shown in page
    assert hidden not in page


# --- strata ---------------------------------------------------------------------------------------


def of_sites(store: Store, *people: int, short: bool = False) -> tuple[Survey, dict[str, str]]:
    """A closed survey with so many reports of each site, and an analyst's headers."""
    questions = SHORT if short else {}
    survey = survey_of_everything(
        results=EVERYTHING | {"while_open": False}, strata={"site": ["north", "south", "west"]},
        **questions,
    )  # fmt: skip
    store.publish(survey, signed(survey))
    random = Random(1)
    for stratum, count in zip(survey.every_stratum, people, strict=True):
        for answers in answers_to(survey, count, random):
            store.add(survey, randomise_answers(survey, answers, strata=stratum))
    store.close_survey(survey.name)
    return survey, {"Authorization": f"Bearer {new_token(store, 'analyst')}"}


def test_reports_leave_with_their_strata_where_each_may_be_seen(
    store: Store, client: FlaskClient, tmp_path: Path
) -> None:
    survey, analyst = of_sites(store, 5, 6, 7)

    given = {file: client.get(at(file), headers=analyst, buffered=True) for file in FILES}
    found = read_ndjson(survey, given["reports.ndjson"].data.splitlines())
    assert [found.strata["site"].count(site) for site in ("north", "south", "west")] == [5, 6, 7]
    assert read_csv(survey, given["reports.csv"].text.splitlines()) == found
    (tmp_path / "reports.parquet").write_bytes(given["reports.parquet"].data)
    assert read_parquet(survey, tmp_path / "reports.parquet") == found
    for number, site in enumerate(("north", "south", "west")):
        lines = [
            line for line in given["reports.ndjson"].data.splitlines()
            if json.loads(line)["strata"] == {"site": site}
        ]  # fmt: skip
        assert read_ndjson(survey, lines).tally() == store.shown_tally("everything", [number])
    for one in (*given.values(), client.head(at("reports.csv"), headers=analyst)):
        assert one.headers["Deniably-Strata"] == note(found.layout)
        assert one.headers["Deniably-Reports"] == "18"
    assert note(found.layout) in client.get("/surveys/everything").text, "and the page says so"


@pytest.mark.parametrize("people", [(4, 20, 20), (20, 20, 0), (1, 1, 20)])
def test_one_small_stratum_leaves_out_all_and_it_is_said_why(
    store: Store, client: FlaskClient, people: tuple[int, ...]
) -> None:
    survey, analyst = of_sites(store, *people, short=True)

    for file in FILES:
        one = client.get(at(file), headers=analyst, buffered=True)
        assert "one has fewer" in one.headers["Deniably-Strata"]
        assert file == "reports.parquet" or not {b"site", b"strata"} & {
            *re.findall(rb"\w+", one.data)
        }
    lines = client.get(at("reports.ndjson"), headers=analyst, buffered=True).data.splitlines()
    found = read_ndjson(survey, lines)
    assert found.tally() == store.tally("everything")
    packed = [row.tobytes() for row in found.rows]
    assert packed == sorted(packed), "the order tells no stratum either"
    assert note(found.layout) in client.get("/surveys/everything").text


@pytest.mark.parametrize(("people", "said"), [((5, 5, 5), "site"), ((5, 5, 4), "one has fewer")])
def test_the_command_says_what_became_of_the_strata(
    store: Store, serve: Callable[..., Server], database: Path, tmp_path: Path,
    people: tuple[int, ...], said: str,
) -> None:  # fmt: skip
    _, analyst = of_sites(store, *people, short=True)
    token = analyst["Authorization"].removeprefix("Bearer ")

    one = call("export", "everything", "--to", tmp_path / "one", "--database", database)
    two = call("export", "everything", "--to", tmp_path / "two", "--server", serve().url,
               "--token", token)  # fmt: skip
    assert (one.returncode, two.returncode) == (0, 0), two.stderr
    assert said in one.stdout.splitlines()[-1]
    assert one.stdout.splitlines()[-1] == two.stdout.splitlines()[-1]
    assert read_export(tmp_path / "one")[0] == read_export(tmp_path / "two")[0]
    assert read_export(tmp_path / "one")[0].layout.stratified is (said == "site")


# --- on a real PostgreSQL -------------------------------------------------------------------------

SITES = {"site": ["north", "south"]}


def wave(number: int, **keys: Any) -> Survey:
    """One wave of a panel with sites, whose devices answer from memos."""
    definition = {
        "name": f"work-{number}", "title": "T", "results": {"minimum": 5}, "strata": SITES,
        "waves": {"panel": "work"},
        "questions": [{"name": "stolen", "type": "yes_no", "label": "Stolen?", "odds": 3}],
    }  # fmt: skip
    return compile_survey(definition | keys)


def answered_twice(store: Store) -> list[Survey]:
    """Two waves of twelve people, six of each site, who answer from the same memos."""
    kept: dict[int, Any] = {}
    waves = [wave(1), wave(2)]
    for survey in waves:
        store.publish(survey, signed(survey))
        for person in range(12):
            stratum = {"site": SITES["site"][person % 2]}
            made = make_report(survey, {"stolen": "yes"}, memos=kept.get(person), strata=stratum)
            kept[person] = made.memos
            store.add(survey, made.report)
        store.close_survey(survey.name)
    return waves


@pytest.fixture
def on_postgres(postgres: str) -> Iterator[Flask]:
    app = create_app({"DATABASE": postgres, "TESTING": True})
    yield app
    app.extensions["deniably"].close()


def test_postgresql_gives_out_the_same_bytes_as_sqlite(
    on_postgres: Flask, store: Store, client: FlaskClient, tmp_path: Path
) -> None:
    other: Store = on_postgres.extensions["deniably"]
    survey, analyst = of_sites(store, 5, 6, 7)
    token = store.tokens()[0]
    other.publish(survey, signed(survey))
    other.add_token(token)
    with closing(store.engine.connect()) as ours:
        rows = ours.execute("SELECT id, report, stratum FROM reports").fetchall()
    for _, text, stratum in reversed(rows):
        values = dict(zip([one.name for one in survey.questions], json.loads(text), strict=True))
        other.add(survey, Report(f"{secrets.randbits(128):032x}", survey.digest, values,
                                 survey.every_stratum[stratum]))  # fmt: skip
    other.close_survey(survey.name)

    for file in FILES:
        one = client.get(at(file), headers=analyst, buffered=True)
        two = on_postgres.test_client().get(at(file), headers=analyst, buffered=True)
        assert (one.status_code, two.status_code) == (200, 200)
        assert two.data == one.data, "other ids, another order of arrival and another database"
        assert two.headers["Deniably-Strata"] == one.headers["Deniably-Strata"]


def test_each_wave_of_a_panel_has_a_file_and_nothing_links_two(
    on_postgres: Flask, postgres: str, tmp_path: Path
) -> None:
    store: Store = on_postgres.extensions["deniably"]
    waves = answered_twice(store)
    analyst = {"Authorization": f"Bearer {new_token(store, 'analyst')}"}

    for survey in waves:
        answer = on_postgres.test_client().get(
            f"/api/surveys/{survey.name}/reports.ndjson", headers=analyst, buffered=True
        )
        lines = [json.loads(line) for line in answer.data.splitlines()]
        assert [set(line) for line in lines] == [{"row", "strata", "randomised"}] * 12
        said = [(line["strata"]["site"], line["randomised"]["stolen"]) for line in lines]
        assert said == sorted(said), "people keep no place from wave to wave"
        to = tmp_path / survey.name
        done = call("export", survey.name, "--to", to, "--database", postgres)
        assert done.returncode == 0, done.stderr
        found = read_export(to)[0]
        assert found.tally() == store.tally(survey.name)
        assert found.strata["site"] == ["north"] * 6 + ["south"] * 6
        assert "one wave of the panel work" in (to / "METHODS.md").read_text()


def test_a_database_that_goes_away_in_the_middle_leaves_nothing_and_it_is_said(
    on_postgres: Flask, postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered_twice(on_postgres.extensions["deniably"])
    read = list[tuple[int, int]]()

    @contextmanager
    def bar() -> Iterator[Callable[[int, int], None]]:
        yield going_away

    def going_away(done: int, of: int) -> None:
        read.append((done, of))
        with psycopg.connect(postgres, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    monkeypatch.setattr("deniably_server.commands.export._bar", bar)
    options = ["work-1", "--to", str(tmp_path / "out"), "--database", postgres]
    done = CliRunner().invoke(export, options)

    assert read == [(12, 12)]
    assert done.exit_code == 1
    assert "the database refuses" in done.stderr
    assert [*tmp_path.iterdir()] == []


def test_several_waves_in_one_file_are_refused_with_the_reason(
    store: Store, database: Path, tmp_path: Path
) -> None:
    answered_twice(store)

    both = call("export", "work-1", "work-2", "--to", tmp_path / "a", "--database", database)
    said = " ".join(both.stderr.split())
    assert both.returncode == 2
    assert "each wave has a file of its own" in said
    assert "would need ids" in said
    assert not (tmp_path / "a").exists()


# --- the command --------------------------------------------------------------------------------


def test_the_command_takes_reports_from_a_server(
    serve: Callable[..., Server], database: Path, tmp_path: Path
) -> None:
    server = serve()
    store = Store(str(database))
    _, analyst = collected(store, short=True)
    token = analyst["Authorization"].removeprefix("Bearer ")
    here = ("--server", server.url)

    done = call("export", "everything", "--to", tmp_path / "out", *here, "--token", token)
    assert done.returncode == 0, done.stderr
    assert "40 randomised reports" in done.stdout
    assert read_export(tmp_path / "out")[0].tally() == store.tally("everything")

    refused = call("export", "everything", "--to", tmp_path / "no", *here)
    assert refused.returncode == 1
    assert "token" in refused.stderr
    assert not (tmp_path / "no").exists()
    store.close()


def test_the_command_takes_the_same_from_the_database(
    store: Store, database: Path, tmp_path: Path
) -> None:
    survey, _ = collected(store)
    to, two = tmp_path / "out", ("--format", "csv,ndjson")

    done = call("export", "everything", "--to", to, *two, "--database", database)
    assert done.returncode == 0, done.stderr
    assert read_export(to)[0].tally() == store.tally("everything")
    design = json.loads((to / "design.json").read_text())
    assert (design["digest"], design["n"]) == (survey.digest, 40)
    assert design["questions"][0]["columns"][1]["p"]["value"] == pytest.approx(0.8807970779)
    assert (to / "results.csv").read_text().count("\n") > 50


@pytest.mark.parametrize(
    ("rules", "count", "closed", "why"),
    [
        ({"reports": "never"}, 40, True, "never given out"),
        ({}, 40, False, "once the survey is closed"),
        ({}, 4, True, "from 5 on"),
    ],
)
def test_the_command_keeps_the_rules_of_the_server(
    store: Store, database: Path, tmp_path: Path, rules: Any, count: int, closed: bool, why: str
) -> None:
    collected(store, count, closed=closed, short=True, **rules)

    done = call("export", "everything", "--to", tmp_path / "out", "--database", database)
    assert (done.returncode, why in done.stderr) == (1, True), done.stderr
    assert not (tmp_path / "out").exists()


def test_a_fault_leaves_nothing_half_written(
    store: Store, database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collected(store, short=True)
    (tmp_path / "place").mkdir()
    to, there = tmp_path / "place" / "out", tmp_path / "place" / "there"
    there.mkdir()

    def wrong(*options: str | Path) -> str:
        done = call("export", "everything", "--database", database, *options)
        assert done.returncode == 1
        return done.stderr

    assert "there is no format docx; there are csv" in wrong("--to", to, "--format", "csv,docx")
    assert "an export replaces nothing" in wrong("--to", there)
    assert "No such file" in wrong("--to", tmp_path / "nowhere" / "out")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("deniably.workbench.files.folder.spreadsheet", full)
    assert "No space left on device; nothing was written" in wrong("--to", to)
    assert [one.name for one in (tmp_path / "place").iterdir()] == ["there"]


class Cut:
    """A server that sends part of what the other one answers, and hangs up."""

    def __init__(self, behind: str, *, chunked: bool, share: float = 0.5) -> None:
        cut = self
        self.asked = 0

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                headers = {"Authorization": self.headers.get("Authorization", "")}
                answer = requests.get(behind + self.path, headers=headers, timeout=30)
                body, whole = answer.content, not self.path.endswith("ndjson")
                if not whole:
                    cut.asked += 1
                    body = body[: body.rindex(b"\n", 0, int(len(body) * share)) + 1]
                self.send_response(answer.status_code)
                for name in ("Content-Type", "Deniably-Reports"):
                    if name in answer.headers:
                        self.send_header(name, answer.headers[name])
                if whole:
                    self.send_header("Content-Length", str(len(body)))
                elif chunked:
                    self.send_header("Transfer-Encoding", "chunked")
                    body = b"%x\r\n%b\r\n" % (len(body), body)
                self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(body)
                self.close_connection = True

            def log_message(self, *_: object) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self) -> Cut:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.mark.parametrize("chunked", [True, False], ids=["noticed by HTTP", "a proxy hid the cut"])
def test_a_connection_cut_in_the_middle_leaves_nothing_and_says_so(
    serve: Callable[..., Server], database: Path, tmp_path: Path, chunked: bool
) -> None:
    server = serve()
    with closing(Store(str(database))) as store:
        _, analyst = collected(store, short=True)
    token = analyst["Authorization"].removeprefix("Bearer ")
    place = tmp_path / "place"
    place.mkdir()

    with Cut(server.url, chunked=chunked) as cut:
        done = call("export", "everything", "--to", place / "out", "--server", cut.url,
                    "--token", token)  # fmt: skip

    assert (done.returncode, cut.asked) == (1, 1)
    assert "was cut" in done.stderr
    assert ("of 40 reports" in done.stderr) is not chunked
    assert done.stdout == ""
    assert [*place.iterdir()] == []


def test_a_bar_on_a_terminal_shows_how_far_it_is_and_elsewhere_nothing(
    store: Store, database: Path, tmp_path: Path, nursery: Nursery
) -> None:
    collected(store, short=True)
    command = ["export", "everything", "--database", str(database), "--to"]
    said, elsewhere = tmp_path / "said", tmp_path / "errors"
    master, slave = os.openpty()  # takes more than is written, before anybody reads
    with closing(os.fdopen(master, "rb", 0)) as terminal:
        shown = nursery.begin([*command, str(tmp_path / "one")], said, Path(os.ttyname(slave)))
        quiet = nursery.begin([*command, str(tmp_path / "two")], said, elsewhere)
        assert (shown.wait(60), quiet.wait(60)) == (0, 0)
        os.close(slave)
        text = b""
        with suppress(OSError):  # a terminal that nobody writes to any more
            while more := terminal.read(4096):
                text += more

    assert b"reading reports" in text
    assert b"100%" in text
    assert b"writing design.json" in text
    assert elsewhere.read_text() == ""


def test_an_export_has_no_trace_of_a_person(store: Store, database: Path, tmp_path: Path) -> None:
    of_sites(store, 13, 13, 14)
    to = tmp_path / "out"
    call(
        "export",
        "everything",
        "--to",
        to,
        "--database",
        database,
        "--format",
        "csv,ndjson,parquet,xlsx,sav,dta",
    )
    ids = [row[0] for row in store.engine.connect().execute("SELECT id FROM reports")]
    store.erase_order("everything")

    files = sorted(to.iterdir())
    done = call("doctor", "--privacy", "--database", database, *files)
    assert done.returncode == 0, done.stdout
    assert len(ids) == 40
    for file in files:
        text = file.read_bytes()
        assert not any(one in text or one.hex().encode() in text for one in ids)
