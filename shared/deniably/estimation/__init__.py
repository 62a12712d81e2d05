"""Estimates with honest margins, from tallies of reports; sees counts and no answer."""
