"""The author's signature in a real browser: scripts use it and cannot read it, six words open its
copy everywhere, and a real server accepts what it signs."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import requests
from click.testing import CliRunner
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from playwright.sync_api import Browser, BrowserContext, Page

from deniably.authoring.compiling import publish_text
from deniably.trust.recovery import read_copy, word_list, write_copy
from deniably.trust.signature_file import SignatureFile
from deniably.trust.signing import Signature, fingerprint, verify_text
from deniably_server.commands import authoring
from support.material import AUTHOR, Server

pytestmark = pytest.mark.browser

GROUP = "Bäcker & Söhne"
TEXT = json.dumps({
    "name": "spring", "title": "Spring",
    "questions": [{"name": "smokes", "type": "yes_no", "label": "Do you smoke?", "odds": 3}],
})  # fmt: skip
SURVEY = publish_text(TEXT)
SHOWN: dict[str, Any] = {
    "name": "spring", "title": "Spring", "intro": "", "contact": "", "budget": None,
    "facts": [], "minimum": 100, "analysts": False,
    "questions": [{"label": "Do you smoke?", "hint": "", "answers": [], "protection": "",
                   "coins": False}],
}  # fmt: skip
MODULES = """
  const signature = await import("/web/studio/signature.js");
  const recovery = await import("/web/studio/recovery.js");
"""
SENT: list[str] = []
"""All requests of the pages."""
SIGNED = re.compile(r"[\w+/=-]{86,128}")
OTHER_KEY = "-----BEGIN PRIVATE KEY-----\nMIIBVA===\n-----END PRIVATE KEY-----\n"
WORDS = ("amber", "lantern", "orbit", "velvet", "pocket", "river")


@pytest.fixture(scope="module")
def server(first_start: Server) -> Server:
    return first_start


@pytest.fixture(scope="module")
def context(chromium: Browser) -> Iterator[BrowserContext]:
    context = chromium.new_context()
    yield context
    context.close()


@pytest.fixture(scope="module")
def page(context: BrowserContext, server: Server) -> Page:
    """A page of the server, under its policy, in the author's browser."""
    return open_page(context, server)


@pytest.fixture(scope="module")
def made(page: Page) -> dict[str, Any]:
    """What the browser made and keeps, with the copy and its words."""
    return dict(
        run(
            page,
            """
            const { own, copy, words } = await signature.makeSignature(given);
            await signature.keepOwn(own);
            return { author: own.author, number: own.number, day: own.day, copy, words };
            """,
            GROUP,
        )
    )


def open_page(context: BrowserContext, server: Server) -> Page:
    page = context.new_page()
    page.on("request", lambda one: SENT.append(f"{one.method} {one.url} {one.post_data or ''}"))
    page.goto(f"{server.url}/handbook/authors")
    return page


def run(page: Page, script: str, given: Any = None) -> Any:
    """What a script gives that has the two modules; an error that it throws is its message."""
    code = f"async (given) => {{ {MODULES} try {{ {script} }} catch (e) {{ return `${{e}}`; }} }}"
    return page.evaluate(code, given)


# --- the key ------------------------------------------------------------------------------------


def test_a_browser_with_ed25519_can_sign(page: Page) -> None:
    assert run(page, "return signature.canSign();") is True


def test_the_key_is_kept_over_a_reload_and_no_script_can_read_it(
    page: Page, made: dict[str, Any]
) -> None:
    page.reload()
    found = run(
        page,
        """
        const { key, ...rest } = await signature.readOwn();
        const tried = ["pkcs8", "jwk", "raw"].map((how) =>
          crypto.subtle.exportKey(how, key).then(() => "exported", ({ name }) => name));
        return { rest, tried: await Promise.all(tried), readable: key.extractable,
          usages: key.usages };
        """,
    )

    assert found["readable"] is False
    assert found["usages"] == ["sign"]
    assert "exported" not in found["tried"]
    assert found["rest"] == {
        "author": made["author"], "number": made["number"], "day": made["day"], "group": GROUP,
    }  # fmt: skip
    assert made["number"] == fingerprint(made["author"])


def test_nothing_of_key_or_words_is_left_in_the_browser_or_sent(
    server: Server, page: Page, made: dict[str, Any]
) -> None:
    left = page.evaluate("""async () => {
      const names = (await indexedDB.databases()).map(({ name }) => name);
      const caches_ = await Promise.all((await caches.keys()).map((name) => caches.open(name)));
      const kept = await Promise.all(caches_.map((cache) => cache.keys()));
      return { names, kept: kept.flat().map(({ url }) => url), cookie: document.cookie,
        storage: JSON.stringify([{ ...localStorage }, { ...sessionStorage }]),
        html: document.documentElement.outerHTML };
    }""")

    assert left["names"] == ["deniably-signature"]
    assert (left["storage"], left["kept"], left["cookie"]) == ("[{},{}]", [], "")
    assert made["author"] not in left["html"]
    assert " ".join(made["words"]) not in left["html"]
    assert any(f"{server.url}/web/studio/words.txt" in one for one in SENT)
    assert all(re.fullmatch(rf"GET {server.url}/\S+ ", one) for one in SENT)
    for said in (*SENT, server.log):
        assert made["author"] not in said
        assert not any(re.search(rf"{a}\W+{b}", said) for a, b in pairwise(made["words"]))


# --- the copy -----------------------------------------------------------------------------------


def test_the_words_come_from_the_list_and_are_others_each_time(page: Page) -> None:
    drawn = run(page, "return Promise.all(Array.from({ length: 40 }, () => recovery.drawWords()));")

    assert {len(words) for words in drawn} == {6}
    assert len({tuple(words) for words in drawn}) == 40
    assert {word for words in drawn for word in words} <= set(word_list())


def test_the_copy_opens_everywhere_with_the_same_number(
    server: Server, chromium: Browser, made: dict[str, Any], tmp_path: Path
) -> None:
    path, password = tmp_path / "copy.pem", " ".join(made["words"])
    path.write_text(made["copy"], encoding="utf-8")

    copy = read_copy(made["copy"].encode())
    assert (copy.group, copy.number, copy.day) == (GROUP, made["number"], made["day"])
    assert copy.open(made["words"]).author == made["author"]
    loaded = load_pem_private_key(path.read_bytes(), password.encode())
    assert isinstance(loaded, Ed25519PrivateKey)
    assert loaded.public_key().public_bytes_raw().hex() == made["author"]
    command = ["openssl", "pkey", "-in", path, "-passin", f"pass:{password}", "-pubout"]
    done = subprocess.run([*command, "-outform", "DER"], capture_output=True, check=True)
    assert done.stdout[-32:].hex() == made["author"]

    survey = tmp_path / "copied.json"
    survey.write_text(TEXT.replace("spring", "copied"))
    to = ["--server", server.url, "--token", server.token, "--key", str(path)]
    published = CliRunner().invoke(
        authoring.publish, [str(survey), *to], env={"DENIABLY_WORDS": password}
    )
    assert published.exit_code == 0, published.output
    assert made["number"] in published.output

    elsewhere = chromium.new_context()
    typed = ", ".join(word[:4].upper() for word in made["words"])
    own = run(
        open_page(elsewhere, server),
        """
        const own = await signature.openSignature(given.copy, given.typed, given.number);
        await signature.keepOwn(own);
        const { key, number, group } = await signature.readOwn();
        return [key.extractable, number, group];
        """,
        made | {"typed": typed},
    )
    elsewhere.close()
    assert own == [False, made["number"], GROUP]


def test_a_copy_of_a_terminal_and_a_key_of_a_terminal_are_taken(page: Page) -> None:
    copy = write_copy(AUTHOR, GROUP, "2026-11-21", WORDS).text
    opened, brought = run(
        page,
        """
        const saved = given.copy.replaceAll("\\n", "\\r\\n");
        const opened = await signature.openSignature(saved, given.words);
        const brought = await signature.bringKey(given.key, "A");
        const again = await signature.openSignature(brought.copy, brought.words.join(" "));
        return [opened.author, again.author];
        """,
        {"copy": copy, "words": " ".join(WORDS), "key": AUTHOR.text.decode()},
    )

    assert opened == brought == AUTHOR.author
    for text in ("", OTHER_KEY, AUTHOR.text.decode()[:80]):
        said = run(page, "return await signature.bringKey(given, 'A');", text)
        assert "This is no Ed25519 key in PEM without a password." in said


def test_what_does_not_open_is_a_sentence_and_nothing_is_kept(
    page: Page, made: dict[str, Any]
) -> None:
    copy, words = made["copy"], made["words"]
    other = write_copy(AUTHOR, "Another", "2026-11-21", WORDS)
    cases = [
        [copy, " ".join(words[1:] + words[:1]), None, "These are not the words of this copy."],
        [copy, "amber lantern", None, "A copy opens with six words, and this is 2."],
        [copy, "amber lantern xylem velvet pocket river", None, "Word 3 is not on the list"],
        [copy[:-60], " ".join(words), None, "This copy is cut or damaged: take the whole file"],
        [copy[100:], " ".join(words), None, "This copy is cut or damaged"],
        ["dear diary", " ".join(words), None, "This is no copy of a signature."],
        [other.text, " ".join(WORDS), made["number"],
         f"This copy is of another group: {other.number[:9]}."],
        [other.text.replace(other.number, made["number"]), " ".join(WORDS), None,
         "This copy was changed: it names the number"],
    ]  # fmt: skip
    said = run(
        page,
        """
        const before = (await signature.readOwn()).number;
        const told = [];
        for (const [copy, typed, number] of given) {
          told.push(await signature.openSignature(copy, typed, number ?? undefined)
            .then(() => "opened", ({ message }) => message));
        }
        return [told, before === (await signature.readOwn()).number];
        """,
        cases,
    )

    for (*_, sentence), told in zip(cases, said[0], strict=True):
        assert told.startswith(sentence)
    assert said[1] is True


def test_a_group_that_no_line_can_name_gets_no_signature(page: Page) -> None:
    for group in ("", " x", "a\nb", "-----BEGIN x-----", "x" * 101):
        assert "The name of a group" in run(
            page, "return await signature.makeSignature(given);", group
        )


# --- signing ------------------------------------------------------------------------------------


def test_a_server_publishes_and_closes_what_the_page_signed(
    server: Server, page: Page, made: dict[str, Any]
) -> None:
    signed, closing = run(
        page,
        """
        const own = await signature.readOwn();
        const signed = await signature.signSurvey(own, given.definition, given.shown);
        return [signed, await signature.signClosing(own, given.definition)];
        """,
        {"definition": json.loads(SURVEY.canonical), "shown": SHOWN},
    )
    token = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}

    def headers(one: dict[str, str]) -> dict[str, str]:
        return token | {"Deniably-Author": one["author"], "Deniably-Signature": one["signature"]}

    published = requests.post(
        f"{server.url}/api/surveys", TEXT, headers=headers(signed), timeout=60
    )
    closed = requests.patch(
        f"{server.url}/api/surveys/spring",
        '{"state":"closed"}',
        headers=headers(closing) | {"Authorization": f"Bearer {another(server)}"},
        timeout=60,
    )

    assert signed["author"] == made["author"]
    assert signed["digest"] == SURVEY.digest
    assert (published.status_code, closed.status_code) == (201, 200), published.text + closed.text


def another(server: Server) -> str:
    """The token of another author, who closes the survey only with its author's signature."""
    from contextlib import closing

    from deniably_server.storage.store import Store
    from support.material import new_token

    with closing(Store(str(server.database))) as store:
        return new_token(store, "author")


def test_a_definition_that_was_swapped_is_not_signed_and_the_page_says_what_differs(
    page: Page, made: dict[str, Any]
) -> None:
    definition = json.loads(SURVEY.canonical)
    swapped = {
        "The address here is “spring”, and there “autumn”.": {"name": "autumn"},
        "The title here is “Spring”, and there “Fall”.": {"title": "Fall"},
        "The number of questions here is “1”, and there “2”.": {
            "questions": definition["questions"] * 2
        },
    }
    (question,) = definition["questions"]
    yes, no = question["choices"]
    smoke = {"label": "Do you smoke?", "hint": "", "answers": ["Yes", "No"],
             "protection": "guessed right 75.0 of 100 times", "coins": False}  # fmt: skip
    shown = SHOWN | {"questions": [smoke]}
    swapped |= {
        "The introduction here is “”, and there “Be honest.”.": {"intro": "Be honest."},
        "Who asks here is “”, and there “Somebody”.": {"contact": "Somebody"},
        "The explanation of question 1 here is “”, and there “At home.”.": {
            "questions": [question | {"hint": "At home."}]
        },
        "The protection of question 1 here is “guessed right 75.0 of 100 times”, and there “guessed"
        " right 99.0 of 100 times”.": {"questions": [question | {"claim": {"odds": "99"}}]},
        "The text of question 1 here is “Do you smoke?”, and there “Do you steal?”.": {
            "questions": [question | {"label": "Do you steal?"}]
        },
        "Answer 1 of question 1 here is “Yes”, and there “No”.": {
            "questions": [question | {"choices": [no, yes]}]
        },
        "The least number of reports here is “100”, and there “1”.": {
            "results": definition["results"] | {"minimum": 1}
        },
        "Who sees results here is “everybody”, and there “people with a code”.": {
            "results": definition["results"] | {"to": "analysts"}
        },
    }
    for sentence, change in swapped.items():
        said = run(
            page,
            "return await signature.signSurvey(await signature.readOwn(), given[0], given[1]);",
            [definition | change, shown],
        )

        assert f"{sentence} Nothing was signed." in said


def test_facts_about_the_study_are_signed_as_the_author_wrote_them(
    page: Page, made: dict[str, Any]
) -> None:
    """A definition has them behind its introduction, each with a translated heading."""
    facts = {"controller": "The union (Main Street 1)", "retention": "Two years."}
    written = json.loads(TEXT) | {"intro": "Be honest."} | facts
    definition = json.loads(publish_text(json.dumps(written)).canonical)
    shown = SHOWN | {"intro": "Be honest.", "facts": list(facts.values())}
    other = definition | {"intro": definition["intro"].replace("Two years", "Ten years")}
    said = [
        run(
            page,
            "return (await signature.signSurvey(await signature.readOwn(), ...given)).signature;",
            [each, shown],
        )
        for each in (definition, other)
    ]

    assert "Two years." in definition["intro"]
    assert SIGNED.fullmatch(said[0])
    assert "The introduction here is" in said[1]
    assert "Ten years" in said[1]
    assert said[1].endswith("Nothing was signed.")


def test_a_sign_in_is_for_this_origin_and_nonce_and_for_nothing_else(
    server: Server, page: Page, made: dict[str, Any]
) -> None:
    sign = "return await signature.signIn(await signature.readOwn(), given);"
    signed, refused = run(page, sign, "n" * 43), run(page, sign, "n\ndeniably survey 1")

    text = f"deniably sign-in 1\n{server.url}\n{'n' * 43}\n".encode()
    verify_text(text, Signature(made["author"], signed["signature"]))
    assert "The server sent no nonce." in refused


def test_a_signature_from_another_computer_is_taken_for_its_version_alone(page: Page) -> None:
    definition = json.loads(SURVEY.canonical)
    signature = AUTHOR.sign(SURVEY.digest)
    file = SignatureFile("spring", SURVEY.digest, signature.author, signature.value)
    cases = {
        file.text: None,
        "{": "This is no file that deniably sign wrote for this.",
        file.text.replace('"spring"', '"autumn"'): "This is the signature of autumn, and not of",
        file.text.replace(SURVEY.digest, "0" * 64): "another version of spring. Sign this version",
        file.text.replace(signature.value, "0" * 128): "the signature is not this author's",
    }
    for text, sentence in cases.items():
        read = run(page, "return await signature.readSignature(...given);", [text, definition])

        if sentence is None:
            assert read == {"author": signature.author, "signature": signature.value}
        else:
            assert sentence in read


def test_a_signature_can_be_removed_from_a_browser(page: Page, made: dict[str, Any]) -> None:
    assert (
        run(page, "await signature.forgetOwn(); return await signature.readOwn() ?? null;") is None
    )
