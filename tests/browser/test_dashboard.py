"""The dashboard shows what the results say, with its margins, and hides what is hidden."""

from __future__ import annotations

import pytest
import requests

from deniably.authoring.compiling import publish_text
from deniably.results.narrative import display_text, estimate_text
from deniably_client import Device
from deniably_client.device import session
from support.material import Server
from support.phone import SURVEY, Watched

pytestmark = pytest.mark.browser

DEFINITION = publish_text(SURVEY)


@pytest.fixture(scope="module", autouse=True)
def respondents(server: Server) -> None:
    with session() as connections:
        for answers in [
            {"stolen": "yes", "often": "zilch"},
            {"stolen": "no", "often": "zilch"},
        ] * 4:
            Device(f"{server.url}/s/workplace", session=connections).answer(answers)


def percent(share: float) -> str:
    return f"{100 * share:.1f}\u202f%"


def narrow(text: str) -> str:
    return text.replace(" %", "\u202f%")


def test_the_page_and_the_interface_give_the_same_figures(phone: Watched) -> None:
    results = requests.get(f"{phone.url}/api/surveys/workplace/results", timeout=10).json()
    phone.open("/surveys/workplace")

    for card, question in zip(
        phone.page.locator("section.card").all(), results["questions"], strict=False
    ):
        assert card.locator("h2").inner_text() == question["label"]
        assert narrow(question["sentence"]) in card.inner_text()
        rows = card.locator("tbody tr").all()
        assert len(rows) == len(question["choices"])
        for row, choice in zip(rows, question["choices"], strict=True):
            low, high = choice["interval"]
            near, far = choice["respondents_interval"]
            assert row.locator("th, td").all_inner_texts() == [
                choice["label"],
                narrow(estimate_text(choice["estimate"], choice["interval"])),
                f"{percent(low)} to {percent(high)}",
                percent(choice["standard_error"]),
                f"{percent(near)} to {percent(far)}",
                narrow(display_text(choice["consistent"], choice["interval"])),
            ]


def test_the_chart_draws_every_choice_where_the_table_says(phone: Watched) -> None:
    results = requests.get(f"{phone.url}/api/surveys/workplace/results", timeout=10).json()
    phone.open("/surveys/workplace")

    for chart, question in zip(
        phone.page.locator("svg.chart").all(), results["questions"], strict=True
    ):
        top = max(choice["interval"][1] for choice in question["choices"])
        scale = next(end for end in (0.25, 0.5, 1) if top <= end)
        dots = [float(dot.get_attribute("cx") or 0) for dot in chart.locator(".dot").all()]
        assert dots == pytest.approx(
            [8 + 376 * choice["consistent"] / scale for choice in question["choices"]], abs=0.06
        )
        assert chart.get_attribute("role") == "img"
        title = chart.locator("title").text_content() or ""
        assert all(choice["label"] in title for choice in question["choices"])


def test_hidden_results_stay_hidden_and_say_why(phone: Watched) -> None:
    phone.open("/surveys/hidden")

    assert phone.heading() == "The results are not shown yet"
    assert "closed" in phone.page.inner_text("main")
    assert phone.page.locator("svg, table").count() == 0


def test_the_page_of_a_survey_that_is_none_says_so(phone: Watched) -> None:
    answer = phone.page.goto(phone.url + "/surveys/none")

    assert answer
    assert answer.status == 404
    assert phone.heading() == "There is no such page"


def test_home_lists_every_survey(phone: Watched) -> None:
    phone.open("/")

    assert phone.page.locator("h2").count() == 4
    assert phone.page.locator('a[href="/s/workplace"]').count() == 1
    assert phone.page.locator('a[href="/s/closed"]').count() == 0, "a closed survey is not offered"


@pytest.mark.parametrize(
    "name",
    [
        "../deniably_client/device.py",
        "..%2fdevice.py",
        "form/..%2f..%2fdevice.py",
        "x.js",
        "form/x.js",
        "README.md",
        "form.js",
        "form/types.d.ts",
        "core/form.js",
    ],
)
def test_only_the_files_of_the_web_client_are_served(server: Server, name: str) -> None:
    assert requests.get(f"{server.url}/web/{name}", timeout=10).status_code == 404


def test_a_file_of_the_web_client_is_fetched_once(server: Server) -> None:
    url = f"{server.url}/web/form/form.js"
    first = requests.get(url, timeout=10)
    again = requests.get(url, headers={"If-None-Match": first.headers["ETag"]}, timeout=10)

    assert first.headers["Content-Type"].startswith("text/javascript")
    assert (again.status_code, again.content) == (304, b"")
