"""The table of a mixer's offers that no survey uses yet, with their private keys."""

from __future__ import annotations

from typing import NamedTuple

from deniably_server.storage.engines.engine import Connection


class OfferRow(NamedTuple):
    """A row of the table: the private keys of envelopes and of signatures, in PEM, and the signed
    offer as JSON."""

    opening: str
    signing: str
    offer: str


def enter_offer(database: Connection, key: str, row: OfferRow) -> None:
    """Stores an offer under its public key of envelopes."""
    database.execute("INSERT INTO offers VALUES (?, ?, ?, ?)", [key, *row])


def find_offer(database: Connection, key: str) -> OfferRow | None:
    """Returns the offer with a public key of envelopes; None where there is none, or a survey uses
    it."""
    sql = "SELECT opening, signing, offer FROM offers WHERE key = ?"
    row = database.execute(sql, [key]).fetchone()
    return None if row is None else OfferRow(*map(str, row))


def count_offers(database: Connection) -> int:
    """Returns the number of offers that no survey uses yet."""
    return int(database.execute("SELECT count(*) FROM offers").fetchone()[0])


def remove_offer(database: Connection, key: str) -> None:
    """Deletes an offer, as a survey uses its keys now."""
    database.execute("DELETE FROM offers WHERE key = ?", [key])
