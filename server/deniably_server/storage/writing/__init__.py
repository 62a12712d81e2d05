"""Transactions that begin by themselves: reports that waited together, and what a closing leaves to
be done."""
