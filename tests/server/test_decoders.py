"""Whatever is read, only the documented refusal comes out, and nothing else."""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from deniably.authoring.compiling import compile_survey, load
from deniably.core.canonical import canonical, parse
from deniably.core.errors import (
    BadInvitation,
    BadKey,
    BadMemory,
    BadRegister,
    BadReport,
    BadSignature,
    BadSurvey,
)
from deniably.device.memory import read_memory
from deniably.survey.report import read_report
from deniably.survey.survey import read_survey
from deniably.trust import blind_rsa, invitation_codes, signing
from deniably.trust.register import read_register
from deniably_server.api.report_lines import Outcomes, _Reader
from deniably_server.storage.tables.tokens import id_in
from support.material import a_report, register_of, register_text, survey_named

EXAMPLES = [25, pytest.param(2000, marks=pytest.mark.soak)]
SURVEY = survey_named()
DEFINITION: Any = json.loads(SURVEY.canonical)
REGISTER: Any = json.loads(register_text(register_of(SURVEY)))
REPORT: Any = json.loads(a_report(SURVEY).canonical)
AUTHORED: Any = yaml.safe_load(
    """
    name: workplace
    title: Honesty at work
    results: {minimum: 50}
    budget: {epsilon: 4}
    questions:
      - {name: stolen, type: yes_no, label: Stolen, coins: {truth: 0.5}}
      - {name: often, type: select_one, label: How often, choices: [Never, Once], epsilon: 1}
      - {name: pay, type: number, label: Pay, minimum: 0, maximum: 8000, step: 100, epsilon: 1}
      - {name: home, type: point, label: Where, epsilon: 1, grid: 4, parts: [
          {name: x, label: X, minimum: 0, maximum: 9}, {name: y, label: Y, minimum: 0, maximum: 9}]}
    """
)
MEMORY: Any = {
    "authors": {},
    "ledger": [],
    "memos": {},
    "registers": {"https://example.org": {"count": 3, "head": "0" * 64}},
    "reports": {},
    "spec": 1,
}

strange = st.sampled_from(
    [None, True, -1, 0, 2**53, -(2**63), 10**400, 0.5, 1e308, float("nan"), float("inf"), "",
     "\x00", "\ud800", "9" * 400, "1e9", "1/0", "\u202e", [], {}, [[]], {"": None}, "__class__"]
)  # fmt: skip
anything = st.recursive(
    strange | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


@st.composite
def nearly(draw: st.DrawFn, document: Any) -> Any:
    """A document with one to three places that are missing, doubled, or something else."""
    found = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        place, key = found, None
        while isinstance(place, list | dict) and place:
            keys = (
                list(cast("dict[str, Any]", place))
                if isinstance(place, dict)
                else range(len(place))
            )
            holder, key = place, draw(st.sampled_from(list(keys)))
            place = cast("dict[Any, Any]", holder)[key]
            if not isinstance(place, list | dict) or draw(st.booleans()):
                break
        if key is None:
            return draw(anything)
        match draw(st.sampled_from(["missing", "more", "other"])):
            case "missing":
                del holder[key]
            case "more" if isinstance(holder, list):
                holder.append(copy.deepcopy(place))
            case "more":
                holder[draw(st.text(max_size=4))] = draw(anything)
            case _:
                holder[key] = draw(anything)
    return found


def texts(document: Any) -> st.SearchStrategy[bytes]:
    """Bytes, JSON, nearly the document, and the document cut or with a byte changed."""
    right = canonical(document)
    cut = st.integers(0, len(right)).map(lambda end: right[:end])
    changed = st.tuples(st.integers(0, len(right) - 1), st.binary(min_size=1, max_size=1)).map(
        lambda pair: right[: pair[0]] + pair[1] + right[pair[0] + 1 :]
    )
    return st.binary(max_size=99) | cut | changed | (anything | nearly(document)).map(_json)


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _lines(text: bytes) -> None:
    found = Outcomes()
    _Reader(cast("Any", None), SURVEY).read(text, found)
    assert len(found.codes) == len(text.removesuffix(b"\n").split(b"\n")) - (not text)


def _signature(text: bytes) -> None:
    author, _, value = text.decode("latin-1").partition(" ")
    signing.verify(SURVEY.digest, signing.Signature(author, value))


DECODERS: dict[str, tuple[Callable[[bytes], Any], Any, tuple[type[Exception], ...]]] = {
    "canonical JSON": (parse, REPORT, (ValueError,)),
    "definition": (read_survey, DEFINITION, (BadSurvey,)),
    "report": (read_report, REPORT, (BadReport,)),
    "lines": (_lines, REPORT, ()),
    "register": (read_register, REGISTER, (BadRegister,)),
    "memory": (read_memory, MEMORY, (BadMemory,)),
    "author's document": (lambda text: compile_survey(load(text)), AUTHORED, (BadSurvey,)),
    "author's key": (signing.read_key, REPORT, (BadKey,)),
    "signature": (_signature, REPORT, (BadSignature,)),
    "invitation": (
        lambda text: invitation_codes.read_code(text.decode("latin-1")),
        REPORT,
        (BadInvitation,),
    ),
    "invitations' key": (
        lambda text: blind_rsa.read_private_key(text.decode("latin-1")),
        REPORT,
        (BadKey,),
    ),
    "token": (lambda text: id_in(text.decode("latin-1")), REPORT, ()),
}


@pytest.mark.parametrize("examples", EXAMPLES)
@pytest.mark.parametrize("name", DECODERS)
def test_only_the_documented_refusal_comes_out(name: str, examples: int) -> None:
    decode, document, refusals = DECODERS[name]

    @settings(max_examples=examples, deadline=None)
    @given(text=texts(_plain(document)))
    def read(text: bytes) -> None:
        try:
            decode(text)
        except refusals:
            return

    read()


def _plain(document: Any) -> Any:
    """Without fractions, which canonical JSON does not have: as texts, which YAML reads alike."""
    return json.loads(json.dumps(document), parse_float=str)


@pytest.mark.parametrize("examples", EXAMPLES)
def test_an_authors_document_is_compiled_or_refused(examples: int) -> None:
    @settings(max_examples=2 * examples, deadline=None)
    @given(value=nearly(AUTHORED))
    def compiled(value: Any) -> None:
        try:
            survey = compile_survey(value)
        except BadSurvey as refusal:
            found = refusal.problems
        else:
            assert read_survey(survey.canonical) == survey
            return
        assert found
        assert all(each.path.startswith("$") and each.why for each in found)

    compiled()


@pytest.mark.parametrize("examples", EXAMPLES)
def test_yaml_is_read_or_refused(examples: int) -> None:
    @settings(max_examples=examples // 2, deadline=None)
    @given(value=nearly(AUTHORED))
    def read(value: Any) -> None:
        out = io.StringIO()
        try:
            yaml.safe_dump(value, out, allow_unicode=True)
        except (yaml.YAMLError, UnicodeError):
            return
        with suppress(BadSurvey):
            compile_survey(load(out.getvalue().encode("utf-8", "surrogatepass")))

    read()
