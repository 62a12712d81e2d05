"""Seeded draws: the same seed gives the same people and reports, on every machine.

Reports come from the shipped mechanisms through the shipped door for randomness,
``deniably.core.coins``, which takes the bytes of a stream that the seed determines. The stream is
the key stream of AES in counter mode under the digest of the seed, so that no draw depends on the
version of a library. It is for experiments alone and protects nobody.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from hashlib import sha256
from io import BytesIO
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from deniably.core.binomial import Floats
from deniably.core.coins import Coins
from deniably.estimation.tally import Tally, tally
from deniably.mechanisms.law import Domain, Law, Randomiser, Ticks
from deniably.simulation.bulk import randomise_many, tally_many, uniform

AS_DEVICES = 1000
"""People up to whom each report is made as a device makes it; the samplers of ``simulation``, which
follow the same laws, make those of more."""

_POOL = 1 << 16
_BITS = 53


class Draws:
    """A stream of random draws that ``seed`` determines; ``words`` tell streams of one seed apart.

    >>> Draws(1).coins.below(1000) == Draws(1).coins.below(1000)
    True
    """

    def __init__(self, seed: int, *words: object) -> None:
        key = sha256(repr((seed, *words)).encode()).digest()
        # A cipher in counter mode is the same on every machine, which generators of numpy do not
        # promise from one version to the next.
        stream = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
        self._stream = stream.update
        self._read = BytesIO().read
        self.coins = Coins(self.take)

    def take(self, count: int) -> bytes:
        """Returns the next ``count`` bytes of the stream."""
        # What is left of a pool is dropped, always at the same place: the same seed, the same
        # draws.
        if len(taken := self._read(count)) < count:
            self._read = BytesIO(self._stream(bytes(max(_POOL, count)))).read
            taken = self._read(count)
        return taken

    def reports(self, mechanism: Randomiser[Law], answers: Iterable[Any]) -> list[tuple[int, ...]]:
        """Returns a report to each answer, as a device makes it."""
        return [mechanism.randomise(answer, self.coins) for answer in answers]

    def tally(self, mechanism: Randomiser[Law], groups: Mapping[Any, int]) -> Tally:
        """Returns the tally of everybody's reports: ``groups`` says how many people have which
        answer.

        Up to ``AS_DEVICES`` people draw as devices do, more as ``simulation`` does.
        """
        law = mechanism.law
        if sum(groups.values()) <= AS_DEVICES:
            answers = [answer for answer, people in groups.items() for _ in range(people)]
            return tally(self.reports(mechanism, answers), law.cell_count)
        # Answers are laid out once each, then repeated: people are many, answers few.
        laid_out = [_laid_out(law.domain, answer) for answer in groups]
        with self.bulk():
            by_person = np.repeat(laid_out, list(groups.values()), axis=0)
            return tally_many(mechanism, randomise_many(mechanism, by_person))

    @contextmanager
    def bulk(self) -> Generator[None]:
        """Makes ``simulation`` draw its many reports and people from this stream, within the
        block."""
        with uniform.drawn_from(self.take):
            yield

    def uniform(self, size: int) -> Floats:
        """Draws numbers strictly between 0 and 1, for noise that a curator adds; shape (size,)."""
        words = np.frombuffer(self.take(8 * size), dtype=np.uint64) >> np.uint64(64 - _BITS)
        # Half a step off 0 and 1, where noise would be infinite.
        return (words.astype(np.float64) + 0.5) / 2.0**_BITS


def _laid_out(domain: Domain, answer: Any) -> Any:
    """An answer as ``simulation`` takes it: options that are ticked as a row of booleans."""
    if not isinstance(domain, Ticks):
        return answer
    return [option in answer for option in range(domain.k)]
