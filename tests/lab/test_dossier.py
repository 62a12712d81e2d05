"""The dossier for an ethics board: every number in it is printed by the command below it."""

from __future__ import annotations

import json
import re
import shlex
from datetime import date
from functools import cache
from html import escape
from pathlib import Path

import pytest
from msgspec import to_builtins

from deniably import lab
from deniably.audit import whole_reports
from deniably.lab.dossier_document import PRIORS, Dossier
from deniably.lab.dossier_summary import summary
from deniably.lab.dossier_words import DossierPart
from deniably.survey.report import read_report
from deniably.trust.mixer_offer import make_offer
from deniably.wording.words import LANGUAGES, Words
from spec.cases.mixers import KEY, OPEN
from support.commands import call
from support.keys import key_of
from support.same_bytes import drawn_once
from support.whole_faults import PLANTED, send_with

SURVEY = """
name: honesty
title: Honesty at work
contact: Ada <ada@example.org>
results: {minimum: 50}
questions:
  - {name: stolen, type: yes_no, label: "Stolen <more> than 20?", hint: Ever., coins: {truth: 0.5}}
  - {name: often, type: select_one, label: "How often?", choices: [Never, Weekly], epsilon: 1}
"""
PANEL = """
name: honesty-1
title: Honesty at work
waves: {panel: honesty, history: 2}
questions:
  - {name: stolen, type: yes_no, label: "Stolen?", odds: 3}
"""
GAUSSIAN = """
name: drinks
title: Drinks
results: {minimum: 50, while_open: true, to: analysts}
invited: true
questions:
  - {name: drinks, type: number, label: Drinks, minimum: 0, maximum: 3, unit: glasses,
     epsilon: 1, delta: 0.00001, mechanism: gaussian}
"""
OFFER = make_offer(key_of(b"mixer".ljust(32)), "https://mixer.example.net", "Works council", KEY)
THROUGH_MIXER = f"""
name: council
title: Honesty at work
contact: University of Northfield
results: {{minimum: 50}}
mixer: {{offer: {json.dumps(to_builtins(OFFER))}, odds: 3, open: "{OPEN}"}}
questions:
  - {{name: stolen, type: yes_no, label: "Stolen?"}}
  - {{name: often, type: select_one, label: "How often?", choices: [Never, Weekly, Daily]}}
"""
SURVEYS = {
    "honesty": SURVEY, "honesty-1": PANEL, "drinks": GAUSSIAN, "council": THROUGH_MIXER,
}  # fmt: skip
N, TRIALS = 1800, 100
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?!\w)")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("board")
    for name, text in SURVEYS.items():
        (found / f"{name}.yaml").write_text(text)
    return found


@pytest.fixture(autouse=True)
def _in_its_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dossier names a survey's file without its folder, where its commands are called."""
    monkeypatch.chdir(folder)


@drawn_once
def made(file: Path) -> Dossier:
    return lab.dossier(file, n=N, trials=TRIALS, seconds=0)


@cache
def printed(command: str) -> str:
    """What a command prints whose words stand in the dossier."""
    name, *words = shlex.split(command)
    assert name == "deniably"
    done = call(*words)
    # A page is made without replays here, which no audit passes.
    assert done.returncode == (3 if words[0] == "audit" else 0), command
    return done.stdout


def part(of: Dossier, title: str) -> DossierPart:
    return next(one for one in of.parts if one.title.startswith(title))


def numbers(text: str) -> set[str]:
    return {one.rstrip(",") for one in NUMBER.findall(text)}


@pytest.mark.thorough
@pytest.mark.parametrize("name", SURVEYS)
def test_every_number_is_printed_by_the_commands_that_are_named(folder: Path, name: str) -> None:
    """Those of a table's line in lines about the same question; the conclusions and alternatives
    have tests of their own."""
    found = made(folder / f"{name}.yaml")
    of_lines = {
        "How much", "What the published", f"What {N:,}", "Fake reports", "Verdict",
    }  # fmt: skip
    told = 0
    for title in of_lines:
        one = part(found, title)
        outputs = "\n".join(map(printed, one.commands))
        for label, *cells in one.lines[1:]:
            about = "\n".join(row for row in outputs.splitlines() if row.startswith(label))
            if missing := numbers(" ".join(cells)) - numbers(about):
                assert label in ("all together", "all waves", "what is asked"), (
                    title,
                    label,
                    missing,
                )
                assert missing <= numbers(outputs), (title, label, missing)
            told += len(numbers(" ".join(cells)))
        digest = found.survey.digest
        for note in one.notes:
            assert numbers(note) <= numbers(outputs), (title, note)
        assert digest not in str(one) or digest in outputs
    assert told >= 8

    for sentence in part(found, "What respondents").said:
        assert sentence in printed(f"deniably check {folder / name}.yaml").replace("\n  ", " ")


@pytest.mark.parametrize(("name", "title"), [(name, "What the worst") for name in SURVEYS])
def test_conclusions_are_those_of_one_report(folder: Path, name: str, title: str) -> None:
    one = part(made(folder / f"{name}.yaml"), title)
    assert len(one.commands) == len(one.lines) - 1
    for (_, *cells), command in zip(one.lines[1:], one.commands, strict=True):
        for prior, cell in zip(PRIORS, cells, strict=True):
            answer = printed(f"{command} --prior {prior}").splitlines()[2].replace("\u202f", " ")
            assert f"at most {cell} likely" in answer, answer


def test_of_two_coins_one_in_a_hundred_becomes_three_and_the_half_three_quarters(
    folder: Path,
) -> None:
    lines = part(made(folder / "honesty.yaml"), "What the worst").lines
    assert list(lines[1][1:]) == ["2.9 %", "25 %", "75 %"]
    of_waves = part(made(folder / "honesty-1.yaml"), "What the worst").lines[-1]
    assert list(of_waves) == ["all waves", "8.3 %", "50 %", "90 %"], "odds of 9"


@pytest.mark.parametrize("name", [name for name in SURVEYS if name != "council"])
def test_half_and_double_the_epsilon_are_what_plans_print(folder: Path, name: str) -> None:
    one = part(made(folder / f"{name}.yaml"), "Alternatives")
    commands = iter(one.commands)
    heads, *lines = one.lines
    margin = re.search(r"for ([\d.]+) %", heads[-1])
    assert margin
    assert [line[0] for line in lines] == ["half", "as planned", "double"]
    times = [command.split()[-1] for command in one.commands]
    assert times == ["0.5", "0.5", "1", "1", "2", "2"]
    for _, epsilon, odds, reached, needed in lines:
        for given in (
            {epsilon, odds, f"{N:,}", reached},
            {epsilon, odds, needed, margin[1] + " %"},
        ):
            (together,) = [row for row in printed(next(commands)).splitlines()
                           if row.startswith("all together")]  # fmt: skip
            assert given <= set(re.split(r"\s{2,}", together)), (together, given)


def test_epsilons_of_others_have_unit_model_and_source(folder: Path) -> None:
    one = part(made(folder / "honesty.yaml"), "Epsilons that others")
    of_others, of_this = map(printed, one.commands)

    assert one.lines[1][1] == "2.10"
    assert f" {one.lines[1][1]}" in of_this
    assert len(one.lines) > 8
    for who, epsilon, delta, unit, model, source in one.lines[2:]:
        (row,) = [row for row in of_others.splitlines() if f" {who} " in row]
        for cell in (epsilon, delta, unit, model, source.rpartition("; ")[0]):
            assert f" {cell} " in row
        assert source[-10:] in row


def test_three_reports_of_the_same_answers_are_reports_and_come_from_the_seed(
    folder: Path,
) -> None:
    file = folder / "honesty.yaml"
    found = made(file)
    sent = part(found, "What leaves")
    reports = [read_report(one.encode()) for one in sent.exactly]

    assert len(reports) == 3
    for one in reports:
        one.check(found.survey)
    assert len({one.id for one in reports}) == 3
    assert sent.lines[1:] == [("stolen", "yes"), ("often", "never")]
    again = printed(f"{sent.commands[0]} --trials {TRIALS} --seconds 0")
    assert all(one in again for one in sent.exactly)
    other = lab.dossier(file, n=9, seed=2, trials=TRIALS, seconds=0)
    assert not set(part(other, "What leaves").exactly) & set(sent.exactly)


def test_it_says_what_is_asked_and_by_which_rules_word_by_word(folder: Path) -> None:
    asked = str(part(made(folder / "honesty.yaml"), "What is asked"))
    assert "Stolen <more> than 20? (Ever.)" in asked
    assert "Never · Weekly" in asked
    assert "at least 50 reports, once the survey is closed" in asked

    drinks = str(part(made(folder / "drinks.yaml"), "What is asked"))
    assert "0 to 3 glasses in steps of 1; what is beyond counts as the nearer bound" in drinks
    assert "shown to analysts from 100 reports on. While the survey is open the newest 50" in drinks
    assert "one report for each invitation" in drinks
    assert "who used one" in str(part(made(folder / "drinks.yaml"), "What is not"))
    assert "asked again, from a memo" in str(part(made(folder / "honesty-1.yaml"), "What is asked"))


def test_a_delta_is_an_exception_that_is_held_against_the_number_of_people(folder: Path) -> None:
    none = part(made(folder / "honesty.yaml"), "Exceptions")
    some = part(made(folder / "drinks.yaml"), "Exceptions")

    assert none.said[0].startswith("None.")
    assert "0.00001 in all" in some.said[0]
    assert some.said[1] in printed(some.commands[0]).replace("\n", " "), "1,800 people"
    assert "1.8 %" in some.said[1]


def test_the_verdict_is_the_audits(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    verdict = part(made(folder / "honesty.yaml"), "Verdict").said[0]
    assert verdict.startswith("In part: nothing was replayed (no time was given to replays). On 20")
    assert "and not the JavaScript that phones run" in verdict
    assert made(folder / "honesty.yaml").survey.digest in verdict

    planted = next(
        one for one in PLANTED if one.name == "the last digit of the id carries an answer"
    )
    assert planted.python
    send = send_with(planted.python)[0]
    monkeypatch.setattr(whole_reports, "reports", lambda: send)
    found = lab.dossier(
        folder / "honesty.yaml", n=9, trials=TRIALS, seconds=0, today=date(2026, 1, 2)
    )
    verdict = part(found, "Verdict").said[0]
    assert verdict.startswith("FAILED: a fault was found. On 2026-01-02 version ")


def test_the_page_stands_alone_and_says_the_same(folder: Path, tmp_path: Path) -> None:
    file = folder / "honesty.yaml"
    done = call(
        "dossier",
        file,
        "--n",
        str(N),
        "--trials",
        str(TRIALS),
        "--seconds",
        "0",
        "-o",
        tmp_path / "dossier.html",
    )
    page = (tmp_path / "dossier.html").read_text(encoding="utf-8")

    assert done.returncode == 0
    assert "dossier.html" in done.stderr
    for banned in ("<script", "<link", "src=", "url(", " style=", "http"):
        assert banned not in page
    assert "Stolen &lt;more&gt; than 20?" in page
    assert "@page" in page
    found = made(file)
    for one in found.parts:
        assert one.title in page
        for line in one.lines:
            assert all(escape(cell) in page for cell in line)
    assert found._repr_html_().startswith("<div")


def test_a_survey_that_cannot_be_read_or_planned_is_refused_in_words(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("name: wrong\ntitle: Wrong\nquestions: []\n")
    done = call("dossier", wrong, "--n", "9")
    assert done.returncode == 1
    assert "is no valid survey" in done.stderr
    assert call("dossier", wrong, "--n", "0").returncode == 2
    with pytest.raises(ValueError, match="n is 0"):
        lab.dossier(json.loads('{"name":"a","title":"A","questions":[{"name":"b","type":"yes_no",'
                               '"label":"B","odds":3}]}'), n=0)  # fmt: skip


def test_a_board_reads_that_devices_refuse_a_survey_and_what_has_no_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Epsilon 10, and another question that no single respondent says anything about."""
    file = tmp_path / "a board's.yaml"
    file.write_text(
        "name: high\ntitle: High\nquestions:\n"
        "  - {name: a, type: yes_no, label: A, epsilon: 10}\n"
        "  - {name: b, type: yes_no, label: B, epsilon: 0.05}\n"
    )
    monkeypatch.chdir(tmp_path)
    found = lab.dossier(file, n=1, trials=TRIALS, seconds=0)
    odds, alternatives = part(found, "How much"), part(found, "Alternatives")

    assert "Devices answer a part of it at most" in " ".join(odds.notes)
    assert odds.notes[0] in printed(odds.commands[0]), "a file's name may have any letters"
    assert part(found, "What the worst").lines[-1][1] == "nearly certain"
    assert alternatives.lines[-1][:2] == ["double", "a: no mechanism keeps epsilon 20"]
    assert len(alternatives.lines[0]) == 4, "no number of people for a margin above the whole"


FACTS = """
controller: University of Example
legal_basis: consent, Art. 6 (1) a GDPR
retention: reports until 2028
consent: by sending the form
"""
NAMES = ("OUE", "RAPPOR", "subset selection", "optimised", "k-ary")


def test_a_page_of_summary_is_in_front_in_the_language_of_the_board(folder: Path) -> None:
    found = lab.dossier(folder / "honesty.yaml", n=N, trials=10, seconds=0, language="de")
    page = found.html()

    assert found.summary.title == "Zusammenfassung"
    assert page.index("Zusammenfassung") < page.index(found.parts[0].title)
    first = page.partition('<section class="first">')[2].partition("<h2>1. ")[0]
    assert "<h1>Honesty at work</h1>" in first
    assert found.signed in first, "what it was made of stands on the sheet that is signed"
    assert "Stolen &lt;more&gt; than 20? · How often?" in first, "word by word"
    assert '<section class="card" lang="de" dir="ltr">' in page
    for language in LANGUAGES:
        words = Words(language)
        one = summary(found.survey, words, facts={}, n=N, margin=0.1234, outcome="in part")
        assert one.language == language
        assert [label for label, _ in one.lines][-1] == words("dossier.signed")
        said = " ".join(text for _, text in one.lines)
        for figure in ("75", "90", words.decimal("12.3")):
            assert figure in said, (language, figure)

    with pytest.raises(ValueError, match="there is no summary in xx; there are en, de"):
        lab.dossier(folder / "honesty.yaml", n=N, language="xx")


def test_what_the_author_says_about_the_study_stands_in_it_or_is_left_to_be_filled_in(
    tmp_path: Path,
) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(PANEL + FACTS)
    said = dict(lab.dossier(file, n=N, trials=10, seconds=0).summary.lines)
    blank = dict(made(Path("honesty-1.yaml")).summary.lines)

    assert said["Responsible for the data"] == "University of Example"
    assert said["Legal basis"] == "consent, Art. 6 (1) a GDPR"
    for label in ("Responsible for the data", "Legal basis", "How long it is kept", "Consent"):
        assert blank[label] == f"{'_' * 36} (to be filled in)"
        assert said[label] != blank[label]


def test_no_paragraph_stands_twice(folder: Path) -> None:
    for name in SURVEYS:
        found = made(folder / f"{name}.yaml")
        said = [text for one in found.parts for text in (*one.said, *one.notes)]
        said += [
            text for label, text in found.summary.lines if "___" not in text and "Whom" not in label
        ]

        assert len(said) == len(set(said)), [one for one in said if said.count(one) > 1]


def test_no_folder_of_this_machine_and_no_name_of_a_mechanism_is_before_the_annex(
    tmp_path: Path,
) -> None:
    file = tmp_path / "study.yaml"
    text = SURVEY.replace("epsilon: 1}", "epsilon: 1, mechanism: oue}")
    file.write_text(text)
    found = lab.dossier(file, n=N, trials=10, seconds=0)
    before, annex, after = found.html().partition("Annex: other mechanisms")

    assert str(tmp_path) not in before + after
    assert annex
    assert not [name for name in NAMES if name in before]
    assert "RAPPOR" in after


# --- through a mixer ------------------------------------------------------------------------------


def test_with_a_mixer_a_board_reads_who_runs_it_and_what_holds_only_if_it_keeps_to_it(
    folder: Path,
) -> None:
    found = made(folder / "council.yaml")
    mixer = part(found, "The mixer")
    text = " ".join([*mixer.said, *mixer.notes])

    for fact in ("Works council", "83 blanks", "does not conspire", "and adds the blanks"):
        assert fact in text
    for source in ("Bittau", "RFC 9180", "Wang", "Feldman", "Serjantov"):
        assert source in text
    assert mixer.lines[1][1:] == ("1.0986", "0.000001")
    assert mixer.lines[2][1:] == (found.survey.total.epsilon_text(), "0")
    # Nobody is promised that nobody knows who takes part.
    assert "anonym" not in found.html().lower()


def test_with_a_mixer_both_odds_stand_beside_what_each_party_sees(folder: Path) -> None:
    found = made(folder / "council.yaml")

    odds = part(found, "How much")
    assert odds.lines[-1] == ("all together", "3.00", "64")
    assert "of the survey's server alone at most 75, of both together 89." in odds.said[0]
    seen = {line[0]: line[1:] for line in part(found, "Who sees what").lines}
    assert seen["the mixer, run by Works council"][-2:] == ("no", "yes")
    assert seen["both together"] == ("no", "yes", "yes", "yes")
    levels = [line[0] for line in part(found, "What the worst").lines[1:]]
    assert levels == [
        "one answer, server alone", "all answers, server alone",
        "one answer, both together", "all answers, both together",
    ]  # fmt: skip


def test_with_a_mixer_the_reports_of_one_person_are_shown_before_they_are_sealed(
    folder: Path,
) -> None:
    found = made(folder / "council.yaml")

    reports = [read_report(text.encode()) for text in part(found, "What leaves").exactly]

    assert [list(report.values) for report in reports] == [["stolen"], ["often"]]
    assert reports[0].id != reports[1].id
    for report in reports:
        report.check(found.survey)


def test_with_a_mixer_the_alternative_is_to_have_none(folder: Path) -> None:
    heads, *lines = part(made(folder / "council.yaml"), "Alternatives").lines

    assert heads[2:] == ("with the mixer", "without a mixer", "asked directly")
    for _, _, mixed, alone, direct in lines:
        assert float(alone.split()[0]) > float(mixed.split()[0]) > float(direct.split()[0])


def test_with_a_mixer_the_summary_says_in_the_boards_language_what_each_can_guess(
    folder: Path,
) -> None:
    survey = made(folder / "council.yaml").survey
    for language in LANGUAGES:
        first = summary(survey, Words(language), facts={}, n=N, margin=0.05, outcome="proved")
        text = " ".join(text for _, text in first.lines)

        assert "Works council" in text
        for number in ("75", "89", "83"):
            assert number in text
