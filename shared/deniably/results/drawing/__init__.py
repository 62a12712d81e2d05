"""Draws estimates: one row for each estimate, as a table whose second column is a picture.

``digits`` rounds, ``row`` says what is drawn, ``axes`` where, ``strip`` and ``plot`` draw. Pages,
notebooks, paper figures and spreadsheets all start from the same ``Row``.

Pictures are inline SVG without a viewBox: x is in per cent of the width, y in pixels. So words keep
their size on a phone. Elements have classes and presentation attributes only, no ``style`` and no
script, because the server's content security policy forbids these.

``paper`` draws the file of a figure instead, which has a viewBox and lengths in points, and sets
its own words by the widths of ``letters``.
"""
