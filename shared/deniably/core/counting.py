"""Counts in sentences, in the singular where the count is one."""

from __future__ import annotations

EVERYBODY = 10**10
"""More people than there are."""


def counted(n: int, singular: str, many: str = "") -> str:
    """Returns a count with its noun as text; ``many`` is the plural of a noun that does not just
    add an s.

    >>> counted(1, "report"), counted(1234, "person", "people")
    ('1 report', '1,234 people')
    """
    return f"{n:,} {singular if n == 1 else many or f'{singular}s'}"


def people(n: int) -> str:
    """Returns a number of people as text.

    >>> people(1), people(2)
    ('1 person', '2 people')
    """
    return counted(n, "person", "people")
