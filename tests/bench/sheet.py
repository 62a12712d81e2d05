"""What every part of the benchmark prints with: figures, goals, progress, medians."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from statistics import median


class Sheet:
    """The figures of one run, printed as they come. ``quick`` makes every part small."""

    def __init__(self, quick: bool) -> None:
        self.quick = quick
        self.met = 0
        self.missed: list[str] = []
        self._letter = ord("a") - 1
        self._start = time.perf_counter()

    def section(self, title: str) -> None:
        self._letter += 1
        print(f"\n{chr(self._letter)}. {title}", flush=True)

    def figure(self, name: str, value: str, goal: str = "", met: bool | None = None) -> None:
        verdict = ""
        if met is not None:
            verdict = f"goal {goal}: {'met' if met else 'NOT MET'}"
            self.met += met
            if not met:
                self.missed.append(name.strip())
        print(f"   {name:<46} {value:>22}   {verdict}".rstrip(), flush=True)

    def note(self, text: str) -> None:
        print(f"   {text}", flush=True)

    def progress(self, text: str) -> None:
        """A line to stderr, so that a long part shows that it is alive."""
        print(
            f"   [{time.perf_counter() - self._start:4.0f} s] {text}", file=sys.stderr, flush=True
        )

    def end(self) -> None:
        of = self.met + len(self.missed)
        minutes = (time.perf_counter() - self._start) / 60
        print(f"\n{self.met} of {of} goals met in {minutes:.1f} minutes")
        for name in self.missed:
            print(f"   not met: {name}")


def seconds_of(
    work: Callable[[], object], rounds: int, clock: Callable[[], float] = time.perf_counter
) -> float:
    """The median duration of ``work``, after one call that does not count."""
    work()
    durations = []
    for _ in range(rounds):
        start = clock()
        work()
        durations.append(clock() - start)
    return median(durations)


def rate(per_second: float) -> str:
    """A rate with three digits: '132 M/s'."""
    return f"{scaled(per_second)}/s"


def scaled(value: float) -> str:
    """A number with three digits: '132 M'."""
    power = min(2, max(0, int(math.log10(value) // 3))) if value >= 1 else 0
    value /= 1000**power
    digits = max(0, 2 - int(math.log10(value))) if value >= 1 else 3
    return f"{value:.{digits}f} {['', 'k', 'M'][power]}"


def duration(seconds: float) -> str:
    """'12.3 ms'."""
    unit, size = next(u for u in [("s", 1.0), ("ms", 1e-3), ("us", 1e-6)] if seconds >= u[1])
    return f"{scaled(seconds / size).strip()} {unit}"
