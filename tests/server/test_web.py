"""The web client's files: addresses that never change their content, and one file of code."""

from __future__ import annotations

import re

import pytest
from flask.testing import FlaskClient

from deniably.survey.survey import Survey
from deniably_server.web.static_files import BUILD


def test_a_file_of_a_build_is_never_asked_for_again(client: FlaskClient) -> None:
    answer = client.get(f"/web/{BUILD}/form/form.js")

    assert answer.status_code == 200
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert answer.data == client.get("/web/form/form.js").data
    assert client.get("/web/form/form.js").headers["Cache-Control"] == "no-cache"


@pytest.mark.parametrize(
    "path", ["/web/0000000000000000/form/form.js", f"/web/{BUILD}/form/none.js"]
)
def test_a_file_of_another_build_is_not_there(client: FlaskClient, path: str) -> None:
    assert client.get(path).status_code == 404


def test_every_page_names_files_of_this_build_alone(client: FlaskClient, survey: Survey) -> None:
    for path in ("/", "/s/workplace", "/surveys/workplace"):
        found = re.findall(r'"/web/([^"]+)"', client.get(path).text)
        assert found
        for name in found:
            assert name.startswith(f"{BUILD}/")
            assert client.get(f"/web/{name}").status_code == 200
