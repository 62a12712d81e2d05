"""Every command and function that reads what others made, in a process whose memory is limited.

Bodies without an end, bombs, pipes and devices: each ends in a sentence, and takes little memory.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import deniably as dn
from deniably.authoring.compiling import publish_text
from deniably.core.errors import NoResults
from deniably.results.remote import Remote
from deniably.simulation.reports import randomise, simulate_people
from deniably.trust.recovery import write_copy
from deniably.workbench.fetching import fetch_reports
from deniably.workbench.files.folder import write_folder
from deniably.workbench.report_set import of_simulation
from deniably_client.register_cli import register
from deniably_server.commands import author_key_cli, authoring, report_sets, results
from deniably_server.commands.plan import plan
from deniably_server.commands.sign import sign
from deniably_server.commands.simulate import simulate
from support import hostile_http
from support.hostile_http import bomb, fixed, hostile_server
from support.material import AUTHOR, source_of

MEMORY = 320 << 20
"""Bytes that reading may add: 64 MiB twice, and as much again for what the allocator keeps."""
MEASURE = """
import resource, sys
from click.testing import CliRunner
import deniably as dn
from deniably.core.errors import DeniablyError
from deniably.results.remote import fetch_results, remote_at
from deniably_client.device import Device, session
from deniably_client.register_cli import register
from deniably_server.commands import authoring
from deniably_server.commands.export import export
from deniably_server.commands.results import results

to, *urls = sys.argv[1:]

def run(command, *arguments):
    found = CliRunner().invoke(command, [*arguments])
    if isinstance(found.exception, DeniablyError):  # the main command prints these
        return str(found.exception)
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.output.strip().replace("\\n", " ")

def told(work):
    try:
        return f"nothing: {work()}"
    except (DeniablyError, ValueError) as error:
        return f"{type(error).__name__}: {error}"

def ask(url):
    yield told(lambda: dn.open(url + "/surveys/s"))
    yield told(lambda: fetch_results(remote_at(url + "/surveys/s")))
    yield told(lambda: Device(url + "/s/s", session=session(0)).survey)
    yield run(export, "s", "--server", url, "--to", to)
    yield run(results, url + "/surveys/s")
    yield run(register, url)
    yield run(authoring.status, "s", "--server", url, "--token", "x")
    yield run(authoring.close, "s", "--server", url, "--token", "x")

list(ask("http://127.0.0.1:9"))  # loads what all this needs; nobody is there
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
for url in urls:
    print(*ask(url), sep="\\n")
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10)
"""


@pytest.mark.thorough
def test_what_a_server_sends_fills_no_memory(tmp_path: Path) -> None:
    """Of what never ends and of what becomes large only here: one process for both, to be quick."""
    with hostile_server(hostile_http.endless) as endless, hostile_server(bomb()) as packed:
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, str(tmp_path / "to"), endless, packed],
            capture_output=True, text=True, check=False,
            env=os.environ | {"DENIABLY_HOME": str(tmp_path), "OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip

    assert done.returncode == 0, done.stderr
    *said, grown = done.stdout.splitlines()
    assert len(said) == 2 * 8
    for line in said:
        assert re.search(r"200 times as large|sends more than \d+ MiB", line), line
    assert int(grown) < MEMORY, f"{int(grown) >> 20} MiB"


# --- files --------------------------------------------------------------------------------------


@pytest.fixture(params=["pipe", "device"])
def no_file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """What a path may lead to instead of a file."""
    if request.param == "pipe":
        os.mkfifo(tmp_path / "x")
    else:
        (tmp_path / "x").symlink_to("/dev/zero")
    return tmp_path / "x"


def run(command: Any, *arguments: object) -> str:
    done = CliRunner().invoke(command, [str(each) for each in arguments])
    assert done.exit_code != 0, done.output
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.output


SURVEY = """
name: work
title: Work
questions: [{name: stolen, type: yes_no, label: "Stolen?", odds: 3}]
"""


def _survey(folder: Path) -> Path:
    (folder / "work.yaml").write_text(SURVEY)
    return folder / "work.yaml"


def _copy(folder: Path) -> Path:
    copy = write_copy(AUTHOR, "The Union", "2026-11-21", ("able",) * 6)
    (folder / "copy.pem").write_text(copy.text)
    return folder / "copy.pem"


COMMANDS: dict[str, Callable[[Path], str]] = {
    "check": lambda path: run(authoring.check, path),
    "plan": lambda path: run(plan, path, "--n", 1000),
    "publish": lambda path: run(authoring.publish, path, "--token", "x"),
    "publish --key": lambda path: run(
        authoring.publish, _survey(path.parent), "--token", "x", "--key", path
    ),
    "publish --signature": lambda path: run(
        authoring.publish, _survey(path.parent), "--token", "x", "--signature", path
    ),
    "sign --words-file": lambda path: run(
        sign, _survey(path.parent), "--yes", "--key", _copy(path.parent), "--words-file", path
    ),
    "author-key open": lambda path: run(author_key_cli.open_copy, path),
    "register": lambda path: run(register, path),
    "gather": lambda path: run(
        report_sets.gather, _survey(path.parent), path, "--to", path.parent / "to"
    ),
    "results --tally": lambda path: run(results.results, "--tally", path),
    "simulate": lambda path: run(simulate, _survey(path.parent), "--truth", path),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_waits_for_a_pipe_or_reads_a_device(no_file: Path, command: str) -> None:
    assert "only regular files are read: copy what it holds" in COMMANDS[command](no_file)


@pytest.mark.parametrize("name", ["survey.json", "register.json", "design.json", "reports.csv"])
def test_an_export_with_a_pipe_or_a_device_is_refused(
    no_file: Path, tmp_path: Path, exported: Path, name: str
) -> None:
    folder = tmp_path / "export"
    folder.mkdir()
    for file in exported.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / name).unlink()
    no_file.rename(folder / name)

    with pytest.raises(ValueError, match=f"{name}: .*only regular files are read"):
        dn.open(folder)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an export, small and whole."""
    survey = publish_text(SURVEY)
    reports = of_simulation(randomise(simulate_people(survey, 50)))
    to = tmp_path_factory.mktemp("exported") / "export"
    write_folder(to, reports, source_of(survey))
    return to


def test_a_zip_that_is_a_bomb_is_not_unpacked(tmp_path: Path, exported: Path) -> None:
    file_of_zip = tmp_path / "x.zip"
    with zipfile.ZipFile(file_of_zip, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in exported.iterdir():
            if file.name != "reports.csv":
                archive.writestr(file.name, file.read_bytes())
        archive.writestr("reports.csv", b"row,stolen\r\n" + b"1,1\r\n" * 14_000_000)
    assert file_of_zip.stat().st_size < 1 << 19

    with pytest.raises(ValueError, match=r"x\.zip: reports\.csv in it unpacks to more than"):
        dn.open(file_of_zip)


def test_a_redirect_takes_no_token_along() -> None:
    asked = list[bytes]()
    with hostile_server(lambda line: asked.append(b"")) as other:
        sent_on = fixed(b"", b"Location: " + other.encode(), status=b"307 Temporary")
        with hostile_server(sent_on) as url:
            said = run(authoring.status, "s", "--server", url, "--token", "x")

    assert asked == []
    assert "sends you on to" in said
    assert "if you trust that, use it" in said


def test_more_reports_than_a_server_says_are_not_read() -> None:
    """Nor more than are opened at once."""
    survey = publish_text(SURVEY)
    line = json.dumps({"row": 1, "randomised": {"stolen": [1]}}).encode() + b"\n"
    for count, why in ((2, "more than the 2 reports"), (10**9, "at most 20,000,000 are fetched")):
        body = fixed(line * 1000, b"Deniably-Reports: %d" % count)
        with hostile_server(body) as url, pytest.raises(NoResults, match=why):
            fetch_reports(Remote(url, "work"), survey)
