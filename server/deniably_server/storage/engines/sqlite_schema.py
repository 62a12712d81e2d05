"""SQLite's tables, as steps. No table of reports has a column for a time, an address or an order.

Rows are stored under their keys (WITHOUT ROWID); the key of a report is its random id, so that
the table says nothing about who came first.
"""

STEPS = (
    (
        """
        CREATE TABLE surveys (
            name TEXT PRIMARY KEY,
            digest TEXT NOT NULL UNIQUE,
            definition TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('open', 'closed'))
        ) STRICT, WITHOUT ROWID
        """,
        """
        CREATE TABLE reports (
            id BLOB PRIMARY KEY CHECK (length(id) = 16),
            survey TEXT NOT NULL REFERENCES surveys (name),
            report TEXT NOT NULL
        ) STRICT, WITHOUT ROWID
        """,
        """
        CREATE TABLE totals (
            survey TEXT PRIMARY KEY REFERENCES surveys (name),
            reports INTEGER NOT NULL CHECK (reports >= 0)
        ) STRICT, WITHOUT ROWID
        """,
        """
        CREATE TABLE tallies (
            survey TEXT NOT NULL REFERENCES surveys (name),
            question TEXT NOT NULL,
            choice INTEGER NOT NULL,
            count INTEGER NOT NULL CHECK (count >= 0),
            PRIMARY KEY (survey, question, choice)
        ) STRICT, WITHOUT ROWID
        """,
        """
        CREATE TABLE settings (
            key TEXT PRIMARY KEY,
            value TEXT NOT NULL
        ) STRICT, WITHOUT ROWID
        """,
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
        # How many reports each question has, where a survey asks only some of its questions.
        """
        CREATE TABLE answered (
            survey TEXT NOT NULL REFERENCES surveys (name),
            question TEXT NOT NULL,
            reports INTEGER NOT NULL CHECK (reports >= 0),
            PRIMARY KEY (survey, question)
        ) STRICT, WITHOUT ROWID
        """,
        # The entries are public, each chained to the last; ``hash`` is the digest of ``entry``. The
        # other columns repeat what is in it, so that the database itself refuses a second
        # publication.
        """
        CREATE TABLE register (
            number INTEGER PRIMARY KEY,
            event TEXT NOT NULL,
            survey TEXT NOT NULL REFERENCES surveys (name),
            entry TEXT NOT NULL,
            hash TEXT NOT NULL CHECK (length(hash) = 64),
            UNIQUE (survey, event)
        ) STRICT
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
        # The survey of a token need not be published yet.
        """
        CREATE TABLE tokens (
            id TEXT PRIMARY KEY,
            hash TEXT NOT NULL CHECK (length(hash) = 64),
            role TEXT NOT NULL CHECK (role IN ('author', 'analyst', 'monitor', 'operator')),
            survey TEXT,
            until TEXT NOT NULL CHECK (length(until) = 10),
            note TEXT NOT NULL,
            revoked INTEGER NOT NULL CHECK (revoked IN (0, 1))
        ) STRICT, WITHOUT ROWID
        """,
        # The keys that sign tickets blindly.
        """
        CREATE TABLE keys (
            survey TEXT PRIMARY KEY REFERENCES surveys (name),
            secret TEXT NOT NULL
        ) STRICT, WITHOUT ROWID
        """,
        # ``blinded`` is the hash of what was signed for an invitation, 32 zeros as long as nothing
        # was: the row keeps its length, and with it its place. Nothing here refers to a report.
        """
        CREATE TABLE invitations (
            hash BLOB PRIMARY KEY CHECK (length(hash) = 32),
            survey TEXT NOT NULL REFERENCES surveys (name),
            blinded BLOB NOT NULL CHECK (length(blinded) = 32)
        ) STRICT, WITHOUT ROWID
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
        # What the results of open surveys show.
        """
        CREATE TABLE snapshots (
            survey TEXT PRIMARY KEY REFERENCES surveys (name),
            reports INTEGER NOT NULL CHECK (reports >= 0),
            tallies TEXT NOT NULL
        ) STRICT, WITHOUT ROWID
        """,
        # How many invitations of a survey stand, used or not, without counting them each time.
        """
        CREATE TABLE issued (
            survey TEXT PRIMARY KEY REFERENCES surveys (name),
            invitations INTEGER NOT NULL CHECK (invitations >= 0)
        ) STRICT, WITHOUT ROWID
        """,
        # Whose token published a survey, on which day, and how much of the register it takes.
        """
        CREATE TABLE owners (
            survey TEXT PRIMARY KEY REFERENCES surveys (name),
            token TEXT NOT NULL,
            day TEXT NOT NULL CHECK (length(day) = 10),
            bytes INTEGER NOT NULL CHECK (bytes >= 0)
        ) STRICT, WITHOUT ROWID
        """,
    ),
)
"""Each step's statements; see ``schema``. What was released stays as it is: a change is a step."""
