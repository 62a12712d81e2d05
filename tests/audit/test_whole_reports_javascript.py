"""Whole reports of the JavaScript have the product law, too: its modules are walked in Node, and
what comes out is held, as fractions, to the law that the Python has for it."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from conftest import WEB
from deniably.audit.enumeration import IDS
from deniably.audit.whole_reports import combinations_of, inputs, law, waves_of
from deniably.core.coins import Coins
from deniably.core.errors import BadReport
from deniably.survey.survey import as_survey
from support.modules import PACKAGE, ModuleFolder
from support.whole_faults import PLANTED, Planted
from support.whole_surveys import MANY_BRANCHES, SURVEYS

HERE = Path(__file__).parent


Walk = Callable[..., Any]


@pytest.fixture(scope="module")
def walk() -> Iterator[Walk]:
    """(what ``whole.mjs`` takes) -> the law; one Node process walks for all tests."""
    node = shutil.which("node")
    assert node
    with subprocess.Popen(
        [node, HERE / "whole.mjs"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout

        def law(**given: Any) -> Any:
            print(json.dumps(given), file=process.stdin, flush=True)
            return json.loads(process.stdout.readline())  # type: ignore[union-attr]

        yield law
        process.stdin.close()


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> ModuleFolder:
    """A folder of the modules as they are."""
    folder = tmp_path_factory.mktemp("whole") / "shipped"
    for module in WEB.glob("*/*.js"):
        (folder / module.parent.name).mkdir(parents=True, exist_ok=True)
        shutil.copyfile(module, folder / module.parent.name / module.name)
    (folder / PACKAGE).write_text('{"type": "module"}')
    return ModuleFolder(folder)


ALL_IDS = "two questions", "make_report"
"""Where each id is walked: no survey changes what becomes of one, so a few do elsewhere."""


def fault_of(walk: Walk, folder: Path, name: str, how: str) -> str | None:
    """What is wrong with the law of what the modules in the folder send."""
    surveys = waves_of(as_survey(SURVEYS[name]))
    many = len(surveys) > 1 or name in MANY_BRANCHES
    ids = IDS[-1:] if many else IDS if (name, how) == ALL_IDS else IDS[-3:]
    asked = [{"definition": json.loads(one.canonical), "digest": one.digest} for one in surveys]
    for chosen in combinations_of(surveys[0], every=True):
        said = {
            question.name: question.decode(one)
            for question, one in zip(surveys[0].questions, chosen, strict=True)
        }
        found = walk(folder=str(folder), how=how, surveys=asked, said=said, ids=ids)
        assert sum(Fraction(one["share"]) for one in found) == 1
        for one in found:
            sent = [text.encode() for text in one["sent"]]
            try:
                right = law(surveys, inputs(surveys[0], chosen), sent, one["drawn"], len(ids))
            except BadReport as error:
                return f"{chosen} sends {sent}: {error}"
            if Fraction(one["share"]) != right:
                return f"{chosen} sends {sent} with probability {one['share']}, not {right}"
    return None


WALKED = [(name, "make_report") for name in SURVEYS if name != "by invitation"]
KEPT = ("two questions", "one of two", "a hidden question", "by invitation", "by site", "two waves")


@pytest.mark.parametrize(("name", "how"), WALKED + [(name, "a device") for name in KEPT])
def test_a_whole_report_has_the_product_of_the_laws_of_its_questions(
    name: str, how: str, walk: Walk, shipped: ModuleFolder
) -> None:
    """Every answer, every branch; with both waves of a panel, and what a device sends again."""
    assert fault_of(walk, shipped.folder, name, how) is None


@pytest.mark.parametrize(
    "planted", [one for one in PLANTED if one.javascript], ids=lambda one: one.name
)
def test_what_is_planted_between_the_questions_is_found(
    planted: Planted, walk: Walk, shipped: ModuleFolder
) -> None:
    assert planted.javascript
    how = "a device" if planted.javascript[0] == "memory.js" else "make_report"

    with shipped.planted(*planted.javascript) as folder:
        assert fault_of(walk, folder, planted.survey, how)


def test_an_id_is_made_of_the_same_bytes_in_both_languages(tmp_path: Path) -> None:
    tape = bytes(range(1, 29))
    script = tmp_path / "id.mjs"
    script.write_text(
        f"import {{ Coins }} from {json.dumps((WEB / 'core/coins.js').as_uri())};"
        f"let at = 0; const tape = Uint8Array.from({list(tape)});"
        "const coins = new Coins((count) => tape.slice(at, (at += count)));"
        "process.stdout.write(coins.drawId() + at);"
    )
    stream = iter(tape)

    drawn = Coins(lambda count: bytes(next(stream) for _ in range(count))).draw_id()

    done = subprocess.run(["node", script], capture_output=True, text=True, check=True)
    assert done.stdout == f"{drawn}28"
