"""The pictures that are kept: few bytes, all of them listed, and of every page of the server."""

from __future__ import annotations

import re

from browser.screenshots import ALL, FEW, FOLDER, MOST, PAGES, README, STUDIO, index
from browser.test_every_page import PAGES as ROUTES

PICTURES = sorted(path.name for path in FOLDER.glob("*.webp"))


def test_all_pictures_together_are_small() -> None:
    size = sum(path.stat().st_size for path in [*FOLDER.iterdir(), *README.iterdir()])

    assert size < MOST == 2_200_000


def test_the_index_lists_what_is_there() -> None:
    assert (FOLDER / "README.md").read_text(encoding="utf-8") == index(PICTURES)
    assert {path.name for path in FOLDER.iterdir()} == {*PICTURES, "README.md"}


def test_every_page_is_there_in_light_and_dark_narrow_and_wide() -> None:
    for state in PAGES:
        name = state.replace(" ", "-")
        for width, scheme in ALL:
            assert f"{name}-{width}-{scheme}.webp" in PICTURES
    behind = ("home", "editor", "privacy", "publish", "try", "trial", "trial sent")
    for state in (*STUDIO, *(f"studio {each}" for each in behind)):
        for width, scheme in FEW:
            assert f"{state.replace(' ', '-')}-{width}-{scheme}.webp" in PICTURES
    for state in ("start", "question", "error", "check", "receipt", "refused"):
        for width, scheme in ALL:
            assert f"form-{state}-{width}-{scheme}.webp" in PICTURES
    for group in ("rare", "invited"):
        for width, scheme in FEW:
            assert any(name.startswith(group) and f"{width}-{scheme}" in name for name in PICTURES)


def test_no_page_of_the_server_is_left_out_of_the_pictures() -> None:
    taken = [path.partition("?")[0] for path in (*PAGES.values(), *STUDIO.values())]
    same = {
        "/handbook/<folder>/<name>",  # looks as any page of the handbook
        "/surveys/<name>/strata",  # the tables of the differences, one for each stratum, too
        # one page, as that of a question's figure
        *(
            f"/surveys/<name>/{kind}/figure"
            for kind in ("crosstab", "differences", "groups", "strata", "waves")
        ),
    }
    assert same < set(ROUTES)
    for rule in set(ROUTES) - same:
        pattern = re.sub(r"<\w+>", "[^/]+", rule)
        assert any(re.fullmatch(pattern, path) for path in taken), f"take a picture of {rule}"
