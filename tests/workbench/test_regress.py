"""``regress``: formulas, frames and tables for analysts, and what they are told of bad input."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniably as dn
from deniably.estimation.channels import matrix
from deniably.mechanisms.subset_selection import SubsetSelection
from deniably.workbench.models.multinomial import multinomial
from deniably.workbench.models.randomised import Randomised
from support import fair

AFFAIR = {"affair": ("3/4", "1/4")}
MARRIAGE = dn.Design.k_ary(
    5, "3/5", choices=["awful", "bad", "fair", "good", "great"], values=[-2, -1, 0, 1, 2]
)
ALL = {**AFFAIR, "children": (0.75, 0.25), "marriage": MARRIAGE}


def fit(formula: str, **options: Any) -> dn.Regression:
    return dn.regress(formula, fair.reports(), designs=ALL, **options)


@pytest.fixture(scope="module")
def model() -> dn.Regression:
    return fit("affair ~ age + yrs + religious")


# --- what an analyst sees ------------------------------------------------------------------------


def test_the_table_is_the_same_in_a_terminal_a_notebook_a_frame_and_json(
    model: dn.Regression,
) -> None:
    lines = str(model).splitlines()
    assert lines[0] == "affair ~ age + yrs + religious, 6,366 reports"
    assert " ".join(lines[2].split()) == "term estimate std. error z p 95 % from to"
    assert " ".join(lines[4].split()) == "age -0.03639 0.02018 -1.80 0.071 -0.0759 0.0032"
    assert "-0.03639</td>" in model._repr_html_()

    frame = model.to_frame()
    assert frame["term"].tolist() == ["Intercept", "age", "yrs", "religious"]
    other = model.to_frame(engine="polars")
    assert isinstance(other, pl.DataFrame)
    assert other["estimate"].to_list() == frame["estimate"].tolist()
    plain = json.loads(json.dumps(model.to_dict()))
    assert [one["estimate"] for one in plain["coefficients"]] == frame["estimate"].tolist()
    assert plain["estimator"] == model.estimator


def test_it_names_its_estimator_its_source_and_what_it_assumes(model: dn.Regression) -> None:
    assert "Scheers and Dayton 1988" in str(model)
    assert "Estimator" in (dn.Regression.__doc__ or "")
    assert "Assumption" in (dn.Regression.__doc__ or "")
    assert "pseudo-likelihood" in str(fit("affair ~ age", weights="weight"))


def test_frames_of_any_kind_give_the_same_model(model: dn.Regression) -> None:
    reports = fair.reports()
    for frame in (pd.DataFrame(reports), pl.DataFrame(reports), pd.DataFrame(reports).iloc[::-1]):
        found = dn.regress(model.formula, frame, designs=AFFAIR)
        assert found.estimates == pytest.approx(model.estimates, abs=1e-9)


def test_a_model_is_a_value_that_cannot_be_changed(model: dn.Regression) -> None:
    with pytest.raises(AttributeError):
        model.n = 3  # type: ignore[misc]
    with pytest.raises(AttributeError):
        model.coefficients[0].estimate = 3.0  # type: ignore[misc]


# --- predicted shares ----------------------------------------------------------------------------


def test_predicted_shares_have_intervals_within_0_and_1() -> None:
    shares = fit("marriage ~ age").predict({"age": [20, 40]}).to_frame()

    assert shares.groupby("row")["estimate"].sum().tolist() == pytest.approx([1, 1])
    assert (shares["low"] > 0).all()
    assert (shares["high"] < 1).all()
    assert ((shares["low"] < shares["estimate"]) & (shares["estimate"] < shares["high"])).all()
    assert shares["answer"].tolist() == ["awful", "bad", "fair", "good", "great"] * 2


def test_a_prediction_is_that_of_the_group_alone() -> None:
    """One share a site: its estimate and error are those of the site's own reports."""
    reports = fair.reports()
    found = fit("affair ~ C(site)").predict({"site": [0, 1, 2, 3]}).rows

    for site, row in enumerate(found):
        ones = reports["affair"][reports["site"] == site]
        assert row["estimate"] == pytest.approx((ones.mean() - 0.25) / 0.5, abs=1e-9)
        error = (ones.mean() * (1 - ones.mean()) / len(ones)) ** 0.5 / 0.5
        assert row["standard_error"] == pytest.approx(error, abs=1e-9)
    with pytest.raises(dn.BadModel, match="site has a value that the model was not fitted to: 4"):
        fit("affair ~ C(site)").predict({"site": [0, 4]})


def test_predictions_for_true_answers_to_randomised_columns() -> None:
    found = fit("affair ~ score(marriage)").predict({"marriage": ["great", "awful"]}).rows

    b = [0.2489125, -1.0437163]
    expected = [1 / (1 + np.exp(-(b[0] + b[1] * value))) for value in (2, -2)]
    assert [row["estimate"] for row in found] == pytest.approx(expected, abs=1e-6)
    for law, slope in (("normal", 7.01476), (None, 7.31505)):
        means = fit("age ~ children", law=law).predict({"children": [0, 1]}).rows
        assert means[1]["estimate"] - means[0]["estimate"] == pytest.approx(slope, abs=1e-5)


# --- tests of coefficients -----------------------------------------------------------------------


def test_the_likelihood_ratio_test_is_wilks(model: dn.Regression) -> None:
    from scipy import stats

    smaller = fit("affair ~ age")
    found = model.compare(smaller)

    statistic = 2 * ((model.log_likelihood or 0) - (smaller.log_likelihood or 0))
    assert found.statistic == pytest.approx(statistic)
    assert found.degrees == 2
    assert found.p_value == pytest.approx(stats.chi2.sf(statistic, 2), rel=1e-9)
    assert model.wald("yrs").statistic == pytest.approx(model.coefficients[2].z ** 2)
    assert model.wald("yrs").p_value == pytest.approx(model.coefficients[2].p_value)
    assert model.wald().degrees == 3
    by_site = fit("affair ~ age + C(site)")
    levels = [one.term for one in by_site.coefficients if "site" in one.term]
    assert by_site.wald("C(site)").degrees == 3
    assert by_site.wald("C(site)").statistic == by_site.wald(*levels).statistic
    with pytest.raises(dn.BadModel, match=r"no term site; there are Intercept, age, C\(site\),"):
        by_site.wald("site")


@pytest.mark.parametrize(
    ("big", "small", "why"),
    [
        (("affair ~ age", {}), ("affair ~ yrs", {}), "not inside"),
        (("affair ~ age", {}), ("affair ~ age", {}), "not inside"),
        (("affair ~ age", {"weights": "weight"}), ("affair ~ 1", {}), "without weights"),
        (("affair ~ age", {"link": "identity"}), ("affair ~ 1", {}), "maximum likelihood"),
        (("affair ~ children", {}), ("affair ~ 1", {}), "different data"),
        (("affair ~ age", {}), ("children ~ 1", {}), "same outcome"),
    ],
)
def test_what_cannot_be_compared_is_refused(big: Any, small: Any, why: str) -> None:
    one, other = (fit(formula, **options) for formula, options in (big, small))

    with pytest.raises(dn.BadModel, match=why):
        one.compare(other)


# --- randomised on the right ---------------------------------------------------------------------


def test_saturated_models_are_the_inverted_table() -> None:
    """As many coefficients as cells: shares given the true answer are ratios of estimated cells."""
    reports = fair.reports()
    table = np.zeros((2, 2))
    np.add.at(table, (reports["children"], reports["affair"]), 1)
    back = np.linalg.inv(np.array([[0.75, 0.25], [0.25, 0.75]]))
    true = back @ table @ back.T

    found = fit("affair ~ children").predict({"children": [0, 1]})
    assert [row["estimate"] for row in found.rows] == pytest.approx(true[:, 1] / true.sum(axis=1))


def test_an_answer_that_nobody_gave_is_known_to_be_empty_and_says_so() -> None:
    """Reports of 0 alone: nobody answered yes, and no error pretends to know more."""
    rows = {"a": [0, 1] * 200, "b": [0] * 400}
    found = dn.regress("a ~ 1 + I(0 * b + z)", {**rows, "z": [1.0, 2.0, 3.0, 5.0] * 100},
                       designs={"a": (1, 0), "b": (0.75, 0.25)}, law="shares")  # fmt: skip

    assert "estimated to be 0" in str(found)


@pytest.mark.parametrize("law", ["shares", None], ids=["likelihood", "corrected score"])
def test_randomised_and_public_columns_stand_side_by_side(law: Any) -> None:
    """With p = 1 and q = 0 on the right it is the model with that column as it is; by the corrected
    score, which weighs reports of the outcome otherwise, where that is not randomised either."""
    truth = {**fair.reports(), "children": fair.truth()["children"]}
    affair = AFFAIR["affair"] if law else (1, 0)
    truth["affair"] = truth["affair"] if law else fair.truth()["affair"]
    se: Any = "observed" if law else "robust"
    formula = "affair ~ children + C(site)"
    as_it_is = dn.regress(formula, truth, designs={"affair": affair}, se=se)
    exact = {"affair": affair, "children": (1, 0)}
    summed = dn.regress(formula, truth, designs=exact, law=law)

    order = [as_it_is.estimates[[t.term for t in as_it_is.coefficients].index(one.term)]
             for one in summed.coefficients]  # fmt: skip
    assert summed.estimates == pytest.approx(order, abs=1e-7)
    errors = {one.term: one.standard_error for one in as_it_is.coefficients}
    for one in summed.coefficients:
        assert one.standard_error == pytest.approx(errors[one.term], abs=1e-7)


def test_weights_and_strata_count_as_if_the_column_were_not_randomised() -> None:
    """With p = 1 and q = 0 it is the logit; also where a whole group has the weight 0."""
    truth = {**fair.reports(), **{name: fair.truth()[name] for name in ("affair", "children")}}
    out = (np.arange(6366) % 7 == 0) | (truth["religious"] == truth["religious"][0])
    truth["weight"] = np.where(out, 0.0, truth["weight"])
    sampled = {"weights": "weight", "strata": "site"}
    formula, exact = "affair ~ children + religious", {"affair": (1, 0), "children": (1, 0)}

    summed = dn.regress(formula, truth, designs=exact, **sampled)
    as_it_is = dn.regress(formula, truth, designs={"affair": (1, 0)}, **sampled)
    assert (summed.se, as_it_is.se, "corrected score" in str(summed)) == ("HC3", "HC3", True)
    terms = [one.term for one in as_it_is.coefficients]
    order = [terms.index(one.term) for one in summed.coefficients]
    assert summed.estimates == pytest.approx(as_it_is.estimates[order], abs=1e-8)
    covariance = np.array(as_it_is.covariance)[np.ix_(order, order)]
    assert np.array(summed.covariance) == pytest.approx(covariance, abs=1e-10)


@pytest.mark.parametrize("sampled", [True, False], ids=["weights and strata", "neither"])
def test_robust_errors_are_those_of_the_likelihood_written_down_again(sampled: bool) -> None:
    """Of a direct maximisation, with its Hessian and everybody's gradient by differences."""
    from scipy import optimize

    reports = fair.reports()
    options: Any = {"weights": "weight", "strata": "site"} if sampled else {}
    found = fit("affair ~ score(marriage)", se="robust", **options)
    w = reports["weight"] if sampled else np.ones(fair.N)
    keep = np.full((5, 5), 0.1) + 0.5 * np.eye(5)

    def table(at: Any) -> Any:  # (reports of marriage, of affair)
        yes = 0.25 + 0.5 / (1 + np.exp(-(at[0] + at[1] * np.arange(-2, 3))))
        shares = np.exp(np.append(at[2:], 0.0))
        return np.stack([keep @ (shares * (1 - yes)), keep @ (shares * yes)], 1) / shares.sum()

    def gradients(at: Any) -> Any:  # (reports of marriage, of affair, parameters)
        steps = 1e-5 * np.eye(6)
        return np.stack([(np.log(table(at + s)) - np.log(table(at - s))) / 2e-5 for s in steps], 2)

    said = reports["marriage"], reports["affair"]
    summed = optimize.root(lambda at: w @ gradients(at)[said], np.zeros(6), tol=1e-13)
    each = w[:, None] * gradients(summed.x)[said]
    bend = [(w @ (gradients(summed.x + s) - gradients(summed.x - s))[said]) / 2e-4
            for s in 1e-4 * np.eye(6)]  # fmt: skip
    bread, meat = np.linalg.inv(np.array(bend)), np.zeros((6, 6))
    for site in range(4) if sampled else ():
        here = each[reports["site"] == site]
        meat += np.cov(here.T) * len(here)
    found_covariance = bread @ (meat if sampled else each.T @ each) @ bread

    assert found.estimates == pytest.approx(summed.x[:2], abs=1e-6)
    assert np.array(found.covariance) == pytest.approx(found_covariance[:2, :2], rel=1e-4)


def test_too_many_cells_are_refused_with_what_to_merge() -> None:
    rows = {f"q{i}": np.tile(np.arange(9), 20) for i in range(4)} | {"y": [0, 1] * 90}
    designs: Any = {f"q{i}": dn.Design.k_ary(9, "1/2") for i in range(4)} | {"y": (0.75, 0.25)}

    with pytest.raises(dn.BadModel, match=r"6,561 cells, and at most 4,096 .*merge answers of q0"):
        dn.regress("y ~ q0 + q1 + q2 + q3", rows, designs=designs)


# --- whole reports -------------------------------------------------------------------------------


def test_reports_of_several_choices_count_as_a_whole() -> None:
    """Two of four choices a report: the shares are those of the likelihood of whole reports."""
    from itertools import combinations

    mechanism = SubsetSelection(k=4, omega=2, own=3, other=1)
    subsets = list(combinations(range(4), 2))
    law = np.array([[3.0 if a in one else 1.0 for a in range(4)] for one in subsets])
    law /= law.sum(axis=0)
    assert float(mechanism.law.p) == pytest.approx(law[[0 in one for one in subsets], 0].sum())
    generator = np.random.default_rng(5)
    truth = generator.choice(4, 3000, p=[0.4, 0.3, 0.2, 0.1])
    codes = np.array([generator.choice(6, p=law[:, a]) for a in truth])

    whole = multinomial(codes, law, np.ones((3000, 1)))
    seen = np.bincount(codes, minlength=6)
    shares = np.append(1.0, np.exp(whole.coefficients))
    shares /= shares.sum()
    pull = (law * (seen / (law @ shares))[:, None]).sum(axis=0) / 3000
    assert pull == pytest.approx(np.ones(4), abs=1e-9)  # the top: no share wants to grow
    only = multinomial(codes, law, np.ones((3000, 1)), complete=False, errors="observed")
    assert only.coefficients == pytest.approx(whole.coefficients, abs=1e-8)
    assert not Randomised("q", codes, law[:3], (0, 1, 2, 3), np.arange(4.0)).complete


def test_a_window_or_any_channel_can_be_the_outcome() -> None:
    survey = dn.load_survey({
        "name": "s", "title": "S",
        "questions": [{"name": "q", "type": "scale", "label": "Q", "choices": list("abcd"),
                       "epsilon": 1, "aim": "mean"}],
    })  # fmt: skip
    channel = matrix(survey.questions[0].mechanism)  # type: ignore[union-attr,arg-type]
    design = dn.Design(channel.tolist(), choices=list("abcd"))
    codes = np.random.default_rng(1).integers(0, channel.shape[1], 500)
    found = dn.regress("q ~ 1", {"q": codes}, designs={"q": design})

    assert [row["answer"] for row in found.predict({"q": [0]}).rows] == list("abcd")


# --- bad input -----------------------------------------------------------------------------------

OTHERS: dict[str, Any] = {
    "flat": np.ones(6366),
    "gap": np.where(np.arange(6366) == 16, np.nan, 1.0 * np.arange(6366)),
    "apart": 2.0 * fair.reports()["age"] + 3,
    "minus": np.where(np.arange(6366) == 4, -1.0, 1.0),
    "word": ["x"] * 6365 + ["y"],
    "zero": np.zeros(6366),
    "huge": 1e200 * fair.reports()["age"],
    "lists": [[1]] * 6366,
}


@pytest.mark.parametrize(
    ("formula", "options", "why"),
    [
        ("affair ~ huge", {}, "take another unit"),
        ("affair ~ lists", {}, "neither numbers nor categories"),
        ("affair ~ agee", {}, "there is no column agee; did you mean age?"),
        ("affair ~ center(agee)", {}, "there is no column agee"),
        ("affair ~ gap", {}, "gap is missing or not finite in 1 of 6366 rows, first in row 17"),
        ("affair ~ flat", {}, "flat is the same in every row"),
        ("affair ~ age + apart", {}, "apart follows from the columns before it"),
        ("affair ~ age", {"weights": "minus"}, "minus: row 5 has a negative weight"),
        ("affair ~ age", {"weights": "zero"}, "all weights are 0"),
        ("affair ~ age", {"weights": [1, 2]}, "2 weights for 6366 rows"),
        ("affair ~ age", {"weights": "word"}, "word has values that are no numbers"),
        ("affair ~ age", {"strata": "word"}, "a stratum has only one row"),
        ("affair ~ age", {"strata": "nowhere"}, "no column nowhere"),
        ("affair ~ age", {"strata": "site", "se": "opg"}, 'strata need se="robust"'),
        ("affair ~ age", {"se": "hc3"}, "se is one of expected, observed, opg, robust"),
        ("affair ~ age", {"link": "probit"}, 'link is "logit" or "identity"'),
        ("affair ~ age", {"confidence": 95}, "confidence is 95; use one between"),
        ("affair ~ age +", {}, "is no formula"),
        ("~ age", {}, "has no outcome"),
        ("affair ~ affair", {}, "both sides"),
        ("log(affair) ~ age", {}, "has no outcome"),
        ("affair ~ 0", {}, "right side of the formula"),
        ("affair ~ age | yrs", {}, "two right sides"),
        ("affair ~ score(age)", {}, "takes a randomised column"),
        ("affair ~ nosuch(age)", {}, "nosuch"),
        ("age ~ yrs", {}, "no column of the formula is randomised"),
        ("word ~ children", {}, "word has values that are no numbers"),
        ("age ~ children - 1", {}, ""),
        ("flat ~ children", {}, "the outcome is the same in every row"),
        ("marriage ~ age", {"link": "identity"}, "outcomes of yes and no"),
        ("affair ~ children", {"weights": "weight", "se": "observed"}, 'need se="robust"'),
        ("affair ~ children", {"strata": "word"}, "a stratum has only one row"),
        ("affair ~ children", {"se": "expected"}, '"observed" or "robust"'),
        ("affair ~ center(age) + children", {}, "depend on all rows"),
    ],
)
def test_bad_input_is_refused_with_what_to_do(
    formula: str, options: dict[str, Any], why: str
) -> None:
    with pytest.raises(dn.BadModel) as refused:
        dn.regress(formula, {**fair.reports(), **OTHERS}, designs=ALL, **options)

    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("design", "why"),
    [
        ((0.5, 0.5), "p and q are equal"),
        ((1.2, 0.5), "1.2 is no probability"),
        (("three", 0.5), "'three' is no probability"),
        ((float("nan"), 0.5), "nan is no probability"),
        (0.5, "a design is a pair"),
        ((0.5, 0.2, 0.1), "a design is a pair"),
    ],
)
def test_a_design_that_is_none_is_refused(design: Any, why: str) -> None:
    with pytest.raises(dn.BadModel, match=why):
        dn.regress("a ~ 1", {"a": [0, 1]}, designs={"a": design})


def test_a_channel_that_is_none_and_reports_that_are_none_are_refused() -> None:
    with pytest.raises(dn.BadModel, match="every row sums to 1"):
        dn.Design([[0.5, 0.4], [0.5, 0.5]])
    with pytest.raises(dn.BadModel, match="cannot tell the answers apart"):
        dn.Design([[0.5, 0.5], [0.5, 0.5]])
    with pytest.raises(dn.BadModel, match="2 choices for a channel of 3"):
        dn.Design.k_ary(3, "1/2", choices=["a", "b"])
    for reports in ([0, 1, 2], [0, 1, 0.5], ["no", "yes", "no"]):
        with pytest.raises(dn.BadModel, match=r"a: row . has no report of its design"):
            dn.regress("a ~ 1", {"a": reports}, designs={"a": (0.75, 0.25)})
    with pytest.raises(dn.BadModel, match="no column b"):
        dn.regress("a ~ 1", {"a": [0, 1]}, designs={"a": (0.75, 0.25), "b": (0.75, 0.25)})


def test_no_message_holds_a_report() -> None:
    with pytest.raises(dn.BadModel) as refused:
        dn.regress("a ~ 1", {"a": ["secret"] * 3}, designs={"a": (0.75, 0.25)})

    assert "secret" not in str(refused.value)


def test_any_name_of_a_question_stands_between_backticks() -> None:
    """Names of questions have dots and hyphens, and may be words of Python."""
    rows = {name: fair.reports()[name][::4] for name in ("affair", "marriage", "age", "site")}
    odd = {"affair": "q1.a-b", "marriage": "class", "age": "age-now", "site": "my.site"}
    named = {odd[name]: column for name, column in rows.items()}
    designs = {odd["affair"]: AFFAIR["affair"], odd["marriage"]: MARRIAGE}
    for plain, quoted in (
        ("affair ~ age + C(site)", "`q1.a-b` ~ `age-now` + C(`my.site`)"),
        ("affair ~ score(marriage) * age", "`q1.a-b` ~ score(`class`) * `age-now`"),
        ("marriage ~ age", "`class` ~ `age-now`"),
    ):
        one = dn.regress(plain, rows, designs={**AFFAIR, "marriage": MARRIAGE})
        other = dn.regress(quoted, named, designs=designs)

        assert np.array_equal(one.estimates, other.estimates)
        terms = [term.term for term in one.coefficients]
        for name, strange in odd.items():
            terms = [re.sub(rf"\b{name}\b", strange, term) for term in terms]
        assert [term.term for term in other.coefficients] == terms
        covariates = {"age-now": [30], "my.site": [1], "class": ["good"]}
        assert len(other.predict(covariates).rows) in (1, 5)
    assert other.outcome == "class"
    with pytest.raises(dn.BadModel, match="one like a-b between backticks"):
        dn.regress("q1.a-b ~ 1", named, designs=designs)


def test_categories_that_nobody_has_and_a_column_called_score_do_no_harm() -> None:
    frame = pd.DataFrame(fair.reports()).rename(columns={"yrs": "score"})
    frame["site"] = pd.Categorical(frame["site"], categories=[9, 3, 2, 1, 0])
    found = dn.regress("affair ~ score + site", frame, designs=AFFAIR)

    assert [one.term for one in found.coefficients] == [
        "Intercept", "score", "site[T.2]", "site[T.1]", "site[T.0]",
    ]  # fmt: skip


def test_shares_far_off_are_predicted_without_overflow() -> None:
    found = fit("affair ~ age").predict({"age": [1e6, -1e6]}).rows

    assert [round(float(row["estimate"] or 0)) for row in found] == [1, 0]
    with pytest.raises(ValueError, match="no engine 'none'"):
        fit("affair ~ 1").to_frame("none")


def test_a_line_through_every_number_has_no_error_and_is_refused() -> None:
    for rows in (2, 100):
        numbers = {"y": [1.0, 2.0] * (rows // 2), "b": [0, 1] * (rows // 2)}
        with pytest.raises(dn.NoEstimate, match="no spread"):
            dn.regress("y ~ b", numbers, designs={"b": (0.75, 0.25)}, law="normal")


def test_separation_and_a_share_at_the_end_are_errors_and_never_numbers() -> None:
    """The first half always reports 1, which even all truths of yes do in three of four cases."""
    rows = {"a": [1] * 50 + [0] * 50, "x": [1.0] * 50 + [0.0] * 50}
    for formula in ("a ~ x", "a ~ C(x)"):
        with pytest.raises(dn.NoEstimate, match="separation"):
            dn.regress(formula, rows, designs={"a": (0.75, 0.25)})
    with pytest.raises(dn.NoEstimate, match="no spread"):
        dn.regress("a ~ x", rows, designs={"a": (0.75, 0.25)}, link="identity")
    for reports in ([0] * 40, [1] * 40):
        with pytest.raises(dn.NoEstimate):
            dn.regress("a ~ 1", {"a": reports}, designs={"a": (0.75, 0.25)})


def test_steps_that_end_far_out_on_a_flat_likelihood_are_an_error_too() -> None:
    """Nobody with the second answer says yes; here the steps of EM come to rest before a logit of
    15, where errors are in the millions."""
    random = Random(15)
    true = [random.choice(range(5)) for _ in range(400)]
    yes = [int(random.random() < (0 if answer == 1 else 0.6)) for answer in true]
    kept = [answer if random.random() < 0.6 else random.randrange(5) for answer in true]
    said = [answer if random.random() < 0.9 else 1 - answer for answer in yes]
    designs = {"x": dn.Design.k_ary(5, "68/100"), "y": ("9/10", "1/10")}

    with pytest.raises(dn.NoEstimate, match="separation"):
        dn.regress("y ~ x", {"x": kept, "y": said}, designs=designs)


def test_the_library_loads_no_formula_and_no_frame_before_a_model_is_asked_for() -> None:
    code = (
        "import sys, deniably, deniably_client; deniably.Design;"
        " print(*({'formulaic', 'narwhals', 'pandas', 'polars', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == []


# --- invariants ----------------------------------------------------------------------------------


@settings(deadline=None, max_examples=10)
@given(
    scale=st.floats(1e-6, 1e6),
    shift=st.floats(-1e3, 1e3),
    order=st.integers(0, 1000),
    turned=st.booleans(),
)
def test_units_the_order_of_rows_and_the_coding_of_yes_change_nothing(
    scale: float, shift: float, order: int, turned: bool
) -> None:
    rows = {name: fair.reports()[name][::4] for name in ("affair", "yrs", "religious")}
    base = dn.regress("affair ~ yrs + religious", rows, designs=AFFAIR)
    places = np.random.default_rng(order).permutation(len(rows["yrs"]))
    moved = {name: column[places] for name, column in rows.items()}
    moved["yrs"] = moved["yrs"] * scale + shift * scale
    if turned:  # 1 is no: p and q change places
        moved["affair"] = 1 - moved["affair"]
    designs = {"affair": (0.25, 0.75) if turned else (0.75, 0.25)}
    found = dn.regress("affair ~ yrs + religious", moved, designs=designs)

    assert found.log_likelihood == pytest.approx(base.log_likelihood, abs=1e-8)
    for place, factor in ((1, scale), (2, 1.0)):
        one, other = base.coefficients[place], found.coefficients[place]
        assert other.estimate * factor == pytest.approx(one.estimate, rel=1e-6)
        assert other.standard_error * factor == pytest.approx(one.standard_error, rel=1e-6)


def test_whole_weights_are_rows_repeated() -> None:
    rows = {name: fair.reports()[name][::3] for name in ("affair", "yrs", "weight")}
    times = rows["weight"].astype(int)
    repeated = {name: np.repeat(column, times) for name, column in rows.items()}
    weighted = dn.regress("affair ~ yrs", rows, designs=AFFAIR, weights="weight")
    plain = dn.regress("affair ~ yrs", repeated, designs=AFFAIR)

    assert weighted.estimates == pytest.approx(plain.estimates, abs=1e-9)
