"""A Flask route that parses JSON and does nothing else, served by the code that serves Deniably.

python bare.py DATABASE     (the file is opened at the end, as for Deniably, and left empty)
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from flask import Flask, request

from deniably_server import serving
from deniably_server.layers import QUICK_REPORTS
from deniably_server.settings import configuration
from deniably_server.storage.store import Store
from deniably_server.wire.listening import claim


def nothing_at_once(*_: object) -> None:
    """No request is taken before a thread has one: what Deniably gains by that is its own."""


def application(config: Mapping[str, object], *_: object) -> Flask:
    app = Flask("bare")
    app.extensions["deniably"] = Store(str(config["DATABASE"]))
    app.extensions[QUICK_REPORTS] = nothing_at_once

    @app.post("/api/surveys/<name>/reports")
    def add(name: str) -> tuple[dict[str, str], int]:
        request.get_json()
        return {"status": "parsed"}, 201

    return app


def main() -> None:
    # Only the application is replaced, so that every setting of the server stays the same.
    serving._application = application
    with claim("127.0.0.1", 0) as held:
        host, port = held.getsockname()
        print(f"Bare listens on http://{host}:{port}", flush=True)
        serving.serve(configuration({"DATABASE": sys.argv[1]}), [held])


if __name__ == "__main__":
    main()
