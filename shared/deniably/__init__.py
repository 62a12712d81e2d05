"""The library for surveys under local differential privacy, in notebooks and scripts: surveys whose
answers nobody can pin on you.

From a survey and a table of people to estimates with their margins, without a server::

    import deniably as dn

    survey = dn.load_survey("workplace.yaml")
    people = dn.simulate_people(survey, 5_000)     # or dn.read_people(survey, "people.csv")
    reports = dn.randomise(people)                 # what a server would see
    results = dn.estimate(survey, dn.tally(reports))
    results.to_frame()

A study answers an analyst's questions about these reports, about a server's or about an export::

    study = dn.open((survey, reports))  # or a survey's address, or the folder of an export
    study.estimate("stolen")

Each name is loaded when it is first used. What devices need is in ``deniably_client``, which
imports no numpy. From a checkout, install it with ``pip install '.[notebook]'``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deniably import lab as lab
    from deniably import workbench as workbench
    from deniably.audit.survey_audit import audit_survey as audit_survey
    from deniably.authoring.checking import check_survey as check_survey
    from deniably.authoring.survey_files import load_survey as load_survey
    from deniably.core.errors import BadAnswer as BadAnswer
    from deniably.core.errors import BadModel as BadModel
    from deniably.core.errors import BadSurvey as BadSurvey
    from deniably.core.errors import NoEstimate as NoEstimate
    from deniably.core.errors import NoFigure as NoFigure
    from deniably.core.errors import NoResults as NoResults
    from deniably.core.errors import TravelledApart as TravelledApart
    from deniably.design.plan_table import plan_survey as plan_survey
    from deniably.exhibits.results_table import Results as Results
    from deniably.exhibits.results_table import estimate as estimate
    from deniably.simulation.people import People as People
    from deniably.simulation.people import read_people as read_people
    from deniably.simulation.reports import Reports as Reports
    from deniably.simulation.reports import randomise as randomise
    from deniably.simulation.reports import simulate_people as simulate_people
    from deniably.simulation.reports import tally as tally
    from deniably.survey.report import randomise_answers as randomise_answers
    from deniably.survey.survey import Survey as Survey
    from deniably.workbench.files.optional_libraries import NoExport as NoExport
    from deniably.workbench.models.fitted_regression import Regression as Regression
    from deniably.workbench.models.randomised import Design as Design
    from deniably.workbench.models.regress import regress as regress
    from deniably.workbench.opening import open as open  # noqa: A004
    from deniably.workbench.study import Study as Study

_ROOMS = ("lab", "workbench")
"""Whole packages with documented names of their own."""

# The module of each public name. Importing it only when the name is used keeps `import deniably`
# fast, and free of optional dependencies.
_HOMES = {
    "load_survey": "authoring.survey_files",
    "check_survey": "authoring.checking",
    "plan_survey": "design.plan_table",
    "audit_survey": "audit.survey_audit",
    "read_people": "simulation.people",
    "simulate_people": "simulation.reports",
    "randomise": "simulation.reports",
    "randomise_answers": "survey.report",
    "tally": "simulation.reports",
    "estimate": "exhibits.results_table",
    "open": "workbench.opening",
    "regress": "workbench.models.regress",
    "Survey": "survey.survey",
    "People": "simulation.people",
    "Reports": "simulation.reports",
    "Results": "exhibits.results_table",
    "Design": "workbench.models.randomised",
    "Study": "workbench.study",
    "Regression": "workbench.models.fitted_regression",
    "BadSurvey": "core.errors",
    "BadAnswer": "core.errors",
    "NoResults": "core.errors",
    "NoFigure": "core.errors",
    "TravelledApart": "core.errors",
    "NoExport": "workbench.files.optional_libraries",
    "BadModel": "core.errors",
    "NoEstimate": "core.errors",
}

__all__ = [  # noqa: RUF022  # in the order of the work
    "load_survey",
    "check_survey",
    "plan_survey",
    "audit_survey",
    "read_people",
    "simulate_people",
    "randomise",
    "randomise_answers",
    "tally",
    "estimate",
    "open",
    "regress",
    "lab",
    "workbench",
    "Survey",
    "People",
    "Reports",
    "Results",
    "Design",
    "Study",
    "Regression",
    "BadSurvey",
    "BadAnswer",
    "NoResults",
    "NoFigure",
    "TravelledApart",
    "NoExport",
    "BadModel",
    "NoEstimate",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"deniably.{name}")
    if name in _HOMES:
        return getattr(import_module(f"deniably.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
