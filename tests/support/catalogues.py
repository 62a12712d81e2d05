"""The catalogues of the interface as tests read them, and what none of them says."""

from __future__ import annotations

import json
import re
from pathlib import Path

from deniably.wording.words import LANGUAGES

ROOT = Path(__file__).parents[2]
CATALOGUES = {
    language: json.loads(
        (ROOT / f"shared/deniably/wording/languages/{language}.json").read_text(encoding="utf-8")
    )
    for language in LANGUAGES
}
# What is said to respondents has none of these (research: they read as deceit, or not at all).
# Whole words; a star stands for any ending.
FORBIDDEN = {
    "en": "lie lies lied lying fake* false* noise* noisy epsilon algorithm* anonym*",
    "de": "Lüge* lügen lügst lügt gelogen gefälscht* falsch* Rauschen verrauscht* Epsilon"
    " Algorithm* anonym*",
    "fr": "mensonge* mentir mentez menti faux fausse* bruit* epsilon algorithme* anonym*",
    "it": "bugi* mentire menta mente mentito falso falsa falsi false rumor* epsilon algoritm*"
    " anonim*",
    "es": "mentira* mentir miente* mienta* falso* falsa* ruido* épsilon epsilon algoritmo* anónim*",
    "pt": "mentira* mentir mente minta falso* falsa* ruído* épsilon epsilon algoritmo* anônim*"
    " anónim*",
    "pl": "kłam* fałsz* szum* epsilon algorytm* anonim*",
    "tr": "yalan* sahte* gürültü* epsilon algoritma* anonim*",
    "uk": "брех* обман* фальш* шум* епсилон epsilon алгоритм* анонім*",
    "ar": "كذب* الكذب* مزيف* زائف* ضوضاء* ضجيج* خوارزمي* مجهول* epsilon",
    "zh": "谎 假 噪 算法 匿名 ε epsilon",
}


def texts(language: str) -> list[tuple[str, str]]:
    """Every text of a catalogue with its key, each plural form by itself."""
    return [
        (key, text)
        for key, entry in CATALOGUES[language].items()
        for text in ([entry] if isinstance(entry, str) else entry.values())
    ]


def pattern(language: str) -> re.Pattern[str]:
    words = [re.escape(word).replace(r"\*", r"\w*") for word in FORBIDDEN[language].split()]
    joined = "|".join(words)
    whole = joined if language == "zh" else rf"\b(?:{joined})\b"
    return re.compile(whole, re.IGNORECASE)
