"""Addresses of the web within other languages."""

from __future__ import annotations

import re
from urllib.parse import quote

from deniably.core.steering import one_line

_PLAIN = "/:?#@!$&()*+,;=%~"
"""What stays as it is beside letters, digits and ``_ . -``: no quotes, braces or spaces."""


def web_address(text: str) -> str:
    """Returns a web address in which characters that could end it in any of these languages are
    percent-encoded.

    Returns an empty text unless ``text`` begins with http:// or https://.

    >>> web_address("https://example.org/s/a}b c"), web_address("javascript:alert(1)")
    ('https://example.org/s/a%7Db%20c', '')
    """
    if not re.match(r"https?://[\w\[.]", text, re.ASCII):
        return ""
    return quote(one_line(text), safe=_PLAIN)
