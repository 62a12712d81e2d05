"""Base R and its package survey find the same models in the golden set, run here."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import deniably as dn
from deniably.estimation.crosstab_shares import WeightedPairs
from deniably.estimation.weighted_tally import Weighing
from support import fair

pytestmark = pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs R")

SCRIPT = """
d <- read.csv("fair.csv"); p <- 0.75; q <- 0.25
link <- structure(list(
  linkfun = function(mu) qlogis(pmin(pmax((mu - q) / (p - q), 1e-6), 1 - 1e-6)),
  linkinv = function(eta) q + (p - q) * plogis(eta), mu.eta = function(eta) (p - q) * dlogis(eta),
  valideta = function(eta) TRUE, name = "randomised"), class = "link-glm")
show <- function(name, x) cat(name, format(x, digits = 15), "\\n")
m <- glm(affair ~ age + yrs + religious, family = binomial(link), data = d, start = rep(0, 4),
  epsilon = 1e-14, maxit = 100)
show("glm", coef(m)); show("glm_se", sqrt(diag(vcov(m))))
counts <- as.matrix(table(factor(d$marriage, 0:4), factor(d$affair, 0:1)))
keep <- matrix(0.1, 5, 5); diag(keep) <- 0.6
minus <- function(t) {
  s <- exp(c(t[3:6], 0)); s <- s / sum(s); mu <- q + (p - q) * plogis(t[1] + t[2] * (-2:2))
  -sum(counts[, 1] * log(keep %*% (s * (1 - mu)))) - sum(counts[, 2] * log(keep %*% (s * mu)))
}
o <- nlm(minus, rep(0, 6), gradtol = 1e-12, steptol = 1e-14, iterlim = 1000)
o <- nlm(minus, o$estimate, gradtol = 1e-12, steptol = 1e-14, iterlim = 1000, hessian = TRUE)
show("joint", o$estimate[1:2]); show("joint_se", sqrt(diag(solve(o$hessian)))[1:2])
if (requireNamespace("survey", quietly = TRUE)) {
  suppressMessages(library(survey))
  s <- svydesign(ids = ~1, strata = ~site, weights = ~weight, data = d)
  m <- svyglm(affair ~ age + yrs + religious, s, family = quasibinomial(link), start = rep(0, 4),
    epsilon = 1e-14, maxit = 100)
  show("svyglm", coef(m)); show("svyglm_se", SE(m))
  s <- update(s, u = (affair - q) / (p - q), v = ((marriage == 4) - 0.1) / 0.5)
  m <- svymean(~I(u * v) + u + v, s); r <- svyratio(~I(u * v), ~u, s)
  show("cells", coef(m)); show("cells_se", SE(m)); show("cells_covariance", vcov(m)[1, 2])
  show("within", c(coef(r), SE(r)))
  of <- function(k) svymean(~I((affair - q) / (p - q)), svydesign(
    ids = ~1, weights = ~weight, data = d[d$site == k, ]))
  show("apart", c(coef(of(0)) - coef(of(1)), sqrt(SE(of(0))^2 + SE(of(1))^2)))
}
"""

WEIGHED = Weighing(np.array(fair.reports()["weight"], float), np.array(fair.reports()["site"]))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[float]]:
    folder: Path = tmp_path_factory.mktemp("r")
    pd.DataFrame(fair.reports()).to_csv(folder / "fair.csv", index=False)
    (folder / "fair.R").write_text(SCRIPT)
    done = subprocess.run(
        ["Rscript", "--vanilla", "fair.R"],
        cwd=folder, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    lines = [line.split() for line in done.stdout.splitlines() if line]
    return {name: [float(one) for one in figures] for name, *figures in lines}


DESIGNS: dict[str, Any] = {
    "affair": (0.75, 0.25),
    "marriage": dn.Design.k_ary(5, "3/5", values=[-2, -1, 0, 1, 2]),
}


@pytest.mark.parametrize(
    ("name", "formula", "options", "near"),
    [
        ("glm", "affair ~ age + yrs + religious", {}, 1e-7),
        ("joint", "affair ~ score(marriage)", {}, 1e-6),
        (
            "svyglm",
            "affair ~ age + yrs + religious",
            {"weights": "weight", "strata": "site", "se": "robust"},
            1e-6,
        ),
    ],
)
@pytest.mark.thorough
def test_r_finds_the_same(
    found: dict[str, list[float]], name: str, formula: str, options: Any, near: float
) -> None:
    if name not in found:
        pytest.skip("needs R's package survey")
    ours = dn.regress(formula, fair.reports(), designs=DESIGNS, **options)

    assert ours.estimates == pytest.approx(found[name], abs=near)
    errors = [one.standard_error for one in ours.coefficients]
    # nlm takes its Hessian by differences: two digits fewer.
    assert errors == pytest.approx(found[f"{name}_se"], abs=3e-5 if name == "joint" else near)
    assert np.isfinite(errors).all()


@pytest.mark.thorough
def test_r_finds_the_same_weighted_cross_table(found: dict[str, list[float]]) -> None:
    """``svymean`` of the joint scores, and ``svyratio`` for the share within a row."""
    if "cells" not in found:
        pytest.skip("needs R's package survey")
    reports, rates = fair.reports(), ((0.75, 0.25), (0.6, 0.1))
    bits = (np.eye(k)[reports[name]] for k, name in ((2, "affair"), (5, "marriage")))
    table = WeightedPairs(WEIGHED.tally_of_pairs(*bits), rates)
    cells, rows, columns = table.cells(0.95), table.margin(0, 0.95), table.margin(1, 0.95)
    within, turned = table.within(0, 0.95), table.within(1, 0.95)

    shares = [cells.raw[1, 4], rows.raw[1], columns.raw[4]]
    errors = [cells.standard_error[1, 4], rows.standard_error[1], columns.standard_error[4]]
    assert shares == pytest.approx(found["cells"], abs=1e-10)
    assert errors == pytest.approx(found["cells_se"], abs=1e-10)
    assert [within.covariance[1, 4]] == pytest.approx(found["cells_covariance"], abs=1e-12)
    ratio = [within.raw[1, 4], within.standard_error[1, 4]]
    assert ratio == pytest.approx(found["within"], abs=1e-10)
    assert turned.raw[1, 4] == pytest.approx(shares[0] / shares[2])


def test_r_finds_the_same_difference_of_weighted_groups(found: dict[str, list[float]]) -> None:
    """Of two independent samples: their variances add."""
    if "apart" not in found:
        pytest.skip("needs R's package survey")
    assert WEIGHED.strata is not None
    scores, weighing = (np.array(fair.reports()["affair"]) - 0.25) / 0.5, Weighing(WEIGHED.weights)
    groups = [
        weighing.among(WEIGHED.strata == site).scored(scores[WEIGHED.strata == site])
        for site in (0, 1)
    ]
    means = [float(tally.mean(values)) for tally, values in groups]
    variance = sum(float(tally.variance(values)) for tally, values in groups)
    assert [means[0] - means[1], variance**0.5] == pytest.approx(found["apart"], abs=1e-10)
