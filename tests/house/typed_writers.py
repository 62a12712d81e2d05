"""What a type checker refuses: an author's text where a writer's code is to be.

Nothing runs this. ``make lint`` reads it with mypy and pyright, and fails where one of these lines
is no longer refused: then a text could be concatenated into a script.
"""

# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from deniably.core.languages.bibliographies import Bibtex
from deniably.core.languages.latex import Latex
from deniably.core.languages.markdown import Markdown
from deniably.core.languages.python import Python
from deniably.core.languages.r import R


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


def allowed(title: str) -> str:
    """The same through the writers."""
    return R.filled("f({title})  {said}", title=R.text(title), said=R.comment(title)).source
