"""Checks a device's memory, charges its ledger and applies the limits (SPEC 7 and 8)."""

from __future__ import annotations

import calendar
import datetime
import re
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

from deniably.reference.canonical import canonical, digest, parse
from deniably.reference.claims import at_most_exp
from deniably.reference.definition import NAME, keys
from deniably.reference.losses import added, loss, loss_texts
from deniably.reference.parameters import decimal
from deniably.reference.refusal import Invalid, require
from deniably.reference.values import Definition, Document, Json, Loss, Question
from deniably.reference.waves import history

SURVEY = r"[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?"
HASH = r"[0-9a-f]{64}"
ENTRY = ("day", "author", "survey", "version", "question", "odds", "exponent", "delta")


ACCOUNTS = ("server", "together")
TOGETHER = {"survey": 25, "author": 50, "overall": 64}
"""The limits of the account "together", unless the owner's are larger."""


class Over(Invalid):
    """Raised where a device has already sent as many waves as the survey states."""


class Spent(Invalid):
    """Raised where a report would exceed a limit. ``scope`` says which limit ("survey", "author" or
    "overall") of an ``account`` ("server" or "together"); ``until`` is the first day on which the
    report would be allowed, None if there is none."""

    def __init__(self, account: str, scope: str, until: str | None = None) -> None:
        self.account = account
        self.scope = scope
        self.until = until
        super().__init__(f"the limit of {scope} is exceeded")


def matches(value: Json, pattern: str) -> None:
    """Raises Invalid unless ``value`` is a text that matches the whole ``pattern``."""
    require(type(value) is str and re.fullmatch(pattern, value), f"is none of {pattern}")


def count(value: int) -> None:
    """Raises Invalid unless ``value`` is an integer from 0 to 2^53 - 1."""
    require(type(value) is int and 0 <= value <= 2**53 - 1, "a count is 0 or more")


def fraction(text: Json) -> Fraction:
    """Returns the value of an odds, exponent or delta in the ledger.

    Raises Invalid for a text that is not spelled as SPEC 7 says.
    """
    matches(text, r"(0|[1-9][0-9]{0,399})(/[1-9][0-9]{0,399})?")
    require(str(Fraction(text)) == text, "a fraction is in lowest terms")
    return Fraction(text)


def read_document(text: str) -> dict[str, Any]:
    """Returns the memory of a device from its text. Raises Invalid if SPEC 7 refuses the
    document."""
    value = parse(text)
    require(canonical(value) == text, "the document is canonical JSON")
    needed = ("spec", "ledger", "reports", "memos", "authors", "registers")
    keys(value, needed, ("tickets", "trades", "waves", "orders"))
    require(type(value["spec"]) is int and value["spec"] == 1, "spec is 1")
    require(type(value["ledger"]) is list, "a ledger is a list")
    for entry in value["ledger"]:
        check_entry(entry)
    for name in ("reports", "memos", "authors", "registers"):
        require(type(value[name]) is dict, "an object")
    for version, kept in value["reports"].items():
        check_kept(version, kept)
    for key, memo in value["memos"].items():
        matches(key, f"({HASH})?/{SURVEY}/{HASH}")
        require(type(memo) is list and all(type(cell) is int for cell in memo), "integers")
    for origin, authors in value["authors"].items():
        matches(origin, r"https?://[^/\s]+")
        require(type(authors) is list, "a list of keys")
        for author in authors:
            matches(author, HASH)
    for origin, seen in value["registers"].items():
        matches(origin, r"https?://[^/\s]+")
        keys(seen, ("count", "head"), ("day", "log", "map", "key", "signature"))
        for name in ("log", "map", "key"):
            matches(seen.get(name, "0" * 64), HASH)
        matches(seen.get("signature", "0" * 128), "[0-9a-f]{128}")
        require("day" not in seen or is_date(seen["day"]), "a day of the calendar")
        count(seen["count"])
        matches(seen["head"], HASH)
    check_invitations(value)
    if "waves" in value:
        require(type(value["waves"]) is dict and value["waves"], "an object that is not empty")
        for key, waves in value["waves"].items():
            matches(key, f"({HASH})?/{SURVEY}/{HASH}")
            keys(waves, ("count", "sent"))
            require(type(waves["count"]) is int and 2 <= waves["count"] <= 100, "2 to 100")
            require(type(waves["sent"]) is int, "a count")
            require(1 <= waves["sent"] <= waves["count"], "1 to all of them")
    if "orders" in value:
        require(type(value["orders"]) is dict and value["orders"], "an object that is not empty")
        for version, names in value["orders"].items():
            matches(version, HASH)
            require(version not in value["reports"], "no order of what was answered")
            require(type(names) is list and len(names) >= 2, "a list of two names or more")
            for name in names:
                matches(name, NAME)
            require(len(set(names)) == len(names), "a name is there once")
    return value


def check_invitations(value: Json) -> None:
    """Raises Invalid if ``tickets`` or ``trades`` are in the memory, but empty or not valid (SPEC
    11.4)."""
    wide = "[0-9a-f]{2}"
    long = f"({wide}){{256,512}}"
    for name, members in (
        ("tickets", {"id": f"({wide}){{16}}", "ticket": f"({wide}){{32}}{long}"}),
        (
            "trades",
            {
                "blinded": long,
                "code": "[0-9A-HJKMNP-TV-Y]{18}",
                "id": f"({wide}){{16}}",
                "inverse": long,
                "prefix": f"({wide}){{32}}",
            },
        ),
    ):
        if name not in value:
            continue
        require(type(value[name]) is dict and value[name], "an object that is not empty")
        for version, kept in value[name].items():
            matches(version, HASH)
            keys(kept, tuple(members))
            for member, pattern in members.items():
                matches(kept[member], pattern)


def check_entry(entry: dict[str, Any]) -> None:
    """Raises Invalid unless ``entry`` is an entry of the ledger."""
    keys(entry, ENTRY, ("mixed",))
    matches(entry["day"], r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
    matches(entry["author"], f"({HASH})?")
    matches(entry["survey"], SURVEY)
    matches(entry["version"], HASH)
    matches(entry["question"], NAME)
    require(fraction(entry["odds"]) >= 1, "odds are at least 1")
    fraction(entry["exponent"])
    require(fraction(entry["delta"]) < 1, "delta is below 1")
    if "mixed" in entry:
        keys(entry["mixed"], ("epsilon", "delta", "mixer"))
        fraction(entry["mixed"]["epsilon"])
        require(fraction(entry["mixed"]["delta"]) < 1, "delta is below 1")
        matches(entry["mixed"]["mixer"], HASH)


def check_sealed(kept: dict[str, Any]) -> None:
    """Raises Invalid unless ``kept`` is an envelope to a mixer (SPEC 7)."""
    keys(kept, ("sealed", "inner", "sent"))
    require(type(kept["sent"]) is bool, "sent or not")
    matches(kept["sealed"], "([0-9a-f]{2})+")
    inner = kept["inner"]
    require(type(inner) is list and 1 <= len(inner) <= 100, "1 to 100 envelopes")
    for text in inner:
        matches(text, HASH)
    require(all(one < other for one, other in pairwise(inner)), "ascending, and all different")


def check_kept(version: str, kept: dict[str, Any]) -> None:
    """Raises Invalid unless ``kept`` is a report of the survey ``version``, in canonical JSON, or
    an envelope to a mixer."""
    matches(version, HASH)
    if type(kept) is dict and "sealed" in kept:
        return check_sealed(kept)
    keys(kept, ("text", "sent"))
    require(type(kept["sent"]) is bool and type(kept["text"]) is str, "a text, and whether sent")
    report = parse(kept["text"])
    require(canonical(report) == kept["text"], "a report is kept as it is sent")
    keys(report, ("survey", "id", "values"), ("strata",))
    require(report["survey"] == version, "a report is kept under its version")
    matches(report["id"], r"[0-9a-f]{32}")
    require(type(report["values"]) is dict, "values by question")
    require(type(report.get("strata", {})) is dict, "values by key")
    for key, value in report.get("strata", {}).items():
        matches(key, SURVEY)
        matches(value, SURVEY)
    for value in report["values"].values():
        require(type(value) is list and all(type(cell) is int for cell in value), "integers")


def memo_key(definition: Definition, question: Question, author: str) -> str:
    """Returns the key under which the memory has a question's memo (SPEC 4.4).

    A memo is a permanently randomised answer.
    """
    return f"{author}/{definition['waves']['panel']}/{digest(question)}"


def fresh(
    document: Document, definition: Definition, author: str, drawn: list[str], changed: list[str]
) -> list[str]:
    """Returns the names of the questions that are asked, randomised and charged (SPEC 7). Raises
    Invalid if a ``changed`` question was not answered before."""
    kept = document["reports"].get(digest(definition))
    if kept and "sealed" in kept:
        require(not changed, "what was sealed stays as it is")
        return []
    known = list(parse(kept["text"])["values"]) if kept else []
    if not kept and "waves" in definition:
        for question in definition["questions"]:
            if memo_key(definition, question, author) in document["memos"]:
                known.append(question["name"])
    for name in changed:
        require(name in known, "a changed question was answered before")
    if not kept:
        names = [
            question["name"] for question in definition["questions"] if question["name"] in drawn
        ]
        return [name for name in names if name in changed or name not in known]
    drawn_afresh = []
    for question in definition["questions"]:
        # A changed answer can show or hide other questions, so these are asked again, too.
        after = question.get("show_if", {}).get("question")
        if question["name"] in changed or after in drawn_afresh:
            drawn_afresh.append(question["name"])
    return drawn_afresh


def rounds(
    document: Document, definition: Definition, names: list[str], author: str
) -> dict[str, Any]:
    """Returns the value of ``waves`` in the memory after these questions are answered once more.

    Raises Over where all waves of one of the questions were sent already.
    """
    by_panel = {key: dict(wave) for key, wave in document.get("waves", {}).items()}
    stated = definition.get("waves", {}).get("count")
    for question in definition["questions"] if stated else ():
        if question["name"] in names:
            key = memo_key(definition, question, author)
            wave = by_panel.setdefault(key, {"count": stated, "sent": 0})
            wave["count"] = min(wave["count"], stated)
            if wave["sent"] >= wave["count"]:
                raise Over("all waves were answered")
            wave["sent"] += 1
    return by_panel


def entries(
    definition: Definition, names: list[str], author: str, day: str
) -> list[dict[str, Any]]:
    """Returns the ledger entries that charge the named questions."""
    head = {"day": day, "author": author, "survey": definition["name"]}
    head["version"] = digest(definition)
    charges = []
    for question in definition["questions"]:
        if question["name"] in names:
            memoised = question["mechanism"]["name"] == "memoised"
            # A new memo is charged for all waves at once; waves that reuse it cost nothing.
            charged = history if memoised else loss
            odds, exponent, delta = charged(question["mechanism"])
            texts = loss_texts((short(odds), short(exponent), delta))
            charges.append(head | {"question": question["name"]} | texts)
    if "mixer" in definition:
        # A claim is for the whole survey, so that it stands in one entry.
        claim = {name: str(decimal(text)) for name, text in definition["mixer"]["claim"].items()}
        for charge in charges:
            mixer = definition["mixer"]["signing"]
            charge["mixed"] = claim | {"mixer": mixer}
            claim = {"epsilon": "0", "delta": "0"}
    return charges


def short(value: Fraction) -> Fraction:
    """Returns ``value``, rounded up to a fraction of at most 400 digits if it has more (SPEC 8)."""
    if value.numerator < 10**400 and value.denominator < 10**400:
        return value
    # Up, so that a shorter fraction never states a smaller loss.
    return Fraction(-(-value.numerator * 2**64 // value.denominator), 2**64)


def total(charged: list[dict[str, Any]], account: str = "server") -> Loss:
    """Returns the loss of the given ledger entries together, as an account counts them."""
    return added([_loss(entry, account) for entry in charged])


def _loss(entry: Document, account: str) -> Loss:
    if account == "server" and "mixed" in entry:
        mixed = entry["mixed"]
        return Fraction(1), _parsed(mixed["epsilon"]), _parsed(mixed["delta"])
    return _parsed(entry["odds"]), _parsed(entry["exponent"]), _parsed(entry["delta"])


@lru_cache(maxsize=1 << 12)
def _parsed(text: str) -> Fraction:
    return Fraction(text)


def is_date(text: Json) -> bool:
    """Returns whether a text is a day of the calendar, of the years 1000 to 2999."""
    if type(text) is not str or not re.fullmatch("[12][0-9]{3}-[0-9]{2}-[0-9]{2}", text):
        return False
    year, month, day = (int(part) for part in text.split("-"))
    return 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1]


def day_seen(document: Document, author: str | None = None) -> str | None:
    """Returns the "day seen" of SPEC 8.1: the earliest of the last days of registers.

    The registers are those with this ``author``, or all where that is None. The result is None
    where there is no such register, or where one of them has no day.
    """
    days = [
        document["registers"].get(origin, {}).get("day")
        for origin, authors in document["authors"].items()
        if author is None or author in authors
    ]
    # One register without a day could be behind all others, so that nothing expires.
    return min(days) if days and None not in days else None


def first_day(today: str, seen: str | None) -> str:
    """Returns the first of the 365 days whose charges count towards a total.

    Without a day ``seen`` it is "", which is before every day.
    """
    if seen is None:
        return ""
    first = datetime.date.fromisoformat(min(today, seen))
    for _ in range(364):
        first -= datetime.timedelta(days=1)
    return first.isoformat()


def totals(
    ledger: list[dict[str, Any]],
    version: str,
    author: str,
    document: Document,
    today: str,
    account: str = "server",
) -> dict[str, Any]:
    """Returns {"survey": loss, "author": loss, "overall": loss} of the entries that still count
    ``today``, in an account."""
    own, whole = (first_day(today, day_seen(document, whose)) for whose in (author, None))
    of_author = [entry for entry in ledger if entry["author"] == author]
    return {
        "survey": total([entry for entry in ledger if entry["version"] == version], account),
        "author": total([entry for entry in of_author if entry["day"] >= own], account),
        "overall": total([entry for entry in ledger if entry["day"] >= whole], account),
    }


def within(spent: Loss, limit: Fraction) -> bool:
    """Returns whether the loss ``spent`` is within a limit: odds * e^exponent <= e^limit."""
    odds, exponent, _ = spent
    # e is irrational: at an exponent equal to the limit only odds of 1 are within it.
    rest = limit - exponent
    if rest <= 0:
        return rest == 0 and odds == 1
    return odds == 1 or at_most_exp(odds, rest)


def charge(
    document: Document,
    definition: Definition,
    author: str,
    day: str,
    drawn: list[str],
    changed: list[str],
    limits: dict[str, Any],
) -> tuple[Any, ...]:
    """Returns (questions to charge, their entries, totals before, totals after, ``waves`` after).

    ``drawn`` are the questions that this device asks, and ``changed`` those whose answers have
    changed. ``limits`` has an epsilon as a text for each total. Raises Spent, Over or Invalid.
    """
    names = fresh(document, definition, author, drawn, changed)
    waves = rounds(document, definition, names, author)
    # The later of clock and register: an entry made while the clock is set back must not leave
    # sooner.
    new = entries(definition, names, author, max(day, day_seen(document, author) or ""))
    version, ledger = digest(definition), document["ledger"]
    before = totals(ledger, version, author, document, day)
    after = totals(ledger + new, version, author, document, day)
    if refusing := exceeded(ledger, new, version, author, document, day, limits):
        raise Spent(*refusing, answerable_on(document, definition, author, new, limits))
    return names, new, before, after, waves


def part(
    document: Document, definition: Definition, author: str, day: str, limits: dict[str, Any]
) -> list[str]:
    """Returns the questions for which the limits leave enough budget, in the survey's order (SPEC
    4.7).

    They are taken in the order that the device drew and keeps in its memory.
    """
    version, ledger = digest(definition), document["ledger"]
    dated = max(day, day_seen(document, author) or "")
    taken: list[str] = []
    for name in document["orders"][version]:
        new = entries(definition, [*taken, name], author, dated)
        if not exceeded(ledger, new, version, author, document, day, limits):
            taken.append(name)
    return [question["name"] for question in definition["questions"] if question["name"] in taken]


def exceeded(
    ledger: list[dict[str, Any]],
    new: list[dict[str, Any]],
    version: str,
    author: str,
    document: Document,
    today: str,
    limits: dict[str, Any],
) -> tuple[str, str] | None:
    """Returns (account, scope) of the first total that the ``new`` entries would take above its
    limit; None if they all stay within their limits."""
    for account in ACCOUNTS:
        after = totals(ledger + new, version, author, document, today, account)
        for scope in ("survey", "author", "overall"):
            limit = Fraction(limits[scope])
            if account == "together":
                limit = max(limit, Fraction(TOGETHER[scope]))
            if new and not within(after[scope], limit):
                return account, scope
            # The owner's limits are epsilons. Deltas have a limit of their own, 1/1000 of every
            # total (SPEC 8).
            if total(new, account)[2] > 0 and after[scope][2] > Fraction(1, 1000):
                return account, scope
    return None


def answerable_on(
    document: Document,
    definition: Definition,
    author: str,
    new: list[dict[str, Any]],
    limits: dict[str, Any],
) -> str | None:
    """Returns the first day on which no limit would refuse the ``new`` entries; None if there is
    none.

    It is assumed that the registers have reached that day. All days are tried on which an earlier
    entry stops counting.
    """
    days = sorted(entry["day"] for entry in document["ledger"] if is_date(entry["day"]))
    for oldest in days:
        day = (datetime.date.fromisoformat(oldest) + datetime.timedelta(days=365)).isoformat()
        known = {"registers": {"http://o": {"day": day}}, "authors": {"http://o": [author]}}
        ledger, version = document["ledger"], digest(definition)
        if not exceeded(ledger, new, version, author, known, day, limits):
            return day
    return None
