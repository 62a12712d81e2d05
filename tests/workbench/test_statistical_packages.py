"""What other packages are told says the same p and q, by each package's own definition."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniably.authoring.compiling import compile_survey
from deniably.simulation.reports import randomise, simulate_people
from deniably.workbench.files.folder import write_folder
from deniably.workbench.files.statistical_packages import Call, calls, index_calls
from deniably.workbench.report_set import of_simulation
from support.material import source_of

PandQ = Callable[..., tuple[Any, Any]]


def forced(yes: Any, no: Any) -> tuple[Any, Any]:
    """So many say yes and no whatever is true; all others tell the truth."""
    return 1 - no, yes


def unrelated(truth: Any, prevalence: Any) -> tuple[Any, Any]:
    """So many answer the question, all others another one, to which so many say yes."""
    return truth + (1 - truth) * prevalence, (1 - truth) * prevalence


def as_they_are(p: Any, q: Any) -> tuple[Any, Any]:
    return p, q


def opposite(p: Any) -> tuple[Any, Any]:
    """Warner's: the truth with p, else the opposite."""
    return p, 1 - p


MEANING: dict[str, PandQ] = {
    'model = "Kuk", p = c({}, {})': as_they_are,  # the shares of red cards of either deck
    'model = "FR", p = c({}, {})': lambda no, yes: forced(yes, no),
    'model = "UQTknown", p = c({}, {})': unrelated,
    'model = "Warner", p = {}': opposite,
    'design = "forced-known", p = {}, p1 = {}, p0 = {}': lambda p, p1, p0: (p + p1, p1),
    'design = "unrelated-known", p = {}, q = {}': unrelated,
    'design = "mirrored", p = {}': opposite,
    'RRmodel = "Kuk", p1 = {}, p2 = {}': as_they_are,
    "rrlogit y x, pyes({}) pno({})": forced,
    "rrlogit y x, pwarner({})": opposite,
    "glm(y ~ x, binomial(randomised({}, {})), start = ...)": as_they_are,
    'regress("y ~ x", frame, designs={{"y": ({}, {})}})': as_they_are,
}


def told(call: Call) -> list[float]:
    """The numbers in the text of a call, but for the y, x and 1 of names."""
    found = [float(one) for one in re.findall(r"(?<![\w.])\d+\.\d+(?:e-?\d+)?", call.text)]
    return found


@given(st.fractions(0, 1, max_denominator=2**40), st.fractions(0, 1, max_denominator=2**40))
def test_every_call_gives_back_p_and_q_exactly(one: Fraction, other: Fraction) -> None:
    p, q = max(one, other), min(one, other)
    if p == q or (p, q) == (1, 0):
        return
    found = calls(p, q)

    for call in found:
        assert MEANING[call.template](*call.numbers) == (p, q)
        assert all(0 <= number <= 1 for number in call.numbers)
        assert told(call) == [float(number) for number in call.numbers]
    packages = {call.package for call in found}
    assert packages == {"RRreg", "rr", "GLMMRR", "Stata", "base R", "Deniably"}
    assert len({call.template for call in found} & {'model = "Warner", p = {}'}) == (p + q == 1)
    assert sum(found[4].numbers) <= 2
    no, yes = found[1].numbers
    assert no + yes < 1  # what RRreg asks for


@given(st.integers(3, 200), st.integers(1, 2**32), st.integers(1, 2**32))
def test_an_index_of_k_choices_is_told_by_forced_answers(k: int, own: int, other: int) -> None:
    """All forced answers are alike; who is not forced tells the truth."""
    p = Fraction(own, own + (k - 1) * other)
    q = Fraction(other, own + (k - 1) * other)
    rrreg, ours = index_calls(p, q, k)

    (each,) = rrreg.numbers
    assert (each + 1 - k * each, each) == (p, q)
    assert rrreg.text == f'model = "FR", p = rep({float(q)!r}, {k})'
    assert ours.numbers == (p,)


def test_an_export_has_the_calls_of_its_own_p_and_q(tmp_path: Path) -> None:
    survey = compile_survey({
        "name": "work", "title": "Work",
        "questions": [
            {"name": "stolen", "type": "yes_no", "label": "Stolen?", "odds": 3},
            {"name": "often", "type": "select_one", "label": "How often?", "odds": 9,
             "choices": ["never", "monthly", "weekly"]},
            {"name": "place", "type": "select_one", "label": "Where?", "odds": 2,
             "choices": list("abcdefghij")},
            {"name": "things", "type": "select_multiple", "label": "What?", "odds": 4, "most": 2,
             "choices": ["cash", "pens", "time"]},
            {"name": "hours", "type": "number", "label": "Hours?", "minimum": 0, "maximum": 9,
             "epsilon": 1},
        ],
    })  # fmt: skip
    reports = of_simulation(randomise(simulate_people(survey, 50)))
    write_folder(tmp_path / "out", reports, source_of(survey))
    text = (tmp_path / "out" / "PACKAGES.md").read_text(encoding="utf-8")
    head, *parts = text.split("\n## ")

    assert "Do not tabulate" in head
    said = {part.splitlines()[0]: part for part in parts}
    for column in reports.columns.columns:
        if column.p is None or column.q is None:
            continue
        part = said[column.question.name]
        assert f"`{column.name}`" in part
        assert f": p = {column.p}, q = {column.q}\n" in part
        for call in calls(column.p, column.q):
            assert f"| {call.package} | `{call.text}` |" in part
    assert 'model = "FR", p = rep(0.09090909090909091, 3)' in said["often"]
    assert "rep(" not in said["stolen"].replace("rep(0.25, 2)", "") + said["place"]
    assert "no 0/1 columns" in said["hours"]


@pytest.mark.parametrize(("p", "q", "warner"), [("3/4", "1/4", True), ("11/12", "1/6", False)])
def test_warners_model_is_told_where_it_is_one(p: str, q: str, warner: bool) -> None:
    found = {call.text for call in calls(Fraction(p), Fraction(q))}

    assert any("mirrored" in text for text in found) is warner
    assert any("pwarner" in text for text in found) is warner
