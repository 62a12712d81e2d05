"""A nearly used budget on a phone: what counts, until when, and what a year gives back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Browser

from deniably.authoring.compiling import publish_text
from support.intercepting_proxy import InterceptingProxy
from support.material import Server
from support.phone import PHONE, SURVEY, Watched, answer

pytestmark = pytest.mark.browser

SURVEYS = [
    publish_text(SURVEY.replace("workplace", name).replace("epsilon: 0.5", spends))
    for name, spends in (
        ("first", "epsilon: 3.7"),
        ("second", "epsilon: 3.7"),
        ("third", "epsilon: 0.5"),
    )
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server") / "deniably.db")
    for survey in SURVEYS:
        server.publish(survey)
    yield server
    server.kill()


@pytest.fixture
def phone(chromium: Browser, proxy: InterceptingProxy) -> Iterator[Watched]:
    """A phone of its own, because its clock is set, that has answered the first two surveys."""
    context = chromium.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    phone = Watched(context.new_page(), proxy)
    for name in ("first", "second"):
        answer(phone, name)
    yield phone
    context.close()


def later(days: int) -> datetime:
    return datetime.now(UTC) + timedelta(days=days)


def comes_to(proxy: InterceptingProxy, days: int) -> None:
    """From now on the register has one more entry, of an event that devices do not know."""
    day = later(days).date().isoformat()
    proxy.register(lambda entries: entries.append({"event": "later", "day": day}))


@pytest.mark.thorough
def test_a_third_survey_is_answered_when_the_clock_and_the_register_are_a_year_on(
    phone: Watched, proxy: InterceptingProxy
) -> None:
    phone.page.goto(f"{phone.url}/s/third")
    phone.wait("refused")

    phone.page.clock.set_fixed_time(later(365))  # set forwards, and the register does not agree
    phone.page.goto(f"{phone.url}/s/third")
    phone.wait("refused")

    comes_to(proxy, 364)
    phone.page.goto(f"{phone.url}/s/third")
    phone.wait("refused")

    comes_to(proxy, 365)
    phone.open("/s/third")
    assert phone.shown("[data-first] [data-go]")


@pytest.mark.thorough
def test_a_register_alone_gives_nothing_back(phone: Watched, proxy: InterceptingProxy) -> None:
    comes_to(proxy, 10_000)

    phone.page.goto(f"{phone.url}/s/third")

    phone.wait("refused")
