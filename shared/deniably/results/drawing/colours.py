"""The colours of drawings that have to stand alone: those of the pages' tokens in the light.

On a page, classes of the same elements take the tokens themselves. ``tests/house/test_tokens.py``
holds the two together.
"""

from __future__ import annotations

from typing import Literal

INK, SOFT, LINE, GRID, CARD = "#18221f", "#52605b", "#d8dcd5", "#e3e6e0", "#fff"
MARK, SECOND, MUTE, WARN = "#0b6158", "#a8480c", "#66736e", "#9a2b10"

Tone = Literal["mark", "second", "mute", "warn"]
"""What a mark is: the thing itself, the other one, one that stands back, one that is false."""
TONES: dict[Tone, str] = {"mark": MARK, "second": SECOND, "mute": MUTE, "warn": WARN}
