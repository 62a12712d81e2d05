"""Finished source code of a language, which holds nothing that its writers did not let in."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import LiteralString, Self


class Code:
    """A piece of source code in one language. Each language is a subclass, with methods that turn
    any text into safe code.

    ``source``, templates and separators must be literals in the program: pyright refuses any other
    text there (``LiteralString``, PEP 675). The parts that are put into a template must be code of
    the same language, which mypy and pyright check.
    """

    __slots__ = ("_source",)

    def __init__(self, source: LiteralString = "") -> None:
        self._source: str = source

    @classmethod
    def _made(cls, source: str) -> Self:
        """What a writer of this language has made. For writers alone."""
        piece = cls()
        piece._source = source
        return piece

    @classmethod
    def filled(cls, template: LiteralString, **parts: Self) -> Self:
        """Returns the template with each ``{name}`` replaced by the part of that name.

        Write ``{{`` and ``}}`` for braces.
        """
        sources = {name: part.source for name, part in parts.items()}
        return cls._made(template.format(**sources))

    @classmethod
    def joined(cls, separator: LiteralString, pieces: Iterable[Self]) -> Self:
        """Returns the pieces joined into one, with ``separator`` between neighbours."""
        return cls._made(separator.join(piece.source for piece in pieces))

    @classmethod
    def number(cls, value: float) -> Self:
        """Returns a finite number with as many digits as it needs. Raises ValueError if it is not
        finite."""
        # Infinity less itself is NaN, as is NaN less itself.
        if value - value != 0:
            raise ValueError(f"{value} is not finite")
        return cls._made(repr(float(value)) if isinstance(value, float) else str(int(value)))

    @property
    def source(self) -> str:
        """The source code as text."""
        return self._source

    def __bool__(self) -> bool:
        return bool(self._source)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._source == other._source

    def __hash__(self) -> int:
        return hash(self._source)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._source!r})"


class ScriptCode(Code):
    """Source code of a programming language, which has string literals and comments."""

    __slots__ = ()

    @classmethod
    @abstractmethod
    def text(cls, text: str) -> Self:
        """Returns a string literal whose value is ``text``, with its quotes; the language expands
        nothing in it."""

    @classmethod
    @abstractmethod
    def comment(cls, text: str) -> Self:
        """Returns a line that is a comment with this text."""
