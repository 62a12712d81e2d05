"""Serves the waves of a panel side by side, as JSON, as CSV and as a page.

The address is that of any wave: panels of different authors may have one name.
"""

from __future__ import annotations

from collections.abc import Hashable

from deniably.core.counting import people
from deniably.core.errors import Incomparable
from deniably.core.languages.html import Html
from deniably.exhibits import wave_exhibit
from deniably.results.waves import (
    Wave,
    WavesResult,
    waves_result,
)
from deniably.survey.survey import Survey, Waves, require_whole_reports
from deniably_server.api.exhibits import Kind, Lead, Shown, blueprint_of, descriptions
from deniably_server.api.fine_parameters import LEVEL, confidence
from deniably_server.api.paper_files import WIDTH
from deniably_server.api.subgroups import everybody
from deniably_server.api.visibility import visible_survey
from deniably_server.errors import Forbidden, Hidden, NotFound, Unauthorised
from deniably_server.guard.app_state import current_store
from deniably_server.web.operation import NAMED, QueryParameters

_QUESTION: QueryParameters = {"question!": NAMED}


def _others(name: str) -> tuple[Hashable, ...]:
    """Returns what the answer depends on: all waves, and the versions of those that the caller may
    see."""
    versions = (visible_survey(wave).version for wave in _shown(name))
    return *current_store().waves(name), *versions


def _show(name: str, result: WavesResult) -> Shown:
    store, last_wave = current_store(), result["waves"][-1]["survey"]
    least, hidden = wave_exhibit.visible_change(result), result["hidden"]
    statement = "The bands show what is compatible with the reports."
    if least:
        statement = (
            f"From the first wave to the last, changes of a share by less than about {least} points"
            " cannot be seen."
        )
    if hidden:
        statement += f" {hidden} more wave{'s are' if hidden > 1 else ' is'} not shown."
    memo_note = (
        "Devices answer each wave from what they keep of the first. People count with their old"
        " answer until they say that it has changed, so real changes look smaller."
    )
    waves = (
        Html.filled(
            '<a href="/surveys/{survey}">wave {number}</a>: {people}',
            survey=Html.text(wave["survey"]), number=wave["number"],
            people=Html.text(people(wave["n"])),
        )
        for wave in result["waves"]
    )  # fmt: skip
    return Shown(
        exhibits=wave_exhibit.exhibits(
            result, store.survey(last_wave), store.closing_day(last_wave)
        ),
        heading=f"All waves, up to “{result['title']}”",
        title=f"{result['title']}, all waves",
        chip=f"{len(result['waves'])} waves",
        who=Html.joined(" · ", waves),
        lead=Lead(
            "How precise is this?", statement, () if store.survey(name).count else (memo_note,)
        ),
        surveys=_shown(name),
        nothing="No question was asked alike in all waves.",
    )


def wave_links(survey: Survey) -> list[tuple[str, str]]:
    """Returns the link to the waves of a survey's panel, as [(address, text)]; empty for a survey
    without waves. The address is relative to the dashboard."""
    return [("waves", "All waves side by side")] if isinstance(survey.waves, Waves) else []


def _current(name: str) -> WavesResult:
    """Returns the document that the request asks for. Raises BadParameter, NotFound or Hidden, and
    TravelledApart for a survey with a mixer, which is no wave."""
    level, store = confidence(), current_store()
    survey = visible_survey(name).survey
    require_whole_reports(survey)
    if not isinstance(survey.waves, Waves):
        raise NotFound(f"{name} is no wave of a panel")
    names, shown = store.waves(name), _shown(name)
    waves = [
        Wave(
            names.index(name_of_wave) + 1,
            visible.survey,
            visible.state,
            store.shown_tally(name_of_wave),
            everybody(visible).together(),
        )
        for name_of_wave in shown
        for visible in [visible_survey(name_of_wave)]
    ]
    try:
        return waves_result(name, waves, len(names) - len(waves), level)
    except Incomparable as error:
        raise Hidden(str(error)) from None


def _shown(name: str) -> list[str]:
    """Returns the names of the waves whose results the caller may see, in the order of
    publication."""
    return [wave for wave in current_store().waves(name) if _may_see(wave)]


def _may_see(name: str) -> bool:
    try:
        visible_survey(name)
    except (Hidden, Unauthorised, Forbidden):
        return False
    return True


WAVES: Kind[WavesResult] = Kind(
    name="waves",
    about=descriptions(
        "The waves",
        "Every question of a panel over its waves, with tests of a change.",
        records="each figure in each wave",
        figure="One question over the waves",
    ),
    document=WavesResult,
    query=LEVEL,
    svg={**_QUESTION, **WIDTH},
    page=LEVEL,
    figure={**_QUESTION, **LEVEL},
    strata=False,
    read=_current,
    sheet=lambda name, found: (f"{name}-waves", wave_exhibit.records(found)),
    show=_show,
    others=_others,
    back="All waves",
)
blueprint = blueprint_of(WAVES, "waves")
