"""PostgreSQL's tables, as steps: the tables and the promises of ``sqlite_schema``."""

STEPS = (
    (
        """
        CREATE TABLE surveys (
            name TEXT PRIMARY KEY,
            digest TEXT NOT NULL UNIQUE,
            definition TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('open', 'closed'))
        )
        """,
        """
        CREATE TABLE reports (
            id BYTEA PRIMARY KEY CHECK (length(id) = 16),
            survey TEXT NOT NULL REFERENCES surveys (name),
            report TEXT NOT NULL
        )
        """,
        """
        CREATE INDEX reports_of_a_survey ON reports (survey, id)
        """,
        """
        CREATE TABLE totals (
            survey TEXT PRIMARY KEY REFERENCES surveys (name),
            reports BIGINT NOT NULL CHECK (reports >= 0)
        )
        """,
        """
        CREATE TABLE tallies (
            survey TEXT NOT NULL REFERENCES surveys (name),
            question TEXT NOT NULL,
            choice BIGINT NOT NULL,
            count BIGINT NOT NULL CHECK (count >= 0),
            PRIMARY KEY (survey, question, choice)
        )
        """,
        """
        CREATE TABLE answered (
            survey TEXT NOT NULL REFERENCES surveys (name),
            question TEXT NOT NULL,
            reports BIGINT NOT NULL CHECK (reports >= 0),
            PRIMARY KEY (survey, question)
        )
        """,
        """
        CREATE TABLE settings (
            key TEXT PRIMARY KEY,
            value TEXT NOT NULL
        )
        """,
        """
        CREATE TABLE register (
            number BIGINT PRIMARY KEY,
            event TEXT NOT NULL,
            survey TEXT NOT NULL REFERENCES surveys (name),
            entry TEXT NOT NULL,
            hash TEXT NOT NULL CHECK (length(hash) = 64),
            UNIQUE (survey, event)
        )
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
        CREATE TABLE tokens (
            id TEXT PRIMARY KEY,
            hash TEXT NOT NULL CHECK (length(hash) = 64),
            role TEXT NOT NULL CHECK (role IN ('author', 'analyst', 'monitor', 'operator')),
            survey TEXT,
            until TEXT NOT NULL CHECK (length(until) = 10),
            note TEXT NOT NULL,
            revoked BIGINT NOT NULL CHECK (revoked IN (0, 1))
        )
        """,
        """
        CREATE TABLE keys (
            survey TEXT PRIMARY KEY REFERENCES surveys (name),
            secret TEXT NOT NULL
        )
        """,
        """
        CREATE TABLE invitations (
            hash BYTEA PRIMARY KEY CHECK (length(hash) = 32),
            survey TEXT NOT NULL REFERENCES surveys (name),
            blinded BYTEA NOT NULL CHECK (length(blinded) = 32)
        )
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
        """
        CREATE TABLE snapshots (
            survey TEXT PRIMARY KEY REFERENCES surveys (name),
            reports BIGINT NOT NULL CHECK (reports >= 0),
            tallies TEXT NOT NULL
        )
        """,
        """
        CREATE TABLE issued (
            survey TEXT PRIMARY KEY REFERENCES surveys (name),
            invitations BIGINT NOT NULL CHECK (invitations >= 0)
        )
        """,
        """
        CREATE TABLE owners (
            survey TEXT PRIMARY KEY REFERENCES surveys (name),
            token TEXT NOT NULL,
            day TEXT NOT NULL CHECK (length(day) = 10),
            bytes BIGINT NOT NULL CHECK (bytes >= 0)
        )
        """,
    ),
)
"""Each step's statements; see ``schema``. What was released stays as it is: a change is a step."""
