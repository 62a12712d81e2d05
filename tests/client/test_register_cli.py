"""`deniably register`: anybody can look at what a server shows to everybody, and compare."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from deniably.core.canonical import canonical, digest
from deniably.survey.survey import as_survey
from deniably.trust.heads import head_of_trees, sign_head
from deniably.trust.listing import make_listing
from deniably.trust.register import NOTHING, published_entry
from deniably.trust.signing import fingerprint, new_key
from deniably.trust.trees import Trees
from spec.cases.mixers import EIGHT, SIGNING, mixed
from spec.cases.questions import YES_NO
from support.commands import Done, call, in_a_process
from support.intercepting_proxy import Entries, intercepting_proxy, listing_text
from support.material import AUTHOR, Server, survey_named


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server") / "deniably.db")
    server.publish(survey_named())
    server.publish(survey_named("another"))
    yield server
    server.kill()


def run(*arguments: str | Path) -> Done:
    return call("register", *arguments)


def test_it_lists_every_survey_with_its_author_and_the_seal(server: Server) -> None:
    done = in_a_process("register", f"{server.url}/s/workplace")

    head = requests.get(f"{server.url}/register/another", timeout=30).json()["head"]
    key, _ = head.pop("key"), head.pop("signature")
    assert done.returncode == 0, done.stderr
    assert "entries: 2, all verified" in done.stdout
    assert f"the seal is\n{digest(head)}\n" in done.stdout
    assert (
        f"signed the head that these entries make. The key of the server is\n{fingerprint(key)}"
        in done.stdout
    )
    assert done.stdout.count(fingerprint(AUTHOR.author)) == 2
    for survey in (survey_named(), survey_named("another")):
        assert survey.name in done.stdout
        assert survey.digest in done.stdout


def test_of_a_mixer_it_shows_the_claim_and_the_fingerprint(tmp_path: Path) -> None:
    survey = as_survey(mixed(YES_NO, EIGHT, name="through"))
    entry = published_entry(survey, AUTHOR.sign(survey.digest), "2026-11-21", 1, NOTHING)
    register = tmp_path / "register.json"
    register.write_bytes(canonical({"entries": [entry], "head": digest(entry)}))

    lines = run(register).stdout.splitlines()

    at = lines.index("2026-11-21 to now         through")
    assert lines[at + 1 : at + 4] == [
        "  epsilon  3.18, delta 0",
        "  mixed    epsilon 1.0986, delta 0.000001, against its server alone",
        f"  mixer    {fingerprint(SIGNING)}",
    ]


def test_without_a_mixer_it_shows_none(server: Server) -> None:
    assert "mixe" not in run(server.url).stdout


def test_two_copies_that_agree_are_said_to(server: Server, tmp_path: Path) -> None:
    saved = tmp_path / "register.json"
    run(server.url, "--save", saved)
    same = run(server.url, "--compare", saved)
    server.publish(survey_named("later"))
    behind = run(server.url, "--compare", saved)
    ahead = run(saved, "--compare", server.url)

    assert "The other copy is the same." in same.stdout
    assert "the other one is 1 entry behind" in behind.stdout
    assert "the first one is 1 entry behind" in ahead.stdout


def a_survey_for_one_person(entries: Entries) -> None:
    entries.insert(1, entries[0] | {"survey": "for-you"})


def test_a_register_that_is_shown_to_one_person_is_found_out(server: Server) -> None:
    with intercepting_proxy(server.url) as proxy:
        proxy.register(a_survey_for_one_person)
        done = run(proxy.url, "--compare", server.url)

    assert done.returncode == 1
    assert "differ from entry 2 on" in done.stderr


def forged(entries: Entries) -> None:
    entries[1]["signature"] = "0" * 128


@pytest.mark.parametrize(("chained", "why"), [(True, "signature"), (False, "does not continue")])
def test_a_forged_register_is_refused(server: Server, chained: bool, why: str) -> None:
    with intercepting_proxy(server.url) as proxy:
        proxy.register(forged, chained=chained)
        done = run(proxy.url)

    assert done.returncode == 1
    assert why in done.stderr or "head" in done.stderr


def test_a_server_whose_devices_get_another_head_than_its_entries_make_is_found_out(
    server: Server,
) -> None:
    """A map without one of the names, and then an entry that the log does not have."""
    whole = requests.get(f"{server.url}/register", timeout=30).json()["entries"]
    last = whole[-1]["survey"]
    unmapped = [entry | ({"event": "hidden"} if entry is whole[0] else {}) for entry in whole]
    trees = Trees()
    for entry in whole:
        trees.add(digest(entry), None if entry is whole[0] else entry["survey"])
    signed = sign_head(head_of_trees(trees, whole[-1]["day"]), new_key())
    with intercepting_proxy(server.url) as proxy:
        proxy.changes[f"/register/{last}"] = lambda _: make_listing(trees, signed, whole[-1]).text
        mapped = run(proxy.url)
        proxy.changes[f"/register/{last}"] = lambda _: listing_text(unmapped, last, new_key())
        logged = run(proxy.url)
        forged = {"signature": "0" * 128}
        proxy.changes[f"/register/{last}"] = lambda body: canonical(
            (listing := json.loads(body)) | {"head": listing["head"] | forged}
        )
        unsigned = run(proxy.url)

    assert (mapped.returncode, logged.returncode, unsigned.returncode) == (1, 1, 1)
    assert "It differs in the map of names. Do not answer" in mapped.stderr
    assert "It differs in the log of entries and in the map of names." in logged.stderr
    assert "the signature is not this server's" in unsigned.stderr


def steering(entries: Entries) -> None:
    """Characters that clear the screen, or hide what comes after them."""
    entries[0]["day"] = "2026-11-21\x1b[2J"
    entries.append(entries[0] | {"event": "closed", "day": "\x1b[8m"})


def another_version_and_steering(entries: Entries) -> None:
    entries[0]["digest"] = "\x1b[2J"


def test_no_text_of_a_register_steers_the_terminal(server: Server) -> None:
    with intercepting_proxy(server.url) as proxy:
        proxy.register(steering)
        shown = run(proxy.url)
        proxy.register(another_version_and_steering)
        refused = call("answer", "--no-memory", f"{proxy.url}/s/workplace")

    assert shown.returncode == 0, shown.stderr
    assert "2026-11-21[2J to [8m" in shown.stdout
    assert r"its digest is '\x1b[2J', not" in refused.stderr
    assert "\x1b" not in shown.stdout + refused.stderr


@pytest.mark.parametrize("address", ["http://127.0.0.1:9", "/no/such/file"])
def test_where_there_is_no_register_it_says_so(address: str) -> None:
    done = run(address)

    assert done.returncode in (1, 2)
    assert "Traceback" not in done.stderr
    assert address.split("/")[-1] in done.stderr
