"""Serves a figure for a paper as a file, and the page with all its forms."""

from __future__ import annotations

from collections.abc import Sequence

from flask import Response, render_template, request

from deniably.results.drawing.paper_figure import WIDTHS, Paper, svg
from deniably_server.api.fine_parameters import LEVEL
from deniably_server.errors import BadParameter
from deniably_server.guard.app_state import current_store
from deniably_server.web.operation import SVG, QueryParameters

WIDTH: QueryParameters = {
    "width": {
        "enum": [str(width) for width in WIDTHS],
        "description": "Of the figure, in millimetres: one column of a journal, or two.",
        "default": str(WIDTHS[0]),
    },
    **LEVEL,
}


def wanted_width() -> int:
    """Returns the query's width in millimetres, 85 or 180. Raises BadParameter for any other
    text."""
    width = request.args.get("width", str(WIDTHS[0]))
    if width not in map(str, WIDTHS):
        raise BadParameter("“width” is 85 or 180, in millimetres: one column of a journal, or two")
    return int(width)


def figure_file(paper: Paper, width: int, file: str) -> Response:
    """Returns a figure as an SVG response, which a browser shows, and saves under the name
    ``file``, its width and ``.svg``."""
    response = Response(svg(paper, width), mimetype=SVG)
    response.headers["Content-Disposition"] = f'inline; filename="{file}-{width}mm.svg"'
    return response


def figure_page(
    surveys: Sequence[str],
    paper: Paper,
    *,
    file: str,
    address: str,
    about: str,
    back: tuple[str, str],
    csv: str,
) -> str:
    """Returns a page with a figure of ``surveys`` in both widths, 85 and 180 mm, as files to save,
    and with its description in words.

    ``address`` is the address of the SVG file with its whole query except the width. ``csv`` is
    the address of the figure's numbers. ``about`` says what the figure shows. ``back`` is the
    (address, name) of the page that the figure is taken from.
    """
    store = current_store()
    private = any(store.survey(survey).results.to == "analysts" for survey in surveys)
    return render_template(
        "paper.html",
        paper=paper,
        file=file,
        address=f"{address}{'&' if '?' in address else '?'}width=",
        about=about,
        csv=csv,
        back=back,
        private=private,
        # The address of an image could not show the token.
        drawn={width: svg(paper, width) for width in WIDTHS} if private else {},
    )
