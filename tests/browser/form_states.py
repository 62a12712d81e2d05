"""The states of the form, in any language: a walk that knows no words, for pictures of each."""

from __future__ import annotations

from collections.abc import Iterator

from playwright.sync_api import BrowserContext, Page

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


def _open(page: Page, url: str) -> None:
    page.goto(url)
    page.wait_for_selector("#survey:not([hidden])")
