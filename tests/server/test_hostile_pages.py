"""No text of an author is code on a server's pages, in its files or in the headers of either."""

from __future__ import annotations

import re

import pytest
from flask import Flask
from flask.testing import FlaskClient
from msgspec import structs

from deniably_server.storage.store import Store
from support.hostile_texts import hostile_survey, plain_survey
from support.material import signed
from workbench.test_hostile_texts import Shape

PAGES = (
    "/", "/s/{}?site=north", "/surveys/{}",
    "/api/surveys/{}",
)  # fmt: skip


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    """A server with the hostile survey, past its own check, and the plain one beside it."""
    store: Store = app.extensions["deniably"]
    hostile = hostile_survey()
    hostile = structs.replace(hostile, title=hostile.title[:500])
    for survey in (hostile, structs.replace(plain_survey(), name="plain")):
        store.publish(survey, signed(survey))
    return app.test_client()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_no_element_and_no_header_that_words_made(
    page: str, client: FlaskClient
) -> None:
    found, like = (client.get(page.format(name)) for name in ("exported", "plain"))

    assert found.status_code == like.status_code == 200
    assert set(found.headers.keys()) == set(like.headers.keys())
    assert not any(re.search(r"[\r\n]|evil", value) for _, value in found.headers)
    if found.is_json:
        return
    shape, other = Shape(found.text).shape, Shape(like.text).shape
    assert {one[0] for one in shape} <= {one[0] for one in other}
    assert not {name for one in shape for name in one[1:] if name.startswith("on")}
