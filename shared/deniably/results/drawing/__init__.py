"""Draws estimates as inline SVG for pages and notebooks, and as files for papers: one row for each
estimate, with its numbers and a picture.

``rounding`` makes numbers readable, ``row`` says what is drawn, ``axes`` where; ``strip``,
``dotplot`` and ``choropleth`` draw. Pages, notebooks, paper figures and spreadsheets all start
from the same ``Row``.

Pictures have no viewBox: x is in per cent of the width, y in pixels, so words keep their size on a
phone. Elements have classes and presentation attributes only, no ``style`` and no script, because
the server's content security policy forbids these.

The ``paper_`` modules draw the file of a figure instead, which has a viewBox and lengths in points,
and break its lines by the widths of ``letters``.
"""
