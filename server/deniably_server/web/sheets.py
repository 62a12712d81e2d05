"""Joins stylesheets into one file, without comments and needless spaces: a phone fetches one sheet.

``/web/style/<name>.css`` shows each sheet as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_QUOTED = re.compile(r'("[^"\n]*")')
_SPACE = re.compile(r"\s+")
_AROUND = re.compile(r" ?([{};,>]) ?")
_TOKEN = re.compile(r"(--[\w-]+):[^;}]*;?")
_USED = re.compile(r"var\((--[\w-]+)\)")
_AFTER = re.compile(r"([:(]) ")
"""Not before: ``a :hover`` is not ``a:hover``, and ``and (`` is not ``and(``."""


def join_sheets(texts: Iterable[str]) -> str:
    """Returns one stylesheet that means the same as the stylesheets ``texts`` one after another."""
    return "\n".join(map(_compact, texts)) + "\n"


def without_unused_tokens(sheet: str) -> str:
    """Returns a joined sheet without the custom properties that its rules do not use.

    Only for a page that has no other sheet, which might use them.
    """
    used = set(_USED.findall(sheet))
    return _TOKEN.sub(lambda match: match[0] if match[1] in used else "", sheet).replace(";}", "}")


def _compact(text: str) -> str:
    """Strips comments, and spaces without a meaning."""
    parts = _QUOTED.split(_COMMENT.sub("", text))
    parts[::2] = map(_narrow, parts[::2])
    return "".join(parts).replace(";}", "}").strip()


def _narrow(text: str) -> str:
    return _AFTER.sub(r"\1", _AROUND.sub(r"\1", _SPACE.sub(" ", text)))
