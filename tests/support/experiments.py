"""The lab's experiments as they come: one run of each serves every claim about it."""

from __future__ import annotations

from functools import cache

from deniably.lab.catalogue import entries
from deniably.lab.experiment import Experiment


@cache
def as_it_comes(name: str) -> Experiment:
    """The experiment of this name with its default inputs."""
    return entries()[name].run()
