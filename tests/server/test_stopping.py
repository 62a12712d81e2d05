"""What is computed for nobody ends when the server stops."""

from __future__ import annotations

import os
import signal
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
import requests

from deniably.simulation.reports import randomise, simulate_people
from deniably.workbench.report_set import of_simulation
from support.material import Server, survey_named
from support.nursery import Nursery
from support.stored import stored

SURVEY = survey_named(results={"minimum": 5, "while_open": False})


def children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.slow
def test_a_server_that_stops_waits_for_no_results_that_nobody_waits_for(
    nursery: Nursery, database: Path
) -> None:
    """However long it would wait for others."""
    people = simulate_people(SURVEY, 20)
    with closing(stored(str(database), of_simulation(randomise(people)))) as store:
        store.close_survey(SURVEY.name)
    server = Server(
        database, "--longest", "600", begin=partial(nursery.begin, uvicorn_server_PATIENCE=600)
    )
    (serving,) = server.workers
    computing = children(serving)
    for process in computing:
        os.kill(process, signal.SIGSTOP)
    try:
        with pytest.raises(requests.ReadTimeout):
            requests.get(f"{server.url}/api/surveys/{SURVEY.name}/results", timeout=3)
        assert server.stop() == 0
    finally:
        for process in computing:
            os.kill(process, signal.SIGCONT)
    assert "Traceback" not in server.log
