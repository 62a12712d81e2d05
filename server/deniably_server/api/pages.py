"""Serves the pages for people: the form and the dashboard."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, cast
from urllib.parse import urlencode

from flask import Blueprint, current_app, render_template, request

from deniably.core.counting import counted, people
from deniably.core.errors import BadLink, TravelledApart
from deniably.core.languages.html import Html
from deniably.core.loss import Loss
from deniably.design.mixer_plan import answer_losses
from deniably.design.release_of_counts import counts_alone
from deniably.estimation import question_shares
from deniably.exhibits import cards
from deniably.results.document import SurveyResult
from deniably.results.drawing import rounding
from deniably.results.narrative import level_text
from deniably.results.pair_plausibility import checkable
from deniably.results.side_by_side import has_figures
from deniably.survey.guessing_rates import OFTEN, guessing, rate_text
from deniably.survey.mixer import Mixer
from deniably.survey.parts import Range
from deniably.survey.parts import number as exact
from deniably.survey.questions import NOT_APPLICABLE, Conditional, offered
from deniably.survey.strata import query_of, stratum_in, stratum_text
from deniably.survey.survey import Survey, show_if
from deniably.wording import explain
from deniably.wording.first_page import first_page
from deniably.wording.mixer_page import mixer_guess, mixer_rates
from deniably.wording.words import ENGLISH, LANGUAGES, Words
from deniably.workbench.report_columns import note
from deniably_server.api.analysts import or_ask_for_a_token
from deniably_server.api.by_stratum import comparable_keys, strata_links
from deniably_server.api.cached_views import cached_view
from deniably_server.api.crosstabs import crosstab_links
from deniably_server.api.differences import difference_links
from deniably_server.api.fine_parameters import confidence
from deniably_server.api.groups import group_links
from deniably_server.api.hidden_results import hidden_page
from deniably_server.api.lab import funnel_address
from deniably_server.api.missing_people import missing_people
from deniably_server.api.paper_texts import FILES, publication_of
from deniably_server.api.results import SHOWN, current_results, given_query, wants_smooth
from deniably_server.api.subgroups import query_of_view, respondents, subgroup_links
from deniably_server.api.visibility import layout_given_out
from deniably_server.api.waves import wave_links
from deniably_server.errors import Hidden
from deniably_server.guard.app_state import current_store
from deniably_server.guard.headers import CONTENT_POLICY, policy_with
from deniably_server.web import language, place_map
from deniably_server.web.icon_array import dots, place
from deniably_server.web.operation import PAGE, TOKEN, Operation

if TYPE_CHECKING:
    from flask.typing import ResponseReturnValue

pages = Blueprint("pages", __name__)

_BRACKETS = re.compile(r"\([^()]{1,30}\)")

_KEPT = 1 << 14
"""Bytes; the forms of definitions up to this size are written once and kept."""
_FIELDS = ("select_multiple", "number", "vector", "point", "product")


@pages.get("/s/<name>")
@Operation(PAGE, ("not-found",), query={"language": {"type": "string"}}, strata=True)
def form(name: str) -> ResponseReturnValue:
    """Returns the form that a respondent answers. True answers never leave the browser.

    In a survey with strata the link says the stratum, with a parameter for each key.
    """
    store = current_store()
    survey = store.survey(name)
    words = language.chosen(survey)
    if store.state(name) == "closed":
        return render_template(
            "arrived.html" if survey.mixer else "message.html",
            words=words,
            survey=survey,
            script_words=Html.data(language.for_closed(words)),
            title=words("start.page"),  # the browser's history keeps titles
            heading=words("closed.heading"),
            # With a mixer the page's script says what became of what this device sent.
            text=words("closed.mixed" if survey.mixer else "closed.text"),
            link=(f"/surveys/{name}", words("closed.link")),
        )
    try:
        stratum = stratum_in(urlencode(request.args), survey.strata or {})
    except BadLink:  # nothing of the link is repeated
        return render_template(
            "message.html",
            words=words,
            title=words("start.page"),
            heading=words("strata.heading"),
            text=words("strata.text"),
            link=("/", words("missing.link")),
        ), 400
    write = _kept_form if len(survey.canonical) <= _KEPT else _form
    page = write(_Form(survey.digest, words.language, tuple(sorted(stratum.items())), survey))
    if not isinstance(survey.mixer, Mixer):
        return page
    # This page alone talks to another server than this one.
    return page, {CONTENT_POLICY: policy_with(survey.mixer.address)}


def trial_form(survey: Survey, template: str, **more: object) -> str:
    """Returns the form of a survey that an author tries out. ``template`` extends the template of
    the form and gets the values in ``more``. In a survey with strata the form is that of the first
    stratum."""
    words, stratum = language.chosen(survey), survey.every_stratum[0] if survey.strata else {}
    key = _Form(survey.digest, words.language, tuple(sorted(stratum.items())), survey)
    return render_template(template, **_shown(key), **more)


@dataclass(frozen=True)
class _Form:
    """All that a form depends on; equal ones have the same text."""

    digest: str
    language: str
    stratum: tuple[tuple[str, str], ...]
    survey: Survey = field(compare=False, repr=False)


def _form(key: _Form) -> str:
    """Returns the form's HTML."""
    return render_template("form.html", **_shown(key))


def _shown(key: _Form) -> dict[str, object]:
    """Returns what the template of a form shows."""
    survey, words, stratum = key.survey, Words(key.language), dict(key.stratum)
    fields = any(question.type in _FIELDS for question in survey.questions)
    losses = _losses(_Definition(survey.digest, survey))
    return {
        "survey": survey,
        "stratum": stratum,
        "link": query_of(stratum)[1:],
        "definition": Html.data(survey.canonical.decode()),
        "words": words,
        "its": language.survey_texts(survey, words),
        "ours": language.interface_texts(survey, words),
        "languages": [(code, Words(code)("language.name")) for code in LANGUAGES],
        "script_words": Html.data(
            language.for_scripts(
                words,
                fields=fields,
                invited=survey.invited is True,
                sealed=bool(survey.mixer),
            )
        ),
        "explain": explain,
        "dots": dots,
        "place": place,
        "borders": place_map.borders,
        "outline": place_map.outline,
        "OFTEN": OFTEN,
        "first": first_page(survey, words, losses),
        "mixer_guess": _mixer_guess(survey, losses, words),
        "rates": guessing(survey),
        "rate_text": rate_text,
        "FIELDS": _FIELDS,
        "fields": fields,
        "keyboard": _keyboard,
        "alone": question_shares.UNSCORED,
        "hidden": _hidden_choice(survey),
        "offered": offered,
    }


def _mixer_guess(
    survey: Survey, losses: Mapping[str, Loss], words: Words
) -> Callable[[int], str] | None:
    """Returns what says of a question how well it is guessed; None without a mixer."""
    if not survey.mixer:
        return None
    rates = mixer_rates(survey, losses)
    return lambda number: mixer_guess(survey, rates, number, words)


@dataclass(frozen=True)
class _Definition:
    """A definition; two with one digest are equal."""

    digest: str
    survey: Survey = field(compare=False, repr=False)


@lru_cache(maxsize=64)
def _losses(definition: _Definition) -> Mapping[str, Loss]:
    """Returns the loss of one answer to each question of a survey with a mixer. It is the same in
    every language, and takes a second where there are thousands of blanks."""
    return answer_losses(definition.survey)


# Each device fetches the form twice: to show it, and to keep it for use without a network. To write
# it takes several times as long as the rest of the request.
_kept_form = lru_cache(maxsize=256)(_form)


@pages.get("/surveys/<name>")
@Operation(PAGE, ("not-found", "too-much", "busy", *TOKEN), query=SHOWN, strata=True)
@or_ask_for_a_token
@cached_view("tallies")
def dashboard(name: str) -> str:
    """Returns the dashboard: the results, or why they are not shown yet."""
    survey, smooth, at = current_store().survey(name), wants_smooth(), confidence()
    try:
        results = current_results(name, smooth=smooth, confidence=at)
    except Hidden as hidden:
        return hidden_page(name, hidden)
    shown_cards = cards.cards(results)
    sample, level = respondents(name), given_query("confidence")
    crossed = crosstab_links(survey, results.state)
    keys = comparable_keys(sample.visible, sample.strata)
    rate = results.response_rate
    return render_template(
        "dashboard.html",
        cards=shown_cards,
        counts_alone=_counts_alone(survey, results),
        glance=cards.glance(shown_cards, results.confidence),
        response_rate=None if rate is None else rounding.number(100 * rate, 1),
        precision=cards.precision(results, shown_cards, survey),
        funnel=None if _offline() else _funnel(survey, shown_cards),
        missing="" if _offline() else missing_people(name),
        pairs=_below(survey, crossed[1:], "confidence"),
        links=[
            *_below(survey, crossed[:1], "confidence"),
            *_below(survey, difference_links(survey), "confidence"),
            *_below(survey, strata_links(keys), "confidence"),
            *((f"{address}{level}", text) for address, text in _waves(survey)),
            *_below(survey, group_links(survey)),
        ],
        keys=keys,
        apart=TravelledApart() if survey.mixer and survey.asked > 1 else "",
        checks=results.state == "closed"
        and not survey.mixer
        and bool(checkable(survey))
        and current_store().whole_reports,
        results=results,
        smooth=smooth,
        query=query_of_view(survey, "smooth", "confidence"),
        same_part=query_of_view(survey, "confidence"),
        compared={question.name for question in survey.questions if has_figures(question)},
        subgroups=subgroup_links(sample, "smooth", "confidence"),
        data_note=_data_note(survey, results.state),
        paper=publication_of(results),
        paper_files=FILES,
        survey=survey,
    )


def _data_note(survey: Survey, state: str) -> str:
    """Returns whether the reports that are given out have columns for strata; empty without
    either."""
    if state != "closed" or survey.reports_to == "never" or _offline():
        return ""
    return note(layout_given_out(current_store(), survey)) if survey.strata else ""


def _below(survey: Survey, links: Iterable[tuple[str, str]], *names: str) -> list[tuple[str, str]]:
    """Returns links relative to the dashboard that keep the subgroup and these parameters of the
    request."""
    query = query_of_view(survey, *names)
    return [
        (f"{address}{query.replace('?', '&') if '?' in address else query}", text)
        for address, text in links
    ]


def _waves(survey: Survey) -> list[tuple[str, str]]:
    """Returns links to the other waves, where there is a server that has them."""
    return [] if _offline() else wave_links(survey)


def _offline() -> bool:
    return cast(bool, current_app.config["OFFLINE"])


def _funnel(survey: Survey, shown_cards: Sequence[cards.Card]) -> str | None:
    """Returns the address of the page that shows why shares are uncertain, for the least precise
    question. None where there are a mixer's blanks, which that page does not know."""
    if survey.mixer:
        return None
    halves = [(card.half, card.question) for card in shown_cards if card.half is not None]
    halves.sort(key=lambda half_and_question: -half_and_question[0])
    return funnel_address(survey, ((question.label, question.n) for _, question in halves))


def _counts_alone(survey: Survey, results: SurveyResult) -> dict[str, str]:
    """Returns for each question what its published counts give away to people who see nothing
    else."""
    of = {question.name: question for question in survey.questions}
    released = {
        release.name: counts_alone(survey, of[release.name], release.n)
        for release in results.questions
    }
    return {name: release.sentence for name, release in released.items() if release is not None}


@pages.get("/measures")
@Operation(PAGE)
def measures() -> str:
    """Returns a harmless page to which "Exit this page" leads, without a request to a third
    party."""
    return render_template("measures.html")


@pages.app_context_processor
def default_words() -> dict[str, Words]:
    """Returns {"words": English words} for every template, as pages of authors and analysts need
    them."""
    return {"words": ENGLISH}


@pages.app_template_filter("unbroken")
def unbroken(sentence: str) -> str:
    """Returns a sentence whose intervals in brackets stay on one line."""
    return _BRACKETS.sub(lambda match: match[0].replace(" ", "\u00a0"), sentence)


pages.add_app_template_filter(level_text, "level")
pages.add_app_template_filter(counted, "counted")
pages.add_app_template_filter(people, "people")
pages.add_app_template_filter(stratum_text, "stratum")


def _keyboard(grid: Range) -> str:
    """Returns the ``inputmode`` for the numbers of a range; numeric keyboards may lack a minus
    sign."""
    if exact(grid.minimum) < 0:
        return "text"
    ends = (exact(grid.minimum), exact(grid.step))
    return "numeric" if all(end.denominator == 1 for end in ends) else "decimal"


def _hidden_choice(survey: Survey) -> str | None:
    """Returns the label of the answer to a question that is not shown; None without such
    questions."""
    for question in survey.questions:
        if show_if(question) and isinstance(question, Conditional):
            return next(
                choice.label for choice in question.choices if choice.name == NOT_APPLICABLE
            )
    return None
