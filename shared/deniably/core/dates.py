"""Days of the calendar as texts, such as 2026-11-21."""

from __future__ import annotations

from datetime import date


def is_date(text: str) -> bool:
    """Returns whether ``text`` is a date of the years 1000 to 2999, written as 2026-11-21."""
    try:
        # Some spellings, such as 20261121, are parsed, too: only the one that is written back
        # counts. So days compare as texts.
        return "1000" <= text < "3000" and date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
