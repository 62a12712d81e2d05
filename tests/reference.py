"""A slow, obvious reference of shared/SPEC.md, and the maker of shared/vectors.

Written from the specification alone; it imports nothing of Deniably, so that an agreement with
it says something. `python tests/reference.py` writes the files, `--check` compares them.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
import sys
from fractions import Fraction
from pathlib import Path

from mpmath import iv

VECTORS = Path(__file__).resolve().parent.parent / "shared" / "vectors"


class Invalid(Exception):
    """What the specification refuses; the text is the reason."""


def require(condition, reason):
    if not condition:
        raise Invalid(reason)


# --- 1. Coins ---


class Tape:
    """Coins that read given bytes. `consumed` counts them."""

    def __init__(self, data):
        self.data, self.consumed = data, 0

    def below(self, n):
        require(1 <= n <= 2**53, "a bound is from 1 to 2^53")
        while True:
            block = self.data[self.consumed : self.consumed + 7]
            assert len(block) == 7, "the tape is too short for this vector"
            self.consumed += 7
            u = int.from_bytes(block, "big") % 2**53
            if u >= 2**53 - (2**53 % n):
                continue
            return u % n

    def choose(self, weights):
        require(all(weight >= 0 for weight in weights), "weights are not negative")
        require(1 <= sum(weights) <= 2**53, "the sum of the weights is from 1 to 2^53")
        u = self.below(sum(weights))
        return next(i for i in range(len(weights)) if u < sum(weights[: i + 1]))


# --- 2.1 Subset selection ---


def check_mechanism(k, omega, own, other):
    integers = all(type(number) is int for number in (k, omega, own, other))
    require(integers, "the parameters are integers")
    require(2 <= k <= 1024, "k is from 2 to 1024")
    require(1 <= omega <= k - 1, "omega is from 1 to k-1")
    require(1 <= other < own, "the weights are 1 <= other < own")
    require(omega * own + (k - omega) * other <= 2**53, "Z is at most 2^53")


def randomise(k, omega, own, other, answer, coins):
    check_mechanism(k, omega, own, other)
    require(0 <= answer < k, "an answer is from 0 to k-1")
    kept = coins.choose([omega * own, (k - omega) * other]) == 0
    draws = {j: coins.below(j) for j in range(k - omega, k)}
    if kept:
        del draws[k - omega]
    subset = set()
    for j in sorted(draws):
        subset.add(j - 1 if draws[j] in subset else draws[j])
    report = {i + 1 if i >= answer else i for i in subset}
    if kept:
        report.add(answer)
    assert len(report) == omega
    return sorted(report)


def support(k, omega, own, other):
    """The probabilities (p, q) of supporting the true choice and a given other one."""
    z = omega * own + (k - omega) * other
    q = Fraction(omega * ((omega - 1) * own + (k - omega) * other), (k - 1) * z)
    return Fraction(omega * own, z), q


def channel(k, omega, own, other):
    """For each answer: {report: probability}, from the weights of all subsets."""
    subsets = list(itertools.combinations(range(k), omega))
    rows = []
    for answer in range(k):
        weights = {subset: own if answer in subset else other for subset in subsets}
        total = sum(weights.values())
        rows.append({subset: Fraction(weight, total) for subset, weight in weights.items()})
    return rows


def estimate(k, omega, own, other, n, counts):
    require(n >= 1, "an estimate needs a report")
    p, q = support(k, omega, own, other)
    return [(Fraction(count, n) - q) / (p - q) for count in counts]


def best_omega(k, own, other):
    """Brute force; of equally good ones the smallest."""

    def variance(omega):
        p, q = support(k, omega, own, other)
        return ((k - 1) * q * (1 - q) + p * (1 - p)) / (p - q) ** 2

    return min(range(1, k), key=lambda omega: (variance(omega), omega))


# --- 2.2 Claims ---


def exp_interval(x, digits=120):
    """An interval that certainly contains e^x, for a rational x."""
    iv.dps = digits
    return iv.exp(iv.mpf(x.numerator) / iv.mpf(x.denominator))


def at_most_exp(ratio, x):
    """Whether ratio <= e^x; fails loudly where the interval does not decide."""
    interval, exact = exp_interval(x), iv.mpf(ratio.numerator) / iv.mpf(ratio.denominator)
    assert exact.b < interval.a or exact.a > interval.b, "too close to decide"
    return bool(exact.b < interval.a)


def floor_exp(x, bits):
    """floor(2^bits * e^x); fails loudly where the floor is not certain."""
    interval = exp_interval(x) * 2**bits
    low, high = math.floor(interval.a), math.floor(interval.b)
    assert low == high, "the floor is not certain"
    return int(low)


def read_claim(claim):
    """The kind of a claim and its value."""
    require(type(claim) is dict and len(claim) == 1, "a claim is either epsilon or odds")
    ((kind, text),) = claim.items()
    require(kind in ("epsilon", "odds") and type(text) is str, "a claim is a text")
    if kind == "epsilon":
        plain = re.fullmatch(r"(0|[1-9][0-9]*)(\.[0-9]*[1-9])?", text)
        require(plain, "epsilon is a plain decimal number")
        require(Fraction(1, 100) <= Fraction(text) <= 10, "epsilon is from 0.01 to 10")
        return kind, Fraction(text)
    require(re.fullmatch(r"[1-9][0-9]*(/[1-9][0-9]*)?", text), "odds are n or n/d")
    odds = Fraction(text)
    require(str(odds) == text, "odds are in lowest terms")
    in_range = not at_most_exp(odds, Fraction(1, 100)) and at_most_exp(odds, Fraction(10))
    require(in_range, "odds are from e^0.01 to e^10")
    return kind, odds


def check_claim(claim, own, other):
    kind, value = read_claim(claim)
    odds = Fraction(own, other)
    kept = odds <= value if kind == "odds" else at_most_exp(odds, value)
    require(kept, "own/other is larger than claimed")


# --- 3. Canonical JSON ---


def parse(text):
    def unique(pairs):
        require(len(dict(pairs)) == len(pairs), "a key is repeated")
        return dict(pairs)

    def refuse(_):
        raise Invalid("a number has a fraction or an exponent")

    return json.loads(text, object_pairs_hook=unique, parse_float=refuse, parse_constant=refuse)


ESCAPES = dict(
    zip('"\\\b\f\n\r\t', ('\\"', "\\\\", "\\b", "\\f", "\\n", "\\r", "\\t"), strict=True)
)


def canonical(value):
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is int:
        require(abs(value) <= 2**53 - 1, "an integer is larger than 2^53 - 1")
        return str(value)
    if type(value) is str:
        require(not re.search("[\ud800-\udfff]", value), "a lone surrogate is no character")
        escaped = (
            ESCAPES.get(char, char if char >= " " else f"\\u{ord(char):04x}") for char in value
        )
        return '"' + "".join(escaped) + '"'
    if type(value) is list:
        return "[" + ",".join(canonical(item) for item in value) + "]"
    require(type(value) is dict, "only objects, arrays, strings, booleans and integers")
    keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
    return "{" + ",".join(canonical(key) + ":" + canonical(value[key]) for key in keys) + "}"


def digest(value):
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def main(arguments):
    import vector_cases

    stale = 0
    for name, text in vector_cases.files().items():
        path = VECTORS / name
        old = path.read_text(encoding="utf-8") if path.exists() else None
        if arguments == ["--check"]:
            stale += old != text
            print(name, "is as generated" if old == text else "DIFFERS from what is generated")
        else:
            path.write_text(text, encoding="utf-8")
            print(name, "is unchanged" if old == text else "is written")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
