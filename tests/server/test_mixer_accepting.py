"""``deniably mix offer`` and ``accept``: from new keys to a survey that the mixer takes envelopes
for, and all that it does not accept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from deniably.core.errors import BadSignature, Refused
from deniably.survey.mixer import Mixer
from deniably.survey.survey import Survey, as_survey
from deniably.trust.envelope import new_opening_key
from deniably.trust.mixer_offer import make_offer, read_offer
from deniably.trust.signing import fingerprint
from deniably_server.errors import Malformed
from deniably_server.mixing import accepting
from deniably_server.mixing.survey_server import source_at
from deniably_server.storage.mixer_store import MixerStore, SurveySource
from support.cases import for_each
from support.commands import Done, call, in_a_process
from support.keys import key_of
from support.material import AUTHOR, signed
from support.survey_server import SurveyServer, survey_server

BY = "Works council of Example Ltd"
ADDRESS = "https://mixer.example.net"
TODAY = datetime.now(UTC).date()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "mixer.db"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SurveyServer]:
    with survey_server(tmp_path) as server:
        yield server


def mix(command: str, *arguments: object, database: Path, keys: str = "") -> Done:
    options = ("--database", database)
    return call("mix", command, *map(str, (*arguments, *options)), keys=keys)


def offered(database: Path, address: str = ADDRESS, by: str = BY) -> dict[str, str]:
    made = mix("offer", "--address", address, "--by", by, database=database)
    assert made.returncode == 0, made.stderr
    document: dict[str, str] = json.loads(made.stdout)
    return document


def accepted(survey: Survey, server: SurveyServer, database: Path, *more: str) -> Done:
    return mix("accept", server.address(survey), "--yes", *more, database=database)


def refusal(survey: Survey, server: SurveyServer, database: Path, *more: str) -> str:
    done = accepted(survey, server, database, *more)
    assert done.returncode == 1, done.stdout
    with closing(MixerStore(str(database))) as store:
        assert store.digests() == []
    return " ".join(done.stderr.split())


def mixer_of(survey: Survey) -> Mixer:
    assert isinstance(survey.mixer, Mixer)
    return survey.mixer


# --- offers -----------------------------------------------------------------------------------


def test_an_offer_is_signed_and_its_keys_stay_in_the_database(database: Path) -> None:
    document = offered(database)

    offer = read_offer(document)
    assert (offer.address, offer.by) == (ADDRESS, BY)
    assert "PRIVATE" not in json.dumps(document)
    with closing(MixerStore(str(database))) as store:
        kept = store.offered(offer.key)
        assert kept.offer == offer
        assert (kept.keys.opening.public, kept.keys.signing.author) == (offer.key, offer.signing)


def test_every_offer_has_keys_of_its_own(database: Path) -> None:
    one, two = offered(database), offered(database)

    assert {one["key"], one["signing"]}.isdisjoint({two["key"], two["signing"]})


def test_an_offer_is_written_into_a_new_file(database: Path, tmp_path: Path) -> None:
    file = tmp_path / "offer.json"
    options = ("--address", ADDRESS, "--by", BY, "--to", file)

    first, again = (mix("offer", *options, database=database) for _ in range(2))

    assert (first.returncode, first.stdout) == (0, "")
    read_offer(json.loads(file.read_text()))
    assert again.returncode == 1
    assert "is there already" in again.stderr


@for_each(
    ("address", "by", "why"),
    [
        ("http://mixer.example.net", BY, "looks like https://mixer.example.org"),
        ("https://mixer.example.net/mix", BY, "without a path"),
        ("mixer.example.net", BY, "looks like https://"),
        ("https://[::::]", BY, "looks like https://"),
        ("https://mixer.example.net:99999", BY, "looks like https://"),
        (ADDRESS, "", "text on one line"),
        (ADDRESS, "a\nb", "text on one line"),
        (ADDRESS, "b" * 101, "of 1 to 100 characters"),
    ],
)
def test_an_offer_that_no_survey_could_use_is_not_made(
    address: str, by: str, why: str, database: Path
) -> None:
    done = mix("offer", "--address", address, "--by", by, database=database)

    assert done.returncode == 1
    assert why in done.stderr
    assert not database.exists()


# --- accepting --------------------------------------------------------------------------------


def test_who_accepts_sees_both_numbers_both_fingerprints_and_how_long(
    server: SurveyServer, database: Path
) -> None:
    survey = server.publish(offered(database))

    asked = mix("accept", server.address(survey), database=database, keys="y\n")

    told = asked.stdout
    assert asked.returncode == 0, asked.stderr
    assert f"author         {fingerprint(AUTHOR.author)}" in told
    assert f"mixer          {fingerprint(mixer_of(survey).signing)}" in told
    assert f"run by         {BY}" in told
    assert f"you add {mixer_of(survey).blanks} made-up answers to each" in told
    assert "odds of 3.00 at most" in told
    assert "odds of 64 for all answers together, of 8 for one" in told
    assert f"anybody, until {TODAY + timedelta(days=365)}" in told
    assert f"{ADDRESS}/mix/{survey.digest}" in told
    with closing(MixerStore(str(database))) as store:
        kept = store.accepted(survey.digest)
        assert store.state(survey.digest) == "open"
        assert store.offers() == 0, "an offer is for one survey"
    assert (kept.source.server, kept.source.name) == (server.url, "workplace")
    assert kept.source.register.count == 1


def test_who_accepts_is_warned_where_one_person_could_fill_all_places(
    server: SurveyServer, database: Path
) -> None:
    survey = server.publish(offered(database))
    warning = "warning        so few places can be filled by one person: use --invited"

    def told(*more: str) -> list[str]:
        return mix("accept", server.address(survey), *more, database=database).stdout.splitlines()

    assert "warning" not in "".join(told())
    assert warning in told("--room", "500")
    assert "all places (--room 0) can be filled" in "".join(told("--room", "0"))
    assert "warning" not in "".join(told("--room", "500", "--invited"))


def test_who_says_no_accepts_nothing(server: SurveyServer, database: Path) -> None:
    survey = server.publish(offered(database))

    asked = mix("accept", server.address(survey), database=database, keys="n\n")

    assert asked.returncode == 1
    with closing(MixerStore(str(database))) as store:
        assert (store.digests(), store.offers()) == ([], 1)


def test_accepting_again_changes_nothing(server: SurveyServer, database: Path) -> None:
    survey = server.publish(offered(database))
    day = str(TODAY + timedelta(days=30))

    first = accepted(survey, server, database, "--until", day)
    again, other = (
        accepted(survey, server, database, *more)
        for more in ((), ("--until", str(TODAY + timedelta(days=31))))
    )

    assert [each.returncode for each in (first, again, other)] == [0, 0, 1]
    assert "accepted before" in again.stdout
    assert f"until {day}" in again.stdout
    assert "on other terms" in other.stderr


def test_people_are_invited_by_the_name_of_the_survey(server: SurveyServer, database: Path) -> None:
    survey = server.publish(offered(database))

    done = accepted(survey, server, database, "--invited")
    codes = mix("invite", "workplace", "--count", 2, database=database)

    assert "only who has a code of yours" in done.stdout
    assert "deniably mix invite workplace" in done.stdout
    assert len(codes.stdout.splitlines()) == 2
    with closing(MixerStore(str(database))) as store:
        assert store.accepted(survey.digest).survey.invited


@pytest.mark.parametrize(
    ("day", "why"),
    [
        ("soon", "write a day such as"),
        (str(TODAY - timedelta(days=1)), "use a day from"),
        (str(TODAY + timedelta(days=366)), "use a day from"),
    ],
)
def test_the_last_day_is_one_of_the_next_year(
    day: str, why: str, server: SurveyServer, database: Path
) -> None:
    survey = server.publish(offered(database))

    done = accepted(survey, server, database, "--until", day)

    assert done.returncode == 2
    assert why in " ".join(done.stderr.split())


@for_each(
    "address",
    [
        "http://survey.example.org/s/a",
        "https://survey.example.org",
        "a",
        "ftp://localhost/s/a",
        "https://[::::]/s/a",
        "https://survey.example.org:99999/s/a",
    ],
)
def test_a_surveys_address_has_tls_and_a_survey(address: str) -> None:
    with pytest.raises(Malformed, match="looks like https"):
        source_at(address)


def test_a_server_may_be_below_a_path() -> None:
    found = [
        source_at(f"https://Example.org:8443/x/{page}/workplace/") for page in ("s", "api/surveys")
    ]

    assert {(each.server, each.name) for each in found} == {
        ("https://example.org:8443/x", "workplace")
    }


# --- what is not accepted ---------------------------------------------------------------------


def test_a_survey_without_a_mixer_is_none_to_mix(server: SurveyServer, database: Path) -> None:
    offered(database)
    survey = as_survey(
        {key: value for key, value in _definition(server, database).items() if key != "mixer"}
    )
    server.store.publish(survey, signed(survey, AUTHOR))

    assert "has no mixer" in refusal(survey, server, database)


def _definition(server: SurveyServer, database: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(server.written(offered(database)).canonical)
    return document


def test_keys_of_another_mixers_offer_are_not_ours(server: SurveyServer, database: Path) -> None:
    offered(database)
    survey = server.publish(offered(database.with_name("other.db")))

    assert "made no such offer" in refusal(survey, server, database)


def test_an_offer_is_used_once(server: SurveyServer, database: Path) -> None:
    offer = offered(database)
    first, second = (server.publish(offer, name) for name in ("first", "second"))

    assert accepted(first, server, database).returncode == 0
    done = accepted(second, server, database)

    assert done.returncode == 1
    assert "another survey uses it" in " ".join(done.stderr.split())


@pytest.mark.parametrize("member", ["address", "by", "signing"])
def test_a_mixer_that_is_not_as_it_was_offered_is_refused(
    member: str, server: SurveyServer, database: Path
) -> None:
    definition = _definition(server, database)
    other = {"address": "https://other.example.net", "by": "Nobody", "signing": "5e" * 32}
    definition["mixer"][member] = other[member]
    survey = as_survey(definition)
    server.store.publish(survey, signed(survey, AUTHOR))

    assert f"another {member} than the offer" in refusal(survey, server, database)


def test_a_claim_that_the_blanks_do_not_keep_is_refused(
    server: SurveyServer, database: Path
) -> None:
    definition = _definition(server, database)
    definition["mixer"]["blanks"] -= 10
    survey = as_survey(definition)
    server.store.publish(survey, signed(survey, AUTHOR))

    told = refusal(survey, server, database)

    assert f"{mixer_of(survey).blanks} blanks for each question do not keep" in told


def test_a_batch_that_no_server_takes_is_refused_before_anybody_answers(
    server: SurveyServer, database: Path
) -> None:
    survey = server.publish(offered(database), results={"minimum": 1_000_000})

    told = refusal(survey, server, database)

    assert "a batch of 1,000,000 people, as many as the results need" in told
    assert "would have more bytes than a server takes: 536,870,912" in told


def test_the_surveys_own_host_is_no_mixers(server: SurveyServer, database: Path) -> None:
    port = server.url.rpartition(":")[2]
    survey = server.publish(offered(database, f"http://localhost:{port}"))

    assert "have one host, 127.0.0.1" in refusal(survey, server, database)


@pytest.mark.parametrize("dots", [("", ""), (".", ""), ("", ".")])
def test_one_host_is_one_whatever_the_port(
    dots: tuple[str, str], server: SurveyServer, database: Path
) -> None:
    """A dot may end its name."""
    survey = server.publish(offered(database, f"https://both.example.net{dots[0]}:8443"))
    source = SurveySource(f"https://both.example.net{dots[1]}", survey.name)

    with pytest.raises(Refused, match=r"have one host, both\.example\.net"):
        accepting._refuse_own_host(mixer_of(survey), source)


@pytest.mark.parametrize("address", ["https://[::::]", "https://mixer.example.net:99999"])
def test_a_mixer_that_nobody_can_reach_is_refused(
    address: str, server: SurveyServer, database: Path
) -> None:
    """Where a server published such an address all the same."""
    offered(database)
    key, opening = key_of(b"m" * 32), new_opening_key().public
    offer = make_offer(key, address, BY, opening)
    survey = server.publish(msgspec.to_builtins(offer))

    assert f"{address} is no address" in refusal(survey, server, database)


def test_on_one_machine_both_may_be_tried_out(server: SurveyServer, database: Path) -> None:
    survey = server.publish(offered(database, "http://127.0.0.1:7999"))

    assert accepted(survey, server, database).returncode == 0


def test_a_definition_that_the_register_does_not_have_is_refused(
    server: SurveyServer, database: Path
) -> None:
    """A key for one mixer alone, or for one person."""
    offer = offered(database)
    survey = server.publish(offer)
    other = json.loads(survey.canonical)
    other["title"] = "Another one"
    told = as_survey(other)
    server.changed = lambda path, body: told.canonical if "/api/" in path else body

    assert "cannot be trusted" in refusal(survey, server, database)


def test_a_signature_of_somebody_else_is_refused(server: SurveyServer, database: Path) -> None:
    survey = server.publish(offered(database))
    server.changed = lambda path, body: (
        body.replace(AUTHOR.author.encode(), key_of(b"x" * 32).author.encode())
        if path.startswith("/register")
        else body
    )

    assert "cannot be trusted" in refusal(survey, server, database)


def test_a_closed_survey_is_over(server: SurveyServer, database: Path) -> None:
    survey = server.publish(offered(database))
    server.close_survey()

    assert "is closed" in refusal(survey, server, database)


def test_a_server_that_is_not_there_is_named_by_its_fault(
    server: SurveyServer, database: Path
) -> None:
    survey = server.publish(offered(database))
    address = "http://127.0.0.1:9/s/workplace"

    done = mix("accept", address, "--yes", database=database)

    assert survey.name
    assert done.returncode == 1
    assert "the survey's server gave no answer (ConnectionError)" in done.stderr


def test_something_else_that_answers_is_no_server_of_surveys(
    server: SurveyServer, database: Path
) -> None:
    offered(database)

    done = mix("accept", f"{server.url}/s/unknown", "--yes", database=database)

    assert done.returncode == 1
    assert "the survey's server refused" in done.stderr


def test_a_misspelt_database_is_not_made(server: SurveyServer, database: Path) -> None:
    done = mix("accept", f"{server.url}/s/workplace", database=database)

    assert done.returncode == 1
    assert "begin with: deniably mix offer" in done.stderr
    assert not database.exists()


def test_the_command_in_a_process_of_its_own(database: Path) -> None:
    done = in_a_process(
        "mix", "offer", "--address", ADDRESS, "--by", BY, "--database", str(database)
    )

    assert done.returncode == 0, done.stderr
    changed = msgspec.to_builtins(
        make_offer(key_of(b"m" * 32), ADDRESS, BY, json.loads(done.stdout)["key"])
    ) | {"by": "Nobody"}
    with pytest.raises(BadSignature):
        read_offer(changed)
