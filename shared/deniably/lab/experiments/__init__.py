"""Contains the experiments: one module for each, with one function of the same name.

``lab.catalogue`` registers them. Each computes an exact result with the shipped code, and beside it
simulates people who answer through the same code.
"""
