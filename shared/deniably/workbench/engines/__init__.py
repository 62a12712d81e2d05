"""Counts report sets of any size, on DuckDB on one machine or on Spark on many.

The engines only count. What is counted, and what a valid report is, the other modules say once for
both.
"""
