"""Checks whether a function that somebody wrote keeps a state, or takes answers that were not
listed.

A walk calls a function thousands of times in one process and assumes that each report depends on
its answer and its coins alone. So recorded calls, each an answer and a seed of coins, are made in
fresh processes: twice in one order, in two more orders, and some in a process each. Every report
has to come out again. Where the second run of one order differs, chance or time is at work that is
not of the coins; where another order alone does, it is a state.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import json
import subprocess
import sys
import textwrap
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from deniably.core.coins import Coins

CALLS = 4000
"""How many calls are recorded."""
ALONE = 10
"""How many of the calls are also made in a process of their own."""
_OFTEN = 17
"""A function that departs at every m-th call is seen among so many times m calls."""

Call = tuple[int, Any, int]
"""(number, answer, seed of the coins)"""


@dataclass(frozen=True)
class StateCheck:
    """The outcome of a check whether a function keeps a hidden state between calls.

    ``unlike`` is how many calls made another report when all calls were repeated in the same order.
    ``departed`` is how many did in another order, or in a process of their own.
    """

    departed: int = 0
    unlike: int = 0


def largest_period(calls: int = CALLS) -> int:
    """Returns the largest m for which a change in every m-th call would almost surely be seen.

    ``calls`` is the number of calls that are made.
    """
    return calls // _OFTEN


def state_check(
    place: str, name: str, answers: Sequence[Hashable], calls: int = CALLS
) -> StateCheck:
    """Checks whether a function keeps a hidden state between calls.

    The function ``name`` is in the module or Python file ``place``, and takes an answer and coins.
    ``calls`` calls with random ``answers`` are recorded and repeated.
    """
    random = Random(1)  # noqa: S311  # of made-up answers
    made: list[Call] = [(i, random.choice(answers), i) for i in range(calls)]
    mixed = random.sample(made, len(made))
    first, again = (_in_a_process(place, name, made) for _ in range(2))
    if unlike := _differing(first, [again]):
        return StateCheck(unlike=unlike)
    # Reports that come out again in one order depend on the coins, or on the order: that shows
    # here.
    others = [_in_a_process(place, name, order) for order in (mixed, made[::-1])]
    alone = made[:: max(1, -(-calls // ALONE))]
    others += [_in_a_process(place, name, [call]) for call in alone]
    return StateCheck(departed=_differing(first, others))


def _differing(first: dict[str, str], others: Sequence[dict[str, str]]) -> int:
    return len({call for other in others for call in other if other[call] != first[call]})


def _in_a_process(place: str, name: str, calls: Sequence[Call]) -> dict[str, str]:
    done = subprocess.run(
        # This module, in a process that has called nothing before.
        [sys.executable, "-m", __name__, place, name],
        input=json.dumps(calls), capture_output=True, text=True, check=True,
    )  # fmt: skip
    # The audited code may print, too; the last line is ours.
    reports: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return reports


def unlisted(
    function: Callable[..., Hashable], answers: Sequence[Hashable], takes_coins: bool
) -> tuple[Hashable, Hashable] | None:
    """Returns (answer, report) for an answer outside ``answers`` that the function accepts.

    None if no such answer is found. The answers tried are the constants that the function's code
    compares with, listed answers in other letter case or with spaces, and empty ones.
    """
    for odd in _odd_answers(function, answers):
        coins = Coins(Random(5).randbytes)  # noqa: S311  # nobody's answer
        try:
            report = function(odd, coins) if takes_coins else function(odd)
        except (Exception, SystemExit):  # noqa: S112  # as it must
            continue
        return odd, report
    return None


def _odd_answers(
    function: Callable[..., Hashable], answers: Sequence[Hashable]
) -> Iterator[Hashable]:
    listed = {str(answer) for answer in answers}
    texts = [answer for answer in answers if isinstance(answer, str)]
    odd: list[Hashable] = [*_constants(function), "maybe", "", None, -1, 10**9]
    odd += [changed for text in texts[:1] for changed in (text.swapcase(), text + " ")]
    return (changed for changed in dict.fromkeys(odd) if str(changed) not in listed)


def _constants(function: Callable[..., Hashable]) -> Iterator[Hashable]:
    """What the code compares with."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return
    for node in ast.walk(tree):
        for side in [node.left, *node.comparators] if isinstance(node, ast.Compare) else ():
            if isinstance(side, ast.Constant) and isinstance(side.value, str | int):
                yield side.value


def _made(place: str, name: str, calls: Sequence[Call]) -> dict[str, str]:
    """The report of each call, or the name of what it raises."""
    function = getattr(_module(place), name)
    reports: dict[str, str] = {}
    for number, answer, seed in calls:
        try:
            reports[str(number)] = repr(function(answer, Coins(Random(seed).randbytes)))  # noqa: S311
        except Exception as error:
            reports[str(number)] = f"raises {type(error).__name__}"
    return reports


def _module(place: str) -> Any:
    if not place.endswith(".py"):
        # A module of the folder from which the command was called.
        sys.path.insert(0, "")
        return importlib.import_module(place)
    spec = importlib.util.spec_from_file_location("audited", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Before it runs: dataclasses and pickle look a module up by its name.
    sys.modules["audited"] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    made = _made(sys.argv[1], sys.argv[2], json.load(sys.stdin))
    # On a line of its own, whatever the audited code left on the last one.
    sys.stdout.write("\n" + json.dumps(made) + "\n")
