"""Regression hits published figures, and those that other packages found for the same reports.

The golden set is Fair's survey randomised by a hash (``support.fair``). Figures that R or RRreg
printed are quoted to their printed digits. Three of them stop a step before the top: svyglm's at
its default ``epsilon`` (.24777; .2477812 with epsilon=1e-14), and those of the EM (-1.04371 and
7.01477; nlm of base R goes on to -1.043716).

All figures are those of a call that analysts make. Where each of them is tried:

==============================================  =================================================
figures                                         test
==============================================  =================================================
plagiarism, dice, shoplifting, tax evasion      test_published_shares
a share below 0, printed as it is               test_a_share_below_zero_is_printed_as_it_is...
sums and counts of the golden set               test_the_golden_set_is_the_one_that...
shares of affair and marriage, with errors      test_shares_of_the_golden_set, test_weights.py;
                                                from a server and an export: server/test_fair.py
affair ~ age + yrs + religious, log-likelihood  test_logistic_regression_as_numpy...
its errors expected, observed, OPG, robust      test_standard_errors_of_each_kind
the same with statsmodels; with base R          test_statsmodels_finds_the_same; test_golden_in_r
weights and strata, weighted mean               test_weights_and_strata_as_svyglm..., golden_in_r
age ~ children (RRlin), normal residuals        test_a_number_on_a_randomised_column...
yrs and age ~ children, true_affair ~ age +     test_corrected_scores_of_a_number...,
children, by the corrected score                test_corrected_scores_of_a_logit...
affair ~ score(marriage), both randomised       test_both_sides_randomised..., test_golden_in_r;
                                                from an export: server/test_fair.py
the same of the truth, unrandomised             test_the_truth_itself
==============================================  =================================================
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from deniably.core.binomial import Floats
from deniably.workbench.models.binary import logit
from deniably.workbench.models.fit import ModelFit
from deniably.workbench.models.multinomial import multinomial
from deniably.workbench.models.randomised import Design
from deniably.workbench.models.regress import Regression, regress
from deniably.workbench.models.weighted_shares import weighted_shares
from support import fair
from support.randomised_glm import glm

DESIGNS = {
    "affair": ("3/4", "1/4"),
    "children": (0.75, 0.25),
    "marriage": Design.k_ary(5, "3/5", values=[-2, -1, 0, 1, 2]),
}


def fit(formula: str, **options: Any) -> Regression:
    return regress(formula, fair.reports(), designs=DESIGNS, **options)


def errors(found: Regression) -> list[float]:
    return [one.standard_error for one in found.coefficients]


def test_the_golden_set_is_the_one_that_the_figures_are_of() -> None:
    reports = fair.reports()

    assert reports["affair"].sum() == 2590
    assert np.bincount(reports["marriage"]).tolist() == [695, 805, 1127, 1797, 1942]
    assert reports["children"].sum() == 3565
    assert np.bincount(reports["weight"].astype(int)).tolist() == [0, 2148, 2114, 2104]
    assert np.bincount(reports["site"]).tolist() == [1592, 1563, 1637, 1574]


CROSSWISE, FORCED = ("1/4", "3/4"), ("11/12", "1/6")


@pytest.mark.parametrize(
    ("n", "ones", "design", "share", "by_n", "by_n_less_1"),
    [
        (310, 198, CROSSWISE, 0.2225806, 0.0545669, 0.0546551),
        (310, 230, CROSSWISE, 0.0161290, 0.0497046, 0.0497849),
        (1526, 248, FORCED, -0.0055337, None, 0.0125962),
        (1521, 815, FORCED, 0.4922200, None, 0.0170557),
        (1526, 418, FORCED, 0.1430028, None, 0.0152268),
    ],
    ids=["plagiarism, partial", "plagiarism, severe", "dice", "shoplifting", "tax evasion"],
)
def test_published_shares(
    n: int, ones: int, design: Any, share: float, by_n: float | None, by_n_less_1: float
) -> None:
    """Jann, Jerke and Krumpal 2012 (crosswise), Hoeglinger and Jann 2018 (forced answers)."""
    frame = {"said": [1] * ones + [0] * (n - ones)}
    found = regress("said ~ 1", frame, designs={"said": design}, link="identity")
    yes = weighted_shares("said", frame, design=design).rows[1]

    assert found.estimates == pytest.approx([share], abs=5e-8)
    assert errors(found) == pytest.approx([by_n_less_1], abs=5e-8)
    assert (yes["estimate"], yes["standard_error"]) == pytest.approx((share, by_n_less_1), abs=5e-8)
    if by_n is not None:
        likeliest = regress("said ~ 1", frame, designs={"said": design}).predict({"all": [0]})
        assert likeliest.rows[0]["estimate"] == pytest.approx(share, abs=5e-8)
        assert likeliest.rows[0]["standard_error"] == pytest.approx(by_n, abs=5e-8)


def test_a_share_below_zero_is_printed_as_it_is_and_has_no_logit() -> None:
    dice = {"dice": np.repeat([1, 0], [248, 1526 - 248])}
    designs = {"dice": ("11/12", "1/6")}

    found = regress("dice ~ 1", dice, designs=designs, link="identity")
    assert "-0.00553" in str(found)
    with pytest.raises(ValueError, match="no finite estimate"):
        regress("dice ~ 1", dice, designs=designs)


def test_shares_of_the_golden_set() -> None:
    affair = fit("affair ~ 1", link="identity")
    assert affair.estimates == pytest.approx([0.3136977694], abs=5e-11)
    assert errors(affair) == pytest.approx([0.0123149], abs=5e-8)

    marriage = fit("marriage ~ 1").predict({"age": [20]})
    shares = [0.01834747, 0.05290606, 0.15406849, 0.36456173, 0.41011624]
    assert [row["estimate"] for row in marriage.rows] == pytest.approx(shares, abs=5e-9)
    by_n = np.array([0.0078178, 0.0083318, 0.0095686, 0.0112836, 0.0115424])
    assert [row["standard_error"] for row in marriage.rows] == pytest.approx(
        by_n * (6365 / 6366) ** 0.5, abs=6e-8
    )


FOUR = "affair ~ age + yrs + religious"


def test_logistic_regression_as_numpy_and_statsmodels_have_it() -> None:
    found = fit(FOUR)

    expected = [0.28876161, -0.03638769, 0.09056815, -0.35675164]
    assert found.estimates == pytest.approx(expected, abs=6e-9)
    assert found.log_likelihood == pytest.approx(-4260.576611, abs=5e-7)


@pytest.mark.parametrize(
    ("kind", "figures"),
    [
        ("expected", (0.45919, 0.02018, 0.01905, 0.07051)),
        ("observed", (0.45831, 0.02024, 0.01891, 0.06922)),
        ("opg", (0.45918, 0.02014, 0.01908, 0.07073)),
        ("robust", (0.45921, 0.02022, 0.01903, 0.07029)),
    ],
)
def test_standard_errors_of_each_kind(kind: str, figures: tuple[float, ...]) -> None:
    assert errors(fit(FOUR, se=kind)) == pytest.approx(figures, abs=5.1e-6)


def test_weights_and_strata_as_svyglm_and_svymean_have_them() -> None:
    weighted = {"weights": "weight", "strata": "site", "se": "robust"}
    found = fit(FOUR, **weighted)

    printed = [0.24777, -0.03559, 0.08456, -0.31865]
    assert found.estimates == pytest.approx(printed, abs=1.2e-5)  # stopped a step before the top
    # R 4.2.2, svyglm(..., quasibinomial(link), epsilon=1e-14):
    to_the_top = [0.24778122927, -0.03559345154, 0.08455684880, -0.31865602338]
    assert found.estimates == pytest.approx(to_the_top, abs=5e-8)
    assert errors(found) == pytest.approx([0.49366, 0.02170, 0.02038, 0.07446], abs=5e-6)
    mean = fit("affair ~ 1", link="identity", **weighted)
    assert mean.estimates == pytest.approx([0.3173077], abs=5e-8)
    assert errors(mean) == pytest.approx([0.0133317], abs=5e-8)


def test_a_number_on_a_randomised_column_as_rrlin_has_it() -> None:
    found = fit("age ~ children", law="normal")

    assert found.estimates == pytest.approx([25.17814, 7.01477], abs=1.5e-5)
    assert errors(found) == pytest.approx([0.18071, 0.41917], abs=5e-6)
    assert found.sigma == pytest.approx(5.894, abs=5e-4)


@pytest.mark.parametrize(
    ("outcome", "estimates", "children"),
    [
        ("yrs", (3.30839, 9.19503), (0.37148, 8.47067, 9.92804)),
        ("age", (24.54744, 7.31505), (0.35308, 6.62591, 8.01108)),
    ],
)
def test_corrected_scores_of_a_number_as_a_prototype_in_numpy_has_them(
    outcome: str, estimates: tuple[float, float], children: tuple[float, float, float]
) -> None:
    """The truth is 9.209 and 7.348; normal residuals would give 13.58 for the first."""
    found = fit(f"{outcome} ~ children")
    slope = found.coefficients[1]

    assert found.estimates == pytest.approx(estimates, abs=1e-5)
    ends = (slope.standard_error, slope.low, slope.high)
    assert ends == pytest.approx(children, abs=1e-5)
    truth = fair.truth()
    apart = [fair.reports()[outcome][truth["children"] == one].mean() for one in (0, 1)]
    assert slope.low < apart[1] - apart[0] < slope.high
    likeliest = fit("yrs ~ children", law="normal").coefficients[1]
    assert likeliest.estimate == pytest.approx(13.579, abs=1e-3)
    assert likeliest.low > apart[1] - apart[0]


def test_corrected_scores_of_a_logit_as_a_prototype_in_numpy_has_them() -> None:
    """The truth, by the true answers, is -1.817, .0195 and .757; the likelihood gives 1.2108."""
    frame = {**fair.reports(), "true_affair": fair.truth()["affair"]}
    designs = {"true_affair": (1, 0), "children": DESIGNS["children"]}
    found = regress("true_affair ~ age + children", frame, designs=designs)

    assert dict(zip(found.to_frame()["term"], found.estimates, strict=True)) == pytest.approx(
        {"Intercept": -1.81444, "age": 0.018999, "children": 0.775175}, abs=1e-5
    )
    assert sorted(errors(found)) == pytest.approx([0.00693, 0.13297, 0.16808], abs=1e-5)
    likeliest = regress("true_affair ~ age + children", frame, designs=designs, law="shares")
    assert likeliest.estimates[2] == pytest.approx(1.2108, abs=1e-4)


def test_both_sides_randomised_as_em_and_optim_have_it() -> None:
    found = fit("affair ~ score(marriage)")

    assert found.estimates == pytest.approx([0.24891, -1.04371], abs=7e-6)
    assert errors(found) == pytest.approx([0.18635, 0.18409], abs=5e-6)
    assert found.log_likelihood == pytest.approx(-14009.41846, abs=5e-6)
    # R 4.2.2, nlm(gradtol=1e-12) on the likelihood of the ten kinds of reports:
    assert found.estimates == pytest.approx([0.2489125032, -1.0437162728], abs=3e-7)


def test_the_truth_itself() -> None:
    """What the reports above are about, had nobody been randomised."""
    truth = {**fair.truth(), "marriage": fair.truth()["marriage"] - 2}
    found = regress("affair ~ marriage", truth, designs={"affair": (1, 0)})

    assert found.estimates == pytest.approx([0.02514, -0.75058], abs=5e-6)


def test_the_top_is_the_top_of_the_likelihood_written_down_again() -> None:
    """No step of 1e-3 in any direction of the coefficients and shares climbs."""
    reports = fair.reports()
    table = np.zeros((5, 2))
    np.add.at(table, (reports["marriage"], reports["affair"]), 1)
    keep = np.full((5, 5), 0.1) + 0.5 * np.eye(5)

    def likelihood(b: Floats, shares: Floats) -> float:
        yes = 0.25 + 0.5 / (1 + np.exp(-(b[0] + b[1] * np.arange(-2, 3))))
        of_cells = np.stack([keep @ (shares * (1 - yes)), keep @ (shares * yes)], axis=1)
        return float((table * np.log(of_cells)).sum())

    from scipy import optimize

    b = fit("affair ~ score(marriage)").estimates

    def shares_of(logits: Floats) -> Floats:
        shares = np.exp(np.append(logits, 0.0))
        return shares / shares.sum()

    best = optimize.minimize(lambda e: -likelihood(b, shares_of(e)), np.zeros(4), tol=1e-14)
    top = -float(best.fun)
    assert top == pytest.approx(-14009.41846, abs=1e-4)
    for step in (np.array([1e-3, 0]), np.array([0, 1e-3]), np.array([1e-3, -1e-3])):
        for side in (-1, 1):
            assert likelihood(b + side * step, shares_of(best.x)) < top


# --- other packages, run here --------------------------------------------------------------------


def test_statsmodels_finds_the_same() -> None:
    """Its GLM with a link of its own."""
    peer = glm(fair.reports()["affair"], fair.columns("age", "yrs", "religious"), tol=1e-14)
    found = fit(FOUR)

    assert found.estimates == pytest.approx(peer.params, abs=1e-7)
    assert errors(found) == pytest.approx(peer.bse, abs=1e-7)
    assert found.log_likelihood == pytest.approx(peer.llf, abs=1e-7)


def test_of_direct_answers_it_is_the_ordinary_logit() -> None:
    """With p = 1 and q = 0 nothing is randomised: two answers, and several."""
    from statsmodels.discrete.discrete_model import Logit, MNLogit

    truth, columns = fair.truth(), fair.columns("age", "yrs")
    plain = Logit(truth["affair"], columns).fit(disp=0)
    found = logit(truth["affair"], columns, 1, 0)
    assert found.coefficients == pytest.approx(plain.params, abs=1e-6)
    assert np.sqrt(np.diag(found.covariance)) == pytest.approx(plain.bse, abs=1e-6)

    several = MNLogit(truth["marriage"], columns).fit(disp=0, method="newton")
    among = multinomial(truth["marriage"], np.eye(5), columns)
    assert among.coefficients == pytest.approx(several.params.T.ravel(), abs=1e-5)
    assert np.sqrt(np.diag(among.covariance)) == pytest.approx(several.bse.T.ravel(), abs=1e-5)


@pytest.mark.parametrize("kind", ["expected", "observed", "opg", "robust"])
def test_two_answers_through_a_channel_are_those_of_p_and_q(kind: Any) -> None:
    columns, affair = fair.columns("age", "yrs", "religious"), fair.reports()["affair"]
    fits: list[Callable[[], ModelFit]] = [
        lambda: logit(affair, columns, 0.75, 0.25, errors=kind),
        lambda: multinomial(affair, np.array([[0.75, 0.25], [0.25, 0.75]]), columns, errors=kind),
    ]
    one, other = (make() for make in fits)

    assert one.coefficients == pytest.approx(other.coefficients, abs=1e-9)
    assert one.covariance == pytest.approx(other.covariance, abs=1e-9)
    assert one.log_likelihood == pytest.approx(other.log_likelihood, abs=1e-8)
