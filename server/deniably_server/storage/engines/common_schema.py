"""The tables of both databases. None of reports has a column for a time, an address or an order."""

TABLES = (
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
        id BLOB PRIMARY KEY CHECK (length(id) = 16),
        survey TEXT NOT NULL REFERENCES surveys (name),
        report TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE totals (
        survey TEXT PRIMARY KEY REFERENCES surveys (name),
        reports INTEGER NOT NULL CHECK (reports >= 0)
    )
    """,
    """
    CREATE TABLE tallies (
        survey TEXT NOT NULL REFERENCES surveys (name),
        question TEXT NOT NULL,
        choice INTEGER NOT NULL,
        count INTEGER NOT NULL CHECK (count >= 0),
        PRIMARY KEY (survey, question, choice)
    )
    """,
    """
    CREATE TABLE settings (
        key TEXT PRIMARY KEY,
        value TEXT NOT NULL
    )
    """,
    # How many reports each question has, where a survey asks only some of its questions.
    """
    CREATE TABLE answered (
        survey TEXT NOT NULL REFERENCES surveys (name),
        question TEXT NOT NULL,
        reports INTEGER NOT NULL CHECK (reports >= 0),
        PRIMARY KEY (survey, question)
    )
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
    )
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
    )
    """,
    # The keys that sign tickets blindly.
    """
    CREATE TABLE keys (
        survey TEXT PRIMARY KEY REFERENCES surveys (name),
        secret TEXT NOT NULL
    )
    """,
    # ``blinded`` is the hash of what was signed for an invitation, 32 zeros as long as nothing
    # was: the row keeps its length, and with it its place. Nothing here refers to a report.
    """
    CREATE TABLE invitations (
        hash BLOB PRIMARY KEY CHECK (length(hash) = 32),
        survey TEXT NOT NULL REFERENCES surveys (name),
        blinded BLOB NOT NULL CHECK (length(blinded) = 32)
    )
    """,
    # What the results of open surveys show.
    """
    CREATE TABLE snapshots (
        survey TEXT PRIMARY KEY REFERENCES surveys (name),
        reports INTEGER NOT NULL CHECK (reports >= 0),
        tallies TEXT NOT NULL
    )
    """,
    # How many invitations of a survey stand, used or not, without counting them each time.
    """
    CREATE TABLE issued (
        survey TEXT PRIMARY KEY REFERENCES surveys (name),
        invitations INTEGER NOT NULL CHECK (invitations >= 0)
    )
    """,
    # Whose token published a survey, on which day, and how much of the register it takes.
    """
    CREATE TABLE owners (
        survey TEXT PRIMARY KEY REFERENCES surveys (name),
        token TEXT NOT NULL,
        day TEXT NOT NULL CHECK (length(day) = 10),
        bytes INTEGER NOT NULL CHECK (bytes >= 0)
    )
    """,
)
"""In the types of SQLite."""
