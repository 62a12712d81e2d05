"""The colours of drawings that have to stand alone: those of the pages' tokens in the light.

On a page, classes of the same elements take the tokens themselves. ``tests/house/test_tokens.py``
holds the two together.
"""

from __future__ import annotations

from typing import Final, Literal, LiteralString

INK: Final = "#18221f"
SOFT: Final = "#52605b"
LINE: Final = "#d8dcd5"
GRID: Final = "#e3e6e0"
CARD: Final = "#fff"
MARK: Final = "#0b6158"
SECOND: Final = "#a8480c"
MUTE: Final = "#66736e"
WARN: Final = "#9a2b10"

Tone = Literal["mark", "second", "mute", "warn"]
"""What a mark is: the thing itself, the other one, one that stands back, one that is false."""
TONES: dict[Tone, LiteralString] = {"mark": MARK, "second": SECOND, "mute": MUTE, "warn": WARN}
