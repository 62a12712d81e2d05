"""The editor shows the figures that the check, the command and the published survey have."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from html import unescape
from typing import Any

import pytest
from flask import Flask

from deniably.authoring.compiling import compile_survey
from deniably.authoring.documents import load
from deniably.authoring.drafts import to_json
from deniably.authoring.quick_check import quick_check
from deniably.core.canonical import digest
from support.drafts import draft
from support.soak import soak
from support.studio import founded


def text_of(page: str) -> str:
    return " ".join(unescape(re.sub("<[^>]*>", " ", page)).split())


def half_width(question: Mapping[str, Any], figures: Any) -> str:
    """The widest margin of a question, as its author reads it: of 100 people, or in its unit."""
    if not figures:
        return "no figure"
    widest = max(figures, key=lambda each: each.margin)
    if widest.unit == "share":
        return f"{round(100 * widest.margin)} of 100"
    if "maximum" not in question:  # its parts have ranges of their own
        return f"{100 * widest.margin:.2g} % of the range"
    return f"{widest.margin * (float(question['maximum']) - float(question['minimum'])):.2g}"


@pytest.mark.parametrize("seed", [*range(4), *map(soak, range(4, 200))])
def test_the_page_has_the_figures_of_the_survey_that_would_be_published(
    app: Flask, seed: int
) -> None:
    document = json.loads(to_json(draft(seed)))
    author = founded(app)
    begun = author.begin(document)
    asked = f"/studio/d/{begun}/balance"
    page = text_of(author.client.get(asked).text)
    for _ in range(20):
        if "about" not in page:
            break
        page = text_of(author.client.get(asked).text)

    # The file that the studio gives out is what the terminal checks and publishes.
    file = load(author.client.get(f"/studio/drafts/{begun}.yaml").data)
    view = quick_check(lambda: file, 600)
    assert view.digest == compile_survey(load(to_json(draft(seed)))).digest
    assert view.used
    assert view.guessing
    assert f"Privacy spent {view.used.total} of 100" in page
    told = "" if view.guessing.one[0] == view.guessing.one[1] else f" to {view.guessing.one[1]}"
    assert f"one answer {view.guessing.one[0]}{told}" in page
    assert (f"all {view.asked} {view.guessing.all}" in page) == (view.asked > 1)
    rows = zip(file["questions"], view.questions, strict=True)
    for question, row in rows:
        assert f"{question['label']} {half_width(question, row.figures)}" in page, page
    assert ("Nobody could answer all" in page) == bool(view.refused)

    if not view.refused:
        published = author.publish(begun)
        assert published.status_code == 201, published.text
        name = published.get_json()["name"]
        definition = json.loads(author.client.get(f"/api/surveys/{name}").text)
        assert digest(definition) == view.digest
