"""How this works: the picture of 30 people says what the library's own mechanism does."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import product

import pytest
from flask.testing import FlaskClient

from deniably.estimation.estimate import estimate
from deniably.estimation.intervals import respondents_interval
from deniably.estimation.tally import tally
from deniably.wording.words import LANGUAGES, Words
from deniably_server.web.sheets import join_sheets
from deniably_server.web.thirty_people import (
    COMPATIBLE,
    MECHANISM,
    PEOPLE,
    SENT,
    TURNED,
    YES,
    example_numbers,
    picture,
    undoing,
)

RAIN = "/web/style/rain.css"


def test_as_many_are_sent_as_the_mechanism_sends_on_average() -> None:
    """Exactly: each person's report is yes or no with the mechanism's own probabilities."""
    law = MECHANISM.law
    expected = sum(law.p if person in YES else law.q for person in range(PEOPLE))

    assert expected == len(SENT) == 12
    assert abs(len(TURNED) - PEOPLE * (1 - law.p)) < 1, "and as many are turned round"
    assert {one for one in range(PEOPLE) if (one in YES) != (one in TURNED)} == SENT


def test_the_sum_undoes_the_mechanism() -> None:
    found = undoing()
    reports = [(0 if person in SENT else 1,) for person in range(PEOPLE)]

    by_library = estimate(tally(reports, None), MECHANISM)

    assert found.estimate == len(YES) == pytest.approx(PEOPLE * by_library.raw[0])
    assert (found.sent - found.chance) * found.each == found.estimate
    assert (str(found.chance), str(found.left), found.each) == ("7.5", "4.5", 2)


def test_the_sum_holds_on_average_for_any_number_of_people_who_say_yes() -> None:
    """So it is no accident of nine: for each number, over all that chance can do to 4 people."""
    p, q = MECHANISM.law.p, MECHANISM.law.q
    for yes in range(5):
        mean = Fraction(0)
        for sent in product((True, False), repeat=4):
            chance = Fraction(1)
            for person, said in enumerate(sent):
                share = p if person < yes else q
                chance *= share if said else 1 - share
            mean += chance * (sum(sent) - 4 * q) / (p - q)
        assert mean == yes


def test_what_the_reports_of_30_people_fit_is_the_exact_interval() -> None:
    p, q = float(MECHANISM.law.p), float(MECHANISM.law.q)
    found = respondents_interval(len(SENT), PEOPLE, p, q, 0.05, exact=True)

    assert (int(-(-PEOPLE * found.low // 1)), int(PEOPLE * found.high)) == COMPATIBLE


def test_the_picture_shows_the_people_that_it_counts() -> None:
    text = picture(Words(), moves=True).source
    filled = [path.count("M") for path in re.findall(r'class="y" d="([^"]*)"', text)]
    hollow = [path.count("M") for path in re.findall(r'id="n\d+" d="([^"]*)"', text)]
    falling = re.findall(r'class="f ([yn])([yn]) k', text)

    assert filled == [len(YES), len(SENT)] == [9, 12]
    assert hollow == [PEOPLE - 9, PEOPLE - 12]
    assert len(falling) == PEOPLE
    assert [sum(end == "y" for end in ends) for ends in zip(*falling, strict=True)] == filled
    assert sum(above != below for above, below in falling) == len(TURNED)
    assert text.count("style=") == text.count("<script") == 0
    assert "circle" not in picture(Words(), moves=False).source


def test_picture_and_motion_weigh_less_than_6_kb(client: FlaskClient) -> None:
    rules = client.get(RAIN).text
    for language in LANGUAGES:
        drawn = picture(Words(language), moves=True).source
        assert len((drawn + join_sheets([rules])).encode()) < 6_000, language


def test_it_moves_only_for_who_allows_motion_once_and_for_5_seconds(client: FlaskClient) -> None:
    rules = client.get(RAIN).text
    still, _, moving = rules.partition("@media screen and (prefers-reduced-motion: no-preference)")

    assert "animation" not in still
    assert "@keyframes" not in still
    assert "infinite" not in rules
    assert "transition" not in rules
    waits = [float(wait) for wait in re.findall(r"animation-delay: ([\d.]+)s", moving)]
    named = re.findall(r"animation: \w+ ([\d.]+)s(?: ([\d.]+)s)?", moving)
    ends = [float(time) + (float(wait) if wait else max(waits)) for time, wait in named]
    assert len(ends) == moving.count("animation:") == 3
    assert max(ends) < 5


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_speaks_the_reader_s_language(client: FlaskClient, language: str) -> None:
    words = Words(language)
    asked = client.get(f"/how?language={language}").text
    preferred = client.get("/how", headers={"Accept-Language": f"{language};q=0.9, xx"}).text

    assert asked == preferred
    assert f'<html lang="{language}"' in asked
    for key in ("how.heading", "how.true", "how.sent", "how.band", "how.found", "how.limits_text"):
        assert words(key, **example_numbers()) in asked
    assert words.number(undoing().chance) in asked
    assert "style=" not in asked


def test_every_page_leads_to_it(client: FlaskClient) -> None:
    for page in ("/", "/register", "/handbook", "/how", "/s/none"):
        assert (
            '<a href="/how?language=en">How this works</a>'
            in client.get(page, headers={"Accept": "text/html"}).text
        )
