"""Serves every kind of exhibit in every format: as page, JSON, CSV and figure.

An exhibit is what is shown of one thing that was asked: words, pictures and exact numbers. A
``Kind`` says how to read its query and what it shows. Permission, hiding, caching, cost, widths and
files are here, once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import urlencode

from flask import Blueprint, Response, render_template, request

from deniably.core.counting import people
from deniably.core.languages.html import Html
from deniably.exhibits import tabular
from deniably.exhibits.exhibit import Exhibit, Records
from deniably.exhibits.paper import paper
from deniably.survey.strata import Stratum, stratum_text
from deniably_server.api.analysts import or_ask_for_a_token
from deniably_server.api.cached_views import cached_view
from deniably_server.api.computation_queue import Reads
from deniably_server.api.hidden_results import or_say_why_hidden
from deniably_server.api.paper_files import figure_file, figure_page, wanted_width
from deniably_server.api.results import as_attachment, given_query
from deniably_server.api.subgroups import SubgroupLinks, query_of_view
from deniably_server.api.visibility import RESULTS
from deniably_server.errors import BadParameter
from deniably_server.guard.app_state import current_store
from deniably_server.web.answer import json_answer
from deniably_server.web.body import JSON
from deniably_server.web.operation import CSV, PAGE, SVG, Operation, QueryParameters

if TYPE_CHECKING:
    from flask.typing import ResponseReturnValue

    View = Callable[[str], ResponseReturnValue]

_Document = TypeVar("_Document")
_SAVED = ("Content-Disposition",)


@dataclass(frozen=True)
class Ways:
    """Links to the same exhibit with other parameters, such as percentages of columns in place of
    rows. Each link is (text, address, whether the page shows this now).

    The links are at the top of the page, or at the top of its first card if ``within`` is true.
    """

    label: str
    links: Sequence[tuple[str, str, bool]]
    within: bool = False


@dataclass(frozen=True)
class Lead:
    """The sentences at the top of a page, before its cards: a ``statement``, its qualification
    (``rest``), and sentences in ``small`` print."""

    statement: str
    rest: str = ""
    small: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What a page of results shows: the exhibits of one document (words, pictures and numbers),
    its headings and its links."""

    exhibits: Sequence[Exhibit]
    heading: str
    title: str = ""
    """The title of the browser's window, where it is not the heading."""
    chip: str
    who: str | Html
    """How many people, of which surveys or subgroups."""
    home: str = ""
    """The title of the survey, which leads to its results."""
    lede: str = ""
    small: str = ""
    ways: Ways | None = None
    subgroups: SubgroupLinks | None = None
    lead: Lead | None = None
    """What the page says first; by default the finding of its one exhibit."""
    surveys: Sequence[str]
    """The names of the surveys that its figures are of."""
    settled: Mapping[str, str] = field(default_factory=dict[str, str])
    """Parameters that the request may have left open, for the link to the figure."""
    nothing: str = ""
    """What a page without exhibits says."""

    @property
    def leading(self) -> Lead:
        """The sentences at the top of the page: ``lead``, or else the finding of the page's one
        exhibit."""
        if self.lead is not None:
            return self.lead
        (exhibit,) = self.exhibits
        small = [exhibit.family] if exhibit.family else []
        return Lead(exhibit.finding, exhibit.precision, small)


@dataclass(frozen=True, kw_only=True)
class Kind(Generic[_Document]):
    """How the server shows one sort of results, such as cross-tables, as JSON, CSV, SVG and pages.
    ``name`` is the last part of the addresses."""

    name: str
    about: Mapping[str, str]
    """What each view answers, for the reference of the API: ``json``, ``csv``, ``svg``, ``page``
    and ``figure``."""
    endpoints: Mapping[str, str] = field(default_factory=dict[str, str])
    """The names of views that differ from the usual ones, such as ``strata_as_json``, by format."""
    document: Any
    """The type of the document, for the schema of its JSON."""
    reads: Reads = "tallies"
    query: QueryParameters
    """The parameters of JSON and CSV."""
    svg: QueryParameters
    page: QueryParameters
    figure: QueryParameters
    """The parameters of a figure's page. With ``question!`` where JSON has none, it names the
    exhibit."""
    strata: bool = True
    read: Callable[[str], _Document]
    """Returns the document that the request asks for. Raises BadParameter, NotFound or Hidden."""
    sheet: Callable[[str, _Document], tuple[str, Records]]
    """Returns the name of the CSV file, and its exact numbers; no picture is made for it."""
    show: Callable[[str, _Document], Shown]
    check: Callable[[], object] = lambda: None
    """Raises BadParameter for parameters of pages and figures alone."""
    choose: Callable[[str], ResponseReturnValue | None] = lambda name: None
    """Returns a page to choose what is shown; None where the request has chosen."""
    choose_again: Callable[[str, str], ResponseReturnValue] | None = None
    """Returns that page with the reason why a choice was refused."""
    others: Callable[[str], tuple[Hashable, ...]] | None = None
    """Returns what the answer depends on in other surveys, as for ``cached_view``."""
    choices: str = ""
    """The text of the link to the page to choose."""
    back: str
    """The text of the link from a figure back to the page."""


def descriptions(
    called: str, json: str, *, records: str = "", chosen: str = "", figure: str = ""
) -> dict[str, str]:
    """Returns {format: description of the view} for the views of a ``Kind``. ``called`` is a name
    for what they show, such as "The waves".

    ``json`` is the description of the JSON. ``records`` says what the rows of the CSV are, and
    ``chosen`` what the page shows without parameters. ``figure`` names what the SVG shows, where
    that is less than the whole.
    """
    figure = figure or called
    return {
        "json": json,
        "csv": f"{called} for a spreadsheet{records and f', with a row for {records}'}.",
        "svg": f"{figure} as a figure for a paper: a file that needs nothing else.",
        "page": f"{called} as a page{chosen and f'; {chosen}'}.",
        "figure": f"{figure} as figures in both widths, as files to save, and in words.",
    }


def who_answered(n: int, strata: Stratum) -> str:
    """Returns the number of people who answered, with the subgroup if there is one, such as "50
    people of site north"."""
    return f"{people(n)} of {stratum_text(strata)}" if strata else people(n)


def blueprint_of(kind: Kind[Any], name: str) -> Blueprint:
    """Returns a blueprint called ``name`` with all views of a ``Kind``: JSON, CSV, SVG, the page,
    and the page of the figure for papers."""
    blueprint = Blueprint(name, __name__)
    _add_files(blueprint, kind)
    _add_pages(blueprint, kind)
    return blueprint


def _add_files(blueprint: Blueprint, kind: Kind[Any]) -> None:
    @cached_view(kind.reads, kind.others)
    def as_json(name: str) -> Response:
        return json_answer(kind.read(name))

    @cached_view(kind.reads, kind.others)
    def as_csv(name: str) -> Response:
        file, records = kind.sheet(name, kind.read(name))
        return as_attachment(tabular.csv(records), file)

    @cached_view(kind.reads, kind.others)
    def as_svg(name: str) -> Response:
        width = wanted_width()
        kind.check()
        _, exhibit = _figure_of(kind, name)
        return figure_file(paper(exhibit), width, exhibit.file)

    _add(blueprint, kind, "json", as_json, Operation(
        {200: {JSON: kind.document}}, RESULTS, query=kind.query, strata=kind.strata
    ))  # fmt: skip
    _add(blueprint, kind, "csv", as_csv, Operation(
        {200: {CSV: None}}, RESULTS, query=kind.query, headers=_SAVED, strata=kind.strata
    ))  # fmt: skip
    _add(blueprint, kind, "svg", as_svg, Operation(
        {200: {SVG: None}}, RESULTS, query=kind.svg, headers=_SAVED, strata=kind.strata
    ))  # fmt: skip


def _add_pages(blueprint: Blueprint, kind: Kind[Any]) -> None:
    api, page = f"/api/surveys/%s/{kind.name}", f"/surveys/%s/{kind.name}"

    @cached_view(kind.reads, kind.others)
    def drawn(name: str) -> ResponseReturnValue:
        kind.check()
        try:
            document = kind.read(name)
        except BadParameter as error:
            if kind.choose_again is None:
                raise
            return kind.choose_again(name, str(error))
        shown, query = kind.show(name, document), _query(kind, name, kind.query)
        settled = urlencode(shown.settled)
        return render_template(
            "exhibit.html",
            shown=shown,
            kind=kind,
            api=api % name,
            page=page % name,
            results=f"/surveys/{name}",
            query=query,
            figure=f"{query}{'&' if query else '?'}{settled}" if settled else query,
            same_part=_query(kind, name, {"confidence": {}}),
        )

    @cached_view(kind.reads, kind.others)
    def figure(name: str) -> str:
        kind.check()
        shown, exhibit = _figure_of(kind, name)
        data = _query(kind, name, kind.query)
        query = _query(kind, name, kind.figure)
        page_query = data if exhibit.anchor else query
        return figure_page(
            shown.surveys,
            paper(exhibit),
            file=exhibit.file,
            address=f"{api % name}.svg{query}",
            about=exhibit.about,
            csv=f"{api % name}.csv{data}",
            back=(f"{page % name}{page_query}{exhibit.anchor and f'#{exhibit.anchor}'}", kind.back),
        )

    def or_choose(view: View) -> View:
        @or_ask_for_a_token
        @or_say_why_hidden
        def chosen(name: str) -> ResponseReturnValue:
            return kind.choose(name) or view(name)

        return chosen

    for form, view, query in (("page", drawn, kind.page), ("figure", figure, kind.figure)):
        operation = Operation(PAGE, RESULTS, query=query, strata=kind.strata)
        _add(blueprint, kind, form, or_choose(view), operation)


_ENDINGS = {"json": "", "csv": ".csv", "svg": ".svg", "page": "", "figure": "/figure"}
_NAMES = {
    "json": "as_json", "csv": "as_csv", "svg": "as_svg", "page": "page", "figure": "figure_page",
}  # fmt: skip


def _add(
    blueprint: Blueprint, kind: Kind[Any], form: str, view: View, operation: Operation
) -> None:
    """Add a view in one form, with its declaration and its docstring."""
    view.__doc__ = kind.about[form]  # where OpenAPI takes the description from
    name = kind.endpoints.get(form, f"{kind.name}_{_NAMES[form]}")
    prefix = "" if form in ("page", "figure") else "/api"
    rule = f"{prefix}/surveys/<name>/{kind.name}{_ENDINGS[form]}"
    blueprint.add_url_rule(rule, name, operation(view), methods=["GET"])


def _query(kind: Kind[Any], name: str, parameters: QueryParameters) -> str:
    """Returns the request's values of these parameters and of the strata, as a query for links."""
    names = [key.removesuffix("!") for key in parameters]
    if not kind.strata:
        return given_query(*names)
    return query_of_view(current_store().survey(name), *names)


def _figure_of(kind: Kind[Any], name: str) -> tuple[Shown, Exhibit]:
    """Returns what the request asks for, and the exhibit that its figure is of: the only one, or
    that of the question that the request names. Raises BadParameter."""
    shown = kind.show(name, kind.read(name))
    by_anchor = {exhibit.anchor: exhibit for exhibit in shown.exhibits}
    # A kind may have an exhibit for each question, as waves have: then the request names one.
    several = "question!" in kind.figure and "question!" not in kind.query
    anchor = request.args.get("question", "") if several else shown.exhibits[0].anchor
    if anchor not in by_anchor:
        names = ", ".join(by_anchor) or "there is none"
        raise BadParameter(f"“question” names a question that all waves ask alike: {names}")
    return shown, by_anchor[anchor]
