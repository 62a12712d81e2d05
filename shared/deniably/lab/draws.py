"""Draws random people and reports from a seed: the same seed gives the same draws on every machine.

Reports come from the shipped mechanisms through ``deniably.core.coins``, where all randomness of a
device enters; here it takes the bytes of a stream that the seed determines. The stream is the key
stream of AES in counter mode under the SHA-256 digest of the seed, so no draw depends on the
version of a library. It is only for experiments and protects nobody.
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
"""Up to this number of people, each report is made as a device makes it; for more, the samplers of
``simulation``, which have the same output distributions, are used."""

_POOL = 1 << 16  # bytes that are made at once
_BITS = 53  # that a double holds exactly


class Draws:
    """A stream of random draws that is the same for the same ``seed`` and ``words``. Different
    words give independent streams.

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
        """Returns a report for each of ``answers``, made by the code that devices run."""
        return [mechanism.randomise(answer, self.coins) for answer in answers]

    def tally(self, mechanism: Randomiser[Law], groups: Mapping[Any, int]) -> Tally:
        """Returns the tally of the reports of many people, one report from each; ``groups`` is
        {answer: number of people}.

        For up to ``AS_DEVICES`` people, reports are made by the code that devices run; for more,
        by the faster samplers of ``simulation``.
        """
        law = mechanism.law
        # The choice of a sampler depends on the number of people alone, so draws stay the same.
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
        """Returns a context manager: within its ``with`` block, the samplers of ``simulation``
        draw from this stream."""
        with uniform.drawn_from(self.take):
            yield

    def uniform(self, size: int) -> Floats:
        """Returns ``size`` uniform numbers strictly between 0 and 1, shape (size,), for a curator's
        noise."""
        words = np.frombuffer(self.take(8 * size), dtype=np.uint64) >> np.uint64(64 - _BITS)
        # Half a step off 0 and 1, where noise would be infinite.
        return (words.astype(np.float64) + 0.5) / 2.0**_BITS


def _laid_out(domain: Domain, answer: Any) -> Any:
    """An answer as ``simulation`` takes it: options that are ticked as a row of booleans."""
    if not isinstance(domain, Ticks):
        return answer
    return [option in answer for option in range(domain.k)]
