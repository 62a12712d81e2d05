"""What the tests of the workbench share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.worked_out import worked_out_once


@pytest.fixture(scope="package", autouse=True)
def estimated_once() -> Iterator[None]:
    """What the reports to a question say is worked out once for all tests of the workbench."""
    with worked_out_once():
        yield
