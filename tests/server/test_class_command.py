"""``deniably lab class`` as a teacher calls it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import requests

from deniably.authoring.compiling import publish_text
from deniably_client.device import Device
from support.commands import call, in_a_process
from support.material import Server

ASK = ("lab", "class", "--question", "Have you ever copied homework?")


@pytest.fixture(autouse=True)
def no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TOKEN", "SERVER", "KEY"):
        monkeypatch.delenv(f"DENIABLY_{name}", raising=False)


def test_a_question_is_published_with_a_page_answered_and_closed(
    serve: Callable[..., Server],
) -> None:
    server = serve()
    there = ("--server", server.url, "--token", server.token)

    done = in_a_process(*ASK, "--coins", "0.5", "--people", "6", "--name", "homework", *there)

    assert done.returncode == 0, done.stderr
    links = dict(line.split(maxsplit=1) for line in done.stdout.splitlines() if "://" in line)
    assert links["form"] == f"{server.url}/s/homework"
    assert links["class"] == f"{server.url}/surveys/homework/class?people=6"
    for link in (links["form"], links["class"], links["dashboard"]):
        assert requests.get(link, timeout=10).status_code == 200
    assert f"deniably close homework --server {server.url}" in done.stdout
    assert "Phones cannot reach this address" in done.stdout
    definition = requests.get(f"{server.url}/api/surveys/homework", timeout=10).json()
    assert definition["results"] == {"minimum": 3, "while_open": True}
    assert definition["questions"][0]["mechanism"] == {
        "name": "subset_selection", "k": 2, "omega": 1, "own": 3, "other": 1
    }  # fmt: skip
    for _ in range(6):
        Device(links["form"]).answer({"answer": "yes"})
    many = '<p class="many">{} reports</p>'
    assert many.format(3) in requests.get(links["class"], timeout=10).text
    assert call("close", "homework", *there).returncode == 0
    assert many.format(6) in requests.get(links["class"], timeout=10).text


def test_it_says_before_how_precise_it_will_be() -> None:
    done = call(*ASK, "--coins", "0.5", "--dry-run")

    assert "With 30 people, the share of “Yes” is known to about ±36 points." in done.stderr
    assert "With a second class, 60 people in all, it is ±25." in done.stderr
    assert "With odds of 9 in place of 3, which protect less, it is ±22." in done.stderr
    wider = call(*ASK, "--people", "12", "--odds", "9", "--dry-run").stderr
    assert "With 12 people, the share of “Yes” is known to about ±35 points." in wider
    assert "odds" not in wider


def test_the_file_alone_is_what_an_author_writes(tmp_path: Path) -> None:
    file = tmp_path / "class.yaml"
    options = ("--choices", "Never, Sometimes,Often", "--odds", "9", "--people", "24",
               "--name", "class-1", "--language", "de", "--title", "Eine Frage")  # fmt: skip

    printed = call(*ASK, *options, "--dry-run").stdout
    done = call(*ASK, *options, "--closed", "--output", file)

    survey = publish_text(printed)
    assert [one.label for one in survey.questions[0].choices] == ["Never", "Sometimes", "Often"]  # type: ignore[union-attr]
    assert survey.questions[0].mechanism.loss.odds == 9
    assert (survey.name, survey.language, survey.title) == ("class-1", "de", "Eine Frage")
    assert survey.results.minimum == 5
    assert file.read_text(encoding="utf-8") == printed.replace("open: true", "open: false")
    assert f"wrote {file}" in done.stderr
    names = {publish_text(call(*ASK, "--dry-run").stdout).name for _ in range(5)}
    assert len(names) == 5, "each has a name of its own"
    assert all(name.startswith("class-") and len(name) == len("class-") + 5 for name in names)


@pytest.mark.parametrize("people", [2, 5, 9, 1000])
def test_a_class_of_any_size_sees_its_result(people: int) -> None:
    survey = publish_text(call(*ASK, "--people", str(people), "--dry-run").stdout)

    assert survey.results.first_shown <= people
    assert survey.results.while_open


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ([], "--token or DENIABLY_TOKEN; --dry-run shows the file without"),
        (["--coins", "0.5", "--odds", "3"], "state the privacy once: --coins or --odds"),
        (["--coins", "1.5"], "$.questions[0].coins.truth: the number 1.5; allowed is"),
        (["--odds", "many"], "$.questions[0].odds: the text 'many'; allowed is"),
        (["--choices", "Never"], "$.questions[0].choices: a list of 1; allowed is"),
        (["--name", "No Name"], "$.name: the text 'No Name'; allowed is"),
        (["--people", "10", "--minimum", "11", "--closed"], "nothing would be shown at all"),
        (["--people", "10", "--minimum", "6"], "as the newest step is held back; or add --closed"),
        (["--people", "1"], "1 is not in the range 2<=x<=1000"),
        (["--output", "/nowhere/at/all.yaml"], "No such file or directory"),
        (["--odds", "20000", "--token", "t", "--server", "http://127.0.0.1:9"],
         "To publish it all the same: --anyway"),
        (["--token", "t", "--server", "http://127.0.0.1:9"], "cannot reach http://127.0.0.1:9"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_the_mend(options: list[str], why: str) -> None:
    done = call(*ASK, *options)

    assert done.returncode in (1, 2)
    assert why in " ".join(done.stderr.split())
    assert "published" not in done.stdout


def test_the_lab_lists_it() -> None:
    helped = call("lab", "--help").stdout

    assert "deniably lab class" in " ".join(helped.split())
    assert "  class " in helped
