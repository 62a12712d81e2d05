"""The auditor in JavaScript: every branch of the running randomiser, in exact fractions."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

pytestmark = pytest.mark.browser

FILE = json.loads(
    (Path(__file__).parents[2] / "shared/vectors/channels.json").read_text(encoding="utf-8")
)
SHAPES = [case for group in FILE["groups"] for case in group["tests"]]

AUDIT = """async ([mechanism, fault]) => {
  const { channel, distribution, worstOdds } = await import("/audit.js");
  const faults = await import("/test/audit/faults.js");
  const laws = fault === null ? channel(mechanism) : Array.from(
    { length: mechanism.k },
    (_, answer) => distribution((coins) => faults[fault](mechanism, answer, coins)),
  );
  return [laws.map((law) => Object.fromEntries(law)), worstOdds(laws)];
}"""


@pytest.fixture
def audit(page: Page, web_url: str) -> Any:
    """(mechanism, fault or None) -> the law of every answer, and the worst odds."""
    page.goto(web_url)

    def run(k: int, omega: int, own: int, other: int, fault: str | None = None) -> Any:
        mechanism = {"k": k, "omega": omega, "own": own, "other": other}
        laws, worst = page.evaluate(AUDIT, [mechanism, fault])
        exact = [{report: Fraction(text) for report, text in law.items()} for law in laws]
        assert all(sum(law.values()) == 1 for law in exact)
        return exact, worst

    return run


def test_the_running_code_has_exactly_the_specified_channel(audit: Any) -> None:
    """All k <= 6, all omega, odds 3, 2 and 13/7; the shipped `choose` is enumerated too."""
    for case in SHAPES:
        laws, worst = audit(case["k"], case["omega"], int(case["own"]), int(case["other"]))
        expected = [
            {report: Fraction(text) for report, text in law.items()} for law in case["channel"]
        ]
        assert laws == expected, case["id"]
        assert Fraction(worst["odds"]) == Fraction(int(case["own"]), int(case["other"]))
    assert len(SHAPES) == FILE["numberOfTests"] == 45


@pytest.mark.parametrize("shape", [(4, 2, 11674931554, 2**32), (2, 1, 2**53 - 1, 1)])
def test_large_weights_are_audited_by_their_weight(
    shape: tuple[int, int, int, int], audit: Any
) -> None:
    _, worst = audit(*shape)
    assert Fraction(worst["odds"]) == Fraction(shape[2], shape[3])


def test_the_worst_report_tells_its_answer_from_another(audit: Any) -> None:
    _, worst = audit(5, 2, 3, 1)
    report = [int(choice) for choice in worst["report"].split(",")]
    assert worst["likelier"] in report
    assert worst["unlikelier"] not in report


def test_a_truth_that_stays_first_has_infinite_odds(audit: Any) -> None:
    laws, worst = audit(4, 2, 3, 1, "truthFirst")
    assert worst["odds"] == "infinite"
    assert laws[worst["likelier"]][worst["report"]] > 0
    assert worst["report"] not in laws[worst["unlikelier"]]


def test_a_report_that_never_lies_has_infinite_odds(audit: Any) -> None:
    _, worst = audit(4, 2, 3, 1, "neverLies")
    assert worst["odds"] == "infinite"


@pytest.mark.parametrize(
    ("shape", "odds"),
    [((5, 1, 3, 1), "16/3"), ((6, 1, 3, 1), "25/3"), ((6, 5, 3, 1), "75"), ((6, 4, 2, 1), "8")],
)
def test_swapped_weights_have_odds_that_are_not_the_claimed_ones(
    shape: tuple[int, int, int, int], odds: str, audit: Any
) -> None:
    """Keeping has weight (k-w) other and leaving out w own; each set of the C(k-1,w-1) with the
    answer is then (k-w)^2 other / (w^2 own) times as probable as each of the C(k-1,w) without.
    """
    k, omega, own, other = shape
    ratio = Fraction((k - omega) ** 2 * other, omega**2 * own)
    _, worst = audit(*shape, "swapped")
    assert Fraction(worst["odds"]) == max(ratio, 1 / ratio) == Fraction(odds)


def test_inverted_weights_have_the_claimed_odds_in_the_wrong_direction(audit: Any) -> None:
    """Own and other have changed places: as private as claimed, but the answer is hidden from
    the report where it should be favoured. The number alone could not tell; its place does.
    """
    laws, worst = audit(5, 2, 3, 1, "inverted")
    report = [int(choice) for choice in worst["report"].split(",")]
    assert worst["odds"] == "3"
    assert worst["likelier"] not in report
    assert worst["unlikelier"] in report
    (honest,) = (c for c in SHAPES if (c["k"], c["omega"], c["own"]) == (5, 2, "3"))
    assert laws[0] != {report: Fraction(text) for report, text in honest["channel"][0].items()}
