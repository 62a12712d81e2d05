"""Turns what an author writes into a published survey: checked, planned, with exact integer
weights."""
