"""The served description of the interface is the interface: nothing more, nothing less."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from deniably_server.api.openapi import described
from deniably_server.web.problems import KINDS

SPEC = (Path(__file__).parents[2] / "shared/SPEC.md").read_text(encoding="utf-8")


@pytest.fixture
def document(client: FlaskClient) -> dict[str, Any]:
    answer = client.get("/api/openapi.json")
    assert answer.status_code == 200
    found: dict[str, Any] = json.loads(answer.data)
    return found


def operations(document: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (method.upper(), path): operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def with_equal_parts_as_one(document: dict[str, Any]) -> dict[str, Any]:
    """The same document, where parts that are equal are one object."""
    known: dict[str, dict[str, Any]] = {}
    found: dict[str, Any] = json.loads(
        json.dumps(document),
        object_hook=lambda part: known.setdefault(json.dumps(part, sort_keys=True), part),
    )
    return found


def test_it_is_valid_openapi_3_1(document: dict[str, Any]) -> None:
    """The validator checks each object once: a schema that comes again and again is one here."""
    from openapi_spec_validator import OpenAPIV31SpecValidator  # takes half a second

    assert document["openapi"].startswith("3.1.")
    assert list(OpenAPIV31SpecValidator(with_equal_parts_as_one(document)).iter_errors()) == []
    wrong = document | {"paths": {}, "components": {"schemas": {"Problem": {"type": "objekt"}}}}
    assert list(OpenAPIV31SpecValidator(with_equal_parts_as_one(wrong)).iter_errors()) != []


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    references = re.findall(r'"\$ref": ?"([^"]*)"', json.dumps(document))

    assert len(set(references)) > 50
    for reference in set(references):
        _, kind, group, name = reference.split("/")
        assert kind == "components"
        assert name in document["components"][group], reference


def test_a_generator_makes_few_types_of_refusals_and_meets_no_schema_that_is_a_boolean(
    document: dict[str, Any],
) -> None:
    text = json.dumps(document)

    assert "prefixItems" in text
    assert '"items": false' not in text
    assert len(document["components"]["schemas"]) < 200
    assert '"title": {"enum"' not in json.dumps(document["paths"])


def test_it_has_every_route_and_method_of_the_application(
    app: Flask, document: dict[str, Any]
) -> None:
    served = {
        (method, re.sub(r"<(\w+)>", r"{\1}", rule.rule))
        for rule in app.url_map.iter_rules()
        for method in rule.methods or ()
        if not rule.rule.startswith("/studio/")  # for its own pages alone
    }

    assert set(operations(document)) == served


def test_a_view_that_says_nothing_of_itself_is_found_out(app: Flask) -> None:
    app.add_url_rule("/silent", view_func=lambda: "What do I answer?", endpoint="silent")

    with pytest.raises(AttributeError, match="operation"):
        described(app)


def test_it_has_every_problem(document: dict[str, Any]) -> None:
    text = json.dumps(document)

    assert document["components"]["schemas"]["Problem"]["properties"]["type"]["enum"] == [
        kind.uri for kind in KINDS.values()
    ]
    for kind in KINDS.values():
        used = [
            response
            for operation in operations(document).values()
            for status, response in operation["responses"].items()
            if status == str(kind.status) and kind.when in response["description"]
        ]
        assert used or kind.name in document["components"]["responses"], kind.name
        assert kind.uri in text


def test_every_operation_says_what_it_does_and_has_a_name_of_its_own(
    document: dict[str, Any],
) -> None:
    found = list(operations(document).values())

    assert all(operation["summary"].endswith(".") for operation in found)
    assert len({operation["operationId"] for operation in found}) == len(found)


def test_an_operation_that_needs_a_token_is_refused_without_one(
    client: FlaskClient, document: dict[str, Any]
) -> None:
    """And no other: what the document says about roles is what the views do."""
    for (method, path), operation in operations(document).items():
        answer = client.open(path.replace("{", "").replace("}", ""), method=method)
        secret = path == "/api/admin"  # asks for another secret, in its body
        needed = {} not in operation.get("security", [{}])  # of results, only where the survey says
        assert (answer.status_code == 401) == needed, (method, path)
        assert ("401" in operation["responses"]) >= (needed or secret)


def test_every_route_of_the_specification_is_there(document: dict[str, Any]) -> None:
    listed = re.findall(r"^\| `(GET|POST|PATCH|DELETE) (/[^ `?,]*)", SPEC, re.MULTILINE)
    generic = {(method, re.sub(r"\{\w+\}", "{}", path)) for method, path in operations(document)}

    assert len(listed) >= 8
    for method, path in listed:
        assert (method, re.sub(r"<\w+>", "{}", path)) in generic


def test_it_is_not_sent_again_where_it_is_known(client: FlaskClient) -> None:
    tag = client.get("/api/openapi.json").headers["ETag"]

    again = client.get("/api/openapi.json", headers={"If-None-Match": tag})

    assert (again.status_code, again.data) == (304, b"")
