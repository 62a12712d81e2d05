"""The handbook's pages and the README as texts."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
HANDBOOK = ROOT / "server/deniably_server/handbook"
PAGES = {
    path.relative_to(HANDBOOK).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted(HANDBOOK.rglob("*.md"))
}
"""By their paths below the handbook's folder."""
README = (ROOT / "README.md").read_text(encoding="utf-8")
GENERATED = ("commands.md", "survey-keys.md", "http.md", "library.md")
"""Made by ``support.reference``."""
