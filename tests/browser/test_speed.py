"""What makes the form quick on a slow phone; `make bench` measures the time that it takes."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from deniably.authoring.compiling import publish_text
from support.every_type import survey_within_limits
from support.material import Server
from support.phone import SURVEY, Watched
from support.soak import soak

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server") / "deniably.db")
    for survey in (publish_text(SURVEY), survey_within_limits()):
        server.publish(survey)
    yield server
    server.kill()


@pytest.fixture(params=[soak("workplace"), "everything"])
def path(request: pytest.FixtureRequest) -> str:
    return f"/s/{request.param}"


@pytest.mark.parametrize(
    ("path", "accepted", "most"),
    [
        soak("/s/workplace", "gzip", 46_300),
        ("/s/workplace", "gzip, br", 42_300),
        ("/s/everything", "gzip", 50_000),
        soak("/s/everything", "gzip, br", 46_100),
    ],
)
def test_the_start_is_two_ways_to_the_server_away_and_the_form_weighs_less_than_50_kb(
    new_phone: Watched, path: str, accepted: str, most: int
) -> None:
    """The page, and at once what it names: on a slow phone each further way is half a second. That
    is all that it takes to answer; the copy that is kept for use without a network comes later.

    With Brotli, which browsers take over HTTPS and here, on localhost, it is 4 kB less.
    """
    phone = new_phone
    phone.page.add_init_script("delete Navigator.prototype.serviceWorker")
    sizes: list[int] = []
    line = phone.page.context.new_cdp_session(phone.page)
    line.send("Network.enable")
    phone.page.set_extra_http_headers({"Accept-Encoding": accepted})
    line.on("Network.loadingFinished", lambda one: sizes.append(one["encodedDataLength"]))
    answer = phone.page.goto(phone.url + path)
    assert answer
    named = {phone.url + path for path in re.findall(r'(?:href|src)="([^"]+)"', answer.text())}
    phone.see("#survey[data-kept]")

    fetched = [request.url for request in phone.requests][1:]
    assert set(fetched) <= named
    assert 2 <= len(fetched) == len(set(fetched)) <= 6, "as many as a browser fetches at once"
    phone.page.wait_for_load_state("networkidle")
    assert len(sizes) >= 3
    assert sum(sizes) < most, "over the wire, with all headers"


def test_on_the_next_visit_only_the_page_comes_over_the_wire(new_phone: Watched, path: str) -> None:
    phone = new_phone
    phone.open(path)
    seen: list[str] = []
    line = phone.page.context.new_cdp_session(phone.page)
    line.send("Network.enable")

    def received(event: dict[str, object]) -> None:
        response = event["response"]
        assert isinstance(response, dict)
        if not response.get("fromDiskCache") and not response.get("fromServiceWorker"):
            seen.append(response["url"])

    line.on("Network.responseReceived", received)
    phone.page.reload()
    phone.see("#survey[data-kept]")

    assert {url for url in seen if "/web/" in url} == set()
