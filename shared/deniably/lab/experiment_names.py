"""Lists the names of all experiments, which are the names of their modules and functions."""

from __future__ import annotations

EXPERIMENTS = (
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
)
"""The name of every experiment, in the order of the handout."""
