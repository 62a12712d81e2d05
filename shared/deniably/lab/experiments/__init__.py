"""The experiments: one module each, with one function of the same name.

``catalogue`` registers them. Each computes an exact law from the shipped code, and beside it draws
people who answer through the same code.
"""
