"""What a server says of a survey with a mixer, from the publication to the results."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from deniably_server.storage.store import Store
from deniably_server.storage.tables.tokens import ROLES
from support.commands import call
from support.material import Server, assert_problem, new_token
from support.passing_on import PassedOn, added, announced, of_five, passed_on, send, yes_no

BY = "Works council of Example Ltd"
SOMETHING = {"question": "a", "ending": "csv", "kind": "median", "part": "a", "number": "0"}
QUERIES = ("", "?rows=a&columns=b", "?question=a&choice=yes&other=no", "?question=a&survey=council")
STATES = ("open", "closed", "on the way", "taken", "refused")


@pytest.fixture
def store(app: Flask) -> Store:
    store: Store = app.extensions["deniably"]
    return store


@pytest.fixture
def some(store: Store) -> PassedOn:
    """An open survey."""
    return passed_on(yes_no("a"), of_five("b"), yes_no("c")).publish(store, close=False)


def bring_to(state: str, client: FlaskClient, store: Store, some: PassedOn) -> None:
    """From open on."""
    came = some.envelopes(people=40)
    batch = some.signed_as(came, senders=40) if state == "refused" else some.batch(came, people=40)
    if state == "open":
        return
    store.close_survey("council")
    if state == "on the way":
        announced(client, some, batch)
        added(client, some, batch, batch.envelopes[:1_000], 0)
    elif state != "closed":
        assert send(client, some, batch, step=1 << 20)["state"] == state


def bearer(store: Store, role: Any) -> dict[str, str]:
    return {"Authorization": f"Bearer {new_token(store, role)}"}


def status(client: FlaskClient, store: Store) -> dict[str, Any]:
    answer = client.get("/api/surveys/council/status", headers=bearer(store, "operator"))
    assert answer.status_code == 200
    document: dict[str, Any] = answer.json
    return document


# Every address -------------------------------------------------------------------------------


def addresses(app: Flask) -> Iterator[str]:
    """Every address of a survey that is read."""
    for rule in app.url_map.iter_rules():
        if (
            "name" in rule.arguments
            and "GET" in (rule.methods or ())
            and "council" not in rule.rule
        ):
            path = re.sub(r"<(?:\w+:)?name>", "council", rule.rule)
            yield re.sub(r"<(?:\w+:)?(\w+)>", lambda part: SOMETHING.get(part[1], "a"), path)


@pytest.mark.parametrize("state", STATES)
def test_no_address_fails_or_shows_results_too_early(
    app: Flask, client: FlaskClient, store: Store, some: PassedOn, state: str
) -> None:
    bring_to(state, client, store, some)
    everybody = [{}, *(bearer(store, role) for role in ROLES)]
    found = list(addresses(app))
    assert len(found) > 60

    for address in found:
        for query in QUERIES:
            for headers in everybody:
                answer = client.get(address + query, headers=headers)
                assert answer.status_code < 500, (address + query, answer.text)
                if state != "taken" and answer.status_code == 200:
                    assert "estimate" not in (answer.json or {}), address
    for results in ("results", "results.csv", "figures/a.svg", "mixed", "mixed/envelopes"):
        answer = client.get(f"/api/surveys/council/{results}")
        assert (answer.status_code == 200) == (state == "taken"), results


# What people read ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ("open", "The results are shown once the survey is closed and its mixer passed on the"
         " answers, and from 3 reports on."),
        ("closed", "The mixer has not passed on the answers yet."),
        ("on the way", "The mixer has not passed on the answers yet."),
        ("refused", "There are no results, because the batch of the survey's mixer was refused: the"
         " envelopes do not ascend by their bytes, so their order may show who sent which."),
    ],
)  # fmt: skip
def test_results_wait_and_say_for_what(
    client: FlaskClient, store: Store, some: PassedOn, state: str, sentence: str
) -> None:
    bring_to(state, client, store, some)

    answer = client.get("/api/surveys/council/results")
    assert assert_problem(answer, 403, "hidden")["detail"] == sentence
    page = client.get("/surveys/council")
    assert sentence.replace("'", "&#39;") in page.text


@pytest.mark.parametrize(
    ("state", "mixed", "reports", "sentences"),
    [
        ("open", "awaited", None, [
            f"The survey is open. Its answers wait at the mixer of {BY}, which passes them on once"
            " the survey is closed.",
            "This server does not know how many people have sent. The mixer says so, in tens.",
            "The results are shown after that, from 3 people on.",
        ]),
        ("closed", "awaited", None, [
            f"The survey is closed. The mixer of {BY} has not passed on the answers yet.",
            "If fewer than 3 people have sent, it deletes what came, and there are no results.",
        ]),
        ("on the way", "open", None, [
            f"The survey is closed. The mixer of {BY} has not passed on the answers yet.",
            "If fewer than 3 people have sent, it deletes what came, and there are no results.",
        ]),
        ("taken", "taken", 40, [
            f"The survey is closed, and the mixer of {BY} has passed on the answers of 40 people.",
            "It added 10 made-up answers to each question, which the results leave out.",
            "Its results are shown.",
        ]),
        ("refused", "refused", None, [
            "The survey is closed, and there are no results: the batch of its mixer was refused.",
            "The reason: the envelopes do not ascend by their bytes, so their order may show who"
            " sent which.",
        ]),
    ],
)  # fmt: skip
def test_the_status_says_where_the_answers_are(
    client: FlaskClient, store: Store, some: PassedOn, state: str, mixed: str,
    reports: int | None, sentences: list[str],
) -> None:  # fmt: skip
    bring_to(state, client, store, some)

    found = status(client, store)

    assert (found["mixed"], found["reports"], found["step"]) == (mixed, reports, None)
    assert found["sentences"] == sentences
    page = client.get("/surveys/council/status", headers=bearer(store, "operator"))
    for sentence in sentences:
        assert sentence in page.text


def test_the_status_counts_what_was_left_out(client: FlaskClient, store: Store) -> None:
    some = passed_on(blanks=100).publish(store)
    first, second, *rest = some.envelopes()

    send(client, some, some.batch([some.seal(b"x"), some.seal(b"y"), *rest]), step=1 << 20)

    assert (
        "2 of 210 sealed answers could not be read and are not counted."
        in status(client, store)["sentences"]
    )
    assert first != second


def test_a_question_with_too_few_people_refuses_the_batch(
    client: FlaskClient, store: Store
) -> None:
    some = passed_on(blanks=100).publish(store)
    came = some.envelopes(people=3)

    send(client, some, some.batch([some.seal(b""), *came[1:]], people=3), step=1 << 20)

    answer = client.get("/api/surveys/council/results")
    why = "only 102 of its reports to a could be read, and the results need 103"
    assert why in assert_problem(answer, 403, "hidden")["detail"]
    found = status(client, store)
    assert (found["mixed"], found["reports"]) == ("refused", None)
    assert why in found["sentences"][-1]


# Closing -------------------------------------------------------------------------------------


def close(client: FlaskClient, headers: dict[str, str]) -> Any:
    body = {"state": "closed", "only_with_results": True}
    return client.patch("/api/surveys/council", json=body, headers=headers)


def test_closing_tells_that_the_mixer_passes_on(
    client: FlaskClient, store: Store, some: PassedOn
) -> None:
    operator = bearer(store, "operator")

    answer = close(client, operator)

    assert answer.status_code == 200, "nobody here knows whether too few have sent"
    assert (answer.json["reports"], answer.json["mixer"]) == (None, BY)
    send(client, some, some.batch(people=40), step=1 << 20)
    again = close(client, operator).json
    assert again["reports"] == 40
    assert "mixer" not in again


def test_the_command_asks_first_and_tells_it_too(server: Server) -> None:
    with closing(Store(str(server.database))) as store:
        passed_on().publish(store, close=False)
        operator = new_token(store, "operator")

    close = ("close", "council", "--server", server.url, "--token", operator)
    asked = call(*close, keys="n\n")
    assert asked.returncode == 1
    assert "This server does not know how many people have sent" in asked.stderr
    assert "Close it now, for good?" in asked.stderr
    with closing(Store(str(server.database))) as store:
        assert store.state("council") == "open"

    done = call(*close, "--yes")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        f"council is closed; the mixer of {BY} passes on the answers now",
        f"results     {server.url}/surveys/council",
    ]
