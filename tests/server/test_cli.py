"""The commands for authors and operators."""

from __future__ import annotations

import html
import json
import re
import stat
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from threading import Thread
from wsgiref.simple_server import WSGIRequestHandler, make_server

import click
import pytest
import requests
from click.testing import CliRunner, Result
from flask import Flask
from flask.testing import FlaskClient

from deniably.authoring.compiling import publish_text
from deniably.authoring.quick_check import quick_check
from deniably.authoring.survey_files import read_document
from deniably.design.planning import plan_figures
from deniably.survey.survey import EPSILON_LIMIT
from deniably.trust.signing import new_key, read_key
from deniably_client import Device
from deniably_client.cli import deniably
from deniably_client.device import session
from deniably_server.commands import authoring, serve
from deniably_server.commands import token as token_cli
from deniably_server.commands.author_key import author_key
from deniably_server.commands.plan import plan
from deniably_server.settings import SETTINGS
from support.cases import for_each
from support.material import Server, signed, survey_named
from support.nursery import Nursery

ROOT = Path(__file__).parents[2]
SURVEY = """
name: health
title: Health
questions:
  - {name: smokes, type: yes_no, label: "Do you smoke?", odds: 3}
  - {name: drink, type: select_one, label: Drink, epsilon: 1, choices: [Tea, Coffee, Milk]}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "health.yaml"
    path.write_text(SURVEY, encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration folder in which nothing is yet."""
    folder = tmp_path / "configuration"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    monkeypatch.delenv("DENIABLY_HOME")
    return folder


def run(
    command: click.Command, *arguments: object, token: str | None = None, key: object = None
) -> Result:
    env = {"DENIABLY_TOKEN": token, "DENIABLY_KEY": None if key is None else str(key)}
    return CliRunner().invoke(command, [str(each) for each in arguments], env=env)


@contextmanager
def a_server_that_says(status: int, document: object) -> Iterator[str]:
    """An address that answers everything with the same."""

    def answer(_: object, start: Callable[..., object]) -> list[bytes]:
        start(f"{status} X", [("Content-Type", "application/json")])
        return [json.dumps(document).encode()]

    class Silent(WSGIRequestHandler):
        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
            pass

    with make_server("127.0.0.1", 0, answer, handler_class=Silent) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_every_command_of_the_distribution_is_here() -> None:
    group = "deniably.commands"
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"][group]
    ours = [
        EntryPoint(name, value, group)
        for name, value in listed.items()
        if value.startswith("deniably_server")
    ]

    assert sorted(each.name for each in ours) == [
        "audit", "author-key", "backup", "check", "close", "doctor", "dossier", "export", "gather",
        "invite", "lab", "migrate", "mix", "plan", "publish", "restore", "results", "serve", "sign",
        "simulate", "status", "tally", "token",
    ]  # fmt: skip
    for each in ours:
        command = each.load()
        assert isinstance(command, click.Command)
        assert command.name == each.name
        assert command.help


def test_the_list_of_commands_needs_no_heavy_library() -> None:
    code = (
        "import sys, deniably_server.commands.authoring; print(set(sys.modules)"
        " & {'flask', 'uvicorn', 'numpy', 'yaml', 'requests'})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "set()"


def test_check_shows_what_each_question_protects(file: Path) -> None:
    result = run(authoring.check, file)

    assert result.exit_code == 0
    assert result.output == (
        "health: Health\n"
        f"digest {publish_text(SURVEY).digest}\n"
        "\n"
        "question      type        mechanism                 odds  epsilon  margin\n"
        "smokes        yes_no      subset selection, 1 of 2     3     1.10     6.1\n"
        "drink         select_one  subset selection, 1 of 3  2.72     1.00     7.9\n"
        "all together                                        8.16     2.10\n"
        "\n"
        "margin: of 1,000 respondents, 95 % either way, in points for a share of 30 %, in percent"
        " of the range for a mean; the widest where a question has several\n"
        "\n"
        "alternatives: that margin with each mechanism, at the same epsilon\n"
        "smokes: subset selection 6.1, OUE 11.6, RAPPOR 11.5\n"
        "drink: subset selection 7.9, OUE 12.7, RAPPOR 12.6\n"
        "\n"
        "fake reports: how many honest people one weighs as much as, and how far 5 % of fake"
        " reports can move a figure, in points or in percent of the range\n"
        "smokes: 1.50 people, 7.5\n"
        "drink: 2.16 people, 10.8\n"
        "\n"
        "What your other surveys of the last 365 days leave to people who answered them was not"
        " looked at: add --server with the address of your server.\n"
        "\n"
        f"{'-' * 100}\n"
        "What respondents read first:\n"
        "\n"
        "Health\n"
        "2 questions, about 1 minute, voluntary\n"
        "Your device rolls a die for every answer. The roll decides whether it sends your true"
        " answer or\n  another one.\n"
        "So nobody can be sure what you answered. You can answer truthfully.\n"
        "Your true answers stay here. They are wiped when you send or leave.\n"
        "Sent to: the researchers. No name or number goes with it.\n"
        "Among many people the changed answers even out, so totals can be worked out.\n"
        "Somebody who sees what is sent guesses between two answers. Right, of 100 times (fewer is"
        " safer):\n"
        "from one answer that is sent 69–75\n"
        "from all 2 that are sent 75\n"
        "Say somebody wonders which of two answers is yours: one, or the opposite. With a coin they"
        " would be\n  right 50 of 100 times. From what is sent for it they would be right 69–75 of"
        " 100 times.\n"
        "Hints may contradict each other: then they say nothing. From everything that is sent, they"
        " would be\n  right 75 of 100 times: between two complete lists, which differ in all 2"
        " answers.\n"
        "It can happen that the die leaves all your answers as they are: to 44 of 100 people at"
        " most.\n  Somebody who sees everything could then be 90 % sure: odds of 8.2 to 1. That is"
        " strong evidence,\n  but no proof.\n"
        "You can practise first. Or leave before you send: then nothing is sent.\n"
        "What remains visible is that you took part: your network address reaches the server’s"
        " network, where\n  it is not stored. If your employer, or your Wi-Fi’s owner, must not"
        " know even that, use another\n  network.\n"
    )


@pytest.mark.parametrize(
    "more",
    [
        "",
        "intro: Why we ask.\ncontact: Ms Rossi, 12\nlanguage: de\n",
        "invited: true\nlanguage: it\n",
        "budget: {epsilon: 1, spend: sample, ask: 1}\n",
        "waves: {panel: health}\nlanguage: fr\n",
    ],
)
@pytest.mark.parametrize("odds", [3, 30])
def test_check_shows_the_words_of_the_forms_first_page(
    client: FlaskClient, app: Flask, file: Path, more: str, odds: int
) -> None:
    text = more + SURVEY.replace("odds: 3", f"odds: {odds}")
    if "budget" in more:
        text = text.replace(f", odds: {odds}", "").replace(", epsilon: 1,", ",")
        text = text.replace("epsilon: 1", f"epsilon: {1 if odds == 3 else 4}")
    file.write_text(text, encoding="utf-8")
    survey = publish_text(text)
    app.extensions["deniably"].publish(survey, signed(survey))
    form = re.sub(r"<[^>]*>", "\n", client.get("/s/health").text)
    page = {html.unescape(line).strip() for line in form.splitlines()}

    shown = run(authoring.check, file)

    assert shown.exit_code == 0, shown.output
    first = shown.output.partition("What respondents read first:\n\n")[2].replace("\n  ", " ")
    assert len(first.splitlines()) >= 9
    for line in first.splitlines():
        # A term and what it means have a line each, and so have a guess and its rate.
        splits = line.partition(": "), line.rpartition(" ")
        parts = [{who.removesuffix("\u202f").strip(), what.strip()} for who, _, what in splits]
        assert line in page or any(pair <= page for pair in parts), line


def test_check_and_plan_suggest_how_fine_a_map_may_be(file: Path) -> None:
    file.write_text(
        "name: places\ntitle: Places\nquestions:\n  - {name: home, type: point, label: Home,"
        " epsilon: 1, grid: 12, parts: [{name: x, label: X, minimum: 0, maximum: 99},"
        " {name: y, label: Y, minimum: 0, maximum: 99}]}"
    )
    sentence = r"with 2,000 respondents grid: (\d+) errs least, and grid: 12 ([\d.]+) times as much"

    checked = re.search(sentence, run(authoring.check, file).output)
    planned = re.search(sentence, run(plan, file, "--n", 2000).output)

    assert checked
    assert planned
    assert checked.groups() == planned.groups()
    file.write_text(file.read_text().replace("grid: 12", f"grid: {checked[1]}"))
    assert "with 2,000 respondents" not in run(authoring.check, file).output


@pytest.mark.parametrize("command", [authoring.check, authoring.publish, plan])
def test_no_escape_sequence_of_a_file_reaches_the_terminal(
    file: Path, command: click.Command
) -> None:
    file.write_text(
        'name: x\ntitle: T\n"\\e[2J\\e]0;hi\\a": 1\n"\\u202Ex\\n\\u001b": 2\nquestions: []\n'
    )
    told = run(command, file, *(("--n", 9) if command is plan else ()), token="x")

    assert told.exit_code == 1
    assert "[2J" in told.output  # which is harmless without what stood before it
    assert not set("\x1b\a\u202e") & set(told.output)


def test_a_published_definition_that_steers_is_no_more_planned_than_answered(file: Path) -> None:
    definition = json.loads(survey_named().canonical) | {"title": "T\x1b[2J"}
    file.write_text(json.dumps(definition), encoding="utf-8")

    told = run(plan, file, "--n", 100)

    assert told.exit_code == 1
    assert "$.title: character 2 is U+001B (a control character)" in told.output
    assert "\x1b" not in told.output


def test_no_escape_sequence_of_a_server_reaches_the_terminal(file: Path) -> None:
    """A server may say anything, and first of all in a refusal."""
    said = "\x1b[2J\u202e\nhealth is published"
    problem = {"type": "x", "detail": said, "errors": [{"path": said, "why": said}]}
    links = {"links": {said: said}, "state": "open"}
    for status, document in ((200, links), (403, problem)):
        with a_server_that_says(status, document) as url:
            published = run(authoring.publish, file, "--server", url, token="x")
            closed = run(authoring.close, "health", "--server", url, token="x")

        for told in (published, closed):
            assert told.exit_code == (0 if status == 200 else 1)
            assert "\x1b" not in told.output
            assert "\u202e" not in told.output
            assert "\nhealth is published\n" not in told.output


# --- what devices refuse ------------------------------------------------------------------------

HIGH = "name: high\ntitle: High\nquestions:\n" + "\n".join(
    f"  - {{name: q{index}, type: yes_no, label: Q, epsilon: 2.6}}" for index in range(2)
)


def test_what_every_browser_refuses_is_only_published_on_purpose(
    server: Server, file: Path
) -> None:
    file.write_text(HIGH)

    refused = run(authoring.publish, file, "--server", server.url, token=server.token)
    there = requests.get(f"{server.url}/api/surveys/high", timeout=30).status_code
    published = run(authoring.publish, file, "--server", server.url, "--anyway", token=server.token)

    assert (refused.exit_code, there) == (1, 404)
    assert (
        "epsilon above 5: all together 5.20. Devices answer a part of it at most" in refused.output
    )
    assert "To mend it, write “budget: {epsilon: 5}” in place of" in refused.output
    assert f"{file}, line 4: " in refused.output
    assert "To publish it all the same: --anyway" in refused.output
    assert published.exit_code == 0
    assert requests.get(f"{server.url}/api/surveys/high", timeout=30).status_code == 200


# --- closing ------------------------------------------------------------------------------------


def reporting(server: Server, count: int) -> None:
    with session() as connections:
        for _ in range(count):
            device = Device(f"{server.url}/s/health", session=connections)
            device.answer({"smokes": "yes", "drink": "tea"})


def close(server: Server, *options: str, keys: str | None = None) -> Result:
    arguments = ["health", "--server", server.url, *options]
    env = {"DENIABLY_TOKEN": server.token}
    return CliRunner().invoke(authoring.close, arguments, env=env, input=keys)


def state(server: Server) -> str:
    return requests.get(f"{server.url}/api/surveys/health", timeout=30).headers["Deniably-State"]


def test_closing_below_the_minimum_asks_because_the_results_would_stay_hidden(
    server: Server, file: Path
) -> None:
    file.write_text(SURVEY + "results: {minimum: 3}\n")
    run(authoring.publish, file, "--server", server.url, token=server.token)
    reporting(server, 2)

    for keys in (None, "", "n\n", "\n"):
        asked = close(server, keys=keys)
        assert asked.exit_code == 1
        assert "The survey health has fewer than 3 reports so far" in asked.output
        assert "it will never show any" in asked.output
        assert "The survey is open and has fewer than 10 reports so far." in asked.output
        assert "Close it now, for good? [y/N]" in asked.output
        assert state(server) == "open"

    closed = close(server, keys="y\n")
    assert (closed.exit_code, state(server)) == (0, "closed")
    assert closed.stdout == "health is closed, with fewer reports than its results need\n"
    assert close(server).exit_code == 0, "it is closed already: there is nothing to ask"


def test_a_script_that_closes_is_not_asked(server: Server, file: Path) -> None:
    run(authoring.publish, file, "--server", server.url, token=server.token)

    closed = close(server, "--yes")

    assert (closed.exit_code, state(server)) == (0, "closed")


def test_closing_says_how_many_reports_there_are_and_where_the_results(
    server: Server, file: Path
) -> None:
    file.write_text(SURVEY + "results: {minimum: 3}\n")
    run(authoring.publish, file, "--server", server.url, token=server.token)
    reporting(server, 3)

    closed = close(server)

    assert closed.exit_code == 0
    assert closed.stdout == (
        f"health is closed, with 3 reports\nresults     {server.url}/surveys/health\n"
    )


def test_publishing_says_that_the_form_does_not_speak_the_language(
    server: Server, file: Path
) -> None:
    file.write_text(SURVEY.replace("title:", "language: nl\ntitle:"), encoding="utf-8")

    done = run(authoring.publish, file, "--server", server.url, token=server.token)

    assert "health is published" in done.stdout
    assert "language nl: the form does not speak it, so its buttons and" in done.stdout


def test_publishing_a_closed_survey_again_says_that_it_is_closed(
    server: Server, file: Path
) -> None:
    run(authoring.publish, file, "--server", server.url, token=server.token)
    close(server, "--yes")

    again = run(authoring.publish, file, "--server", server.url, token=server.token)

    assert again.stdout.startswith("health was published before and is closed: it takes no more")


def test_check_agrees_with_the_plan(tmp_path: Path) -> None:
    """Also for the questions that have several figures, such as a product."""
    file = tmp_path / "pairs.yaml"
    file.write_text(
        "name: pairs\ntitle: Pairs\nquestions:\n"
        "  - {name: vote, type: product, label: Vote, epsilon: 2, parts: ["
        "{name: party, label: P, choices: [A, B, C]}, {name: union, label: U, choices: [Y, N]}]}\n"
        "  - {name: drinks, type: number, label: D, epsilon: 4, minimum: 0, maximum: 50}\n"
    )

    checked = [line.split() for line in run(authoring.check, file).output.splitlines()]

    rows = plan_figures(publish_text(file.read_text()), n=1000, share=0.3)
    for name in ("vote", "drinks"):
        (shown,) = (line[-1] for line in checked if line[:1] == [name])
        widest = max(row.plan.margin for row in rows if row.question == name)
        assert shown == f"{100 * widest:.1f}"


def test_check_shows_delta_where_there_is_one(tmp_path: Path) -> None:
    file = tmp_path / "everything.yaml"
    file.write_text(
        "name: noise\ntitle: Noise\nquestions:\n"
        "  - {name: fines, type: number, label: Fines, epsilon: 1, delta: 0.00001,"
        " mechanism: gaussian, minimum: 0, maximum: 10}\n"
        "  - {name: stolen, type: yes_no, label: Stolen, epsilon: 1}\n"
    )

    head, fines, stolen, together = run(authoring.check, file).output.splitlines()[3:7]

    assert head.split()[-3:] == ["epsilon", "delta", "margin"]
    assert fines.split()[-3:-1] == ["1.00", "0.00001"]
    assert stolen.split()[-3:-1] == ["1.00", "0"]
    assert together.split()[-2:] == ["2.00", "0.00001"]


@pytest.mark.parametrize(
    ("epsilons", "found"),
    [
        ((2, 3), None),
        ((2, 3.01), "all together 5.01"),
        ((1, 5.5), "q1 alone 5.50, all together 6.50"),
    ],
)
def test_check_says_where_devices_refuse(
    tmp_path: Path, epsilons: tuple[float, ...], found: str | None
) -> None:
    file = tmp_path / "high.yaml"
    lines = [
        f"  - {{name: q{index}, type: yes_no, label: Q, epsilon: {epsilon}}}"
        for index, epsilon in enumerate(epsilons)
    ]
    file.write_text("\n".join(["name: high", "title: High", "questions:", *lines]))

    shown = run(authoring.check, file)

    assert shown.exit_code == 0
    assert (f"epsilon above {EPSILON_LIMIT}: {found}." in shown.output) == (found is not None)
    what = "answer a part of it at most" if len(epsilons) > 1 else "refuse this survey"
    said = f"Devices {what}; in a terminal and in Python a respondent can set a higher"
    assert (said in " ".join(shown.output.split())) == (found is not None)
    dearest = f"{file}, line 5: q1 gives away most, epsilon {epsilons[1]:.2f}"
    assert (dearest in " ".join(shown.output.split())) == (found is not None)


@pytest.mark.parametrize("count", [10, 11])
def test_check_says_where_devices_refuse_for_delta(tmp_path: Path, count: int) -> None:
    file = tmp_path / "rare.yaml"
    lines = [
        f"  - {{name: q{index}, type: number, label: Q, minimum: 0, maximum: 9, aim: mean,"
        " mechanism: gaussian, epsilon: 0.1, delta: 0.0001}"
        for index in range(count)
    ]
    file.write_text("\n".join(["name: rare", "title: Rare", "questions:", *lines]))

    shown = run(authoring.check, file)

    assert shown.exit_code == 0
    assert ("delta above 0.001: all together 0.0011." in shown.output) == (count == 11)


def test_check_names_every_problem_and_fails(file: Path) -> None:
    file.write_text(SURVEY.replace("odds: 3", "odds: 0").replace("health", "Health!"))

    result = run(authoring.check, file)

    assert result.exit_code == 1
    assert "is no valid survey:" in result.output
    assert "$.name: " in result.output
    assert "$.questions[0].odds: " in result.output


@pytest.mark.parametrize(
    ("command", "options"),
    [
        (authoring.check, ()),
        (authoring.publish, ("--server", "http://127.0.0.1:1")),
        (plan, ("--n", 100)),
    ],
    ids=["check", "publish", "plan"],
)
def test_free_text_is_refused_with_the_reason_and_the_mend(
    file: Path, command: click.Command, options: tuple[object, ...]
) -> None:
    file.write_text(SURVEY.replace("type: yes_no", "type: text"))

    result = run(command, file, *options, token="t")

    assert result.exit_code == 1
    assert "$.questions[0].type: free text cannot be asked" in result.output
    assert "offer choices" in result.output


@pytest.mark.parametrize("options", [(), ("--n", 100, "--margin", 0.05), ("--epsilon", 1)])
def test_machines_are_planned_for_a_number_of_people_alone(options: tuple[object, ...]) -> None:
    result = run(plan, "--machines", "panel", *options)

    assert result.exit_code == 2
    assert "--machines plans for --n" in result.output


def test_a_plan_of_machines_is_json_for_programs() -> None:
    result = run(plan, "--machines", "panel", "--n", 1_000_000, "--json")

    assert json.loads(result.output)[0]["reports"] == 40_000_000


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a: [", b""])
def test_check_of_something_else_fails_with_a_sentence(file: Path, content: bytes) -> None:
    file.write_bytes(content)

    result = run(authoring.check, file)

    assert result.exit_code == 1
    assert result.output.startswith("Error: ")
    assert isinstance(result.exception, SystemExit)


def test_a_survey_is_published_and_closed_from_the_command_line(server: Server, file: Path) -> None:
    digest = publish_text(SURVEY).digest

    first = run(authoring.publish, file, "--server", server.url, token=server.token)
    again = run(authoring.publish, file, "--server", f"{server.url}/", token=server.token)

    assert first.exit_code == again.exit_code == 0, first.output
    assert first.stdout == again.stdout
    assert "A new author's key was made" in first.stderr
    assert again.stderr == ""
    assert f"health is published, digest {digest}" in first.output
    links = re.findall(r"http://\S+", first.output)
    assert f"{server.url}/s/health" in links
    published = requests.get(f"{server.url}/api/surveys/health", timeout=30)
    assert published.headers["ETag"] == f'W/"{digest}"', "compressed, so its bytes are others"

    closed = run(authoring.close, "health", "--yes", "--server", server.url, token=server.token)
    assert closed.exit_code == 0
    state = requests.get(f"{server.url}/api/surveys/health", timeout=30).headers["Deniably-State"]
    assert state == "closed"


def test_publishing_and_checking_say_what_the_authors_other_surveys_leave(
    server: Server, file: Path, configuration: Path
) -> None:
    two, dear = file.with_name("two.yaml"), file.with_name("dear.yaml")
    two.write_text(SURVEY.replace("name: health", "name: two"))
    dear.write_text(
        "name: dear\ntitle: T\nquestions:\n"
        + "".join(f"  - {{name: q{i}, type: yes_no, label: Q, epsilon: 4.9}}\n" for i in range(2))
    )
    to = ("--server", server.url)
    assert "was not looked at: add --server" in run(authoring.check, two).output
    assert "no author's key here yet" in run(authoring.check, two, *to).output

    first = run(authoring.publish, file, *to, token=server.token)
    assert "You published no other survey" in run(authoring.check, file, *to).output
    second = run(authoring.publish, two, *to, token=server.token)

    assert "survey number" not in first.output
    assert "This is your survey number 2 on this server in 365 days." in second.output
    said = run(authoring.check, dear, *to).output
    assert "This is your survey number 3" in said
    assert "will be offered about 1 of 2 questions before" in said
    dear.write_text(dear.read_text().replace("title: T", "title: T\npart: false"))
    assert "their devices refuse it before" in run(authoring.check, dear, *to).output
    nowhere = run(authoring.check, two, "--server", "http://127.0.0.1:1").output
    assert "could not be looked at" in nowhere


def test_the_token_goes_out_whatever_the_netrc_has_for_the_server(
    server: Server, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("default login alice@example.org password secret\n")
    monkeypatch.setenv("NETRC", str(netrc))

    published = run(authoring.publish, file, "--server", server.url, token=server.token)
    closed = run(authoring.close, "health", "--yes", "--server", server.url, token=server.token)

    assert (published.exit_code, closed.exit_code) == (0, 0), published.output


# --- the author's key ---------------------------------------------------------------------------


def test_the_authors_key_is_made_once_and_for_its_owner_alone(
    server: Server, file: Path, configuration: Path
) -> None:
    run(authoring.publish, file, "--server", server.url, token=server.token)

    path = configuration / "deniably" / "author.key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    key = read_key(path.read_bytes())
    register = requests.get(f"{server.url}/register", timeout=30).json()
    assert register["entries"][0]["author"] == key.author


def test_the_authors_key_lies_in_the_folder_that_the_author_names(
    server: Server, file: Path, configuration: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("DENIABLY_HOME", str(tmp_path / "mine"))
    done = run(authoring.publish, file, "--server", server.url, token=server.token)

    assert done.exit_code == 0, done.output
    assert author_key(None).sign("").fingerprint in done.output
    assert (tmp_path / "mine/author.key").exists()
    assert not configuration.exists()
    assert "There is another one" not in done.stderr


def test_who_moves_house_is_told_of_the_key_in_the_old_one(
    configuration: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    old = author_key(None)
    monkeypatch.setenv("DENIABLY_HOME", str(tmp_path / "mine"))
    capsys.readouterr()

    assert author_key(None).author != old.author
    told = capsys.readouterr().err
    assert f"publish with --key {configuration / 'deniably/author.key'}" in told


def test_the_server_need_not_be_typed_each_time(
    server: Server, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DENIABLY_SERVER", server.url)

    published = run(authoring.publish, file, token=server.token)
    closed = run(authoring.close, "health", "--yes", token=server.token)

    assert f"{server.url}/s/health" in published.output
    assert closed.exit_code == 0


def test_every_command_with_a_server_takes_it_from_the_same_variable() -> None:
    commands = [each.load() for each in entry_points(group="deniably.commands")]
    options = [
        option for command in commands for option in command.params if option.name == "server"
    ]

    assert len(options) >= 3
    assert {option.envvar for option in options} == {"DENIABLY_SERVER"}


@pytest.mark.parametrize("given", ["option", "variable"])
def test_the_author_may_keep_the_key_elsewhere(
    server: Server, file: Path, tmp_path: Path, configuration: Path, given: str
) -> None:
    mine = new_key()
    path = tmp_path / "mine.key"
    path.touch(0o600)
    path.write_bytes(mine.text)

    arguments = ["--key", path] if given == "option" else []
    done = run(
        authoring.publish, file, "--server", server.url, *arguments, token=server.token,
        key=path if given == "variable" else None,
    )  # fmt: skip

    assert done.exit_code == 0, done.output
    assert mine.sign("").fingerprint in done.output
    assert not configuration.exists()


def test_a_key_that_openssl_made_is_taken(tmp_path: Path) -> None:
    """The command that the error about a missing file names."""
    path = tmp_path / "mine.key"
    with pytest.raises(click.ClickException) as told:
        author_key(path)

    command = told.value.message.partition("make it: ")[2]
    subprocess.run(command.split(), check=True)

    assert author_key(path).author == read_key(path.read_bytes()).author


@pytest.mark.parametrize(
    ("content", "mode", "sentence"),
    [
        (None, 0, "there is no author's key at"),
        (new_key().text, 0o640, "can be read by others; if nobody has, make it yours alone with:"),
        (new_key().text, 0o602, "can be read by others"),
        (b"secret", 0o600, "this is no Ed25519 key in PEM without a password"),
        (b"", 0o600, "this is no Ed25519 key"),
    ],
)
def test_a_key_that_cannot_be_used_is_a_sentence_and_nothing_is_sent(
    file: Path, tmp_path: Path, content: bytes | None, mode: int, sentence: str
) -> None:
    path = tmp_path / "mine.key"
    if content is not None:
        path.write_bytes(content)
        path.chmod(mode)

    done = run(authoring.publish, file, "--server", "http://127.0.0.1:9", token="x", key=path)

    assert done.exit_code == 1
    assert sentence in done.output
    assert str(path) in done.output
    assert "secret" not in done.output


def test_a_folder_is_no_key(file: Path, tmp_path: Path) -> None:
    done = run(authoring.publish, file, token="x", key=tmp_path)

    assert done.exit_code == 1
    assert f"cannot read the author's key {tmp_path}" in done.output


def test_programs_that_make_the_first_key_at_once_have_one_key(
    nursery: Nursery, configuration: Path, tmp_path: Path
) -> None:
    program = (
        "import os, sys, time\n"
        "from deniably_server.commands.author_key import author_key\n"
        "os.environ['XDG_CONFIG_HOME'] = sys.argv[1]\n"
        "while not os.path.exists(sys.argv[2]): time.sleep(0.001)\n"
        "print(author_key(None).author)"
    )
    written = [tmp_path / f"written-{number}" for number in range(4)]
    gate = tmp_path / "gate"
    where = [str(configuration), str(gate)]
    running = [nursery.begin_program(program, where, out) for out in written]
    gate.touch()

    assert [process.wait(60) for process in running] == [0] * 4
    last_lines = {out.read_text().splitlines()[-1] for out in written}
    assert len(last_lines) == 1
    assert author_key(None).author in last_lines


def test_what_the_server_refuses_is_shown_as_its_sentence(server: Server, file: Path) -> None:
    wrong = run(authoring.publish, file, "--server", server.url, token="wrong")
    missing = run(authoring.close, "no/body", "--server", server.url, token=server.token)

    assert wrong.exit_code == missing.exit_code == 1
    assert "\nError: This needs an author's token" in wrong.output
    assert missing.output == "Error: There is no such survey or page.\n"


def test_a_server_that_is_not_there_is_a_sentence(file: Path) -> None:
    result = run(authoring.publish, file, "--server", "http://127.0.0.1:9", token="x")

    assert result.exit_code == 1
    assert "Error: cannot reach http://127.0.0.1:9/api/surveys" in result.output


def test_without_a_token_publishing_is_a_usage_error(file: Path) -> None:
    result = run(authoring.publish, file)

    assert result.exit_code == 2
    assert "--token" in result.output


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "diary.txt"
    other.write_text("dear diary, " * 100)

    result = run(token_cli.token, "new", "--database", other)

    assert result.exit_code == 1
    assert "cannot use" in result.output
    assert other.read_text() == "dear diary, " * 100


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    result = run(token_cli.token, "new", "--database", tmp_path / "no" / "deniably.db")

    assert result.exit_code == 1
    assert "cannot use" in result.output


@pytest.mark.parametrize(
    "wrong",
    ["--port=-1", "--port=65536", "--workers=0", "--threads=0", "--patience=0", "--port=http"],
)
def test_a_number_that_makes_no_sense_is_a_usage_error(tmp_path: Path, wrong: str) -> None:
    result = run(serve.serve, "--database", tmp_path / "deniably.db", wrong)

    assert result.exit_code == 2
    assert not (tmp_path / "deniably.db").exists()


@for_each("setting", SETTINGS, ids=lambda setting: setting.name)
def test_every_setting_is_an_option_with_its_variable_and_default(setting: object) -> None:
    shown = " ".join(run(serve.serve, "--help").output.split())

    assert f"--{setting.name}" in shown  # type: ignore[attr-defined]
    assert setting.variable in shown  # type: ignore[attr-defined]
    assert setting.help in shown  # type: ignore[attr-defined]
    assert str(setting.default) in shown  # type: ignore[attr-defined]


# --- help ---------------------------------------------------------------------------------------


def test_no_line_of_any_help_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every command and those beneath it, on a terminal of the usual width."""
    monkeypatch.setenv("COLUMNS", "80")
    pages = list(_helps(("deniably",), deniably))

    assert len(pages) > 20
    for name, page in pages:
        assert not re.search(r"\w\.\.\.$", page, re.MULTILINE), name
        assert max(map(len, page.splitlines())) <= 80, name
        undescribed = re.findall(r"^  (--[a-z-]+(?: [A-Z ]+)?) {2,}\[", page, re.MULTILINE)
        assert undescribed == [], name


def test_help_lists_every_command_once_by_who_uses_it() -> None:
    shown = CliRunner().invoke(deniably, ["--help"]).output

    _, *lists = re.split(r"^\S.*:$", shown.partition("\nSee")[2], flags=re.MULTILINE)
    names = re.findall(r"^  ([a-z-]+) +[A-Z]", shown.partition("\nSee")[2], re.MULTILINE)
    assert sorted(names) == deniably.list_commands(click.Context(deniably))
    assert len(lists) == 4
    assert "Others:" not in shown


def _helps(path: tuple[str, ...], command: click.Command) -> Iterator[tuple[str, str]]:
    name = " ".join(path)
    yield name, CliRunner().invoke(command, ["--help"]).output
    if isinstance(command, click.Group):
        context = click.Context(command)
        for each in command.list_commands(context):
            found = command.get_command(context, each)
            assert found is not None
            yield from _helps((*path, each), found)


# --- check --json -------------------------------------------------------------------------------


def test_check_prints_the_view_of_a_check_as_json(file: Path) -> None:
    shown = run(authoring.check, file, "--json", "--n", "600")

    view = quick_check(lambda: read_document(file), 600)
    assert shown.exit_code == 0
    assert json.loads(shown.output) == json.loads(view.json)
    assert json.loads(run(authoring.check, file, "--json").output)["digest"] == view.digest


def test_check_prints_the_problems_of_a_file_as_json_and_fails(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("name: X\nquestions: 3")

    shown = run(authoring.check, wrong, "--json")
    assert shown.exit_code == 1
    found = json.loads(shown.output)["problems"]
    assert [each["code"] for each in found] == ["missing-key", "not-allowed", "not-allowed"]


def test_the_number_of_respondents_goes_with_json(file: Path) -> None:
    assert "--n goes with --json" in run(authoring.check, file, "--n", "600").output
    much = run(authoring.check, file, "--json", "--n", str(10**12))
    assert "give 1 to 1,000,000,000" in much.output
