"""multi-freq-ldpy and pure-ldp at the same work, in an environment of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sheet import Sheet, rate, scaled
from speed import SIZES, Ours

ROOT = Path(__file__).parents[2]
ENVIRONMENT = ROOT / ".venv-peers"
PYTHON = ENVIRONMENT / "bin" / "python"
SCRIPT = Path(__file__).with_name("peers.py")
PACKAGES = (
    "multi-freq-ldpy==0.2.5",
    "pure-ldp==1.2.0",
    "xxhash==3.8.2",
    "diffprivlib==0.6.6",
    "scikit-learn<1.7",  # diffprivlib does not start with later ones; pure-ldp does not name it
    "statsmodels",  # pure-ldp imports it and does not say so
)

NOT_PRIVATE = ("multi-freq-ldpy", "SS")
"""Its reports name the truth first wherever they hold it; the section on speed shows it."""


class Peers:
    """The other libraries, ready to run."""

    def start(self, task: str, **parameters: object) -> subprocess.Popen[str]:
        command = [str(PYTHON), str(SCRIPT), task, json.dumps(parameters)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def rows(self, task: str, **parameters: object) -> Iterator[dict[str, Any]]:
        yield from rows_of([self.start(task, **parameters)])


def rows_of(running: Sequence[subprocess.Popen[str]]) -> Iterator[dict[str, Any]]:
    """What the processes print, one process after the other. They run at the same time: what a
    later one prints meanwhile (far less than 64 kB) waits in its pipe."""
    for process in running:
        assert process.stdout
        with process:
            yield from map(json.loads, process.stdout)
        if process.returncode:
            raise RuntimeError("a run of the other libraries failed; see above")


def find(sheet: Sheet) -> Peers | None:
    """The other libraries; a full run installs them where they are missing."""
    if not installed() and not sheet.quick:
        sheet.progress(f"installing {', '.join(PACKAGES[:2])} and others into {ENVIRONMENT.name}")
        try:
            subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT], check=True)
            options = ["--quiet", "--disable-pip-version-check"]
            subprocess.run([PYTHON, "-m", "pip", "install", *options, *PACKAGES], check=True)
        except subprocess.CalledProcessError as error:
            sheet.note(f"The other libraries do not take part: {error}")
    return Peers() if installed() else None


def installed() -> bool:
    if not PYTHON.exists():
        return False
    attempt = subprocess.run([PYTHON, SCRIPT, "methods", "{}"], check=False, capture_output=True)
    return attempt.returncode == 0


def compare_speed(sheet: Sheet, peers: Peers | None, ours: Ours) -> None:
    sheet.section("The same with other libraries, epsilon 1 (ours / theirs in brackets)")
    if peers is None:
        sheet.note("not measured: they are not installed (a run without --quick does that)")
        return
    sheet.note("Perturbing one by one, as on a device, and in bulk, which only ours can do;")
    sheet.note("aggregating from lists to estimates.")
    row = "   {:<26} {:>22} {:>10} {:>24}"
    n, rounds = (300, 3) if sheet.quick else (5000, 5)
    for k in (16,) if sheet.quick else SIZES:
        print(row.format(f"k = {k}", "one by one", "in bulk", "aggregating"))
        print(
            row.format(
                "Deniably SS", rate(ours.device[k]), rate(ours.bulk[k]), rate(ours.aggregate[k])
            )
        )
        for peer in peers.rows("speed", settings=[[k, 1.0]], reports=n, rounds=rounds):
            one, aggregate = peer["perturb"], peer["aggregate"]
            print(
                row.format(
                    f"{peer['package']} {peer['method']}",
                    f"{rate(one)} ({ours.device[k] / one:.2f})",
                    f"({scaled(ours.bulk[k] / one).strip()})",
                    f"{rate(aggregate)} ({ours.aggregate[k] / aggregate:.2f})",
                ),
                flush=True,
            )
    (order,) = peers.rows("order", k=16, epsilon=1.0, reports=n)
    sheet.note(
        f"multi-freq-ldpy SS has the truth first in {order['first']:.0%} of reports that hold it"
    )
    sheet.note(f"(private would be 1 in {order['size']}); as it is, its epsilon is infinite.")
