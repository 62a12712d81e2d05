"""A type of question that the package does not have, planted in a copy of it, and what is shown.

``Agreement`` asks how far somebody agrees. ``plant`` puts it in the modules that CONTRIBUTING
names; run as a script in that copy, this module takes a survey of it through everything.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deniably.survey.survey import Survey
    from deniably.workbench.report_set import ReportSet

ROOT = Path(__file__).parents[2]
ROOMS = ("shared/deniably", "client/deniably_client", "server/deniably_server")

_CLASS = '''class Agreement(_SingleChoice, frozen=True, kw_only=True, tag="agreement"):
    """Agree, neither or disagree."""


class SelectOne('''
_WRITTEN = '''class WrittenAgreement(_OneAnswer, frozen=True, kw_only=True, tag="agreement"):
    """A question for agreement."""

    def given(self, words: Words = ENGLISH) -> list[Choice]:
        """Returns its three choices."""
        return [Choice(name, name.title()) for name in ("agree", "neither", "disagree")]


class WrittenSelectOne('''
_RESULT = '''class AgreementResult(OfChoicesResult, frozen=True, kw_only=True, tag="agreement"):
    """Agree, neither or disagree."""


class SelectOneResult('''

EDITS: Mapping[str, Sequence[tuple[str, str]]] = {
    "shared/deniably/survey/questions.py": [
        ("class SelectOne(", _CLASS),
        ("= YesNo | ", "= YesNo | Agreement | "),
    ],
    "shared/deniably/authoring/written.py": [
        ("class WrittenSelectOne(", _WRITTEN),
        ("= WrittenYesNo | ", "= WrittenYesNo | WrittenAgreement | "),
    ],
    "shared/deniably/results/document.py": [
        ("class SelectOneResult(", _RESULT),
        ("= YesNoResult | ", "= YesNoResult | AgreementResult | "),
    ],
    "shared/deniably/reference/definition.py": [
        ('ONE_CHOICE = ("yes_no", ', 'ONE_CHOICE = ("yes_no", "agreement", '),
        (
            '    "yes_no": ONE_ANSWER,\n',
            '    "yes_no": ONE_ANSWER,\n    "agreement": ONE_ANSWER,\n',
        ),
        (
            '    "yes_no": (("choices",), ()),\n',
            '    "yes_no": (("choices",), ()),\n    "agreement": (("choices",), ()),\n',
        ),
    ],
    "client/deniably_client/web/survey/choice.js": [
        (
            "export default { yes_no: yesNo, ",
            "export default { yes_no: yesNo, agreement: selectOne, ",
        )
    ],
}
"""What is put in which file: a text of it, and what stands there instead."""
TARGETS = (
    "/s/new?site=north", "/api/surveys/new/results", "/api/surveys/new/results.csv", "/surveys/new",
    "/surveys/new/figures/a", "/api/surveys/new/figures/a.svg?width=85",
    "/api/surveys/new/paper/METHODS.md", "/api/surveys/new/differences.csv?question=a",
    "/surveys/new/differences?question=a", "/surveys/new/crosstab?rows=a&columns=b",
    "/surveys/new/strata?question=a&by=site",
)  # fmt: skip
"""What is asked of a server that has the survey, which shows the label of an answer everywhere."""


def plant(folder: Path) -> None:
    """Copies the package to a folder, with the type in it. Raises ValueError for a lost place."""
    for room in ROOMS:
        shutil.copytree(
            ROOT / room, folder / room, ignore=shutil.ignore_patterns("__pycache__", "screenshots")
        )
    for name, edits in EDITS.items():
        path = folder / name
        text = path.read_text(encoding="utf-8")
        for place, planted in edits:
            if place not in text:
                raise ValueError(f"{name} has no {place!r} any more")
            text = text.replace(place, planted)
        path.write_text(text, encoding="utf-8")


# --- in the copy --------------------------------------------------------------------------------


def show() -> None:
    """Prints as JSON what becomes of a survey of the type, asked of 300 people."""
    sys.path.insert(0, str(ROOT / "tests"))
    from deniably.authoring.compiling import compile_survey

    survey = compile_survey(
        {
            "name": "new", "title": "New", "strata": {"site": ["north", "south"]},
            "results": {"minimum": 1},
            "questions": [
                {"name": "a", "type": "agreement", "label": "Do you agree?", "odds": 9},
                {"name": "b", "type": "yes_no", "label": "Did you?", "odds": 9},
            ],
        }
    )  # fmt: skip
    reports = _reports(survey)
    print(json.dumps(_served(survey, reports) | _in_a_notebook(survey, reports) | _audited(survey)))


def _reports(survey: Survey) -> ReportSet:
    from deniably.core.coins import Coins
    from deniably.survey.report import randomise_answers
    from deniably.workbench.files.report_lines import read_ndjson

    random = Random(5)
    coins, lines = Coins(random.randbytes), list[bytes]()
    for _ in range(300):
        answers = {"a": random.choice(("agree", "agree", "neither", "disagree")), "b": "yes"}
        stratum = {"site": random.choice(("north", "south"))}
        lines.append(randomise_answers(survey, answers, coins, strata=stratum).canonical)
    return read_ndjson(survey, iter(lines))


def _served(survey: Survey, reports: ReportSet) -> dict[str, str]:
    from deniably_server.app import create_app
    from support.stored import stored

    with tempfile.TemporaryDirectory() as folder:
        address = str(Path(folder) / "deniably.db")
        stored(address, reports).close()
        app = create_app({"DATABASE": address, "TESTING": True})
        with closing(app.extensions["deniably"]) as store:
            client, shown = app.test_client(), dict[str, str]()
            for target in TARGETS:
                shown[target] = client.get(target).get_data(as_text=True)
                store.close_survey(survey.name)  # after the form
            return shown


def _in_a_notebook(survey: Survey, reports: ReportSet) -> dict[str, str]:
    import deniably as dn
    from deniably.design.planning import plan_figures

    study, people = dn.open((survey, reports)), dn.simulate_people(survey, 100)
    return {
        "estimate": str(study.estimate("a")),
        "difference": str(study.difference("a")),
        "simulated": str(dn.estimate(survey, dn.tally(dn.randomise(people)))),
        "planned": str(plan_figures(survey, n=300, share=0.5)[0].question),
    }


def _audited(survey: Survey) -> dict[str, str]:
    """In both languages, against the reference."""
    from deniably.audit.survey_audit import audit_survey

    audited = audit_survey(survey, trials=100, scenarios=3)
    replays = audited.replays
    both = [tally.reports for tally in (replays.python, replays.javascript)]
    return {"fault": str(replays.fault), "reports": " ".join(map(str, both))}


if __name__ == "__main__":
    show()
