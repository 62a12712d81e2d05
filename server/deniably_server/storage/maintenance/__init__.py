"""Maintenance of a whole database by its operator: examine, repair, find traces, migrate."""
