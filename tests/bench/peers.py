"""Other libraries at the same work. Runs in an environment of its own, imports nothing of ours.

    python peers.py methods '{}'
    python peers.py speed '{"settings": [[16, 1]], "reports": 5000, "rounds": 5}'
    python peers.py error '{"settings": [["pure-ldp", "HR", 2, 1, "uniform"]], "n": 9,
        "seconds": 1}'
    python peers.py noise '{"epsilons": [1], "reports": 20000}'
    python peers.py order '{"k": 16, "epsilon": 1, "reports": 20000}'

Every line of the output is one JSON object.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from diffprivlib.mechanisms import Laplace, Staircase
from multi_freq_ldpy.pure_frequency_oracles import GRR, HE, LH, SS, UE
from pure_ldp.frequency_oracles import (
    DEClient,
    DEServer,
    HadamardMechClient,
    HadamardMechServer,
    HadamardResponseClient,
    HadamardResponseServer,
    HEClient,
    HEServer,
    LHClient,
    LHServer,
    UEClient,
    UEServer,
)


class Peer(NamedTuple):
    """``perturb(answer)`` makes a report; ``aggregate(reports)`` the two estimates of shares:
    unbiased, and moved to lie between 0 and 1 in the way the package has for it."""

    perturb: Callable[[int], Any]
    aggregate: Callable[[list[Any]], tuple[np.ndarray, np.ndarray]]


def keep_both(module: Any) -> None:
    """multi-freq-ldpy always clips; keep its unbiased estimate, of its own p and q, beside."""
    clipped = module.MI

    def both(counts: np.ndarray, n: int, p: float, q: float) -> tuple[np.ndarray, np.ndarray]:
        return (counts / n - q) / (p - q), clipped(counts, n, p, q)

    module.MI = both


for module in (GRR, HE, LH, SS, UE):
    keep_both(module)


def multi(client: Any, aggregator: Any, k: int, epsilon: float, *options: bool) -> Peer:
    shape = (epsilon,) if aggregator is UE.UE_Aggregator_MI else (k, epsilon)
    client_options = () if client is HE.HE_Client else options
    return Peer(
        lambda answer: client(answer, k, epsilon, *client_options),
        lambda reports: aggregator(reports, *shape, *options),
    )


def pure(client: Any, server: Any) -> Peer:
    choices = range(1, server.d + 1)

    def aggregate(reports: list[Any]) -> tuple[np.ndarray, np.ndarray]:
        server.reset()
        server.aggregate_all(reports)
        raw, projected = (
            server.estimate_all(choices, suppress_warnings=True, normalization=kind) / server.n
            for kind in (0, 2)
        )
        return raw, projected

    return Peer(lambda answer: client.privatise(answer + 1), aggregate)


def hadamard_response(k: int, epsilon: float) -> Peer:
    server = HadamardResponseServer(epsilon, k)
    return pure(HadamardResponseClient(epsilon, k, server.get_hash_funcs()), server)


METHODS: dict[str, dict[str, Callable[[int, float], Peer]]] = {
    "multi-freq-ldpy": {
        "GRR": lambda k, e: multi(GRR.GRR_Client, GRR.GRR_Aggregator_MI, k, e),
        "SS": lambda k, e: multi(SS.SS_Client, SS.SS_Aggregator_MI, k, e),
        "SUE": lambda k, e: multi(UE.UE_Client, UE.UE_Aggregator_MI, k, e, False),
        "OUE": lambda k, e: multi(UE.UE_Client, UE.UE_Aggregator_MI, k, e, True),
        "BLH": lambda k, e: multi(LH.LH_Client, LH.LH_Aggregator_MI, k, e, False),
        "OLH": lambda k, e: multi(LH.LH_Client, LH.LH_Aggregator_MI, k, e, True),
        "THE": lambda k, e: multi(HE.HE_Client, HE.HE_Aggregator_MI, k, e, True),
    },
    "pure-ldp": {
        "GRR": lambda k, e: pure(DEClient(e, k), DEServer(e, k)),
        "SUE": lambda k, e: pure(UEClient(e, k), UEServer(e, k)),
        "OUE": lambda k, e: pure(UEClient(e, k, use_oue=True), UEServer(e, k, use_oue=True)),
        "BLH": lambda k, e: pure(LHClient(e, k), LHServer(e, k)),
        "OLH": lambda k, e: pure(LHClient(e, k, use_olh=True), LHServer(e, k, use_olh=True)),
        "THE": lambda k, e: pure(HEClient(e, k), HEServer(e, k, use_the=True)),
        "HR": hadamard_response,
        "HM": lambda k, e: pure(
            HadamardMechClient(e, k, 1, use_optimal_t=True),
            HadamardMechServer(e, k, 1, use_optimal_t=True),
        ),
    },
}


def shares_of(k: int, truth: str) -> np.ndarray:
    """The true shares: "uniform", or "halving" (each choice half as common as the one before)."""
    shares = np.ones(k) if truth == "uniform" else 0.5 ** np.arange(k)
    return shares / shares.sum()


def answers_of(shares: np.ndarray, n: int) -> list[int]:
    return np.random.default_rng().choice(len(shares), n, p=shares).tolist()


def speed(settings: list[tuple[int, float]], reports: int, rounds: int) -> Iterator[dict[str, Any]]:
    """Reports a second, perturbing and aggregating, one method at a time."""
    for k, epsilon in settings:
        for package, method in ((p, m) for p, offered in METHODS.items() for m in offered):
            peer = METHODS[package][method](k, epsilon)
            answers = answers_of(shares_of(k, "uniform"), reports)
            peer.aggregate([peer.perturb(answer) for answer in answers[:50]])  # compiles
            perturb, aggregate = [], []
            for _ in range(rounds):
                start = time.perf_counter()
                made = [peer.perturb(answer) for answer in answers]
                middle = time.perf_counter()
                peer.aggregate(made)
                perturb.append(reports / (middle - start))
                aggregate.append(reports / (time.perf_counter() - middle))
            yield {
                "package": package,
                "method": method,
                "k": k,
                "epsilon": epsilon,
                "perturb": median(perturb),
                "aggregate": median(aggregate),
            }


def error(
    settings: list[tuple[str, str, int, float, str]], n: int, seconds: float
) -> Iterator[dict[str, Any]]:
    """n times the squared error, summed over the choices, of independent answers.

    ``error`` of the unbiased estimate and ``inside`` of the one between 0 and 1, each with the
    standard error of its mean, from as many repetitions as fit in ``seconds``.
    """
    for package, method, k, epsilon, truth in settings:
        shares = shares_of(k, truth)
        peer = METHODS[package][method](k, epsilon)
        peer.aggregate([peer.perturb(answer) for answer in answers_of(shares, 50)])  # compiles
        losses: list[list[float]] = []
        end = time.perf_counter() + seconds
        while len(losses) < 10 or time.perf_counter() < end:
            estimates = peer.aggregate([peer.perturb(answer) for answer in answers_of(shares, n)])
            losses.append([n * float(((e - shares) ** 2).sum()) for e in estimates])
        means = np.mean(losses, axis=0).tolist()
        deviations = (np.std(losses, axis=0, ddof=1) / len(losses) ** 0.5).tolist()
        yield {
            "package": package,
            "method": method,
            "k": k,
            "epsilon": epsilon,
            "truth": truth,
            "error": [means[0], deviations[0]],
            "inside": [means[1], deviations[1]],
        }


def order(k: int, epsilon: float, reports: int) -> Iterator[dict[str, Any]]:
    """Of multi-freq-ldpy's subsets that hold the truth: in how many it comes first."""
    answers = answers_of(shares_of(k, "uniform"), reports)
    made = [(answer, SS.SS_Client(answer, k, epsilon)) for answer in answers]
    kept = [subset.tolist().index(answer) for answer, subset in made if answer in subset]
    yield {"first": kept.count(0) / len(kept), "size": len(made[0][1])}


def noise(epsilons: list[float], reports: int) -> Iterator[dict[str, Any]]:
    """diffprivlib's noise on a number in [-1, 1]: the variance of ``reports`` reports to 0 (it
    is the same for every number), their standard error, and how many a second."""
    for epsilon in epsilons:
        for mechanism in (Laplace, Staircase):
            perturb = mechanism(epsilon=epsilon, sensitivity=2).randomise
            start = time.perf_counter()
            made = np.array([perturb(0.0) for _ in range(reports)])
            seconds = time.perf_counter() - start
            yield {
                "method": mechanism.__name__,
                "epsilon": epsilon,
                "variance": float((made**2).mean()),
                "error": float((made**2).std() / reports**0.5),
                "rate": reports / seconds,
            }


def methods() -> Iterator[dict[str, Any]]:
    """What is compared."""
    for package, offered in METHODS.items():
        for method in offered:
            yield {"package": package, "method": method}


def main() -> None:
    warnings.simplefilter("ignore")
    measure: Callable[..., Iterator[dict[str, Any]]] = {
        "methods": methods,
        "speed": speed,
        "error": error,
        "noise": noise,
        "order": order,
    }[sys.argv[1]]
    for row in measure(**json.loads(sys.argv[2])):
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
