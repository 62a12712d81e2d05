"""Renders the SVG file of a figure as PNG, for software that does not take SVG. Needs the package
resvg_py (extra ``bench``)."""

from __future__ import annotations

import struct
import zlib
from functools import cache
from importlib import import_module
from typing import Any

from deniably.core.extras import install_command

DOTS = 600
"""Dots an inch; the web page of a figure uses as many for its PNG."""
FAMILIES = (
    "Helvetica", "Arial", "Liberation Sans", "Arimo", "Nimbus Sans", "Helvetica Neue", "FreeSans",
    "DejaVu Sans", "Noto Sans", "Segoe UI", "Verdana", "Roboto", "Ubuntu", "Cantarell",
)  # fmt: skip
"""Fonts that a figure can be rendered in, the nearest to Helvetica first."""
_HEAD = 8 + 25
"""Bytes of a PNG's signature and its first chunk, which the resolution must follow."""
_LETTER = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40">'
    '<text y="30" font-size="30" font-family="sans-serif">H</text></svg>'
)


class Png(bytes):
    """A PNG file as bytes, which notebooks display as a picture."""

    __slots__ = ()

    def _repr_png_(self) -> bytes:
        return bytes(self)


def png(figure: str, dots: int = DOTS) -> Png:
    """Returns the SVG file ``figure`` as a PNG file with ``dots`` dots per inch.

    Raises ImportError if resvg_py is not installed, and OSError if the machine has none of the
    fonts in ``FAMILIES``: letters would then be missing without a message.
    """
    return Png(_with_dots(_pixels(figure, _family(), dots), dots))


# Each try renders a letter, and a machine's fonts stay the same.
@cache
def _family() -> str:
    """The first font that this machine has."""
    # resvg leaves out letters without a font: a family is there if a letter leaves a mark.
    blank = _pixels(_LETTER, "no such font", 96)
    for family in FAMILIES:
        if _pixels(_LETTER, family, 96) != blank:
            return family
    raise OSError(
        "no font for the figure's letters is installed; install Liberation Sans (package"
        " fonts-liberation) or DejaVu Sans (fonts-dejavu-core), or take the SVG"
    )


def _with_dots(pixels: bytes, dots: int) -> bytes:
    """The file with the chunk that says how large it is on paper (PNG, third edition, 11.3.4.3)."""
    a_metre = round(dots / 0.0254)
    # 1 says that the unit is the metre; the checksum covers type and data.
    chunk = b"pHYs" + struct.pack(">IIB", a_metre, a_metre, 1)
    whole = struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
    return pixels[:_HEAD] + whole + pixels[_HEAD:]


def _pixels(figure: str, family: str, dots: int) -> bytes:
    return bytes(
        _resvg().svg_to_bytes(
            svg_string=figure, dpi=float(dots), sans_serif_family=family, background="#ffffff"
        )
    )


def _resvg() -> Any:
    try:
        return import_module("resvg_py")
    except ImportError:
        raise ImportError(
            f"a PNG needs resvg_py; get it with: {install_command('bench')}; or take the SVG"
        ) from None
