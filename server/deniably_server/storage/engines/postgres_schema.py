"""PostgreSQL's tables as schema steps, with the same triggers as in ``sqlite_schema``."""

from __future__ import annotations

from deniably_server.storage.engines.common_schema import DEEDS, DESIGNS, STUDIO, TABLES, TRIALS


def _own(table: str) -> str:
    """Replace SQLite's type names by PostgreSQL's."""
    return table.replace("INTEGER", "BIGINT").replace("BLOB", "BYTEA")


STEPS = (
    (
        *map(_own, TABLES),
        """
        CREATE INDEX reports_of_a_survey ON reports (survey, id)
        """,
        """
        CREATE FUNCTION never() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            RAISE EXCEPTION USING MESSAGE = TG_ARGV[0],
                ERRCODE = 'integrity_constraint_violation';
        END $$
        """,
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
)
"""The SQL statements of each schema version (``schema_migration``). Never change a released one;
add a new one."""
