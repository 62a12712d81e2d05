"""Shows results in a notebook: the cards of the results page, with their style included."""

from __future__ import annotations

from typing import Final

from deniably.core.languages.html import Html
from deniably.exhibits.question_exhibit import exhibits
from deniably.results.document import SurveyResult

STYLE: Final = """
.deniably { color: #18221f; background: #fff; padding: 8px 16px; max-width: 56rem; }
.deniably h4 { font-weight: 400; color: #52605b; margin: 24px 0 4px; }
.deniably p { margin: 0 0 8px; } .deniably .finding { font-size: 1.2em; font-weight: 700; }
.deniably table { border-collapse: collapse; width: 100%; background: #fff; }
.deniably th, .deniably td { text-align: left; font-weight: 400; border: 0; padding: 4px 8px 4px 0;
  background: #fff; color: #18221f; vertical-align: middle; }
.deniably .fig tbody th { width: 32%; } .deniably .fig .v, .deniably .fig .i { text-align: right;
  white-space: nowrap; width: 6rem; } .deniably .fig .v, .deniably b { font-weight: 650; }
.deniably .i, .deniably .m, .deniably thead th, .deniably .aside th, .deniably .aside .v,
.deniably .note, .deniably td span { color: #52605b; }
.deniably .unseen { position: absolute; clip-path: inset(50%); width: 1px; height: 1px;
  overflow: hidden; }
.deniably svg { display: block; width: 100%; overflow: visible; } .deniably svg.s { height: 38px; }
.deniably svg.x { height: 20px; } .deniably svg text { font-size: 13px; fill: #52605b; }
.deniably .g { stroke: #e3e6e0; } .deniably .g.z { stroke: #66736e; }
.deniably .b { fill: #0b6158; } .deniably .b95 { fill-opacity: .14; }
.deniably .b80 { fill-opacity: .24; } .deniably .b50 { fill-opacity: .45; }
.deniably .w { fill: #0b6158; fill-opacity: .75; }
.deniably .d { fill: #0b6158; stroke: #fff; stroke-width: 2; }
.deniably .aside .b, .deniably .n .b, .deniably .aside .w, .deniably .n .w, .deniably .aside .d,
.deniably .n .d { fill: #66736e; } .deniably .d.o { fill: #fff; stroke: #0b6158; }
.deniably .aside .d.o, .deniably .n .d.o { fill: #fff; stroke: #66736e; }
.deniably .heat td { text-align: center; } .deniably .heat b { display: block; }
.deniably .heat .q0 { background: #f5f9f8; } .deniably .heat .q1 { background: #e2eceb; }
.deniably .heat .q2 { background: #c9dcda; } .deniably .heat .q3 { background: #acc9c6; }
.deniably .heat .q4 { background: #8ab3af; } .deniably .heat .no { background:
  repeating-linear-gradient(-45deg, #fff 0 5px, #e3e6e0 5px 6px); }
.deniably .map { display: grid; grid-template-columns: 40px 1fr; gap: 6px 8px; max-width: 29rem; }
.deniably .sq { aspect-ratio: 1; } .deniably svg.yax { height: 100%; }
.deniably .xax { grid-column: 2; } .deniably .cell { stroke: #fff; stroke-width: 2; }
.deniably .off { fill: #e3e6e0; } .deniably .on { fill: #0b6158; }
.deniably svg .ink { fill: #18221f; }
"""
"""The style sheet of everything inside an element of the class ``deniably``."""


def html(result: SurveyResult) -> Html:
    """Returns the results as HTML for a notebook, with the same pictures as the results page."""
    parts = [Html.filled("<h3>{title}</h3>", title=Html.text(result.title))]
    for question, exhibit in zip(result.questions, exhibits(result), strict=True):
        notes = exhibit.notes()
        parts += [
            Html.filled("<h4>{label}</h4>", label=Html.text(exhibit.label)),
            Html.filled('<p class="finding">{text}</p>', text=Html.text(exhibit.finding)),
            *(
                Html.filled("<p><strong>{flag}</strong></p>", flag=Html.text(flag))
                for flag in question.flags
            ),
            *(picture.html() for picture in exhibit.unfolded),
            *(Html.filled('<p class="note">{note}</p>', note=Html.text(note)) for note in notes),
        ]
    # The style goes into each output, as a notebook keeps nothing from one cell to the next.
    return styled(Html.joined("", parts))


def styled(shown: Html) -> Html:
    """Returns ``shown`` inside an element of the class ``deniably``, with the style sheet."""
    return Html.filled(
        '<div class="deniably"><style>{style}</style>{shown}</div>', style=Html(STYLE), shown=shown
    )
