"""Lists the published works that methods sections cite, and writes them as APA, BibTeX and RIS."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, LiteralString

from deniably.core.languages.bibliographies import Bibtex, Ris
from deniably.core.languages.latex import Latex

Kind = Literal["article", "inproceedings", "book", "misc"]

_RIS_TYPES: dict[Kind, LiteralString] = {
    "article": "JOUR", "inproceedings": "CPAPER", "book": "BOOK", "misc": "GEN",
}  # fmt: skip
_BIBTEX_PLACES: dict[Kind, LiteralString] = {
    "article": "journal", "inproceedings": "booktitle", "book": "publisher",
    "misc": "howpublished",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Work:
    """One published work. Authors are "Family, I." each; ``within`` is its journal, proceedings or
    publisher.

    Pages are "first-last". A work without a DOI may have a ``url``.
    """

    key: str
    authors: tuple[str, ...]
    year: int
    title: str
    within: str
    kind: Kind = "article"
    volume: str = ""
    number: str = ""
    pages: str = ""
    doi: str = ""
    url: str = ""

    @property
    def cited(self) -> str:
        """The work as a text cites it in brackets: authors and year.

        >>> SOURCES["ye2018"].cited, SOURCES["wang2017"].cited
        ('Ye & Barg, 2018', 'Wang et al., 2017')
        """
        families = [author.partition(",")[0] for author in self.authors]
        many = len(families) > 2
        return f"{f'{families[0]} et al.' if many else ' & '.join(families)}, {self.year}"

    @property
    def apa(self) -> str:
        """The entry for a list of references (APA, 7th edition), as plain text.

        >>> SOURCES["wang2017"].apa.partition("In ")[2]
        '26th USENIX Security Symposium (pp. 729\u2013745).'
        """
        pages = self.pages.replace("-", _EN_DASH)
        if self.kind == "inproceedings":
            volume = f"Vol. {self.volume}" if self.volume else ""
            places = ", ".join(filter(None, (volume, f"pp. {pages}" if pages else "")))
            where = f"In {self.within}" + (f" ({places})" if places else "")
        else:
            number = f"({self.number})" if self.number else ""
            volume = f"{self.volume}{number}" if self.volume else ""
            where = ", ".join(filter(None, (self.within, volume, pages)))
        link = f" {self.address}" if self.address else ""
        # APA sets no full stop after a question mark.
        title = self.title if self.title.endswith("?") else f"{self.title}."
        return f"{listed(self.authors)} ({self.year}). {title} {where}.{link}"

    @property
    def address(self) -> str:
        """The web address of the DOI, otherwise the URL; empty if the work has neither."""
        return f"https://doi.org/{self.doi}" if self.doi else self.url

    @property
    def bibtex(self) -> Bibtex:
        """The entry for a BibTeX file."""
        return Bibtex.entry(
            self.kind,
            self.key,
            {
                "author": Latex.joined(" and ", map(Latex.person, self.authors)),
                "year": Latex.number(self.year),
                "title": Latex.filled("{{{title}}}", title=Latex.text(self.title)),
                _BIBTEX_PLACES[self.kind]: Latex.text(self.within),
                "volume": Latex.text(self.volume),
                "number": Latex.text(self.number),
                "pages": Latex.text(self.pages.replace("-", "--")),
                "doi": Latex.text(self.doi),
                "url": Latex.address(self.url),
            },
        )

    @property
    def ris(self) -> Ris:
        """The record for a RIS file."""
        first, _, last = self.pages.partition("-")
        return Ris.record(
            _RIS_TYPES[self.kind],
            [
                *(("AU", author) for author in self.authors),
                ("PY", str(self.year)),
                ("TI", self.title),
                ("PB" if self.kind == "book" else "T2", self.within),
                ("VL", self.volume),
                ("IS", self.number),
                ("SP", first),
                ("EP", last),
                ("DO", self.doi),
                ("UR", self.url),
                ("ID", self.key),
            ],
        )


_EN_DASH = "\u2013"


def listed(authors: Iterable[str]) -> str:
    """Returns the authors as APA lists them. APA's rule for more than twenty is not applied.

    >>> listed(["Ye, M.", "Barg, A."]), listed(["Warner, S. L."])
    ('Ye, M., & Barg, A.', 'Warner, S. L.')
    """
    *others, last = authors
    return f"{', '.join(others)}, & {last}" if others else last


def bracketed(keys: Iterable[str]) -> str:
    """Returns the citation of works in brackets, in alphabetical order, after a space; an empty
    string for no works.

    >>> bracketed(["ye2018", "wang2017"]), bracketed([])
    (' (Wang et al., 2017; Ye & Barg, 2018)', '')
    """
    cited = sorted(SOURCES[key].cited for key in set(keys))
    return f" ({'; '.join(cited)})" if cited else ""


def in_order(keys: Iterable[str]) -> list[Work]:
    """Returns the works with these keys for a list of references: each once, in alphabetical
    order."""
    return sorted((SOURCES[key] for key in set(keys)), key=lambda work: work.apa.casefold())


_WORKS = (
    Work(
        key="warner1965", authors=("Warner, S. L.",), year=1965,
        title="Randomized response: A survey technique for eliminating evasive answer bias",
        within="Journal of the American Statistical Association", volume="60", number="309",
        pages="63-69", doi="10.1080/01621459.1965.10480775",
    ),
    Work(
        key="wilson1927", authors=("Wilson, E. B.",), year=1927,
        title="Probable inference, the law of succession, and statistical inference",
        within="Journal of the American Statistical Association", volume="22", number="158",
        pages="209-212", doi="10.1080/01621459.1927.10502953",
    ),
    Work(
        key="fieller1954", authors=("Fieller, E. C.",), year=1954,
        title="Some problems in interval estimation",
        within="Journal of the Royal Statistical Society, Series B", volume="16", number="2",
        pages="175-185", doi="10.1111/j.2517-6161.1954.tb00159.x",
    ),
    Work(
        key="clopper1934", authors=("Clopper, C. J.", "Pearson, E. S."), year=1934,
        title="The use of confidence or fiducial limits illustrated in the case of the binomial",
        within="Biometrika", volume="26", number="4", pages="404-413",
        doi="10.1093/biomet/26.4.404",
    ),
    Work(
        key="chaudhuri1988", authors=("Chaudhuri, A.", "Mukerjee, R."), year=1988,
        title="Randomized response: Theory and techniques", within="Marcel Dekker", kind="book",
    ),
    Work(
        key="holm1979", authors=("Holm, S.",), year=1979,
        title="A simple sequentially rejective multiple test procedure",
        within="Scandinavian Journal of Statistics", volume="6", number="2", pages="65-70",
    ),
    Work(
        key="shaffer1986", authors=("Shaffer, J. P.",), year=1986,
        title="Modified sequentially rejective multiple test procedures",
        within="Journal of the American Statistical Association", volume="81", number="395",
        pages="826-831", doi="10.1080/01621459.1986.10478341",
    ),
    Work(
        key="dwork2006", authors=("Dwork, C.", "McSherry, F.", "Nissim, K.", "Smith, A."),
        year=2006, title="Calibrating noise to sensitivity in private data analysis",
        within="Theory of Cryptography (TCC 2006)", kind="inproceedings", pages="265-284",
        doi="10.1007/11681878_14",
    ),
    Work(
        key="kasiviswanathan2011",
        authors=(
            "Kasiviswanathan, S. P.", "Lee, H. K.", "Nissim, K.", "Raskhodnikova, S.", "Smith, A.",
        ),
        year=2011, title="What can we learn privately?", within="SIAM Journal on Computing",
        volume="40", number="3", pages="793-826", doi="10.1137/090756090",
    ),
    Work(
        key="ghosh2012", authors=("Ghosh, A.", "Roughgarden, T.", "Sundararajan, M."), year=2012,
        title="Universally utility-maximizing privacy mechanisms",
        within="SIAM Journal on Computing", volume="41", number="6", pages="1673-1693",
        doi="10.1137/09076828X",
    ),
    Work(
        key="erlingsson2014", authors=("Erlingsson, Ú.", "Pihur, V.", "Korolova, A."), year=2014,
        title="RAPPOR: Randomized aggregatable privacy-preserving ordinal response",
        within="Proceedings of the 2014 ACM SIGSAC Conference on Computer and Communications"
        " Security",
        kind="inproceedings", pages="1054-1067", doi="10.1145/2660267.2660348",
    ),
    Work(
        key="kairouz2016", authors=("Kairouz, P.", "Bonawitz, K.", "Ramage, D."), year=2016,
        title="Discrete distribution estimation under local privacy",
        within="Proceedings of the 33rd International Conference on Machine Learning",
        kind="inproceedings", pages="2436-2444",
    ),
    Work(
        key="wang2017", authors=("Wang, T.", "Blocki, J.", "Li, N.", "Jha, S."), year=2017,
        title="Locally differentially private protocols for frequency estimation",
        within="26th USENIX Security Symposium", kind="inproceedings", pages="729-745",
    ),
    Work(
        key="ye2018", authors=("Ye, M.", "Barg, A."), year=2018,
        title="Optimal schemes for discrete distribution estimation under locally differential"
        " privacy",
        within="IEEE Transactions on Information Theory", volume="64", number="8",
        pages="5662-5676", doi="10.1109/TIT.2018.2809790",
    ),
    Work(
        key="bittau2017",
        authors=(
            "Bittau, A.", "Erlingsson, Ú.", "Maniatis, P.", "Mironov, I.", "Raghunathan, A.",
            "Lie, D.", "Rudominer, M.", "Kode, U.", "Tinnes, J.", "Seefeld, B.",
        ),
        year=2017, title="Prochlo: Strong privacy for analytics in the crowd",
        within="Proceedings of the 26th Symposium on Operating Systems Principles",
        kind="inproceedings", pages="441-459", doi="10.1145/3132747.3132769",
    ),
    Work(
        key="duchi2018", authors=("Duchi, J. C.", "Jordan, M. I.", "Wainwright, M. J."), year=2018,
        title="Minimax optimal procedures for locally private estimation",
        within="Journal of the American Statistical Association", volume="113", number="521",
        pages="182-201", doi="10.1080/01621459.2017.1389735",
    ),
    Work(
        key="wang2018",
        authors=("Wang, S.", "Huang, L.", "Nie, Y.", "Wang, P.", "Xu, H.", "Yang, W."), year=2018,
        title="PrivSet: Set-valued data analyses with local differential privacy",
        within="IEEE INFOCOM 2018: IEEE Conference on Computer Communications",
        kind="inproceedings", pages="1088-1096",
    ),
    Work(
        key="balle2018", authors=("Balle, B.", "Wang, Y.-X."), year=2018,
        title="Improving the Gaussian mechanism for differential privacy: Analytical calibration"
        " and optimal denoising",
        within="Proceedings of the 35th International Conference on Machine Learning",
        kind="inproceedings", pages="394-403",
    ),
    Work(
        key="wang2019",
        authors=(
            "Wang, N.", "Xiao, X.", "Yang, Y.", "Zhao, J.", "Hui, S. C.", "Shin, H.", "Shin, J.",
            "Yu, G.",
        ),
        year=2019,
        title="Collecting and analyzing multidimensional data with local differential privacy",
        within="2019 IEEE 35th International Conference on Data Engineering (ICDE)",
        kind="inproceedings", pages="638-649", doi="10.1109/ICDE.2019.00063",
    ),
    Work(
        key="li2020",
        authors=("Li, Z.", "Wang, T.", "Lopuhaä-Zwakenberg, M.", "Li, N.", "Škorić, B."),
        year=2020, title="Estimating numerical distributions under local differential privacy",
        within="Proceedings of the 2020 ACM SIGMOD International Conference on Management of Data",
        kind="inproceedings", pages="621-635", doi="10.1145/3318464.3389700",
    ),
    Work(
        key="wang2020",
        authors=(
            "Wang, T.", "Ding, B.", "Xu, M.", "Huang, Z.", "Hong, C.", "Zhou, J.", "Li, N.",
            "Jha, S.",
        ),
        year=2020,
        title="Improving utility and security of the shuffler-based differential privacy",
        within="Proceedings of the VLDB Endowment", volume="13", number="13", pages="3545-3558",
        doi="10.14778/3424573.3424576",
    ),
    Work(
        key="canonne2020", authors=("Canonne, C. L.", "Kamath, G.", "Steinke, T."), year=2020,
        title="The discrete Gaussian for differential privacy",
        within="Advances in Neural Information Processing Systems", volume="33",
        pages="15676-15688",
    ),
    Work(
        key="holohan2020",
        authors=("Holohan, N.", "Antonatos, S.", "Braghin, S.", "Mac Aonghusa, P."), year=2020,
        title="The bounded Laplace mechanism in differential privacy",
        within="Journal of Privacy and Confidentiality", volume="10", number="1",
        doi="10.29012/jpc.715",
    ),
    Work(
        key="cheu2021", authors=("Cheu, A.", "Smith, A.", "Ullman, J."), year=2021,
        title="Manipulation attacks in local differential privacy",
        within="2021 IEEE Symposium on Security and Privacy (SP)", kind="inproceedings",
        pages="883-900", doi="10.1109/SP40001.2021.00001",
    ),
    Work(
        key="aapor2021",
        authors=("American Association for Public Opinion Research",), year=2021,
        title="AAPOR code of professional ethics and practices", within="AAPOR", kind="misc",
        url="https://aapor.org/standards-and-ethics/",
    ),
    Work(
        key="arcolezi2022",
        authors=("Arcolezi, H. H.", "Couchot, J.-F.", "Al Bouna, B.", "Xiao, X."), year=2022,
        title="Improving the utility of locally differentially private protocols for longitudinal"
        " and multidimensional frequency estimates",
        within="Digital Communications and Networks", doi="10.1016/j.dcan.2022.07.003",
    ),
)  # fmt: skip

SOURCES = {work.key: work for work in _WORKS}
"""All works by their key."""
