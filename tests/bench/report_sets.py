"""A report set of a hundred million reports, counted by DuckDB beside its bare group by; and lines
of reports, gathered beside what DuckDB takes to read, sort and write them."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from sheet import Sheet, duration, rate

from deniably.authoring.compiling import compile_survey
from deniably.mechanisms.law import Supporting
from deniably.simulation.reports import randomise_again, simulate_people
from deniably.survey.survey import Survey
from deniably.workbench.engines.duck import duckdb
from deniably.workbench.engines.tallying import tally_set
from deniably.workbench.files.parquet_parts import Parts, open_parts, write_parts
from deniably.workbench.packing import layout
from deniably.workbench.report_set import packed_simulation

GOAL_TIMES = 1.2
GOAL_MEMORY = 500
GOAL_FLAT = 1.2
GOAL_GATHER = 3
_CHOICES = {"of_2": 2, "of_5": 5, "of_11": 11}


def measure(sheet: Sheet, folder: Path) -> None:
    few, many = (1_000, 10_000) if sheet.quick else (1_000_000, 100_000_000)
    survey = survey_of(_CHOICES)
    sheet.section(f"A set of {many:,} reports, 3 questions, counted by DuckDB")
    sheet.progress(f"simulating {many:,} reports")
    start = perf_counter()
    large = written(folder / "large", survey, many)
    seconds = perf_counter() - start
    size = sum(file.stat().st_size for file in large.files) / 1e6
    sheet.figure(f"simulated, sorted and written, {size:.1f} MB", rate(many / seconds))
    sheet.progress("counting")
    ours = beside_bare(sheet, "sorted by content", large)
    beside_bare(sheet, "in no order", unsorted(folder / "unsorted", large))
    memory(sheet, folder, large)
    small = timed(written(folder / "small", survey, few))
    flat = (ours / many) / (small / few)
    sheet.figure(f"cost a report, times that of {few:,}", f"{flat:.2f}", f"<= {GOAL_FLAT}",
                 flat <= GOAL_FLAT)  # fmt: skip
    gathered(sheet, folder, "3 questions", survey)
    gathered(sheet, folder, "12 questions", survey_of({f"of_5_{one}": 5 for one in range(12)}))


def survey_of(choices: dict[str, int]) -> Survey:
    return compile_survey(
        {
            "name": "large",
            "title": "Large",
            "questions": [
                {"name": name, "type": "select_one", "label": name, "odds": 3,
                 "choices": [f"c{one}" for one in range(k)]}
                for name, k in choices.items()
            ],
        }
    )  # fmt: skip


def written(to: Path, survey: Survey, n: int) -> Parts:
    people, places = simulate_people(survey, min(n // 10, 2_000)), layout(survey)
    batches = randomise_again(people, n)
    write_parts(to, places, (rows for one in batches for rows in packed_simulation(places, one)))
    return open_parts(to)


def unsorted(to: Path, parts: Parts) -> Parts:
    """The same sort of files with reports in no order, as they come from elsewhere."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    to.mkdir()
    generator = np.random.default_rng(1)
    for file in ("survey.json", "design.json"):
        (to / file).write_bytes((parts.files[0].parent / file).read_bytes())
    for file in parts.files:
        table = pq.read_table(file)
        order = pa.array(generator.permutation(len(table)))
        pq.write_table(table.take(order), to / file.name, compression="zstd")
    return open_parts(to)


def beside_bare(sheet: Sheet, how: str, parts: Parts) -> float:
    """All in turn, the first time not counted; returns the median of ours."""
    import duckdb as module

    names = parts.columns.names
    sums = ", ".join(f"sum({name})" for name in names if "__" in name)
    each = [f"SELECT {one}, count(*) FROM read_parquet(?) GROUP BY {one}" for one in names]
    least = [query for one, query in zip(names, each, strict=True) if "__" not in one]
    least.append(f"SELECT {sums} FROM read_parquet(?)")
    one_scan = (
        f"SELECT count(*), {', '.join(f'sum({name})' for name in names)} FROM read_parquet(?)"
    )
    ours, times, more = list[float](), list[float](), list[float]()
    scans, frames = list[float](), list[float]()
    with closing(module.connect()) as connection, duckdb() as engine:
        for number in range(2 if sheet.quick else 6):
            bare, shortest, scan = (
                asked(connection, one, parts) for one in (each, least, [one_scan])
            )
            frame = summed_by_polars(parts)
            start = perf_counter()
            tally_set(parts, engine)
            seconds = perf_counter() - start
            if number:
                ours.append(seconds)
                times.append(seconds / bare)
                more.append(seconds / shortest)
                scans.append(seconds / scan)
                frames.append(seconds / frame)
    sheet.figure(f"tally, {how}", duration(median(ours)))
    found = median(times)
    sheet.figure("  times the bare group by of each column", f"{found:.2f}", f"<= {GOAL_TIMES}",
                 found <= GOAL_TIMES)  # fmt: skip
    sheet.figure("  times a bare sum of each 0 and 1, no report checked", f"{median(more):.2f}")
    sheet.figure("  times one scan that sums every column", f"{median(scans):.2f}")
    sheet.figure("  times the same sums by Polars", f"{median(frames):.2f}")
    return median(ours)


def summed_by_polars(parts: Parts) -> float:
    """How long Polars takes to sum every column."""
    import polars

    start = perf_counter()
    polars.scan_parquet(list(map(str, parts.files))).sum().collect()
    return perf_counter() - start


def asked(connection: Any, queries: list[str], parts: Parts) -> float:
    """How long some queries take."""
    start = perf_counter()
    for query in queries:
        connection.execute(query, [list(map(str, parts.files))]).fetchall()
    return perf_counter() - start


def timed(parts: Parts) -> float:
    with duckdb() as engine:
        tally_set(parts, engine)
        start = perf_counter()
        tally_set(parts, engine)
        return perf_counter() - start


def gathered(sheet: Sheet, folder: Path, what: str, survey: Survey) -> None:
    """Lines as devices send them, gathered by the command, beside DuckDB alone; both in turn."""
    n, rounds = (2_000, 1) if sheet.quick else (2_000_000, 3)
    place = folder / what.partition(" ")[0]
    place.mkdir()
    sheet.progress(f"writing {n:,} lines of {what}")
    (place / "survey.json").write_bytes(survey.canonical)
    write_lines(place / "lines.ndjson", survey, n)
    command = [sys.executable, "-m", "deniably_client", "gather", "survey.json", "lines.ndjson"]
    ours, theirs = list[float](), list[float]()
    for number in range(rounds):
        start = perf_counter()
        subprocess.run([*command, "--to", f"set-{number}"], cwd=place, check=True,
                       capture_output=True)  # fmt: skip
        ours.append(perf_counter() - start)
        start = perf_counter()
        subprocess.run([sys.executable, "-c", _BARE, str(place)], check=True)
        theirs.append(perf_counter() - start)
    sheet.figure(f"deniably gather, {what}", rate(n / median(ours)))
    found = median(one / other for one, other in zip(ours, theirs, strict=True))
    sheet.figure("  times DuckDB's read, sort and write, unchecked", f"{found:.2f}",
                 f"<= {GOAL_GATHER}", found <= GOAL_GATHER)  # fmt: skip


_BARE = """import json, sys
from pathlib import Path
import duckdb
place = Path(sys.argv[1])
survey = json.loads((place / "survey.json").read_bytes())
columns, fields = [], []
for one in survey["questions"]:
    name, mechanism = one["name"], one["mechanism"]
    fields.append(f"{name} TINYINT[]")
    if mechanism["omega"] == 1:
        columns.append(f'"values".{name}[1]')
    else:
        named = (f'list_contains("values".{name}, {at})' for at in range(mechanism["k"]))
        columns += [f"{one}::TINYINT" for one in named]
duckdb.execute("set enable_progress_bar = false")
duckdb.execute(f"copy (select {', '.join(columns)} from read_json('{place}/lines.ndjson',"
    f" format='newline_delimited', columns={{'values': 'STRUCT({', '.join(fields)})'}})"
    f" order by all) to '{place}/bare.parquet' (compression zstd)")"""


def write_lines(to: Path, survey: Survey, n: int) -> None:
    """Reports as devices send them, in no order."""
    generator = np.random.default_rng(1)
    names = sorted(question.name for question in survey.questions)
    values = dict[str, list[str]]()
    for question in survey.questions:
        law = question.mechanism.law
        assert isinstance(law, Supporting)
        sets = np.sort(generator.random((n, law.k)).argsort(axis=1)[:, : law.size], axis=1)
        values[question.name] = [str(one).replace(" ", "") for one in sets.tolist()]
    head = f'","survey":"{survey.digest}","values":{{'
    with to.open("w") as file:
        for number, row in enumerate(zip(*(values[name] for name in names), strict=True)):
            members = ",".join(f'"{name}":{one}' for name, one in zip(names, row, strict=True))
            file.write(f'{{"id":"{number:032x}{head}{members}}}}}\n')


_PROGRAM = """import sys
from deniably_server.commands.report_sets import tally
tally.main(sys.argv[1:], standalone_mode=False)
print(open("/proc/self/status").read())"""


def memory(sheet: Sheet, folder: Path, parts: Parts) -> None:
    """The largest memory of the command, from its start to its end."""
    arguments = [str(parts.files[0].parent), "--to", str(folder / "tally.json")]
    command = [sys.executable, "-c", _PROGRAM, *arguments]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    most = int(re.findall(r"VmHWM:\s*(\d+) kB", said)[0]) / 1024
    sheet.figure("deniably tally, memory", f"{most:.0f} MB", f"<= {GOAL_MEMORY} MB",
                 most <= GOAL_MEMORY)  # fmt: skip
