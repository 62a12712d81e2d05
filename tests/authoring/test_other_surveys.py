"""What an author is told about respondents who answered everything else of the author's."""

from __future__ import annotations

import json
from datetime import date, timedelta

import pytest

from deniably.authoring.compiling import publish_text
from deniably.authoring.other_surveys import Published, left_to_loyal, published_by, sentences
from deniably.core.canonical import digest
from deniably.core.errors import BadRegister
from deniably.survey.survey import Survey, as_survey
from deniably.trust.register import NOTHING, Register, published_entry
from support.keys import key_of
from support.material import AUTHOR, register_text, signed

TODAY = "2026-11-21"
STRANGER = key_of(bytes(range(1, 33)))


def asking(name: str, questions: int, epsilon: str = "0.8", more: str = "") -> Survey:
    listed = "".join(
        f"  - {{name: q{i}, type: yes_no, label: Q, epsilon: {epsilon}}}\n"
        for i in range(questions)
    )
    return publish_text(f"name: {name}\ntitle: T\n{more}questions:\n{listed}")


def days_ago(days: int) -> str:
    return (date.fromisoformat(TODAY) - timedelta(days=days)).isoformat()


class Site:
    """A server with these surveys, each by an author and published so many days ago."""

    def __init__(self, *listed: tuple[int, Survey], stranger: Survey | None = None) -> None:
        head, entries = NOTHING, []
        theirs = [(AUTHOR, days, survey) for days, survey in listed]
        theirs += [(STRANGER, 1, stranger)] if stranger else []
        for number, (author, days, survey) in enumerate(theirs, start=1):
            signature = signed(survey, author)
            entries.append(published_entry(survey, signature, days_ago(days), number, head))
            head = digest(entries[-1])
        self.pages = {"/register": register_text(Register(entries, head))}
        self.pages |= {f"/api/surveys/{each.name}": each.canonical for _, _, each in theirs}

    def fetch(self, path: str) -> bytes:
        return self.pages.get(path, b"")


def told(survey: Survey, site: Site) -> str:
    return "\n".join(sentences(survey, AUTHOR.author, site.fetch, TODAY))


def test_without_other_surveys_nothing_is_said() -> None:
    own = asking("own", 6)

    assert told(own, Site()) == ""
    assert told(own, Site((1, own))) == "", "published before"
    assert told(own, Site((365, asking("old", 6)))) == "", "a year ago"
    assert told(own, Site(stranger=asking("theirs", 6))) == ""


def test_the_third_survey_of_six_questions_is_refused_by_those_who_answered_both() -> None:
    site = Site((300, asking("first", 6)), (100, asking("second", 6)))

    said = told(asking("third", 6), site)

    assert "your survey number 3 on this server in 365 days" in said
    assert "answered the 2 others has used epsilon 9.60 of the 10" in said
    assert "this one asks 4.80 more: their devices refuse it before 2027-01-25" in said
    assert "People who take part in everything will be missing from its results" in said


def test_a_survey_that_fits_is_said_to_fit() -> None:
    said = told(asking("second", 6), Site((364, asking("first", 6))))

    assert "answered the other one has used epsilon 4.80 of the 10" in said
    assert said.endswith("and 9.60 with this one.")


def test_what_nobody_can_answer_all_of_is_said() -> None:
    site = Site(*((300 - i, asking(f"s{i}", 6)) for i in range(4)))

    said = told(asking("fifth", 1, "0.3"), site)

    assert "used epsilon 9.60" in said
    assert "only 2 of them fit below this limit" in said
    assert said.endswith("9.90 with this one.")


def test_a_wave_costs_its_memos_once() -> None:
    panel = "waves: {panel: work}\n"
    waves = [asking(f"wave-{i}", 4, "0.5", panel) for i in range(4)]
    others = [Published(days_ago(9 - i), wave) for i, wave in enumerate(waves[:3])]

    left = left_to_loyal(waves[3], others, TODAY)

    assert left.spent == waves[0].history
    assert left.asked.epsilon == 0
    assert not left.refused


def test_of_a_survey_that_asks_some_the_dearest_draw_counts() -> None:
    both = publish_text(
        "name: some\ntitle: T\npart: false\nquestions:\n"
        "  - {name: a, type: yes_no, label: A, odds: 9}\n"
        "  - {name: b, type: yes_no, label: B, odds: 3}\n"
    )
    some = as_survey(json.loads(both.canonical) | {"ask": 1})

    left = left_to_loyal(asking("own", 1), [Published(TODAY, some)], TODAY)

    assert left.spent.odds == 9


@pytest.mark.parametrize("page", ["/register", "/api/surveys/first"])
@pytest.mark.parametrize("content", [b"", b"<html></html>", b"{}"])
def test_a_server_that_shows_something_else_is_not_believed(page: str, content: bytes) -> None:
    site = Site((1, asking("first", 6)))
    site.pages[page] = content

    with pytest.raises(BadRegister):
        published_by(AUTHOR.author, site.fetch, TODAY)


def test_another_definition_than_in_the_register_is_not_believed() -> None:
    site = Site((1, asking("first", 6)))
    site.pages["/api/surveys/first"] = asking("first", 5).canonical

    with pytest.raises(BadRegister, match="first is in the register, and cannot be fetched"):
        told(asking("own", 1), site)


def test_where_parts_are_allowed_it_says_how_many_questions_are_left() -> None:
    site = Site(*((300 - i, asking(f"s{i}", 6)) for i in range(2)))
    fourth = as_survey(json.loads(asking("third", 4, "0.2").canonical) | {"part": True})

    said = told(fourth, site)

    assert "people who answered all others will be offered about 2 of 4 questions before" in said
