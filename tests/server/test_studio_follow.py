"""What the studio tells of an open survey: never when somebody answered."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner
from flask import Flask

from deniably_server.commands import maintenance
from deniably_server.guard.app_state import store_of
from deniably_server.watching import coarse_counts
from deniably_server.watching.coarse_counts import EVERY, STEP
from support.clock import Clock
from support.material import a_report
from support.soak import soak
from support.studio import founded

SURVEY = {
    "name": "spring-26",
    "title": "Pay",
    "questions": [{"name": "fair", "type": "yes_no", "label": "Paid fairly?", "odds": 3}],
}


@pytest.mark.parametrize("reports", [60, soak(1000)])
def test_who_looks_after_each_report_sees_tens_five_minutes_apart(
    app: Flask, prepared: Path, monkeypatch: pytest.MonkeyPatch, reports: int
) -> None:
    """A report each 15 seconds; the group's page and its first page, looked at as often."""
    clock, store = Clock(1e9), store_of(app)
    monkeypatch.setattr(coarse_counts, "time", clock)
    author = founded(app)
    author.publish(author.begin(SURVEY))
    survey = store.survey("spring-26")
    seen: dict[str, float] = {}

    for answered in range(reports):
        store.add(survey, a_report(survey))
        clock.now += 15
        looks = [author.client.get(page) for page in ("/studio/s/spring-26", "/studio/")]
        assert [look.status_code for look in looks] == [200, 200]
        both = [re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", look.text)) for look in looks]
        seen.setdefault(" / ".join(both), clock.now)
        told = re.search(r"(?:fewer than|at least) ([\d,]+) reports so far", both[0])
        assert told
        said = int(told[1].replace(",", ""))
        assert said % STEP == 0
        assert said <= answered + 1 or "fewer than 10 " in both[0]

    _, *firsts = sorted(seen.values())
    assert len(firsts) >= reports * 15 // EVERY - 1, "it does grow"
    assert min(later - before for before, later in pairwise(firsts)) >= EVERY

    looked = CliRunner().invoke(maintenance.doctor, ["--privacy", "--database", str(prepared)])
    assert looked.exit_code == 0, looked.output
