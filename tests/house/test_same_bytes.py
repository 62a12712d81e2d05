"""A test of chance draws the same in every run, whatever ran before it, and on every machine."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable

import numpy as np
import pytest

from deniably.core.coins import Coins
from deniably.simulation.bulk import uniform
from support.same_bytes import drawn_once, same_bytes

pytestmark = pytest.mark.skipif(
    os.environ.get("HYPOTHESIS_PROFILE") == "soak", reason="make soak draws the system's own bytes"
)


@pytest.fixture(scope="module")
def of_the_module() -> int:
    return secrets.randbelow(1 << 30)


def test_a_test_draws_what_its_name_says(of_the_module: int) -> None:
    assert (secrets.randbelow(1000), Coins().below(1000)) == (770, 444)
    assert of_the_module == 813089983, "a fixture has a stream of its own"


def test_bulk_draws_begin_with_the_same_key() -> None:
    with same_bytes("a"):
        first = uniform.words(100_000, np.uint16)
    with same_bytes("a"):
        assert (uniform.words(100_000, np.uint16) == first).all()


def test_what_tests_share_does_not_depend_on_who_asks_first() -> None:
    def drawn() -> int:
        return secrets.randbelow(1 << 30)

    here: list[Callable[[], int]] = [drawn_once(drawn), drawn_once(drawn)]
    before = here[0]()
    secrets.token_bytes(100)
    assert here[1]() == before == here[0]()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_every_child_goes_a_way_of_its_own() -> None:
    drawn = {os.urandom(8)}
    for _ in range(3):
        inside, outside = os.pipe()
        if os.fork() == 0:
            os.write(outside, os.urandom(8))
            os._exit(0)
        drawn.add(os.read(inside, 8))
        os.wait()
    assert len(drawn) == 4
