"""Describes reports.csv as a Data Package (version 2, Frictionless 2024)."""

from __future__ import annotations

from typing import Any

from deniably.workbench.report_columns import ROW, FileColumn, StratumColumn, randomisation_note
from deniably.workbench.report_set import ReportSet

_PROFILES = "https://datapackage.org/profiles/2.0"


def data_package(reports: ReportSet) -> dict[str, Any]:
    """Returns the contents of datapackage.json as a dict: the descriptor of the Data Package."""
    survey = reports.survey
    return {
        "$schema": f"{_PROFILES}/datapackage.json",
        "name": survey.name,
        "id": survey.digest,
        "title": survey.title,
        "description": randomisation_note(reports.layout),
        "resources": [
            {
                "name": "reports",
                "path": "reports.csv",
                "type": "table",
                "title": "Randomised reports, sorted by content",
                "description": randomisation_note(reports.layout),
                "format": "csv",
                "mediatype": "text/csv",
                "encoding": "utf-8",
                "schema": {
                    "$schema": f"{_PROFILES}/tableschema.json",
                    "fields": [
                        {"name": ROW, "title": "Number of the row", "type": "integer"},
                        *map(_field, reports.columns),
                    ],
                    "primaryKey": [ROW],
                    "missingValues": [""],
                },
            }
        ],
    }


def _field(column: FileColumn | StratumColumn) -> dict[str, Any]:
    low, high = column.reach
    optional = isinstance(column, FileColumn) and column.optional
    field: dict[str, Any] = {
        "name": column.name,
        "title": column.title,
        "type": "integer",
        "constraints": {"required": not optional, "minimum": low, "maximum": high},
    }
    if column.categories:
        field["categories"] = [
            {"value": value, "label": label} for value, label in enumerate(column.categories)
        ]
    return field
