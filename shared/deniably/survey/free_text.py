"""Free text: what no survey may ask for, under whatever name (SPEC 4.1).

A sentence that a person writes gives its writer away, by what it says and how it says it. There is
no list of others that it could stand for, so no randomised response protects it.
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
    """Whether a type of question is free text by its name, however that is spelt."""
    return isinstance(kind, str) and re.sub("[ _-]", "", kind).lower() in _NAMES
