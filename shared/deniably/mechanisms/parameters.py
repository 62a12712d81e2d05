"""What the classes of mechanisms have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:  # where a protocol has a property, pyright takes no cached one
    from builtins import property as kept
else:
    from functools import cached_property as kept

__all__ = ["Parameters", "kept"]


class Parameters(
    msgspec.Struct, frozen=True, dict=True, forbid_unknown_fields=True, tag_field="name"
):
    """The published parameters of a mechanism, by its ``name``; unknown ones are refused. What is
    ``kept`` is worked out once."""
