"""Puts a report set into a server's database, on the way that batches of reports take."""

from __future__ import annotations

import secrets
from contextlib import closing

import numpy as np

from deniably.core.canonical import canonical
from deniably.trust.signing import Key, new_key
from deniably.workbench.packing import PackedField, Rows
from deniably.workbench.report_set import ReportSet
from deniably_server.storage.store import Store
from deniably_server.storage.tables import owners
from deniably_server.storage.writing.commit import NULL, BatchWrite

_BATCH = 20_000


def stored(address: str, reports: ReportSet, author: Key | None = None) -> Store:
    """An open store with the survey and the reports of a set, under new ids.

    The waves of a panel need one ``author``; without one it is somebody new.
    """
    store = Store(address)
    store.publish(reports.survey, (author or new_key()).sign(reports.survey.digest))
    for start in range(0, len(reports), _BATCH):
        batch = _batch(reports, slice(start, start + _BATCH))
        store.begin(batch)
        batch.wait()
    return store


def register_size(store: Store) -> int:
    """The approximate size of the register, in bytes, of which there is a largest."""
    with closing(store.engine.connect()) as database:
        return owners.register_size(database)


def _batch(reports: ReportSet, some: slice) -> BatchWrite:
    places, rows, batch = reports.layout, reports.rows[some], BatchWrite(reports.survey)
    batch.keys = [secrets.token_bytes(16) for _ in rows]
    batch.strata = places.strata(rows).tolist() if places.stratified else [0] * len(rows)
    batch.values = [_texts(field, rows) for field in places.fields.values()]
    return batch


def _texts(field: PackedField, rows: Rows) -> list[str]:
    own = np.ascontiguousarray(rows[:, field.start : field.start + field.width])
    keys, first, places = np.unique(
        own.view(f"V{field.width}").ravel(), return_index=True, return_inverse=True
    )
    del keys
    found = field.unpack(rows[first])
    texts = [
        canonical((np.flatnonzero(cells) if field.kind == "bits" else cells).tolist()).decode()
        if asked
        else NULL
        for asked, cells in zip(found.asked.tolist(), found.cells, strict=True)
    ]
    return [texts[place] for place in places.ravel().tolist()]
