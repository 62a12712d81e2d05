"""Lists the epsilons of published deployments of differential privacy, with unit and source, to
compare with.

The table ships with the package, as it was read on the day it states; nothing is fetched. An
epsilon alone says little: it is for a unit, such as a user's day, and it holds against readers of
what is published (central) or against everybody (local).
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Literal, cast

Model = Literal["local", "central"]
"""The model of differential privacy: answers are randomised on the device, or a curator has them
all."""


@dataclass(frozen=True)
class Deployment:
    """One use of differential privacy: ``who`` used an epsilon for ``what``. The epsilon is spent
    per ``unit``, such as "user-day".

    ``delta`` is 0 if none was published. ``year`` is the year of publication, ``read`` the day on
    which the ``source`` was read for this table.
    """

    who: str
    what: str
    epsilon: Fraction
    delta: Fraction
    unit: str
    model: Model
    year: int
    source: str
    read: date


@cache
def deployments() -> tuple[Deployment, ...]:
    """Returns all deployments of the table, the smallest epsilon first."""
    text = (files("deniably.lab") / "deployments.csv").read_text(encoding="utf-8")
    return tuple(sorted(map(_deployment, csv.DictReader(text.splitlines())), key=_order))


def _order(deployment: Deployment) -> Fraction:
    return deployment.epsilon


def _deployment(row: dict[str, str]) -> Deployment:
    return Deployment(
        row["who"],
        row["what"],
        Fraction(row["epsilon"]),
        Fraction(row["delta"] or 0),
        row["unit"],
        cast(Model, row["model"]),
        int(row["year"]),
        row["source"],
        date.fromisoformat(row["read"]),
    )
