"""The tables of both databases, as SQL.

No table about reports has a column for a time, an address or an order. ``stratum`` is the number of
a stratum (SPEC 4.6), 0 where the survey has none. ``shard`` is the number of the rows that one
writer adds to (``tables.tallies``).
"""

ORDERED = {
    "reports": "id",
    "invitations": "hash",
    "tallies": "stratum, question, choice",
    "answered": "stratum, question",
    "totals": "stratum",
}
"""Where places of rows reveal what came first or last, as ``engine.Ordered`` has it."""

_SETTINGS = """
    CREATE TABLE settings (
        key TEXT PRIMARY KEY,
        value TEXT NOT NULL
    )
    """


def _invitations(surveys: str) -> str:
    """``blinded`` is the hash of what an invitation was used for, 32 zeros before that: a message
    that was signed, or an envelope that came. So a row keeps its length and its place on disk.
    Nothing here refers to a report."""
    return f"""
    CREATE TABLE invitations (
        hash BLOB PRIMARY KEY CHECK (length(hash) = 32),
        survey TEXT NOT NULL REFERENCES {surveys},
        blinded BLOB NOT NULL CHECK (length(blinded) = 32),
        stratum INTEGER NOT NULL DEFAULT 0 CHECK (stratum >= 0)
    )
    """


def _issued(surveys: str) -> str:
    """The number of a survey's invitations, used or not, to avoid counting them each time."""
    return f"""
    CREATE TABLE issued (
        survey TEXT NOT NULL REFERENCES {surveys},
        stratum INTEGER NOT NULL,
        invitations INTEGER NOT NULL CHECK (invitations >= 0),
        PRIMARY KEY (survey, stratum)
    )
    """


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
        report TEXT NOT NULL,
        stratum INTEGER NOT NULL DEFAULT 0 CHECK (stratum >= 0)
    )
    """,
    """
    CREATE TABLE totals (
        survey TEXT NOT NULL REFERENCES surveys (name),
        stratum INTEGER NOT NULL,
        shard INTEGER NOT NULL DEFAULT 0 CHECK (shard >= 0),
        reports INTEGER NOT NULL CHECK (reports >= 0),
        PRIMARY KEY (survey, stratum, shard)
    )
    """,
    """
    CREATE TABLE tallies (
        survey TEXT NOT NULL REFERENCES surveys (name),
        stratum INTEGER NOT NULL,
        question TEXT NOT NULL,
        choice INTEGER NOT NULL,
        shard INTEGER NOT NULL DEFAULT 0 CHECK (shard >= 0),
        count INTEGER NOT NULL CHECK (count >= 0),
        PRIMARY KEY (survey, stratum, question, choice, shard)
    )
    """,
    _SETTINGS,
    # The number of reports of each question, where a survey asks each person only some questions.
    """
    CREATE TABLE answered (
        survey TEXT NOT NULL REFERENCES surveys (name),
        stratum INTEGER NOT NULL,
        question TEXT NOT NULL,
        shard INTEGER NOT NULL DEFAULT 0 CHECK (shard >= 0),
        reports INTEGER NOT NULL CHECK (reports >= 0),
        PRIMARY KEY (survey, stratum, question, shard)
    )
    """,
    # The entries are public and form a hash chain; ``hash`` is the digest of ``entry``. The other
    # columns repeat parts of the entry, so that the database itself refuses a second publication.
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
    # A token's survey need not be published yet.
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
    # The private keys that sign tickets blindly.
    """
    CREATE TABLE keys (
        survey TEXT PRIMARY KEY REFERENCES surveys (name),
        secret TEXT NOT NULL
    )
    """,
    _invitations("surveys (name)"),
    # The tallies that the results of open surveys show.
    """
    CREATE TABLE snapshots (
        survey TEXT PRIMARY KEY REFERENCES surveys (name),
        reports INTEGER NOT NULL CHECK (reports >= 0),
        tallies TEXT NOT NULL
    )
    """,
    _issued("surveys (name)"),
    # The token that published a survey, the day, and the size of its register entry.
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

STUDIO = (
    # A group that writes surveys together. ``key`` is the public key of its signature.
    """
    CREATE TABLE teams (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        contact TEXT NOT NULL,
        key TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE members (
        token TEXT PRIMARY KEY REFERENCES tokens (id),
        team TEXT NOT NULL REFERENCES teams (id)
    )
    """,
    # ``hash`` is that of the cookie, ``word`` that of what was signed, which begins one session;
    # ``used`` is the day of its last use, ``until`` its last day.
    """
    CREATE TABLE sessions (
        hash TEXT PRIMARY KEY CHECK (length(hash) = 64),
        word TEXT NOT NULL UNIQUE CHECK (length(word) = 64),
        token TEXT NOT NULL REFERENCES tokens (id),
        used TEXT NOT NULL CHECK (length(used) = 10),
        until TEXT NOT NULL CHECK (length(until) = 10)
    )
    """,
    # ``day`` is that of the last edit; ``gone`` is the day on which it was deleted, or empty.
    """
    CREATE TABLE drafts (
        id TEXT PRIMARY KEY,
        team TEXT NOT NULL REFERENCES teams (id),
        revision INTEGER NOT NULL CHECK (revision > 0),
        day TEXT NOT NULL CHECK (length(day) = 10),
        gone TEXT NOT NULL DEFAULT ''
    )
    """,
    # The newest revisions of a draft, each with the random id of the edit that made it: what a page
    # sends twice counts once.
    """
    CREATE TABLE draft_versions (
        draft TEXT NOT NULL REFERENCES drafts (id),
        revision INTEGER NOT NULL CHECK (revision > 0),
        edit TEXT NOT NULL,
        document TEXT NOT NULL,
        PRIMARY KEY (draft, revision)
    )
    """,
)
"""The tables of the studio. They hold what authors write, and nothing about reports."""

DESIGNS = """
    CREATE TABLE designs (
        positions INTEGER NOT NULL CHECK (positions >= 2),
        own INTEGER NOT NULL CHECK (own > 0),
        other INTEGER NOT NULL CHECK (other > 0),
        mechanism TEXT NOT NULL,
        PRIMARY KEY (positions, own, other)
    )
    """
"""The best designs of means that checks of drafts asked for, by what a design depends on. The table
names no survey and nobody."""

TRIALS = """
    CREATE TABLE trials (
        draft TEXT PRIMARY KEY REFERENCES drafts (id),
        hash TEXT NOT NULL UNIQUE CHECK (length(hash) = 64),
        until TEXT NOT NULL CHECK (length(until) = 10)
    )
    """
"""A draft's link to its trial: the hash of the link's secret, and its last day. Who opens it, and
what they answer, is stored nowhere."""
DEEDS = (
    # What a group did, in days; ``object`` is the survey, or empty. A row is there once a day.
    """
    CREATE TABLE deeds (
        number INTEGER PRIMARY KEY,
        day TEXT NOT NULL CHECK (length(day) = 10),
        team TEXT NOT NULL REFERENCES teams (id),
        token TEXT NOT NULL REFERENCES tokens (id),
        what TEXT NOT NULL,
        object TEXT NOT NULL
    )
    """,
    # The draft that became a survey, as its author wrote it.
    """
    CREATE TABLE published_drafts (
        survey TEXT PRIMARY KEY REFERENCES surveys (name),
        draft TEXT NOT NULL UNIQUE,
        team TEXT NOT NULL REFERENCES teams (id),
        document TEXT NOT NULL
    )
    """,
)
"""What groups did, and what they published. Nothing here is about reports."""

MIXED = (
    # The server's private keys of envelopes, by their public halves, each for one survey. ``token``
    # is the id of the token that asked for it, ``day`` when. ``survey`` is NULL until a survey with
    # this key is published. A key is deleted once its survey's batch is taken or refused.
    """
    CREATE TABLE envelope_keys (
        open TEXT PRIMARY KEY CHECK (length(open) = 130),
        secret TEXT NOT NULL,
        token TEXT NOT NULL,
        day TEXT NOT NULL CHECK (length(day) = 10),
        survey TEXT UNIQUE REFERENCES surveys (name)
    )
    """,
    # The batch that a survey's mixer passes on, with its signed manifest. ``state`` is open while
    # bytes are missing or not checked. ``refused`` is the number of envelopes that are no reports;
    # ``why`` is the reason for refusing the whole batch, or empty.
    """
    CREATE TABLE mixed (
        survey TEXT PRIMARY KEY REFERENCES surveys (name),
        manifest TEXT NOT NULL,
        signature TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('open', 'taken', 'refused')),
        refused INTEGER NOT NULL DEFAULT 0 CHECK (refused >= 0),
        why TEXT NOT NULL DEFAULT ''
    )
    """,
    # The bytes of a batch that is not checked yet; ``start`` is the place of a piece in it.
    """
    CREATE TABLE mixed_pieces (
        survey TEXT NOT NULL REFERENCES mixed (survey),
        start INTEGER NOT NULL CHECK (start >= 0),
        bytes BLOB NOT NULL,
        PRIMARY KEY (survey, start)
    )
    """,
    # The SHA-256 of every envelope of a taken batch, ascending, in blocks.
    """
    CREATE TABLE mixed_hashes (
        survey TEXT NOT NULL REFERENCES mixed (survey),
        number INTEGER NOT NULL CHECK (number >= 0),
        hashes BLOB NOT NULL,
        PRIMARY KEY (survey, number)
    )
    """,
)
"""What a server has of surveys with a mixer. No table has a time, or an order of arrival."""

MIXER = (
    # The surveys that a mixer takes envelopes for, each under the digest of its definition.
    # ``until`` is the last day on which it takes any; ``source`` says where the survey is
    # published. ``manifest`` and ``signature`` are of the batch, empty before it is made.
    # ``reason`` says why the survey's server refused the batch, if it did.
    """
    CREATE TABLE mixes (
        survey TEXT PRIMARY KEY CHECK (length(survey) = 64),
        terms TEXT NOT NULL,
        until TEXT NOT NULL CHECK (length(until) = 10),
        source TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN
            ('open', 'closed', 'made', 'passed', 'too few', 'told', 'refused', 'given up')),
        manifest TEXT NOT NULL DEFAULT '',
        signature TEXT NOT NULL DEFAULT '',
        reason TEXT NOT NULL DEFAULT ''
    )
    """,
    # Keys that were offered and that no survey uses yet, under the public key of envelopes.
    """
    CREATE TABLE offers (
        key TEXT PRIMARY KEY,
        opening TEXT NOT NULL,
        signing TEXT NOT NULL,
        offer TEXT NOT NULL
    )
    """,
    # The private keys: what opens envelopes, and what signs. They are deleted with the envelopes.
    """
    CREATE TABLE mixer_keys (
        survey TEXT PRIMARY KEY REFERENCES mixes (survey),
        opening TEXT NOT NULL,
        signing TEXT NOT NULL
    )
    """,
    # ``hash`` is the SHA-256 of ``sealed``, what one person sent.
    """
    CREATE TABLE envelopes (
        hash BLOB PRIMARY KEY CHECK (length(hash) = 32),
        survey TEXT NOT NULL REFERENCES mixes (survey),
        sealed BLOB NOT NULL
    )
    """,
    _invitations("mixes (survey)"),
    _issued("mixes (survey)"),
    # The batch of a survey, in pieces of equal size but the last.
    """
    CREATE TABLE pieces (
        survey TEXT NOT NULL REFERENCES mixes (survey),
        number INTEGER NOT NULL CHECK (number >= 0),
        bytes BLOB NOT NULL,
        PRIMARY KEY (survey, number)
    )
    """,
    _SETTINGS,
)
"""The tables of a mixer. None has a column for a time, an address or an order."""

MIXER_ORDERED = {"envelopes": "hash", "invitations": "hash"}
"""As ``ORDERED``, of a mixer's tables."""
