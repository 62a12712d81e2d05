"""The web client's files: addresses that never change their content, and what is named ahead."""

from __future__ import annotations

import re

import pytest
from flask.testing import FlaskClient

from deniably.survey import Survey
from deniably_server.modules import Modules
from deniably_server.web import BUILD

TEXTS = {
    "form.js": 'import { a } from "./a.js";\nimport {\n  b,\n} from "./b.js";\n',
    "a.js": '/** @import { T } from "./t.js" */\nimport "./c.js";\nexport { x } from "./d.js";\n',
    "b.js": (
        'const late = () => import("./late.js");\nconst sources = {\n  scale: late,\n  late,\n'
        '  window: () => import("./window.js"),\n};\n'
    ),
    "exit.js": 'import { v } from "./vault.js";\n',
    "vault.js": "",
    "c.js": 'export const text = "./none.js";\n',
    "d.js": "",
    "late.js": 'import c from "./c.js";\n',
    "window.js": 'import e from "./e.js";\n',
    "e.js": "",
    "fields.js": "",
    "answers.js": "",
    "path.js": 'import "./answers.js";\n',
}


def needed(type_: str, mechanism: object, fields: bool = False, **more: object) -> set[str]:
    question = {"type": type_, "mechanism": mechanism}
    definition = {"questions": [question]} | more
    found = Modules(TEXTS).needed(definition, fields=fields)
    assert len(found) == len(set(found))
    return set(found)


ALWAYS = {"a.js", "b.js", "c.js", "d.js", "vault.js"}


def test_what_imports_name_is_needed_and_nothing_else() -> None:
    assert needed("yes_no", {"name": "subset_selection"}) == ALWAYS


def test_what_is_fetched_for_a_type_or_a_mechanism_is_needed_where_it_occurs() -> None:
    assert needed("scale", {"name": "x"}) == ALWAYS | {"late.js"}
    assert needed("late", {"name": "x"}) == ALWAYS | {"late.js"}
    assert needed("yes_no", {"name": "window"}) == ALWAYS | {"window.js", "e.js"}


def test_a_mechanism_within_a_mechanism_counts() -> None:
    inner = {"name": "vector", "parts": [{"name": "window"}]}
    assert needed("vector", inner) == ALWAYS | {"window.js", "e.js"}


def test_a_survey_that_does_not_ask_everybody_everything_needs_the_way_through() -> None:
    plain = {"name": "x"}
    assert needed("yes_no", plain, ask=1) == ALWAYS | {"answers.js", "path.js"}
    assert needed("yes_no", plain, fields=True) == ALWAYS | {"fields.js"}


def test_a_file_of_a_build_is_never_asked_for_again(client: FlaskClient) -> None:
    answer = client.get(f"/web/{BUILD}/form.js")

    assert answer.status_code == 200
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert answer.data == client.get("/web/form.js").data
    assert client.get("/web/form.js").headers["Cache-Control"] == "no-cache"


@pytest.mark.parametrize("path", ["/web/0000000000000000/form.js", f"/web/{BUILD}/none.js"])
def test_a_file_of_another_build_is_not_there(client: FlaskClient, path: str) -> None:
    assert client.get(path).status_code == 404


def test_every_page_names_files_of_this_build_alone(client: FlaskClient, survey: Survey) -> None:
    for path in ("/", "/s/workplace", "/surveys/workplace"):
        found = re.findall(r'"/web/([^"]+)"', client.get(path).text)
        assert found
        for name in found:
            assert name.startswith(f"{BUILD}/")
            assert client.get(f"/web/{name}").status_code == 200
