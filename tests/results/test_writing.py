"""What papers say: sentences, methods, citations and the checklist of any survey's results."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

import deniably as dn
from deniably.mechanisms import Memoised
from deniably.mechanisms.law import Supporting
from deniably.results.document import MeanResult, QuestionResult, SurveyResult
from deniably.results.drawing import rounding
from deniably.results.shown import of_choice, of_choice_among, of_mean
from deniably.results.writing.publication import Publication
from deniably.results.writing.randomisers import randomiser
from deniably.results.writing.references import SOURCES
from deniably.survey.survey import Survey, as_survey
from exhibits.test_agreement import SURVEY, results
from support.every_type import QUESTIONS, survey_of_everything
from support.same_bytes import same_bytes
from support.whole_surveys import SURVEYS, number, one_of, survey

OTHERS: dict[str, Survey] = {
    "other noise": as_survey(
        survey(
            number("clamped") | {
                "mechanism": {"name": "bounded_laplace", "k": 3, "scale": "2", "beyond": "clamp"},
                "claim": {"epsilon": "1"},
            },
            number("redrawn") | {
                "mechanism": {"name": "bounded_laplace", "k": 3, "scale": "2",
                              "beyond": "resample"},
                "claim": {"epsilon": "1"},
            },
            number("ends") | {
                "mechanism": {"name": "window", "k": 3, "m": 2, "w": 1, "own": 3, "other": 1},
            },
        )
    ),
    "basic RAPPOR": as_survey(
        survey(one_of("first") | {
            "mechanism": {"name": "unary", "k": 3, "most": 1, "own": 3, "other": 1, "total": 4},
            "claim": {"odds": "9"},
        })
    ),
}  # fmt: skip
WRITTEN_UP = (
    {"everything": survey_of_everything()}
    | {name: as_survey(definition) for name, definition in SURVEYS.items()}
    | OTHERS
)


_KNOWN: dict[tuple[str, int], SurveyResult] = {}


def document(asked: Survey, n: int = 60) -> SurveyResult:
    """Results of made-up people; each survey is simulated once."""
    key = asked.digest, n
    if key not in _KNOWN:
        with same_bytes(f"{asked.digest} {n}"):
            people = dn.simulate_people(asked, n)
            _KNOWN[key] = dn.estimate(asked, dn.tally(dn.randomise(people))).document
    return _KNOWN[key]


def written(asked: Survey, found: SurveyResult | None = None, **more: str) -> Publication:
    return Publication(found or document(asked), asked, **more)


@pytest.fixture(scope="module")
def everything() -> Publication:
    asked = WRITTEN_UP["everything"]
    return written(
        asked, document(asked, 400), published="2026-01-02", closed="2026-02-03",
        signed="ab12 cd34", url="https://example.org/surveys/everything",
    )  # fmt: skip


# --- sentences --------------------------------------------------------------------------------


def intervals(question: Any) -> set[str]:
    """Every interval that the page of a question prints, and the bare text of a mean's."""
    found = [of_choice(one).reading for one in getattr(question, "choices", None) or ()]
    if among := getattr(question, "among_asked", None):
        found = [of_choice_among(one).reading for one in among.choices]
    found += [rounding.share(one.estimate, one.interval) for one in getattr(question, "cells", ())]
    means = [getattr(question, "mean", None)]
    means += [getattr(part, "mean", None) for part in getattr(question, "parts", ())]
    found += [of_mean("", one).reading for one in means if isinstance(one, MeanResult)]
    return {one.interval.replace(rounding.NARROW, "\u00a0") for one in found}


def test_a_sentence_has_estimate_interval_n_mechanism_and_epsilon(everything: Publication) -> None:
    for question in everything.result.questions:
        sentence = everything.sentence(question.name)
        assert sentence.endswith(").")
        assert not sentence[0].islower()
        assert f"“{question.label}”" in sentence
        assert f"{question.n:,}" in sentence
        assert f"{randomiser(question).name}, epsilon {question.epsilon}" in sentence
        assert sentence.count("(") == sentence.count(")")
        if "stood out" not in sentence:
            assert any(f"95\u00a0% CI {one}" in sentence for one in intervals(question)), sentence


@settings(max_examples=40)
@given(results())
def test_a_sentence_prints_the_numbers_of_the_page(found: SurveyResult) -> None:
    """Also for one report, for all answers alike, and for counts that no answers explain."""
    publication = written(SURVEY, found)
    for question in found.questions:
        sentence = publication.sentence(question.name)
        quoted = re.search(r"CI ([^;,)]+?)[;)]|$", sentence)
        assert quoted
        if quoted[1]:
            assert quoted[1].removesuffix("\u00a0days") in intervals(question), sentence
        assert "nan" not in sentence
        leads = "most frequent" in sentence
        finding = question.sentence
        assert leads == ("is the most frequent" in finding), (sentence, finding)
        assert ("signs of fake" in sentence) == bool(question.flags)


def test_what_was_not_seen_is_no_zero_and_keeps_its_unbiased_estimate() -> None:
    found = document(SURVEY)
    first = found.questions[0]
    yes = msgspec.structs.replace(first.choices[0], estimate=-0.0055337, interval=[0.0, 0.0192])
    changed = msgspec.structs.replace(first, choices=[yes, *first.choices[1:]], n=1526)
    said = written(SURVEY, msgspec.structs.replace(found, questions=[changed])).sentence("stolen")

    assert "compatible with any value below 2.0\u00a0%" in said
    assert "unbiased estimate \u22120.6\u00a0%, 95\u00a0% CI 0.0 to 2.0\u00a0%" in said


def test_a_sentence_says_of_whom_and_whether_the_survey_is_open() -> None:
    found = msgspec.structs.replace(
        document(SURVEY), strata={"site": "north"}, state="open", confidence=0.9
    )
    said = written(SURVEY, found).sentence("stolen")

    assert said.startswith("Of the respondents of site north: ")
    assert "90\u00a0% CI" in said
    assert "survey still open" in said


def test_a_question_that_is_not_there_is_named() -> None:
    with pytest.raises(KeyError, match="no question 'drink'; there are stolen, often"):
        written(SURVEY).sentence("drink")


# --- methods ----------------------------------------------------------------------------------


def probabilities(report: str) -> list[float]:
    return [float(one) for one in re.findall(r"probability (\d\.\d+)|and (\d\.\d+)", report)
            for one in one if one]  # fmt: skip


@pytest.mark.parametrize("name", WRITTEN_UP)
def test_every_mechanism_is_described_with_its_probabilities_and_a_source(name: str) -> None:
    asked = WRITTEN_UP[name]
    for question, shown in zip(asked.questions, document(asked).questions, strict=True):
        words = randomiser(shown)
        assert words.report
        assert words.sources
        assert {*words.sources} <= SOURCES.keys()
        law = question.mechanism.law
        rest = probabilities(words.report)
        if isinstance(law, Supporting) and rest:
            assert rest[0] == pytest.approx(float(law.p), abs=5e-5), words
            if len(rest) > 1:
                assert rest[1] == pytest.approx(float(law.q), abs=5e-5), words


@pytest.mark.parametrize("name", WRITTEN_UP)
def test_methods_name_every_question_every_epsilon_and_only_listed_sources(name: str) -> None:
    asked = WRITTEN_UP[name]
    publication = written(asked, document(asked))
    text = publication.methods()
    body, _, listed = text.partition("\n\nReferences\n\n")

    for question in publication.result.questions:
        assert "All questions were" in body or f"“{question.short}”" in body
        assert f"epsilon {question.epsilon}" in body
        assert question.method in body or randomiser(question).name in question.method
    assert f"epsilon {publication.result.total['epsilon']}" in body
    assert asked.digest in body
    assert "exp(" in body
    for one in SOURCES.values():
        assert (one.cited in body) == (one.apa in listed), one.key
    assert not re.search(r"\(\)|  |,,|\.\.|None|UNSET", body), body
    assert body.count("(") == body.count(")")


def changed(text: str, **changes: Any) -> str:
    """The methods of the survey of everything where the definition, or the results, differ."""
    asked = survey_of_everything(**changes)
    found = written(asked, document(asked)).methods()
    assert text in found
    return found


def test_methods_say_who_could_answer_and_how_much_of_it() -> None:
    changed("Anybody who had the link could take part, also more than once")
    questions = [{"claim": {"epsilon": "2"}} | one for one in QUESTIONS if "show_if" not in one]
    changed(
        "drew 3 of the 13 questions at random and reported these alone", ask=3, questions=questions
    )
    text = changed("each was good for one report", invited=True)
    assert "Anybody" not in text
    changed("reported “not applicable”, which is randomised")
    changed("a stratum (site: north, south), which is not randomised",
            strata={"site": ["north", "south"]})  # fmt: skip


def test_methods_count_invitations_and_never_more_answers_than_those() -> None:
    asked = survey_of_everything(invited=True)
    found = document(asked)
    some = msgspec.structs.replace(found, invited=80, response_rate=0.75)
    more = msgspec.structs.replace(found, invited=40, response_rate=1.5)

    assert "60 of 80 brought one (75.0\u00a0%)" in written(asked, some).methods()
    assert "more reports than the 40 invitations" in written(asked, more).methods()
    assert "%" not in written(asked, more).checklist[4].text


def test_methods_of_waves_say_what_all_of_them_keep() -> None:
    kept, fresh = WRITTEN_UP["two waves"], WRITTEN_UP["two waves with fresh chance"]
    assert all(isinstance(one.mechanism, Memoised) for one in kept.questions)

    text = written(kept, document(kept)).methods()
    assert "keep a randomised answer" in text
    assert f"epsilon {kept.history.epsilon_text()} over all of them" in text
    assert "Arcolezi et al., 2022" in text
    text = written(fresh, document(fresh)).methods()
    assert "afresh in each wave, in 2 waves at most" in text
    assert f"epsilon {fresh.history.epsilon_text()} over all of them" in text


def test_methods_bound_what_fake_reports_could_do(everything: Publication) -> None:
    (said,) = re.findall(
        r"were fake, they could move a share by up to ([\d.]+) points and a mean by up to"
        r" ([\d.]+)\u00a0% of its range",
        everything.methods(),
    )
    questions: list[Any] = list(everything.result.questions)
    shares = [one.poisoning.shift[0] for one in questions
              if getattr(one, "choices", None) or getattr(one, "cells", None)]  # fmt: skip
    means = [(one.poisoning, one.mean) for one in questions if one.type == "number"]
    means += [(part.poisoning, part.mean) for part in questions[11].parts]
    trust = next(one for one in questions if one.name == "trust")
    means.append((trust.poisoning, trust.mean))

    assert float(said[0]) == pytest.approx(100 * max(shares), abs=0.051)
    wide = [100 * one.shift[0] / (mean.extent[1] - mean.extent[0]) for one, mean in means]
    assert float(said[1]) == pytest.approx(max(wide), abs=0.051)


def test_signs_of_fake_reports_are_in_methods_checklist_and_sentence() -> None:
    found = document(SURVEY)
    odd = msgspec.structs.replace(found.questions[0], flags=["No true answers explain it."])
    found = msgspec.structs.replace(found, questions=[odd, *found.questions[1:]])
    publication = written(SURVEY, found)

    assert "No true answers explain it." in publication.methods()
    assert "signs of fake reports or faulty devices in “Stolen?”" in publication.checklist[9].text
    assert "there are signs of fake reports)." in publication.sentence("stolen")
    assert "signs of fake reports" not in publication.sentence("often")


# --- references and citations -----------------------------------------------------------------


def entries(text: str) -> dict[str, dict[str, str]]:
    """The entries of a BibTeX file: a small reader that counts braces as BibTeX does."""
    found = dict[str, dict[str, str]]()
    for block in re.split(r"^@", text, flags=re.MULTILINE)[1:]:
        head, _, rest = block.partition(",\n")
        assert block.count("{") == block.count("}"), block
        fields = re.findall(r"^  (\w+) = \{(.*)\},?$", rest, re.MULTILINE)
        found[head.partition("{")[2]] = dict(fields)
    return found


def test_the_bibliography_has_the_survey_and_every_source_once(everything: Publication) -> None:
    found = entries(everything.bibliography)
    keys = [one.key for one in everything.references]

    assert list(found) == [f"everything-{everything.survey.digest[:8]}", *keys]
    assert len(keys) == len(set(keys)) > 15
    own = next(iter(found.values()))
    assert own["year"] == "2026"
    assert own["url"] == "https://example.org/surveys/everything"
    assert everything.survey.digest in own["note"]
    for one in everything.references:
        assert found[one.key]["year"] == str(one.year)
        assert len(found[one.key]["author"].split(" and ")) == len(one.authors)


def test_records_for_reference_managers_begin_and_end(everything: Publication) -> None:
    records = everything.records.split("\n\n")
    records = [one.strip("\n") for one in records]

    assert len(records) == len(everything.references) + 1
    for one in records:
        lines = one.split("\n")
        assert lines[0].startswith("TY  - ")
        assert lines[-1] == "ER  - "
        assert all(re.fullmatch(r"[A-Z][A-Z0-9]  - .*", line) for line in lines)
    assert records[0].startswith("TY  - DATA")
    assert "DA  - 2026/02/03" in records[0]


def test_no_title_breaks_a_file_of_references() -> None:
    title = "50% {of} {R&D_#1 \\ $x$ ~ ^: it's\nTY  - JOUR\n@misc{evil,"
    asked = survey_of_everything(title="T")
    found = msgspec.structs.replace(document(asked), title=title)
    publication = written(asked, found)

    assert len(entries(publication.bibliography)) == len(publication.references) + 1
    assert publication.records.count("\nTY  - ") == len(publication.references)
    assert r"50\% \textbraceleft{}of\textbraceright{}" in publication.cite("bibtex")
    assert r"\textbraceleft{}R\&D\_\#1 \textbackslash{} \$x\$" in publication.cite("bibtex")
    assert "\n@misc{evil" not in publication.cite("bibtex")


def test_the_citation_file_is_yaml_with_what_the_format_asks_for() -> None:
    import yaml

    asked = survey_of_everything(title="It's: [everything] #1")
    publication = written(asked, document(asked), closed="2026-02-03", warning="Do not tabulate.")
    found = yaml.safe_load(publication.cite("cff"))

    assert {"cff-version", "message", "title", "authors"} <= found.keys()
    assert found["title"] == "It's: [everything] #1"
    assert found["identifiers"][0]["value"] == asked.digest
    assert found["date-released"] == "2026-02-03"
    assert "Do not tabulate." in found["abstract"]


@pytest.mark.parametrize("style", ["apa", "bibtex", "ris", "cff"])
def test_citations_leave_the_authors_to_be_filled_in(style: str, everything: Publication) -> None:
    assert "state: the authors" in everything.cite(style)


def test_other_styles_are_refused_with_those_that_there_are(everything: Publication) -> None:
    with pytest.raises(ValueError, match="no style 'mla'; there are apa, bibtex, ris, cff"):
        everything.cite("mla")
    with pytest.raises(ValueError, match="no style 'chicago'; there is apa"):
        everything.methods(style="chicago")


def test_a_citation_without_a_day_says_so_as_apa_does() -> None:
    assert "(n.d.)" in written(SURVEY).cite("apa")


# --- the checklist ----------------------------------------------------------------------------


def test_the_checklist_has_eleven_items_filled_in_or_left_to_state(everything: Publication) -> None:
    assert len(everything.checklist) == 11
    for one in everything.checklist:
        assert one.text
        assert bool(one.state) == ("state: " in one.text)
    texts = [one.text for one in everything.checklist]
    assert texts[3] == "state: whom the figures are meant to describe"
    assert "ab12 cd34" in texts[1]
    assert texts[6] == "2026-01-02 to 2026-02-03 (UTC)."
    assert everything.survey.digest in texts[2]
    assert "400 reports" in texts[7]


def test_the_checklist_of_an_open_survey_has_no_last_day() -> None:
    found = msgspec.structs.replace(document(SURVEY), state="open")
    text = written(SURVEY, found, published="2026-01-02").checklist[6].text

    assert text == (
        "The survey has been open since 2026-01-02 and is not closed yet. state: the last day"
    )


# --- files ------------------------------------------------------------------------------------


def test_files_carry_the_warning_every_finding_and_every_question(everything: Publication) -> None:
    warned = Publication(everything.result, everything.survey, warning="Do not <tabulate>.")
    text = warned.methods_file()

    assert text.index("Do not \\<tabulate\\>.") < text.index("respondents answered")
    for question in everything.result.questions:
        assert f"\n| {question.name.replace('_', chr(92) + '_')} |" in text
        assert question.epsilon in text
    assert text.count("\n- ") == len(everything.result.questions) + len(warned.references) + 1
    checked = warned.checklist_file()
    assert len(re.findall(r"^\d+\. \*\*", checked, re.MULTILINE)) == 11
    assert "Do not \\<tabulate\\>." in checked


def test_authors_words_are_no_markup(everything: Publication) -> None:
    asked = msgspec.structs.replace(survey_of_everything(), title="# <b>*T*</b>\n- a list")
    text = written(asked, document(asked)).methods_file()

    assert "<b>" not in text
    assert "\n- a list" not in text


def test_no_question_is_left_without_words() -> None:
    """Of a mechanism without words the document's own description is said."""
    shown: QuestionResult = document(SURVEY).questions[0]
    unknown = msgspec.structs.replace(shown, mechanism={"name": "hadamard"}, method="Hadamard, 3")

    assert randomiser(unknown).name == "Hadamard, 3"
