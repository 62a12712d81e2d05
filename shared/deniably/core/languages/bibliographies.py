"""Entries of bibliographies: BibTeX, RIS and the Citation File Format."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import LiteralString, Self

from deniably.core.languages.addresses import web_address
from deniably.core.languages.code import Code
from deniably.core.languages.latex import Latex
from deniably.core.steering import one_line

_KEY = re.compile(r"[A-Za-z0-9_.:-]+")


class Bibtex(Code):
    """Source code of a BibTeX file (Patashnik 1988, BibTeXing)."""

    @classmethod
    def entry(cls, kind: LiteralString, key: str, fields: Mapping[LiteralString, Latex]) -> Self:
        """Returns one entry of a BibTeX file; fields without a text are left out.

        Raises ValueError unless ``key`` consists of letters, digits and ``_ . : -``.
        """
        if not _KEY.fullmatch(key):
            raise ValueError(f"{key!r} is no key of BibTeX")
        lines = ",\n".join(
            f"  {name} = {{{value.source}}}" for name, value in fields.items() if value
        )
        return cls._made(f"@{kind}{{{key},\n{lines}\n}}\n")


class Ris(Code):
    """Source code of a RIS file, whose lines begin with a tag."""

    @classmethod
    def record(cls, kind: LiteralString, fields: Iterable[tuple[LiteralString, str]]) -> Self:
        """Returns one record of a RIS file; fields without a text are left out, and so is a UR
        field whose text is not a web address."""
        lines = [f"TY  - {kind}"]
        for tag, value in fields:
            text = web_address(value) if tag == "UR" else one_line(value)
            lines += [f"{tag}  - {text}"] * bool(text.strip())
        return cls._made("\n".join([*lines, "ER  - "]) + "\n")


class Yaml(Code):
    """Source code of YAML, in which CITATION.cff is written."""

    @classmethod
    def text(cls, text: str) -> Self:
        """Returns a text as a YAML string in single quotes, on one line."""
        allowed = re.sub("[\ufeff\ufffe\uffff]", "\ufffd", one_line(text))  # YAML 1.2, 5.1
        return cls._made("'" + allowed.replace("'", "''") + "'")
