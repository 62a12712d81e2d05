"""Writes how a paper cites the results of a survey: APA, BibTeX, RIS and the Citation File Format.

A server knows the author's key and no name, so the author is a blank to fill in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import LiteralString

from deniably.core.languages.addresses import web_address
from deniably.core.languages.bibliographies import Bibtex, Ris, Yaml
from deniably.core.languages.latex import Latex
from deniably.core.steering import one_line

AUTHORS = "[state: the authors]"
_KEY_DIGITS = 8  # of the digest; enough to tell two surveys with one name apart


@dataclass(frozen=True, kw_only=True)
class Citation:
    """The data for citing a survey: its name, its title, the digest of its definition, and when
    and where its results were published.

    ``version`` is that of Deniably. ``day`` is the day of closing, or of publication, such as
    "2026-11-22". ``signed`` is the fingerprint of the author's key, ``url`` the address of the
    results, and ``warning`` a sentence that is added to the notes. ``day``, ``signed``, ``url``
    and ``warning`` may be empty.
    """

    survey: str
    title: str
    digest: str
    version: str
    day: str = ""
    signed: str = ""
    url: str = ""
    warning: str = ""

    @property
    def key(self) -> str:
        """The key of the bibliography entry: the survey's name and the start of its digest."""
        return f"{self.survey}-{self.digest[:_KEY_DIGITS]}"

    @property
    def year(self) -> str:
        """The year of ``day``; "n.d.", APA's mark for no date, if ``day`` is empty."""
        return self.day[:4] or "n.d."

    @property
    def _kept(self) -> str:
        by = f", signed with the key {self.signed}" if self.signed else ""
        return (
            f"Randomised reports and estimates; survey {self.survey}, definition SHA-256"
            f" {self.digest}{by}; collected with Deniably {self.version}"
        )

    @property
    def _note(self) -> str:
        return f"{self._kept}. {self.warning}" if self.warning else self._kept

    def apa(self) -> str:
        """Returns the entry for a list of references (APA, 7th edition)."""
        link = f" {self.url}" if self.url else ""
        return f"{AUTHORS} ({self.year}). {one_line(self.title)} [Data set; {self._kept}].{link}"

    def bibtex(self) -> Bibtex:
        """Returns the entry for a BibTeX file."""
        return Bibtex.entry(
            "misc",
            self.key,
            {
                "author": Latex.filled("{{{names}}}", names=Latex.text(AUTHORS)),
                "title": Latex.filled("{{{title}}}", title=Latex.text(self.title)),
                "year": Latex.text(self.year),
                "note": Latex.text(self._note),
                "url": Latex.address(self.url),
            },
        )

    def ris(self) -> Ris:
        """Returns the record for a RIS file."""
        return Ris.record(
            "DATA",
            [
                ("AU", AUTHORS),
                ("PY", self.day[:4]),
                ("DA", self.day.replace("-", "/")),
                ("TI", self.title),
                ("N1", self._note),
                ("UR", self.url),
                ("ID", self.key),
            ],
        )

    def cff(self) -> Yaml:
        """Returns the file CITATION.cff (Citation File Format 1.2.0)."""
        address = web_address(self.url)
        lines = [
            Yaml("cff-version: 1.2.0"),
            Yaml("message: If you use these reports, please cite them. They are randomised."),
            Yaml("type: dataset"),
            _field("title: {value}", self.title),
            Yaml("authors:"),
            _field("  - name: {value}", AUTHORS),
            *([_field("date-released: {value}", self.day)] if self.day else []),
            *([_field("url: {value}", address)] if address else []),
            Yaml("identifiers:"),
            Yaml("  - type: other"),
            _field("    value: {value}", self.digest),
            Yaml("    description: SHA-256 of the survey's definition"),
            _field("abstract: {value}", self._note),
        ]
        return Yaml.joined("\n", [*lines, Yaml()])


def _field(template: LiteralString, value: str) -> Yaml:
    return Yaml.filled(template, value=Yaml.text(value))
