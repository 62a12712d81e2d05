"""The names of what the reference handles."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

Json = Any
"""What JSON says, of any shape: what is read may be wrong in every way."""

Mechanism = dict[str, Any]
Question = dict[str, Any]
Definition = dict[str, Any]
Document = dict[str, Any]

Loss = tuple[Fraction, Fraction, Fraction]
"""(odds, exponent, delta): section 2.2."""

Law = dict[tuple[int, ...], Fraction]
"""{report: probability}."""

WavesLaw = dict[tuple[tuple[int, ...], ...], Fraction]
"""{(report of the first wave, ...): probability}."""
