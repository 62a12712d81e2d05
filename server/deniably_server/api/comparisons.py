"""Reads the question that a request compares, and makes the views of a comparison from its
description (``exhibits.comparison``)."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeVar

from flask import request

from deniably.core.errors import Incomparable
from deniably.exhibits.comparison import Comparison
from deniably.exhibits.exhibit import Exhibit, Records
from deniably.results.differences import Side
from deniably.survey.questions import Question
from deniably.survey.survey import Survey
from deniably_server.api.exhibits import Kind, Shown, descriptions, who_answered
from deniably_server.api.fine_parameters import LEVEL, confidence
from deniably_server.api.paper_files import WIDTH
from deniably_server.api.subgroups import Respondents, respondents, subgroup_links
from deniably_server.errors import BadParameter
from deniably_server.guard.app_state import current_store
from deniably_server.web.operation import NAMED, QueryParameters

_Document = TypeVar("_Document")


def kind_of(comparison: Comparison[_Document]) -> Kind[_Document]:
    """Returns the ``Kind`` that shows a comparison in every format."""
    own: QueryParameters = {
        f"{name}!": {**NAMED, "description": about} for name, about in comparison.asks.items()
    }
    query: QueryParameters = {"question!": NAMED, **own, **LEVEL}
    title = comparison.called

    def read(name: str) -> _Document:
        compared = side(respondents(name))
        if missing := comparison.missing(request.args):
            raise BadParameter(missing)
        with comparable():
            return comparison.compute(compared, request.args, confidence())

    def exhibit_of(name: str, document: _Document) -> Exhibit:
        sample, closed = respondents(name), current_store().closing_day(name)
        return comparison.exhibit(document, sample.survey, sample.visible.state, closed)

    def sheet(name: str, document: _Document) -> tuple[str, Records]:
        exhibit = exhibit_of(name, document)
        return exhibit.file, exhibit.records

    def show(name: str, document: _Document) -> Shown:
        sample, exhibit = respondents(name), exhibit_of(name, document)
        return Shown(
            exhibits=[exhibit],
            heading=exhibit.heading,
            chip=sample.visible.state,
            who=who_answered(exhibit.source.n, sample.strata),
            home=sample.survey.title,
            subgroups=subgroup_links(sample, *(key.removesuffix("!") for key in query)),
            surveys=[name],
        )

    return Kind(
        name=comparison.name,
        about=descriptions(title, f"{title}."),
        document=comparison.document,
        query=query,
        svg={**query, **WIDTH},
        page=query,
        figure=query,
        read=read,
        sheet=sheet,
        show=show,
        back=title,
    )


def side(sample: Respondents) -> Side:
    """Returns one side of a comparison: the question that the request names, with the tallies of
    ``sample``. Raises BadParameter where the survey has no such question."""
    question = asked_question(sample.survey)
    return Side(
        sample.survey,
        question,
        sample.tallies()[question.name],
        request.args.get("part"),
        sample.strata,
        followed=sample.followed(question.name),
    )


def asked_question(
    survey: Survey, fits: Callable[[Question], bool] = lambda question: True
) -> Question:
    """Returns the question that the request names. Raises BadParameter, which lists the questions
    for which ``fits`` is true, where the survey has none of this name."""
    name = request.args.get("question", "")
    for question in survey.questions:
        if question.name == name:
            return question
    names = ", ".join(question.name for question in survey.questions if fits(question))
    raise BadParameter(f"“question” names one of the questions of {survey.name}: {names}")


@contextmanager
def comparable(hint: Callable[[str], str] = lambda why: why) -> Generator[None]:
    """Turns Incomparable into BadParameter within the block. ``hint`` gets the reason and returns
    the text of BadParameter, such as the reason with a suggestion."""
    try:
        yield
    except Incomparable as error:
        raise BadParameter(hint(str(error))) from None
