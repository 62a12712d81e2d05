"""Computes the results of a survey as documents (plain values that become JSON): figures, the
sentences that state them, and how much harm fake reports could do.

Imports neither storage nor web pages, so a notebook and a server show the same results.
"""
