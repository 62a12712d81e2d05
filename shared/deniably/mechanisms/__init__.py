"""Every way in which an answer is randomised: small frozen values behind the same verbs.

``mechanism.randomise(answer, coins)`` makes a report, ``mechanism.check(report)`` says whether it
could have made it, ``mechanism.loss`` is what a report can give away. A report is the list of the
cells of a tally that it counts in; there are ``mechanism.law.cell_count`` of them, or None where
there is no end. Parameters are published integers (SPEC section 2).
"""

from __future__ import annotations

from deniably.mechanisms.cells import Cells
from deniably.mechanisms.channel import Channel
from deniably.mechanisms.memoised import Memoised
from deniably.mechanisms.noise import BoundedLaplace, Gaussian, Laplace
from deniably.mechanisms.subset_selection import SubsetSelection
from deniably.mechanisms.ticks import SampledTicks, SetResponse, Unary
from deniably.mechanisms.vector import Vector
from deniably.mechanisms.window import Window

__all__ = [
    "BoundedLaplace",
    "Cells",
    "Channel",
    "Gaussian",
    "Laplace",
    "Mechanism",
    "Memoised",
    "SampledTicks",
    "SetResponse",
    "SubsetSelection",
    "Unary",
    "Vector",
    "Window",
]

Mechanism = (
    SubsetSelection
    | Window
    | Channel
    | SetResponse
    | SampledTicks
    | Unary
    | Laplace
    | BoundedLaplace
    | Gaussian
    | Vector
)
"""A mechanism of single reports. ``Memoised`` makes the reports of many waves from one memo; each
of them alone follows its ``single_report_mechanism``, which is one of these."""
