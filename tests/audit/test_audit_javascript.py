"""The auditor in JavaScript: every branch of the running randomiser, in exact fractions."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import combinations, product
from math import exp
from pathlib import Path
from typing import Any

import msgspec
import pytest

from deniably.audit.enumeration import distribution_above
from deniably.audit.memoised_waves import joint_probability
from deniably.core.coins import Coins
from deniably.mechanisms import Channel, Mechanism, SetResponse, SubsetSelection, Window
from deniably.mechanisms.memoised import Family, memoised
from support.exact_laws import distribution
from support.modules import Modules
from support.soak import soak

FILE = json.loads(
    (Path(__file__).parents[2] / "shared/vectors/channels.json").read_text(encoding="utf-8")
)
SHAPES = [case for group in FILE["groups"] for case in group["tests"]]

AUDIT = """
  const [mechanisms, fault] = given;
  const { channel, distribution, worstOdds } = await import("/audit/enumeration.js");
  const faults = await import("/audit/faults.js");
  return mechanisms.map((mechanism) => {
    const laws = fault === null ? channel(mechanism) : Array.from(
      { length: mechanism.k },
      (_, answer) => distribution((coins) => faults[fault](mechanism, answer, coins)),
    );
    return [laws.map((law) => Object.fromEntries(law)), worstOdds(laws)];
  });
"""


@pytest.fixture
def audit_all(modules: Modules) -> Any:
    """(subset selections, fault or None) -> of each the law of every answer, and the worst odds."""

    def run(shapes: list[tuple[int, int, int, int]], fault: str | None = None) -> Any:
        keys = ("k", "omega", "own", "other")
        mechanisms = [
            {"name": "subset_selection", **dict(zip(keys, one, strict=True))} for one in shapes
        ]
        found = []
        for laws, worst in modules.compute(AUDIT, [mechanisms, fault]):
            exact = [{report: Fraction(text) for report, text in law.items()} for law in laws]
            assert all(sum(law.values()) == 1 for law in exact)
            found.append((exact, worst))
        return found

    return run


@pytest.fixture
def audit(audit_all: Any) -> Any:
    """(k, omega, own, other, fault or None) -> the law of every answer, and the worst odds."""

    def run(k: int, omega: int, own: int, other: int, fault: str | None = None) -> Any:
        (found,) = audit_all([(k, omega, own, other)], fault)
        return found

    return run


CHOICES = """
  const { Coins } = await import("/core/coins.js");
  const { distribution } = await import("/audit/enumeration.js");
  const { choose } = Coins.prototype;
  return given.map((weights) =>
    Object.fromEntries(distribution((coins) => choose.call(coins, weights))));
"""


def test_choose_gives_every_index_exactly_its_weight(modules: Modules) -> None:
    """The shipped code, draw by draw: the walks of all others take its law as given."""
    tables = [table for k in (1, 2, 3) for table in product(range(5), repeat=k) if any(table)]
    tables += [(9, 0, 0, 7, 1), (1000, 24), (5, 5, 5, 5, 5, 5)]

    for table, law in zip(tables, modules.compute(CHOICES, tables), strict=True):
        exact = {int(index): Fraction(share) for index, share in law.items()}
        assert exact == {i: Fraction(w, sum(table)) for i, w in enumerate(table) if w}, table


def test_the_running_code_has_exactly_the_specified_channel(audit_all: Any) -> None:
    """All k <= 6, all omega, odds 3, 2 and 13/7."""
    shapes = [tuple(int(case[key]) for key in ("k", "omega", "own", "other")) for case in SHAPES]
    for case, (laws, worst) in zip(SHAPES, audit_all(shapes), strict=True):
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


# --- the other mechanisms: the same laws as the Python that was written apart ---------------


def positions(k: int) -> list[Any]:
    return list(range(k))


def ticks(k: int, most: int) -> list[Any]:
    return [list(some) for size in range(most + 1) for some in combinations(range(k), size)]


def window(k: int, m: int, w: int, own: int, other: int) -> dict[str, Any]:
    return {"name": "window", "k": k, "m": m, "w": w, "own": own, "other": other}


def channel(k: int, *weights: list[int]) -> dict[str, Any]:
    return {"name": "channel", "k": k, "weights": list(weights)}


def set_response(k: int, most: int, size: int, own: int, other: int) -> dict[str, Any]:
    return {"name": "set_response", "k": k, "most": most, "size": size, "own": own, "other": other}


def sampled_ticks(k: int, s: int, own: int, other: int) -> dict[str, Any]:
    return {"name": "sampled_ticks", "k": k, "s": s, "own": own, "other": other}


def unary(k: int, most: int, own: int, other: int, total: int) -> dict[str, Any]:
    return {"name": "unary", "k": k, "most": most, "own": own, "other": other, "total": total}


def vector(s: int, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"name": "vector", "s": s, "parts": list(parts)}


FINITE: list[tuple[dict[str, Any], list[Any]]] = [
    (window(5, 5, 2, 3, 1), positions(5)),
    (window(3, 2, 1, 3, 1), positions(3)),
    (window(4, 7, 4, 13, 7), positions(4)),
    (window(9, 4, 2, 11674931554, 2**32), positions(9)),
    (channel(2, [5, 1], [2, 4]), positions(2)),
    (channel(5, [4, 2, 1, 1], [2, 4, 1, 1], [1, 1, 2, 4]), positions(5)),
    *((set_response(3, most, size, 3, 1), ticks(3, most)) for most in (1, 2, 3) for size in (1, 2)),
    (set_response(4, 2, 1, 11674931554, 2**32), ticks(4, 2)),
    *((sampled_ticks(3, s, 3, 1), ticks(3, 3)) for s in (1, 2)),
    *((unary(4, most, 4, 2, 8), ticks(4, most)) for most in (1, 3)),
    (unary(3, 2, 3, 1, 4), ticks(3, 2)),
    (
        vector(1, window(3, 2, 1, 3, 1), window(2, 3, 1, 2, 1)),
        [list(pair) for pair in product(range(3), range(2))],
    ),
    (
        vector(2, window(3, 2, 1, 3, 1), channel(2, [5, 1], [2, 4])),
        [list(pair) for pair in product(range(3), range(2))],
    ),
]

CHANNEL = """
  const [mechanism, answers] = given;
  const { channel, worstOdds } = await import("/audit/enumeration.js");
  const { fraction } = await import("/core/fraction.js");
  const { checkMechanism, loadMechanism, loss } = await import("/mechanisms/mechanism.js");
  await loadMechanism(mechanism.name);
  checkMechanism(mechanism);
  const laws = channel(mechanism, answers);
  const { odds } = loss(mechanism);
  return [laws.map((law) => Object.fromEntries(law)), worstOdds(laws).odds, fraction(...odds)];
"""


def written(law: dict[Any, Fraction]) -> dict[str, str]:
    return {",".join(map(str, report)): str(probability) for report, probability in law.items()}


@pytest.mark.parametrize(
    ("mechanism", "answers"), FINITE, ids=[f"{m['name']}-{i}" for i, (m, _) in enumerate(FINITE)]
)
def test_a_finite_mechanism_has_one_channel_in_both_languages(
    mechanism: dict[str, Any], answers: list[Any], modules: Modules
) -> None:
    """Every answer, every branch; and the worst odds are what the mechanism says it loses."""
    laws, worst, loss = modules.compute(CHANNEL, [mechanism, answers])

    python = msgspec.convert(mechanism, Mechanism)  # type: ignore[arg-type]
    for answer, law in zip(answers, laws, strict=True):
        given = tuple(answer) if isinstance(answer, list) else answer
        expected = distribution(lambda coins, given=given: python.randomise(given, coins))
        assert law == written(expected), answer
    assert worst == loss == str(python.loss.odds)


ABOVE = """
  const [sampler, parameters, cut] = given;
  const { distributionAbove } = await import("/audit/enumeration.js");
  const noise = await import("/mechanisms/noise.js");
  const run = (coins) => noise[sampler](...parameters, coins);
  const { law, unexploredMass } = distributionAbove(run, cut);
  return [Object.fromEntries(law), unexploredMass];
"""


@pytest.mark.parametrize(("n", "d"), [(0, 1), (1, 1), (1, 2), (2, 3), (7, 10**6)])
def test_the_game_of_chance_is_walked_as_far_as_in_python(n: int, d: int, modules: Modules) -> None:
    law, rest = modules.compute(ABOVE, ["chance", [n, d], "1/1000000"])

    # Python's walker takes `chance` as one branch; unbound, it is walked draw by draw.
    expected, unfollowed = distribution_above(
        lambda coins: Coins.chance(coins, n, d), Fraction(1, 10**6)
    )
    assert law == {str(key).lower(): str(value) for key, value in expected.items()}
    assert rest == str(unfollowed)
    true = Fraction(law["true"])
    assert true - Fraction(1, 10**15) <= exp(-n / d) <= true + Fraction(rest) + Fraction(1, 10**15)


LAWS = {
    "e^-|y|": ("laplace", [1, 1], lambda y: exp(-abs(y)), Fraction(1, 20)),
    "e^-(2|y|/3)": ("laplace", [3, 2], lambda y: exp(-abs(y) * 2 / 3), Fraction(1, 2)),
    "e^-(y^2)": ("gaussian", [1, 2], lambda y: exp(-(y**2)), Fraction(1, 3)),
}


@pytest.mark.parametrize("law", LAWS)
def test_noise_has_its_law_as_far_as_its_branches_are_followed(law: str, modules: Modules) -> None:
    """A lower bound of each probability, and no more is missing than was not followed."""
    sampler, given, weight, most = LAWS[law]
    found, unfollowed = modules.compute(ABOVE, [sampler, given, "1/100000"])

    lower = {int(value): Fraction(text) for value, text in found.items()}
    rest = Fraction(unfollowed)
    whole = sum(weight(y) for y in range(-50, 51))
    assert sum(lower.values()) + rest == 1
    assert rest < most
    for y in range(-6, 7):
        exact = weight(y) / whole
        assert lower.get(y, 0) <= exact + 1e-12
        assert exact <= lower.get(y, 0) + rest


def test_an_endless_sampler_that_is_wrong_is_found_out(modules: Modules) -> None:
    """Noise of scale 1 is no noise of scale 1/2: the enclosure is tight enough to tell."""
    found, rest = modules.compute(ABOVE, ["laplace", [1, 1], "1/100000"])

    whole = sum(exp(-2 * abs(y)) for y in range(-50, 51))
    assert Fraction(found["0"]) + Fraction(rest) < 1 / whole


WAVES = """
  const [mechanism, answers] = given;
  const { distribution, worstOdds } = await import("/audit/enumeration.js");
  const { historyLoss, loadMechanism, loss, respond } = await import("/mechanisms/mechanism.js");
  const { fraction } = await import("/core/fraction.js");
  await loadMechanism("memoised");
  const twice = (answer, coins) => {
    const { report, memo } = respond(mechanism, answer, coins);
    return [report, respond(mechanism, answer, coins, memo).report];
  };
  const laws = [1, 2].map((waves) => answers.map((answer) => distribution((coins) => {
    return waves === 1 ? respond(mechanism, answer, coins).report : twice(answer, coins);
  })));
  const odds = [loss(mechanism), historyLoss(mechanism)].map((one) => fraction(...one.odds));
  return [...laws.map((law) => worstOdds(law).odds), ...odds,
    Object.fromEntries(laws[1][0])];
"""


@pytest.mark.parametrize(
    ("once", "over_time", "answers"),
    [
        (SubsetSelection(2, 1, 3, 1), 9, [0, 1]),
        soak(SubsetSelection(3, 1, 3, 1), 9, [0, 1, 2]),
        (Window(3, 2, 1, 3, 1), 9, [0, 1, 2]),
        soak(Window(3, 3, 1, 3, 1), 9, [0, 1, 2]),
        (Channel(2, ((5, 1), (2, 4))), 9, [0, 1]),
        (SetResponse(2, 1, 1, 2, 1), 4, [[], [0], [1]]),
        soak(SetResponse(2, 1, 1, 3, 1), 9, [[], [0], [1]]),
    ],
    ids=str,
)
def test_two_waves_from_one_memo_stay_within_the_history(
    once: Family, over_time: int, answers: list[Any], modules: Modules
) -> None:
    """Every branch of two waves together: the very law of the Python, and odds below those of
    the memo, where two reports with fresh chance would have those of one squared."""
    mechanism = memoised(once, Fraction(over_time))
    one, two, loss, history, law = modules.compute(
        WAVES, [json.loads(msgspec.json.encode(mechanism)), answers]
    )

    assert Fraction(one) == Fraction(loss) == once.loss.odds
    assert once.loss.odds < Fraction(two) < Fraction(history) == mechanism.history.odds
    assert mechanism.history.odds == over_time
    for key, chance in law.items():
        reports = tuple((int(cell),) for cell in key.split(","))
        first: Any = tuple(answers[0]) if isinstance(answers[0], list) else answers[0]
        assert Fraction(chance) == joint_probability(mechanism, first, reports)
