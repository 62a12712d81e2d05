"""Everything that readers are shown of many made-up surveys, in every format, to compare two states
of the code.

``python tests/support/shown_corpus.py write FOLDER --count 300`` writes what the code shows,
``python tests/support/shown_corpus.py compare BEFORE AFTER`` says what differs: numbers and files
byte for byte, figures as marks (``same_marks``), pages as texts, marks and links.

Surveys have all types of questions, conditional ones, strata, waves, few reports, fakes, and rules
that hide results. The same number makes the same survey with the same reports.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlencode

sys.path.insert(0, str(Path(__file__).parents[1]))

from flask.testing import FlaskClient

import deniably as dn
from deniably.authoring.compiling import compile_survey
from deniably.core.coins import Coins
from deniably.core.errors import BadModel, NoEstimate, NoFigure, NoResults
from deniably.survey.report import randomise_answers
from deniably.survey.survey import Survey
from deniably.trust.signing import new_key
from deniably.workbench.files.report_lines import read_ndjson
from deniably.workbench.report_set import ReportSet
from deniably_server.api.document_cache import cache_documents
from deniably_server.app import create_app
from deniably_server.storage.store import Store
from support.every_type import QUESTIONS, somebody, survey_of_everything
from support.material import new_token
from support.same_marks import differences_of
from support.stored import stored
from support.waves import EVERY
from support.worked_out import worked_out_once

Shown = dict[str, str]
"""What was shown, by a name that says where and in which format."""
LEVELS = ("", "0.9", "0.8", "0.5", "0.99")
_SITES = {"site": ["north", "south"]}
_SHIFTS = {"site": ["north", "south", "west"], "shift": ["day", "night"]}


def shown_of(number: int) -> Shown:
    """All formats of the surveys of a number."""
    random = Random(number)
    with tempfile.TemporaryDirectory() as folder:
        address = str(Path(folder) / "deniably.db")
        sets, author = list(_report_sets(random, number)), new_key()
        for reports in sets:
            with closing(stored(address, reports, author)) as store:
                if random.random() < 0.9 or len(sets) > 1:
                    store.close_survey(reports.survey.name)
        app = create_app({"DATABASE": address, "TESTING": True})
        cache_documents(app)  # each document is computed once for all its formats
        with closing(app.extensions["deniably"]) as store:
            shown = dict(_served(app.test_client(), store, sets, random))
    return shown | dict(_of_notebooks(sets, random))


# --- surveys and their reports ------------------------------------------------------------------


def _report_sets(random: Random, number: int) -> Iterator[ReportSet]:
    """One survey; or the waves of a panel, or the same survey asked of other people."""
    people = random.choice((40, 150, 400, 900))
    if number % 4 == 0:
        for survey in _panel(random):
            yield _reports(survey, people, random, _anybody)
        return
    survey = _survey(random, number)
    yield _reports(survey, people, random, somebody)
    if number % 4 == 1:
        again = survey_of_everything(**_changes(survey, "again"))
        yield _reports(again, people, random, somebody)


def _changes(survey: Survey, name: str) -> dict[str, Any]:
    document = json.loads(survey.canonical)
    return document | {"name": name, "title": "The same & asked again"}


def _survey(random: Random, number: int) -> Survey:
    names = random.sample([one["name"] for one in QUESTIONS], random.randint(2, 5))
    if "what" in names and "stolen" not in names:
        names.append("stolen")
    questions = [{"claim": {"epsilon": "2"}} | one for one in QUESTIONS if one["name"] in names]
    rules: dict[str, Any] = {
        "minimum": random.choice((1, 10, 60)), "while_open": random.random() < 0.5,
        "reports": "public",
    }  # fmt: skip
    if random.random() < 0.2:
        rules = {**rules, "to": "analysts", "reports": "never"}
    changes: dict[str, Any] = {}
    if random.random() < 0.6:
        changes["strata"] = random.choice((_SITES, _SHIFTS))
    return survey_of_everything(
        name=f"corpus-{number}", title="How <we> work & live", questions=questions, results=rules,
        **changes,
    )  # fmt: skip


def _panel(random: Random) -> Iterator[Survey]:
    asked = random.sample(EVERY, random.randint(1, 3))
    waves = {"count": 4} if random.random() < 0.5 else {"recognisable": True}
    hidden = random.random() < 0.3
    for wave in range(1, random.randint(3, 4)):
        yield compile_survey(
            {
                "name": f"wave-{wave}", "title": "Honesty at work", "questions": asked,
                "results": {"minimum": 1} | ({"to": "analysts"} if hidden and wave == 1 else {}),
                "waves": {"panel": "workplace"} | waves,
            }
        )  # fmt: skip


def _reports(
    survey: Survey, people: int, random: Random, answers_of: Callable[[Random], dict[str, Any]]
) -> ReportSet:
    """Reports of people who answer as they were asked; of one survey in four some are made up."""
    names = [question.name for question in survey.questions]
    coins, strata = Coins(random.randbytes), survey.every_stratum
    faked = random.random() < 0.25

    def lines() -> Iterator[bytes]:
        fake = b""
        for index in range(people):
            if faked and fake and index % 3 == 0:
                report = json.loads(fake) | {"id": f"{random.getrandbits(128):032x}"}
                yield json.dumps(report, sort_keys=True, separators=(",", ":")).encode()
                continue
            answers = {name: value for name, value in answers_of(random).items() if name in names}
            stratum = (
                random.choices(strata, range(3, 3 + len(strata)))[0] if survey.strata else None
            )
            fake = randomise_answers(survey, answers, coins, strata=stratum).canonical
            yield fake

    return read_ndjson(survey, lines())


def _anybody(random: Random) -> dict[str, Any]:
    """The answers of a person to the questions of panels."""
    return {
        "stolen": random.choice(["yes", "no", "no"]), "dept": random.choice("aabcde"),
        "took": random.sample("abcdef", random.randint(0, 2)), "income": random.randint(0, 100),
        "hours": random.randint(0, 50), "happy": random.choice("abbcde"),
        "trust": random.choice("abcdd"),
        "home": {"east": random.randint(0, 99), "north": random.randint(0, 99)},
        "pair": {"one": random.choice("ab"), "two": random.choice("aab")},
    }  # fmt: skip


# --- what a server shows ------------------------------------------------------------------------


def _served(
    client: FlaskClient, store: Store, sets: list[ReportSet], random: Random
) -> Iterator[tuple[str, str]]:
    def get(address: str, token: str = "", **query: Any) -> Iterator[tuple[str, str]]:
        target = f"{address}?{urlencode(query)}" if query else address
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        answer = client.get(target, headers=headers)
        disposition = answer.headers.get("Content-Disposition", "")
        head = f"{answer.status_code} {answer.mimetype} {disposition}"
        yield f"{'analyst ' if token else ''}{target}", f"{head}\n{answer.get_data(as_text=True)}"

    def kinds(survey: Survey, kind: str, token: str, query: dict[str, Any]) -> Iterator[Any]:
        page, api = f"/surveys/{survey.name}/{kind}", f"/api/surveys/{survey.name}/{kind}"
        of_data = {key: value for key, value in query.items() if key != "of"}
        of_waves = {key: value for key, value in of_data.items() if key != "question"}
        data = of_waves if kind == "waves" else of_data
        yield from get(api, token, **data)
        yield from get(page, token, **(data if kind == "waves" else query))
        yield from get(f"{page}/figure", token, **query)
        yield from get(f"{api}.csv", token, **data)
        for width in (85, 180):
            yield from get(f"{api}.svg", token, **query, width=width)

    for reports in sets:
        survey = reports.survey
        token = new_token(store, "analyst", survey.name if len(sets) == 1 else None)
        names = [question.name for question in survey.questions]
        parts: list[dict[str, Any]] = [{}]
        for key, values in sorted((survey.strata or {}).items()):
            parts.append({key: random.choice(values)})
        for part in parts:
            level = random.choice(LEVELS)
            own = {**part, **({"confidence": level} if level else {})}
            for ending in ("", ".csv"):
                yield from get(f"/api/surveys/{survey.name}/results{ending}", token, **own)
            yield from get(f"/surveys/{survey.name}", token, **own)
            yield from get(f"/surveys/{survey.name}", **own)
            for text in ("METHODS.md", "CHECKLIST.md"):
                yield from get(f"/api/surveys/{survey.name}/paper/{text}", token, **own)
            for question in names:
                yield from get(f"/surveys/{survey.name}/figures/{question}", token, **own)
                for width in (85, 180):
                    address = f"/api/surveys/{survey.name}/figures/{question}.svg"
                    yield from get(address, token, **own, width=width)
                query = {"question": question, **own}
                yield from kinds(survey, "differences", token, query)
                if len(sets) > 1:
                    other = next(one.survey.name for one in sets if one is not reports)
                    yield from kinds(survey, "differences", token, {**query, "survey": other})
                yield from kinds(survey, "waves", token, query)
                for by in sorted(survey.strata or {"site": []}):
                    yield from kinds(survey, "strata", token, {**query, "by": by})
                api = f"/api/surveys/{survey.name}/groups"
                asked = {**part, "question": question, "count": random.choice((2, 3))}
                page = f"/surveys/{survey.name}/groups"
                for address in (api, page, f"{page}/figure", f"{api}.svg"):
                    yield from get(address, token, **asked)
            for rows, columns in random.sample(
                list(combinations(names, 2)), min(3, len(names) - 1)
            ):
                query = {"rows": rows, "columns": columns, **own}
                yield from kinds(survey, "crosstab", token, query)
                for of in random.sample(("rows", "columns", "all", "none"), 2):
                    yield from kinds(survey, "crosstab", token, {**query, "of": of})
            for kind in ("crosstab", "differences", "strata", "waves", "groups"):
                yield from kinds(survey, kind, "", own)
                yield from kinds(survey, kind, token, {"nonsense": "1"})
            yield from kinds(survey, "strata", token, {"by": "site", **own})
            yield from kinds(survey, "differences", token, {"question": "no_such", **own})
            yield from kinds(survey, "crosstab", token, {"rows": names[0], "columns": names[0]})
    yield from get("/api/openapi.json")


# --- what a notebook shows ----------------------------------------------------------------------

_REFUSALS = (NoFigure, NoResults, NoEstimate, BadModel)


def _of_notebooks(sets: list[ReportSet], random: Random) -> Iterator[tuple[str, str]]:
    studies = [dn.open((reports.survey, reports)) for reports in sets]
    for place, study in enumerate(studies):
        survey, name = study.survey, study.survey.name
        names = [question.name for question in survey.questions]
        keys: list[str | None] = [None, *sorted(survey.strata or {})]
        weights = None
        if len(keys) == 2:
            weights = {"north": 1.3, "south": 0.7}
        for weigh in [{}, *([{"weights": weights}] if weights else [])]:
            for by in keys:
                for question in names:
                    more = {"by": by, **weigh, "confidence": random.choice((0.95, 0.8))}
                    where = f"notebook {name} {question} {by} {bool(weigh)}"
                    for what in ("estimate", "mean", "distribution", "quantile", "difference"):
                        method = getattr(study, what)
                        yield from _tried(f"{where} {what}", method, question, **more)
                    yield from _tried(
                        f"{where} crosstab", study.crosstab, names[0], question, **more
                    )
                    if not weigh:
                        yield from _tried(f"{where} figure", study.figure, question, by=by)
        for question in names:
            where = f"notebook {name} {question}"
            yield from _tried(f"{where} sentence", study.sentence, question)
            if place:
                yield from _tried(f"{where} trend", study.trend, question, studies[:place])
                yield from _tried(
                    f"{where} other", study.difference, question, other=studies[place - 1]
                )
        yield from _tried(f"notebook {name} methods", study.methods)
        yield f"notebook {name} itself", f"{study}\n{study._repr_html_()}"


def _tried(
    where: str, method: Callable[..., Any], *given: Any, **more: Any
) -> Iterator[tuple[str, str]]:
    """A table's text, its HTML, its rows and its document; or the refusal."""
    try:
        result = method(*given, **more)
    except _REFUSALS as error:
        yield where, f"{type(error).__name__}: {error}"
        return
    if isinstance(result, str):
        yield f"{where}{'.svg' if result.startswith('<svg') else ''}", f"\n{result}"
        return
    yield where, str(result)
    yield f"{where} json", json.dumps([result.to_dict(), [dict(row) for row in result.rows]])
    yield f"{where} html", f"\n{result._repr_html_()}"


# --- as a command -------------------------------------------------------------------------------


def write(folder: Path, numbers: range) -> None:
    """Write what is shown, a file a number."""
    folder.mkdir(parents=True, exist_ok=True)
    with worked_out_once():
        for number in numbers:
            text = json.dumps(shown_of(number), sort_keys=True)
            (folder / f"{number:03}.json.gz").write_bytes(gzip.compress(text.encode(), 3, mtime=0))


def compare(before: Path, after: Path) -> int:
    """Print what differs, and how much was compared; returns how many differ."""
    compared, differ = Counter[str](), Counter[str]()
    examples: dict[str, list[str]] = {}
    for file in sorted(after.glob("*.json.gz")):
        old, new = (
            json.loads(gzip.decompress((folder / file.name).read_bytes()))
            for folder in (before, after)
        )
        for key in sorted(old.keys() | new.keys()):
            kind, why = differences_of(key, old.get(key), new.get(key))
            compared[kind] += 1
            if why:
                differ[f"{kind}: {why}"] += 1
                examples.setdefault(f"{kind}: {why}", []).append(f"{file.name} {key}")
    for kind, count in sorted(compared.items()):
        print(f"{count:8,} {kind}")
    for why, count in differ.most_common(60):
        print(f"{count:8,} {why[:600]}    such as {examples[why][0]}")
    return sum(differ.values())


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["write", to, "--count", count]:
            write(Path(to), range(int(count)))
        case ["write", to, "--numbers", first, last]:
            write(Path(to), range(int(first), int(last)))
        case ["compare", one, other]:
            sys.exit(min(compare(Path(one), Path(other)), 1))
        case _:
            sys.exit(__doc__)
