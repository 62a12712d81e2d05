"""``deniably.open``: a notebook has the server's figures, and refuses what does not fit."""

from __future__ import annotations

import csv
import inspect
import io
import json
import re
import struct
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from random import Random
from typing import Any
from zipfile import ZipFile

import polars as pl
import pytest
import requests

import deniably as dn
from deniably.authoring.compiling import compile_survey
from deniably.core.errors import NoFigure
from deniably.estimation.difference import holm
from deniably.estimation.tally import Tally
from deniably.results.drawing import png
from deniably.results.remote import Remote
from deniably.results.rows import COLUMNS
from deniably.results.waves import COLUMNS as WAVES
from deniably.results.waves import Wave, waves_result
from deniably.survey.report import make_report
from deniably.workbench.engines.duck import duckdb
from deniably.workbench.engines.rebuilt import reports_of
from deniably.workbench.engines.tally_file import tally_text
from deniably.workbench.engines.tallying import Counts, TalliedSet, tally_set
from deniably.workbench.files.folder import write_folder
from deniably.workbench.files.optional_libraries import NoExport
from deniably.workbench.files.parquet_parts import open_parts, write_parts
from deniably.workbench.report_set import of_simulation
from deniably_server.storage.store import Store
from deniably_server.storage.writing.commit import BatchWrite
from support.every_type import somebody, survey_of_everything
from support.material import Server, new_token, signed
from support.people import answer
from support.seeded import seeded_coins

SURVEY = survey_of_everything(results={"minimum": 5, "while_open": False})
N = 300


SITES = compile_survey({
    "name": "sites", "title": "Two sites",
    "results": {"minimum": 5, "reports": "public", "linkable": True},
    "strata": {"site": ["north", "south"]},
    "questions": [
        {"name": "stolen", "type": "yes_no", "label": "Stolen?", "odds": 3},
        {"name": "what", "type": "select_multiple", "label": "What?", "choices": ["Money", "Time"],
         "most": 2, "epsilon": 1},
        {"name": "late", "type": "scale", "label": "Late?", "choices": ["Never", "Once", "Often"],
         "epsilon": 1},
        {"name": "drinks", "type": "number", "label": "Drinks?", "minimum": 0, "maximum": 9,
         "aim": "distribution", "epsilon": 1},
    ],
})  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Closed surveys, one with a question of every type; the same reports in every run."""
    database = tmp_path_factory.mktemp("study") / "deniably.db"
    with closing(Store(str(database))) as store:
        store.publish(SURVEY, signed(SURVEY))
        random, coins = Random(18), seeded_coins()
        answer(store, SURVEY, [somebody(random) for _ in range(N)], coins)
        store.close_survey(SURVEY.name)
        store.publish(SITES, signed(SITES))
        batch = BatchWrite(SITES)
        for number in range(240):
            answers = {
                "stolen": random.choice(["yes", "no"]), "what": random.choice([[], ["money"]]),
                "late": random.choice(["never", "often"]), "drinks": random.randrange(10),
            }  # fmt: skip
            site = {"site": "north" if number % 3 else "south"}
            batch.add(make_report(SITES, answers, coins, strata=site).report)
        store.begin(batch)
        batch.wait()
        store.close_survey(SITES.name)
    server = Server(database)
    yield server
    server.kill()


@pytest.fixture(scope="module")
def token(server: Server) -> str:
    with closing(Store(str(server.database))) as store:
        return new_token(store, "analyst")


@pytest.fixture(scope="module")
def study(server: Server, token: str) -> dn.Study:
    return dn.open(f"{server.url}/surveys/everything", token=token)


@pytest.fixture(scope="module")
def folder(study: dn.Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("export") / "everything"
    assert study.source is not None
    write_folder(to, study.reports, study.source, ["csv", "ndjson"])
    return to


def shown(server: Server, path: str, **query: Any) -> Any:
    """What the server answers."""
    found = requests.get(f"{server.url}/api/surveys/everything/{path}", query, timeout=60)
    assert found.ok, found.text
    return found


# --- the server's figures -----------------------------------------------------------------------


@pytest.mark.parametrize("query", [{}, {"confidence": 0.9, "smooth": 1}])
def test_estimates_are_the_servers_to_the_last_digit(
    server: Server, study: dn.Study, query: dict[str, Any]
) -> None:
    """From the reports as from the server, which counts them itself; of every type of question."""
    expected = shown(server, "results", **query).json()
    options = {"confidence": query.get("confidence", 0.95), "smooth": bool(query.get("smooth"))}
    without = dn.open(f"{server.url}/s/everything")

    assert study.has_reports
    assert not without.has_reports
    assert json.loads(study.estimate(**options).to_json()) == expected
    assert json.loads(without.estimate(**options).to_json()) == expected
    for question in expected["questions"]:
        (one,) = study.estimate(question["name"], **options).to_dict()["questions"]
        assert json.loads(json.dumps(one)) == question


def test_frames_have_the_columns_of_the_spreadsheet(server: Server, study: dn.Study) -> None:
    expected = list(csv.DictReader(io.StringIO(shown(server, "results.csv").text)))
    found = study.estimate()
    frame, other = found.to_frame(), found.to_frame(engine="polars")

    assert tuple(frame.columns) == tuple(other.columns) == tuple(expected[0]) == COLUMNS
    assert isinstance(other, pl.DataFrame)
    assert len(frame) == len(expected) == len(other)
    for row, said in zip(found.rows, expected, strict=True):
        for key in ("estimate", "low", "high", "standard_error", "count", "p", "q", "consistent"):
            value = row[key]
            assert (None if said[key] == "" else float(said[key])) == value, (said, key)


@pytest.mark.parametrize(("rows", "columns"), [("stolen", "happy"), ("what", "happy")])
def test_crosstabs_are_the_servers(
    server: Server, study: dn.Study, rows: str, columns: str
) -> None:
    expected = shown(server, "crosstab", rows=rows, columns=columns, confidence=0.9).json()
    found = study.crosstab(rows, columns, confidence=0.9)

    assert json.loads(json.dumps(found.to_dict())) == expected | {"estimator": found.estimator}
    frame = csv.DictReader(
        io.StringIO(shown(server, "crosstab.csv", rows=rows, columns=columns).text)
    )
    assert list(found.to_frame().columns) == frame.fieldnames
    assert "<svg" in found._repr_html_() or 'class="heat"' in found._repr_html_()


def test_differences_means_and_figures_are_the_servers(server: Server, study: dn.Study) -> None:
    expected = shown(server, "differences", question="happy").json()
    found = study.difference("happy")
    assert found.to_dict() == expected | {"estimator": found.estimator}
    assert len(found.rows) == 10

    questions = {one["name"]: one for one in shown(server, "results").json()["questions"]}
    for name in ("trust", "drinks", "income", "sick", "fines"):
        mean = study.mean(name)
        said = questions[name]["mean"]
        assert (mean.estimate, [*mean.interval]) == (said["estimate"], said["interval"])
    (care,) = (one for one in questions["hours"]["parts"] if one["name"] == "care")
    assert study.mean("hours", part="care").estimate == care["mean"]["estimate"]
    assert len(study.mean("hours").rows) == 2
    (median,) = (one for one in questions["income"]["quantiles"] if one["share"] == 0.5)
    (row,) = study.quantile("income").rows
    assert [row["estimate_low"], row["estimate_high"]] == [
        float(median[end]) for end in ("low", "high")
    ]
    assert [row["low"], row["high"]] == [float(end) for end in median["interval"]]

    file = shown(server, "figures/stolen.svg", width=180).text
    assert study.figure("stolen", width=180) == file
    assert dn.open(f"{server.url}/s/everything").figure("stolen", width=180) == file


def test_groups_are_the_servers(server: Server, study: dn.Study) -> None:
    expected = shown(server, "groups", question="home", count=2).json()
    sheet = shown(server, "groups.csv", question="home", count=2).text.splitlines()
    found = study.groups("home", 2)

    assert found.to_dict() == expected | {"estimator": found.estimator}
    assert [[*row] for row in found.rows] == [sheet[0].split(",")] * 2
    assert [row["share"] for row in found.rows] == [one["share"] for one in expected["groups"]]
    assert "is an assumption, not a finding" in str(found)
    assert found._repr_html_().count("<svg") >= 1
    with pytest.raises(NoFigure, match="stolen is a yes_no and has no map"):
        study.groups("stolen")
    with pytest.raises(NoFigure, match="from 1 to 12"):
        study.groups("home", 13)


def test_a_quantile_of_any_share_lies_between_those_around_it(study: dn.Study) -> None:
    ends = [
        study.quantile("income", share / 20).rows[0]["estimate_high"] for share in range(2, 20, 4)
    ]
    assert ends == sorted(ends)  # type: ignore[type-var]


# --- by strata, and with weights ----------------------------------------------------------------


@pytest.fixture(scope="module")
def sites(server: Server) -> dn.Study:
    return dn.open(f"{server.url}/s/sites")


@pytest.fixture(scope="module")
def weights(sites: dn.Study) -> Any:
    return sites.rake({"site": {"north": 0.5, "south": 0.5}})


def test_each_group_has_the_servers_figures_from_its_reports_too(
    server: Server, sites: dn.Study, tmp_path: Path
) -> None:
    assert sites.source is not None
    write_folder(tmp_path / "out", sites.reports, sites.source)
    for study in (sites, dn.open(tmp_path / "out")):
        found = study.estimate(by="site")
        assert [*found.parts] == ["north", "south"]
        for value, part in found.parts.items():
            address = f"{server.url}/api/surveys/sites/results"
            assert json.loads(part.to_json()) == requests.get(address, {"site": value}).json()
        assert {row["strata"] for row in found.rows} == {"site north", "site south"}
        means = [part.document.questions[3].mean.estimate for part in found.parts.values()]
        assert [row["estimate"] for row in study.mean("drinks", by="site").rows] == means
        assert "north" in str(study.distribution("drinks", by="site"))
        apart = study.difference("drinks", by="site").rows[-1]["estimate"]
        assert apart == pytest.approx(means[0] - means[1], abs=2e-6)


def test_differences_between_groups_are_the_servers(server: Server, sites: dn.Study) -> None:
    address = f"{server.url}/api/surveys/sites/strata"
    for question in ("late", "drinks"):
        expected = requests.get(address, {"question": question, "by": "site"}, timeout=60).json()
        found = sites.difference(question, by="site")
        assert json.loads(json.dumps(found.to_dict())) == expected | {"estimator": found.estimator}
        assert "<svg" in found._repr_html_()


def test_quantiles_crosstabs_and_figures_of_groups_are_the_servers(
    server: Server, sites: dn.Study
) -> None:
    def asked(path: str, **query: Any) -> requests.Response:
        return requests.get(f"{server.url}/api/surveys/sites/{path}", query, timeout=60)

    quantiles = sites.quantile("drinks", by="site", confidence=0.8)
    crossed = sites.crosstab("late", "stolen", by="site", confidence=0.8)
    assert [row["strata"] for row in quantiles.rows] == ["site north", "site south"]
    for value, row in zip(("north", "south"), quantiles.rows, strict=True):
        shown = asked("results", site=value, confidence=0.8).json()["questions"][3]["quantiles"]
        (median,) = (one for one in shown if one["share"] == 0.5)
        assert [row["estimate_low"], row["low"], row["high"]] == [
            float(one) for one in (median["low"], *median["interval"])
        ]
        query = {"rows": "late", "columns": "stolen", "site": value, "confidence": 0.8}
        expected = asked("crosstab", **query).json()
        assert json.loads(json.dumps(crossed.to_dict()))["subgroups"][value] == expected
    assert {row["strata"] for row in crossed.rows} == {"site north", "site south"}
    assert str(crossed).startswith("Late? by Stolen?\n")
    assert sites.figure("late", by="site", width=180) == (
        asked("strata.svg", question="late", by="site", width=180).text
    )
    narrower = asked("figures/late.svg", confidence=0.8, width=85).text
    assert sites.figure("late", confidence=0.8) == narrower


def test_weights_of_one_change_nothing_and_raked_ones_meet_their_margins(
    sites: dn.Study, weights: Any
) -> None:
    for question in ("stolen", "what", "late"):
        plain = [row for row in sites.estimate(question).rows if row["figure"] == "share"]
        same = sites.estimate(question, weights={"north": 1.0, "south": 1.0})
        shares = [row for row in same.rows if row["figure"] == "share"]
        assert [row["choice"] for row in plain] == [row["choice"] for row in shares]
        for one, other in zip(plain, shares, strict=True):
            assert other["estimate"] == pytest.approx(one["estimate"], abs=1e-6)
            for key in ("question_label", "choice_label", "p", "q", "epsilon", "confidence"):
                assert one[key] == other[key]
        assert tuple(same.to_frame().columns) == COLUMNS

    by = {row["strata"]: row["estimate"] for row in sites.estimate("stolen", by="site").rows[::2]}
    found = sites.estimate("stolen", weights=weights)
    middle = sum(float(one or 0) for one in by.values()) / 2
    assert found.rows[0]["estimate"] == pytest.approx(middle, abs=1e-6)
    grouped = sites.estimate("stolen", weights=weights, by="site")
    assert [row["estimate"] for row in grouped.rows[::2]] == pytest.approx([*by.values()], abs=1e-6)
    assert re.search(r"^north  stolen ", str(grouped), re.M), "as without weights"
    assert "design_effect of its rows" in str(found)
    spread = sites.distribution("stolen", weights=weights, by="site").rows
    assert [*spread] == [row for row in grouped.rows if row["figure"] == "share"]
    assert sites.mean("late", weights=weights).interval[0] < 2
    within = sites.estimate("late", weights=weights, strata="site").rows[-1]
    assert sites.mean("late", weights=weights, strata="site").rows == [within]
    assert sites.mean("late", weights=weights).rows != [within]
    with pytest.raises(TypeError, match="does not support item assignment"):
        weights["north"] = 2


def test_weights_of_one_change_no_figure_of_any_type(study: dn.Study) -> None:
    ones: Any = {(): 1.0}
    for question in SURVEY.questions:
        plain = {
            (row["figure"], row["part"], row["choice"]): row
            for row in study.estimate(question.name).rows
            if row["figure"] in ("share", "mean") and row["low"] is not None
        }
        if question.type in ("point", "product"):
            with pytest.raises(
                dn.NoFigure, match="with choices and for numbers; by= estimates each"
            ):
                study.estimate(question.name, weights=ones)
            continue
        found = [
            row
            for row in study.estimate(question.name, weights=ones).rows
            if row["figure"] in ("share", "mean")
        ]
        assert {(row["figure"], row["part"], row["choice"]) for row in found} == set(plain)
        for row in found:
            one: Any = plain[row["figure"], row["part"], row["choice"]]
            assert float(row["standard_error"] or 0) > 0
            ends = [[float(line[key] or 0) for key in ("low", "high")] for line in (row, one)]
            assert ends[0] == pytest.approx(ends[1], abs=2e-6), question.name
            if (question.name, row["figure"]) == ("happy", "mean"):  # of those who have a score
                shares = [float(share["estimate"] or 0) for share in found[:4]]
                total = sum(score * share for score, share in enumerate(shares, 1))
                assert row["estimate"] == pytest.approx(total / sum(shares))
            else:
                assert row["estimate"] == pytest.approx(one["estimate"], abs=2e-6), question.name
        if question.type == "number" and question.aim == "distribution":
            for ask in (study.distribution, study.quantile):
                weighted, whole = (ask(question.name, **o).rows for o in ({"weights": ones}, {}))
                assert list(map(dict, weighted)) == list(map(dict, whole)), question.name
    told = {row["figure"] for row in study.reports.shares("trust").rows}
    assert told == {"mean"}, "3 outputs tell no 5 shares"
    assert study.mean("hours", part="care", weights=ones).rows[0]["part"] == "care"
    with pytest.raises(dn.NoFigure, match="hours has no part sleep; there are work, care"):
        study.mean("hours", part="sleep", weights=ones)


def test_weights_fit_reports_that_name_several_choices() -> None:
    """Of many more kinds of reports than were sent."""
    survey = dn.load_survey({"name": "s", "title": "T", "questions": [
        {"name": "a", "type": "select_one", "label": "?", "epsilon": 0.5,
         "choices": [f"c{number}" for number in range(12)]}]})  # fmt: skip
    few = dn.open((survey, dn.randomise(dn.simulate_people(survey, 60))))

    assert "1 of 12" not in str(few), "a report names several"
    found = [row["estimate"] for row in few.estimate("a", weights={(): 1.0}).rows]
    assert found == pytest.approx([row["estimate"] for row in few.estimate("a").rows], abs=1e-6)


def test_a_scale_that_was_asked_for_its_mean_is_weighed_by_the_scores_of_its_mean() -> None:
    """Its channel has 9 outputs, so that the shares of 5 answers have other unbiased estimates."""
    survey = dn.load_survey({"name": "s", "title": "T", "questions": [
        {"name": "happy", "type": "scale", "aim": "mean", "label": "?", "epsilon": 2,
         "choices": [f"c{number}" for number in range(5)]}]})  # fmt: skip
    some = dn.open((survey, dn.randomise(dn.simulate_people(survey, 60))))

    assert "9 outputs" in str(some)
    (plain,), (weighted,) = some.mean("happy").rows, some.mean("happy", weights={(): 1.0}).rows
    assert weighted["estimate"] == pytest.approx(plain["estimate"], abs=1e-6)


def test_strata_stand_in_models_and_plans(sites: dn.Study, weights: Any) -> None:
    model = sites.regress("stolen ~ C(site)", weights=weights, strata="site")
    assert [one.term for one in model.coefficients] == ["Intercept", "C(site)[T.south]"]
    assert model.se == "HC3"
    planned = sites.plan("stolen", by="site", difference=0.1, power=0.8)
    assert {row["test"] for row in planned.rows} == {"groups"}
    north = len(sites.reports.among({"site": "north"})) / sites.n
    assert (
        planned.rows
        == sites.plan("stolen", test="groups", first=north, difference=0.1, power=0.8).rows
    )
    halves = sites.plan("stolen", by="site", first=0.5, difference=0.1, power=0.8)
    assert (halves.rows[0]["n"] == planned.rows[0]["n"]) == (north == 0.5)


def test_where_strata_are_not_known_a_plan_takes_halves(server: Server) -> None:
    survey = compile_survey({
        "name": "two-sites", "title": "T", "results": {"minimum": 5, "reports": "public"},
        "strata": {"site": ["north", "south"]},
        "questions": [{"name": "a", "type": "yes_no", "label": "?", "odds": 3}],
    })  # fmt: skip
    server.publish(survey)
    sites = ["north"] * 20 + ["south"] * 2
    made = [make_report(survey, {"a": "no"}, strata={"site": site}).report for site in sites]
    server.send_lines(survey, b"".join(report.canonical + b"\n" for report in made))
    server.close(survey)
    study = dn.open(f"{server.url}/s/two-sites")

    assert study.reports.strata == {}
    planned = study.plan("a", by="site", difference=0.1, power=0.8).rows
    assert planned == study.plan("a", by="site", first=0.5, difference=0.1, power=0.8).rows


def test_where_a_group_is_too_small_reports_come_without_strata(server: Server) -> None:
    survey = compile_survey({
        "name": "three", "title": "T",
        "results": {"minimum": 5, "reports": "public", "linkable": True},
        "strata": {"site": ["north", "south", "west"]},
        "questions": [
            {"name": "a", "type": "yes_no", "label": "?", "odds": 3},
            {"name": "b", "type": "yes_no", "label": "?", "odds": 3},
            {"name": "c", "type": "number", "label": "?", "minimum": 0, "maximum": 9,
             "aim": "distribution", "epsilon": 8},
        ],
    })  # fmt: skip
    server.publish(survey)
    answers = {"a": "no", "b": "no", "c": 3}
    sites = ["north"] * 20 + ["south"] * 9 + ["west"] * 2
    made = [make_report(survey, answers, strata={"site": site}).report for site in sites]
    server.send_lines(survey, b"".join(report.canonical + b"\n" for report in made))
    server.close(survey)
    study = dn.open(f"{server.url}/s/three")

    assert [*study.estimate(by="site").parts] == ["north"], "two are hidden: one would tell of west"
    assert [row["estimate_low"] for row in study.quantile("c", by="site").rows] == [3]
    assert study.n == 31
    for ask in (
        lambda: study.difference("a", by="site"),
        lambda: study.rake({"site": {"north": 1}}),
        lambda: study.regress("a ~ site"),
        lambda: study.estimate("a", weights={"north": 1.0, "west": 1.0}, by="site"),
        lambda: study.crosstab("a", "b", by="site"),
        lambda: study.figure("a", by="site"),
        lambda: study.quantile("c", 0.33, by="site"),
    ):
        with pytest.raises(dn.BadModel, match="no column for what the link said"):
            ask()


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (lambda s, w: s.estimate(by="sit"), "sites has no key sit; did you mean site"),
        (lambda s, w: s.estimate(weights=w), "one question at a time"),
        (lambda s, w: s.mean("stolen", weights=w), "stolen has no mean"),
        (lambda s, w: s.distribution("drinks", weights=[1.0] * 240), "sorted by content"),
        (lambda s, w: s.quantile("drinks", weights=w, strata="sit"), "no stratum sit; did you mea"),
        (lambda s, w: s.quantile("late", weights=w), "late is a scale and has no quantiles"),
        (lambda s, w: s.crosstab("late", "stolen", by="sit"), "no key sit; did you mean site"),
        (lambda s, w: s.estimate("stolen", weights={"north": 1.0}), "no weight of the stratum"),
        (lambda s, w: s.difference("stolen", by="site", other=s), "by= or other=, and not both"),
        (lambda s, w: s.plan("stolen", by="late", difference=0.1), "sites has no key late"),
        (lambda s, w: s.rake({"late": {"never": 1}}), "late is a question, and randomised"),
        (lambda s, w: s.rake({"site": {"north": 1}}), "no known share of south"),
    ],
)
def test_weights_and_strata_that_do_not_fit_are_refused(
    sites: dn.Study, weights: Any, ask: Any, why: str
) -> None:
    with pytest.raises((dn.NoFigure, dn.BadModel), match=why):
        ask(sites, weights)


def test_a_survey_without_strata_has_no_groups(study: dn.Study) -> None:
    with pytest.raises(dn.NoFigure, match="has no key site: it has no strata"):
        study.difference("stolen", by="site")
    with pytest.raises(dn.BadModel, match="the survey has none"):
        study.rake({"site": {"north": 1}})


# --- the paper ----------------------------------------------------------------------------------


def test_what_a_paper_says_is_what_an_export_says(sites: dn.Study, tmp_path: Path) -> None:
    assert sites.source is not None
    write_folder(tmp_path / "out", sites.reports, sites.source)
    folder = dn.open(tmp_path / "out")

    assert (
        sites.cite().splitlines()[0]
        == (tmp_path / "out" / "references.bib").read_text().splitlines()[0]
    )
    assert folder.cite("apa") == sites.cite("apa")
    assert folder.methods() == sites.methods()
    assert sites.cite("apa") in sites.methods()
    assert "240 respondents" in sites.methods()
    assert sites.sentence("stolen") in (tmp_path / "out" / "METHODS.md").read_text()
    assert "<div" in sites.methods()._repr_html_()
    at_hand = dn.open((SITES, sites.reports))
    assert "Warner" in at_hand.methods()
    for ask in (sites.cite, sites.methods):
        with pytest.raises(dn.NoFigure, match="there is no style 'mla'"):
            ask("mla")


def test_a_figure_as_png_has_letters_and_its_size_on_paper(
    sites: dn.Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = sites.figure("stolen", "png")

    assert found.startswith(b"\x89PNG")
    assert found._repr_png_() == found
    width, height = struct.unpack(">II", found[16:24])
    assert (width, height > 600) == (round(85 / 25.4 * 600), True)
    place = found.index(b"pHYs") + 4
    assert struct.unpack(">IIB", found[place : place + 9]) == (23622, 23622, 1)
    bare = re.sub(r"<text.*?</text>", "", sites.figure("stolen"), flags=re.DOTALL)
    assert len(found) > 2 * len(png.png(bare)), "letters are drawn"

    png._family.cache_clear()
    monkeypatch.setattr(png, "FAMILIES", ("no font of this name",))
    with pytest.raises(OSError, match="fonts-liberation"):
        sites.figure("stolen", "png")
    png._family.cache_clear()
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(ImportError, match=r"deniably\[bench\]"):
        sites.figure("stolen", "png")
    with pytest.raises(dn.NoFigure, match="no kind of figure 'gif'"):
        sites.figure("stolen", "gif")  # type: ignore[call-overload]


# --- one study, however it is opened ------------------------------------------------------------


def test_a_folder_and_a_zip_of_it_have_the_same_reports(
    study: dn.Study, folder: Path, tmp_path: Path
) -> None:
    flat, nested = tmp_path / "flat.zip", tmp_path / "nested.zip"
    for file, inside in ((flat, ""), (nested, "everything/")):
        with ZipFile(file, "w") as archive:
            for one in folder.iterdir():
                archive.write(one, f"{inside}{one.name}")

    for source in (folder, str(folder), flat, nested):
        found = dn.open(source)
        assert found.reports == study.reports
        assert found.source == study.source
        assert found.estimate("income").rows == study.estimate("income").rows
        assert found.figure("happy") == study.figure("happy")


def test_reports_at_hand_are_a_study_too(study: dn.Study) -> None:
    survey = dn.load_survey({"name": "s", "title": "T", "questions": [
        {"name": "a", "type": "yes_no", "label": "?", "odds": 3}]})  # fmt: skip
    reports = dn.randomise(dn.simulate_people(survey, 500))
    one, other = dn.open((survey, reports)), dn.open((survey, of_simulation(reports)))

    assert one.estimate().rows == dn.estimate(survey, dn.tally(reports)).rows
    assert one.reports == other.reports
    assert one.source is None
    apart = one.difference("a", other=other)
    assert [row["estimate"] for row in apart.rows] == [0, 0]
    with pytest.raises(dn.NoResults, match="another survey than s"):
        dn.open((survey, study.reports))


@pytest.fixture(scope="module")
def counts(study: dn.Study, tmp_path_factory: pytest.TempPathFactory) -> TalliedSet:
    """What ``deniably tally --pair what stolen --pair what happy`` counts of the same reports."""
    parts = tmp_path_factory.mktemp("counted") / "parts"
    write_parts(parts, study.reports.layout, [study.reports.rows])
    with duckdb() as engine:
        return tally_set(open_parts(parts), engine, [("what", "stolen"), ("what", "happy")])


@pytest.fixture(scope="module")
def counted(counts: TalliedSet, tmp_path_factory: pytest.TempPathFactory) -> dn.Study:
    file = tmp_path_factory.mktemp("tally") / "everything.json"
    file.write_bytes(tally_text(counts))
    return dn.open(file)


def test_a_tally_file_has_every_figure_that_its_reports_have(
    study: dn.Study, counted: dn.Study
) -> None:
    at_hand = dn.open((SURVEY, study.reports))

    assert (counted.n, counted.state, counted.source) == (N, "closed", None)
    assert counted.rows == at_hand.rows
    assert counted.estimate(confidence=0.9).rows == at_hand.estimate(confidence=0.9).rows
    for ask in (
        lambda s: s.mean("hours"),
        lambda s: s.distribution("income", smooth=True),
        lambda s: s.quantile("income", 0.33),
        lambda s: s.crosstab("happy", "what"),
        lambda s: s.crosstab("what", "happy", confidence=0.8),
        lambda s: s.difference("happy"),
        lambda s: s.difference("drinks", other=study),
        lambda s: s.plan("stolen", difference=0.1),
    ):
        assert ask(counted).to_dict() == ask(at_hand).to_dict()
    assert counted.figure("income") == at_hand.figure("income")
    assert counted.methods() == at_hand.methods()
    assert counted.sentence("stolen") == at_hand.sentence("stolen")


def test_what_counts_cannot_tell_says_so(counted: dn.Study) -> None:
    assert "Only counts: everything.json is a tally file" in str(counted)
    assert not counted.has_reports
    for ask in (
        lambda: counted.reports,
        lambda: counted.regress("stolen ~ 1"),
        lambda: counted.crosstab("happy", "what", weights={(): 1.0}),
    ):
        with pytest.raises(dn.NoResults, match="needs its reports, and there are only counts: ev"):
            ask()
    with pytest.raises(dn.NoResults, match=r"no pairs of stolen and happy; count .* --pair stol"):
        counted.crosstab("happy", "stolen")


def test_more_pairs_than_fit_into_memory_are_refused(counts: TalliedSet, tmp_path: Path) -> None:
    times = 10**9 // N
    many = {
        name: replace(one, n=one.n * times, counts=one.counts * times)
        for name, one in counts.tallies.items()
    }
    file = tmp_path / "many.json"
    both = {pair: count * times for pair, count in counts.strata[0].pairs["what", "happy"].items()}
    whole = Counts(counts.n * times, many, {("what", "happy"): both})
    file.write_bytes(tally_text(replace(counts, strata=(whole,))))

    with pytest.raises(
        dn.NoFigure, match="at most 20,000,000 pairs of reports, and not 999,999,900"
    ):
        dn.open(file).crosstab("happy", "what")


@pytest.fixture(scope="module")
def counted_sites(sites: dn.Study, tmp_path_factory: pytest.TempPathFactory) -> TalliedSet:
    """What ``deniably tally --pair late stolen`` counts of the same reports."""
    parts = tmp_path_factory.mktemp("sites") / "parts"
    write_parts(parts, sites.reports.layout, [sites.reports.rows])
    with duckdb() as engine:
        return tally_set(open_parts(parts), engine, [("late", "stolen")])


def test_a_tally_file_has_every_figure_by_strata_that_its_reports_have(
    sites: dn.Study, counted_sites: TalliedSet, tmp_path: Path
) -> None:
    file = tmp_path / "sites.json"
    file.write_bytes(tally_text(counted_sites))
    found = dn.open(file)

    for ask in (
        lambda s: s.estimate(by="site", confidence=0.9),
        lambda s: s.mean("drinks", by="site"),
        lambda s: s.distribution("late", by="site"),
        lambda s: s.quantile("drinks", 0.4, by="site"),
        lambda s: s.crosstab("late", "stolen", by="site"),
        lambda s: s.crosstab("stolen", "late"),
        lambda s: s.difference("late", by="site"),
    ):
        assert ask(found).to_dict() == ask(sites).to_dict()
    at_hand = dn.open((SITES, sites.reports))
    assert found.figure("late", by="site") == at_hand.figure("late", by="site")
    with pytest.raises(dn.NoFigure, match="has no key sit; did you mean site"):
        found.estimate(by="sit")


def test_a_tally_file_is_weighed_by_strata_as_its_reports_are(
    sites: dn.Study, counted_sites: TalliedSet, tmp_path: Path
) -> None:
    file = tmp_path / "sites.json"
    file.write_bytes(tally_text(counted_sites))
    found = dn.open(file)
    weights = sites.rake({"site": {"north": 0.4, "south": 0.6}})

    own = found.rake({"site": {"north": 0.4, "south": 0.6}})

    assert own == weights
    for ask in (
        lambda s, w: s.estimate("stolen", weights=w),
        lambda s, w: s.estimate("late", weights=w, by="site"),
        lambda s, w: s.mean("drinks", weights=w, strata="site"),
    ):
        for one, other in zip(ask(found, own).rows, ask(sites, weights).rows, strict=True):
            words = {key for key, cell in other.items() if not isinstance(cell, float)}
            assert {key: one[key] for key in words} == {key: other[key] for key in words}
            figures = [other[key] for key in one if key not in words]
            assert [one[key] for key in one if key not in words] == pytest.approx(figures, rel=1e-9)
    with pytest.raises(dn.BadModel, match="sorted by content"):
        found.estimate("stolen", weights=[1.0] * found.n)  # type: ignore[arg-type]
    with pytest.raises(dn.BadModel, match="no weight of the stratum 'south'"):
        found.estimate("stolen", weights={"north": 1.0})
    with pytest.raises(dn.NoResults, match="needs its reports, and there are only counts"):
        found.quantile("drinks", weights=own)


def test_every_question_of_one_number_is_weighed_from_a_tally_file(
    study: dn.Study, counted: dn.Study, counts: TalliedSet
) -> None:
    [home] = [one for one in SURVEY.questions if one.name == "home"]
    with pytest.raises(dn.NoFigure, match="home: a report says several things at once"):
        reports_of(counts, home)
    twice: Any = {(): 2.0}
    for question in ("worries", "drinks", "hours"):
        found = counted.estimate(question, weights=twice).rows
        expected = dn.open((SURVEY, study.reports)).estimate(question, weights=twice).rows
        own = [(one["estimate"], one["standard_error"]) for one in found]
        assert own == [
            pytest.approx((one["estimate"], one["standard_error"]), rel=1e-9) for one in expected
        ]


def test_counts_of_all_strata_say_why_there_are_none_by_strata(
    counted_sites: TalliedSet, tmp_path: Path
) -> None:
    file = tmp_path / "sites.json"
    whole = replace(counted_sites, strata=(counted_sites.whole,), left_out=2, unfit={"stolen": 2})
    file.write_bytes(tally_text(whole))
    found = dn.open(file)

    assert "2 more were left out, because no device can have made them: stolen of 2." in str(found)
    for ask in (
        lambda: found.estimate(by="site"),
        lambda: found.quantile("drinks", by="site"),
        lambda: found.crosstab("late", "stolen", by="site"),
        lambda: found.difference("late", by="site"),
        lambda: found.figure("late", by="site"),
        lambda: found.rake({"site": {"north": 0.4, "south": 0.6}}),
    ):
        with pytest.raises(dn.NoResults, match=r"no counts by site: the reports came without"):
            ask()


def test_counts_of_nobody_are_no_study(sites: dn.Study, tmp_path: Path) -> None:
    file = tmp_path / "sites.json"
    nobody = {name: Tally(0, 0 * one.counts) for name, one in sites.reports.tally().items()}
    file.write_bytes(tally_text(TalliedSet(SITES, (Counts(0, nobody),))))
    with pytest.raises(dn.NoResults, match="there are no reports to sites"):
        dn.open(file)


@pytest.mark.parametrize("pair", [(0, 0), (1, 2), (7, 0)])
def test_pairs_that_are_more_than_their_counts_are_refused(
    counts: TalliedSet, pair: tuple[int, int], tmp_path: Path
) -> None:
    file = tmp_path / "changed.json"
    whole = replace(counts.whole, pairs={("happy", "what"): {pair: N + 1}})
    file.write_bytes(tally_text(replace(counts, strata=(whole,))))

    with pytest.raises(NoExport, match=r"changed\.json: the pairs of happy and what are more than"):
        dn.open(file)


def test_a_group_without_reports_is_left_out(sites: dn.Study) -> None:
    north = dn.open((SITES, sites.reports.among({"site": "north"})))

    assert [*north.estimate(by="site").parts] == ["north"]
    with pytest.raises(dn.NoFigure, match="fewer than two values of site"):
        north.difference("stolen", by="site")


def test_means_of_two_studies_are_tested(study: dn.Study) -> None:
    for question in ("drinks", "trust"):  # a scale whose reports name no choice
        found = study.difference(question, other=study)

        assert found.estimate == 0
        assert found.rows[0]["p_value"] == 1
        assert "not shown to differ" in str(found)


def test_what_changed_over_waves_is_tested_as_on_the_page(sites: dn.Study) -> None:
    """Of three waves, and of one site in each of them."""
    waves = [sites, *(
        dn.open((SITES, of_simulation(dn.randomise(dn.simulate_people(SITES, 90)))))
        for _ in range(2)
    )]  # fmt: skip
    found = waves[-1].trend("stolen", waves[:-1])
    tallies = [Wave(n, SITES, one.state, one.reports.tally()) for n, one in enumerate(waves, 1)]
    whole = next(
        one for one in waves_result("x", tallies, 0, 0.95)["questions"] if one["name"] == "stolen"
    )

    assert list(found.to_frame().columns) == list(WAVES)
    change: Any = whole["choices"][0]["change"]
    last = found.rows[-1]
    for mine, theirs in (("change", "estimate"), ("change_p_value", "p_value"),
                         ("trend_p_value", "trend_p_value")):  # fmt: skip
        assert last[mine] == change[theirs]
    alone = [change["p_value"], change["trend_p_value"]]
    assert last["adjusted_p_value"] == pytest.approx(min(holm(alone)), abs=1e-8)
    north = [dn.open((SITES, one.reports.among({"site": "north"}))) for one in waves]
    assert [row["n"] for row in north[-1].trend("stolen", north[:-1]).rows] == [
        one.n for one in north
    ]


# --- what a notebook shows ----------------------------------------------------------------------


def test_a_study_says_what_it_is_and_cannot_be_changed(study: dn.Study) -> None:
    assert study.source is not None
    for text in (repr(study), study._repr_html_()):
        for part in (SURVEY.title, "300 people, closed", SURVEY.digest, "subset selection, 1 of 5",
                     f"epsilon {SURVEY.total.epsilon_text()}", study.source.published):  # fmt: skip
            assert part in text, part
    assert [row["question"] for row in study.rows] == [one.name for one in SURVEY.questions]
    assert sum(row["n"] for row in study.rows if row["question"] == "stolen") == N
    with pytest.raises(FrozenInstanceError):
        study.n = 1  # type: ignore[misc]


def values(study: dn.Study) -> dict[str, Any]:
    """A value of every method."""
    return {
        "estimate": study.estimate("happy"),
        "mean": study.mean("drinks"),
        "distribution": study.distribution("income"),
        "quantile": study.quantile("income"),
        "crosstab": study.crosstab("happy", "what"),
        "difference": study.difference("happy"),
        "trend": study.trend("happy", [study, study]),
        "regress": study.regress("stolen ~ 1"),
        "plan": study.plan("stolen", difference=0.1),
    }


def test_each_value_is_a_table_a_frame_a_dict_and_a_page_of_its_own(study: dn.Study) -> None:
    for name, value in values(study).items():
        lines = str(value).splitlines()
        assert len(lines) > 3, name
        assert len(value.to_frame()) == len(value.rows) > 0
        assert value.to_frame(engine="polars").columns == list(value.rows[0])
        json.dumps(value.to_dict())
        assert "<table" in value._repr_html_()
        assert not re.search(r"https?:|<script|<link", value._repr_html_()), name
        with pytest.raises(FrozenInstanceError):
            value.caption = "another"


def test_help_names_estimator_source_and_assumption() -> None:
    for name in (*values.__code__.co_names,):
        method = getattr(dn.Study, name, None)
        if inspect.isfunction(method):
            said = inspect.getdoc(method) or ""
            assert re.search(
                r"\*\*Estimator\.\*\*.*(19|20)\d\d.*\*\*Assumption\.\*\*", said, re.S
            ), name


def test_a_regression_reads_the_same_reports(study: dn.Study) -> None:
    assert study.regress("stolen ~ 1").rows == study.reports.regress("stolen ~ 1").rows
    found = study.plan("stolen", difference=0.1)
    assert [row["n"] for row in found.rows] == [N]


# --- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (lambda s: s.estimate("stoln"), "everything has no question stoln; did you mean stolen"),
        (lambda s: s.estimate(confidence=95), "the confidence is 95; it is from 0.5 to 0.999"),
        (lambda s: s.mean("stolen"), r"stolen is a yes_no and has no mean: estimate\('stolen'\)"),
        (lambda s: s.mean("hours", part="sleep"), "no part sleep; there are work, care"),
        (lambda s: s.mean("hours").estimate, "these are 2 figures"),
        (lambda s: s.distribution("drinks"), "drinks is a number and has no distribution"),
        (lambda s: s.quantile("drinks"), "has no quantiles: .* aim: distribution"),
        (lambda s: s.quantile("income", 50), "share is 50; a quantile belongs to one between 0"),
        (lambda s: s.crosstab("stolen", "stolen"), "cannot be crossed with itself"),
        (lambda s: s.crosstab("stolen", "income"), "income cannot be crossed"),
        (lambda s: s.difference("drinks"), "drinks has no choices to compare in pairs"),
        (lambda s: s.difference("hours", other=s), "“part” names one of the numbers"),
        (lambda s: s.trend("hours", [s]), "hours has no figures to put side by side"),
        (lambda s: s.trend("stolen", []), "two are needed"),
        (lambda s: s.plan("stoln", difference=0.1), "did you mean stolen"),
        (lambda s: s.figure("stoln"), "did you mean stolen"),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_is_refused_with_the_way_out(
    study: dn.Study, ask: Any, why: str
) -> None:
    with pytest.raises(dn.NoFigure, match=why):
        ask(study)


def test_without_reports_methods_say_what_is_missing(server: Server) -> None:
    study = dn.open(f"{server.url}/s/everything")

    assert "Only results: this needs an analyst's token, and none was given" in str(study)
    for ask in (
        lambda: study.reports,
        lambda: study.crosstab("happy", "what"),
        lambda: study.difference("happy"),
        lambda: study.regress("stolen ~ 1"),
        lambda: study.quantile("income", 0.33),
    ):
        with pytest.raises(dn.NoResults, match="needs its reports, and there are only results: th"):
            ask()


def test_an_open_survey_is_not_opened(server: Server) -> None:
    other = survey_of_everything(name="another", results={"minimum": 5, "while_open": False})
    server.publish(other)

    with pytest.raises(dn.NoResults, match="shown once the survey is closed"):
        dn.open(f"{server.url}/s/another", token=server.token)


def test_a_definition_that_no_author_signed_is_refused(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server cannot show analysts another survey than its register shows to everybody."""
    got = Remote.got

    def forged(self: Remote, path: str, *rest: Any, **more: Any) -> bytes:
        return got(self, path, *rest, **more).replace(b"Have you ever", b"Have you never")

    monkeypatch.setattr(Remote, "got", forged)
    with pytest.raises(dn.NoResults, match="the register shows others another version"):
        dn.open(f"{server.url}/s/everything")


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda to: (to / "reports.csv").unlink() or (to / "reports.ndjson").unlink(),
         "has none of the files"),
        (lambda to: (to / "design.json").write_text((to / "design.json").read_text()[:900]),
         r"\.zip: "),
        (lambda to: (to / "design.json").write_text(
            (to / "design.json").read_text().replace('"n": 300', '"n": 299')),
         "300 reports, not 299"),
        (lambda to: (to / "register.json").unlink(), "register.json: No such file"),
        (lambda to: (to / "reports.csv").write_text("\n".join(
            (to / "reports.csv").read_text().splitlines()[:-9])), "has 291 reports, not 300"),
    ],
)  # fmt: skip
def test_an_export_that_was_changed_is_refused_from_a_zip(
    folder: Path, tmp_path: Path, spoil: Any, why: str
) -> None:
    to = tmp_path / "spoilt"
    to.mkdir()
    for one in folder.iterdir():
        (to / one.name).write_bytes(one.read_bytes())
    spoil(to)
    with ZipFile(tmp_path / "spoilt.zip", "w") as archive:
        for one in to.iterdir():
            archive.write(one, one.name)

    with pytest.raises(NoExport, match=why) as refused:
        dn.open(tmp_path / "spoilt.zip")
    assert "spoilt.zip" in str(refused.value)


def test_a_zip_that_was_cut_short_and_other_files_are_refused(folder: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole.zip"
    with ZipFile(whole, "w") as archive:
        for one in folder.iterdir():
            archive.write(one, one.name)
        archive.write(folder / "survey.json", "twice/survey.json")
    with pytest.raises(NoExport, match=r"has survey\.json twice"):
        dn.open(whole)
    cut = tmp_path / "cut.zip"
    cut.write_bytes(whole.read_bytes()[:-100])
    with pytest.raises(NoExport, match=r"cut\.zip is no whole \.zip of an export"):
        dn.open(cut)
    with pytest.raises(NoExport, match=r"survey\.json: this is no tally file"):
        dn.open(folder / "survey.json")
    with pytest.raises(ValueError, match=r"there is no folder, \.zip or tally file 'nowhere'"):
        dn.open("nowhere")


def test_no_file_of_a_zip_leaves_its_folder(folder: Path, tmp_path: Path) -> None:
    with ZipFile(tmp_path / "hostile.zip", "w") as archive:
        for one in folder.iterdir():
            archive.write(one, one.name)
        archive.writestr("../../escaped.txt", "out")
        archive.writestr("/etc/escaped.json", "out")

    assert dn.open(tmp_path / "hostile.zip").n == N
    assert not list(tmp_path.parent.rglob("escaped*"))
