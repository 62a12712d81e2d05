"""A regression on a million reports, beside statsmodels' GLM with the same link."""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
from sheet import Sheet, duration

sys.path.insert(0, str(Path(__file__).parents[1]))

import deniably as dn
from deniably.workbench.models.binary import logit
from support.randomised_glm import glm

_AGREES = 1e-6


def measure(sheet: Sheet) -> None:
    """Both on the same rows, in turn; the formula and the table are part of ours once."""
    n = 2_000 if sheet.quick else 1_000_000
    sheet.section(f"Logistic regression on {n:,} randomised reports, 4 columns")
    glm(np.tile([0, 0, 1], 30), np.ones((90, 1)))  # which loads statsmodels
    generator = np.random.default_rng(1)
    age, years = generator.normal(40, 10, n), generator.exponential(8, n)
    faith = generator.integers(1, 5, n).astype(np.float64)
    columns = np.column_stack([np.ones(n), age, years, faith])
    yes = generator.random(n) < 1 / (1 + np.exp(-(columns @ [0.3, -0.04, 0.09, -0.36])))
    said = (generator.random(n) < np.where(yes, 0.75, 0.25)).astype(np.int64)
    ours, theirs, apart = [], [], 0.0
    for number in range(1 if sheet.quick else 3):
        sheet.progress(f"round {number + 1}")
        start = perf_counter()
        found = logit(said, columns, 0.75, 0.25)
        ours.append(perf_counter() - start)
        start = perf_counter()
        peer = glm(said, columns, tol=1e-12)
        theirs.append(perf_counter() - start)
        apart = max(apart, float(abs(found.coefficients - peer.params).max()))
    sheet.figure("deniably", duration(median(ours)))
    sheet.figure("statsmodels, GLM with the same link", duration(median(theirs)))
    faster = median(t / o for t, o in zip(theirs, ours, strict=True))
    sheet.figure("times as fast", f"{faster:.1f}", "at least 1", faster >= 1)
    sheet.figure("coefficients apart by at most", f"{apart:.0e}", f"{_AGREES:g}", apart < _AGREES)
    frame = {"affair": said, "age": age, "years": years, "faith": faith}
    start = perf_counter()
    dn.regress("affair ~ age + years + faith", frame, designs={"affair": (0.75, 0.25)})
    sheet.figure("with formula and table", duration(perf_counter() - start))
