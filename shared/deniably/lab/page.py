"""An experiment as HTML: the same part for the handout, the pages of a server and notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from deniably.core.table import Cell
from deniably.lab.experiment import Experiment, text_of
from deniably.results.drawing.colours import CARD, INK, SOFT
from deniably.results.drawing.digits import MINUS
from deniably.results.drawing.strip import Html, plain_table

_STYLE = f"""
.deniably-lab {{ color: {INK}; background: {CARD}; padding: 8px 16px; max-width: 56rem; }}
.deniably-lab .q {{ font-size: 1em; font-weight: 400; color: {SOFT}; margin: 0 0 4px; }}
.deniably-lab p {{ margin: 0 0 8px; }}
.deniably-lab .finding {{ font-size: 1.2em; font-weight: 700; max-width: 44rem; }}
.deniably-lab figure {{ margin: 16px 0; }} .deniably-lab figcaption {{ font-weight: 650; }}
.deniably-lab .note, .deniably-lab .small {{ color: {SOFT}; }}
.deniably-lab .graph {{ display: block; width: 100%; overflow: visible; }}
.deniably-lab .scroll {{ overflow-x: auto; }}
.deniably-lab table, .deniably-lab th, .deniably-lab td {{ color: {INK}; background: {CARD}; }}
.deniably-lab .unseen {{ position: absolute; clip-path: inset(50%); width: 1px; height: 1px; }}
"""


def fragment(experiment: Experiment, heading: int = 2) -> Html:
    """The experiment as an ``article``: question, answer, pictures, and folded the table, what it
    was made with and the sources. ``heading`` is the level of its heading.

    Its classes are those of the sheets ``results`` and ``lab``.
    """
    about = f'<p class="small">{escape(experiment.about)}</p>' if experiment.about else ""
    pictures = "".join(
        f"<figure><figcaption>{escape(one.title)}</figcaption>{one.html()}</figure>"
        for one in experiment.pictures
    )
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in experiment.notes)
    sources = "".join(f"<li>{escape(str(source))}</li>" for source in experiment.sources)
    return Html(
        f'<article class="card lab">{about}'
        f'<h{heading} class="q">{escape(experiment.question)}</h{heading}>'
        f'<p class="finding">{escape(experiment.answer)}</p>{pictures}{notes}'
        f"<details><summary>Numbers</summary>{table(experiment)}</details>"
        f"<details><summary>How it was made, and sources</summary>{_made(experiment)}"
        f"<ul>{sources}</ul></details></article>"
    )


def handout(title: str, experiments: Sequence[Experiment], style: str) -> str:
    """A page that stands alone: one stylesheet inside, no script, nothing fetched."""
    articles = "".join(fragment(one) for one in experiments)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style}</style></head>"
        f"<body><main><h1>{escape(title)}</h1>{articles}</main></body></html>\n"
    )


def table(experiment: Experiment) -> Html:
    """All rows as a table that scrolls by itself."""
    heads = [name.replace("_", " ") for name in experiment.columns]
    lines = [[_cell(row.get(name)) for name in experiment.columns] for row in experiment.rows]
    of = f"{experiment.title}, {experiment.about}" if experiment.about else experiment.title
    return plain_table(f"{of}: all numbers", heads, lines)


def notebook(experiment: Experiment) -> Html:
    """The experiment for a notebook, with its own style; drawings bring their colours."""
    return Html(f'<div class="deniably-lab"><style>{_STYLE}</style>{fragment(experiment, 3)}</div>')


def _made(experiment: Experiment) -> str:
    inputs = "; ".join(f"{name} {text_of(value)}" for name, value in experiment.inputs.items())
    command = f"deniably lab {'FILE' if experiment.about else experiment.name}"
    mechanism = f"<p>Mechanism: {escape(experiment.mechanism)}.</p>" if experiment.mechanism else ""
    return f"<p>Made by <code>{escape(command)}</code> with {escape(inputs)}.</p>{mechanism}"


def _cell(value: Cell) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.5g}".replace("-", MINUS) if abs(value) < 1e6 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else value
