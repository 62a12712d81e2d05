"""On a terminal, no text of a file or a server steers it, or passes for a line of a command."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from deniably.authoring.compiling import publish_text
from deniably.exhibits.results_table import estimate
from deniably.lab import dossier_page
from deniably.lab.dossier_words import DossierPart, Summary
from deniably.simulation.reports import randomise, simulate_people
from deniably.workbench.engines.duck import duckdb
from deniably.workbench.engines.tally_file import tally_text
from deniably.workbench.engines.tallying import tally_set
from deniably.workbench.files.parquet_parts import open_parts, write_parts
from deniably.workbench.report_set import of_simulation
from deniably_server.offline.exported_pages import FIRST
from support.commands import call
from support.hostile_http import fixed, hostile_server
from support.hostile_texts import BREAKS, TEXTS, written_survey
from workbench.test_hostile_texts import STEERING, Shape, formulas

SENDABLE = [text for text in TEXTS[len(BREAKS) :] if "\udc80" not in text]
FAKED = "published, digest 0000"
EVIL = f"Refused{''.join(f'{end}{FAKED}' for end in BREAKS)} {' '.join(SENDABLE)}"
"""A text of a server: lines that look like the command's own, and all that steers a terminal."""


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Click takes escape sequences out where nobody looks, and would hide what is looked for."""
    monkeypatch.setattr("click.utils.should_strip_ansi", lambda *_: False)
    monkeypatch.setenv("DENIABLY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("DENIABLY_TOKEN", "x")


def shown(*command: str | Path) -> str:
    """What a command prints, in which every line is its own."""
    done = call(*command)
    text = done.stdout + done.stderr
    assert not STEERING.search(text), command
    assert len(text.splitlines()) == text.count("\n"), command
    assert not any(line.strip().startswith(FAKED) for line in text.splitlines()), command
    assert "Traceback" not in text
    return text


# --- a file of an author -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("author") / "wild.yaml"
    path.write_text(json.dumps(written_survey()), encoding="utf-8")
    return path


def test_commands_show_a_survey_line_by_line(file: Path) -> None:
    assert written_survey()["title"] in shown("check", file, "--exact")
    assert "stolen" in shown("plan", file, "--n", "1000")


def test_a_dossier_has_words_alone() -> None:
    """Written from its parts: to work them out takes half a minute."""
    part = DossierPart(EVIL, TEXTS, [TEXTS, TEXTS], TEXTS, TEXTS, TEXTS)
    summary = Summary("en", EVIL, [(text, text) for text in TEXTS], EVIL)
    pages = (dossier_page.page(EVIL, EVIL, summary, [part], ""),
             dossier_page.notebook(EVIL, summary, [part]))  # fmt: skip
    for page in pages:
        assert_page(page.source)
        assert not STEERING.search(re.sub("\r\n|[\u2028\u2029]", "", page.source))


@pytest.mark.soak
def test_an_audit_and_a_whole_dossier_have_words_alone(file: Path, tmp_path: Path) -> None:
    """The commands themselves, which take a minute together."""
    assert "stolen" in shown("audit", file, "--seconds", "2")
    few = ["--n", "1000", "--trials", "10", "--seconds", "1"]
    shown("dossier", file, *few)
    shown("dossier", file, *few, "--output", tmp_path / "board.html")
    source = (tmp_path / "board.html").read_text(encoding="utf-8")
    assert_page(source)
    assert not STEERING.search(re.sub("\r\n|[\u2028\u2029]", "", source))


def assert_page(text: str) -> None:
    """A page that stands alone: no script, no handler, and nothing from elsewhere."""
    found = Shape(text)
    assert not {one[0] for one in found.shape} & {"script", "img", "comment", "instruction"}
    assert not {name for one in found.shape for name in one[1:] if name.startswith("on")}


def test_what_is_refused_is_named_on_one_line(tmp_path: Path) -> None:
    document = written_survey() | {"title": EVIL, EVIL: 1}
    document["questions"][0]["label"] = EVIL
    (tmp_path / "refused.yaml").write_text(json.dumps(document), encoding="utf-8")

    for command in (["check"], ["publish"], ["plan", "--n", "1000"]):
        assert "is no valid survey" in shown(*command, tmp_path / "refused.yaml")


def test_results_of_a_tally_file_are_words_on_the_terminal_in_tables_and_on_pages(
    file: Path, tmp_path: Path
) -> None:
    survey = publish_text(file.read_bytes())
    reports = of_simulation(randomise(simulate_people(survey, 60)))
    write_parts(tmp_path / "parts", reports.layout, [reports.rows])
    with duckdb() as engine:
        found = tally_set(open_parts(tmp_path / "parts"), engine, [])
    (tmp_path / "tally").write_bytes(tally_text(found))

    assert survey.title in shown("results", "--tally", tmp_path / "tally")
    assert formulas(shown("results", "--tally", tmp_path / "tally", "--format", "csv")) == []
    shown("results", "--tally", tmp_path / "tally", "--to", tmp_path / "pages")
    page = (tmp_path / "pages" / FIRST).read_text(encoding="utf-8")
    assert "<script>fetch" not in page
    links = re.findall(r'(?:href|src)="([^"]*)"', page)
    assert {one for one in links if re.match("[a-z]+:", one) and "http" not in one} == set()
    for name in links:
        if not re.match("[a-z]+:|#", name):
            assert (tmp_path / "pages" / name.partition("#")[0]).is_file(), name


# --- a server ------------------------------------------------------------------------------------


ANSWERS: dict[str, dict[str, Any]] = {
    "status": {"title": EVIL, "sentences": [EVIL, EVIL], "reports": EVIL},
    "published": {"links": {EVIL: EVIL}, "state": EVIL, "name": EVIL},
    "refusal": {
        "type": EVIL, "title": EVIL, "detail": EVIL, "errors": [{"path": EVIL, "why": EVIL}],
    },
    "definition": {"spec": 1, "name": "wild", EVIL: EVIL},
    "register": {"entries": [{"event": EVIL, "survey": EVIL, "day": EVIL}], "head": EVIL},
}  # fmt: skip


@pytest.mark.parametrize("status", [b"200 OK", b"403 No"])
@pytest.mark.parametrize("answer", ANSWERS)
def test_no_answer_of_a_server_is_a_line_of_a_command(
    file: Path, tmp_path: Path, answer: str, status: bytes
) -> None:
    body = json.dumps(ANSWERS[answer]).encode()
    head = b"Retry-After: \x1b[2J", b"Location: http://\x1b[2J"
    with hostile_server(fixed(body, *head, status=status)) as url:
        shown("status", "wild", "--server", url)
        shown("publish", file, "--server", url, "--anyway")
        shown("close", "wild", "--server", url, "--yes")
        shown("check", file, "--server", url)
        shown("results", f"{url}/surveys/wild")
        shown("export", "wild", "--server", url, "--to", tmp_path / "out")
        shown("register", url)
        shown("answer", f"{url}/s/wild")
        shown("rehearse", f"{url}/s/wild", "--people", "1")


def results_document(text: str) -> dict[str, Any]:
    """Results as a server sends them, with a text wherever one may be."""
    survey = publish_text(json.dumps(written_survey()))
    found = estimate(survey, of_simulation(randomise(simulate_people(survey, 50))).tally())
    document: dict[str, Any] = json.loads(found.to_json())
    _replace(document, text)
    return document


def _replace(value: Any, text: str) -> None:
    free = {"title", "label", "short", "unit", "sentence", "method", "state", "digest"}
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, str) and key in free:
                value[key] = text
            elif key in ("notes", "flags"):
                value[key] = [text]
            elif key == "total":
                value[key] = dict.fromkeys(item, text)
            else:
                _replace(item, text)
    elif isinstance(value, list):
        for item in value:
            _replace(item, text)


def test_results_of_a_server_are_words_and_its_names_are_names(tmp_path: Path) -> None:
    document = results_document(EVIL)
    with hostile_server(fixed(json.dumps(document).encode())) as url:
        assert "stolen" in shown("results", f"{url}/surveys/wild")
        assert formulas(shown("results", f"{url}/surveys/wild", "--format", "csv")) == []
        shown("results", f"{url}/surveys/wild", "--format", "json")
        shown("results", f"{url}/surveys/wild", "--to", tmp_path / "out")
    assert_page((tmp_path / "out/results.html").read_text(encoding="utf-8"))
    assert formulas((tmp_path / "out/results.csv").read_text(encoding="utf-8")) == []

    document["questions"][0]["name"] = "../outside"
    with hostile_server(fixed(json.dumps(document).encode())) as url:
        said = shown("results", f"{url}/surveys/wild", "--to", tmp_path / "second")
    assert "no Deniably server of this version" in said
    assert not (tmp_path / "outside.svg").exists()
