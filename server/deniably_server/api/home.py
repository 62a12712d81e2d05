"""Serves the list of surveys: those that are open, with their guessing rates, and a finding of
each whose results everybody may see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from flask import Blueprint, render_template

from deniably.core.languages.html import Html
from deniably.exhibits import cards, glance
from deniably.results.result import CONFIDENCE
from deniably.survey.guessing_rates import guessing, rate_text
from deniably.survey.survey import Survey
from deniably.wording.words import ENGLISH
from deniably_server.api.cached_views import computed_before
from deniably_server.api.visibility import withheld
from deniably_server.guard.app_state import current_store
from deniably_server.storage.tables.register import ListedSurvey
from deniably_server.web import language, paging, thirty_people
from deniably_server.web.operation import PAGE, Operation

if TYPE_CHECKING:
    from flask.typing import ResponseReturnValue

blueprint = Blueprint("home", __name__)

_INTRO = 160
"""Characters of an introduction that a list shows."""
_NOTHING = Html()


@dataclass(frozen=True)
class GuessingRates:
    """The highest rates of right guesses at a respondent's answers, of 100 guesses. ``one`` is for
    the one answer that is easiest to guess, ``all`` for all answers together.

    ``waves`` says whether ``all`` covers all waves of a panel. ``often`` is true if ``all`` is so
    high that the form makes its weaker promise.
    """

    one: int | Decimal
    all: int | Decimal
    waves: bool
    often: bool


@dataclass(frozen=True)
class Tile:
    """A survey in the list of surveys. If neither its definition nor its tallies were read, all
    fields except ``card`` have their defaults.

    ``its`` has the HTML attributes ``lang`` and ``dir`` for the survey's texts. ``results`` is the
    text of the link to its results. ``by_link`` is true if the form opens only by the link of a
    stratum.
    """

    card: ListedSurvey
    intro: str = ""
    its: Html = _NOTHING
    invited: bool = False
    rates: GuessingRates | None = None
    finding: cards.Card | None = None
    results: str = "Results, or when they come"
    by_link: bool = False


@blueprint.get("/")
@Operation(PAGE, query=paging.PARAMETERS)
def home() -> ResponseReturnValue:
    """Returns the surveys of this server, 50 on each page.

    Guessing rates and findings are computed in another process and renewed every ten minutes. The
    list itself does not wait for them.
    """
    page = paging.wanted()
    listed, size = current_store().listed_surveys(page.start, paging.SIZE)
    pages = page.of(size)
    return computed_before(
        ("home", page.number, size, *listed),
        now=lambda: _page([_tile(card) for card in listed], pages),
        meanwhile=lambda: _page([Tile(card) for card in listed], pages),
    )


def _page(tiles: Sequence[Tile], pages: paging.Pages) -> str:
    findings = [tile.finding for tile in tiles if tile.finding]
    about = "One finding of each survey"
    return render_template(
        "home.html",
        open=[tile for tile in tiles if tile.card.state == "open"],
        closed=[tile for tile in tiles if tile.card.state != "open" and not tile.finding],
        findings=cards.glance(findings, CONFIDENCE, about=about, heading="Survey"),
        pages=pages,
        picture=thirty_people.picture(ENGLISH, moves=False),
    )


def _tile(card: ListedSurvey) -> Tile:
    survey = current_store().survey(card.name)
    waiting = withheld(survey)
    return Tile(
        card,
        _beginning(survey.intro or ""),
        language.survey_texts(survey, ENGLISH),
        survey.invited is True,
        _rates(survey) if card.state == "open" else None,
        None if waiting else _finding(survey),
        f"Results {waiting}".rstrip(),
        bool(survey.strata),
    )


def _rates(survey: Survey) -> GuessingRates:
    rates = guessing(survey)
    highest, everything = map(rate_text, (rates.highest, rates.everything))
    return GuessingRates(highest, everything, rates.waves is not None, rates.often)


def _finding(survey: Survey) -> cards.Card:
    """Returns the finding of the first card of results that everybody may see."""
    tallies = current_store().shown_tally(survey.name)
    return glance.finding(survey, tallies, address=f"/surveys/{survey.name}")


def _beginning(text: str) -> str:
    """Returns a text's first characters, cut at a word."""
    line = " ".join(text.split())
    if len(line) <= _INTRO:
        return line
    return f"{line[:_INTRO].rpartition(' ')[0] or line[:_INTRO]}…"
