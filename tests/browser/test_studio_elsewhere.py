"""The studio in a browser that cannot sign: everything that is signed goes to another computer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
import requests
from click.testing import CliRunner
from playwright.sync_api import Browser, BrowserContext, Page

from deniably.survey.report import make_report
from deniably.survey.survey import read_survey
from deniably.trust.signing import Key, fingerprint, new_key
from deniably_server.commands.sign import sign
from support.material import Server
from support.studio_tab import WITHOUT_ED25519, Studio, look_at

pytestmark = pytest.mark.browser

KEY, OTHER = new_key(), new_key()


@pytest.fixture(scope="module")
def server(first_start: Server) -> Server:
    return first_start


@pytest.fixture(scope="module")
def context(chromium: Browser) -> Iterator[BrowserContext]:
    """An old browser."""
    context = chromium.new_context(accept_downloads=True)
    context.add_init_script(WITHOUT_ED25519)
    yield context
    context.close()


@pytest.fixture(scope="module")
def other_computer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder on a computer that has the key."""
    return tmp_path_factory.mktemp("other-computer")


def signed_there(folder: Path, file: Path, key: Key = KEY) -> Path:
    """What ``deniably sign`` makes of a file."""
    path = folder / "author.key"
    path.unlink(missing_ok=True)
    path.touch(0o600)
    path.write_bytes(key.text)
    before = set(folder.glob("*.signature"))
    for old in before:
        old.unlink()
    done = CliRunner().invoke(sign, [str(file), "--yes", "--key", str(path)])
    assert done.exit_code == 0, done.output
    (made,) = folder.glob("*.signature")
    return made


def saved_file(studio: Studio, folder: Path) -> Path:
    """The file that the page gives out to be signed."""
    with studio.page.expect_download() as download:
        studio.page.click("#to-sign")
    target = folder / download.value.suggested_filename
    download.value.save_as(target)
    assert studio.page.inner_text("#command") == f"deniably sign {target.name}"
    return target


def bring(studio: Studio, file: Path) -> None:
    """What the page says then is of this file, and not of the one before."""
    studio.page.evaluate(
        "Object.assign(document.querySelector('#why'), { textContent: '', hidden: true })"
    )
    studio.page.set_input_files("#signed", file)


def taken(studio: Studio) -> None:
    studio.page.wait_for_selector("#taken:text-is('This signature is right.')")


@pytest.fixture(scope="module")
def look(axe_light_and_dark: Callable[[Page], list[str]]) -> Callable[[Studio], None]:
    """Looks at a state of a page: for everybody, on any screen, in plain words."""
    return partial(look_at, axe_light_and_dark)


@pytest.fixture(scope="module")
def founded(
    server: Server,
    context: BrowserContext,
    other_computer: Path,
    look: Callable[[Studio], None],
) -> Studio:
    """The group, founded by the printed link with a key that the browser never had."""
    (link,) = re.findall(r"http://\S+/studio/start#\S+", server.log)
    studio = Studio(context, server)
    page = studio.page
    page.goto(link)
    page.wait_for_selector("#cannot:not([hidden])")
    studio.write("#name", "Harbour Workers’ Union")
    studio.write("#contact", "survey@union.example")
    assert page.is_hidden("#copying")
    assert page.is_disabled("#start")
    bring(studio, signed_there(other_computer, saved_file(studio, other_computer)))
    taken(studio)
    look(studio)
    assert page.inner_text("#number").replace("\n", " ") == fingerprint(KEY.author)
    page.click("#start")
    page.wait_for_selector("#founded:not([hidden])")
    assert studio.errors == []
    return studio


@pytest.mark.thorough
def test_who_signed_out_signs_in_with_a_file(
    founded: Studio, other_computer: Path, look: Callable[[Studio], None]
) -> None:
    page = founded.page
    page.goto(f"{founded.server.url}/studio/")
    page.click("#out")
    page.wait_for_selector("#cannot:not([hidden])")
    look(founded)
    assert page.is_hidden("#bring"), "a copy is of no use in a browser that cannot sign"
    file = saved_file(founded, other_computer)

    bring(founded, signed_there(other_computer, file, OTHER))
    founded.says("No group of this server has this signature")
    elsewhere = file.with_name("elsewhere.json")
    request = json.loads(file.read_text())["sign_in"]
    elsewhere.write_text(json.dumps({"sign_in": request | {"origin": "https://evil.example"}}))
    bring(founded, signed_there(other_computer, elsewhere))
    assert founded.why().startswith("This signs in to https://evil.example, and not to http://")
    made = signed_there(other_computer, file)
    cut = made.with_name("cut.signature")
    cut.write_text(made.read_text()[:-20])
    bring(founded, cut)
    assert founded.why() == "This is no file that deniably sign wrote for this."
    bring(founded, made)

    page.wait_for_url("**/studio/")
    assert "What do you want to ask?" in founded.words()


@pytest.mark.thorough
def test_the_whole_walk_is_signed_on_another_computer(
    founded: Studio, server: Server, other_computer: Path, look: Callable[[Studio], None]
) -> None:
    page = founded.page
    founded.begin("Work at our sites", "Did you hide an accident at work?")
    page.click("text=Continue")
    page.wait_for_selector("#away:not([hidden])")
    page.fill("#name", "sites-26")
    page.check("#read")
    assert page.is_disabled("#publish")
    bring(founded, signed_there(other_computer, saved_file(founded, other_computer)))
    taken(founded)
    look(founded)
    page.click("#publish")
    page.wait_for_selector("#done:not([hidden])")
    address = f"{server.url}/api/surveys/sites-26"
    survey = read_survey(requests.get(address, timeout=30).content)
    (question,) = survey.questions
    for number in range(120):
        answer = {question.name: "yes" if number % 3 else "no"}
        server.post(survey, make_report(survey, answer).report)

    page.click("#follow")
    page.wait_for_selector("#close")  # the page before has the way to sign elsewhere as well
    page.wait_for_selector("#away:not([hidden])")
    assert page.is_disabled("#close")
    look(founded)
    bring(founded, signed_there(other_computer, saved_file(founded, other_computer)))
    taken(founded)
    page.fill("#typed", "sites-26")
    page.click("#close")
    page.click("text=See the results")

    page.wait_for_selector(".finding")
    assert "120" in founded.words()
    register = requests.get(f"{server.url}/register", timeout=30).json()
    assert register["entries"][-2]["author"] == KEY.author
    assert founded.errors == []


@pytest.mark.thorough
def test_what_is_not_the_signature_of_this_version_publishes_nothing(
    founded: Studio, server: Server, other_computer: Path
) -> None:
    page = founded.page
    founded.begin("Nights", "Do you sleep at work?")
    page.click("text=Continue")
    page.wait_for_selector("#away:not([hidden])")
    page.fill("#name", "nights-26")
    page.check("#read")
    file = saved_file(founded, other_computer)
    definition = json.loads(file.read_text())
    closing = file.with_name("closing.json")
    closing.write_text(json.dumps({"close": definition}))

    for what, key, sentence in (
        (file, OTHER, "This is the signature of another group."),
        (closing, KEY, "This is the signature of another version of nights-26."),
    ):
        bring(founded, signed_there(other_computer, what, key))
        founded.says(sentence)
        assert page.is_disabled("#publish")
    page.fill("#minimum", "50")
    bring(founded, signed_there(other_computer, file))
    founded.says("another version of nights-26. Sign this version, too.")
    page.fill("#minimum", "100")
    bring(founded, signed_there(other_computer, file))
    taken(founded)
    page.fill("#minimum", "60")
    page.click("#publish")
    founded.says("another version of nights-26")  # what was signed is of 100 reports

    assert requests.get(f"{server.url}/s/nights-26", timeout=30).status_code == 404


def test_nothing_of_a_key_is_in_the_browser(founded: Studio) -> None:
    founded.page.goto(f"{founded.server.url}/studio/")
    names = founded.page.evaluate(
        "indexedDB.databases().then((all) => all.map(({ name }) => name))"
    )
    kept = founded.page.evaluate(
        """async () => {
          const { readOwn } = await import("/web/studio/signature.js");
          return (await readOwn()) ?? null;
        }"""
    )

    assert set(names) <= {"deniably-signature"}
    assert kept is None
    assert KEY.secret.hex() not in " ".join(founded.sent)
