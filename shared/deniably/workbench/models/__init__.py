"""Fits models to randomised answers: regression, weights, power, and what these are built from."""
