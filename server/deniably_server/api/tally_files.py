"""Serves the tally file of a survey with a mixer (SPEC 12.2): the counts of its one batch.

Without a mixer there are reports, of which analysts make tally files themselves.
"""

from __future__ import annotations

from flask import Blueprint, Response

from deniably.workbench.engines.tally_file import tally_text
from deniably.workbench.engines.tallying import Counts, TalliedSet
from deniably_server.api.cached_views import cached_view
from deniably_server.api.visibility import RESULTS, visible_survey
from deniably_server.errors import NotFound
from deniably_server.guard.app_state import current_store
from deniably_server.web.body import JSON
from deniably_server.web.operation import Operation

blueprint = Blueprint("tally_files", __name__)


@blueprint.get("/api/surveys/<name>/tally")
@Operation({200: {JSON: None}}, RESULTS)
@cached_view("tallies")
def tally_file(name: str) -> Response:
    """Returns the tally file of a survey with a mixer, to those who may see its results.

    It has the counts of each question, blanks among them. Counts of two questions do not exist.
    """
    survey, store = visible_survey(name).survey, current_store()
    if not survey.mixer:
        raise NotFound("this survey has no mixer: count its reports with deniably tally")
    counts = Counts(store.shown_reports(name), store.shown_tally(name))
    return Response(tally_text(TalliedSet(survey, (counts,))), mimetype=JSON)
