"""Defines the types that the reference's modules share, most of them plain JSON."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

Json = Any
"""A value as parsed from JSON, of any type. It has not been checked."""

Mechanism = dict[str, Any]
Question = dict[str, Any]
Definition = dict[str, Any]
Document = dict[str, Any]

Loss = tuple[Fraction, Fraction, Fraction]
"""(odds, exponent, delta) of SPEC 2.2: a report shifts the odds between two answers at most ``odds
* e^exponent`` times, except with probability ``delta``.
"""

Law = dict[tuple[int, ...], Fraction]
"""A probability distribution of reports: {report: probability}."""

WavesLaw = dict[tuple[tuple[int, ...], ...], Fraction]
"""A joint distribution of the reports of several waves: {(report of the first wave, ...):
probability}."""
