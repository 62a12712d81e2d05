"""The base class of all mechanisms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:  # pyright takes no cached property where a protocol has a property
    from builtins import property as kept
else:
    from functools import cached_property as kept

__all__ = ["Parameters", "kept"]


# dict=True: a struct without a ``__dict__`` has no room for what ``cached_property`` keeps.
class Parameters(
    msgspec.Struct, frozen=True, dict=True, forbid_unknown_fields=True, tag_field="name"
):
    """The base of mechanisms: published parameters, which JSON tags with the mechanism's ``name``.

    Unknown keys are refused. A property marked ``kept`` is computed once.
    """
