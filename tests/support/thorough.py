"""What ``make test-thorough`` tries, and so CI: the costliest tests."""

from __future__ import annotations

from typing import Any

import pytest


def thorough(*values: object) -> Any:
    """A case of a parametrised test that ``make test`` leaves out: it tries others like it."""
    return pytest.param(*values, marks=pytest.mark.thorough)
