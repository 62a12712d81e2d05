"""Counts report sets of any size on engines that exist: DuckDB on one machine, Spark on many.

The engines count; what is counted, and what a report is, is said here once.
"""
