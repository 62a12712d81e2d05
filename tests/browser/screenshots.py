"""Take the README's pictures anew: python tests/browser/screenshots.py [FOLDER].

Runs the demonstration's survey on a real server, with all of its respondents, and photographs the
form on a phone and the dashboard on a desk.
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import closing
from pathlib import Path
from random import Random

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from conftest import ARGUMENTS  # noqa: E402
from deniably.authoring import publish_text  # noqa: E402
from deniably.report import randomise_answers  # noqa: E402
from deniably_client.demo import HERE, answer_all, respondents  # noqa: E402
from deniably_server.store import Store  # noqa: E402
from every_type import somebody, survey_of_everything  # noqa: E402
from server.material import Server  # noqa: E402


def main(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        server = Server(Path(temporary) / "deniably.db")
        server.publish(publish_text((HERE / "fair1978.yaml").read_text(encoding="utf-8")))
        for _ in answer_all(f"{server.url}/s/marriage", respondents()):
            pass
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=[*ARGUMENTS])
        page = browser.new_page(viewport={"width": 390, "height": 760}, device_scale_factor=1.5)
        page.goto(f"{server.url}/s/marriage")
        page.click("text=Start")
        page.click("label:has-text('Yes')")
        page.click("summary:visible")
        page.screenshot(path=folder / "form.png")
        page = browser.new_page(viewport={"width": 760, "height": 1000}, device_scale_factor=1)
        page.goto(f"{server.url}/surveys/marriage")
        page.screenshot(path=folder / "dashboard.png")
        everything, random = survey_of_everything(), Random(1)
        server.publish(everything)
        with closing(Store(str(server.database))) as store:
            for _ in range(5000):
                store.add(everything, randomise_answers(everything, somebody(random)))
        page = browser.new_page(viewport={"width": 600, "height": 900}, device_scale_factor=1)
        page.goto(f"{server.url}/surveys/everything/groups?question=home&count=2")
        page.locator("section.card").screenshot(path=folder / "map.png")
        browser.close()
        server.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "server/screenshots")
