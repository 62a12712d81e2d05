"""The specification alone is enough to write a third client: here is one.

`client/example/device.py` shares no code with Deniably. It reads the shared vectors as it should
and answers a real server; where it may not know enough, it refuses.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from deniably.device.memory import read_memory
from deniably.survey.survey import as_survey
from deniably.trust.envelope import new_opening_key, open_outer
from deniably.trust.mixed_survey import mixed_survey
from deniably.trust.mixer_statement import MixerStatement
from deniably.trust.signing import new_key
from deniably_server.storage.mixer_store import MixerKeys, MixerStore
from deniably_server.storage.store import Store
from spec.cases.mixers import EIGHT, mixed
from spec.cases.questions import YES_NO, changed
from support.material import AUTHOR, Server, survey_named
from support.mixing import MixerServer, Parties

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "client/example/device.py"
VECTORS = ROOT / "shared/vectors"
UNKNOWN = ("this device", "a key is missing")  # the start of the sentences of what it does not do


def load() -> Any:
    spec = importlib.util.spec_from_file_location("example_device", EXAMPLE)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


device = load()


def cases(name: str) -> Iterator[tuple[Any, Any]]:
    file = json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))
    return ((group, case) for group in file["groups"] for case in group["tests"])


def tape(data: str) -> Any:
    left = iter(bytes.fromhex(data))
    return lambda count: bytes(next(left) for _ in range(count))


def test_it_has_no_code_of_deniably() -> None:
    tree = ast.parse(EXAMPLE.read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {alias.name for node in imports for alias in node.names}
    modules = {node.module for node in imports if isinstance(node, ast.ImportFrom) and node.module}
    assert {name.partition(".")[0] for name in modules} == {
        "__future__", "cryptography", "fractions", "pathlib", "urllib",
    }  # fmt: skip
    assert not any("deniably" in name for name in names)


def test_its_coins_are_those_of_the_vectors() -> None:
    ran = 0
    for group, case in cases("coins"):
        if case["result"] == "valid" and group["type"] == "below":
            assert device.below(int(case["bound"]), tape(case["bytes"])) == int(case["value"])
            ran += 1
    assert ran > 100


def test_its_orders_are_those_of_the_vectors() -> None:
    ran = 0
    for group, case in cases("coins"):
        if case["result"] == "valid" and group["type"] == "pick":
            found = device.pick(case["n"], case["size"], tape(case["bytes"]))
            assert found == case["value"]
            ran += 1
    assert ran > 10


def test_its_reports_are_those_of_the_vectors() -> None:
    ran = 0
    for group, case in cases("subset_selection"):
        if group["type"] == "report" and case["result"] == "valid":
            parameters = {key: int(value) for key, value in group["parameters"].items()}
            found = device.subset_selection(parameters, case["answer"], tape(case["bytes"]))
            assert found == case["report"]
            ran += 1
    assert ran > 30


def test_its_canonical_json_is_that_of_the_vectors() -> None:
    for _, case in cases("canonical"):
        if case["result"] == "valid":
            assert device.canonical(device.parse(case["json"])) == case["canonical"]
            assert device.digest(device.parse(case["json"])) == case["digest"]
        else:
            with pytest.raises(device.Refused):
                device.canonical(device.parse(case["json"]))


def test_it_accepts_the_claims_that_hold_and_no_other() -> None:
    for _, case in cases("claims"):
        odds = Fraction(int(case["own"]), int(case["other"]))
        if case["result"] == "valid":
            device.check_claim(case["claim"], odds)
        else:
            with pytest.raises(device.Refused):
                device.check_claim(case["claim"], odds)


def test_it_verifies_a_definition_or_says_that_it_does_not_know_it() -> None:
    verified = 0
    for _, case in cases("definitions"):
        found, refusal = verify(case["text"])
        if case["result"] == "invalid":
            assert refusal, case["comment"]
        elif refusal:
            assert refusal.startswith(UNKNOWN), case["comment"]
        else:
            assert found == case["digest"]
            verified += 1
    assert verified > 20


def test_it_knows_the_strata_of_the_vectors_and_the_links_to_them() -> None:
    ran = Counter[str]()
    for group, case in cases("strata"):
        kind = group["type"]
        if kind == "valid_definition":
            assert verify(case["text"]) == (case["digest"], "")
        elif kind == "invalid_definition":
            _, refusal = verify(case["text"])
            assert refusal, case["comment"]
            assert not refusal.startswith(UNKNOWN), case["comment"]
        elif kind == "link":
            strata = json.loads(group["definition"])["strata"]
            if case["result"] == "valid":
                assert device.stratum_in(case["query"], strata) == case["strata"]
            else:
                with pytest.raises(device.Refused):
                    device.stratum_in(case["query"], strata)
        ran[kind] += 1
    assert min(ran[kind] for kind in ("valid_definition", "invalid_definition", "link")) > 5


def verify(text: str) -> tuple[str, str]:
    """The digest of a definition that it would answer, or why it would not."""
    try:
        survey = device.parse(text)
        device.check_definition(survey)
        return device.digest(survey), ""
    except device.Refused as why:
        return "", str(why)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server") / "deniably.db")
    server.publish(survey_named())
    server.publish(survey_named("another"))
    server.publish(survey_named("divided", part=True))
    server.publish(survey_named("sites", strata={"site": ["north", "south"]}))
    yield server
    server.kill()


def run(server: Server, folder: Path, *answers: str, name: str = "workplace") -> Any:
    return subprocess.run(
        [sys.executable, "-I", str(EXAMPLE), f"{server.url}/s/{name}", str(folder), *answers],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def stored(server: Server, name: str = "workplace") -> int:
    with closing(sqlite3.connect(server.database)) as database:
        sql = "SELECT count(*) FROM reports WHERE survey = ?"
        return int(database.execute(sql, [name]).fetchone()[0])


def test_it_answers_a_real_server_once_however_often_it_is_run(
    server: Server, tmp_path: Path
) -> None:
    before = stored(server)
    first = run(server, tmp_path, "stolen=yes", "often=never")
    again = run(server, tmp_path, "stolen=no", "often=daily")

    assert first.returncode == 0, first.stderr
    assert again.stdout == first.stdout, "the same bytes, whatever is said the second time"
    assert stored(server) == before + 1


def test_a_call_without_an_address_is_explained() -> None:
    done = subprocess.run(
        [sys.executable, "-I", str(EXAMPLE)], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr.split(":")[0]) == (1, "Usage")


def test_an_answer_without_a_choice_is_explained(server: Server, tmp_path: Path) -> None:
    assert "answers look like stolen=yes" in run(server, tmp_path, "stolen").stderr


def test_it_keeps_a_ledger_and_its_limit(server: Server, tmp_path: Path) -> None:
    run(server, tmp_path, "stolen=yes", "often=never")
    memory = device.Memory(tmp_path)
    assert [entry["odds"] for entry in memory.document["ledger"]] == ["3", "3"]
    assert {entry["author"] for entry in memory.document["ledger"]} == {AUTHOR.author}
    memory.document["ledger"] += 7 * memory.document["ledger"][:1]
    memory.keep()
    memory.lock.close()

    refused = run(server, tmp_path, "stolen=yes", "often=never", name="another")

    assert refused.returncode == 1
    assert "limit of epsilon 10 (author)" in refused.stderr


def test_it_answers_a_part_where_its_limit_leaves_room_for_one(
    server: Server, tmp_path: Path
) -> None:
    run(server, tmp_path, "stolen=yes", "often=never")
    memory = device.Memory(tmp_path)
    memory.document["ledger"] += 6 * memory.document["ledger"][:1]
    memory.keep()
    memory.lock.close()

    first = run(server, tmp_path, "stolen=yes", "often=never", name="divided")
    again = run(server, tmp_path, "stolen=no", "often=daily", name="divided")

    assert "It can answer 1 of 2 questions, drawn by chance" in first.stdout
    assert stored(server, "divided") == 1
    assert again.stdout in first.stdout, "the same report, and no other question"
    memory = device.Memory(tmp_path)
    memory.lock.close()
    assert len(memory.document["ledger"]) == 9
    assert "orders" not in memory.document


def test_it_keeps_the_order_that_chance_drew(tmp_path: Path) -> None:
    """Else a person could ask again until a question comes that suits."""
    survey = json.loads(survey_named("divided", part=True).canonical)
    before, author, today = json.loads(survey_named().canonical), "a" * 64, "2026-05-04"
    memory = device.Memory(tmp_path)
    asked = 4 * before["questions"][:1]
    memory.document["ledger"] = device.spending(memory.document, before, asked, author, today)
    memory.document["ledger"] *= 2

    drawn = [device.questions_left(memory, survey, author, today) for _ in range(64)]

    memory.lock.close()
    assert len(drawn[0]) == 1
    assert drawn == drawn[:1] * 64, "by chance all alike in 1 of 2 to the power of 63"


def test_it_refuses_when_its_memory_was_changed(server: Server, tmp_path: Path) -> None:
    run(server, tmp_path, "stolen=yes", "often=never")
    sealed = bytearray((tmp_path / "memory").read_bytes())
    sealed[-1] ^= 1
    (tmp_path / "memory").write_bytes(sealed)

    refused = run(server, tmp_path, "stolen=yes", "often=never")

    assert refused.returncode == 1
    assert "damaged" in refused.stderr


def test_it_reports_the_stratum_of_its_first_link_and_says_so(
    server: Server, tmp_path: Path
) -> None:
    answers = ("stolen=yes", "often=never")
    unnamed = run(server, tmp_path, *answers, name="sites")
    first = run(server, tmp_path, *answers, name="sites?site=north&utm_source=letter")
    again = run(server, tmp_path, *answers, name="sites?site=south")

    assert unnamed.returncode == 1
    assert "the link must say site, one of ['north', 'south']" in unnamed.stderr
    assert first.returncode == 0, first.stderr
    assert first.stdout.startswith("Your group is sent as it is: site north.\nSent.")
    assert again.stdout == first.stdout
    with closing(Store(str(server.database))) as store:
        assert [n for (n,) in store.counts_by_stratum("sites")] == [1, 0]


@pytest.fixture(scope="module")
def mixed_study(
    server: Server, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[MixerServer, Parties]]:
    """A mixer that has accepted the survey ``council`` of the server."""
    mixer = MixerServer(tmp_path_factory.mktemp("mixer") / "mixer.db")
    keys, own = MixerKeys(new_opening_key(), new_key()), new_opening_key()
    members = {"address": mixer.url, "key": keys.opening.public, "open": own.public}
    terms = {"name": "council", "mixer": members | {"signing": keys.signing.author}}
    survey = as_survey(mixed(YES_NO, EIGHT, **terms))
    server.publish(survey)
    yield mixer, mixer.accept(Parties(mixed_survey(survey), keys, own))
    mixer.kill()


def test_it_seals_for_a_mixer_and_sends_one_envelope(
    server: Server, mixed_study: tuple[MixerServer, Parties], tmp_path: Path
) -> None:
    mixer, parties = mixed_study
    first = run(server, tmp_path, "a=yes", "e=no", name="council")
    again = run(server, tmp_path, "a=no", "e=yes", name="council")

    assert first.returncode == 0, first.stderr
    assert "go to Works council of Example Ltd, which cannot open them" in first.stdout
    assert again.stdout in first.stdout, "the same bytes"
    some = parties.survey
    with closing(MixerStore(str(mixer.database))) as store:
        (sealed,) = store.sealed(some.digest)
    opened = open_outer(parties.mixer.opening, some.digest, sealed, some.length, 2)
    reports = parties.reports(b"".join(opened.inner))
    assert [list(report["values"]) for report in reports] == [["a"], ["e"]]
    assert reports[0]["id"] != reports[1]["id"]
    memory = device.Memory(tmp_path)
    memory.lock.close()
    # It is the memory of any device, which the library reads.
    kept = read_memory(device.canonical(memory.document).encode())
    assert [each.counts("server").epsilon_text() for each in kept.ledger] == ["1.10", "0.00"]
    assert kept.reports[some.digest].sent


def test_it_counts_both_accounts_of_a_survey_with_a_mixer() -> None:
    survey = json.loads(
        as_survey(mixed(*[changed(EIGHT, name=f"q{i}") for i in range(13)])).canonical
    )
    document = {"ledger": [], "authors": {}, "registers": {}}

    device.spending(document, survey, survey["questions"][:12], "", "2026-05-04")
    with pytest.raises(device.Refused, match=r"epsilon 25 \(version, if mixers work together"):
        device.spending(document, survey, survey["questions"], "", "2026-05-04")


def test_it_believes_no_statement_that_the_mixer_did_not_sign() -> None:
    key = new_key()
    survey = json.loads(as_survey(mixed(EIGHT, mixer={"signing": key.author})).canonical)
    by, version = survey["mixer"]["by"], device.digest(survey)
    right = MixerStatement(by, 0, 10, version, "2999-12-31").signed(key)
    invited = MixerStatement(by, 5, 0, version, "2999-12-31").signed(key)
    wrong = [
        MixerStatement("Somebody else", 0, 10, version, "2999-12-31").signed(key),
        MixerStatement(by, 0, 10, "0" * 64, "2999-12-31").signed(key),
        MixerStatement(by, 0, 10, version, "2999-12-31").signed(new_key()),
        invited,
    ]

    device.check_statement(survey, json.loads(right.canonical))
    for each in wrong:
        with pytest.raises(device.Refused):
            device.check_statement(survey, json.loads(each.canonical))


def test_it_finds_its_envelopes_in_the_list_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {"inner": ["0" * 64, "1" * 64]}
    answers = iter([(404, {}, b""), (200, {}, bytes(32)), (200, {}, b"x")])
    monkeypatch.setattr(device, "ask", lambda url: next(answers))

    assert device.arrived("", kept) is None
    assert device.arrived("", kept) == 1
    with pytest.raises(device.Refused):
        device.arrived("", kept)


def test_no_answer_is_in_what_it_says_or_keeps(server: Server, tmp_path: Path) -> None:
    done = run(server, tmp_path, "stolen=yes", "often=Zilch")

    assert done.returncode == 1
    assert "Zilch" not in done.stderr + done.stdout
    assert stored(server, "another") == 0
