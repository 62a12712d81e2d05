"""The catalogues of the interface: the same keys everywhere, and words that frighten nobody."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

import pytest

from deniably.wording.explain import clipped, describe_inference, describe_sending, describe_total
from deniably.wording.words import LANGUAGES, Words, direction
from support.catalogues import CATALOGUES, pattern, texts
from support.every_type import survey_of_everything

ENGLISH = CATALOGUES["en"]
FORMS = {
    "pl": {"one", "few", "many"},
    "uk": {"one", "few", "many"},
    "ar": {"one", "two", "few", "many", "other"},
    "zh": {"other"},
}
PLACE = re.compile(r"\{([a-z_]+)\}")


def places(entry: str | dict[str, str]) -> set[str]:
    return set(PLACE.findall(entry if isinstance(entry, str) else " ".join(entry.values())))


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_catalogue_has_the_same_keys_in_the_same_order(language: str) -> None:
    assert list(CATALOGUES[language]) == list(ENGLISH)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_text_has_the_same_placeholders(language: str) -> None:
    assert {key: places(entry) for key, entry in CATALOGUES[language].items()} == {
        key: places(entry) for key, entry in ENGLISH.items()
    }


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_plural_has_the_forms_of_its_language_and_a_count(language: str) -> None:
    plurals = {key: e for key, e in CATALOGUES[language].items() if isinstance(e, dict)}

    assert plurals
    for key, forms in plurals.items():
        assert set(forms) == FORMS.get(language, {"one", "other"}), key
        assert "count" in places(forms), key
    assert {key for key, e in ENGLISH.items() if isinstance(e, dict)} <= set(plurals)


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_text_frightens_or_boasts(language: str) -> None:
    found = [(key, text) for key, text in texts(language) if pattern(language).search(text)]

    assert found == []


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "Nobody can see that you Lie."),
        ("en", "100 % anonymous"),
        ("de", "Das Rauschen schützt Sie."),
        ("de", "Eine gefälschte Antwort"),
        ("fr", "Un bruit aléatoire"),
        ("fr", "Une réponse fausse"),
        ("it", "Una risposta falsa"),
        ("it", "Il rumore"),
        ("es", "Una respuesta falsa"),
        ("pt", "O ruído protege"),
        ("pl", "Ankieta anonimowa"),
        ("tr", "Sahte bir yanıt"),
        ("uk", "Алгоритм додає шум"),
        ("ar", "تضيف خوارزمية ضوضاء"),
        ("zh", "您的设备会加入噪声"),
    ],
)
def test_a_frightening_text_would_be_found(language: str, text: str) -> None:
    assert pattern(language).search(text)


def test_no_text_is_left_in_english() -> None:
    same = {"fields.comma", "fields.semicolon", "script.pair", "number.point", "number.group"}
    same |= {"script.percent", "date.long"}
    for language in LANGUAGES[1:]:
        left = {
            key
            for key, entry in CATALOGUES[language].items()
            if entry == ENGLISH[key] and key not in same
        }
        cognates = {
            "fr": {"start.questions"},
            "it": {"choice.no", "terminal.no"},
            "es": {"choice.no", "terminal.no"},
            "zh": {"receipt.file"},
        }
        assert left == cognates.get(language, set()), language


def test_french_has_its_spaces_and_german_its_quotation_marks() -> None:
    for key, text in texts("fr"):
        assert not re.search(r" [?!;:»]|« ", text), f"{key}: a breaking space"
        assert not re.search(r"\w[?!;»]|«\w", text), f"{key}: a space is missing"
    for language in LANGUAGES:
        assert not [key for key, text in texts(language) if '"' in text or "'" in text]
    for key, text in texts("de"):
        assert text.count("„") == text.count("“"), key
    for key, text in texts("pl"):
        assert text.count("„") == text.count("”"), key
    for language in ("es", "it", "uk", "ar"):
        for key, text in texts(language):
            assert text.count("«") == text.count("»"), key


def test_spanish_opens_its_questions_and_arabic_has_its_own_marks() -> None:
    for key, text in texts("es"):
        if key != "memory.choose":  # the terminal adds the end of the question
            assert text.count("¿") == text.count("?"), key
    for key, text in texts("ar"):
        assert not re.search(r"[?;]|\w,\s", text), f"{key}: ؟ ؛ ،"


@pytest.mark.parametrize("language", LANGUAGES)
def test_people_are_addressed_with_respect(language: str) -> None:
    """Sie, vous, Lei, usted, siz, ви, 您: a survey comes from a stranger. In Portuguese, Polish
    and Arabic the form of address is that of other forms there."""
    familiar = {"de": r"\b(du|dein\w*|dir|dich)\b", "fr": r"\b(tu|toi|tes|ton|ta)\b",
                "it": r"\b(tu|tuo|tua|tuoi|tue)\b", "es": r"\b(tú|tu|tus|te|ti)\b",
                "pt": r"\b(tu|teu|tua|teus|tuas)\b", "tr": r"\b(sen|senin|sana|seni)\b",
                "uk": r"\b(ти|твій|твоя|твоє|твої|тобі|тебе)\b", "zh": "你"}  # fmt: skip
    if language in familiar:
        found = re.compile(familiar[language], re.IGNORECASE)
        assert [key for key, text in texts(language) if found.search(text)] == []


# --- looking up -------------------------------------------------------------------------------


def test_placeholders_are_filled_in_and_never_read_again() -> None:
    words = Words("en")

    assert words("script.pair", name="{text}", text="b") == "{text}: b"


def test_names_do_not_turn_a_sentence_round_that_is_written_from_right_to_left() -> None:
    """Else a number after a Latin name would stand on the wrong side of it."""
    told = Words("ar")("start.reports_analysts", who="Works Council 7")

    assert "\u200fWorks Council 7\u200f" in told
    assert "\u200f" not in Words("en")("start.reports_analysts", who="Works Council 7")
    assert "\u200f" not in Words("ar")("start.questions", count=7)


def test_an_unknown_key_or_a_missing_value_is_an_error() -> None:
    for language in LANGUAGES:
        with pytest.raises(KeyError):
            Words(language)("start.nothing")
        with pytest.raises(KeyError):
            Words(language)("script.pair", name="a")


@pytest.mark.parametrize(
    ("tag", "language"),
    [("de", "de"), ("de-CH", "de"), ("DE-at", "de"), ("zh-Hans-CN", "zh"),
     ("pt-BR", "pt"), ("ar-EG", "ar"), ("fa", "en"), ("eng", "en"), ("", "en"),
     ("../../etc/passwd", "en")],
)  # fmt: skip
def test_a_language_falls_back_to_its_base_and_then_to_english(tag: str, language: str) -> None:
    assert Words(tag).language == language
    assert Words(tag)("language.name") == CATALOGUES[language]["language.name"]


@pytest.mark.parametrize(
    ("language", "none", "one", "two"),
    [
        ("en", "0 questions", "1 question", "2 questions"),
        ("de", "0 Fragen", "1 Frage", "2 Fragen"),
        ("fr", "0 question", "1 question", "2 questions"),
        ("it", "0 domande", "1 domanda", "2 domande"),
        ("es", "0 preguntas", "1 pregunta", "2 preguntas"),
        ("pt", "0 pergunta", "1 pergunta", "2 perguntas"),
        ("pl", "0 pytań", "1 pytanie", "2 pytania"),
        ("tr", "0 soru", "1 soru", "2 soru"),
        ("uk", "0 питань", "1 питання", "2 питання"),
        ("ar", "0 سؤال", "سؤال واحد", "سؤالان"),
        ("zh", "0 个问题", "1 个问题", "2 个问题"),
    ],
)
def test_small_plurals_are_those_of_the_language(
    language: str, none: str, one: str, two: str
) -> None:
    words = Words(language)

    assert [words("start.questions", count=count) for count in (0, 1, 2)] == [none, one, two]


@pytest.mark.parametrize(
    ("language", "large", "tenths"),
    [
        ("en", "1,234,567", "2,981.5"),
        ("de", "1.234.567", "2.981,5"),
        ("fr", "1\u202f234\u202f567", "2\u202f981,5"),
        ("it", "1.234.567", "2.981,5"),
        ("es", "1.234.567", "2.981,5"),
        ("pt", "1.234.567", "2.981,5"),
        ("pl", "1\u00a0234\u00a0567", "2\u00a0981,5"),
        ("tr", "1.234.567", "2.981,5"),
        ("uk", "1\u00a0234\u00a0567", "2\u00a0981,5"),
        ("ar", "1,234,567", "2,981.5"),
        ("zh", "1,234,567", "2,981.5"),
    ],
)
def test_numbers_are_written_as_the_language_does(language: str, large: str, tenths: str) -> None:
    words = Words(language)

    assert words.number(1234567) == large
    assert words.number(Decimal("2981.5")) == tenths
    assert words.number(Decimal("1.23E+3")) == words.number(1230)
    assert words.decimal("-5.5") == "-5" + CATALOGUES[language]["number.point"] + "5"
    assert words("explain.exception", count=100000).count(words.number(100000)) == 1


@pytest.mark.parametrize(
    ("tag", "way"),
    [("ar", "rtl"), ("he-IL", "rtl"), ("fa", "rtl"), ("ur-PK", "rtl"), ("az-Arab", "rtl"),
     ("ks-Deva", "ltr"), ("en", "ltr"), ("zh-Hans", "ltr"), ("de-CH", "ltr")],
)  # fmt: skip
def test_the_way_of_writing_follows_from_the_tag(tag: str, way: str) -> None:
    assert direction(tag) == way


# --- sentences made of them -------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_mechanism_is_explained_in_every_language(language: str) -> None:
    """With every figure of the English sentence, and with nothing left to fill in."""
    words, survey = Words(language), survey_of_everything()

    def figures(text: str) -> list[str]:
        for mark in (words("number.group"), ","):
            text = re.sub(rf"(?<=\d){re.escape(mark)}(?=\d{{3}}\b)", "", text)
        text = re.sub(r"(?<=\d),(?=\d)", ".", text)
        return sorted(set(re.findall(r"\d+(?:\.\d+)?", text)) - {"1"})

    for question in survey.questions:
        for say in (describe_sending, describe_inference, clipped):
            text, english = say(question, words) or "", say(question) or ""
            assert "{" not in text
            assert figures(text) == figures(english), question.name
    assert figures(describe_total(survey, words)) == figures(describe_total(survey))


def test_the_figures_of_sentences_are_written_as_the_language_does() -> None:
    from deniably.core.loss import Loss
    from deniably.wording.explain import at_most

    loss = Loss(Fraction(99, 10), delta=Fraction(1, 100_000))

    assert at_most(loss, "memory.bound", Words("de")).endswith(
        "höchstens 9,9-mal so wahrscheinlich, ausgenommen in höchstens 1 von 100.000 Fällen."
    )
