"""Writes a dossier as an HTML page that stands alone, as HTML for notebooks, and as text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from deniably.core.languages.html import Html
from deniably.core.table import aligned
from deniably.lab.dossier_words import DossierPart, Summary
from deniably.results.drawing.colours import CARD, INK
from deniably.results.drawing.strip import numbers_table, scrolling
from deniably.wording.words import direction

_STYLE: Final = f"""
.deniably-dossier {{ color: {INK}; background: {CARD}; padding: 8px 16px; max-width: 56rem; }}
.deniably-dossier table, .deniably-dossier th, .deniably-dossier td
  {{ color: {INK}; background: {CARD}; text-align: start; vertical-align: top; }}
.deniably-dossier pre {{ white-space: pre-wrap; overflow-wrap: anywhere; }}
"""


def page(
    survey: str, signed: str, summary: Summary, parts: Sequence[DossierPart], style: str
) -> Html:
    """Returns the dossier as an HTML page; ``survey`` is the survey's title. The page fetches
    nothing and has no script.

    Its first sheet has the summary, and below that ``signed``, the sentence that states what the
    dossier was made from.
    """
    return Html.filled(
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<title>{title}</title><style>{style}</style></head>"
        '<body><main class="dossier"><section class="first"><h1>{survey}</h1>{summary}'
        '<p class="small">{signed} Below each part stand the commands that print'
        " its numbers.</p></section>{parts}</main></body></html>\n",
        survey=Html.text(survey),
        title=Html.text(f"{survey}: dossier for an ethics board"), style=Html.style(style),
        signed=Html.text(signed), summary=_summary(summary), parts=_parts(parts),
    )  # fmt: skip


def notebook(signed: str, summary: Summary, parts: Sequence[DossierPart]) -> Html:
    """Returns the dossier as HTML for a notebook, with its own stylesheet."""
    return Html.filled(
        '<div class="deniably-dossier"><style>{style}</style><p>{signed}</p>{summary}{parts}</div>',
        style=Html(_STYLE), signed=Html.text(signed), summary=_summary(summary),
        parts=_parts(parts),
    )  # fmt: skip


def as_text(signed: str, summary: Summary, parts: Sequence[DossierPart]) -> str:
    """Returns the dossier as text for a terminal."""
    first = [summary.title.upper(), *(f"{label}: {text}" for label, text in summary.lines)]
    return "\n\n".join([signed, "\n".join(first), *map(_text_of, parts)])


def _summary(summary: Summary) -> Html:
    """The first page; its labels and texts are in one language, whatever the rest is in."""
    rows = (
        Html.filled(
            '<tr><th scope="row">{label}</th><td>{text}</td></tr>',
            label=Html.text(label), text=Html.text(text),
        )
        for label, text in summary.lines
    )  # fmt: skip
    return Html.filled(
        '<section class="card" lang="{language}" dir="{direction}"><h2>{title}</h2>'
        "<table><tbody>{rows}</tbody></table><p>{below}</p></section>",
        language=Html.text(summary.language), direction=Html.text(direction(summary.language)),
        title=Html.text(summary.title), rows=Html.joined("", rows),
        below=Html.text(summary.below),
    )  # fmt: skip


def _text_of(part: DossierPart) -> str:
    table = list(aligned(part.lines, len(part.lines[0]))) if part.lines else []
    commands = [f"From {', '.join(part.commands)}"] if part.commands else []
    return "\n".join(
        [part.title.upper(), *part.said, *table, *part.exactly, *part.notes, *commands]
    )


def _parts(parts: Sequence[DossierPart]) -> Html:
    return Html.joined("", (_part(number, part) for number, part in enumerate(parts, start=1)))


def _part(number: int, part: DossierPart) -> Html:
    pieces = [
        Html.filled(
            '<section class="card"><h2>{number}. {title}</h2>',
            number=number, title=Html.text(part.title),
        ),
        *map(_sentence, part.said),
        _table(part.title, part.lines) if part.lines else Html(),
        *(Html.filled("<pre>{text}</pre>", text=Html.text(text)) for text in part.exactly),
        *map(_sentence, part.notes),
    ]  # fmt: skip
    if part.commands:
        commands = Html.joined(", ", map(_code, part.commands))
        pieces.append(Html.filled('<p class="small">From {commands}</p>', commands=commands))
    return Html.joined("", [*pieces, Html("</section>")])


def _code(text: str) -> Html:
    return Html.filled("<code>{text}</code>", text=Html.text(text))


def _sentence(text: str) -> Html:
    """A paragraph, with commands between backticks as code."""
    words = Html.joined(
        "",
        (
            _code(piece) if place % 2 else Html.text(piece)
            # A split by a pattern with a group gives text and code in turn.
            for place, piece in enumerate(re.split("`([^`]+)`", text))
        ),
    )
    return Html.filled("<p>{words}</p>", words=words)


def _table(caption: str, lines: Sequence[Sequence[str]]) -> Html:
    heads, *rows = lines
    return scrolling(caption, numbers_table(caption, heads, rows))
