"""Sections 2.5 to 2.15 of shared/SPEC.md as the reference reads them: slow and obvious."""

from __future__ import annotations

import itertools
import math
import re
from fractions import Fraction

from reference import Invalid, at_most_exp, check_mechanism, randomise, require

LIMIT = 2**53
NOTHING = Fraction(0)


def integers(mechanism, *names):
    for name in names:
        require(type(mechanism.get(name)) is int, f"{name} is an integer")


def only(mechanism, *names):
    require(set(mechanism) == {"name", *names}, "a key is unknown or missing")


# --- coins ---


def pick(coins, n, size):
    require(0 <= size <= n, "size is from 0 to n")
    items = list(range(n))
    for i in range(size):
        j = i + coins.below(n - i)
        items[i], items[j] = items[j], items[i]
    return items[:size]


def knot(coins, x, k, knots):
    low, rest = divmod(x * (knots - 1), k - 1)
    return low + 1 - coins.choose([rest, k - 1 - rest])


def chance(coins, n, d):
    j = 1
    while True:
        first = coins.choose([n, d - n])
        second = coins.below(j)
        if first != 0 or second != 0:
            return j % 2 == 1
        j += 1


def fall(coins, n, d):
    ratio = Fraction(n, d)
    n, d = ratio.numerator, ratio.denominator
    for _ in range(n // d):
        if not chance(coins, 1, 1):
            return False
    return chance(coins, n % d, d)


def laplace(coins, t, s):
    while True:
        u = coins.below(t)
        if not chance(coins, u, t):
            continue
        v = 0
        while chance(coins, 1, 1):
            v += 1
        y = (u + t * v) // s
        negative = coins.below(2)
        if y == 0 and negative == 1:
            continue
        return -y if negative == 1 else y


def gaussian(coins, p, q):
    t = math.isqrt(p // q) + 1
    while True:
        y = laplace(coins, t, 1)
        if fall(coins, (abs(y) * q * t - p) ** 2, 2 * p * q * t**2):
            return y


# --- parameters ---


def ratio(text):
    require(type(text) is str, "a scale is a text")
    found = re.fullmatch(r"[1-9][0-9]{0,9}(/[1-9][0-9]{0,9})?", text)
    require(found, "an integer or a fraction")
    value = Fraction(text)
    require(str(value) == text, "in lowest terms")
    require(max(value.numerator, value.denominator) <= 2**31, "both parts are at most 2^31")
    return value


def decimal(text):
    require(type(text) is str and len(text) <= 40, "a decimal is a text")
    require(re.fullmatch(r"(0|[1-9][0-9]*)(\.[0-9]*[1-9])?", text), "a plain decimal")
    return Fraction(text)


def positions(m):
    integers(m, "k")
    require(2 <= m["k"] <= 2**20 + 1, "k is from 2 to 2^20 + 1")


def options(m):
    integers(m, "k")
    require(2 <= m["k"] <= 1024, "k is from 2 to 1024")


def pair(m):
    integers(m, "own", "other")
    require(1 <= m["other"] < m["own"], "1 <= other < own")


def most_ticks(m):
    integers(m, "most")
    require(1 <= m["most"] <= m["k"], "most is from 1 to k")


def set_weights(m):
    k, most, size = m["k"], m["most"], m["size"]
    return [
        math.comb(most, j) * math.comb(k, size - j) * (m["other"] if j == 0 else m["own"])
        for j in range(min(most, size) + 1)
    ]


def check(m):
    """Raise Invalid unless the parameters make a mechanism."""
    require(type(m) is dict, "a mechanism is an object")
    name = m.get("name")
    if name == "subset_selection":
        only(m, "k", "omega", "own", "other")
        check_mechanism(m["k"], m["omega"], m["own"], m["other"])
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


# --- 2.15 ---

ONE = 2**160


def ceil(value):
    return -math.floor(-value)


def series(x):
    low = high = a = b = ONE
    i = 0
    while b > 1 or i < 2 * x:
        i += 1
        a = a * x.numerator // (x.denominator * i)
        b = ceil(Fraction(b * x.numerator, x.denominator * i))
        low += a
        high += b
    return low, high + b


def expm(x):
    if x > 64:
        low, high = expm(x / 2)
        return low * low >> 160, (high * high >> 160) + 1
    low, high = series(x)
    return ONE * ONE // high, ceil(Fraction(ONE * ONE, low))


def one_bound(s, shift, epsilon):
    first = math.floor(epsilon * s / shift - Fraction(shift, 2)) + 1
    if first <= 0:
        return ONE
    step = (math.isqrt(math.floor(s)) >> 11) | 1 if first**2 >= s else 1

    def tail(y, up):
        side = 1 if up else 0
        fraction = expm((2 * y * step + step**2) / (2 * s))[side]
        change = expm(step**2 / s)[side]
        total, term = 0, ONE
        while term >= 2**64:
            total += term
            term = (term * fraction >> 160) + side
            fraction = (fraction * change >> 160) + side
        if up:
            total += term * ONE // (ONE - fraction) + 1
        return total

    above = step * tail(first, True) - (step - 1) // 2 * ONE
    mid = first + shift + (step - 1) // 2
    w = expm(Fraction(mid**2 - first**2) / (2 * s) - epsilon)[0]
    below = step * (w * tail(mid, False) >> 160)
    whole = step * (2 * tail(0, False) - ONE) - 1
    g = expm(Fraction(first**2) / (2 * s))[1]
    return min(ONE, ceil(Fraction((above - below) * g, whole)))


def delta_bound(s, shift, d, epsilon):
    """In units of 2^-160."""
    if d == 1:
        return one_bound(s, shift, epsilon)
    require(s >= 9, "for several numbers sigma2 is at least 9")
    return min(ONE, one_bound(d * s, d * shift, epsilon) + 40 * d * 2**32)


# --- losses: (odds, exponent, delta) ---


def loss(m):
    name = m["name"]
    if name in ("subset_selection", "window", "set_response"):
        return Fraction(m["own"], m["other"]), NOTHING, NOTHING
    if name == "channel":
        worst = max(
            Fraction(max(column), min(column)) for column in zip(*m["weights"], strict=True)
        )
        return worst, NOTHING, NOTHING
    if name == "sampled_ticks":
        return Fraction(m["own"], m["other"]) ** m["s"], NOTHING, NOTHING
    if name == "unary":
        c = Fraction(m["own"], m["other"])
        d = Fraction(m["total"] - m["other"], m["total"] - m["own"])
        i, j = m["most"], min(m["most"], m["k"] - m["most"])
        return max(c, d) ** i * min(c, d) ** j, NOTHING, NOTHING
    if name in ("laplace", "bounded_laplace"):
        return Fraction(1), (m["k"] - 1) / ratio(m["scale"]), NOTHING
    if name == "gaussian":
        return Fraction(1), decimal(m["epsilon"]), decimal(m["delta"])
    return largest([loss(part) for part in m["parts"]], m["s"])


def added(losses):
    odds = math.prod((one[0] for one in losses), start=Fraction(1))
    return odds, sum((one[1] for one in losses), NOTHING), sum((one[2] for one in losses), NOTHING)


def largest(losses, count):
    """By odds * e^exponent, the larger first; of equal ones the earlier. The largest deltas."""
    deltas = sorted((delta for _, _, delta in losses), reverse=True)
    rest, taken = list(losses), []
    for _ in range(count):
        worst = rest[0]
        for one in rest[1:]:
            if _above(one, worst):
                worst = one
        rest.remove(worst)
        taken.append(worst)
    odds, exponent, _ = added(taken)
    return odds, exponent, sum(deltas[:count], NOTHING)


def _above(one, other):
    """Whether one's odds * e^exponent is strictly the larger."""
    (odds, exponent, _), (others, theirs, _) = one, other
    if exponent == theirs:
        return odds > others
    # odds / others > e^(theirs - exponent)?
    if theirs > exponent:
        return not at_most_exp(odds / others, theirs - exponent)
    return at_most_exp(others / odds, exponent - theirs)


def loss_texts(found):
    return dict(zip(("odds", "exponent", "delta"), map(str, found), strict=True))


# --- reports ---


def check_answer(m, answer):
    name = m["name"]
    if name == "vector":
        require(type(answer) is list and len(answer) == len(m["parts"]), "one position a part")
        for part, position in zip(m["parts"], answer, strict=True):
            check_answer(part, position)
    elif name == "gaussian":
        require(type(answer) is list and len(answer) == m["d"], "d positions")
        require(all(0 <= x < m["k"] for x in answer), "a position is below k")
    elif name in ("set_response", "sampled_ticks", "unary"):
        most = m["k"] if name == "sampled_ticks" else m["most"]
        require(type(answer) is list and len(answer) <= most, "at most so many ticks")
        require(all(0 <= x < m["k"] for x in answer), "an option is below k")
        require(answer == sorted(set(answer)), "distinct and ascending")
    else:
        require(type(answer) is int and 0 <= answer < m["k"], "a position is below k")


def report(m, answer, coins):
    check(m)
    check_answer(m, answer)
    name = m["name"]
    if name == "subset_selection":
        return randomise(m["k"], m["omega"], m["own"], m["other"], answer, coins)
    if name == "window":
        start = knot(coins, answer, m["k"], m["m"] - m["w"] + 1)
        inside = coins.choose([m["w"] * m["own"], (m["m"] - m["w"]) * m["other"]]) == 0
        i = coins.below(m["w"])
        j = coins.below(m["m"] - m["w"])
        if inside:
            return [start + i]
        return [j if j < start else j + m["w"]]
    if name == "channel":
        row = knot(coins, answer, m["k"], len(m["weights"]))
        return [coins.choose(m["weights"][row])]
    if name == "set_response":
        k, most, size = m["k"], m["most"], m["size"]
        t = answer + list(range(k, k + most - len(answer)))
        u = [number for number in range(k + most) if number not in t]
        shared = coins.choose(set_weights(m))
        a = pick(coins, most, min(most, size))
        b = pick(coins, k, size)
        return sorted([t[i] for i in a[:shared]] + [u[i] for i in b[: size - shared]])
    if name == "sampled_ticks":
        found = []
        for option in sorted(pick(coins, m["k"], m["s"])):
            flip = coins.choose([m["own"], m["other"]])
            found.append(2 * option + ((option in answer) ^ flip))
        return found
    if name == "unary":
        found = []
        for option in range(m["k"]):
            x = m["own"] if option in answer else m["other"]
            if coins.choose([x, m["total"] - x]) == 0:
                found.append(option)
        return found
    if name in ("laplace", "bounded_laplace"):
        scale = ratio(m["scale"])
        while True:
            y = answer + laplace(coins, scale.numerator, scale.denominator)
            if name == "laplace":
                return [in_reach(m, y)]
            if m["beyond"] == "clamp":
                return [min(max(y, 0), m["k"] - 1)]
            if 0 <= y < m["k"]:
                return [y]
    if name == "gaussian":
        s, d = ratio(m["sigma2"]), m["d"]
        return [
            in_reach(m, position + gaussian(coins, s.numerator, s.denominator)) * d + c
            for c, position in enumerate(answer)
        ]
    d = len(m["parts"])
    return [
        report(m["parts"][c], answer[c], coins)[0] * d + c for c in sorted(pick(coins, d, m["s"]))
    ]


def reach(m):
    """How far beyond the grid a number may be reported."""
    if m["name"] == "laplace":
        return 40 * math.ceil(ratio(m["scale"]))
    return 12 * (math.isqrt(math.floor(ratio(m["sigma2"]))) + 1)


def in_reach(m, y):
    return min(max(y, -reach(m)), m["k"] - 1 + reach(m))


def check_report(m, found):
    """Raise Invalid unless a device could have made this report."""
    name = m["name"]
    if name in ("window", "channel", "bounded_laplace"):
        outputs = {"window": m.get("m"), "bounded_laplace": m.get("k")}.get(name)
        outputs = outputs or len(m["weights"][0])
        require(len(found) == 1 and 0 <= found[0] < outputs, "one output")
    elif name == "laplace":
        require(len(found) == 1 and in_reach(m, found[0]) == found[0], "one number")
    elif name == "gaussian":
        require([z % m["d"] for z in found] == list(range(m["d"])), "d numbers in order")
        require(all(in_reach(m, z // m["d"]) == z // m["d"] for z in found), "in reach")
    elif name == "vector":
        d = len(m["parts"])
        parts = [z % d for z in found]
        require(len(found) == m["s"] and parts == sorted(set(parts)), "s numbers in order")
        for z in found:
            check_report(m["parts"][z % d], [z // d])
    else:
        domain = {"set_response": m["k"] + m.get("most", 0), "sampled_ticks": 2 * m["k"]}
        size = {"set_response": m.get("size"), "sampled_ticks": m.get("s")}.get(name)
        require(found == sorted(set(found)), "distinct and ascending")
        require(all(0 <= z < domain.get(name, m["k"]) for z in found), "below the domain")
        require(size is None or len(found) == size, "of the right size")
        if name == "sampled_ticks":
            require(len({z // 2 for z in found}) == m["s"], "each option once")


# --- laws of small finite mechanisms, by formula ---


def rounded(x, k, knots):
    low, rest = divmod(x * (knots - 1), k - 1)
    law = {low: Fraction(k - 1 - rest, k - 1)}
    if rest:
        law[low + 1] = Fraction(rest, k - 1)
    return law


def law(m, answer):
    """{report as a tuple: probability}"""
    name = m["name"]
    found = {}

    def add(key, probability):
        if probability:
            found[key] = found.get(key, NOTHING) + probability

    if name in ("window", "channel"):
        rows = m.get("weights") or [
            [m["own"] if s <= y < s + m["w"] else m["other"] for y in range(m["m"])]
            for s in range(m["m"] - m["w"] + 1)
        ]
        for row, probability in rounded(answer, m["k"], len(rows)).items():
            for y, weight in enumerate(rows[row]):
                add((y,), probability * Fraction(weight, sum(rows[row])))
    elif name == "set_response":
        t = set(answer) | set(range(m["k"], m["k"] + m["most"] - len(answer)))
        subsets = list(itertools.combinations(range(m["k"] + m["most"]), m["size"]))
        weights = [m["own"] if t & set(subset) else m["other"] for subset in subsets]
        for subset, weight in zip(subsets, weights, strict=True):
            add(subset, Fraction(weight, sum(weights)))
    elif name == "sampled_ticks":
        subsets = list(itertools.combinations(range(m["k"]), m["s"]))
        total = m["own"] + m["other"]
        for subset in subsets:
            for flips in itertools.product((0, 1), repeat=m["s"]):
                probability = Fraction(1, len(subsets))
                key = []
                for option, flip in zip(subset, flips, strict=True):
                    probability *= Fraction(m["other"] if flip else m["own"], total)
                    key.append(2 * option + ((option in answer) ^ flip))
                add(tuple(key), probability)
    elif name == "unary":
        for bits in itertools.product((0, 1), repeat=m["k"]):
            probability = Fraction(1)
            for option, bit in enumerate(bits):
                one = Fraction(m["own"] if option in answer else m["other"], m["total"])
                probability *= one if bit else 1 - one
            add(tuple(option for option, bit in enumerate(bits) if bit), probability)
    else:
        d = len(m["parts"])
        subsets = list(itertools.combinations(range(d), m["s"]))
        for subset in subsets:
            laws = [law(m["parts"][c], answer[c]) for c in subset]
            for ys in itertools.product(*laws):
                key = tuple(y[0] * d + c for y, c in zip(ys, subset, strict=True))
                probability = math.prod(one[y] for one, y in zip(laws, ys, strict=True))
                add(key, probability / len(subsets))
    return found
