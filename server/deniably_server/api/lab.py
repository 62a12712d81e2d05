"""Serves the lab: the textbooks' experiments as pages, JSON, CSV and SVG, by themselves and on the
questions of a survey.

They read no reports, and nothing of them is stored. Every input is read and bounded before an
experiment waits for its turn.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import msgspec
from flask import Blueprint, Response, make_response, render_template, request

from deniably.core.languages.html import Html
from deniably.core.table import Cell
from deniably.lab.catalogue import Case, Entry, entries
from deniably.lab.experiment import Experiment, fragment, text_of
from deniably.lab.picture import DrawnRow
from deniably.survey.readable import cut
from deniably.survey.survey import Survey
from deniably_server.api.cached_views import cached_experiment, cached_part
from deniably_server.errors import BadParameter, NotFound
from deniably_server.guard.app_state import current_store
from deniably_server.web.body import JSON
from deniably_server.web.lab_form import LONGEST, fields
from deniably_server.web.operation import CSV, PAGE, SVG, Operation, QueryParameters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from flask.typing import ResponseReturnValue

blueprint = Blueprint("lab", __name__)

_FUNNEL = "noise-averages-out"
_BESIDE_OTHERS = "choosing-epsilon"
_MOST_OF_REGISTER = 20
_MOST_OF_TITLE = 60
_MOST_PEOPLE = 1_000_000
_KEPT = "public, max-age=60"
"""A page depends on its address and the version of Deniably alone; a new version is shown soon."""


def _inputs() -> QueryParameters:
    helps: dict[str, dict[str, None]] = {}
    for entry in entries().values():
        for name, declared in entry.inputs.items():
            helps.setdefault(name, {})[declared.help] = None
    return {
        name: {"type": "string", "maxLength": LONGEST, "description": " Or: ".join(texts)}
        for name, texts in sorted(helps.items())
    }


INPUTS = _inputs()
"""The inputs of all experiments, as query parameters. Each experiment refuses those that it does
not have, and says which it has."""
_PICTURE: QueryParameters = {
    "picture": {
        "type": "integer",
        "minimum": 1,
        "default": 1,
        "description": "Which one, of an experiment with several.",
    }
}
_CASE: QueryParameters = {
    "case": {
        "type": "integer",
        "minimum": 1,
        "default": 1,
        "description": "Which of the survey’s questions, of those that the experiment applies to.",
    },
    **INPUTS,
}
_NAMED = {"enum": list(entries()), "description": "An experiment that applies to the survey."}
_CHOSEN: QueryParameters = {"experiment": _NAMED, **_CASE}
_NEEDED: QueryParameters = {"experiment!": _NAMED, **_CASE}
_PROBLEMS = ("not-found", "too-much", "busy")


class _RowsAlone(msgspec.Struct, frozen=True):
    """What a page takes of an experiment's JSON."""

    rows: list[dict[str, Cell]]


_rows = msgspec.json.Decoder(_RowsAlone).decode


@dataclass(frozen=True)
class RequestedExperiment:
    """An experiment with all inputs of a request.

    With a ``survey``, ``cases`` are the questions to which the experiment applies, and it runs on
    the case with this ``number``, counted from 1. Without a survey, ``cases`` has at most one
    case, whose values replace inputs of the experiment.
    """

    entry: Entry
    values: dict[str, Any]
    survey: Survey | None = None
    cases: tuple[Case, ...] = ()
    number: int = 1

    @property
    def case(self) -> Case | None:
        """The case that the experiment runs on: a question of the survey, or without a survey a
        case whose values replace inputs. None where there is no case."""
        return self.cases[self.number - 1] if self.cases else None

    @property
    def page(self) -> str:
        """The address of the page, without a query."""
        return f"/surveys/{self.survey.name}/lab" if self.survey else f"/lab/{self.entry.name}"

    @property
    def data(self) -> str:
        """The address of the JSON, without a query."""
        return f"/api{self.page}"

    def query(self, **other: object) -> str:
        """Returns the query of a link to this experiment: the survey's case, the inputs that are
        not the defaults, and ``other`` parameters."""
        case = {"experiment": self.entry.name, "case": self.number} if self.survey else {}
        usual = self.entry.read({}, self.case)
        changed = {
            name: text_of(value) for name, value in self.values.items() if value != usual[name]
        }
        query = urlencode({**case, **changed, **other})
        return f"?{query}" if query else ""

    def made(self) -> Experiment:
        """Runs the experiment and returns what it made: answer, rows and pictures. Raises
        BadParameter where its inputs do not go together."""
        try:
            return self.entry.run(self.case, **self.values)
        except ValueError as error:
            raise BadParameter(str(error)) from None


# --- by themselves ------------------------------------------------------------------------------


@blueprint.get("/lab")
@Operation(PAGE)
def index() -> Response:
    """Returns a page of all experiments, with the question that each answers."""
    return _fresh(make_response(render_template("lab.html", entries=entries().values())))


@blueprint.get("/lab/<name>")
@Operation(PAGE, _PROBLEMS, query=INPUTS)
def page(name: str) -> Response:
    """Returns an experiment with its inputs, as a page."""
    return _fresh(_answered(_entry(name), _page))


@blueprint.get("/api/lab/<name>")
@Operation({200: {JSON: dict[str, Any]}}, _PROBLEMS, query=INPUTS)
def as_json(name: str) -> Response:
    """Returns an experiment: its answer, and all rows of its table."""
    return _fresh(_answered(_entry(name), _json))


@blueprint.get("/api/lab/<name>.csv")
@Operation({200: {CSV: None}}, _PROBLEMS, query=INPUTS, headers=("Content-Disposition",))
def as_csv(name: str) -> Response:
    """Returns the rows of an experiment for a spreadsheet."""
    return _fresh(_answered(_entry(name), _csv))


@blueprint.get("/api/lab/<name>.svg")
@Operation(
    {200: {SVG: None}}, _PROBLEMS, query={**_PICTURE, **INPUTS}, headers=("Content-Disposition",)
)
def as_svg(name: str) -> Response:
    """Returns a picture of an experiment, as a file that needs nothing else."""
    return _fresh(_answered(_entry(name), _svg))


# --- on a survey --------------------------------------------------------------------------------


@blueprint.get("/surveys/<name>/lab")
@Operation(PAGE, _PROBLEMS, query=_CHOSEN)
def survey_page(name: str) -> ResponseReturnValue:
    """Returns a page of the experiments that apply to a survey; or one of them, on a question of
    it."""
    survey = current_store().survey(name)
    if "experiment" in request.args:
        return _answered(_chosen(), _page, survey)
    if request.args:
        raise BadParameter("“experiment” names the experiment that the inputs are for")
    return cached_experiment((survey.digest,), lambda: _chooser(survey))


@blueprint.get("/api/surveys/<name>/lab")
@Operation({200: {JSON: dict[str, Any]}}, _PROBLEMS, query=_NEEDED)
def survey_as_json(name: str) -> Response:
    """Returns an experiment on a question of a survey: its answer, and all rows of its table."""
    return _answered(_chosen(), _json, current_store().survey(name))


@blueprint.get("/api/surveys/<name>/lab.csv")
@Operation({200: {CSV: None}}, _PROBLEMS, query=_NEEDED, headers=("Content-Disposition",))
def survey_as_csv(name: str) -> Response:
    """Returns the rows of an experiment on a question of a survey, for a spreadsheet."""
    return _answered(_chosen(), _csv, current_store().survey(name))


@blueprint.get("/api/surveys/<name>/lab.svg")
@Operation(
    {200: {SVG: None}}, _PROBLEMS, query={**_PICTURE, **_NEEDED}, headers=("Content-Disposition",)
)
def survey_as_svg(name: str) -> Response:
    """Returns a picture of an experiment on a question of a survey, as a file that needs nothing
    else."""
    return _answered(_chosen(), _svg, current_store().survey(name))


def funnel_address(survey: Survey, questions: Iterable[tuple[str, int]]) -> str | None:
    """Returns the address of the page that shows how uncertain the estimate of a question is: with
    its own number of people, a quarter of them and four times as many.

    ``questions`` are pairs of (label, people). The page is about the first of them for which this
    can be shown; None if there is none.
    """
    labels = [case.about for case in entries()[_FUNNEL].cases(survey)]
    for label, people in questions:
        if label in labels and 2 <= people <= _MOST_PEOPLE:
            several = sorted({max(2, people // 4), people, min(4 * people, _MOST_PEOPLE)})
            number, n = labels.index(label) + 1, ",".join(map(str, several))
            return f"/surveys/{survey.name}/lab?experiment={_FUNNEL}&case={number}&n={n}"
    return None


def rows_of(
    survey: Survey, name: str, number: int, inputs: Mapping[str, str]
) -> Sequence[DrawnRow]:
    """Returns the rows of the experiment ``name`` on a question of a survey, with these
    ``inputs``. ``number`` counts, from 1, the questions to which the experiment applies.
    ``survey_as_json`` answers the same rows."""
    query = {"experiment": name, "case": number, **inputs}
    target = f"/api/surveys/{survey.name}/lab?{urlencode(query)}"
    body = cached_part(("lab.rows", survey.digest, target), target, "nothing")
    if body is not None:
        return _rows(body).rows
    case = [*entries()[name].cases(survey)][number - 1]
    return entries()[name].run(case, **inputs).rows


# --- what is asked for --------------------------------------------------------------------------


def _entry(name: str) -> Entry:
    """The experiment of this name. Raises NotFound."""
    if name not in entries():
        raise NotFound(f"there is no such experiment; there are {', '.join(entries())}")
    return entries()[name]


def _chosen() -> Entry:
    """The experiment that the query names. Raises BadParameter."""
    name = request.args.get("experiment", "")
    if name not in entries():
        raise BadParameter(f"“experiment” is one of {', '.join(entries())}")
    return entries()[name]


def _asked(entry: Entry, survey: Survey | None) -> RequestedExperiment:
    """Returns the experiment with the inputs of the query, on the survey's case that it names."""
    if survey is None:
        return RequestedExperiment(entry, entry.read(_given(entry)), None, _beside(entry))
    cases = tuple(entry.cases(survey))
    if not cases:
        names = ", ".join(applying.name for applying, _ in _applying(survey)) or "there is none"
        raise BadParameter(f"“experiment” names one that applies to this survey: {names}")
    number = _number("case", len(cases))
    case = cases[number - 1]
    return RequestedExperiment(entry, entry.read(_given(entry, case), case), survey, cases, number)


def _beside(entry: Entry) -> tuple[Case, ...]:
    """Returns the surveys that were published here last, for an experiment that shows epsilons of
    others."""
    register = _register(entry)
    return (Case("", {"register": register}),) if register else ()


def _register(entry: Entry) -> tuple[tuple[str, float], ...]:
    """Returns the titles and epsilons of surveys: the loss of all answers of a person to one of
    them."""
    if entry.name != _BESIDE_OTHERS:
        return ()
    return tuple(
        (f"this server: {cut(card.title, _MOST_OF_TITLE)}", float(card.epsilon))
        for card in current_store().newest_surveys(_MOST_OF_REGISTER)
    )


def _applying(survey: Survey) -> Iterator[tuple[Entry, tuple[Case, ...]]]:
    for entry in entries().values():
        if cases := tuple(entry.cases(survey)):
            yield entry, cases


def _given(entry: Entry, case: Case | None = None) -> dict[str, Any]:
    """Returns the inputs in the query, parsed. Raises BadParameter for one that the experiment
    lacks, or that is wrong."""
    inputs, open_inputs = dict[str, Any](), entry.left(case)
    for name, text in request.args.items():
        if name not in INPUTS:
            continue
        if name not in open_inputs:
            listed = ", ".join(open_inputs) or "none"
            raise BadParameter(f"“{name}” is no input of this experiment; it has {listed}")
        try:
            if len(text) > LONGEST:
                raise ValueError
            inputs[name] = open_inputs[name].read(name, text)
        except ValueError:  # what was given is not repeated: a link must not speak on this page
            raise BadParameter(f"“{name}” is {open_inputs[name].allowed}") from None
    return inputs


def _number(name: str, maximum: int) -> int:
    """A whole number of the query from 1 to ``maximum``; 1 where it is not there."""
    text = request.args.get(name, "1")
    if text not in map(str, range(1, maximum + 1)):
        raise BadParameter(f"“{name}” is a whole number from 1 to {maximum}")
    return int(text)


# --- answers ------------------------------------------------------------------------------------


def _answered(
    entry: Entry,
    form: Callable[[RequestedExperiment], ResponseReturnValue],
    survey: Survey | None = None,
) -> Response:
    """Returns the answer, computed in its turn. Wrong inputs are refused before, as far as that
    takes no question of the survey."""
    inputs = tuple(sorted((name, text_of(value)) for name, value in _given(entry).items()))
    args = tuple(request.args.get(name) for name in ("case", "picture"))
    about = survey.digest if survey else _register(entry)
    key = (entry.name, about, inputs, args)
    return make_response(cached_experiment(key, lambda: form(_asked(entry, survey))))


def _fresh(response: Response) -> Response:
    response.headers["Cache-Control"] = _KEPT
    return response


def _page(requested: RequestedExperiment) -> str:
    result, values, names = requested.made(), requested.values, list(entries())
    following = names[names.index(requested.entry.name) + 1 :]
    return render_template(
        "lab_experiment.html",
        asked=requested,
        fields=fields(requested.entry.left(requested.case), values),
        article=fragment(result, note=_linked),
        again={"seed": (values["seed"] + 1) % 2**32} if "seed" in values else None,
        pictures=len(result.pictures),
        later=entries()[following[0]] if following and not requested.survey else None,
    )


def _linked(note: str) -> Html:
    """A note, which leads to the experiments that it names."""
    names = "|".join(map(re.escape, entries()))
    texts = re.split(rf"\bSee ({names})\.", note)
    return Html.joined(
        "", (_link(piece) if place % 2 else Html.text(piece) for place, piece in enumerate(texts))
    )


def _link(name: str) -> Html:
    return Html.filled(
        'See <a href="/lab/{name}">{title}</a>.',
        name=Html.text(name), title=Html.text(entries()[name].title),
    )  # fmt: skip


def _chooser(survey: Survey) -> str:
    return render_template("lab_survey.html", survey=survey, applying=list(_applying(survey)))


def _json(requested: RequestedExperiment) -> Response:
    return Response(requested.made().to_json(), mimetype=JSON)


def _csv(requested: RequestedExperiment) -> Response:
    return _file(requested, requested.made().to_csv(), CSV, "attachment", "")


def _svg(requested: RequestedExperiment) -> Response:
    pictures = requested.made().pictures
    number = _number("picture", len(pictures))
    suffix = f"-{number}" if number > 1 else ""
    return _file(requested, pictures[number - 1].svg(), SVG, "inline", suffix)


def _file(
    requested: RequestedExperiment, text: str, kind: str, disposition: str, suffix: str
) -> Response:
    response = Response(text, mimetype=kind)
    about = f"{requested.survey.name}-" if requested.survey else ""
    end = "svg" if kind == SVG else "csv"
    name = f"{about}{requested.entry.name}{suffix}.{end}"
    response.headers["Content-Disposition"] = f'{disposition}; filename="{name}"'
    return response
