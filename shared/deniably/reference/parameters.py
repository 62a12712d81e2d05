"""Checks the parameters of all mechanisms but ``memoised`` (SPEC 2.1 to 2.15)."""

from __future__ import annotations

import math
import re
from fractions import Fraction

from deniably.reference.calibration import delta_bound
from deniably.reference.refusal import Invalid, require
from deniably.reference.subsets import check_subset
from deniably.reference.values import Json, Mechanism

LIMIT = 2**53
"""The largest sum of weights: ``below`` draws from at most 2^53 integers (SPEC 1)."""


def integers(mechanism: Mechanism, *names: str) -> None:
    """Raises Invalid unless each of the named parameters is an integer."""
    for name in names:
        # `type`, because True is an int in Python and no integer in JSON.
        require(type(mechanism.get(name)) is int, f"{name} is an integer")


def only(mechanism: Mechanism, *names: str) -> None:
    """Raises Invalid unless the mechanism has exactly these parameters besides its name."""
    require(set(mechanism) == {"name", *names}, "a key is unknown or missing")


def ratio(text: Json) -> Fraction:
    """Returns the value of a ``scale`` or ``sigma2``.

    Raises Invalid for a text that is not spelled as SPEC 2.10 says.
    """
    require(type(text) is str, "a scale is a text")
    match = re.fullmatch(r"[1-9][0-9]{0,9}(/[1-9][0-9]{0,9})?", text)
    require(match, "an integer or a fraction")
    value = Fraction(text)
    # Python writes a Fraction in lowest terms, so no other spelling is equal.
    require(str(value) == text, "in lowest terms")
    require(max(value.numerator, value.denominator) <= 2**31, "both parts are at most 2^31")
    return value


def decimal(text: Json) -> Fraction:
    """Returns the value of a decimal that is not negative.

    Raises Invalid for a text that is not spelled as SPEC 2.2 says.
    """
    require(type(text) is str and len(text) <= 40, "a decimal is a text")
    require(re.fullmatch(r"(0|[1-9][0-9]*)(\.[0-9]*[1-9])?", text), "a plain decimal")
    return Fraction(text)


def positions(m: Mechanism) -> None:
    """Raises Invalid unless the mechanism's ``k`` is a valid number of positions (SPEC 2.5)."""
    integers(m, "k")
    require(2 <= m["k"] <= 2**20 + 1, "k is from 2 to 2^20 + 1")


def options(m: Mechanism) -> None:
    """Raises Invalid unless the mechanism's ``k`` is a valid number of options (SPEC 2.7)."""
    integers(m, "k")
    require(2 <= m["k"] <= 1024, "k is from 2 to 1024")


def pair(m: Mechanism) -> None:
    """Raises Invalid unless the mechanism's weights have 1 <= other < own."""
    integers(m, "own", "other")
    require(1 <= m["other"] < m["own"], "1 <= other < own")


def most_ticks(m: Mechanism) -> None:
    """Raises Invalid unless ``most`` is an integer from 1 to k."""
    integers(m, "most")
    require(1 <= m["most"] <= m["k"], "most is from 1 to k")


def set_weights(m: Mechanism) -> list[int]:
    """Returns the weights of set_response: entry j is the total weight of the reports that share j
    numbers with the ticks and the padding (SPEC 2.7)."""
    k, maximum, size = m["k"], m["most"], m["size"]
    return [
        math.comb(maximum, j) * math.comb(k, size - j) * (m["other"] if j == 0 else m["own"])
        for j in range(min(maximum, size) + 1)
    ]


def check(m: Mechanism) -> None:
    """Raises Invalid unless the parameters are those of a valid mechanism."""
    require(type(m) is dict, "a mechanism is an object")
    name = m.get("name")
    if name == "subset_selection":
        only(m, "k", "omega", "own", "other")
        check_subset(m["k"], m["omega"], m["own"], m["other"])
    elif name == "window":
        only(m, "k", "m", "w", "own", "other")
        positions(m)
        integers(m, "m", "w")
        pair(m)
        require(2 <= m["m"] <= 4096, "m is from 2 to 4096")
        require(1 <= m["w"] <= m["m"] - 1, "w is from 1 to m - 1")
        require(m["w"] * m["own"] + (m["m"] - m["w"]) * m["other"] <= LIMIT, "Z is at most 2^53")
    elif name == "channel":
        only(m, "k", "weights")
        positions(m)
        rows = m["weights"]
        require(type(rows) is list and 2 <= len(rows) <= m["k"], "2 to k rows")
        require(all(type(row) is list for row in rows), "a row is a list")
        require(len({len(row) for row in rows}) == 1 and len(rows[0]) >= 2, "rows of one length")
        require(len(rows) * len(rows[0]) <= 4096, "at most 4096 weights")
        require(all(type(w) is int and w >= 1 for row in rows for w in row), "weights of 1 or more")
        require(len({sum(row) for row in rows}) == 1, "rows of one sum")
        require(sum(rows[0]) <= LIMIT, "a sum of at most 2^53")
        require(any(row != rows[0] for row in rows), "not all rows are equal")
    elif name == "set_response":
        only(m, "k", "most", "size", "own", "other")
        options(m)
        most_ticks(m)
        integers(m, "size")
        require(1 <= m["size"] <= m["k"], "size is from 1 to k")
        pair(m)
        require(sum(set_weights(m)) <= LIMIT, "the weights sum to at most 2^53")
    elif name == "sampled_ticks":
        only(m, "k", "s", "own", "other")
        options(m)
        integers(m, "s")
        require(1 <= m["s"] <= m["k"], "s is from 1 to k")
        pair(m)
        require(m["own"] + m["other"] <= LIMIT, "own + other is at most 2^53")
    elif name == "unary":
        only(m, "k", "most", "own", "other", "total")
        options(m)
        most_ticks(m)
        integers(m, "total")
        pair(m)
        require(m["own"] < m["total"] <= LIMIT, "own < total <= 2^53")
    elif name in ("laplace", "bounded_laplace"):
        only(m, "k", "scale", *(["beyond"] if name == "bounded_laplace" else []))
        positions(m)
        ratio(m["scale"])
        require(m.get("beyond", "clamp") in ("clamp", "resample"), "clamp or resample")
        if name == "laplace":
            require(m["k"] + 2 * reach(m) <= 2**24, "the noise is too wide")
    elif name == "gaussian":
        only(m, "k", "d", "sigma2", "epsilon", "delta")
        positions(m)
        integers(m, "d")
        require(1 <= m["d"] <= 64, "d is from 1 to 64")
        s, epsilon, delta = ratio(m["sigma2"]), decimal(m["epsilon"]), decimal(m["delta"])
        p, q = s.numerator, s.denominator
        require(2 * p * q * (math.isqrt(p // q) + 1) ** 2 <= LIMIT, "sigma2 is too large")
        require(0 < delta <= Fraction(1, 10000), "0 < delta <= 0.0001")
        require(m["k"] + 2 * reach(m) <= 2**24, "the noise is too wide")
        bound = Fraction(delta_bound(s, m["k"] - 1, m["d"], epsilon), 2**160)
        require(bound <= delta, "sigma2 does not keep the promise")
    elif name == "vector":
        only(m, "s", "parts")
        integers(m, "s")
        require(type(m["parts"]) is list and 2 <= len(m["parts"]) <= 64, "2 to 64 parts")
        for part in m["parts"]:
            allowed = ("window", "channel", "laplace", "bounded_laplace")
            require(type(part) is dict and part.get("name") in allowed, "no mechanism of a part")
            check(part)
        require(1 <= m["s"] <= len(m["parts"]), "s is from 1 to the number of parts")
    else:
        raise Invalid("an unknown mechanism")


def reach(m: Mechanism) -> int:
    """Returns how many steps beyond the range a number with noise may be reported (SPEC 2.11 and
    2.13)."""
    if m["name"] == "laplace":
        return 40 * math.ceil(ratio(m["scale"]))
    return 12 * (math.isqrt(math.floor(ratio(m["sigma2"]))) + 1)
