"""Whatever a page of the handbook tells its reader to type works."""

from __future__ import annotations

import pytest

from support.blocks import NOT_RUN, Broken, Reader, blocks, commands
from support.pages import PAGES, README
from support.thorough import thorough

RUN = {name: text for name, text in PAGES.items() if "```" in text}
COSTLY = ("data.md", "devices.md", "dossier.md", "lab.md")
"""Pages with blocks that take the longest."""


def follow(reader: Reader, name: str, text: str) -> None:
    for block in blocks(name, text):
        reader.follow(block)
    reader.finish()


@pytest.mark.parametrize(
    "name", [thorough(name) if name in COSTLY else name for name in sorted(RUN)]
)
def test_every_block_of_a_page_runs(reader: Reader, name: str) -> None:
    follow(reader, name, RUN[name])


def test_few_blocks_cannot_run_here_and_each_for_a_reason() -> None:
    pages = {**RUN, "README.md": README}
    found = [block for name, text in pages.items() for block in blocks(name, text)]
    left_out = [block for block in found if "not-run" in block.words]

    assert len(left_out) <= 12
    assert {block.words["not-run"] for block in left_out} == set(NOT_RUN)


def test_what_is_not_run_has_commands_that_exist() -> None:
    for name, text in RUN.items():
        for block in blocks(name, text):
            if "not-run" in block.words and block.language == "sh":
                assert list(commands(block.text)), block


# --- a page that is wrong is found out ----------------------------------------------------------

SURVEY = """```yaml
# q.yaml
name: q
title: Q
questions: [{name: stolen, type: yes_no, label: Have you, epsilon: 1}]
```
"""
SERVED = (
    SURVEY
    + """```sh
deniably serve
export DENIABLY_TOKEN=$(deniably token new)
deniably publish q.yaml
curl --fail --silent http://127.0.0.1:8000/api/surveys/q
```
"""
)
PLAN = """```sh
deniably plan --epsilon 1 --margin 0.05
```
```text output
…
the question … 2.72           74        1,799   5.0 %             385              392
…
```
"""


@pytest.mark.parametrize(
    ("page", "old", "new", "why"),
    [
        (SERVED, "deniably publish", "deniably publisch", "there is no command publisch"),
        (SERVED, "publish q.yaml", "publish --anyways q.yaml", "No such option"),
        (SERVED, "publish q.yaml", "publish p.yaml", "p.yaml"),
        (SERVED, "surveys/q", "survey/q", "curl"),
        (SERVED, "token new", "token new --role writer", "writer"),
        (SURVEY, "epsilon", "epsilom", "epsilom"),
        (SURVEY, "# q.yaml\n", "", "begins with the name"),
        (SURVEY, "```yaml", "```yml", "no such language"),
        (SURVEY, "```yaml", "```yaml not-run=laziness", "no reason"),
        (PLAN, "1,799", "1,800", "prints something else"),
        ("```json\n{}\n```\n", "{}", "{", "JSONDecodeError"),
        ("```python\nx = 1\n```\n", "= 1", "= y", "NameError"),
        ("    deniably check x\n", "", "", "is indented"),
    ],
)  # fmt: skip
def test_a_page_that_is_wrong_is_found_out(
    reader: Reader, page: str, old: str, new: str, why: str
) -> None:
    wrong = page.replace(old, new)

    with pytest.raises(Broken, match=why):
        follow(reader, "page.md", wrong)


@pytest.mark.parametrize("page", [SERVED, PLAN, "```json\n{}\n```\n", "```python\nx = 1\n```\n"])
def test_the_same_page_without_its_fault_passes(reader: Reader, page: str) -> None:
    follow(reader, "page.md", page)
