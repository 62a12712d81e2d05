"""JSON for files and terminals."""

from __future__ import annotations

import json
import re

_UNSEEN = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""What steers a terminal or a text's direction, and breaks lines; JSON has it only in strings."""


def json_text(value: object, indent: int | None = None) -> str:
    """Returns a value as JSON in which characters that control a terminal are escaped.

    >>> json_text({"title": "\\x9b2J é"})
    '{"title": "\\\\u009b2J é"}'
    """
    written = json.dumps(value, ensure_ascii=False, indent=indent)
    return _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", written)


def json_file(value: object) -> str:
    """Returns the contents of a JSON file that people can read: indented, with a line break at the
    end."""
    return json_text(value, indent=1) + "\n"
