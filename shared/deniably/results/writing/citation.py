"""How a paper cites the results of a survey: APA, BibTeX, RIS and the Citation File Format.

A server knows the author's key and no name, so the author is a blank to fill in.
"""

from __future__ import annotations

from dataclasses import dataclass

from deniably.core.markup import latex
from deniably.core.steering import one_line
from deniably.results.writing.references import entry, record

AUTHORS = "[state: the authors]"
_KEY_DIGITS = 8


@dataclass(frozen=True, kw_only=True)
class Citation:
    """What there is to cite: a survey by its name, title and digest, and where and when.

    ``day`` is that of closing, or of publication, such as 2026-11-22. ``signed`` is the fingerprint
    of the author's key and ``url`` the address of the results. ``warning`` is what notes add. Each
    may be empty.
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
        """The key of the entry: the survey's name and the start of its digest."""
        return f"{self.survey}-{self.digest[:_KEY_DIGITS]}"

    @property
    def year(self) -> str:
        """The year of the day; "n.d." where that is unknown, as APA writes."""
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
        """The entry of a list of references (APA, 7th edition)."""
        link = f" {self.url}" if self.url else ""
        return f"{AUTHORS} ({self.year}). {one_line(self.title)} [Data set; {self._kept}].{link}"

    def bibtex(self) -> str:
        """The entry of a BibTeX file."""
        return entry(
            "misc",
            self.key,
            {
                "author": f"{{{latex(AUTHORS)}}}",
                "title": f"{{{latex(one_line(self.title))}}}",
                "year": self.year,
                "note": latex(self._note),
                "url": self.url,
            },
        )

    def ris(self) -> str:
        """The record of a RIS file."""
        return record(
            "DATA",
            [
                ("AU", AUTHORS),
                ("PY", self.day[:4]),
                ("DA", self.day.replace("-", "/")),
                ("TI", one_line(self.title)),
                ("N1", self._note),
                ("UR", self.url),
                ("ID", self.key),
            ],
        )

    def cff(self) -> str:
        """A CITATION.cff (Citation File Format 1.2.0)."""
        lines = [
            "cff-version: 1.2.0",
            "message: If you use these reports, please cite them. They are randomised.",
            "type: dataset",
            f"title: {_yaml(self.title)}",
            "authors:",
            f"  - name: {_yaml(AUTHORS)}",
        ]
        if self.day:
            lines.append(f"date-released: '{self.day}'")
        if self.url:
            lines.append(f"url: {_yaml(self.url)}")
        lines += [
            "identifiers:",
            "  - type: other",
            f"    value: '{self.digest}'",
            "    description: SHA-256 of the survey's definition",
            f"abstract: {_yaml(self._note)}",
        ]
        return "\n".join(lines) + "\n"


def _yaml(text: str) -> str:
    """A text in single quotes, on one line."""
    return "'" + one_line(text).replace("'", "''") + "'"
