"""Models of a survey's own reports: questions under their names, each with its law."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import deniably as dn
from deniably.estimation.tally import Tally
from deniably.workbench.models.of_reports import randomised, regress_reports
from deniably.workbench.report_set import ReportSet, of_simulation

SURVEY = {
    "name": "work", "title": "Work",
    "questions": [
        {"name": "stolen", "type": "yes_no", "label": "Stolen?", "odds": 9},
        {"name": "often", "type": "select_one", "label": "How often?", "odds": 9,
         "choices": ["Never", "Once", "Often"]},
        {"name": "happy", "type": "scale", "label": "Happy?", "choices": ["Low", "Mid", "High"],
         "odds": 9, "aim": "distribution"},
        {"name": "late", "type": "scale", "label": "Late?", "choices": ["Never", "Daily"],
         "odds": 9, "also": ["prefer_not_to_say"]},
        {"name": "things", "type": "select_multiple", "label": "What?", "odds": 4, "most": 2,
         "choices": ["Cash", "Pens", "Time"]},
        {"name": "place", "type": "select_one", "label": "Where?", "odds": 2,
         "choices": list("ABCDEFGHIJ")},
        {"name": "hours", "type": "number", "label": "Hours?", "minimum": 0, "maximum": 9,
         "epsilon": 1},
    ],
}  # fmt: skip
N = 4_000


def people(n: int = N) -> dict[str, list[Any]]:
    """Who is happier steals less: .1 of the happy, .3, .5 of the unhappy."""
    happy = [i % 3 for i in range(n)]
    return {
        "stolen": ["yes" if (i // 3) % 10 < (5, 3, 1)[h] else "no" for i, h in enumerate(happy)],
        "often": [("never", "once", "often")[(i // 7) % 3] for i in range(n)],
        "happy": [("low", "mid", "high")[h] for h in happy],
        "late": ["never" if i % 5 else "prefer_not_to_say" for i in range(n)],
        "things": ["cash;pens" if i % 2 else "time" for i in range(n)],
        "place": ["abcdefghij"[(i * i) % 10] for i in range(n)],
        "hours": [i % 10 for i in range(n)],
    }


@pytest.fixture(scope="module")
def survey() -> dn.Survey:
    return dn.load_survey(SURVEY)


@pytest.fixture(scope="module")
def reports(survey: dn.Survey) -> ReportSet:
    import pandas as pd

    return of_simulation(dn.randomise(dn.read_people(survey, pd.DataFrame(people()))))


def shares(tally: Tally, p: float, q: float) -> Any:
    return (tally.counts / tally.n - q) / (p - q)


def test_the_model_of_a_constant_is_the_estimate_of_the_results(reports: ReportSet) -> None:
    tallies = reports.tally()
    law: Any = reports.survey.questions[0].mechanism.law
    found = regress_reports(reports, "stolen ~ 1").predict({"any": [0]}).rows[0]

    yes = shares(tallies["stolen"], float(law.p), float(law.q))[0]
    assert found["answer"] == "yes"
    assert found["estimate"] == pytest.approx(yes, abs=1e-9)
    for name in ("often", "place"):
        law = next(one for one in reports.survey.questions if one.name == name).mechanism.law
        expected = shares(tallies[name], float(law.p), float(law.q))
        if law.size == 1 and (expected > 0).all():
            got = regress_reports(reports, f"{name} ~ 1").predict({"any": [0]}).rows
            assert [row["estimate"] for row in got] == pytest.approx(list(expected), abs=1e-8)


def test_who_is_happier_steals_less(reports: ReportSet) -> None:
    """The true slope is about -1.1; its error 0.09: above 0 with a chance below 1e-20."""
    found = reports.regress("stolen ~ score(happy)")

    assert found.coefficients[1].estimate < 0
    assert found.coefficients[1].answer == "yes"
    ranked = regress_reports(reports, "stolen ~ happy").predict({"happy": ["low", "mid", "high"]})
    low, _, high = (float(row["estimate"] or 0) for row in ranked.rows)
    assert high < low


def test_whole_reports_are_as_likely_as_their_law_says(reports: ReportSet) -> None:
    one, asked = randomised(reports, "place")
    law: Any = next(q for q in reports.survey.questions if q.name == "place").mechanism.law
    answered = reports.answered("place").cells

    assert asked.all()
    for row in (0, 17, 99):
        cells = answered[row]
        named = tuple(np.flatnonzero(cells)) if cells.dtype == np.bool_ else tuple(cells)
        for a in range(10):
            exact = float(law.probability(a, tuple(int(cell) for cell in named)))
            assert one.chances[one.codes[row], a] == pytest.approx(exact)


def test_an_option_of_several_is_a_yes_or_no(reports: ReportSet) -> None:
    """Half of the people ticked cash."""
    found = regress_reports(reports, "things__cash ~ 1").predict({"any": [0]}).rows[0]
    error = float(found["standard_error"] or 1)

    assert abs(float(found["estimate"] or 0) - 0.5) < 6 * error


def test_public_columns_stand_beside_the_reports(reports: ReportSet) -> None:
    """As strata do: those of a site alone give the site's own estimate."""
    north = np.arange(N) % 3 == 0
    site = np.where(north, "north", "south").tolist()
    found = regress_reports(reports, "stolen ~ C(site)", public={"site": site})
    law: Any = reports.survey.questions[0].mechanism.law
    codes = reports.column("stolen__yes").values

    rows = found.predict({"site": ["north", "south"]}).rows
    for row, part in zip(rows, (codes[north], codes[~north]), strict=True):
        mean = (part.mean() - float(law.q)) / float(law.p - law.q)
        assert row["estimate"] == pytest.approx(mean, abs=1e-8)


@pytest.mark.parametrize(
    ("formula", "options", "why"),
    [
        ("stolne ~ 1", {}, "no question stolne; did you mean stolen?"),
        ("hours ~ 1", {}, r"models take questions with choices; difference\('hours', by="),
        ("stolen ~ score(late)", {}, "prefer_not_to_say has no place on the scale. Write late"),
        ("things ~ 1", {}, "things has several answers a person: take one of things__cash"),
        ("things__gold ~ 1", {}, "no option gold"),
        ("stolen ~ C(site)", {"public": {"site": ["n", "s"]}}, "2 rows of public columns"),
        ("stolen ~ 1", {"weights": [1.0]}, "1 weights for 4000 reports"),
    ],
)
def test_what_cannot_stand_in_a_model_is_refused(
    reports: ReportSet, formula: str, options: dict[str, Any], why: str
) -> None:
    with pytest.raises(dn.BadModel, match=why):
        regress_reports(reports, formula, **options)


def test_people_who_were_not_asked_are_left_out() -> None:
    """Two of three questions are asked of everybody."""
    import pandas as pd

    head = {"name": "s", "title": "S", "budget": {"epsilon": 2, "spend": "sample", "ask": 2}}
    asked = [{"name": name, "type": "yes_no", "label": "?"} for name in "abc"]
    survey = dn.load_survey({**head, "questions": asked})
    table = pd.DataFrame({name: ["yes", "no"] * 600 for name in "abc"})
    reports = of_simulation(dn.randomise(dn.read_people(survey, table)))

    found = regress_reports(reports, "a ~ 1")
    assert found.n == int(reports.answered("a").asked.sum()) < 1_200


# --- unary encoding -------------------------------------------------------------------------------


def unary(mechanism: str, k: int = 3, epsilon: float = 2) -> dn.Survey:
    names = [f"c{one}" for one in range(k)]
    return dn.load_survey({
        "name": "u", "title": "U", "strata": {"site": ["north", "south"]}, "questions": [
            {"name": "q", "type": "select_one", "label": "Q?", "choices": names,
             "epsilon": epsilon, "mechanism": mechanism},
            {"name": "y", "type": "yes_no", "label": "Y?", "epsilon": epsilon,
             "mechanism": mechanism},
            {"name": "z", "type": "yes_no", "label": "Z?", "epsilon": epsilon},
        ]})  # fmt: skip


def of_unary(survey: dn.Survey, n: int = 2_000) -> ReportSet:
    """Who answered c1 says yes in three of four cases, others in one."""
    rows = [("site", "q", "y", "z")]
    for i in range(n):
        choice = (0, 0, 1, 1, 1, 2)[i % 6]
        yes = ("no", "yes")[(i // 6) % 4 < (3 if choice == 1 else 1)]
        rows.append(("north" if (i // 24) % 3 else "south", f"c{choice}", yes, yes))
    return of_simulation(dn.randomise(dn.read_people(survey, rows)))


@pytest.mark.parametrize("mechanism", ["oue", "rappor"])
def test_unary_reports_also_empty_and_full_ones_are_as_likely_as_their_law_says(
    mechanism: str,
) -> None:
    reports = of_unary(unary(mechanism))
    law: Any = reports.survey.questions[0].mechanism.law
    column, asked = randomised(reports, "q")
    cells = reports.answered("q").cells
    sizes = cells.sum(axis=1)

    assert asked.all()
    assert (sizes == 0).any()
    assert (sizes == 3).any()
    for row in (int(np.argmax(sizes == size)) for size in range(4)):
        named = tuple(np.flatnonzero(cells[row]).tolist())
        for a in range(3):
            exact = float(law.probability((a,), named))
            assert column.chances[column.codes[row], a] == pytest.approx(exact)
            score = ((a in named) - law.q) / (law.p - law.q)
            assert column.scores[column.codes[row], a] == pytest.approx(float(score))


@pytest.mark.parametrize("mechanism", ["oue", "rappor"])
def test_the_shares_of_unary_reports_are_those_of_their_likelihood(mechanism: str) -> None:
    """Its top, by EM of the whole reports written down again."""
    reports = of_unary(unary(mechanism))
    law: Any = reports.survey.questions[0].mechanism.law
    bits, p, q = reports.answered("q").cells, float(law.p), float(law.q)
    chance = np.stack([
        np.where(bits == (np.arange(3) == a), np.where(np.arange(3) == a, p, 1 - q),
                 np.where(np.arange(3) == a, 1 - p, q)).prod(axis=1)
        for a in range(3)
    ], axis=1)  # fmt: skip
    kinds, counts = np.unique(chance, axis=0, return_counts=True)
    share = np.full(3, 1 / 3)
    for _ in range(5_000):
        given = share * kinds
        share = counts @ (given / given.sum(axis=1, keepdims=True)) / counts.sum()

    found = reports.regress("q ~ 1").predict({"any": [0]}).rows
    assert [row["estimate"] for row in found] == pytest.approx(share, abs=1e-6)


@pytest.mark.parametrize("mechanism", ["oue", "rappor", "subset_selection"])
def test_models_of_whole_reports_find_the_slope_of_the_truth(mechanism: str) -> None:
    """As outcome, as covariate, and beside a stratum; the true slope of c1 is 2.2."""
    reports = of_unary(unary(mechanism, epsilon=4), 4_000)
    for formula in ("y ~ q", "z ~ q", "z ~ q + C(site)", "y ~ q + C(site)"):
        found = reports.regress(formula)
        slope = next(one for one in found.coefficients if one.term == "q[T.c1]")
        assert abs(slope.estimate - 2.2) < 5 * slope.standard_error < 2, formula
    back = next(
        one for one in reports.regress("q ~ y + C(site)").coefficients
        if (one.term, one.answer) == ("y[T.yes]", "c1")
    )  # fmt: skip
    assert abs(back.estimate - 2.2) < 5 * back.standard_error < 2
    weights = reports.rake({"site": {"north": 0.5, "south": 0.5}})
    assert reports.regress("q ~ C(site)", weights=weights).se == "HC3"


def test_a_report_of_very_many_coins_is_as_likely_as_others_beyond_floats() -> None:
    from deniably.mechanisms import Unary
    from deniably.workbench.models.of_reports import _chances

    law = Unary(k=1024, most=1, own=3, other=1, total=4).law
    bits = np.random.default_rng(1).random((5, 1024)) < 0.5
    chances = _chances(law, bits)

    assert np.isfinite(chances).all()
    assert (chances > 0).all()
    ratio = chances[:, 0] / chances[:, 1]
    assert ratio == pytest.approx(3.0 ** (2 * bits[:, 0]) / 3.0 ** (2 * bits[:, 1]))
