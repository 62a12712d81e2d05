"""PostgreSQL's tables as schema steps, with the same triggers as in ``sqlite_schema``."""

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


def _own(table: str) -> str:
    """Replace SQLite's type names by PostgreSQL's."""
    return table.replace("INTEGER", "BIGINT").replace("BLOB", "BYTEA")


_NEVER = """
        CREATE FUNCTION never() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            RAISE EXCEPTION USING MESSAGE = TG_ARGV[0],
                ERRCODE = 'integrity_constraint_violation';
        END $$
        """

STEPS = (
    (
        *map(_own, TABLES),
        """
        CREATE INDEX reports_of_a_survey ON reports (survey, id)
        """,
        _NEVER,
        """
        CREATE TRIGGER a_definition_never_changes
        BEFORE UPDATE OF name, digest, definition ON surveys
        EXECUTE FUNCTION never('a published definition never changes')
        """,
        """
        CREATE TRIGGER a_definition_is_never_deleted
        BEFORE DELETE OR TRUNCATE ON surveys
        EXECUTE FUNCTION never('a published definition never changes')
        """,
        """
        CREATE TRIGGER a_closed_survey_stays_closed
        BEFORE UPDATE OF state ON surveys FOR EACH ROW
        WHEN (OLD.state = 'closed' AND NEW.state <> 'closed')
        EXECUTE FUNCTION never('a closed survey is not opened again')
        """,
        """
        CREATE TRIGGER a_report_never_changes
        BEFORE UPDATE ON reports
        EXECUTE FUNCTION never('a stored report never changes')
        """,
        """
        CREATE FUNCTION continues() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF NEW.number <> (SELECT count(*) + 1 FROM register)
                OR (NEW.entry::jsonb ->> 'number')::bigint <> NEW.number
                OR NEW.entry::jsonb ->> 'previous' <> coalesce(
                    (SELECT hash FROM register ORDER BY number DESC LIMIT 1), repeat('0', 64))
            THEN
                RAISE EXCEPTION USING MESSAGE = 'an entry continues the one before it',
                    ERRCODE = 'integrity_constraint_violation';
            END IF;
            RETURN NEW;
        END $$
        """,
        """
        CREATE TRIGGER the_register_continues BEFORE INSERT ON register
        FOR EACH ROW EXECUTE FUNCTION continues()
        """,
        """
        CREATE TRIGGER the_register_is_never_changed
        BEFORE UPDATE OR DELETE OR TRUNCATE ON register
        EXECUTE FUNCTION never('an entry of the register never changes')
        """,
        """
        CREATE TRIGGER a_key_never_changes
        BEFORE UPDATE OR DELETE OR TRUNCATE ON keys
        EXECUTE FUNCTION never('the key of a survey never changes')
        """,
        """
        CREATE TRIGGER a_used_invitation_stays_used
        BEFORE UPDATE ON invitations FOR EACH ROW
        WHEN (OLD.blinded <> decode(repeat('00', 32), 'hex'))
        EXECUTE FUNCTION never('a used invitation stays used')
        """,
    ),
    tuple(map(_own, STUDIO)),
    (_own(DESIGNS),),
    (
        _own(TRIALS),
        *map(_own, DEEDS),
        """
        CREATE TRIGGER a_deed_never_changes
        BEFORE UPDATE OR DELETE OR TRUNCATE ON deeds
        EXECUTE FUNCTION never('a deed never changes')
        """,
    ),
    (
        *map(_own, MIXED),
        """
        CREATE TRIGGER a_key_of_envelopes_never_changes
        BEFORE UPDATE ON envelope_keys FOR EACH ROW
        WHEN (OLD.survey IS NOT NULL OR (OLD.open, OLD.secret) <> (NEW.open, NEW.secret))
        EXECUTE FUNCTION never('a key of envelopes is for one survey')
        """,
        """
        CREATE TRIGGER there_is_one_batch
        BEFORE UPDATE OF survey, manifest, signature ON mixed
        EXECUTE FUNCTION never('a survey has one batch')
        """,
        """
        CREATE TRIGGER there_is_one_batch_for_ever
        BEFORE DELETE OR TRUNCATE ON mixed
        EXECUTE FUNCTION never('a survey has one batch')
        """,
        """
        CREATE TRIGGER a_batch_is_taken_once
        BEFORE UPDATE ON mixed FOR EACH ROW WHEN (OLD.state <> 'open')
        EXECUTE FUNCTION never('a batch is taken once')
        """,
        """
        CREATE TRIGGER received_envelopes_never_change
        BEFORE UPDATE OR DELETE OR TRUNCATE ON mixed_hashes
        EXECUTE FUNCTION never('the list of received envelopes never changes')
        """,
    ),
)
"""The SQL statements of each schema version (``schema_migration``). Never change a released one;
add a new one."""

MIXER_STEPS = (
    (
        *map(_own, MIXER),
        """
        CREATE INDEX envelopes_of_a_survey ON envelopes (survey, hash)
        """,
        _NEVER,
        """
        CREATE TRIGGER terms_never_change
        BEFORE UPDATE OF survey, terms, until, source ON mixes
        EXECUTE FUNCTION never('the terms of a survey never change')
        """,
        """
        CREATE TRIGGER a_mix_is_never_deleted
        BEFORE DELETE OR TRUNCATE ON mixes
        EXECUTE FUNCTION never('the terms of a survey never change')
        """,
        """
        CREATE TRIGGER a_mix_only_goes_on
        BEFORE UPDATE OF state ON mixes FOR EACH ROW
        WHEN (NOT (OLD.state, NEW.state) IN (
            ('open', 'closed'), ('closed', 'made'), ('closed', 'too few'), ('too few', 'told'),
            ('made', 'passed'),
            ('made', 'refused'), ('made', 'given up'), ('refused', 'given up')))
        EXECUTE FUNCTION never('a survey is closed once, and its batch is made once')
        """,
        """
        CREATE TRIGGER a_manifest_never_changes
        BEFORE UPDATE OF manifest, signature ON mixes FOR EACH ROW
        WHEN (OLD.manifest <> '')
        EXECUTE FUNCTION never('a survey is closed once, and its batch is made once')
        """,
        """
        CREATE TRIGGER a_key_of_a_mix_never_changes
        BEFORE UPDATE ON mixer_keys
        EXECUTE FUNCTION never('the keys of a survey never change')
        """,
        """
        CREATE TRIGGER an_envelope_never_changes
        BEFORE UPDATE ON envelopes
        EXECUTE FUNCTION never('a stored envelope never changes')
        """,
        """
        CREATE TRIGGER a_batch_never_changes
        BEFORE UPDATE ON pieces
        EXECUTE FUNCTION never('a survey is closed once, and its batch is made once')
        """,
        """
        CREATE FUNCTION only_of_closed() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF (SELECT state FROM mixes WHERE survey = NEW.survey) <> 'closed' THEN
                RAISE EXCEPTION USING
                    MESSAGE = 'a survey is closed once, and its batch is made once',
                    ERRCODE = 'integrity_constraint_violation';
            END IF;
            RETURN NEW;
        END $$
        """,
        """
        CREATE TRIGGER a_batch_is_made_once BEFORE INSERT ON pieces
        FOR EACH ROW EXECUTE FUNCTION only_of_closed()
        """,
        """
        CREATE TRIGGER a_used_code_stays_used
        BEFORE UPDATE ON invitations FOR EACH ROW
        WHEN (OLD.blinded <> decode(repeat('00', 32), 'hex'))
        EXECUTE FUNCTION never('a used invitation stays used')
        """,
    ),
)
"""Those of a mixer's database."""
