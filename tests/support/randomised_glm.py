"""Logistic regression of a randomised answer by statsmodels: its GLM with the same link."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from deniably.core.binomial import Floats


def glm(reports: Any, columns: Floats, p: float = 0.75, q: float = 0.25, **options: Any) -> Any:
    """The fitted model, from slopes of 0 on. statsmodels warns that means end at p and q."""
    # Its parts alone: statsmodels.api takes a second to load.
    from statsmodels.genmod import families
    from statsmodels.genmod.generalized_linear_model import GLM

    class Link(families.links.Link):
        def _share(self, mean: Floats) -> Floats:
            return np.clip((mean - q) / (p - q), 1e-9, 1 - 1e-9)

        def __call__(self, mean: Floats) -> Floats:
            share = self._share(mean)
            return np.log(share / (1 - share))

        def inverse(self, eta: Floats) -> Floats:
            return q + (p - q) / (1 + np.exp(-eta))

        def deriv(self, mean: Floats) -> Floats:
            share = self._share(mean)
            return 1 / ((p - q) * share * (1 - share))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        family = families.Binomial(link=Link(), check_link=False)
        model = GLM(reports, columns, family=family)
        return model.fit(start_params=np.zeros(columns.shape[1]), **options)
