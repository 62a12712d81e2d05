"""Defines the exception with which the reference refuses, and a shorthand to raise it."""

from __future__ import annotations


class Invalid(Exception):
    """Raised for a value that SPEC refuses; the text gives the reason."""


def require(condition: object, reason: str) -> None:
    """Raises Invalid with the ``reason`` unless the ``condition`` is true."""
    if not condition:
        raise Invalid(reason)
