"""What one connection, one form and one report cost in computing time and bytes, as measured.

This is the one place of these numbers. ``make bench ARGS="--only unit-costs"`` measures them again
and says which are off. All are of a survey with three questions, of 2, 5 and 16 choices, on a
machine with two cores.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

QUESTIONS = 3


@dataclass(frozen=True)
class UnitCost:
    """A measured cost: one of ``what`` costs ``value``, in ``unit``.

    ``by`` is the part of the benchmark that measures it.
    """

    what: str
    value: float
    unit: str
    by: str = "unit-costs"


@dataclass(frozen=True)
class UnitCosts:
    """All costs that a plan of machines uses, in the order in which they arise."""

    connection: UnitCost = UnitCost("a new HTTPS connection, at the proxy", 0.8, "ms of a core")
    form: UnitCost = UnitCost("a form: its page and all that this needs", 5, "ms of a core")
    form_size: UnitCost = UnitCost("a form, over the wire", 48, "kB")
    device: UnitCost = UnitCost("what a device reads before it answers", 2, "ms of a core")
    device_size: UnitCost = UnitCost("what a device reads, over the wire", 2.3, "kB")
    entry: UnitCost = UnitCost("a survey among the last 127 of the register", 40, "bytes")
    report: UnitCost = UnitCost("a report, acknowledged, on SQLite", 0.2, "ms of a core")
    batch: UnitCost = UnitCost("a report in a batch of lines", 0.006, "ms of a core", "service")
    stored: UnitCost = UnitCost("a report on SQLite's disk", 55, "bytes")
    stored_postgres: UnitCost = UnitCost(
        "a report on PostgreSQL's disk, with indexes", 210, "bytes"
    )
    closing: UnitCost = UnitCost("a report, when SQLite's survey is closed", 0.4, "us of a core")
    export: UnitCost = UnitCost("a report, exported, sorted, as Parquet", 9, "us of a core")
    parquet: UnitCost = UnitCost("an answer in Parquet, in no order", 1, "byte")
    duckdb: UnitCost = UnitCost("an answer, counted by DuckDB", 20, "ns of a core", "report-sets")

    @property
    def each(self) -> list[UnitCost]:
        """All unit costs, in the order of the fields."""
        return [getattr(self, field.name) for field in fields(self)]


MEASURED = UnitCosts()
