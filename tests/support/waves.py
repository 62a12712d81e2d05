"""A question of every type that goes with waves, and one person's answers to all of them."""

from __future__ import annotations

from typing import Any

STOLEN: dict[str, Any] = {"name": "stolen", "type": "yes_no", "label": "Stolen?", "odds": 3}
EVERY: list[dict[str, Any]] = [
    STOLEN,
    {"name": "dept", "type": "select_one", "label": "Where?", "choices": [*"abcde"], "epsilon": 1},
    {"name": "took", "type": "select_multiple", "label": "What?", "choices": [*"abcdef"],
     "most": 2, "epsilon": 1},
    {"name": "income", "type": "number", "label": "Income?", "minimum": 0, "maximum": 100,
     "epsilon": 1},
    {"name": "hours", "type": "number", "label": "Hours?", "minimum": 0, "maximum": 50,
     "aim": "distribution", "epsilon": 1},
    {"name": "happy", "type": "scale", "label": "Happy?", "choices": [*"abcde"], "epsilon": 1},
    {"name": "trust", "type": "scale", "label": "Trust?", "choices": [*"abcde"], "aim": "mean",
     "epsilon": 1},
    {"name": "home", "type": "point", "label": "Home?", "epsilon": 1, "parts": [
        {"name": name, "label": name, "minimum": 0, "maximum": 100} for name in ("east", "north")]},
    {"name": "pair", "type": "product", "label": "Both?", "epsilon": 1, "parts": [
        {"name": name, "label": name, "choices": ["a", "b"]} for name in ("one", "two")]},
]  # fmt: skip
ANSWERS: dict[str, object] = {
    "stolen": "yes", "dept": "c", "took": ["a", "f"], "income": 40, "hours": 12, "happy": "b",
    "trust": "e", "home": {"east": 3, "north": 97}, "pair": {"one": "a", "two": "b"},
}  # fmt: skip
