"""The mechanisms of local differential privacy, as frozen values with one interface (SPEC 2).

``mechanism.randomise(answer, coins)`` makes a report. ``mechanism.check(report)`` refuses one that
it cannot have made. ``mechanism.loss`` is its epsilon and delta, ``mechanism.law`` the
probabilities of its reports. A report is a list of integers, the cells (counters) of the tally that
it counts in.

=====================  ========================================================================
SubsetSelection        subset selection; randomised response, k-RR (GRR) with omega = 1
Window                 ordered answers: square wave, Duchi et al., piecewise
Channel                any published matrix of probabilities
SetResponse            several ticks: PrivSet
SampledTicks           several ticks: a random sample of them, each by Warner's response
Unary                  unary encoding (SUE, OUE, basic RAPPOR)
Laplace, Gaussian      discrete noise on a grid; BoundedLaplace keeps it on the grid
Vector                 several numbers in one report
Memoised               repeated surveys: reports of all waves from one randomised answer
=====================  ========================================================================
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
