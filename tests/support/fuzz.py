"""At least 100,000 hostile requests: 0 faults, 0 changes. ``make fuzz``; COUNT=1000 for fewer."""

from __future__ import annotations

import os
import secrets
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

from deniably_server.app import create_app
from support.hostile import Tally, draw, pour
from support.material import Server, a_report, contents, new_token, signed, survey_named

LEAST = 1000
"""So many at least, or some operations would be asked nothing."""


def main(count: int) -> None:
    """A tenth from the description, by nobody, an analyst and an author; the rest on the wire."""
    seed = int(os.environ.get("SEED", secrets.randbelow(1 << 32)))
    print(f"{count:,} requests, SEED={seed}", flush=True)
    found: Tally = Counter()
    with tempfile.TemporaryDirectory() as folder:
        found += _described(Path(folder) / "described.db", count // 10)
        found += _wire(Path(folder) / "wire.db", count - found.total(), seed)
    print(f"{found.total():,} requests: {dict(sorted(found.items()))} (0: ended without an answer)")
    print(
        "no answer was a fault (5xx), whoever may change nothing changed nothing, and every refusal"
    )
    print("is a problem of the table")


def _described(path: Path, count: int) -> Tally:
    app = create_app({"DATABASE": str(path)})
    survey = survey_named()
    found: Tally = Counter()
    with closing(app.extensions["deniably"]) as store:
        store.publish(survey, signed(survey))
        for _ in range(120):
            store.add(survey, a_report(survey))
        operations = sum(len(rule.methods or ()) for rule in app.url_map.iter_rules())
        each = (-(-count // (3 * operations)) + 2) // 2
        headers = {
            role: {"Authorization": f"Bearer {new_token(store, role)}"}
            for role in ("analyst", "author")
        }
        before = contents(path)
        for who in ("nobody", "analyst"):
            found += _timed(who, partial(draw, app, each, each, headers.get(who, {})))
            assert contents(path) == before, f"{who} changed something"
        found += _timed("author", lambda: draw(app, each, each, headers["author"]))
    return found


def _wire(path: Path, count: int, seed: int) -> Tally:
    survey = survey_named()
    server = Server(path, "--workers", "1")
    try:
        server.publish(survey)
        for _ in range(3):
            server.post(survey, a_report(survey))
        before = contents(path)
        found = _timed("on the wire", lambda: pour(server.port, count, seed))
        assert contents(path) == before, "something changed"
        assert server.post(survey, a_report(survey)).status_code == 201
        assert server.stop() == 0
        assert "Traceback" not in server.log
        assert "ERROR" not in server.log
    finally:
        server.kill()
    return found


def _timed(what: str, work: Callable[[], Tally]) -> Tally:
    began = time.monotonic()
    found = work()
    print(f"{what}: {found.total():,} in {time.monotonic() - began:.0f} s", flush=True)
    return found


if __name__ == "__main__":
    count = sys.argv[1] if len(sys.argv) > 1 else "100000"
    if not count.isdecimal() or int(count) < LEAST:
        sys.exit(f"COUNT is a number of requests from {LEAST} up, and not {count}")
    main(int(count))
