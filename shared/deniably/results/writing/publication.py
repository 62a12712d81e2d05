"""Gathers everything that a paper needs to say about a survey's results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from deniably.core.languages.markdown import Markdown
from deniably.core.own_version import own_version
from deniably.results.document import SurveyResult
from deniably.results.writing import methods as section
from deniably.results.writing import question_sentences
from deniably.results.writing.citation import Citation
from deniably.results.writing.disclosures import Disclosure, disclosures
from deniably.results.writing.methods import Methods
from deniably.results.writing.references import Work, in_order
from deniably.survey.survey import Survey

STYLES = ("apa",)
CITED_AS = ("apa", "bibtex", "ris", "cff")


@dataclass(frozen=True)
class Publication:
    """The results of a survey and what is known of their publication, from which texts for a paper
    are made.

    ``published`` and ``closed`` are days such as "2026-11-22", ``signed`` is the fingerprint of
    the author's key, ``url`` the address of the results, and ``warning`` a sentence that data
    files begin with. Each of these may be empty.
    """

    result: SurveyResult
    survey: Survey
    published: str = ""
    closed: str = ""
    signed: str = ""
    url: str = ""
    warning: str = ""

    def sentence(self, question: str) -> str:
        """Returns a sentence that states the main result of a question, with its interval, n,
        mechanism and epsilon.

        Raises KeyError if there is no such question.
        """
        return question_sentences.sentence(self.result, question)

    def methods(self, style: str = "apa") -> str:
        """Returns the methods section and its references as plain text, each paragraph on one line.

        Raises ValueError for a style other than "apa".
        """
        if style not in STYLES:
            raise ValueError(f"there is no style {style!r}; there is {', '.join(STYLES)}")
        listed = [self.citation.apa(), *(reference.apa for reference in self.references)]
        return "\n\n".join([*self.section.paragraphs, "References", *listed]) + "\n"

    def cite(self, style: str = "bibtex") -> str:
        """Returns a citation of the results in a style: "apa", "bibtex", "ris" or "cff"
        (CITATION.cff).

        The names of the authors are a blank to fill in, since a server knows only their key.
        Raises ValueError for another style.
        """
        written: dict[str, Callable[[], str]] = {
            "apa": self.citation.apa,
            "bibtex": lambda: self.citation.bibtex().source,
            "ris": lambda: self.citation.ris().source,
            "cff": lambda: self.citation.cff().source,
        }
        if style not in written:
            raise ValueError(f"there is no style {style!r}; there are {', '.join(CITED_AS)}")
        return written[style]()

    @cached_property
    def section(self) -> Methods:
        """The methods section, as paragraphs."""
        key = f", signed with the key {self.signed}" if self.signed else ""
        return section.methods(self.result, self.survey, self._days, key)

    @cached_property
    def references(self) -> list[Work]:
        """The works that the methods section cites, in alphabetical order."""
        return in_order(self.section.cited)

    @property
    def citation(self) -> Citation:
        """The survey itself as a work to cite."""
        survey, day = self.survey, self.closed or self.published
        return Citation(
            survey=survey.name, title=self.result.title, digest=self.result.digest,
            version=own_version(), day=day, signed=self.signed, url=self.url,
            warning=self.warning,
        )  # fmt: skip

    @property
    def bibliography(self) -> str:
        """The contents of references.bib: the survey, then the works that the methods section
        cites."""
        return "\n".join(
            [self.cite("bibtex"), *(reference.bibtex.source for reference in self.references)]
        )

    @property
    def records(self) -> str:
        """The contents of references.ris: the survey, then the works that the methods section
        cites."""
        return "\n".join(
            [self.cite("ris"), *(reference.ris.source for reference in self.references)]
        )

    @property
    def checklist(self) -> list[Disclosure]:
        """The items that AAPOR asks every survey to disclose, filled in as far as they are
        known."""
        return disclosures(self.result, self.survey, self._days, self.signed)

    def methods_file(self) -> str:
        """Returns the contents of METHODS.md: the methods section, the findings and the references,
        in Markdown."""
        questions = self.result.questions
        cited = [
            (self.citation.apa(), self.url),
            *((reference.apa, reference.address) for reference in self.references),
        ]
        return _document(
            Markdown.filled("# Methods: {title}", title=Markdown.text(self.result.title)),
            *self._warned(),
            *map(Markdown.text, self.section.paragraphs),
            _table(self.result),
            Markdown("## Findings, a sentence each"),
            Markdown.joined(
                "\n",
                (
                    Markdown.filled("- {said}", said=Markdown.text(self.sentence(question.name)))
                    for question in questions
                ),
            ),
            Markdown("## References"),
            Markdown.joined("\n", (_reference(entry, address) for entry, address in cited)),
        )

    def checklist_file(self) -> str:
        """Returns the contents of CHECKLIST.md: the disclosures of ``checklist``, in Markdown."""
        items = (
            Markdown.filled(
                "{number}. **{item}.** {text}",
                number=Markdown.number(number),
                item=Markdown.text(item.item),
                text=Markdown.text(item.text),
            )
            for number, item in enumerate(self.checklist, 1)
        )
        title = Markdown.text(self.result.title)
        return _document(
            Markdown.filled("# What AAPOR asks to disclose: {title}", title=title),
            *self._warned(),
            Markdown("Fill in what comes after “state:”."),
            Markdown.joined("\n", items),
            Markdown(
                "Source: American Association for Public Opinion Research (2021), AAPOR code of"
                " professional ethics and practices, section III.A."
            ),
        )

    def _warned(self) -> Iterator[Markdown]:
        if self.warning:
            yield Markdown.filled("**{warning}**", warning=Markdown.text(self.warning))

    @property
    def _days(self) -> tuple[str, str]:
        return self.published, self.closed


def _document(*blocks: Markdown) -> str:
    return Markdown.joined("\n\n", blocks).source + "\n"


def _reference(entry: str, address: str) -> Markdown:
    """An item of a list of references; the address at its end, if it has one, is a link."""
    if not address or not entry.endswith(address):
        return Markdown.filled("- {entry}", entry=Markdown.text(entry))
    return Markdown.filled(
        "- {entry} {address}",
        entry=Markdown.text(entry.removesuffix(address)), address=Markdown.address(address),
    )  # fmt: skip


def _table(result: SurveyResult) -> Markdown:
    """The questions by their names in files, with mechanism, epsilon, odds and reports."""
    heads = ("question", "mechanism", "epsilon", "odds", "reports")
    lines = [
        (question.name, question.method, question.epsilon, question.odds, f"{question.n:,}")
        for question in result.questions
    ]
    return Markdown.table([heads, *lines], 2)
