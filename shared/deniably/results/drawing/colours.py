"""Names the colours of pictures that are files: those of the web pages' light theme.

On a page, CSS classes of the same elements use the pages' own variables.
``tests/house/test_tokens.py`` holds the two together.
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
"""The role of a mark, which decides its colour: the figure itself, a second one, one in the
background, or a false one."""
TONES: dict[Tone, LiteralString] = {"mark": MARK, "second": SECOND, "mute": MUTE, "warn": WARN}
