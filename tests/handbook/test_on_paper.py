"""Every table of "On paper" says what the library computes today."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10

import pytest

from deniably.core.languages.markdown import Markdown
from deniably.design.capacity import CENSUS, FIELDWORK, Machines, two_digits
from deniably.design.planning import epsilon_for, margin_for, respondents_for, share_goal
from deniably.design.release_of_counts import chance_left, two_digits_up
from deniably.design.shuffle import Clones, shuffled_delta
from deniably.design.unit_costs import MEASURED
from support.pages import PAGES
from support.soak import all_but

PAGE = PAGES["on-paper.md"]
SIZES = (10**6, 10**8, 10**10)
HEADS = ("1e6", "1e8", "1e10")
EPSILONS = (0.5, 1.0, 2.0)
QUESTIONS = {
    "yes/no": share_goal(2),
    "1 of 16": share_goal(16),
    "0.1 % of 16": share_goal(16, 0.001),
}
Lines = list[Sequence[str]]


def points(part: float) -> str:
    return f"±{two_digits(100 * part)}"


def unit_costs() -> Lines:
    return [
        ("costs", "one of these", "part of the benchmark"),
        *((f"{one.value:g} {one.unit}", one.what, one.by) for one in MEASURED.each),
    ]


def margins() -> Lines:
    rows: Lines = [
        (name, f"{epsilon:g}", *(points(margin_for(goal, epsilon, n).margin) for n in SIZES))
        for name, goal in QUESTIONS.items()
        for epsilon in EPSILONS
    ]
    return [("question", "epsilon", *HEADS), *rows]


def epsilons() -> Lines:
    rows: Lines = [
        (name, points(margin), *(f"{epsilon_for(goal, n, margin).epsilon:g}" for n in SIZES))
        for name, goal in list(QUESTIONS.items())[:2]
        for margin in (0.01, 0.001)
    ]
    return [("question", "margin", *HEADS), *rows]


def bias() -> Lines:
    goal = QUESTIONS["yes/no"]
    rows: Lines = [
        (f"{100 * off:g}", *(f"{respondents_for(goal, one, off).n:,}" for one in EPSILONS))
        for off in (0.05, 0.01, 0.001)
    ]
    return [("points off", *(f"epsilon {one:g}" for one in EPSILONS)), *rows]


def enough() -> Lines:
    """For how many people one collector has enough of everything."""
    rows: Lines = []
    for name, work in FIELDWORK.items():
        strain = Machines(10**6, work).strain.values()
        rows.append((name, *(two_digits(10**6 / one) for one in strain)))
    return [("its", *Machines(1, CENSUS).strain), *rows]


def summary() -> Lines:
    rows: Lines = []
    for n, head in zip(SIZES, HEADS, strict=True):
        plan, margin = Machines(n, CENSUS), margin_for(QUESTIONS["yes/no"], 1.0, n).margin
        dollars = two_digits(sum(plan.money))
        rows.append((head, f"{plan.collectors:,}", dollars, points(margin)))
    return [("people", "collectors", "dollars", "margin"), *rows]


@pytest.mark.parametrize(
    ("made", "texts"),
    [(unit_costs, 3), (enough, 1), (margins, 1), (epsilons, 1), (bias, 1), (summary, 1)],
)
def test_a_table_of_the_page_is_fresh(made: object, texts: int) -> None:
    assert callable(made)
    table = Markdown.table(made(), texts).source

    assert table in PAGE, f"put this in place of the table with this heading:\n{table}"


# --- what shuffling gives outsiders -------------------------------------------------------------

LOCAL = (1.0, 2.0, 4.0)
SHUFFLED = {
    10**6: ("0.0062", "0.018", "0.065"),
    10**8: ("0.00069", "0.0020", "0.0071"),
    10**10: ("0.000076", "0.00022", "0.00077"),
}
"""By the number of reports: what the set of all keeps, for each local epsilon."""


def test_the_table_of_what_outsiders_learn_is_the_one_that_is_checked() -> None:
    rows = [
        (f"{n:,}", f"{float(chance_left(n)):.0e}".replace("e-0", "e-"), *found)
        for n, found in SHUFFLED.items()
    ]
    heads = ("reports", "delta", *(f"epsilon {one:g} alone" for one in LOCAL))
    table = Markdown.table([heads, *rows], 1).source

    assert table in PAGE, f"put this in place of the table with this heading:\n{table}"


CELLS = [(n, *cell) for n, row in SHUFFLED.items() for cell in zip(LOCAL, row, strict=True)]
SLOW = [cell for cell in CELLS if cell[0] == SIZES[-1] and cell[1] < LOCAL[-1]]


@pytest.mark.parametrize("cell", all_but([cell for cell in CELLS if cell not in SLOW], CELLS))
def test_a_set_of_reports_keeps_what_the_page_says_and_not_a_digit_less(
    cell: tuple[int, float, str],
) -> None:
    """Two values of delta take a moment; to search for epsilon would take seconds."""
    n, local, printed = cell
    clones, delta, epsilon = Clones.any(local), float(chance_left(n)), float(printed)
    digit = 10.0 ** (floor(log10(epsilon)) - 1)

    assert two_digits_up(epsilon) == printed
    assert shuffled_delta(clones, n, epsilon) <= delta
    assert shuffled_delta(clones, n, epsilon - digit) > delta
