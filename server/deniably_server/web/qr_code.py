"""Draws QR codes within a page, by the library segno."""

from __future__ import annotations

from functools import lru_cache
from io import BytesIO

import segno

from deniably.core.languages.html import Html

_QUIET = 4
"""Modules of white around a code, which readers need (ISO/IEC 18004)."""


@lru_cache(maxsize=64)
def qr_code(text: str, label: str) -> Html:
    """Returns the QR code of a text as SVG, as ``new_qr_code`` does, and caches it.

    The text must be no secret.
    """
    return new_qr_code(text, label)


def new_qr_code(text: str, label: str) -> Html:
    """Returns the QR code of a text as SVG. Nothing caches it, so the text may be a secret.

    ``label`` is the code's text for screen readers. The code is dark on white, in dark mode, too,
    because many readers cannot read a QR code that is light on dark.
    """
    code, drawn = segno.make_qr(text, error="m"), BytesIO()
    code.save(
        drawn, kind="svg", border=_QUIET, xmldecl=False, svgns=False, omitsize=True,
        svgclass="qr", lineclass=None, dark="#000", light="#fff",
    )  # fmt: skip
    return Html.filled(
        '<svg role="img" aria-label="{label}"{code}',
        label=Html.text(label),
        code=Html.from_library(drawn.getvalue().decode().strip().removeprefix("<svg")),
    )  # fmt: skip
