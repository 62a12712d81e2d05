"""The README is a page, and true: its commands run in order, its pictures and links are there."""

from __future__ import annotations

import re

import pytest
import requests

from support.blocks import Reader, blocks, commands
from support.pages import README, ROOT


def test_it_is_a_page() -> None:
    assert len(README.splitlines()) <= 120
    assert len(README) <= 6500


def test_the_two_commands_of_the_start_are_what_continuous_integration_runs() -> None:
    steps = (ROOT / ".ci/run").read_text(encoding="utf-8")
    first = next(block for block in blocks("README.md", README) if block.language == "sh")

    assert list(commands(first.text)) == ["make demo", "make test"]
    assert "\nmake test\n" in steps
    assert "\nmake demo EXIT=1" in steps


@pytest.mark.slow
def test_five_commands_lead_a_newcomer_to_a_picture_of_the_results(reader: Reader) -> None:
    shell = [block for block in blocks("README.md", README) if block.language == "sh"]
    (quickstart,) = (block for block in shell if "not-run" not in block.words)
    assert len(list(commands(quickstart.text))) == 5
    for block in blocks("README.md", README):
        reader.follow(block)
    reader.finish()

    (name,) = re.findall(r"deniably close (\S+)", README)
    page = requests.get(f"{reader.server.url}/surveys/{name}", timeout=30)

    assert page.text.count("<svg") >= 2, "a picture for each question"


def test_the_survey_of_the_start_is_short() -> None:
    first = next(block for block in blocks("README.md", README) if block.language == "yaml")

    assert len(first.text.splitlines()) <= 11, "with the line that names its file"


def test_the_readme_shows_pictures_that_exist() -> None:
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)

    assert len(pictures) >= 2
    for picture in pictures:
        assert (ROOT / picture).stat().st_size > 5_000


def test_every_link_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target
