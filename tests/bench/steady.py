"""A load held for minutes: python tests/bench/steady.py [--minutes 10] [--rate REPORTS_A_SECOND]

The target rate is 60 % of what this machine takes unless given. Latency is compared with the bare
route under the same load; what the server occupies in memory is read at the start (after the first
tenth), in the middle and at the end, and may not grow by more than a tenth and 32 MB.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import tempfile
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

import load
from service import BEHIND_A_PROXY, CONNECTIONS, requests, serving, survey_named
from sheet import Sheet, duration, rate

from deniably.trust.signing import new_key
from deniably_server.storage.store import Store

SHARE = 0.6
GROWTH, SLACK = 0.10, 32 << 20
PARTS = 10
LEAST = 0.01
_BODY = b'{"id":"'


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=above_nothing, default=10)
    parser.add_argument(
        "--rate", type=above_nothing, help="reports a second; 60 %% of the most by default"
    )
    given = parser.parse_args()
    sheet = Sheet(quick=given.minutes < 1)
    with tempfile.TemporaryDirectory() as folder:
        hold(sheet, Path(folder), 60 * given.minutes, given.rate)
    sheet.end()
    sys.exit(bool(sheet.missed))


def above_nothing(text: str) -> float:
    """A number from 0.01 up: of minutes, or of reports a second."""
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not LEAST <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is no number from {LEAST} up")
    return value


def hold(sheet: Sheet, folder: Path, seconds: float, given: float | None) -> None:
    survey, database = survey_named("steady"), folder / "steady.db"
    store = Store(str(database))
    store.publish(survey, new_key().sign(survey.digest))
    store.close()
    models = list(requests(survey, 1000))
    ours = [sys.executable, "-m", "deniably_client", "serve", *BEHIND_A_PROXY]
    bare = [sys.executable, str(Path(__file__).with_name("bare.py"))]
    with serving(ours, database) as port, serving(bare, folder / "bare.db") as bare_port:
        trial = min(5.0, seconds / 4)
        most = load.drive(port, fresh(models), CONNECTIONS, trial)
        target = given or SHARE * most.rate
        sheet.section(f"{rate(target)} reports for {seconds / 60:g} minutes, all on disk")
        part = int(target * seconds / PARTS)
        beside = load.hold(bare_port, islice(fresh(models), part), CONNECTIONS, target)
        took: list[float] = []
        memory: list[int] = []
        for number in range(PARTS):
            took += load.hold(port, islice(fresh(models), part), CONNECTIONS, target)
            memory.append(occupied(port))
            sheet.progress(f"{number + 1} of {PARTS}: {memory[-1] >> 20} MB")
    store = Store(str(database))
    kept = store.tally(survey.name)[survey.questions[0].name].n
    store.close()
    assert kept == most.answered + len(took), "an acknowledged report is not in the tally"
    sheet.figure("reports acknowledged, each of them in the tally", f"{kept:,}")
    for name, share in (("half of the reports within", 0.5), ("99 of 100 within", 0.99)):
        own, other = quantile(took, share), quantile(beside, share)
        sheet.figure(name, duration(own))
        sheet.figure(f"{name}, against the bare route", f"{own / other:.2f}")
    for name, at in (("at the start", 0), ("in the middle", PARTS // 2), ("at the end", -1)):
        sheet.figure(f"memory {name}", f"{memory[at] / (1 << 20):.0f} MB")
    most_allowed = memory[0] * (1 + GROWTH) + SLACK
    sheet.figure(
        "growth", f"{(memory[-1] - memory[0]) / (1 << 20):+.0f} MB", "<= a tenth and 32 MB",
        memory[-1] <= most_allowed,
    )  # fmt: skip


def fresh(models: list[bytes]) -> Iterator[bytes]:
    """Requests without end, each with an id of its own."""
    cut = [request.index(_BODY) + len(_BODY) for request in models]
    for request, at in cycle(zip(models, cut, strict=True)):
        yield request[:at] + secrets.token_hex(16).encode() + request[at + 32 :]


def quantile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def occupied(port: int) -> int:
    """Bytes of memory of the processes that listen on a port, shared ones divided."""
    inodes = {
        f"socket:[{line.split()[9]}]"
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
        if line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A"
    }
    return sum(_share(process) for process in Path("/proc").glob("[0-9]*") if _has(process, inodes))


def _has(process: Path, inodes: set[str]) -> bool:
    try:
        return any(str(each.readlink()) in inodes for each in (process / "fd").iterdir())
    except OSError:
        return False  # of somebody else, or gone


def _share(process: Path) -> int:
    lines = (process / "smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))


if __name__ == "__main__":
    main()
