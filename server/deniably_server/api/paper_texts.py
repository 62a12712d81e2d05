"""Serves what a paper says of a survey's results, for their page and as files."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from flask import Blueprint, Response, current_app

from deniably.results.document import SurveyResult
from deniably.results.writing.publication import Publication
from deniably.trust.signing import fingerprint
from deniably_server.api.cached_views import cached_view
from deniably_server.api.fine_parameters import LEVEL, confidence
from deniably_server.api.results import current_results
from deniably_server.api.visibility import RESULTS
from deniably_server.errors import NotFound
from deniably_server.guard.app_state import current_store
from deniably_server.guard.host_names import host_names
from deniably_server.web.operation import TEXT, Operation

blueprint = Blueprint("paper_texts", __name__)

FILES: dict[str, Callable[[Publication], str]] = {
    "METHODS.md": Publication.methods_file,
    "CHECKLIST.md": Publication.checklist_file,
    "CITATION.cff": lambda publication: publication.cite("cff"),
    "references.bib": lambda publication: publication.bibliography,
    "references.ris": lambda publication: publication.records,
}
"""What writes each text, by its file name; an exported folder has the same names."""


@blueprint.get("/api/surveys/<name>/paper/<file>")
@Operation({200: {TEXT: None}}, RESULTS, query=LEVEL, headers=("Content-Disposition",), strata=True)
@cached_view("tallies")
def paper_text(name: str, file: str) -> Response:
    """Returns a text for a paper: METHODS.md, CHECKLIST.md, CITATION.cff, references.bib or .ris.

    These are the methods section in APA style with the findings, what AAPOR asks to disclose, a
    citation of the survey, and the sources of its methods in two formats.
    """
    if file not in FILES:
        raise NotFound(f"there is no such text; there are {', '.join(FILES)}")
    text = FILES[file](publication_of(current_results(name, confidence=confidence())))
    response = Response(text, mimetype=TEXT)
    response.headers["Content-Disposition"] = f'attachment; filename="{name}-{file}"'
    return response


def publication_of(results: SurveyResult) -> Publication:
    """Returns the results of a survey of this server, ready to be written up.

    The publication's ``url`` is empty unless the operator's setting ``hosts`` has exactly one
    name. The Host header is not used, because anybody can send any name in it, which must not get
    into a citation.
    """
    store, survey = current_store(), results.survey
    author = store.author(survey)
    names = host_names(cast(str, current_app.config["HOSTS"]))
    return Publication(
        results,
        store.survey(survey),
        published=store.publication_day(survey),
        closed=store.closing_day(survey),
        signed=fingerprint(author) if author else "",
        url=f"https://{min(names)}/surveys/{survey}" if len(names) == 1 else "",
    )
