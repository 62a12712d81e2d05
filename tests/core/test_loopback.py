"""Which addresses are those of this machine."""

from __future__ import annotations

from deniably.core.loopback import is_here
from support.cases import for_each


@for_each(
    ("url", "here"),
    [
        ("http://localhost:8000", True),
        ("http://127.0.0.1/a", True),
        ("http://[::1]:8000", True),
        ("https://survey.example.org", False),
        ("https://[2001:db8::1]", False),
        ("https://[::::]", False),
        ("", False),
    ],
)
def test_here_is_this_machine_alone_and_what_is_no_address_is_not_here(
    url: str, here: bool
) -> None:
    assert is_here(url) == here
