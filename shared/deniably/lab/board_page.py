"""A dossier as a page that stands alone, and for notebooks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from deniably.core.table import aligned
from deniably.lab.board_words import DossierPart
from deniably.results.drawing.colours import CARD, INK
from deniably.results.drawing.strip import UNSEEN, Html, scrolling

_STYLE = f"""
.deniably-dossier {{ color: {INK}; background: {CARD}; padding: 8px 16px; max-width: 56rem; }}
.deniably-dossier table, .deniably-dossier th, .deniably-dossier td
  {{ color: {INK}; background: {CARD}; text-align: start; vertical-align: top; }}
.deniably-dossier pre {{ white-space: pre-wrap; overflow-wrap: anywhere; }}
"""


def page(survey: str, signed: str, parts: Sequence[DossierPart], style: str) -> str:
    """A page about a survey of this title: nothing is fetched, and there is no script."""
    title = f"{survey}: dossier for an ethics board"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style}</style></head>"
        f'<body><main class="dossier"><h1>{escape(title)}</h1>'
        f'<p class="small">{escape(signed)} Below each part stand the commands that print'
        f" its numbers.</p>{_parts(parts)}</main></body></html>\n"
    )


def notebook(signed: str, parts: Sequence[DossierPart]) -> Html:
    """The parts, with a style of their own."""
    return Html(
        f'<div class="deniably-dossier"><style>{_STYLE}</style>'
        f"<p>{escape(signed)}</p>{_parts(parts)}</div>"
    )


def as_text(signed: str, parts: Sequence[DossierPart]) -> str:
    """The parts for a terminal."""
    return "\n\n".join([signed, *map(_text_of, parts)])


def _text_of(part: DossierPart) -> str:
    table = list(aligned(part.lines, len(part.lines[0]))) if part.lines else []
    commands = [f"From {', '.join(part.commands)}"] if part.commands else []
    return "\n".join(
        [part.title.upper(), *part.said, *table, *part.exactly, *part.notes, *commands]
    )


def _parts(parts: Sequence[DossierPart]) -> str:
    return "".join(_part(number, one) for number, one in enumerate(parts, start=1))


def _part(number: int, part: DossierPart) -> str:
    commands = ", ".join(f"<code>{escape(one)}</code>" for one in part.commands)
    return "".join(
        [
            f'<section class="card"><h2>{number}. {escape(part.title)}</h2>',
            *map(_sentence, part.said),
            _table(part.title, part.lines) if part.lines else "",
            *(f"<pre>{escape(one)}</pre>" for one in part.exactly),
            *map(_sentence, part.notes),
            f'<p class="small">From {commands}</p>' if commands else "",
            "</section>",
        ]
    )


def _sentence(text: str) -> str:
    """A paragraph, with commands between backticks as code."""
    words = re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))
    return f"<p>{words}</p>"


def _table(caption: str, lines: Sequence[Sequence[str]]) -> Html:
    heads, *rows = lines
    top = "".join(f'<th scope="col">{escape(one)}</th>' for one in heads)
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>'
        f"{''.join(f'<td>{escape(cell)}</td>' for cell in rest)}</tr>"
        for first, *rest in rows
    )
    return scrolling(
        caption,
        f"<table><caption{UNSEEN}>{escape(caption)}</caption><thead><tr>{top}</tr></thead>"
        f"<tbody>{body}</tbody></table>",
    )
