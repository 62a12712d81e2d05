"""Runs SQL for both databases: one module for each table, whose functions work within a transaction
that the caller has begun."""
