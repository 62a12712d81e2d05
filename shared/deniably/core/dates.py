"""Days of the calendar as texts, such as 2026-11-21."""

from __future__ import annotations

from datetime import date


def is_date(text: str) -> bool:
    """Whether a text such as 2026-11-21 is a day of the calendar, of the years 1000 to 2999."""
    try:
        return "1000" <= text < "3000" and date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
