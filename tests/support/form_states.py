"""The states of the form, in any language: a walk that knows no words, for pictures of each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress

from playwright.sync_api import BrowserContext, Error, Page, Route

from deniably.authoring.compiling import publish_text
from deniably.trust.invitation_codes import code_in_groups
from deniably_server.storage.store import Store
from support.every_type import survey_of_everything, survey_within_limits
from support.material import Server, signed
from support.phone import SPOIL
from support.register_attacks import STRANGER

LABELS = {
    "en": ("At work", "Have you ever taken something home from work?", "How often?",
           "Never Once Often"),
    "de": ("Im Betrieb", "Haben Sie je etwas aus dem Betrieb mitgenommen?", "Wie oft?",
           "Nie Einmal Oft"),
    "fr": ("Au travail", "Avez-vous déjà rapporté quelque chose du travail ?",
           "À quelle fréquence ?",
           "Jamais Parfois Souvent"),
    "it": ("Al lavoro", "Ha mai portato a casa qualcosa dal lavoro?", "Quanto spesso?",
           "Mai Talvolta Spesso"),
    "es": ("En el trabajo", "¿Se ha llevado alguna vez algo del trabajo?", "¿Con qué frecuencia?",
           "Nunca Raramente Mucho"),
    "pt": ("No trabalho", "Você já levou alguma coisa do trabalho para casa?", "Quantas vezes?",
           "Nunca Raramente Muito"),
    "pl": ("W pracy", "Czy zdarzyło Ci się wynieść coś z pracy?", "Jak często?",
           "Nigdy Rzadko Często"),
    "tr": ("İş yerinde", "Hiç işten eve bir şey götürdünüz mü?", "Ne sıklıkta?",
           "Hiç Bazen Sık"),
    "uk": ("На роботі", "Чи доводилося вам брати щось із роботи додому?", "Як часто?",
           "Ніколи Рідко Часто"),
    "zh": ("工作中", "您是否曾把单位的东西带回家？", "多久一次？", "从不 一次 经常"),
    "ar": ("في العمل", "هل أخذت يومًا شيئًا من العمل إلى البيت؟", "كم مرة؟", "أبدًا مرة كثيرًا"),
}  # fmt: skip


def survey_in(language: str, name: str) -> str:
    """A short survey as its author writes it."""
    title, first, second, choices = LABELS[language]
    listed = ", ".join(
        f"{{name: c{index}, label: {choice}}}" for index, choice in enumerate(choices.split())
    )
    return f"""
name: {name}
title: {title}
language: {language}
results: {{minimum: 1, while_open: true}}
questions:
  - {{name: taken, type: yes_no, label: "{first}", coins: {{truth: 0.5}}}}
  - {{name: often, type: select_one, label: "{second}", choices: [{listed}], odds: 3}}
"""


def states(page: Page, url: str, closed: str) -> Iterator[str]:
    """Leads through every state of the form at ``url``, and names it."""
    context: BrowserContext = page.context
    _open(page, url)
    yield "start"
    page.click("#practise")
    page.locator("[data-step=practice] label").first.click()
    yield "practice"
    page.locator("[data-step=practice] [data-go='1']").click()
    yield "question"
    page.locator("form:visible button:not([type])").click()
    yield "error"
    page.locator("form:visible label").first.click()
    page.locator("summary:visible").first.click()
    yield "explained"
    page.locator("form:visible button:not([type])").click()
    page.locator("form:visible label").nth(2).click()
    page.locator("form:visible button:not([type])").click()
    page.wait_for_selector("[data-step=check]:not([hidden])")
    yield "check"
    context.route("**/reports", lambda route: route.fulfill(status=503, body="{}"))
    page.click("#send")
    page.wait_for_selector("#again:not([hidden])", timeout=30_000)
    yield "sending"
    context.unroute("**/reports")
    page.click("#again")
    page.wait_for_selector("[data-step=receipt]:not([hidden])")
    yield "receipt"
    _open(page, url)
    yield "answered before"
    context.route(
        "**/reports",
        lambda route: route.fulfill(status=422, body='{"detail": "A report of another version."}'),
    )
    page.click("#same")
    page.wait_for_selector("[data-step=refused]:not([hidden])")
    yield "refused"
    page.goto(closed)
    yield "closed"


WAVE = """
name: wave-{number}
title: Every month
intro: This is the survey of month {number}.
contact: A. Researcher, University of Somewhere
waves: {{panel: monthly}}
questions:
  - {{name: late, type: yes_no, label: "Were you ever late without saying so?", odds: 2}}
  - {{name: hours, type: number, label: "Unpaid hours?", minimum: 0, maximum: 40, odds: 2}}
"""
WEAK = """
name: weak
title: Weakly protected
questions:
  - {name: late, type: yes_no, label: "Were you ever late without saying so?", epsilon: 4}
"""
STRANGE = WEAK.replace("weak", "strange").replace("epsilon: 4", "odds: 2")


INVITED = (
    STRANGE.replace("strange", "invited").replace("Weakly protected", "At work") + "invited: true\n"
)


def publish_invited(server: Server) -> Iterator[str]:
    """Invitations to the survey that `invited_states` walks through."""
    server.publish(publish_text(INVITED))
    with closing(Store(str(server.database))) as store:
        while True:
            yield code_in_groups(store.invite("invited", 1)[0])


def invited_states(page: Page, server: str, code: str) -> Iterator[str]:
    """Leads from an invitation to a receipt, and names each state that other surveys have not."""
    url, field = f"{server}/s/invited", page.locator("#code")
    start = page.locator("#invitation button:not([type])")
    _open(page, f"{url}#{code}")
    field.scroll_into_view_if_needed()
    yield "an invitation from a link"
    field.fill(code[:-1])
    start.click()
    page.wait_for_selector("#invitation .error:not([hidden])")
    yield "typing error"
    many = {"Retry-After": "20"}
    page.context.route("**/tickets", lambda route: route.fulfill(status=429, headers=many))
    field.fill(code)
    start.click()
    page.wait_for_selector("#invitation .error:not([hidden])")
    yield "asked to wait"
    page.context.unroute("**/tickets")
    start.click()
    page.wait_for_selector("[data-step=question]:not([hidden])")
    _open(page, url)
    start.scroll_into_view_if_needed()
    yield "traded"
    start.click()
    page.wait_for_selector("[data-step=question]:not([hidden])")  # the start has labels, too
    page.locator("form:visible label").first.click()
    page.locator("form:visible button:not([type])").click()
    page.click("#send")
    page.wait_for_selector("[data-step=receipt]:not([hidden])")
    _open(page, url)
    page.locator("#same").scroll_into_view_if_needed()
    yield "answered before"


def publish_rare(server: Server) -> None:
    """The surveys that `rare_states` walks through."""
    surveys = [publish_text(WAVE.format(number=number)) for number in (1, 2)]
    surveys += [publish_text(WEAK), survey_within_limits(), survey_of_everything(name="much")]
    for survey in surveys:
        server.publish(survey)
    with closing(Store(str(server.database))) as store:
        strange = publish_text(STRANGE)
        store.publish(strange, signed(strange, STRANGER))


def rare_states(page: Page, server: str) -> Iterator[str]:
    """Leads through what few people ever see, and every type of question; and names it."""
    context = page.context
    _open(page, f"{server}/s/weak")
    yield "weak protection"
    page.click("[data-first] [data-go='1']")
    page.locator("form:visible summary").click()
    yield "weak question"
    yield from _every_type(page, f"{server}/s/everything")
    _answer_wave(page, f"{server}/s/wave-1")
    held: list[Route] = []
    context.route("**/reports", lambda route: held.append(route))
    with page.expect_request("**/reports"):
        page.click("#send")
    with page.expect_request("**/reports"):
        page.goto(f"{server}/s/wave-1")
    yield "unsent"
    for route in held:
        with suppress(Error):  # the page that asked is gone
            route.abort()
    context.unroute("**/reports")
    _open(page, f"{server}/s/wave-2")
    yield "later wave"
    page.goto(f"{server}/s/strange")
    page.wait_for_selector("[data-step=author]:not([hidden])")
    yield "another author"
    for name, state in (("much", "above a limit"), ("weak", "damaged memory")):
        page.goto(f"{server}/s/{name}")
        page.wait_for_selector("[data-step=refused]:not([hidden])")
        yield state
        page.evaluate(SPOIL, "flipped")


def _every_type(page: Page, url: str) -> Iterator[str]:
    seen = set[str]()
    _open(page, url)
    page.click("[data-first] [data-go='1']")
    while page.locator("form[data-question]:visible").count():
        form = page.locator("form[data-question]:visible")
        kind = form.get_attribute("data-kind") or "choice"
        if kind not in seen:
            seen.add(kind)
            form.locator("button:not([type])").click()  # to see what is said of missing answers
            form.locator("summary").click()
            yield kind.replace("_", " ")
        for field in form.locator("input[type=text]").all():
            field.fill("12")
        for group in form.locator("fieldset:not(:has(fieldset))").all():
            if group.locator("label").count():
                group.locator("label.choice, label.field").first.click()
        form.locator("button:not([type])").click()
    yield "check of every type"


def _answer_wave(page: Page, url: str) -> None:
    _open(page, url)
    page.click("[data-first] [data-go='1']")
    page.locator("form:visible label").first.click()
    page.locator("form:visible button:not([type])").click()
    page.locator("form:visible input").fill("5")
    page.locator("form:visible button:not([type])").click()
    page.wait_for_selector("[data-step=check]:not([hidden])")


def _open(page: Page, url: str) -> None:
    page.goto(url)
    page.wait_for_selector("#survey:not([hidden])")
