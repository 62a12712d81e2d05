"""SQLite's tables as schema steps, with the triggers that protect them.

Rows are stored in the order of their keys (WITHOUT ROWID). A report's key is its random id, so the
table does not reveal who came first.
"""

from __future__ import annotations

from deniably_server.storage.engines.common_schema import (
    DEEDS,
    DESIGNS,
    MIXED,
    MIXER,
    STUDIO,
    TABLES,
    TRIALS,
)


def _strict(table: str) -> str:
    """Add strict types, and storage in key order; an integer key gives that order already."""
    kept = "STRICT" if "INTEGER PRIMARY KEY" in table else "STRICT, WITHOUT ROWID"
    return f"{table.rstrip()} {kept}"


STEPS = (
    (
        *map(_strict, TABLES),
        """
        CREATE TRIGGER a_definition_never_changes
        BEFORE UPDATE OF name, digest, definition ON surveys
        BEGIN SELECT RAISE(ABORT, 'a published definition never changes'); END
        """,
        """
        CREATE TRIGGER a_definition_is_never_replaced
        BEFORE INSERT ON surveys
        WHEN EXISTS (SELECT 1 FROM surveys WHERE name = NEW.name OR digest = NEW.digest)
        BEGIN SELECT RAISE(ABORT, 'a published definition never changes'); END
        """,
        """
        CREATE TRIGGER a_definition_is_never_deleted
        BEFORE DELETE ON surveys
        BEGIN SELECT RAISE(ABORT, 'a published definition never changes'); END
        """,
        """
        CREATE TRIGGER a_closed_survey_stays_closed
        BEFORE UPDATE OF state ON surveys
        WHEN OLD.state = 'closed' AND NEW.state <> 'closed'
        BEGIN SELECT RAISE(ABORT, 'a closed survey is not opened again'); END
        """,
        """
        CREATE TRIGGER a_report_never_changes
        BEFORE UPDATE ON reports
        BEGIN SELECT RAISE(ABORT, 'a stored report never changes'); END
        """,
        """
        CREATE TRIGGER the_register_continues
        BEFORE INSERT ON register
        WHEN NEW.number <> (SELECT count(*) + 1 FROM register)
            OR json_extract(NEW.entry, '$.number') <> NEW.number
            OR json_extract(NEW.entry, '$.previous') <> coalesce(
                (SELECT hash FROM register ORDER BY number DESC LIMIT 1),
                hex(zeroblob(32))
            )
        BEGIN SELECT RAISE(ABORT, 'an entry continues the one before it'); END
        """,
        """
        CREATE TRIGGER the_register_is_never_changed
        BEFORE UPDATE ON register
        BEGIN SELECT RAISE(ABORT, 'an entry of the register never changes'); END
        """,
        """
        CREATE TRIGGER the_register_is_never_shortened
        BEFORE DELETE ON register
        BEGIN SELECT RAISE(ABORT, 'an entry of the register never changes'); END
        """,
        """
        CREATE TRIGGER a_key_never_changes BEFORE UPDATE ON keys
        BEGIN SELECT RAISE(ABORT, 'the key of a survey never changes'); END
        """,
        """
        CREATE TRIGGER a_key_is_never_deleted BEFORE DELETE ON keys
        BEGIN SELECT RAISE(ABORT, 'the key of a survey never changes'); END
        """,
        """
        CREATE TRIGGER a_used_invitation_stays_used BEFORE UPDATE ON invitations
        WHEN OLD.blinded <> zeroblob(32)
        BEGIN SELECT RAISE(ABORT, 'a used invitation stays used'); END
        """,
    ),
    tuple(map(_strict, STUDIO)),
    (_strict(DESIGNS),),
    (
        _strict(TRIALS),
        *map(_strict, DEEDS),
        """
        CREATE TRIGGER a_deed_never_changes BEFORE UPDATE ON deeds
        BEGIN SELECT RAISE(ABORT, 'a deed never changes'); END
        """,
        """
        CREATE TRIGGER a_deed_is_never_deleted BEFORE DELETE ON deeds
        BEGIN SELECT RAISE(ABORT, 'a deed never changes'); END
        """,
    ),
    (
        *map(_strict, MIXED),
        """
        CREATE TRIGGER a_key_of_envelopes_never_changes
        BEFORE UPDATE ON envelope_keys
        WHEN OLD.survey IS NOT NULL OR (OLD.open, OLD.secret) <> (NEW.open, NEW.secret)
        BEGIN SELECT RAISE(ABORT, 'a key of envelopes is for one survey'); END
        """,
        """
        CREATE TRIGGER there_is_one_batch
        BEFORE UPDATE OF survey, manifest, signature ON mixed
        BEGIN SELECT RAISE(ABORT, 'a survey has one batch'); END
        """,
        """
        CREATE TRIGGER there_is_one_batch_for_ever BEFORE DELETE ON mixed
        BEGIN SELECT RAISE(ABORT, 'a survey has one batch'); END
        """,
        """
        CREATE TRIGGER a_batch_is_taken_once
        BEFORE UPDATE ON mixed WHEN OLD.state <> 'open'
        BEGIN SELECT RAISE(ABORT, 'a batch is taken once'); END
        """,
        """
        CREATE TRIGGER received_envelopes_never_change BEFORE UPDATE ON mixed_hashes
        BEGIN SELECT RAISE(ABORT, 'the list of received envelopes never changes'); END
        """,
        """
        CREATE TRIGGER received_envelopes_stay BEFORE DELETE ON mixed_hashes
        BEGIN SELECT RAISE(ABORT, 'the list of received envelopes never changes'); END
        """,
    ),
)
"""The SQL statements of each schema version (``schema_migration``). Never change a released one;
add a new one."""

MIXER_STEPS = (
    (
        *map(_strict, MIXER),
        """
        CREATE TRIGGER terms_never_change
        BEFORE UPDATE OF survey, terms, until, source ON mixes
        BEGIN SELECT RAISE(ABORT, 'the terms of a survey never change'); END
        """,
        """
        CREATE TRIGGER a_mix_is_never_deleted BEFORE DELETE ON mixes
        BEGIN SELECT RAISE(ABORT, 'the terms of a survey never change'); END
        """,
        """
        CREATE TRIGGER a_mix_only_goes_on
        BEFORE UPDATE OF state ON mixes
        WHEN NOT (OLD.state, NEW.state) IN (VALUES
            ('open', 'closed'), ('closed', 'made'), ('closed', 'too few'), ('too few', 'told'),
            ('made', 'passed'),
            ('made', 'refused'), ('made', 'given up'), ('refused', 'given up'))
        BEGIN SELECT RAISE(ABORT, 'a survey is closed once, and its batch is made once'); END
        """,
        """
        CREATE TRIGGER a_manifest_never_changes
        BEFORE UPDATE OF manifest, signature ON mixes
        WHEN OLD.manifest <> ''
        BEGIN SELECT RAISE(ABORT, 'a survey is closed once, and its batch is made once'); END
        """,
        """
        CREATE TRIGGER a_key_of_a_mix_never_changes BEFORE UPDATE ON mixer_keys
        BEGIN SELECT RAISE(ABORT, 'the keys of a survey never change'); END
        """,
        """
        CREATE TRIGGER an_envelope_never_changes BEFORE UPDATE ON envelopes
        BEGIN SELECT RAISE(ABORT, 'a stored envelope never changes'); END
        """,
        """
        CREATE TRIGGER a_batch_never_changes BEFORE UPDATE ON pieces
        BEGIN SELECT RAISE(ABORT, 'a survey is closed once, and its batch is made once'); END
        """,
        """
        CREATE TRIGGER a_batch_is_made_once BEFORE INSERT ON pieces
        WHEN (SELECT state FROM mixes WHERE survey = NEW.survey) <> 'closed'
        BEGIN SELECT RAISE(ABORT, 'a survey is closed once, and its batch is made once'); END
        """,
        """
        CREATE TRIGGER a_used_code_stays_used BEFORE UPDATE ON invitations
        WHEN OLD.blinded <> zeroblob(32)
        BEGIN SELECT RAISE(ABORT, 'a used invitation stays used'); END
        """,
    ),
)
"""Those of a mixer's database."""
