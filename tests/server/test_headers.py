"""The headers of every response, from whichever layer it comes."""

from __future__ import annotations

import pytest
from flask import Flask
from flask.testing import FlaskClient

from deniably.survey.survey import Survey
from deniably_server.guard.headers import OF_FILES, SECURITY_HEADERS
from deniably_server.web.static_files import BUILD
from support.material import a_report

REQUESTS = [
    ("GET", "/api/surveys/workplace"),
    ("HEAD", "/api/surveys/workplace"),
    ("OPTIONS", "/api/surveys/workplace"),
    ("DELETE", "/api/surveys/workplace"),
    ("GET", "/api/surveys/nobody"),
    ("POST", "/api/surveys"),
    ("PATCH", "/api/surveys/workplace"),
    ("POST", "/api/surveys/workplace/reports"),
    ("GET", "/api/surveys/workplace/results"),
    ("GET", "/api/surveys/workplace/results.csv"),
    ("GET", "/register"),
    ("GET", "/schema/survey.json"),
    ("GET", "/problems/closed"),
    ("GET", "/handbook"),
    ("HEAD", "/handbook/respondents"),
    ("GET", "/nothing"),
    ("GET", "/"),
    ("GET", "/s/workplace"),
    ("GET", "/surveys/workplace"),
    ("GET", "/studio/in"),
    ("GET", "/studio/nothing"),
    ("POST", "/studio/word"),
    ("GET", "/broken"),
]


@pytest.mark.parametrize(("method", "path"), REQUESTS)
def test_every_response_carries_the_security_headers_and_no_cookie(
    app: Flask, survey: Survey, method: str, path: str
) -> None:
    app.add_url_rule("/broken", view_func=lambda: 1 / 0)

    answer = app.test_client().open(path, method=method)

    for name, value in SECURITY_HEADERS:
        if path.startswith("/surveys/"):  # such as the choice of two questions to compare
            value = value.replace("form-action 'none'", "form-action 'self'")
        if path.startswith("/studio/") and name == "Content-Security-Policy":
            value += "; require-trusted-types-for 'script'; trusted-types studio"
        assert answer.headers.getlist(name) == [value]
    assert "Set-Cookie" not in answer.headers
    assert len(answer.headers.getlist("Cache-Control")) == 1


@pytest.mark.parametrize("path", ["form/page.js", "style/form-page.css", "form/form.js"])
def test_scripts_and_styles_have_the_headers_that_browsers_heed_on_them(
    client: FlaskClient, path: str
) -> None:
    """A page takes them in, and its own policy says what they may do."""
    for address in (f"/web/{path}", f"/web/{BUILD}/{path}"):
        headers = client.get(address).headers
        found = [each for each in SECURITY_HEADERS if each in headers.items()]
        assert found == list(OF_FILES)
        assert dict(found)["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("path", [f"/web/{BUILD}/device/sw.js", f"/web/{BUILD}/style/icon.svg"])
def test_a_worker_and_a_picture_have_all_headers_for_they_stand_alone(
    client: FlaskClient, path: str
) -> None:
    headers = client.get(path).headers
    assert [each for each in SECURITY_HEADERS if each not in headers.items()] == []


def test_nothing_from_elsewhere_and_nothing_inline_runs() -> None:
    policy = dict(SECURITY_HEADERS)["Content-Security-Policy"].split("; ")

    assert policy[0] == "default-src 'none'"
    assert {"script-src 'self'", "base-uri 'none'", "frame-ancestors 'none'"} <= set(policy)
    assert "form-action 'none'" in policy, "a respondent's form submits nothing"
    assert "unsafe" not in " ".join(policy)


@pytest.mark.parametrize(
    "path",
    ["/api/surveys/workplace/results", "/api/surveys/nobody", "/nothing", "/schema/survey.json"],
)
def test_answers_are_not_kept_anywhere(client: FlaskClient, survey: Survey, path: str) -> None:
    assert client.get(path).headers["Cache-Control"] == "no-store"


def test_a_receipt_is_not_kept_anywhere(client: FlaskClient, survey: Survey) -> None:
    answer = client.post(
        "/api/surveys/workplace/reports",
        data=a_report(survey).canonical,
        content_type="application/json",
    )

    assert answer.status_code == 201
    assert answer.headers["Cache-Control"] == "no-store"


def test_the_date_is_left_to_the_server_that_sends_it(client: FlaskClient, survey: Survey) -> None:
    """Werkzeug writes one of its own where nothing changed, and a response has one."""
    first = client.get("/api/surveys/workplace")

    unchanged = client.get(
        "/api/surveys/workplace", headers={"If-None-Match": first.headers["ETag"]}
    )

    assert unchanged.status_code == 304
    assert "Date" not in first.headers
    assert "Date" not in unchanged.headers
