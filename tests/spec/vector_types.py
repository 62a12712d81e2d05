"""The names of what a vector file is made of."""

from __future__ import annotations

from typing import Any

Case = dict[str, Any]
Group = dict[str, Any]
Made = tuple[dict[str, str], list[Group]]
"""(notes, groups) of one vector file."""
