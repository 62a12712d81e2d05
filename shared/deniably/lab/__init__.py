"""Runs the textbooks' experiments on differential privacy with the code that ships: mechanisms,
estimators and accounting are not written a second time here.

An experiment is a function from a few bounded inputs to a question, its answer in a sentence, a
table with the exact result beside a seeded simulation, pictures and sources::

    from deniably import lab

    lab.noise_averages_out(truth="1/2", n=[10, 100, 100_000], share=0.5, seed=1)
    lab.of_survey(survey)        # all that apply to a survey, with its own mechanisms

A notebook displays the result of an experiment; ``rows`` is a list of dicts. ``deniably lab`` runs
the same on the command line. The mechanisms of a trusted curator, in ``curator``, are only for
comparison.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from deniably.lab.experiment_names import EXPERIMENTS

if TYPE_CHECKING:
    from deniably.lab.catalogue import of_survey as of_survey
    from deniably.lab.dossier_document import Dossier as Dossier
    from deniably.lab.dossier_document import dossier as dossier
    from deniably.lab.experiment import Experiment as Experiment
    from deniably.lab.experiments.adding_up import adding_up as adding_up
    from deniably.lab.experiments.asked_again import asked_again as asked_again
    from deniably.lab.experiments.bounds import bounds as bounds
    from deniably.lab.experiments.catastrophe import catastrophe as catastrophe
    from deniably.lab.experiments.choosing_epsilon import choosing_epsilon as choosing_epsilon
    from deniably.lab.experiments.coins import coins as coins
    from deniably.lab.experiments.groups_on_a_map import groups_on_a_map as groups_on_a_map
    from deniably.lab.experiments.ladder_of_trust import ladder_of_trust as ladder_of_trust
    from deniably.lab.experiments.laplace_or_gauss import laplace_or_gauss as laplace_or_gauss
    from deniably.lab.experiments.noise_averages_out import noise_averages_out as noise_averages_out
    from deniably.lab.experiments.one_report import one_report as one_report
    from deniably.lab.experiments.picking_the_winner import picking_the_winner as picking_the_winner
    from deniably.lab.experiments.price_of_privacy import price_of_privacy as price_of_privacy
    from deniably.lab.experiments.propose_test_release import (
        propose_test_release as propose_test_release,
    )
    from deniably.lab.experiments.slices_and_households import (
        slices_and_households as slices_and_households,
    )
    from deniably.lab.experiments.true_or_false import true_or_false as true_or_false

_HOMES = {
    "Dossier": "dossier_document",
    "Experiment": "experiment",
    "dossier": "dossier_document",
    "of_survey": "catalogue",
    **{name: f"experiments.{name}" for name in EXPERIMENTS},
}

__all__ = [  # noqa: RUF022  # in the order of a handout
    "coins",
    "one_report",
    "noise_averages_out",
    "price_of_privacy",
    "laplace_or_gauss",
    "picking_the_winner",
    "propose_test_release",
    "groups_on_a_map",
    "adding_up",
    "asked_again",
    "bounds",
    "ladder_of_trust",
    "choosing_epsilon",
    "catastrophe",
    "slices_and_households",
    "true_or_false",
    "of_survey",
    "dossier",
    "Experiment",
    "Dossier",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"deniably.lab.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
