"""``deniably mix``: a real mixer process on this machine, and codes for people to send with."""

from __future__ import annotations

import http.client
import re
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
import requests
from click.testing import CliRunner, Result

from deniably.trust.invitation_codes import read_code
from deniably.trust.mixer_statement import read_statement
from deniably_server.commands.mix import mix as command
from deniably_server.errors import OtherDatabase
from deniably_server.storage.maintenance.traces import in_file
from deniably_server.storage.mixer_store import MixerStore
from support.crowd import until
from support.mixing import MixerServer, kept_batch, parties
from support.nursery import Nursery

ADDRESS, AGENT = "203.0.113.77", "Mozilla/5.0 (Peculiar; Device 4711)"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "mixer.db"


@pytest.fixture
def serve(database: Path, nursery: Nursery) -> Iterator[Callable[..., MixerServer]]:
    """Starts mixers on the database; kills them at the end."""
    begun: list[MixerServer] = []

    def start(*options: str, **changes: object) -> MixerServer:
        begun.append(MixerServer(database, *options, begin=partial(nursery.begin, **changes)))
        return begun[-1]

    yield start
    for each in begun:
        each.kill()


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(each) for each in arguments])


def test_a_survey_goes_through_a_mixer_from_the_statement_to_the_batch(
    serve: Callable[..., MixerServer], database: Path
) -> None:
    server = serve(batch_thread_AGAIN_SECONDS=0.05)
    mix = server.accept(parties(blanks=4))
    digest = mix.survey.digest
    people = [mix.inner() for _ in range(12)]

    assert requests.get(f"{server.url}/mix/{'0' * 64}", timeout=30).status_code == 404
    for inner in people:
        assert server.send(digest, mix.outer_of(inner)).status_code == 201
    answer = requests.get(f"{server.url}/mix/{digest}", timeout=30)
    assert read_statement(answer.content, mix.survey.signing).senders == 10

    with closing(MixerStore(str(database))) as store:
        store.close_survey(digest)  # another process than the one that serves
        until(lambda: store.state(digest) == "made")
        batch = kept_batch(store, digest)
    assert server.send(digest, mix.outer()).status_code == 410
    assert server.stop() == 0
    assert (batch.manifest.senders, batch.manifest.envelopes) == (12, 2 * 16)
    assert {each for inner in people for each in inner} <= set(mix.envelopes(batch.envelopes))


def test_what_it_took_is_there_after_a_restart(serve: Callable[..., MixerServer]) -> None:
    server = serve()
    mix = server.accept(parties())
    sealed = mix.outer()
    assert server.send(mix.survey.digest, sealed).status_code == 201
    assert server.stop() == 0

    again = serve()

    assert again.send(mix.survey.digest, sealed).status_code == 200


def test_nothing_that_a_client_gives_away_is_stored_or_logged(
    serve: Callable[..., MixerServer], database: Path
) -> None:
    """While it holds envelopes, and after it stopped: no time, no address, no name of a browser."""
    server = serve()
    mix = server.accept(parties())
    headers = {
        "Content-Type": "application/octet-stream",
        "User-Agent": AGENT,
        "Origin": "https://survey.example.org",
        "Referer": "https://survey.example.org/s/workplace",
        "Cookie": f"who={ADDRESS}",
        "X-Forwarded-For": ADDRESS,
    }
    for sealed, status in ((mix.outer(), 201), (b"", 400)):
        with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)) as line:
            line.request("POST", f"/mix/{mix.survey.digest}", sealed, headers)
            assert line.getresponse().status == status

    for stopped in (False, True):
        if stopped:
            server.stop()
        files = [path for path in database.parent.iterdir() if path.name.startswith("mixer.db")]
        assert {path.name for path in files} <= {
            *("mixer.db", "mixer.db-wal", "mixer.db-shm", "mixer.db-serving"),
        }
        for path in files:
            assert path.stat().st_mode & 0o077 == 0, "only its owner may read it"
            content = path.read_bytes()
            assert not any(text.encode() in content for text in (ADDRESS, AGENT, "example.org"))
            assert [trace.what for trace in in_file(path)] == []
    log = server.log.replace(server.url, "")
    lines = re.findall(r"^POST .*$", log, re.MULTILINE)
    assert [line.split()[:3] for line in lines] == [
        ["POST", "/mix/<digest>", "201"],
        ["POST", "/mix/<digest>", "400"],
    ]
    for planted in (ADDRESS, AGENT, "example.org", "127.0.0.1", mix.survey.digest):
        assert planted not in log


def test_a_stop_waits_for_what_was_accepted(
    serve: Callable[..., MixerServer], database: Path
) -> None:
    server = serve()
    mix = server.accept(parties())
    sealed = mix.outer()
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)) as line:
        line.putrequest("POST", f"/mix/{mix.survey.digest}")
        line.putheader("Content-Type", "application/octet-stream")
        line.putheader("Content-Length", str(len(sealed)))
        line.endheaders(sealed[:100])
        time.sleep(0.2)  # the mixer has read it
        server._process.terminate()
        time.sleep(0.2)
        line.send(sealed[100:])
        status = line.getresponse().status
    assert server._process.wait(60) == 0

    assert status == 201
    with closing(MixerStore(str(database))) as store:
        assert store.sealed(mix.survey.digest) == [sealed]


def test_a_second_one_cannot_have_the_port(
    serve: Callable[..., MixerServer], tmp_path: Path
) -> None:
    server = serve()

    result = run("serve", "--port", server.port, "--database", tmp_path / "other.db")

    assert result.exit_code == 1
    assert "choose another one with --port" in result.output


def test_hosts_are_names(tmp_path: Path) -> None:
    result = run("serve", "--hosts", "https://a.example", "--database", tmp_path / "mixer.db")

    assert result.exit_code == 2
    assert "is no host name" in result.output


def test_it_answers_to_its_names_alone(serve: Callable[..., MixerServer]) -> None:
    server = serve("--hosts", "mixer.example.org")

    named = requests.get(f"{server.url}/healthz", headers={"Host": "mixer.example.org"}, timeout=30)
    other = requests.get(f"{server.url}/mix/x", headers={"Host": "evil.example"}, timeout=30)

    assert (named.status_code, other.status_code) == (200, 421)


def test_a_database_of_surveys_is_refused_with_a_sentence(tmp_path: Path) -> None:
    from deniably_server.storage.store import Store

    database = tmp_path / "deniably.db"
    Store(str(database)).close()

    result = run("serve", "--port", 0, "--database", database)

    assert isinstance(result.exception, OtherDatabase), "which the command line prints"


# --- codes ------------------------------------------------------------------------------------


def test_codes_are_shown_once_and_are_good_for_one_envelope(
    serve: Callable[..., MixerServer], database: Path
) -> None:
    server = serve()
    mix = server.accept(parties(invited=True))
    digest = mix.survey.digest

    made = run("invite", digest, "--count", 3, "--database", database)
    codes = [read_code(line) for line in made.stdout.splitlines()]
    statuses = [server.send(digest, mix.outer(code=codes[0])).status_code for _ in range(2)]
    told = run("invite", digest, "--database", database)

    assert (made.exit_code, len(set(codes))) == (0, 3)
    assert made.stderr == "3 issued, 0 used\n"
    assert statuses == [201, 409]
    assert told.stdout == "3 issued, 1 used\n"


def test_nobody_is_invited_to_what_the_mixer_does_not_know(database: Path) -> None:
    with closing(MixerStore(str(database))) as store:
        mix = parties().accept(store)

    for digest in ("0" * 64, "elsewhere"):
        result = run("invite", digest, "--count", 1, "--database", database)
        assert (result.exit_code, "takes no envelopes" in result.output) == (1, True)
    result = run("invite", mix.survey.digest, "--count", 1, "--database", database)
    assert (result.exit_code, "anybody may answer" in result.output) == (1, True)
