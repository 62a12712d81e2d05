"""A million reports given out as files, and a regression on them beside statsmodels' GLM."""

from __future__ import annotations

import csv
import http.client
import json
import secrets
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path
from time import perf_counter

import numpy as np
from hammered import Memory, watched
from service import perturbed, process_serving, survey_named
from sheet import Sheet, duration

sys.path.insert(0, str(Path(__file__).parents[1]))

import msgspec

import deniably as dn
from deniably.survey.survey import Survey
from deniably.trust.signing import new_key
from deniably_server.storage.store import Store
from deniably_server.storage.writing.commit import BatchWrite
from support.randomised_glm import glm

FORMATS = ("csv", "ndjson", "parquet")
GOAL_MEMORY = 200
GOAL_TIMES = 4
GOAL_FASTER = 1
_AGREES = 1e-6
_PIECE = 1 << 20
_AT_ONCE = 100_000


def measure(sheet: Sheet, folder: Path) -> None:
    n = 1_000 if sheet.quick else 1_000_000
    database, plain = folder / "exports.db", survey_named("exports")
    public = msgspec.structs.replace(plain.results, reports="public")
    survey = msgspec.structs.replace(plain, results=public, strata={"site": ["north", "south"]})
    sheet.section(f"{n:,} reports given out as files, 3 questions and a stratum")
    sheet.progress(f"storing {n:,} reports")
    fill(database, survey, n)
    bare = min(bare_seconds(database, folder / "bare.csv") for _ in range(1 if sheet.quick else 3))
    sheet.figure("a script: json.loads, sorted, csv.writer", duration(bare))
    command = [sys.executable, "-m", "deniably_client", "serve"]
    with process_serving(command, database) as (port, pid), watched(pid) as memory:
        for ending in FORMATS:
            given_out(sheet, port, ending, memory, bare)
        sheet.section(f"Logistic regression on these {n:,} reports, by stratum")
        sheet.progress("reading them from the server")
        start = perf_counter()
        study = dn.open(f"http://127.0.0.1:{port}/surveys/exports")
        sheet.figure("opened from the server", duration(perf_counter() - start))
    regression(sheet, study)


def fill(database: Path, survey: Survey, n: int) -> None:
    """A closed survey with so many reports, in alternating strata."""
    with closing(Store(str(database))) as store:
        stored(store, survey, n)
        store.close_survey(survey.name)
        store.erase_order()


def stored(store: Store, survey: Survey, n: int) -> None:
    """Publish a survey and store so many reports, in alternating strata where it has any."""
    store.publish(survey, new_key().sign(survey.digest))
    reports, _ = perturbed(survey, n)
    for start in range(0, n, _AT_ONCE):
        some = reports[start : start + _AT_ONCE]
        batch = BatchWrite(survey)
        batch.keys = [secrets.token_bytes(16) for _ in some]
        batch.strata = [number % 2 if survey.strata else 0 for number in range(len(some))]
        batch.values = [
            [msgspec.json.encode(value).decode() for value in column]
            for column in zip(*some, strict=True)
        ]
        store.begin(batch)
        batch.wait()


def bare_seconds(database: Path, file: Path) -> float:
    """What a short script takes, which holds all rows: read, parsed, sorted, written, no columns of
    choices."""
    start = perf_counter()
    with closing(sqlite3.connect(database)) as connection:
        stored = connection.execute("SELECT report, stratum FROM reports")
        rows = sorted((stratum, *chain(*json.loads(report))) for report, stratum in stored)
    with file.open("w", newline="") as target:
        csv.writer(target).writerows(rows)
    return perf_counter() - start


def given_out(sheet: Sheet, port: int, ending: str, memory: Memory, bare: float) -> None:
    sheet.progress(f"fetching reports.{ending}")
    memory.peak = idle = memory.now()
    start = perf_counter()
    size = sum(map(len, fetched(port, f"/api/surveys/exports/reports.{ending}")))
    seconds, most = perf_counter() - start, max(memory.peak, memory.now())
    sheet.figure(f"reports.{ending}, {size / 1e6:,.1f} MB", duration(seconds))
    sheet.figure("  times the script", f"{seconds / bare:.1f}", f"<= {GOAL_TIMES}",
                 seconds / bare <= GOAL_TIMES)  # fmt: skip
    sheet.figure("  memory of the server, idle and at most", f"{idle >> 20} MB, {most >> 20} MB")
    more = (most - idle) / (1 << 20)
    sheet.figure("  more by", f"{more:.0f} MB", f"<= {GOAL_MEMORY} MB", more <= GOAL_MEMORY)


def fetched(port: int, path: str) -> Iterator[bytes]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=600)) as connection:
        connection.request("GET", path)
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        while piece := answer.read(_PIECE):
            yield piece


def regression(sheet: Sheet, study: dn.Study) -> None:
    """Both on the same rows, in turn."""
    law = study.survey.questions[0].mechanism.law
    p, q = float(law.cell_probability(1, 1)), float(law.cell_probability(0, 1))
    said = study.reports.column("of_2").values
    south = np.array(study.reports.strata["site"]) == "south"
    columns = np.column_stack([np.ones(len(said)), south])
    glm(np.tile([0, 0, 1], 30), np.ones((90, 1)))  # which loads statsmodels
    study.regress("of_2 ~ 1")  # and formulaic
    ours, theirs, apart = [], [], 0.0
    for number in range(1 if sheet.quick else 3):
        sheet.progress(f"round {number + 1}")
        start = perf_counter()
        found = study.regress("of_2 ~ site")
        ours.append(perf_counter() - start)
        start = perf_counter()
        peer = glm(said, columns, p, q, tol=1e-12)
        theirs.append(perf_counter() - start)
        apart = max(apart, float(abs(found.estimates - peer.params).max()))
    sheet.figure("deniably, with formula and table", duration(min(ours)))
    sheet.figure("statsmodels, GLM with the same link", duration(min(theirs)))
    faster = min(theirs) / min(ours)
    sheet.figure("times as fast", f"{faster:.1f}", f"at least {GOAL_FASTER}", faster >= GOAL_FASTER)
    sheet.figure("coefficients apart by at most", f"{apart:.0e}", f"{_AGREES:g}", apart < _AGREES)
