"""The cases of blanks.json."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from deniably.reference.refusal import Invalid
from spec.blanks import Selection, estimate, exact_delta
from spec.vector_types import Case, Made

NOTES = {
    "Several": "several questions together",
    "Fewer": "one blank fewer than the claim needs",
}
YES_NO, THREE, FOUR = (2, 1, 8, 1), (3, 1, 8, 1), (4, 1, 3, 1)
SURVEYS: tuple[tuple[Selection, ...], ...] = (
    (YES_NO,),
    ((2, 1, 20, 1),),
    (THREE,),
    (FOUR,),
    (YES_NO, YES_NO),
    (YES_NO, FOUR),
    (THREE, THREE),
)
BLANKS = (0, 1, 2, 5, 8)
ODDS = ("3/2", "3", "6")
CLAIMED: tuple[tuple[tuple[Selection, ...], str, str], ...] = (
    ((YES_NO,), "3", "0.05"),
    ((YES_NO,), "6", "0.001"),
    ((THREE,), "3", "0.02"),
    ((YES_NO, FOUR), "3", "0.1"),
    ((YES_NO, YES_NO), "5", "0.05"),
)
COUNTED: tuple[tuple[Selection, int, int, list[int]], ...] = (
    (YES_NO, 100, 0, [30, 70]),
    (YES_NO, 100, 220, [140, 180]),
    (YES_NO, 1000, 220, [453, 767]),
    (YES_NO, 1, 220, [111, 110]),
    ((5, 1, 8, 1), 60, 52, [40, 20, 20, 16, 16]),
    ((5, 2, 3, 1), 60, 199, [130, 100, 96, 96, 96]),
    (YES_NO, 0, 220, [110, 110]),
)


def cases() -> Made:
    return NOTES, [
        {"type": "delta", "tests": list(_deltas())},
        {"type": "claim", "tests": list(_claims())},
        {"type": "estimate", "tests": list(_estimates())},
    ]


def _deltas() -> Iterator[Case]:
    for survey in SURVEYS:
        for blanks in BLANKS:
            for odds in ODDS:
                delta = exact_delta(survey, blanks, Fraction(odds))
                yield _case(survey, blanks, odds) | {"delta": str(delta), "result": "valid"}


def _claims() -> Iterator[Case]:
    """Each with the fewest blanks that keep it, and with one fewer. None is near a tie."""
    for survey, odds, delta in CLAIMED:
        exact = [exact_delta(survey, blanks, Fraction(odds)) for blanks in range(20)]
        enough = next(blanks for blanks, kept in enumerate(exact) if kept <= Fraction(delta))
        for blanks, result in ((enough, "valid"), (enough - 1, "invalid")):
            assert abs(exact[blanks] / Fraction(delta) - 1) > Fraction(1, 100)
            case = _case(survey, blanks, odds)
            if result == "invalid":
                case["flags"] = [*case["flags"], "Fewer"]
                case["reason"] = "the blanks do not keep the claim"
            yield case | {"delta": delta, "result": result}


def _estimates() -> Iterator[Case]:
    for selection, n, blanks, counts in COUNTED:
        k, omega, own, other = selection
        case: Case = {
            "comment": "",
            "flags": [],
            "parameters": {"k": k, "omega": omega, "own": str(own), "other": str(other)},
            "n": n,
            "blanks": blanks,
            "counts": counts,
        }
        try:
            shares = estimate(selection, n, blanks, counts)
        except Invalid as reason:
            yield case | {"reason": str(reason), "result": "invalid"}
        else:
            yield case | {"estimate": [str(share) for share in shares], "result": "valid"}


def _case(survey: tuple[Selection, ...], blanks: int, odds: str) -> Case:
    return {
        "comment": "",
        "flags": ["Several"] if len(survey) > 1 else [],
        "mechanisms": [
            {"k": k, "omega": omega, "own": str(own), "other": str(other)}
            for k, omega, own, other in survey
        ],
        "blanks": blanks,
        "odds": odds,
    }
