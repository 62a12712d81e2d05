"""What the form remembers on a phone: one report a survey, a count of all, and nothing to read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext

from deniably.authoring.compiling import publish_text
from deniably.survey.report import read_report
from deniably.wording.words import Words
from support.material import Server
from support.phone import (
    ANSWERS,
    IMPATIENT,
    KEPT,
    MODULE,
    SPOIL,
    SURVEY,
    Watched,
    answer,
    as_new,
    memory,
    new_tab,
)

pytestmark = pytest.mark.browser

DEFINITION = publish_text(SURVEY)
OTHERS = [
    publish_text(SURVEY.replace("workplace", f"other{i}").replace("epsilon: 0.5", spends))
    for i, spends in enumerate(("epsilon: 3.7", "epsilon: 3.7", "epsilon: 0.5"))
]
HIDING = publish_text("""
name: hiding
title: Hiding
questions:
  - {name: stolen, type: yes_no, label: Have you ever stolen, epsilon: 1}
  - {name: what, type: select_one, label: What was it, epsilon: 1, choices: [Money, Time],
     show_if: {question: stolen, is: "yes"}}
""")
WAVE = """
name: wave-{number}
title: Waves
waves: {panel: work}
questions:
  - {name: stolen, type: yes_no, label: Have you ever stolen, epsilon: 0.5}
  - {name: late, type: yes_no, label: Have you ever been late, epsilon: 0.5}
"""
WAVES = [publish_text(WAVE.replace("{number}", str(number))) for number in range(1, 5)]
COUNTED = [
    publish_text(WAVE.replace("work}", "few, count: 2}").replace("{number}", f"few-{n}"))
    for n in range(1, 4)
]
RARE = publish_text(
    "name: rare\ntitle: Rarely\npart: false\nquestions:\n"
    + "".join(
        f"  - {{name: q{index}, type: number, label: Q, minimum: 0, maximum: 9, aim: mean,"
        " mechanism: gaussian, epsilon: 0.1, delta: 0.0001}\n"
        for index in range(11)
    )
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server") / "deniably.db")
    for survey in (DEFINITION, HIDING, RARE, *OTHERS, *WAVES, *COUNTED):
        server.publish(survey)
    yield server
    server.kill()


@pytest.fixture(scope="module")
def answered(chromium: Browser, server: Server) -> Iterator[Watched]:
    """A phone that has answered and whose memory is only read."""
    context = chromium.new_context()
    phone = Watched(context.new_page(), server)
    answer(phone)
    yield phone
    context.close()


def spending(phone: Watched) -> list[str]:
    phone.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    return [" ".join(text.split()) for text in phone.see(".spending tr")]


def forget(phone: Watched, step: str) -> None:
    place = f"[data-step={step}] [data-forget]"
    phone.press((f"{place} summary", ""), (f"{place} button", ""))
    phone.see(f"[data-step={step}] [role=status]", "Forgotten")


def leaves_no_database(phone: Watched, step: str) -> None:
    """To forget, at this step of the form."""
    assert "no longer count" in phone.text(f"[data-step={step}] [data-forget]")
    forget(phone, step)

    names = phone.page.evaluate("async () => (await indexedDB.databases()).map((d) => d.name)")
    assert names == ["deniably-offline"]
    phone.open()
    assert phone.shown("[data-first] [data-go]")


def test_what_it_costs_is_shown_before_anything_is_asked_and_kept_before_a_byte_is_sent(
    phone: Watched,
) -> None:
    """The charge, and the report."""
    phone.open()
    assert spending(phone)[1:] == [
        "This survey 0 % 32 %",
        "All surveys by its author 0 % 16 %",
        "All surveys 0 % 8 %",
    ]
    assert memory(phone)["ledger"] == []

    phone.answer(*ANSWERS)
    phone.page.route("**/reports", lambda route: None)  # it leaves, and nobody answers
    with phone.page.expect_request("**/reports") as sent:
        phone.send()

    kept = memory(phone)
    assert [each["question"] for each in kept["ledger"]] == ["stolen", "often"]
    assert kept["reports"] == {DEFINITION.digest: {"text": sent.value.post_data, "sent": False}}


@pytest.mark.thorough
def test_a_report_that_did_not_get_through_is_sent_at_the_next_visit_and_may_be_forgotten_then(
    phone: Watched,
) -> None:
    phone.page.add_init_script(IMPATIENT)
    phone.page.context.route("**/reports", lambda route: route.abort())
    phone.to_check_page()
    phone.send()
    phone.see("#again")
    made = memory(phone)["reports"][DEFINITION.digest]["text"]
    before = len(phone.posts())
    phone.page.context.unroute("**/reports")

    phone.page.goto(f"{phone.url}/s/workplace")
    phone.wait("receipt")

    assert [post.post_data for post in phone.posts()[before:]] == [made]
    assert memory(phone)["reports"][DEFINITION.digest]["sent"]
    assert len(memory(phone)["ledger"]) == 2

    leaves_no_database(phone, "receipt")


@pytest.mark.thorough
def test_a_survey_answered_before_can_be_sent_again_asked_where_it_changed_or_forgotten(
    phone: Watched,
) -> None:
    answer(phone)
    phone.open()
    assert not phone.shown("[data-first] [data-go]")
    assert "has answered this survey before" in phone.words("[data-before]")
    assert spending(phone)[1] == "This survey 32 % 32 %"

    phone.click("Send the same again")
    phone.wait("receipt")

    first, second = phone.posts()
    assert first.post_data == second.post_data
    assert len(memory(phone)["ledger"]) == 2

    phone.open()
    phone.press(("[data-known] summary", ""), ("#changed label", "How often"))
    phone.click("Ask these again")
    phone.see("[data-question=often]")
    phone.choose("Zilch")
    assert phone.shown("[data-step=check] [data-row]") == 1
    phone.send()
    phone.wait("receipt")

    _, first, second = (json.loads(post.post_data or "") for post in phone.posts())
    assert first["id"] != second["id"]
    assert first["values"]["stolen"] == second["values"]["stolen"]
    assert [each["question"] for each in memory(phone)["ledger"]] == ["stolen", "often", "often"]
    assert "2 randomised answers" in phone.words(".receipt")

    phone.open()
    leaves_no_database(phone, "start")


TRACES = """async () => {
  const page = document.getElementById("survey").cloneNode(true);
  page.querySelector("#digest").textContent = "";
  page.querySelector("#download").removeAttribute("href"); // a random name
  const entries = [history.length, history.state];
  while (history.state.depth > 0) {
    const there = new Promise((done) => addEventListener("popstate", done, { once: true }));
    history.back();
    await there;
    entries.push(history.state);
  }
  const there = new Promise((done) => addEventListener("popstate", done, { once: true }));
  history.go(entries.length - 2);
  await there;
  return [page.innerHTML, entries];
}"""


def asked_again_alone(phone: Watched) -> None:
    """A question that was seen can change without the one before it."""
    phone.open("/s/hiding")
    phone.press(("[data-known] summary", ""), ("#changed label", "What was it"))
    phone.click("Ask these again")
    phone.see("[data-question=what]")
    phone.choose("Time")
    assert phone.shown("[data-step=check] [data-row]") == 1
    phone.send()
    phone.wait("receipt")

    questions = [each["question"] for each in memory(phone)["ledger"]]
    assert questions == ["stolen", "what", "what"]


def test_neither_page_nor_history_tells_which_questions_were_seen(
    handed_on: BrowserContext, server: Server
) -> None:
    """Whether the second question was shown is the answer to the first."""
    checked: list[Any] = []
    sent: list[Any] = []
    for labels in (["No"], ["Yes", "Money"]):
        phone = Watched(new_tab(handed_on), server)
        phone.open("/s/hiding")
        phone.click("Start")
        for label in labels:
            phone.choose(label)
        _, entries = phone.page.evaluate(TRACES)
        checked.append(entries)
        assert phone.heading() == "Check your answers"
        phone.send()
        phone.wait("receipt")
        sent.append(phone.page.evaluate(TRACES))
        if len(labels) == 2:
            asked_again_alone(phone)
        as_new(handed_on, server.url)

    assert checked[0] == checked[1]
    assert len(checked[0]) > 2
    assert sent[0] == sent[1]


def test_above_a_limit_the_form_refuses_and_says_why(phone: Watched) -> None:
    """The first two give away ln(3) + 3.7 each, the third ln(3) + 1/2, and the limit of one author
    is 10."""
    for number in range(2):
        answer(phone, f"other{number}")
    phone.page.goto(f"{phone.url}/s/other2")
    phone.wait("refused")

    assert " ".join(phone.words("#why").split()) == (
        "In surveys by this author this device has used 96 % of what it allows to give away about"
        f" you, and this would add 16 %. So it does not answer. You can answer from {in_a_year()}"
        " on. The server’s public list of surveys must have come to that day, too."
    )
    assert len(phone.posts()) == 2
    phone.open("/s/other0")
    phone.click("Send the same again")
    phone.wait("receipt")


def in_a_year() -> str:
    return Words().day((datetime.now(UTC).date() + timedelta(days=365)).isoformat())


def test_the_page_says_how_much_stops_counting_and_when(phone: Watched) -> None:
    answer(phone, "other2")
    phone.open()
    assert spending(phone)[1:] == [
        "This survey 0 % 32 %",
        f"All surveys by its author of which 16 % until {in_a_year()} 16 % 32 %",
        f"All surveys of which 8 % until {in_a_year()} 8 % 16 %",
    ]


def test_promises_that_may_fail_too_often_together_are_refused(visitor: Watched) -> None:
    """Eleven, with a chance of 1 in 10000 each."""
    phone = visitor
    phone.page.goto(f"{phone.url}/s/rare")
    phone.wait("refused")

    assert " ".join(phone.words("#why").split()) == (
        "In this survey this device has used 0 % of what it allows to give away about you, and this"
        " would add 110 %. So it does not answer. What is counted here is the chance that a promise"
        " does not hold."
    )


# Nobody seals what is to be kept before both are about to: both have read the same memory by then.
SEAL_TOGETHER = """() => {
  const channel = new BroadcastChannel("sealing");
  const other = new Promise((done) => { channel.onmessage = done; });
  const seal = crypto.subtle.encrypt.bind(crypto.subtle);
  crypto.subtle.encrypt = async (...all) => {
    channel.postMessage("here");
    await other;
    return seal(...all);
  };
}"""


RACE = """([tab]) => {
  const channel = new BroadcastChannel("race");
  // Answers whoever comes later, so that both have read before one of them writes.
  const both = new Promise((done) => {
    channel.onmessage = () => { channel.postMessage("here"); done(); };
  });
  channel.postMessage("here");
  window.raced = import(%s).then(async ({ update }) => {
    for (let i = 0; i < 10; i++) {
      const name = `${tab}${i}`.padEnd(64, "0");
      await update(async (memory) => {
        await both;
        return {...memory, memos: {...memory.memos, [`/tab/${name}`]: [i]}};
      });
    }
    channel.close();
  });
}""" % (MODULE % "../device/storage.js")


def test_two_tabs_at_once_lose_nothing_of_each_other_and_make_one_report(
    phone: Watched, server: Server
) -> None:
    """Both have read the same, empty memory before one of them writes; and then they go on."""
    other = Watched(phone.page.context.new_page(), server)
    for each in (phone, other):
        each.to_check_page()
    for tab, each in enumerate((phone, other)):
        each.page.evaluate(RACE, [tab])
    for each in (phone, other):
        each.page.evaluate("window.raced")
    assert len(memory(phone)["memos"]) == 20

    for each in (phone, other):
        each.page.evaluate(SEAL_TOGETHER)
    for each in (phone, other):
        each.page.evaluate("setTimeout(() => document.getElementById('send').click(), 0)")
    for each in (phone, other):
        each.wait("receipt")

    bodies = {post.post_data for post in phone.posts()}
    assert len(bodies) == 1
    assert len(memory(phone)["ledger"]) == 2


@pytest.mark.thorough
def test_in_a_later_wave_nothing_is_asked_unless_it_has_changed(phone: Watched) -> None:
    phone.open("/s/wave-1")
    assert not phone.shown("[data-wave]")
    phone.answer("Yes", "No")
    phone.send()
    phone.wait("receipt")
    drawn = memory(phone)["memos"]

    phone.open("/s/wave-2")
    assert "in an earlier wave" in phone.see("[data-wave]")[0]
    author = f"All surveys by its author of which 20 % until {in_a_year()} 20 % 20 %"
    assert spending(phone)[2] == author
    phone.click("Start")
    assert phone.heading() == "Check your answers"
    phone.send()
    phone.wait("receipt")
    assert memory(phone)["memos"] == drawn

    phone.open("/s/wave-3")
    phone.press(("[data-known] summary", ""), ("#changed label", "late"))
    phone.click("Ask these again")
    phone.see("[data-question=late]")
    phone.choose("Yes")
    phone.send()
    phone.wait("receipt")

    assert [(each["survey"], each["question"]) for each in memory(phone)["ledger"]] == [
        ("wave-1", "stolen"), ("wave-1", "late"), ("wave-3", "late"),
    ]  # fmt: skip
    for post, definition in zip(phone.posts(), WAVES, strict=False):
        read_report(post.post_data_buffer or b"").check(definition)
    assert len(phone.posts()) == 3


@pytest.mark.thorough
def test_no_more_waves_are_answered_than_were_stated(phone: Watched) -> None:
    for number in (1, 2):
        phone.open(f"/s/wave-few-{number}")
        phone.answer("Yes", "No")
        phone.send()
        phone.wait("receipt")
    assert memory(phone)["memos"] == {}
    assert [one["sent"] for one in memory(phone)["waves"].values()] == [2, 2]

    phone.page.goto(f"{phone.url}/s/wave-few-3")
    phone.wait("refused")

    assert "all the answers to these questions that were announced" in phone.words("#why")
    assert phone.shown("input") == 0
    assert len(phone.posts()) == 2


REMEMBER = """async () => {
  const { update } = await import(%s);
  await update((memory) => ({ ...memory, memos: { [`/tab/${"0".repeat(64)}`]: [1] } }));
}""" % (MODULE % "../device/storage.js")


def test_what_cannot_be_read_is_not_taken_for_empty(phone: Watched) -> None:
    """Whatever happened to it; and once it is forgotten, the phone answers again."""
    phone.open()
    for how in ("flipped", "shorter", "no document", "no key"):
        phone.page.evaluate(REMEMBER)
        phone.page.evaluate(SPOIL, how)
        phone.page.goto(f"{phone.url}/s/workplace")
        phone.wait("refused")

        assert "cannot be read" in phone.words("#why"), how
        assert phone.shown("input") == 0
        forget(phone, "refused")
    answer(phone)


UNREADABLE = """async () => {
  const { update } = await import(%s);
  const change = (memory) => ({ ...memory, memos: { "": [] } });
  return update(change).then(() => "kept", (error) => error.message);
}""" % (MODULE % "../device/storage.js")


def test_what_could_not_be_read_again_is_not_kept(answered: Watched) -> None:
    """Else one survey could spoil the ledger of all, whose owner then has to forget it."""
    phone = answered
    before = memory(phone)

    assert "does not match" in phone.page.evaluate(UNREADABLE)
    assert memory(phone) == before


def test_nothing_that_is_kept_can_be_read(answered: Watched) -> None:
    """Neither what the page remembers, nor what it keeps for use without a network."""
    text = "\n".join(answered.page.evaluate(KEPT))

    assert len(text) > 10_000
    assert "deniably-memory" in text
    assert "deniably-offline" in text
    assert "extractable: false" in text
    assert "extractable: true" not in text
    survey = json.loads(DEFINITION.canonical)
    words = [survey["name"], survey["title"], survey["intro"], DEFINITION.digest, "stolen"]
    for question in survey["questions"]:
        words += [question["label"], question.get("hint", "Think of the last year")]
        words += [choice["label"] for choice in question["choices"] if len(choice["label"]) > 3]
    assert set(ANSWERS[1:]) < set(words)
    assert len(words) > 12
    assert [word for word in words if word in text] == []


def test_a_browser_that_keeps_nothing_says_so_and_still_answers(phone: Watched) -> None:
    phone.page.add_init_script("delete window.indexedDB; delete Window.prototype.indexedDB")
    phone.open()
    assert "lets the page keep nothing" in phone.words("[data-transient]")
    phone.page.reload()
    answer(phone)

    assert len(phone.posts()) == 1
