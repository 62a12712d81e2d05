"""Texts go over the wire compressed, where the client takes it, and mean the same."""

from __future__ import annotations

import gzip

import brotli
import pytest
from flask import Flask, Response
from flask.testing import FlaskClient

from deniably.survey.survey import Survey
from deniably_server.guard.admin_link import first_link
from deniably_server.web.compression import compress
from deniably_server.web.static_files import BUILD
from support.cases import for_each
from support.material import a_report, new_token, signed, survey_named

GZIP = {"Accept-Encoding": "gzip, deflate"}
BROTLI = {"Accept-Encoding": "gzip, deflate, br, zstd"}
FORM = [
    f"/web/{BUILD}/{name}"
    for name in ("form/page.js", "form/page-invited.js", "style/form-page.css")
]
TEXTS = [
    "/s/workplace",
    "/surveys/workplace",
    "/api/surveys/workplace",
    "/web/form/form.js",
    f"/web/{BUILD}/style/page.css",
    "/web/style/icon.svg",
    "/schema/survey.json",
]


@pytest.mark.parametrize("path", TEXTS)
def test_a_text_is_compressed_and_means_the_same(
    client: FlaskClient, survey: Survey, path: str
) -> None:
    plain, packed = client.get(path), client.get(path, headers=GZIP)

    assert "Content-Encoding" not in plain.headers
    if len(plain.data) >= 300:
        assert packed.headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(packed.data) == plain.data
        assert len(packed.data) < len(plain.data)
    for answer in (plain, packed):
        assert answer.headers["Vary"] == "Accept-Encoding"
        assert int(answer.headers["Content-Length"]) == len(answer.data)


@pytest.mark.parametrize("path", [*FORM, *(path.replace(f"{BUILD}/", "") for path in FORM)])
def test_scripts_and_styles_of_a_form_are_sent_with_brotli_and_mean_the_same(
    client: FlaskClient, path: str
) -> None:
    plain, packed, small = (client.get(path, headers=each) for each in ({}, GZIP, BROTLI))

    assert small.headers["Content-Encoding"] == "br"
    assert brotli.decompress(small.data) == plain.data == gzip.decompress(packed.data)
    assert len(small.data) < 0.95 * len(packed.data) < len(plain.data)
    assert small.headers["Vary"] == "Accept-Encoding"
    assert int(small.headers["Content-Length"]) == len(small.data)
    for header in ("Content-Type", "Cache-Control"):
        assert small.headers[header] == plain.headers[header] == packed.headers[header]
    head = client.head(path, headers=BROTLI)
    assert head.headers["Content-Length"] == small.headers["Content-Length"]
    assert head.headers["Content-Encoding"] == "br"


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        ("br", "br"),
        ("br;q=0.5, gzip;q=0.5", "br"),
        ("*", "br"),
        ("br;q=0.5, gzip", "gzip"),
        ("gzip, *;q=0.1", "gzip"),
        ("br;q=0, gzip", "gzip"),
        ("br;q=0", None),
        ("zstd", None),
    ],
)
def test_a_client_gets_the_encoding_that_it_likes_best(
    client: FlaskClient, accepted: str, encoding: str | None
) -> None:
    answer = client.get(FORM[0], headers={"Accept-Encoding": accepted})

    assert answer.headers.get("Content-Encoding") == encoding
    assert answer.headers["Vary"] == "Accept-Encoding"


def test_what_changes_with_each_survey_is_never_packed_with_brotli(
    client: FlaskClient, survey: Survey
) -> None:
    """It would have to be packed in each request."""
    for path in TEXTS:
        found = client.get(path, headers=BROTLI)
        assert found.headers.get("Content-Encoding") in ("gzip", None)


@pytest.mark.parametrize("accepted", ["", "identity", "br", "gzip;q=0", "*;q=0"])
def test_a_client_that_does_not_take_gzip_gets_none(
    client: FlaskClient, survey: Survey, accepted: str
) -> None:
    answer = client.get("/s/workplace", headers={"Accept-Encoding": accepted})

    assert "Content-Encoding" not in answer.headers
    assert answer.data.startswith(b"<!doctype html>")


@for_each("path", TEXTS)
@for_each("headers", [{}, GZIP])
def test_head_says_what_get_would(
    client: FlaskClient, survey: Survey, path: str, headers: dict[str, str]
) -> None:
    get, head = client.get(path, headers=headers), client.head(path, headers=headers)

    assert head.data == b""
    for each in (head, get):
        each.headers.pop("Deniably-Request", None)  # drawn anew for each
    assert dict(head.headers) == dict(get.headers)


@pytest.mark.parametrize("path", ["/api/surveys/workplace", "/web/form/form.js"])
def test_a_compressed_text_is_not_fetched_again(
    client: FlaskClient, survey: Survey, path: str
) -> None:
    first = client.get(path, headers=GZIP)
    again = client.get(path, headers=GZIP | {"If-None-Match": first.headers["ETag"]})

    assert first.headers["ETag"].startswith('W/"'), "other bytes than those of the strong tag"
    assert (again.status_code, again.data) == (304, b"")
    assert again.headers["ETag"] == first.headers["ETag"]
    assert again.headers["Vary"] == "Accept-Encoding"
    assert "Content-Encoding" not in again.headers


def test_a_tag_of_one_encoding_is_known_in_the_other(client: FlaskClient) -> None:
    path, accepting = "/web/form/page.js", ({}, GZIP, BROTLI, {"Accept-Encoding": "br"})
    tags = [client.get(path, headers=each).headers["ETag"] for each in accepting]

    assert tags[1:] == [f"W/{tags[0]}"] * 3
    for tag in tags:
        for headers in accepting:
            answer = client.get(path, headers=headers | {"If-None-Match": tag})
            assert (answer.status_code, answer.data) == (304, b"")
            assert answer.headers["Vary"] == "Accept-Encoding"
            assert "Content-Encoding" not in answer.headers


def test_what_is_short_or_no_text_stays_as_it_is(client: FlaskClient, survey: Survey) -> None:
    receipt = client.post(
        "/api/surveys/workplace/reports",
        data=a_report(survey).canonical,
        content_type="application/json",
        headers=GZIP,
    )
    refusal = client.get("/api/surveys/nobody", headers=GZIP)

    assert (receipt.status_code, refusal.status_code) == (201, 404)
    for answer in (receipt, refusal):
        assert "Content-Encoding" not in answer.headers


@pytest.mark.parametrize("path", ["/api/tokens", "/api/admin"])
def test_an_answer_that_holds_a_new_secret_is_not_compressed(
    app: Flask, client: FlaskClient, path: str
) -> None:
    """The length of a compressed secret beside a text that an attacker chose tells the secret
    (BREACH). The answer is long enough to be compressed, and only its mark prevents that."""
    store = app.extensions["deniably"]
    note = "a" * 200
    if path == "/api/tokens":
        headers = {"Authorization": f"Bearer {new_token(store, 'operator')}"}
        answer = client.post(path, json={"role": "author", "note": note}, headers=headers | GZIP)
    else:
        answer = client.post(path, json={"secret": first_link(store)}, headers=GZIP)

    assert "token" in answer.text
    assert len(answer.data) >= 300
    assert answer.mimetype == "application/json"
    assert "no-transform" in answer.headers["Cache-Control"]
    assert "Content-Encoding" not in answer.headers
    assert len(answer.data) == int(answer.headers["Content-Length"])


@for_each("accepted", ["gzip", "br, gzip", "*"])
def test_no_text_that_must_not_be_transformed_is(app: Flask, accepted: str) -> None:
    with app.test_request_context(headers={"Accept-Encoding": accepted}):
        marked, other = (Response("a" * 10_000, mimetype="text/plain") for _ in range(2))
        marked.cache_control.no_transform = True

        assert compress(marked).get_data() == b"a" * 10_000
        assert "Content-Encoding" not in marked.headers
        assert compress(other).headers["Content-Encoding"] == "gzip"


def test_a_large_text_is_compressed_too_and_not_kept(app: Flask, client: FlaskClient) -> None:
    from deniably_server.web.compression import _kept

    choices = [{"name": f"c{n}", "label": f"Choice {n * n}"} for n in range(1024)]
    question = survey_named().questions[1]
    mechanism = {"name": "subset_selection", "k": 1024, "omega": 2, "own": 3, "other": 1}
    large = {
        "name": "often", "type": "select_one", "label": question.label, "choices": choices,
        "claim": {"odds": "3"}, "mechanism": mechanism,
    }  # fmt: skip
    survey = survey_named("large", questions=[large])
    app.extensions["deniably"].publish(survey, signed(survey))
    before = _kept.cache_info().currsize
    answer = client.get("/s/large", headers=GZIP)

    assert len(gzip.decompress(answer.data)) > 1 << 16
    assert _kept.cache_info().currsize == before


def test_the_files_of_a_form_are_compressed_as_far_as_gzip_can(client: FlaskClient) -> None:
    """They never change, so that is done once; the largest weighs two thirds of a form."""
    path = f"/web/{BUILD}/form/page.js"
    plain = client.get(path).data

    assert len(plain) > 1 << 16
    assert len(client.get(path, headers=GZIP).data) <= len(gzip.compress(plain, 9))
