"""The vectors are sharp: each small mistake planted in the JavaScript fails one of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

import pytest


@dataclass(frozen=True)
class Mutant:
    """A text of a module, what is put in its place, and the vector file that notices."""

    mistake: str
    module: str
    text: str
    replacement: str
    noticed_by: str


SELECTION = "subset_selection"
MUTANTS = (
    Mutant("rejection is one too late", "coins.js", "if (u < limit)", "if (u <= limit)", "coins"),
    Mutant(
        "rejection is one too early", "coins.js", "if (u < limit)", "if (u < limit - 1)", "coins"
    ),
    Mutant("nothing is rejected", "coins.js", "if (u < limit)", "if (u >= 0)", "coins"),
    Mutant("the top bits stay", "coins.js", "byte & 0x1f", "byte", "coins"),
    Mutant("one bit too many is dropped", "coins.js", "byte & 0x1f", "byte & 0x0f", "coins"),
    Mutant("little-endian", "coins.js", "bytes.reduce(", "bytes.toReversed().reduce(", "coins"),
    Mutant("2^53 is refused", "coins.js", "n > LARGEST)", "n >= LARGEST)", "coins"),
    Mutant("a sum may be rounded", "coins.js", " || weight > LARGEST - total", "", "coins"),
    Mutant(
        "weights are one off", "coins.js", "u < (sum += weight)", "u <= (sum += weight)", "coins"
    ),
    Mutant(
        "the weights are swapped",
        "mechanism.js",
        "[omega * own, (k - omega) * other]",
        "[omega * other, (k - omega) * own]",
        SELECTION,
    ),
    Mutant(
        "kept and left out are swapped",
        "mechanism.js",
        "[omega * own, (k - omega) * other]",
        "[(k - omega) * other, omega * own]",
        SELECTION,
    ),
    Mutant("Floyd takes j", "mechanism.js", "k - omega + i - 1", "k - omega + i", SELECTION),
    Mutant(
        "Floyd takes j - 2", "mechanism.js", "k - omega + i - 1", "k - omega + i - 2", SELECTION
    ),
    Mutant(
        "the bounds of the draws are one off",
        "mechanism.js",
        "coins.below(k - omega + i)",
        "coins.below(k - omega + i + 1)",
        SELECTION,
    ),
    Mutant("the sort is gone", "mechanism.js", "report.sort((a, b) => a - b)", "report", SELECTION),
    Mutant("the sort is of texts", "mechanism.js", ".sort((a, b) => a - b)", ".sort()", SELECTION),
    Mutant("the last draw is discarded", "mechanism.js", "i = kept ? 1 : 0", "i = 0", SELECTION),
    Mutant(
        "the discarded draw is not taken",
        "mechanism.js",
        "coins.below(k - omega + i))",
        "kept && i === 0 ? 0 : coins.below(k - omega + i))",
        SELECTION,
    ),
    Mutant("the answer is not renamed", "mechanism.js", "i >= answer ?", "i > answer ?", SELECTION),
    Mutant(
        "Z is summed in doubles",
        "mechanism.js",
        "BigInt(omega) * BigInt(own) + BigInt(k - omega) * BigInt(other)",
        "omega * own + (k - omega) * other",
        SELECTION,
    ),
    Mutant(
        "keys by code points",
        "canonical.js",
        "(a < b ? -1 : 1)",
        "((a.codePointAt(0) ?? -1) - (b.codePointAt(0) ?? -1))",
        "canonical",
    ),
    Mutant("repeated keys pass", "canonical.js", "keys?.has(key)", "false", "canonical"),
    Mutant("exponents pass", "canonical.js", "/[.eE]/", "/[.]/", "canonical"),
    Mutant("lone surrogates pass", "canonical.js", r"\p{Surrogate}/u", "[^\\s\\S]/u", "canonical"),
    Mutant(
        "e^epsilon is a double",
        "survey.js",
        "atMostExp([BigInt(own), BigInt(other)], n, d)",
        "own / other <= Math.exp(Number(n) / Number(d))",
        "claims",
    ),
    Mutant(
        "e^epsilon is rounded up",
        "survey.js",
        "let sum = term;",
        "let sum = term + (1n << 70n);",
        "claims",
    ),
    Mutant(
        "odds are compared the wrong way",
        "survey.js",
        "kept = BigInt(own) * d <=",
        "kept = BigInt(own) * d >=",
        "claims",
    ),
    Mutant(
        "unknown keys pass",
        "survey.js",
        "if (check === undefined) throw",
        "if (check === undefined) continue; else if (!check) throw",
        "definitions",
    ),
    Mutant("names may repeat", "survey.js", "!names.has(item.name)", "true", "definitions"),
    Mutant(
        "k may be anything",
        "survey.js",
        "mechanism.k === choices.length",
        "mechanism.k",
        "definitions",
    ),
)


@pytest.mark.browser
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.mistake.replace(" ", "_"))
def test_a_planted_mistake_fails_the_vectors(
    mutant: Mutant,
    serve_web: Callable[[dict[str, tuple[str, str]]], AbstractContextManager[str]],
    failing_vectors: Callable[[str, str], list[str]],
) -> None:
    edits = {mutant.module: (mutant.text, mutant.replacement)}
    with serve_web(edits) as url:
        failures = failing_vectors(url, mutant.noticed_by)
    assert failures != []
    assert all(failure.startswith("case ") for failure in failures)
