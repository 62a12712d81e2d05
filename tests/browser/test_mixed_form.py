"""The form of a survey with a mixer, on a phone: what it says, seals, sends and finds again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import requests
from playwright.sync_api import Browser, Page, Route

from deniably.survey.mixer import Mixer
from deniably.trust.invitation_codes import code_in_groups
from deniably.trust.mixer_statement import MixerStatement
from deniably.trust.signing import new_key
from deniably.wording.words import LANGUAGES
from support.catalogues import pattern
from support.every_type import survey_within_limits
from support.mixed_form import BY, CONDITIONAL, SIX, WHO, Through, TwoParties, mixed_states
from support.phone import IMPATIENT, READ, Watched

pytestmark = pytest.mark.browser

SIX_TIMES = ("Yes", "No", "Yes", "No", "Yes", "No")
READ_MIXED = READ.replace("page.js", "page-mixed.js")
"""What the page of a survey with a mixer remembers."""
OVER = "#survey[data-kept], [data-step=refused]:not([hidden])"


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoParties]:
    two = TwoParties(tmp_path_factory.mktemp("two"))
    yield two
    two.kill()


@pytest.fixture(scope="module")
def six(two: TwoParties) -> Through:
    return two.publish("six", SIX)


@pytest.fixture(scope="module")
def invited(two: TwoParties) -> Through:
    return two.publish("invited", SIX[:1], invited=True)


@pytest.fixture(scope="module")
def server(two: TwoParties) -> TwoParties:
    return two


@pytest.fixture
def publish(two: TwoParties, request: pytest.FixtureRequest) -> Callable[..., Through]:
    """A survey of a test's own."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name)[-40:].strip("-")
    return lambda *questions, **more: two.publish(name, list(questions or SIX[:2]), **more)


def answer(phone: Watched, through: Through) -> None:
    phone.open(f"/s/{through.survey.name}")
    phone.answer(*SIX_TIMES[: len(through.survey.questions)])
    phone.send()


def kept(phone: Watched, through: Through) -> Any:
    return phone.page.evaluate(READ_MIXED)["reports"][through.digest]


def to_mixer(phone: Watched, through: Through) -> list[bytes]:
    """The bodies of what was sent to the mixer, whether or not it came there."""
    assert isinstance(through.survey.mixer, Mixer)
    address = f"{through.survey.mixer.address}/mix/{through.digest}"
    posts = [request for request in phone.posts() if request.method == "POST"]
    assert {request.url for request in posts} <= {address}
    return [request.post_data_buffer or b"" for request in posts]


def abort(route: Route) -> None:
    """The network gives no answer to what is sent."""
    if route.request.method == "POST":
        route.abort()
    else:
        route.fallback()


# --- what it says ----------------------------------------------------------------------------


def test_both_pairs_of_figures_and_both_parties_stand_before_the_first_question(
    visitor: Watched, six: Through
) -> None:
    visitor.open("/s/six")

    rows = dict(zip(visitor.see(".guess dt"), visitor.see(".guess dd"), strict=True))
    assert rows == {
        "The server alone: one answer": "61",
        "The server alone: all 6": "75",
        "Both together: one answer": "89",
        "Both together: all 6": "99",
    }
    start = visitor.words("[data-step=start]")
    assert f"The sealed answers go to a second party, {BY}, which cannot open them." in start
    assert "the second party adds 220 made-up answers to every question" in start
    assert f"the survey’s server, run by {WHO}" in start
    visitor.press(("details summary", "Can anybody see that you took part?"))
    assert f"your network address reaches {BY}" in visitor.words("details[open]")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_says_it_and_calls_nobody_unknown(
    two: TwoParties, six: Through, language: str
) -> None:
    page = requests.get(f"{two.url}/s/six?language={language}", timeout=30).text
    shown = re.sub(r"<script.*?</script>", "", page, flags=re.S)

    for text in (BY, WHO, "220", *("61", "75", "89", "99")):
        assert text in shown
    assert not pattern(language).search(re.sub(r"<[^>]*>", " ", shown))


def test_a_question_says_how_well_each_party_could_guess(visitor: Watched, six: Through) -> None:
    visitor.open("/s/six")
    visitor.click("Start")
    visitor.press(("[data-step=question] summary", "How is this answer protected?"))

    said = visitor.words("[data-step=question] details[open]")
    assert "the survey’s server guesses right at most 61 of 100 times" in said
    assert f"together with {BY} 89 of 100 times" in said


@pytest.mark.parametrize("language", ["en", "de", "fr", "pl", "ar"])
def test_both_pairs_of_figures_stand_above_the_start(
    phone: Watched, six: Through, language: str
) -> None:
    """On a small phone, too: nobody begins before the figures of both together."""
    phone.page.set_viewport_size({"width": 390, "height": 700})
    phone.open(f"/s/six?language={language}")

    ends = phone.page.evaluate("""() => {
      const end = (one) => one.getBoundingClientRect().bottom;
      const start = document.querySelector("[data-first] .buttons");
      return [[...document.querySelectorAll(".guess .scale")].map(end),
        start.getBoundingClientRect().top];
    }""")
    assert len(ends[0]) == 2
    assert max(ends[0]) < ends[1]


@pytest.mark.thorough
def test_no_state_with_a_mixer_has_a_violation_that_axe_finds(
    phone: Watched, two: TwoParties, axe_light_and_dark: Callable[[Page], list[str]]
) -> None:
    phone.page.set_viewport_size({"width": 320, "height": 640})
    seen = []
    for state in mixed_states(phone.page, two):
        seen.append(state)
        assert axe_light_and_dark(phone.page) == [], state
        overflow = phone.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert overflow <= 0, f"{state} has to be scrolled sideways at 320 px"
    assert seen[-1] == "arrived"
    assert len(seen) == 6


# --- the mixer's word ------------------------------------------------------------------------


def refused(phone: Watched, through: Through) -> str:
    """Why the form asks nothing."""
    phone.page.goto(f"{phone.url}/s/{through.survey.name}")
    phone.wait("refused")
    assert phone.shown("[data-step=question]") == 0
    assert phone.posts() == []
    return phone.words("#why")


def stating(through: Through, **changes: Any) -> bytes:
    """A statement that the survey's mixer signs."""
    key = changes.pop("key", through.mixer.signing)
    terms = {"by": BY, "invitations": 0, "senders": 0, "survey": through.digest}
    return MixerStatement(**(terms | {"until": "2999-12-31"} | changes)).signed(key).canonical


def test_nothing_is_asked_where_the_mixer_is_not_reached(phone: Watched, six: Through) -> None:
    phone.page.context.route("**/mix/*", lambda route: route.abort())

    assert f"{BY} cannot be reached now" in refused(phone, six)


@pytest.mark.parametrize(
    "wrong",
    [{"by": "Somebody else"}, {"survey": "0" * 64}, {"key": new_key()}],
    ids=["another name", "another survey", "another key"],
)
def test_nothing_is_asked_where_another_one_answers(
    phone: Watched, six: Through, wrong: dict[str, Any]
) -> None:
    text = stating(six, **wrong)
    allowed = {"Access-Control-Allow-Origin": "*"}
    phone.page.context.route(
        "**/mix/*", lambda route: route.fulfill(status=200, body=text, headers=allowed)
    )

    assert f"What answers in the place of {BY} is not what the survey names" in refused(phone, six)


def test_nothing_is_asked_by_a_mixer_that_does_not_know_the_survey_or_is_done(
    phone: Watched, two: TwoParties, publish: Callable[..., Through]
) -> None:
    through = publish(accept=False)
    assert refused(phone, through) == f"{BY} does not take answers to this survey."

    two.accept(through)
    phone.open(f"/s/{through.survey.name}")
    two.close_at_mixer(through)

    assert refused(phone, through) == f"{BY} takes no more answers to this survey."


def test_the_last_day_of_a_mixer_holds_for_a_statement_that_was_kept(
    phone: Watched, six: Through
) -> None:
    text = stating(six, until="2020-01-01")
    allowed = {"Access-Control-Allow-Origin": "*"}
    phone.page.context.route(
        "**/mix/*", lambda route: route.fulfill(status=200, body=text, headers=allowed)
    )

    assert refused(phone, six) == f"{BY} takes no more answers to this survey."


# --- sealing and sending ---------------------------------------------------------------------


def test_chromium_seals_and_python_opens_what_the_mixer_gets(
    phone: Watched, two: TwoParties, six: Through
) -> None:
    before = two.held(six)
    answer(phone, six)
    phone.wait("receipt")

    (sealed,) = to_mixer(phone, six)
    code, reports, prints = six.opened(sealed)
    assert code == ""
    assert [list(report["values"]) for report in reports] == [[f"q{n}"] for n in range(1, 7)]
    assert {report["survey"] for report in reports} == {six.digest}
    assert len({report["id"] for report in reports}) == 6
    assert two.held(six) == before + 1
    memory = kept(phone, six)
    assert memory == {"sealed": sealed.hex(), "inner": sorted(prints), "sent": True}
    assert phone.text("#digest").split() == sorted(prints)
    assert f"Your sealed answers are with {BY}" in phone.heading()


def test_from_the_first_question_on_the_surveys_server_hears_nothing(
    phone: Watched, six: Through
) -> None:
    phone.open("/s/six")
    phone.see("#survey[data-settled]")
    before = len(phone.requests)
    phone.answer(*SIX_TIMES)
    phone.send()
    phone.wait("receipt")

    (sent,) = phone.requests[before:]
    assert sent.url.startswith(str(getattr(six.survey.mixer, "address", "?")))
    headers = sent.all_headers()
    assert headers["content-type"] == "application/octet-stream"
    assert not {"cookie", "referer", "authorization"} & set(headers)


def test_the_policy_names_the_mixer_on_that_page_alone(
    phone: Watched, two: TwoParties, six: Through
) -> None:
    pages = {
        path: requests.get(two.url + path, timeout=30).headers["Content-Security-Policy"]
        for path in ("/s/six", "/register", "/surveys/six", "/how")
    }

    named = [path for path, policy in pages.items() if two.mixer.url in policy]
    assert named == ["/s/six"]
    assert f"connect-src 'self' {two.mixer.url};" in pages["/s/six"]
    assert "default-src 'none'" in pages["/s/six"]
    phone.open("/s/six")
    tried = phone.page.evaluate("fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'stopped')")
    assert tried == "stopped"
    assert any("Content Security Policy" in line for line in phone.console)


def test_a_question_that_is_not_shown_is_sealed_like_any_other(
    phone: Watched, publish: Callable[..., Through]
) -> None:
    through = publish(*CONDITIONAL)
    phone.open(f"/s/{through.survey.name}")
    phone.answer("No")
    phone.send()
    phone.wait("receipt")

    (sealed,) = to_mixer(phone, through)
    _, reports, _ = through.opened(sealed)
    assert [list(report["values"]) for report in reports] == [["smoker"], ["much"]]


def test_what_did_not_get_through_is_sent_again_unchanged_and_counts_once(
    phone: Watched, two: TwoParties, publish: Callable[..., Through]
) -> None:
    """Also where the mixer has it, and its answer was lost."""
    through = publish()
    phone.page.add_init_script(IMPATIENT)
    phone.open(f"/s/{through.survey.name}")

    def lose(route: Route) -> None:
        if route.request.method == "POST":
            route.fetch()
            route.abort()
        else:
            route.fallback()

    phone.page.context.route("**/mix/*", lose)
    phone.answer("Yes", "No")
    phone.send()
    phone.see("#again")
    assert "They are kept here, encrypted" in phone.words("#progress")
    assert kept(phone, through)["sent"] is False
    phone.page.context.unroute("**/mix/*")
    phone.page.reload()
    phone.wait("receipt")

    assert len(set(to_mixer(phone, through))) == 1
    assert two.held(through) == 1
    assert kept(phone, through)["sent"] is True


def test_without_a_network_it_is_answered_and_sealed_and_sent_once_there_is_one(
    phone: Watched, two: TwoParties, publish: Callable[..., Through]
) -> None:
    through = publish()
    phone.page.add_init_script(IMPATIENT)
    phone.open(f"/s/{through.survey.name}")
    phone.see("#survey[data-settled]")
    phone.page.context.set_offline(True)
    phone.page.reload()
    phone.see("#survey[data-kept]")
    phone.answer("Yes", "No")
    phone.send()
    phone.see("#again")
    assert two.held(through) == 0

    phone.page.context.set_offline(False)
    phone.wait("receipt")

    assert two.held(through) == 1
    assert len(set(to_mixer(phone, through))) == 1


def test_whoever_answered_before_changes_nothing_and_can_send_the_same_again(
    phone: Watched, two: TwoParties, publish: Callable[..., Through]
) -> None:
    through = publish()
    answer(phone, through)
    phone.wait("receipt")
    phone.open(f"/s/{through.survey.name}")

    said = phone.words("[data-before]")
    assert "What was sealed stays as it is" in said
    assert "once the survey is closed" in said
    assert not phone.shown("[data-known]")
    phone.press(("#same", ""))
    phone.wait("receipt")
    assert len(set(to_mixer(phone, through))) == 1
    assert two.held(through) == 1


def test_two_tabs_send_one_envelope(
    phone: Watched, two: TwoParties, publish: Callable[..., Through]
) -> None:
    through = publish()
    other = Watched(phone.page.context.new_page(), two.server)
    for tab in (phone, other):
        tab.open(f"/s/{through.survey.name}")
    for tab, label in ((phone, "Yes"), (other, "No")):
        tab.answer(label, label)
        tab.send()
        tab.wait("receipt")

    assert len(set(to_mixer(phone, through))) == 1
    assert two.held(through) == 1


@pytest.mark.thorough
def test_both_accounts_are_counted_and_the_larger_share_is_shown(
    phone: Watched, two: TwoParties, six: Through
) -> None:
    """Six answers at odds 8 are 12.48 of the 25 of both parties together, and 1.1 of the 5 of the
    server. Four such surveys by one author are 49.9 of 50, and a fifth is refused."""
    phone.open("/s/six")
    phone.press(("details summary", "What this device remembers"))
    assert phone.see("[data-scope=survey] td") == ["0\u00a0%", "50\u00a0%"]
    for number in range(4):
        answer(phone, two.publish(f"account-{number}", SIX))
        phone.wait("receipt")
    ledger = phone.page.evaluate(READ_MIXED)["ledger"]
    assert [entry["mixed"]["epsilon"] for entry in ledger] == ["5493/5000", *["0"] * 5] * 4

    fifth = two.publish("account-4", SIX)
    said = refused_before_the_first_question(phone, fifth)

    assert "In surveys by this author this device has used 100\u00a0%" in said


def refused_before_the_first_question(phone: Watched, through: Through) -> str:
    phone.page.goto(f"{phone.url}/s/{through.survey.name}")
    phone.wait("refused")
    return phone.words("#why")


# --- the mixer's invitations -----------------------------------------------------------------


def test_the_code_of_a_link_leaves_the_address_and_travels_in_the_envelope_alone(
    phone: Watched, two: TwoParties, invited: Through
) -> None:
    before, code = two.held(invited), code_in_groups(two.invite(invited))
    phone.open(f"/s/invited#{code}")

    assert phone.page.url == f"{phone.url}/s/invited"
    assert phone.written("#code") == code
    assert f"{BY} can see that you take part" in phone.words("#untraded")
    phone.press(("details.languages summary", ""), ("nav.languages a[lang=en]", ""))
    phone.see("html[lang=en] #survey[data-kept]")
    assert phone.written("#code") == code, "the other language has it, too"
    phone.answer("Yes")
    phone.send()
    phone.wait("receipt")

    (sealed,) = to_mixer(phone, invited)
    assert invited.opened(sealed)[0] == code.replace("-", "")
    assert two.held(invited) == before + 1
    assert not any(code in request.url for request in phone.requests)
    assert code.replace("-", "") not in json.dumps(phone.page.evaluate(READ_MIXED))


def test_nothing_is_asked_before_the_mixer_has_invited_anybody(
    phone: Watched, two: TwoParties, publish: Callable[..., Through]
) -> None:
    """The form would ask for no code, and its sealed answers would be refused."""
    through = publish(invited=True)
    assert "has given out no invitations to this survey yet" in refused(phone, through)

    two.invite(through)
    phone.open(f"/s/{through.survey.name}")

    assert phone.written("#code") == ""


def test_a_typing_error_is_found_before_the_first_question(
    phone: Watched, two: TwoParties, invited: Through
) -> None:
    phone.open("/s/invited")
    for text in ("", "ABC", two.invite(invited)[:-1] + "!"):
        phone.write("#code", text)
        phone.click("Start")
        phone.see("#invitation .error")
        assert "one is missing or misspelt" in phone.words("#invitation .error a")
    phone.press(("#practise", ""))
    phone.press(("[data-step=practice] [data-go='1']", ""))
    phone.see("#invitation .error")
    assert phone.shown("[data-step=question]") == 0

    phone.write("#code", two.invite(invited).lower())
    phone.click("Start")
    phone.see("[data-step=question]")
    assert phone.posts() == []


def test_another_code_goes_around_the_same_sealed_answers(
    phone: Watched, two: TwoParties, invited: Through, chromium: Browser
) -> None:
    """An unknown and a used invitation are told apart, and nothing is randomised again."""
    before, used, good = two.held(invited), two.invite(invited), two.invite(invited)
    other = Watched(chromium.new_context().new_page(), two.server)
    answer_with(other, used)
    other.wait("receipt")
    other.page.context.close()

    answer_with(phone, "0" * 18)
    phone.wait("refused")
    assert f"{BY} has no such invitation" in phone.words("#why")
    ledger = phone.page.evaluate(READ_MIXED)["ledger"]
    other_code(phone, "ABC")
    assert "missing or misspelt" in phone.words("#other-invitation .error a")
    other_code(phone, used)
    phone.see("#why", "This invitation was used already")
    other_code(phone, code_in_groups(good))
    phone.wait("receipt")

    sent = [invited.opened(sealed) for sealed in to_mixer(phone, invited)]
    assert [code for code, _, _ in sent] == ["0" * 18, used, good]
    assert len({json.dumps(reports) for _, reports, _ in sent}) == 1
    assert len({tuple(prints) for _, _, prints in sent}) == 1
    assert phone.page.evaluate(READ_MIXED)["ledger"] == ledger
    assert kept(phone, invited)["sent"] is True
    assert two.held(invited) == before + 2


def other_code(phone: Watched, code: str) -> None:
    phone.write("#other-code", code)
    phone.press(("#other-invitation button", "Try again"))


@pytest.mark.thorough
def test_a_page_that_was_loaded_again_can_put_no_other_code_into_what_was_sealed(
    phone: Watched, two: TwoParties, invited: Through
) -> None:
    code = two.invite(invited)
    answer_with(phone, "0" * 18)
    phone.wait("refused")
    phone.page.reload()
    phone.wait("refused")

    assert "let this device forget, and begin again" in phone.words("#why")
    assert not phone.shown("#other-code")
    phone.press(("[data-step=refused] summary", "Forget"), ("[data-step=refused] button", "Forget"))
    phone.see("[data-step=refused] [role=status]", "Forgotten")
    answer_with(phone, code)
    phone.wait("receipt")


def answer_with(phone: Watched, code: str) -> None:
    phone.page.goto("about:blank")
    phone.open(f"/s/invited#{code}")
    phone.answer("Yes")
    phone.send()


@pytest.mark.thorough
def test_leaving_forgets_an_invitation_that_was_not_sealed(
    phone: Watched, two: TwoParties, invited: Through
) -> None:
    phone.open(f"/s/invited#{two.invite(invited)}")
    phone.see("#survey[data-settled]")
    phone.leave()

    phone.open("/s/invited")
    assert phone.written("#code") == ""


# --- after the closing -----------------------------------------------------------------------


def closed(phone: Watched, through: Through, hashes: list[str] | None) -> str:
    """What the page of the closed survey says, where the server received these envelopes."""

    def answered(route: Route) -> None:
        if hashes is None:
            route.fulfill(status=404, json={"type": "/problems/not-found"})
        else:
            route.fulfill(status=200, body=bytes.fromhex("".join(sorted(hashes))))

    phone.page.context.route("**/mixed/envelopes", answered)
    phone.page.goto(f"{phone.url}/s/{through.survey.name}")
    (said,) = phone.see("#arrived:not(:empty)")
    while "looks whether" in said:
        (said,) = phone.see("#arrived:not(:empty)")
    phone.page.context.unroute("**/mixed/envelopes")
    return said


def test_once_the_survey_is_closed_it_says_what_became_of_each_envelope(
    phone: Watched, two: TwoParties, publish: Callable[..., Through]
) -> None:
    through = publish()
    answer(phone, through)
    phone.wait("receipt")
    own: list[str] = kept(phone, through)["inner"]
    two.close(through)
    others = [f"{number:064x}" for number in range(2000)]

    assert f"{BY} has not passed them on" in closed(phone, through, None)
    assert "have arrived at the survey’s server: 2 of 2" in closed(phone, through, own + others)
    lost = closed(phone, through, own[:1] + others)
    assert "received: 1 of 2" in lost
    assert f"{BY} has dropped the others" in lost
    assert "received: 0 of 2" in closed(phone, through, others)
    assert phone.posts()[1:] == [], "nobody learns which ones were looked for"


def test_what_a_mixer_passed_on_is_found_in_the_servers_own_list(
    phone: Watched, two: TwoParties, publish: Callable[..., Through]
) -> None:
    """From the answers on a phone through a real mixer into a real survey, and back."""
    through = publish()
    answer(phone, through)
    phone.wait("receipt")

    assert two.pass_on(through) == 2 * (1 + 220)
    phone.page.goto(f"{phone.url}/s/{through.survey.name}")

    phone.see("#arrived", "have arrived at the survey’s server: 2 of 2")


@pytest.mark.thorough
def test_what_was_never_sent_is_told_from_what_was_dropped(
    phone: Watched, two: TwoParties, publish: Callable[..., Through]
) -> None:
    through = publish()
    phone.page.add_init_script(IMPATIENT)
    phone.page.context.route("**/mix/*", abort)
    answer(phone, through)
    phone.see("#again")
    own: list[str] = kept(phone, through)["inner"]
    two.close(through)

    assert "did not get through before the survey closed" in closed(phone, through, ["0" * 64])
    assert "have arrived" in closed(phone, through, own), "its answer alone was lost"
    assert "cannot be found out now" in closed(phone, through, None)


def test_strangers_see_that_it_is_closed_and_ask_for_no_list(
    phone: Watched, two: TwoParties, publish: Callable[..., Through]
) -> None:
    through = publish()
    two.close(through)
    phone.page.goto(f"{phone.url}/s/{through.survey.name}")
    phone.page.wait_for_load_state("networkidle")

    assert phone.heading() == "This survey is closed"
    assert not phone.shown("#arrived")
    assert not any("envelopes" in request.url for request in phone.requests)


# --- everybody -------------------------------------------------------------------------------


def test_every_state_is_for_everybody_and_fits(
    phone: Watched,
    two: TwoParties,
    publish: Callable[..., Through],
    axe_light_and_dark: Callable[[Page], list[str]],
) -> None:
    through = publish(invited=True)
    code = two.invite(through)

    def look() -> None:
        phone.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = 1")
        for width in (320, 390):
            phone.page.set_viewport_size({"width": width, "height": 780})
            assert phone.page.evaluate("document.documentElement.scrollWidth") <= width
        assert axe_light_and_dark(phone.page) == []

    phone.open(f"/s/{through.survey.name}")
    phone.click("Start")
    phone.see("#invitation .error")
    look()
    phone.write("#code", code)
    phone.answer("Yes", "No")
    phone.send()
    phone.wait("receipt")
    look()
    phone.open(f"/s/{through.survey.name}")
    look()
    two.close(through)
    closed(phone, through, ["0" * 64])
    look()


def test_the_keyboard_alone_leads_from_the_start_to_the_receipt(
    phone: Watched, two: TwoParties, publish: Callable[..., Through]
) -> None:
    through = publish(SIX[0], invited=True)
    code = two.invite(through)
    phone.open(f"/s/{through.survey.name}")
    press = phone.page.keyboard.press

    def reach(which: str) -> None:
        for _ in range(40):
            if phone.page.evaluate("(which) => document.activeElement.matches(which)", which):
                return
            press("Tab")
        raise AssertionError(f"Tab does not reach {which}")

    reach("#code")
    phone.page.keyboard.type(code)
    press("Enter")
    phone.see("[data-step=question] h1")
    reach("input[type=radio]")
    press("Space")
    press("Enter")
    phone.wait("check")
    reach("#send")
    press("Enter")
    phone.wait("receipt")
    assert phone.page.evaluate("document.activeElement.tagName") == "H1"


def test_a_bundle_without_a_mixer_knows_none(two: TwoParties, six: Through) -> None:
    build = re.search(
        r"/web/(\w+)/form/page-mixed", requests.get(f"{two.url}/s/six", timeout=30).text
    )
    assert build
    for name in ("page", "page-invited", "page-strata"):
        text = requests.get(f"{two.url}/web/{build[1]}/form/{name}.js", timeout=30).text
        assert "deniably mix" not in text
        assert "octet-stream" not in text


@pytest.fixture(scope="module")
def own_two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoParties]:
    """With two surveys alone: what a register shows of one grows with all others."""
    two = TwoParties(tmp_path_factory.mktemp("light"))
    two.publish("six", SIX)
    two.publish("every-type", of_every_type(), mixer={"length": 384})
    yield two
    two.kill()


@pytest.mark.parametrize(
    ("which", "accepted", "most"),
    [("six", "gzip", 52_000), ("six", "gzip, br", 48_000), ("every-type", "gzip, br", 52_000)],
)
def test_the_form_stays_light(
    new_phone: Watched, own_two: TwoParties, which: str, accepted: str, most: int
) -> None:
    """All that comes over the wire before somebody can answer, with all headers, as in the tests of
    ordinary forms. It is 5 kB more than these."""
    phone = new_phone
    phone.page.add_init_script("delete Navigator.prototype.serviceWorker")
    sizes: list[int] = []
    line = phone.page.context.new_cdp_session(phone.page)
    line.send("Network.enable")
    phone.page.set_extra_http_headers({"Accept-Encoding": accepted})
    line.on("Network.loadingFinished", lambda one: sizes.append(one["encodedDataLength"]))
    phone.page.goto(f"{own_two.url}/s/{which}")
    phone.see("#survey[data-kept]")
    phone.page.wait_for_load_state("networkidle")

    assert len(sizes) >= 4
    assert sum(sizes) < most, sizes


def of_every_type() -> list[dict[str, Any]]:
    """Questions of every type that goes with a mixer: none has a delta."""
    questions = json.loads(survey_within_limits().canonical)["questions"]
    return [each for each in questions if each["mechanism"]["name"] != "gaussian"]
