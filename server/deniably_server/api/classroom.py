"""Shows a survey on the projector of a class: how to take part, how precise it will be, and then
what came out.

The number of reports and the estimate are those of ``results.as_json`` for the same request. They
are shown nowhere while that view hides them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from flask import Blueprint, current_app, render_template, request

from deniably.core.languages.html import Html
from deniably.core.loopback import is_here
from deniably.lab import classroom
from deniably.lab.classroom import GuessTarget, SeenEstimate, written
from deniably.lab.experiments.noise_averages_out import FunnelWords, funnel
from deniably.lab.picture import DrawnRow, Picture, value
from deniably.results.drawing import graph
from deniably.results.drawing.rounding import Reading
from deniably.survey.questions import Question
from deniably.survey.survey import Survey
from deniably.wording.first_page import first_page
from deniably.wording.words import LANGUAGES, Words
from deniably_server.api.lab import rows_of
from deniably_server.api.results import shown_results
from deniably_server.errors import BadParameter, Hidden, Unauthorised
from deniably_server.guard.app_state import current_store
from deniably_server.guard.auth import is_bearer
from deniably_server.guard.own_address import is_refused_by_phones, own_address
from deniably_server.storage.tables.surveys import State
from deniably_server.web import language
from deniably_server.web.operation import NAMED, PAGE, TOKEN, Operation, QueryParameters
from deniably_server.web.qr_code import qr_code

blueprint = Blueprint("classroom", __name__)

_USUAL, _FEWEST, _MOST = 30, 2, 1000
_QUERY: QueryParameters = {
    "language": {"type": "string"},
    "people": {
        "type": "integer",
        "minimum": _FEWEST,
        "maximum": _MOST,
        "default": _USUAL,
        "description": "How many are in the class.",
    },
    "question": {**NAMED, "description": "A question of the survey, by its name; else its first."},
}


@blueprint.get("/surveys/<name>/class")
@Operation(PAGE, ("not-found", "too-much", "busy", *TOKEN), query=_QUERY)
def page(name: str) -> str:
    """Returns the page of a survey for the projector of a class: the QR code of the form, and the
    result of one question as soon as it may be shown."""
    store = current_store()
    survey, words, people = store.survey(name), language.chosen(store.survey(name)), _people()
    question, state = _question(survey), store.state(name)
    target = classroom.target(survey, question)
    shown = _shown(survey, question, target, words, state)
    rows: Sequence[DrawnRow] = _rows(survey, target, people, shown.seen) if target else ()
    return render_template(
        "class.html",
        survey=survey,
        question=question,
        state=state,
        words=words,
        its=language.survey_texts(survey, words),
        languages=[(code, Words(code)("language.name")) for code in LANGUAGES],
        people=people,
        usual=_USUAL,
        way=_way(survey, words),
        promise=first_page(survey, words).promise,
        shown=shown,
        target=target,
        precise=_precise(survey, question, target, people, words) if target else [],
        picture=_picture(target, rows, shown.seen, words) if target else None,
        tree=classroom.place(survey, question, classroom.TREE),
    )


# --- what is asked for --------------------------------------------------------------------------


def _people() -> int:
    """The query's ``people``. Raises BadParameter."""
    text = request.args.get("people", str(_USUAL))
    if text not in map(str, range(_FEWEST, _MOST + 1)):
        raise BadParameter(f"“people” is a whole number from {_FEWEST} to {_MOST:,}")
    return int(text)


def _question(survey: Survey) -> Question:
    """The query's ``question``. Raises BadParameter."""
    questions = {question.name: question for question in survey.questions}
    name = request.args.get("question", survey.questions[0].name)
    if name not in questions:
        raise BadParameter(f"“question” is one of {', '.join(questions)}")
    return questions[name]


# --- how to take part ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Way:
    """The form's address with its code, or why there is none; ``warning`` is for phones.

    ``warns`` says whether these warn themselves before they open it.
    """

    own: str
    address: str
    code: Html
    warning: str
    warns: bool = False


def _way(survey: Survey, words: Words) -> _Way:
    config = cast("Mapping[str, object]", current_app.config)
    public = cast("str | None", config.get("PUBLIC_URL"))
    own = public or own_address(request.environ, cast(str, config["HOSTS"]))
    if own is None:
        return _Way("", "", Html(), words("class.unnamed"))
    address = f"{own}/s/{survey.name}"
    warning = "class.here" if is_here(address) else "class.https"
    unreached = is_here(address) or is_refused_by_phones(address)
    code = qr_code(address, words("class.code", address=address))
    warns = bool(config.get("OWN_CERTIFICATE"))
    return _Way(own, address, code, words(warning) if unreached else "", warns)


# --- what may be seen ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Shown:
    """What the results show: the number of reports and the target's estimate; or ``why`` they show
    nothing."""

    why: str
    reports: int | None = None
    seen: SeenEstimate | None = None
    finding: str = ""
    interval: str = ""

    @property
    def low(self) -> float:
        """The low end of the estimate's interval."""
        return self.seen.row.interval[0] if self.seen else 0.0

    @property
    def high(self) -> float:
        """The high end of the estimate's interval."""
        return self.seen.row.interval[1] if self.seen else 1.0


def _shown(
    survey: Survey, question: Question, target: GuessTarget | None, words: Words, state: State
) -> _Shown:
    """Returns what the results show. Raises TooMuch, Busy, and Unauthorised for a wrong token."""
    try:
        results = shown_results(survey.name)
    except Hidden:
        return _Shown(_why(survey, words, state))
    except Unauthorised:
        if is_bearer(request.headers):
            raise
        return _Shown(words("class.analysts"))
    why = words("class.steps", count=survey.results.minimum) if results.state == "open" else ""
    if target is None:
        return _Shown(why, results.n)
    result = next(candidate for candidate in results.questions if candidate.name == question.name)
    seen = classroom.seen(target, result)
    finding, interval = _in_words(target, seen, words)
    return _Shown(why, results.n, seen, finding, interval)


def _why(survey: Survey, words: Words, state: State) -> str:
    """Says why nothing is shown yet, or ever. It states the rule alone, and gives no hint of how
    many reports came."""
    if state == "closed":
        key = "class.few"
    else:
        key = "class.from" if survey.results.while_open else "class.later"
    rules = survey.results
    return words(key, count=rules.minimum, first=rules.first_shown)


def _in_words(target: GuessTarget, seen: SeenEstimate, words: Words) -> tuple[str, str]:
    """Returns the estimate in words, and its interval."""
    reading = seen.row.reading
    # The library writes an interval in English and without its unit, as "40 to 60".
    low, high = (written(end, words) for end in reading.bare.split(" to "))
    unit = "\u202f%" if target.label else f" {target.unit}" if target.unit else ""
    interval = words("class.interval", low=low, high=f"{high}{unit}")
    if reading.state == "unknown":
        return words("class.unknown", count=seen.n), interval
    key = {"known": "class.about", "below": "class.below", "above": "class.above"}[reading.state]
    label = target.label or words("class.mean_label")
    return words(key, label=label, value=written(_bare(reading), words)), interval


def _bare(reading: Reading) -> str:
    return reading.value.removeprefix("below ").removeprefix("above ")


# --- how precise it will be ---------------------------------------------------------------------


def _rows(
    survey: Survey, target: GuessTarget, people: int, seen: SeenEstimate | None
) -> Sequence[DrawnRow]:
    sizes = ",".join(map(str, classroom.sizes(people, seen)))
    inputs: Mapping[str, str] = {"n": sizes, "share": str(classroom.centre(target, seen))}
    return rows_of(survey, classroom.FUNNEL, target.number, inputs)


def _precise(
    survey: Survey, question: Question, target: GuessTarget, people: int, words: Words
) -> list[str]:
    rows = _rows(survey, target, people, None)
    margin = next(value(row, "margin") for row in rows
                 if row["what"] == "spread" and row["n"] == people)  # fmt: skip
    return classroom.precision(survey, question, target, people, words, margin)


@dataclass(frozen=True)
class _Picture:
    """The funnel, and where in it the low and the high end of the target's range are, in pixels
    from above."""

    drawn: Picture
    low: float
    high: float


def _picture(
    target: GuessTarget, rows: Sequence[DrawnRow], seen: SeenEstimate | None, words: Words
) -> _Picture:
    # The funnel is drawn about the class's own estimate, once there is one: ``classroom.centre``.
    half = words("class.truth", share="50\u202f%")
    names = FunnelWords(
        title=words("class.funnel"),
        band=words("class.band"),
        truth=words("class.truth_own") if seen and seen.row.drawn else half,
        drawn=words("class.drawn"),
        told=words("class.drawn"),
        seen=words("class.this"),
        interval=words("class.bounds"),
        people=words("class.people"),
        share=words("class.axis" if target.label else "class.axis_mean"),
    )
    # Those that an introduction tells are of no class.
    own = [row for row in rows if row["what"] != "introduction"]
    drawn = funnel(own, names, classroom.rows_of(target, seen) if seen else (), whole=True)
    assert isinstance(drawn.drawing, graph.Graph)
    low, high = (graph.height(drawn.drawing, at) for at in (0.0, 1.0))
    return _Picture(drawn, low, high)
