"""Randomises answers, and checks answers and reports, for all mechanisms but ``memoised`` (SPEC 2.1
to 2.14)."""

from __future__ import annotations

from deniably.reference.coins import Coins, gaussian, knot, laplace, pick
from deniably.reference.parameters import check, ratio, reach, set_weights
from deniably.reference.refusal import require
from deniably.reference.subsets import randomise
from deniably.reference.values import Json, Mechanism


def check_answer(m: Mechanism, answer: Json) -> None:
    """Raises Invalid unless ``answer`` is an input that the mechanism takes."""
    name = m["name"]
    if name == "vector":
        require(type(answer) is list and len(answer) == len(m["parts"]), "one position a part")
        for part, position in zip(m["parts"], answer, strict=True):
            check_answer(part, position)
    elif name == "gaussian":
        require(type(answer) is list and len(answer) == m["d"], "d positions")
        require(all(0 <= x < m["k"] for x in answer), "a position is below k")
    elif name in ("set_response", "sampled_ticks", "unary"):
        maximum = m["k"] if name == "sampled_ticks" else m["most"]
        require(type(answer) is list and len(answer) <= maximum, "at most so many ticks")
        require(all(0 <= x < m["k"] for x in answer), "an option is below k")
        require(answer == sorted(set(answer)), "distinct and ascending")
    else:
        require(type(answer) is int and 0 <= answer < m["k"], "a position is below k")


def report(m: Mechanism, answer: Json, coins: Coins) -> list[int]:
    """Returns a report to ``answer``. Raises Invalid if the parameters or the answer are not
    allowed."""
    check(m)
    check_answer(m, answer)
    return drawn(m, answer, coins)


def drawn(m: Mechanism, answer: Json, coins: Coins) -> list[int]:
    """Returns a report to ``answer``, without checking the mechanism or the answer."""
    name = m["name"]
    if name == "subset_selection":
        return randomise(m["k"], m["omega"], m["own"], m["other"], answer, coins)
    if name == "window":
        start = knot(coins, answer, m["k"], m["m"] - m["w"] + 1)
        inside = coins.choose([m["w"] * m["own"], (m["m"] - m["w"]) * m["other"]]) == 0
        # Both are drawn whatever `inside` is, so that the number of bytes depends on nothing
        # secret.
        i = coins.below(m["w"])
        j = coins.below(m["m"] - m["w"])
        if inside:
            return [start + i]
        return [j if j < start else j + m["w"]]
    if name == "channel":
        row = knot(coins, answer, m["k"], len(m["weights"]))
        return [coins.choose(m["weights"][row])]
    if name == "set_response":
        k, maximum, size = m["k"], m["most"], m["size"]
        t = answer + list(range(k, k + maximum - len(answer)))
        u = [number for number in range(k + maximum) if number not in t]
        shared = coins.choose(set_weights(m))
        a = pick(coins, maximum, min(maximum, size))
        b = pick(coins, k, size)
        return sorted([t[i] for i in a[:shared]] + [u[i] for i in b[: size - shared]])
    if name == "sampled_ticks":
        chosen = []
        for option in sorted(pick(coins, m["k"], m["s"])):
            flip = coins.choose([m["own"], m["other"]])
            chosen.append(2 * option + ((option in answer) ^ flip))
        return chosen
    if name == "unary":
        chosen = []
        for option in range(m["k"]):
            x = m["own"] if option in answer else m["other"]
            if coins.choose([x, m["total"] - x]) == 0:
                chosen.append(option)
        return chosen
    if name in ("laplace", "bounded_laplace"):
        scale = ratio(m["scale"])
        while True:
            y = answer + laplace(coins, scale.numerator, scale.denominator)
            if name == "laplace":
                return [in_reach(m, y)]
            if m["beyond"] == "clamp":
                return [min(max(y, 0), m["k"] - 1)]
            # `resample`: only this draws again.
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
        drawn(m["parts"][c], answer[c], coins)[0] * d + c for c in sorted(pick(coins, d, m["s"]))
    ]


def in_reach(m: Mechanism, y: int) -> int:
    """Returns ``y`` limited to the range that reports with unbounded noise may have (SPEC 2.11 and
    2.13)."""
    return min(max(y, -reach(m)), m["k"] - 1 + reach(m))


def check_report(m: Mechanism, report: list[int]) -> None:
    """Raises Invalid unless a device could have made this report."""
    name = m["name"]
    if name in ("window", "channel", "bounded_laplace"):
        outputs = {"window": m.get("m"), "bounded_laplace": m.get("k")}.get(name)
        outputs = outputs or len(m["weights"][0])
        require(len(report) == 1 and 0 <= report[0] < outputs, "one output")
    elif name == "laplace":
        require(len(report) == 1 and in_reach(m, report[0]) == report[0], "one number")
    elif name == "gaussian":
        require([z % m["d"] for z in report] == list(range(m["d"])), "d numbers in order")
        require(all(in_reach(m, z // m["d"]) == z // m["d"] for z in report), "in reach")
    elif name == "vector":
        d = len(m["parts"])
        parts = [z % d for z in report]
        require(len(report) == m["s"] and parts == sorted(set(parts)), "s numbers in order")
        for z in report:
            check_report(m["parts"][z % d], [z // d])
    else:
        domain: dict[str, int] = {"set_response": m["k"] + m.get("most", 0)}
        domain["sampled_ticks"] = 2 * m["k"]
        limit = domain[name] if name in domain else m["k"]
        size = {"set_response": m.get("size"), "sampled_ticks": m.get("s")}.get(name)
        require(report == sorted(set(report)), "distinct and ascending")
        require(all(0 <= z < limit for z in report), "below the domain")
        require(size is None or len(report) == size, "of the right size")
        if name == "sampled_ticks":
            require(len({z // 2 for z in report}) == m["s"], "each option once")
