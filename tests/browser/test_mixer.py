"""Forms without a mixer: none answers through one, and none forgets what another page did."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Route

from deniably.authoring.compiling import publish_text
from deniably.survey.survey import as_survey
from spec.cases.ledger import CLAIM, ENVELOPE
from spec.cases.mixers import EIGHT, mixed
from support.material import Server
from support.phone import SURVEY, Watched, answer, memory

pytestmark = pytest.mark.browser

ORDINARY, THROUGH = publish_text(SURVEY), as_survey(mixed(EIGHT, name="through"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server") / "deniably.db")
    for survey in (ORDINARY, THROUGH):
        server.publish(survey)
    yield server
    server.kill()


def test_the_other_forms_refuse_a_survey_with_a_mixer_whole(visitor: Watched) -> None:
    """Large local odds must not go straight to a server."""

    def other(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace("page-mixed.js", "page.js"))

    visitor.page.context.route("**/s/through", other)
    visitor.page.goto(f"{visitor.url}/s/through")

    visitor.wait("refused")

    assert visitor.text("#detail") == "survey: the key mixer is not known"
    visitor.page.context.unroute("**/s/through")


WITH_MIXER = """async ({ build, entries, version, envelope }) => {
  const { update } = await import(`/web/${build}/device/storage.js`);
  await update((memory) => ({
    ...memory,
    ledger: [...memory.ledger, ...entries],
    reports: { ...memory.reports, [version]: envelope },
  }));
}"""


def test_an_ordinary_form_keeps_what_went_through_a_mixer_and_counts_its_claim(
    phone: Watched,
) -> None:
    phone.page.goto(f"{phone.url}/s/workplace")
    phone.see("#survey[data-settled]")
    build = phone.page.evaluate("document.querySelector('script[type=module]').src.split('/')[4]")
    first = {"day": "2999-01-01", "author": "", "survey": "through", "version": "9" * 64}
    first |= {"question": "e", "odds": "8000000", "exponent": "0", "delta": "0", "mixed": CLAIM}
    phone.page.evaluate(
        WITH_MIXER,
        {"build": build, "entries": [first], "version": "9" * 64, "envelope": ENVELOPE},
    )

    answer(phone)

    kept: Any = memory(phone)
    assert kept["ledger"][0] == first
    assert kept["reports"]["9" * 64] == ENVELOPE
    assert len(kept["ledger"]) == 1 + len(ORDINARY.questions)
    assert json.loads(kept["reports"][ORDINARY.digest]["text"])["survey"] == ORDINARY.digest
    posts = [request.url for request in phone.posts()]
    assert posts == [f"{phone.url}/api/surveys/workplace/reports"]
