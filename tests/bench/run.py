"""Speed and accuracy, measured side by side with the alternatives: python tests/bench/run.py

With --quick every part is small (a quarter of a minute, figures worth little), and the other
libraries take part only where their environment is there already.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
from pathlib import Path

import accuracy
import alternatives
import every_mechanism
import hammered
import means
import service
import shares
import slow_phone
import speed
from sheet import Sheet


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a smoke run")
    sheet = Sheet(parser.parse_args().quick)
    print(
        f"Python {platform.python_version()}, {os.cpu_count()} cores, of which others used"
        f" {os.getloadavg()[0]:.1f} in the last minute; medians of rounds"
    )
    peers = alternatives.find(sheet)
    ours = speed.measure(sheet)
    every_mechanism.measure(sheet)
    alternatives.compare_speed(sheet, peers, ours)
    accuracy.measure(sheet, peers)
    shares.measure(sheet)
    means.measure(sheet, peers)
    service.measure(sheet)
    slow_phone.measure(sheet)
    with tempfile.TemporaryDirectory() as folder:
        hammered.measure(sheet, Path(folder))
    sheet.end()


if __name__ == "__main__":
    main()
