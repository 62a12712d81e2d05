"""The shipped Python does what the shared vectors say, byte for byte."""

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from deniably.audit import distribution
from deniably.canonical import canonical, digest, parse
from deniably.coins import Coins
from deniably.errors import BadAnswer, BadMechanism, BadReport, BadSurvey
from deniably.estimate import estimate
from deniably.mechanisms.subset_selection import SubsetSelection, best_omega
from deniably.survey import Claim, read_survey
from deniably.tally import Tally

VECTORS = Path(__file__).parents[2] / "shared/vectors"

Case = dict[str, Any]


def cases(name: str) -> list[Any]:
    """The cases of one file as (group, case); asserts that none has gone missing."""
    file = json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))
    found = [(group, case) for group in file["groups"] for case in group["tests"]]
    assert file["spec"] == 1
    assert len(found) == file["numberOfTests"] > 0
    return [pytest.param(group, case, id=str(case["id"])) for group, case in found]


def tape(data: bytes) -> tuple[Coins, Callable[[], int]]:
    """Coins that read ``data``, and how many bytes they have taken."""
    position = 0

    def take(count: int) -> bytes:
        nonlocal position
        position += count
        assert position <= len(data), "more bytes are taken than the specification allows"
        return data[position - count : position]

    return Coins(take), lambda: position


def mechanism(parameters: Case) -> SubsetSelection:
    return SubsetSelection(*(int(parameters[key]) for key in ("k", "omega", "own", "other")))


@pytest.mark.parametrize(("group", "case"), cases("coins"))
def test_coins(group: Case, case: Case) -> None:
    coins, taken = tape(bytes.fromhex(case["bytes"]))
    draw: Callable[[], int] = (
        (lambda: coins.below(int(case["bound"])))
        if group["type"] == "below"
        else (lambda: coins.choose([int(weight) for weight in case["weights"]]))
    )

    if case["result"] == "invalid":
        with pytest.raises(ValueError, match=r"draw|choose"):
            draw()
    else:
        assert draw() == int(case["value"] if group["type"] == "below" else case["index"])
        assert taken() == case["consumed"]


@pytest.mark.parametrize(("group", "case"), cases("subset_selection"))
def test_subset_selection(group: Case, case: Case) -> None:
    if group["type"] == "parameters":
        check_parameters(case)
        return
    if group["type"] == "check":
        check_report(mechanism(group["parameters"]), case)
        return
    m = mechanism(group["parameters"])
    coins, taken = tape(bytes.fromhex(case["bytes"]))
    if case["result"] == "invalid":
        with pytest.raises(BadAnswer):
            m.randomise(case["answer"], coins)
    else:
        assert m.randomise(case["answer"], coins) == tuple(case["report"])
        assert (m.odds, m.p, m.q) == tuple(Fraction(group[key]) for key in ("odds", "p", "q"))
    assert taken() == case["consumed"]


def check_parameters(case: Case) -> None:
    if case["result"] == "invalid":
        with pytest.raises(BadMechanism):
            mechanism(case)
    else:
        mechanism(case)


def check_report(m: SubsetSelection, case: Case) -> None:
    if case["result"] == "invalid":
        with pytest.raises(BadReport):
            m.check(case["report"])
    else:
        m.check(case["report"])


@pytest.mark.parametrize(("group", "case"), cases("channels"))
def test_channels(group: Case, case: Case) -> None:
    m = mechanism(case)

    for answer, law in enumerate(case["channel"]):
        walked = distribution(lambda coins, answer=answer: m.randomise(answer, coins))
        assert {",".join(map(str, report)): str(pr) for report, pr in walked.items()} == law
    assert (str(m.p), str(m.q), str(m.odds)) == (case["p"], case["q"], group["odds"])


@pytest.mark.parametrize(("group", "case"), cases("canonical"))
def test_canonical_json(group: Case, case: Case) -> None:
    if case["result"] == "invalid":
        with pytest.raises(ValueError, match=r"\w"):
            canonical(parse(case["json"]))
    else:
        value = parse(case["json"])
        assert canonical(value) == case["canonical"].encode()
        assert digest(value) == case["digest"]


@pytest.mark.parametrize(("group", "case"), cases("claims"))
def test_claims(group: Case, case: Case) -> None:
    def kept() -> bool:
        claim = msgspec.convert(case["claim"], Claim)
        return claim.covers(Fraction(int(case["own"]), int(case["other"])))

    if "Malformed" in case["flags"] or "Range" in case["flags"]:
        assert case["result"] == "valid" or malformed(kept)
    else:
        assert kept() == (case["result"] == "valid")


def malformed(kept: Callable[[], bool]) -> bool:
    with pytest.raises(ValueError, match=r"\w"):  # msgspec's ValidationError is one
        kept()
    return True


@pytest.mark.parametrize(("group", "case"), cases("omega"))
def test_the_best_omega(group: Case, case: Case) -> None:
    assert best_omega(case["k"], Fraction(int(case["own"]), int(case["other"]))) == case["omega"]


@pytest.mark.parametrize(("group", "case"), cases("definitions"))
def test_definitions(group: Case, case: Case) -> None:
    if case["result"] == "invalid":
        with pytest.raises(BadSurvey):
            read_survey(case["text"])
    else:
        assert read_survey(case["text"]).digest == case["digest"]


@pytest.mark.parametrize(("group", "case"), cases("estimates"))
def test_estimates(group: Case, case: Case) -> None:
    tally, m = Tally(case["n"], np.array(case["counts"])), mechanism(group["parameters"])
    if case["result"] == "invalid":
        with pytest.raises(ValueError, match="at least one report"):
            estimate(tally, m)
        return

    found = estimate(tally, m)

    exact = [float(Fraction(share)) for share in case["estimate"]]
    np.testing.assert_allclose(found.raw, exact, rtol=1e-12, atol=1e-12)


def files() -> Iterator[str]:
    return (path.stem for path in VECTORS.glob("*.json"))


def test_no_file_of_vectors_is_left_out() -> None:
    tested = Path(__file__).read_text(encoding="utf-8")

    assert {name for name in files() if f'cases("{name}")' not in tested} == set()
