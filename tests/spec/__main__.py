"""`cd tests && python -m spec` writes shared/vectors; with --check it compares them."""

from __future__ import annotations

import sys
from pathlib import Path

from spec.files import files

VECTORS = Path(__file__).resolve().parents[2] / "shared" / "vectors"


def main(arguments: list[str]) -> int:
    stale = 0
    for name, text in files().items():
        path = VECTORS / name
        old = path.read_text(encoding="utf-8") if path.exists() else None
        if arguments == ["--check"]:
            stale += old != text
            print(name, "is as generated" if old == text else "DIFFERS from what is generated")
        else:
            path.write_text(text, encoding="utf-8")
            print(name, "is unchanged" if old == text else "is written")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
