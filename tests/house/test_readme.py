"""Every command of the README is run, in the order in which a newcomer would."""

import json
import os
import re
import shlex
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from support.commands import Done, call, in_a_process
from support.soak import soak

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BIN = Path(sys.executable).parent
Runs = Callable[..., Done]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


COMMANDS = [line for block in blocks("sh") for line in block.splitlines()]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def authors_token(started: str) -> str:
    """What the page of the link that was printed shows for a press of its button."""
    link, _, secret = started.split()[-1].partition("#")
    request = urllib.request.Request(
        link.replace("/admin", "/api/admin"),
        json.dumps({"secret": secret}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        return str(json.load(answer)["author"]["token"])


def process_of(*command: str) -> Done:
    done = subprocess.run(command, capture_output=True, text=True)
    return Done(done.returncode, done.stdout, done.stderr)


def wait_for(process: subprocess.Popen[str], url: str) -> None:
    for _ in range(600):
        try:
            urllib.request.urlopen(url, timeout=2).close()
            return
        except OSError:
            assert process.poll() is None, process.communicate()[0]
            time.sleep(0.1)
    pytest.fail(f"no answer from {url}")


def test_the_two_commands_of_the_start_are_what_continuous_integration_runs() -> None:
    steps = (ROOT / ".ci/run").read_text(encoding="utf-8")

    assert COMMANDS[:2] == ["make demo", "make test"]
    assert "\nmake test\n" in steps
    assert "\nmake demo EXIT=1" in steps


@pytest.mark.slow
@pytest.mark.parametrize("people", [200, soak(1000)])
def test_a_newcomer_gets_from_the_file_to_the_results(
    people: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rehearsal has fewer people than in the README: each has a device of their own."""
    port = free_port()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{BIN}:{os.environ['PATH']}")
    monkeypatch.setenv("DENIABLY_HOME", str(tmp_path / "device"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "author"))
    monkeypatch.setenv("DENIABLY_SERVER", f"http://127.0.0.1:{port}")  # where 8000 is taken

    def run(line: str, keys: str = "", by: Runs | None = None) -> str:
        """What a line prints; what is no command of ours is a process in any case."""
        command = shlex.split(line.replace("127.0.0.1:8000", f"127.0.0.1:{port}"))
        ours = command[0] == "deniably"
        done = (by or call)(*command[1:], keys=keys) if ours else process_of(*command)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    survey, every, panel = blocks("yaml")
    (script,) = blocks("python")
    assert len(survey.splitlines()) <= 10
    (tmp_path / "workplace.yaml").write_text(survey, encoding="utf-8")
    (tmp_path / "habits.yaml").write_text(every, encoding="utf-8")
    (tmp_path / "panel.yaml").write_text(panel, encoding="utf-8")
    check, serve, export, publish, answer, rehearse, close, results, *more = COMMANDS[2:]
    doctor, backup, new_token, tokens, check_every, plan, check_panel, ledger, forget = more

    assert "stolen" in run(check, by=in_a_process)
    assert "picked by chance on the device" in run(check_every)
    assert "trusted curator" in run(plan)
    assert "all waves" in run(check_panel)
    process = subprocess.Popen(
        [*shlex.split(serve), "--port", str(port)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        wait_for(process, f"http://127.0.0.1:{port}/")
        assert process.stdout
        started = process.stdout.readline() + process.stdout.readline()
        name, _, _ = export.removeprefix("export ").partition("=")
        monkeypatch.setenv(name, authors_token(started))
        assert f"http://127.0.0.1:{port}/s/workplace" in run(publish, by=in_a_process)
        assert "receipt" in run(answer, "1\n2\ny\n", in_a_process)
        (tmp_path / "answer.py").write_text(script.replace(":8000", f":{port}"), encoding="utf-8")
        assert "sent" in run("python answer.py")
        assert rehearse.endswith(" 1000")
        rehearsed = run(rehearse.replace(" 1000", f" {people}"))
        assert f"{people:,} made-up people have answered workplace so" in rehearsed
        assert "author's token for spring-7" in run(new_token)
        assert "A. Researcher" in run(tokens)
        assert "stolen" in run(ledger)
        assert "Forgotten" in run(forget)
        assert f"workplace is closed, with {people + 1:,} reports" in run(close)
        assert '"design_effect"' in run(results)
        picture = f"http://127.0.0.1:{port}/surveys/workplace"
        assert picture in rehearsed
        with urllib.request.urlopen(picture, timeout=30) as page:
            assert page.read().count(b"<svg") >= 2, "a picture for each question"
        assert f"whole: 1 survey, {people + 1:,} reports" in run(doctor)
        assert f"{people + 1:,} reports copied into" in run(backup)
    finally:
        process.terminate()
        process.communicate(timeout=20)


def test_the_readme_shows_pictures_that_exist() -> None:
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)

    assert len(pictures) >= 2
    for picture in pictures:
        assert (ROOT / picture).stat().st_size > 5_000


def test_every_link_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target
