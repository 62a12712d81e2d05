"""What a type checker refuses: an author's text where a writer's code is to be.

Nothing runs this. ``make lint`` reads it with mypy and pyright, and fails where one of these lines
is no longer refused: then a text could be concatenated into a script.
"""

# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from deniably.core.languages.bibliographies import Bibtex
from deniably.core.languages.html import Html
from deniably.core.languages.latex import Latex
from deniably.core.languages.markdown import Markdown
from deniably.core.languages.python import Python
from deniably.core.languages.r import R
from deniably.results.drawing.paper_figure import Svg
from deniably.results.drawing.strip import scrolling


def refused(title: str) -> None:
    """Lines that no checker lets through."""
    R(title)  # pyright: ignore[reportArgumentType]
    R(f"# {title}")  # pyright: ignore[reportArgumentType]
    R.filled(f"# {title}")  # pyright: ignore[reportArgumentType]
    R.joined(title, [])  # pyright: ignore[reportArgumentType]
    R.filled("# {title}", title=title)  # type: ignore[arg-type]
    R.filled("f({title})", title=Python.text(title))  # type: ignore[arg-type]
    R.joined(", ", [title])  # type: ignore[list-item]
    Markdown.filled("# {title}", title=Latex.text(title))  # type: ignore[arg-type]
    Bibtex.entry("misc", "key", {"title": title})  # type: ignore[dict-item]
    Bibtex.entry(title, "key", {})  # pyright: ignore[reportArgumentType]
    Html(title)  # pyright: ignore[reportArgumentType]
    Html.filled(f"<b>{title}</b>")  # pyright: ignore[reportArgumentType]
    Html.filled("<b>{title}</b>", title=title)  # type: ignore[arg-type]
    Html.filled("<b>{title}</b>", title=Markdown.text(title))  # type: ignore[arg-type]
    Html.joined("<br>", [title])  # type: ignore[list-item]
    scrolling("Table", title)  # type: ignore[arg-type]
    Svg(title)  # type: ignore[arg-type]


def allowed(title: str) -> str:
    """The same through the writers."""
    Html.filled('<b title="{title}">{width:.1f}</b>', title=Html.text(title), width=1.5)
    return R.filled("f({title})  {said}", title=R.text(title), said=R.comment(title)).source
