"""Free-text questions, which no survey may ask (SPEC 4.1).

What people write identifies them, by its content and its style. There is no list of other answers
that it could stand for, so no randomised response protects it.
"""

from __future__ import annotations

import re

WHY = (
    "free text cannot be asked: a sentence that a person writes gives its writer away, and no"
    " randomised response protects it"
)
MEND = (
    "offer choices (type: select_one, or select_multiple for several), or ask for a number"
    " (type: number)"
)

_NAMES = {
    "text", "string", "str", "note", "comment", "open", "sentence", "essay", "paragraph",
    "freetext", "opentext", "longtext", "shorttext", "openended", "openquestion", "textarea",
    "textbox",
}  # fmt: skip


def is_free_text(kind: object) -> bool:
    """Returns whether ``kind``, the name of a question type, means free text, such as ``text`` or
    ``open-ended``."""
    # Authors write "open ended", "open-ended" or "OpenEnded": all are one name.
    return isinstance(kind, str) and re.sub("[ _-]", "", kind).lower() in _NAMES
