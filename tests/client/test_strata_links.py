"""A device of a survey with strata: its link says the group, and the first link stays."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

import deniably as dn
from deniably.audit import whole_reports
from deniably.authoring.compiling import publish_text
from deniably.core.coins import Coins
from deniably.core.errors import BadLink, BadReport
from deniably.device.memory import Memory
from deniably.survey.report import make_report
from deniably.survey.survey import Survey
from deniably_client import Device, Storage
from deniably_client.rehearsal import rehearse
from deniably_client.terminal import answer
from deniably_server.storage.store import Store
from support import whole_faults
from support.material import Server

SURVEY = publish_text(
    """
name: w
title: At work
results: {minimum: 5}
strata: {site: [north, south]}
questions:
  - {name: a, type: yes_no, label: Ever, odds: 3}
  - {name: b, type: yes_no, label: Never, odds: 3}
"""
)
ANSWERS = {"a": "yes", "b": "no"}


def counts(server: Server) -> list[int]:
    with closing(Store(str(server.database))) as store:
        return [max(each) for each in store.counts_by_stratum("w")]


def test_a_second_link_sends_the_report_of_the_first_and_charges_nothing(
    server: Server, tmp_path: Path
) -> None:
    memory = Storage(tmp_path / "memory")
    first = Device(f"{server.url}/s/w?site=north&utm_source=letter", memory).answer(ANSWERS)
    ledger = memory.read().ledger

    again = Device(f"{server.url}/s/w?site=south", memory).answer(ANSWERS)

    assert (again.digest, again.again) == (first.digest, True)
    assert dict(again.stratum) == {"site": "north"}
    assert "stratum   site north, sent as it is" in str(first)
    assert memory.read().ledger == ledger
    assert counts(server) == [1, 0]
    Device(f"{server.url}/s/w?site=south", memory).answer({"a": "no"}, changed=["a"])
    (kept,) = memory.read().reports.values()
    assert json.loads(kept.text)["strata"] == {"site": "north"}
    assert counts(server) == [2, 0]


@pytest.mark.parametrize(
    "end", ["", "?site=", "?site=east", "?site=north&site=south", "?Site=north"]
)
def test_a_link_without_a_group_is_refused_before_anything_is_charged(
    end: str, server: Server, tmp_path: Path
) -> None:
    memory = Storage(tmp_path / "memory")

    with pytest.raises(BadLink) as refused:
        Device(f"{server.url}/s/w{end}", memory).answer(ANSWERS)

    assert "east" not in str(refused.value)
    assert memory.read().ledger == ()
    assert memory.read().reports == {}
    assert counts(server) == [0, 0]


def test_the_terminal_says_the_group_before_it_asks(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DENIABLY_HOME", str(tmp_path))

    done = CliRunner().invoke(answer, [f"{server.url}/s/w?site=south"], input="1\n2\nyes\n")
    assert done.exit_code == 0, done.output
    told, asked = (done.output.index(text) for text in ("They know your group", "Ever"))
    assert told < asked
    assert "answers: site south" in done.output
    assert counts(server) == [0, 1]
    wrong = CliRunner().invoke(answer, [f"{server.url}/s/w", "--no-memory"])
    assert wrong.exit_code == 1
    assert "right link" in wrong.output


def test_a_rehearsal_uses_every_link_and_results_come_by_group(own_server: Server) -> None:
    done = CliRunner().invoke(rehearse, [f"{own_server.url}/s/w", "--people", "20"])
    assert done.exit_code == 0, done.output
    assert counts(own_server) == [10, 10]

    own_server.close(SURVEY)
    study = dn.open(f"{own_server.url}/surveys/w")
    assert study.estimate().document.subgroups == [{"site": "north"}, {"site": "south"}]
    found = study.estimate("a", by="site", confidence=0.9)
    assert [*found.parts] == ["north", "south"]
    north = found.parts["north"].document
    assert (north.n, north.strata, north.confidence) == (10, {"site": "north"}, 0.9)
    assert [row["strata"] for row in found.rows] == ["site north"] * 2 + ["site south"] * 2
    with pytest.raises(dn.NoFigure, match="w has no key sit; did you mean site"):
        study.estimate(by="sit")


def leaking(survey: Survey, said: object, *rest: object, **more: object) -> object:
    """A device whose stratum tells the first answer."""
    told = "north" if isinstance(said, dict) and said["a"] == "yes" else "south"
    return make_report(survey, said, *rest, **more | {"strata": {"site": told}})  # type: ignore[arg-type]


@pytest.mark.parametrize("respond", [whole_reports.reports(), whole_faults.device()])
def test_an_audit_takes_the_stratum_of_the_link_and_no_other(respond: whole_reports.Send) -> None:
    given = {"a": 0, "b": 1}
    for send, right in ((respond, True), (whole_reports.reports(leaking), False)):  # type: ignore[arg-type]
        sent = send([SURVEY], ANSWERS, Coins())
        ids = [json.loads(sent[0])["id"]]
        if right:
            assert whole_reports.law([SURVEY], given, sent, ids) > 0
        else:
            with pytest.raises(BadReport, match="what the link said"):
                whole_reports.law([SURVEY], given, sent, ids)


def test_the_memory_of_a_survey_without_strata_is_as_it_was() -> None:
    assert b"strata" not in Memory().canonical
