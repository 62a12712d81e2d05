"""XML: elements with texts, for the library that writes them."""

from __future__ import annotations

import re
from typing import LiteralString
from xml.etree.ElementTree import Element, SubElement

from deniably.core.steering import printable

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 does not allow, although a label may have it."""


def element(parent: Element, tag: LiteralString, text: str = "", /, **attributes: str) -> Element:
    """Adds an element to ``parent``, with its text and attributes, and returns it."""
    made = SubElement(parent, tag, {name: _allowed(value) for name, value in attributes.items()})
    made.text = _allowed(text) or None
    return made


def _allowed(text: str) -> str:
    return _NOT_XML.sub("\ufffd", printable(text))
