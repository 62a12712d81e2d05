"""How the reference refuses."""

from __future__ import annotations


class Invalid(Exception):
    """What the specification refuses; the text is the reason."""


def require(condition: object, reason: str) -> None:
    if not condition:
        raise Invalid(reason)
