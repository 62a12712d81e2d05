"""What a publication says of how reports were collected and estimated, and how it cites them."""

from __future__ import annotations

from fractions import Fraction
from importlib.metadata import version

from deniably.core.steering import one_line
from deniably.trust.signing import fingerprint
from deniably.workbench.columns import WARNING, note, told
from deniably.workbench.files.codebook import short
from deniably.workbench.packing import Layout
from deniably.workbench.report_set import ReportSet
from deniably.workbench.source import Provenance

_SOURCES = (
    "Warner, S. L. (1965). Randomized response: A survey technique for eliminating evasive answer"
    " bias. Journal of the American Statistical Association, 60(309), 63-69.",
    "Wang, T., Blocki, J., Li, N., & Jha, S. (2017). Locally differentially private protocols for"
    " frequency estimation. 26th USENIX Security Symposium, 729-745.",
    "Ye, M., & Barg, A. (2018). Optimal schemes for discrete distribution estimation under locally"
    " differential privacy. IEEE Transactions on Information Theory, 64(8), 5662-5676.",
)


def methods(reports: ReportSet, source: Provenance) -> str:
    """The methods of a publication in Markdown, with what AAPOR asks to disclose."""
    survey, n = reports.survey, len(reports)
    said = "\n".join(_question(reports, question.name) for question in survey.questions)
    days = f"from {source.published} to {source.closed}" if source.closed else source.published
    asked = "" if survey.asked == len(survey.questions) else (
        f" Each device drew {survey.asked} of the {len(survey.questions)} questions at random."
    )  # fmt: skip
    lines = [
        f"# Methods: {one_line(survey.title)}",
        "",
        f"**{WARNING}**",
        "",
        f"{n:,} respondents answered. Their devices randomised every answer before it was sent"
        f" (local differential privacy), so no true answer was collected.{asked} All answers of one"
        f" person together have epsilon {survey.total.epsilon_text()}. Estimates are unbiased and"
        " may lie below 0 or above 1; standard errors divide by n. Intervals hold for a population"
        " that the respondents are a random sample of.",
        "",
        *([note(reports.layout), ""] if note(reports.layout) else []),
        "| question | mechanism | epsilon | odds | reports |",
        "| --- | --- | --- | --- | --- |",
        said,
        "",
        f"Definition {survey.digest}; software deniably {version('deniably')}.",
        "",
        "## What AAPOR asks to disclose",
        "",
        *(f"{number}. {item}" for number, item in enumerate(_checklist(reports, source, days), 1)),
        "",
        "## References",
        "",
        *(f"- {one}" for one in _SOURCES),
    ]
    return "\n".join(lines) + "\n"


def _question(reports: ReportSet, name: str) -> str:
    question = next(one for one in reports.survey.questions if one.name == name)
    loss = question.report_mechanism.loss
    cells = (
        name,
        question.report_mechanism.described,
        loss.epsilon_text(),
        "" if loss.exponent else short(Fraction(loss.odds)),
        f"{int(reports.answered(name).asked.sum()):,}",
    )
    return "| " + " | ".join(one_line(cell).replace("|", "\\|") for cell in cells) + " |"


def _checklist(reports: ReportSet, source: Provenance, days: str) -> list[str]:
    """The items of AAPOR's Transparency Initiative, filled in where the server knows."""
    survey = reports.survey
    invited = "by invitation, one report each" if survey.invited else "open to all who had the link"
    return [
        f"Data collection strategy: a survey on the respondent's own device, {invited}.",
        f"Who sponsored and who conducted it: the author's key is {fingerprint(source.author)};"
        " state: ",
        "Measurement tools: the questions word by word are in survey.json.",
        "Population under study: state: ",
        "Method used to generate and recruit the sample: state: ",
        f"Mode and language: self-administered on the web, {one_line(survey.language)}.",
        f"Dates of data collection: {days} (UTC).",
        f"Sample size and precision: {len(reports):,} reports; intervals are in results.csv and"
        " include the noise of the randomisation.",
        "Weighting: none here; state: ",
        "How data were processed and checked: randomised on devices, sorted by content; nothing was"
        " left out.",
        "Limitations: sampling and other errors; that respondents trusted the method; state: ",
    ]


def citation(places: Layout, source: Provenance) -> str:
    """CITATION.cff (Citation File Format 1.2.0) of the reports."""
    survey, day = places.survey, source.closed or source.published
    return "\n".join(
        (
            "cff-version: 1.2.0",
            "message: If you use these reports, please cite them. " + "They are randomised.",
            "type: dataset",
            f"title: {_yaml(survey.title)}",
            "authors:",
            f"  - name: {_yaml(f'Author with the key {fingerprint(source.author)}')}",
            f"date-released: '{day}'",
            "identifiers:",
            "  - type: other",
            f"    value: '{survey.digest}'",
            "    description: SHA-256 of the survey's definition",
            f"abstract: {_yaml(told(places))}",
            "",
        )
    )


def _yaml(text: str) -> str:
    """A text in single quotes, on one line."""
    return "'" + one_line(text).replace("'", "''") + "'"
