"""Two coins: fractions of the shipped mechanism, its odds, and people who follow them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from deniably import lab
from deniably.audit.enumeration import worst_odds
from deniably.core.coins import Coins
from deniably.lab.example_questions import question
from deniably.lab.experiment import Experiment
from deniably.lab.picture import DrawnRow
from deniably.mechanisms import SubsetSelection
from deniably.results.drawing.graph import LONGEST
from support.exact_laws import distribution


def rows(found: Experiment, what: str) -> list[DrawnRow]:
    return [row for row in found.rows if row["what"] == what]


@pytest.mark.parametrize(
    ("truth", "yes", "odds"),
    [("1/2", "1/2", "3"), ("0.8", "1/2", "9"), ("0.3", "1/2", "13/7"), ("1/2", "0.6", "7/2")],
)
def test_the_odds_are_those_of_the_coins(truth: str, yes: str, odds: str) -> None:
    found = lab.coins(truth=truth, yes=yes)
    (row,) = rows(found, "odds")

    assert row["fraction"] == odds
    thrown = {"truth": str(Fraction(truth)), "yes": str(Fraction(yes))}
    mechanism = question(type="yes_no", coins=thrown).report_mechanism
    laws = [distribution(lambda coins, a=a: mechanism.randomise(a, coins)) for a in (0, 1)]
    assert worst_odds(laws) == Fraction(odds)
    told = [Fraction(str(row["fraction"])) for row in rows(found, "reports yes")]
    assert told == [law[(0,)] for law in laws], (
        "what the mechanism does, on every path of its coins"
    )


def test_75_and_25_of_100_and_from_60_to_70() -> None:
    found = lab.coins()

    assert [row["exact"] for row in rows(found, "reports yes")] == [0.75, 0.25]
    assert [row["fraction"] for row in rows(found, "observed")] == ["3/5"]
    assert [row["fraction"] for row in rows(found, "recovered")] == ["7/10"]
    assert rows(found, "epsilon")[0]["exact"] == pytest.approx(1.0986, abs=5e-5)
    assert "75 report it" in found.answer
    assert "60 of 100 report it, 70 of 100 mean it" in found.answer


@pytest.mark.parametrize("share", [0, 0.29, 1])
def test_whatever_the_share_everybody_is_shown_once(share: float) -> None:
    people = rows(lab.coins(share=share), "people")

    assert sum(float(row["exact"] or 0) for row in people) == pytest.approx(1)
    assert sum(int(row["people"] or 0) for row in people) == 100


def test_long_labels_of_a_survey_are_cut_in_pictures_and_whole_in_the_sentence() -> None:
    labels = ["Wholeheartedly in favour of it", "Rather strongly against all of it"]
    asked = question(type="select_one", choices=labels, epsilon=1)
    found = lab.coins(mechanism=asked.report_mechanism, labels=(labels[0], labels[1]))
    drawn = {str(point["mark"]) for picture in found.pictures for point in picture.points}

    assert all(len(label) <= LONGEST for label in drawn)
    assert len(drawn) == 6, "still told apart"
    assert labels[0] in found.answer


def test_a_survey_takes_the_place_of_the_coins() -> None:
    mechanism = question(type="yes_no", odds=5).report_mechanism

    assert set(lab.coins(mechanism=mechanism).inputs) == {"share", "seed"}
    assert set(lab.one_report(mechanism=mechanism).inputs) == {"prior", "seed"}
    assert set(lab.coins().inputs) == {"truth", "yes", "share", "seed"}


def test_a_fault_in_the_shipped_mechanism_moves_the_people(monkeypatch: pytest.MonkeyPatch) -> None:
    """A coin that always says yes: nobody reports no, and the exact law stays where it was."""
    before = rows(lab.coins(), "people")

    def always(self: SubsetSelection, answer: int, coins: Coins) -> tuple[int, ...]:
        return (0,)

    monkeypatch.setattr(SubsetSelection, "randomise", always)
    after = rows(lab.coins(), "people")

    assert [row["exact"] for row in after] == [row["exact"] for row in before]
    assert [row["people"] for row in after] == [70, 0, 30, 0] != [row["people"] for row in before]
    off = abs(float(after[0]["drawn"] or 0) - float(after[0]["exact"] or 0))
    assert off > 4 * float(after[0]["standard_error"] or 0), "the generic test would fail"
