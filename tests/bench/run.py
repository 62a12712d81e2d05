"""Speed and accuracy, measured side by side with the alternatives: python tests/bench/run.py

With --quick every part is small (a quarter of a minute, figures worth little), and the other
libraries take part only where their environment is there already.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import accuracy
import alternatives
import authors
import every_mechanism
import experiments
import exports
import hammered
import means
import mixer
import regressions
import report_sets
import servers
import service
import shares
import slow_phone
import speed
import unit_costs
from sheet import Sheet


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a smoke run")
    parser.add_argument(
        "--only",
        choices=SECTIONS,
        action="append",
        help="measure this part (give it again for more)",
    )
    wanted = parser.parse_args()
    sheet = Sheet(wanted.quick)
    print(
        f"Python {platform.python_version()}, {os.cpu_count()} cores, of which others used"
        f" {os.getloadavg()[0]:.1f} in the last minute; medians of rounds"
    )
    for section in wanted.only or SECTIONS:
        SECTIONS[section](sheet)
    sheet.end()


def _speed(sheet: Sheet) -> None:
    ours = speed.measure(sheet)
    every_mechanism.measure(sheet)
    alternatives.compare_speed(sheet, _peers(sheet), ours)


def _hammered(sheet: Sheet) -> None:
    with tempfile.TemporaryDirectory() as folder:
        hammered.measure(sheet, Path(folder))


def _exports(sheet: Sheet) -> None:
    with tempfile.TemporaryDirectory() as folder:
        exports.measure(sheet, Path(folder))


def _report_sets(sheet: Sheet) -> None:
    with tempfile.TemporaryDirectory() as folder:
        report_sets.measure(sheet, Path(folder))


def _unit_costs(sheet: Sheet) -> None:
    with tempfile.TemporaryDirectory() as folder:
        unit_costs.measure(sheet, Path(folder))


@cache
def _peers(sheet: Sheet) -> alternatives.Peers | None:
    return alternatives.find(sheet)


SECTIONS: dict[str, Callable[[Sheet], None]] = {
    "speed": _speed,
    "accuracy": lambda sheet: accuracy.measure(sheet, _peers(sheet)),
    "shares": shares.measure,
    "means": lambda sheet: means.measure(sheet, _peers(sheet)),
    "regressions": regressions.measure,
    "exports": _exports,
    "report-sets": _report_sets,
    "unit-costs": _unit_costs,
    "lab": experiments.measure,
    "service": service.measure,
    "authors": authors.measure,
    "servers": servers.measure,
    "phone": slow_phone.measure,
    "mixer": mixer.measure,
    "hammered": _hammered,
}


if __name__ == "__main__":
    main()
