"""Takes a closed survey to published tables, figures and models.

The package knows neither storage nor web pages: it works on a survey and on the reports that were
collected. Beside ``deniably.regress`` these are its documented names, which are imported when they
are first used::

    from deniably.workbench import rake, weighted_shares

    frame = {"region": ["north"] * 60 + ["south"] * 40, "stolen": [0, 1, 1, 0] * 25}
    weights = rake(frame, {"region": {"north": 0.4, "south": 0.6}})
    weighted_shares("stolen", frame, design=("3/4", "1/4"), weights=weights)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deniably.design.power import Powered as Powered
    from deniably.design.power import plan_power as plan_power
    from deniably.workbench.models.compliance import Compliance as Compliance
    from deniably.workbench.models.compliance import non_compliance as non_compliance
    from deniably.workbench.models.raking import rake as rake
    from deniably.workbench.models.weighted_shares import weighted_shares as weighted_shares

# Imported lazily: the models need pandas and formulaic, which a respondent's device does not have.
_HOMES = {
    "plan_power": "design.power",
    "rake": "workbench.models.raking",
    "weighted_shares": "workbench.models.weighted_shares",
    "non_compliance": "workbench.models.compliance",
    "Powered": "design.power",
    "Compliance": "workbench.models.compliance",
}

__all__ = [  # noqa: RUF022  # in the order of the work
    "plan_power",
    "rake",
    "weighted_shares",
    "non_compliance",
    "Powered",
    "Compliance",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"deniably.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
