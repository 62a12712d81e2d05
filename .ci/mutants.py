"""Mutation tests: python .ci/mutants.py [NAME ...] (``make mutants``, ``ONLY="guard ledger"``).

mutmut changes the modules that ``mutants.toml`` lists in one place at a time, and runs the tests
that the same entry names on each change. A change that no test notices survives. This fails where
fewer than 95 of 100 are killed in any entry. Those that change nothing which could be noticed are
listed there by hand, each with its reason, and do not count.

mutmut wants its packages side by side in ``src``, and works on copies. So each entry has a folder
in build/mutants/ with links to ours, and nothing else of the repository is touched. It leaves
decorated functions (such as properties) and what stands outside of functions as they are.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).resolve().parents[1]
CONFIG = ROOT / ".ci/mutants.toml"
BUILD = ROOT / "build/mutants"
PACKAGES = ("shared/deniably", "client/deniably_client", "server/deniably_server")
LEAST = 0.95
"""The share of mutants that an entry's tests have to kill."""

_KILLED = {"killed", "timeout", "segfault"}


@dataclass(frozen=True)
class Equivalent:
    """Mutants that no test can notice: a pattern for their diff, and why that is so."""

    change: re.Pattern[str]
    why: str


@dataclass(frozen=True)
class Entry:
    """Modules with their own tests. ``pytest`` are further arguments of pytest, ``also`` folders
    that the tests read."""

    name: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]
    pytest: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    equivalent: tuple[Equivalent, ...] = ()


@dataclass
class Result:
    """What became of the mutants of an entry."""

    killed: int = 0
    equivalent: int = 0
    survivors: dict[str, str] = field(default_factory=dict)
    unmatched: list[str] = field(default_factory=list)

    @property
    def share(self) -> float:
        """Of the mutants that a test could notice, those that one did; 0 where there are none."""
        return self.killed / max(1, self.killed + len(self.survivors))

    @property
    def good(self) -> bool:
        """Whether enough are killed, and every exception is for a mutant that there is."""
        return self.share >= LEAST and not self.unmatched


def entries(config: Path = CONFIG) -> dict[str, Entry]:
    """All entries by their names."""
    rows: dict[str, dict[str, Any]] = tomllib.loads(config.read_text(encoding="utf-8"))
    return {
        name: Entry(
            name,
            tuple(row["modules"]),
            tuple(row["tests"]),
            tuple(row.get("pytest", ())),
            tuple(row.get("also", ())),
            tuple(
                Equivalent(re.compile(each["change"]), each["why"])
                for each in row.get("equivalent", ())
            ),
        )
        for name, row in rows.items()
    }


def source(module: str) -> str:
    """Where a module of ours lies in the folder that mutmut is given."""
    package = next(each for each in PACKAGES if module.startswith(f"{each}/"))
    return f"src/{module.removeprefix(str(Path(package).parent))[1:]}"


def prepare(entry: Entry) -> Path:
    """An empty folder for mutmut with links to packages and tests, and its settings."""
    folder = BUILD / entry.name
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "src").mkdir(parents=True)
    for package in PACKAGES:
        (folder / "src" / Path(package).name).symlink_to(ROOT / package)
    for needed in ("tests", *entry.also):
        (folder / needed).parent.mkdir(parents=True, exist_ok=True)
        (folder / needed).symlink_to(ROOT / needed)
    settings = {
        "source_paths": [f"src/{Path(package).name}" for package in PACKAGES],
        "only_mutate": [source(module) for module in entry.modules],
        "also_copy": list(entry.also),
        "pytest_add_cli_args_test_selection": list(entry.tests),
        # A change may hang, and so may the fixtures' ends then: "thread" ends the whole process.
        "pytest_add_cli_args": ["--timeout=20", "--timeout-method=thread", *entry.pytest],
    }
    # A list or a text in JSON is one in TOML, too.
    lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
    ours = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    text = "\n".join([ours, "[tool.mutmut]", "use_git_change_detection = false", *lines, ""])
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    return folder


def mutmut(folder: Path, *arguments: str) -> str:
    """What a command of mutmut prints. Raises SystemExit where it fails."""
    command = [str(Path(sys.executable).with_name("mutmut")), *arguments]
    done = subprocess.run(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{done.stdout[-4000:]}\nmutmut {arguments[0]} failed in {folder}")
    return done.stdout


def measure(entry: Entry) -> Result:
    """Try all mutants of an entry."""
    folder = prepare(entry)
    mutmut(folder, "run")
    listed = re.findall(
        r"^ +(\S+): (.+)$", mutmut(folder, "results", "--all", "true"), re.MULTILINE
    )
    changes = {name: diff(folder, name) for name, state in listed if state not in _KILLED}
    return judge(entry, len(listed) - len(changes), changes)


def diff(folder: Path, mutant: str) -> str:
    """The lines that a mutant takes away and adds, each with its sign and without its indent."""
    shown = re.findall(
        r"^([-+])(?!-- |\+\+ )\s*(.*)$", mutmut(folder, "show", mutant), re.MULTILINE
    )
    return "\n".join(f"{sign} {line}" for sign, line in shown)


def judge(entry: Entry, killed: int, changes: dict[str, str]) -> Result:
    """Tell survivors that count from those that an exception of the entry explains."""
    result, matched = Result(killed), set[Equivalent]()
    for name, change in changes.items():
        reasons = [each for each in entry.equivalent if each.change.search(change)]
        matched.update(reasons)
        if reasons:
            result.equivalent += 1
        else:
            result.survivors[name] = change
    result.unmatched = [each.change.pattern for each in entry.equivalent if each not in matched]
    return result


def report(entry: Entry, result: Result, seconds: float) -> str:
    """A row of the table, after every mutant that survived and every exception for none."""
    lines = [f"{name}\n{change}\n" for name, change in result.survivors.items()]
    lines += [f"{entry.name}: no mutant needs the exception {text}" for text in result.unmatched]
    lines.append(
        f"{entry.name}: {result.killed} of {result.killed + len(result.survivors)} killed,"
        f" {result.share:.1%} ({result.equivalent} equivalent, {seconds:.0f} s)"
    )
    return "\n".join(lines)


def main(names: Sequence[str]) -> int:
    """Try the entries of these names, or all; 1 where any lets too many survive."""
    known = entries()
    if unknown := [name for name in names if name not in known]:
        raise SystemExit(f"{', '.join(unknown)}: not among {', '.join(known)}")
    results: list[Result] = []
    for name in names or known:
        start = time.monotonic()
        result = measure(known[name])
        click.echo(report(known[name], result, time.monotonic() - start))
        results.append(result)
    killed = sum(each.killed for each in results)
    total = killed + sum(len(each.survivors) for each in results)
    share = killed / max(1, total)
    click.echo(f"{killed} of {total} mutants killed: {share:.1%}; each entry needs {LEAST:.0%}")
    return int(not all(each.good for each in results))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
