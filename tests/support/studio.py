"""A group in the studio, as a browser of its own: founded by the server's link, signed in."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from html import unescape
from typing import Any
from urllib.parse import urlsplit

import requests
from flask import Flask
from flask.testing import FlaskClient

from deniably.authoring.drafts import to_json
from deniably.core.canonical import digest
from deniably.trust.register import closing_digest
from deniably.trust.sign_in_request import sign_in_message
from deniably.trust.signing import Key, new_key
from deniably_server.guard.admin_link import first_link
from deniably_server.guard.app_state import store_of

EVERY_KIND: dict[str, Any] = {
    "name": "every-kind",
    "title": "Every kind of question",
    "contact": "Harbour Workers' Union",
    "questions": [
        {"name": name, "epsilon": 0.5} | keys
        for name, keys in {
            "stolen": {"type": "yes_no", "label": "Have you stolen anything?"},
            "what": {"type": "select_one", "label": "What?", "choices": ["Money", "Goods", "Time"],
                     "show_if": {"question": "stolen", "is": ["yes"]}},
            "drugs": {"type": "select_multiple", "label": "Which of these?", "most": 2,
                      "choices": ["One", "Two", "Three"], "also": ["prefer_not_to_say"]},
            "happy": {"type": "scale", "label": "How happy?", "choices": ["Not", "A bit", "Very"]},
            "trust": {"type": "scale", "label": "How much trust?", "aim": "mean",
                      "choices": ["None", "Some", "All"]},
            "days": {"type": "number", "label": "How many days?", "unit": "days",
                     "minimum": 0, "maximum": 20},
            "hours": {"type": "vector", "label": "Hours a week", "parts": [
                {"name": "work", "label": "Work", "minimum": 0, "maximum": 80},
                {"name": "care", "label": "Care", "minimum": 0, "maximum": 80}]},
            "home": {"type": "point", "label": "Where do you live?", "grid": 4, "parts": [
                {"name": "east", "label": "East", "minimum": -20, "maximum": 20},
                {"name": "north", "label": "North", "minimum": -20, "maximum": 20}]},
            "taken": {"type": "product", "label": "Taken anything?", "parts": [
                {"name": "here", "label": "Here", "choices": ["Yes", "No"]},
                {"name": "there", "label": "There", "choices": ["Yes", "No"]}]},
        }.items()
    ],
}  # fmt: skip
"""A draft with every type of question, within what devices accept."""
ORIGIN = "http://localhost"
OWN_PAGE = {"Sec-Fetch-Site": "same-origin"}


class Distant:
    """A browser that asks a real server, with what authors here use of a test client."""

    def __init__(self, url: str) -> None:
        self.url, self.session = url, requests.Session()

    def get(self, address: str) -> Any:
        """Get what is at an address of the server."""
        return self.session.get(self.url + address, timeout=30)

    def post(self, address: str, **options: Any) -> Any:
        """Post to an address of the server."""
        return self.session.post(self.url + address, timeout=30, **options)


@dataclass
class Author:
    """A person with the group's signature, and a browser."""

    client: FlaskClient | Distant
    key: Key = field(default_factory=new_key)

    def get(self, address: str) -> Any:
        """Get what is at an address."""
        return self.client.get(address)

    def post(self, address: str, value: object, **headers: str) -> Any:
        """Post JSON as a page of the studio does."""
        return self.client.post(address, json=value, headers=OWN_PAGE | headers)

    def signed_word(self, origin: str = ORIGIN) -> dict[str, str]:
        """A word of the server with this person's signature."""
        word = json.loads(self.post("/studio/word", {}).text)["word"]
        signature = self.key.sign_text(sign_in_message(origin, word))
        return {"key": self.key.author, "word": word, "signature": signature.value}

    def found(self, link: str, **changes: str) -> Any:
        """Found the group with the link's secret."""
        group = {"name": "Harbour Workers' Union", "contact": "survey@union.example"}
        return self.post(
            "/studio/start", {"secret": link, **group, **self.signed_word(), **changes}
        )

    def sign_in(self) -> Any:
        """Begin a session."""
        return self.post("/studio/in", self.signed_word())

    def begin(self, document: dict[str, Any]) -> str:
        """Begin a draft; returns its id."""
        answer = self.post("/studio/drafts", {"text": to_json(document)})  # with exact decimals
        assert answer.status_code == 201, answer.text
        return str(json.loads(answer.text)["id"])

    def edit(
        self, draft: str, operation: dict[str, Any], revision: int = 1, edit: str = "e"
    ) -> Any:
        """Edit a draft; returns the answer."""
        body = {"edit": edit, "revision": revision, "operation": operation}
        return self.post(f"/studio/drafts/{draft}/edits", body)

    def publish(self, draft: str) -> Any:
        """Sign the definition that the server says, and publish it."""
        version = digest(self.definition(draft))
        signature = self.key.sign(version)
        body = {"digest": version, "author": signature.author, "signature": signature.value}
        return self.post(f"/studio/drafts/{draft}/published", body)

    def trial_link(self, draft: str) -> str:
        """Make a link to a draft's trial; returns its path."""
        answer = self.post(f"/studio/drafts/{draft}/trial", {})
        assert answer.status_code == 201, answer.text
        return urlsplit(json.loads(answer.text)["address"]).path

    def close(self, name: str, definition: dict[str, Any], *, anyway: bool = False) -> Any:
        """Sign that the survey with this definition is closed, and close the one of this name."""
        return self.post(f"/studio/s/{name}/closed", self.closing(name, definition, anyway=anyway))

    def closing(
        self, name: str, definition: dict[str, Any], *, anyway: bool = False
    ) -> dict[str, Any]:
        """What closes a survey, with this person's signature."""
        signature = self.key.sign(closing_digest(digest(definition)))
        signed = {"author": signature.author, "signature": signature.value}
        return {"name": name, "anyway": anyway, **signed}

    def definition(self, draft: str) -> dict[str, Any]:
        """What a draft would be published as."""
        answer = self.post(f"/studio/drafts/{draft}/definition", {})
        assert answer.status_code == 200, answer.text
        return dict(json.loads(answer.text)["definition"])


def operations_on(page: str) -> list[dict[str, Any]]:
    """The operations on a draft that the buttons of a page do, in their order."""
    return [json.loads(unescape(text)) for text in re.findall(r'data-operation="([^"]*)"', page)]


def founded(app: Flask) -> Author:
    """The group that founded itself with the server's link."""
    author = Author(app.test_client())
    secret = first_link(store_of(app))
    assert secret is not None
    answer = author.found(secret)
    assert answer.status_code == 201, answer.text
    return author
