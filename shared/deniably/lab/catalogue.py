"""Registers each experiment once. Commands, pages and the library read this one table.

The inputs of an experiment are the parameters of its function that are annotated with an
``ExperimentInput``. Other parameters, such as a ``mechanism``, can only come from a survey or from
Python.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, wraps
from importlib import import_module
from typing import Any, ParamSpec, get_type_hints

from deniably.lab.experiment import Experiment, ExperimentFindings, Reference
from deniably.lab.experiment_names import EXPERIMENTS
from deniably.lab.inputs import ExperimentInput
from deniably.survey.questions import Question
from deniably.survey.survey import Survey

P = ParamSpec("P")


@dataclass(frozen=True)
class Case:
    """One possible run of an experiment on a survey. ``about`` is the label of the question whose
    mechanism is used, or the title of the survey; ``given`` has the arguments that come from the
    survey."""

    about: str
    given: Mapping[str, Any]


Cases = Callable[[Survey], Iterator[Case]]


@dataclass(frozen=True, eq=False)
class Entry:
    """An experiment of the catalogue.

    ``name`` is the name of its command and of its page, and ``function`` runs it in Python.
    ``inputs`` and ``defaults`` are by name of the parameter. ``cases(survey)`` yields all possible
    runs on a survey. ``instead`` is {argument from a survey: the inputs that the argument
    replaces}.
    """

    name: str
    title: str
    question: str
    inputs: Mapping[str, ExperimentInput]
    defaults: Mapping[str, Any]
    sources: Sequence[Reference]
    cases: Cases
    function: Callable[..., Experiment]
    instead: Mapping[str, Sequence[str]]

    def left(self, case: Case | None) -> dict[str, ExperimentInput]:
        """Returns the inputs, by name, that a reader still has to choose: all inputs if ``case``
        is None, otherwise those that the arguments of the case neither set nor replace."""
        fixed: Mapping[str, Any] = case.given if case else {}
        taken = {*fixed, *(name for key in fixed for name in self.instead.get(key, ()))}
        return {name: reader for name, reader in self.inputs.items() if name not in taken}

    def read(self, values: Mapping[str, object], case: Case | None = None) -> dict[str, Any]:
        """Returns {name: checked value} of the inputs that a reader has to choose: those that
        ``left(case)`` returns. ``values`` has Python values or texts by name of the input; an input
        that is not in ``values`` gets its default.

        Raises ValueError if ``values`` has another name, or a value that is out of range.
        """
        left = self.left(case)
        if unknown := sorted(set(values) - set(left)):
            raise ValueError(
                f"{self.name} has no input {unknown[0]}; it has {', '.join(left) or 'none'}"
            )
        return {
            name: reader.read(name, values.get(name, self.defaults[name]))
            for name, reader in left.items()
        }

    def run(self, case: Case | None = None, /, **given: object) -> Experiment:
        """Runs the experiment with the inputs ``given``, on a survey's ``case`` if there is one.
        Raises ValueError if the experiment does not take one of these inputs, or if a value is out
        of range."""
        if case is None:
            return self.function(**self.read(given))
        return replace(self.function(**self.read(given, case), **case.given), about=case.about)


def experiment(
    title: str,
    question: str,
    sources: Sequence[Reference],
    cases: Cases | None = None,
    instead: Mapping[str, Sequence[str]] | None = None,
) -> Callable[[Callable[P, ExperimentFindings]], Callable[P, Experiment]]:
    """Returns a decorator that registers a function as an experiment. The decorated function reads
    and checks its inputs before every run, and returns an ``Experiment``.

    ``title`` is a few words, ``question`` what the experiment answers. ``cases(survey)`` yields
    all possible runs on a survey. ``instead`` is {argument: the inputs that the argument
    replaces}: a run with such an argument does not list those inputs.
    """

    def registered(function: Callable[P, ExperimentFindings]) -> Callable[P, Experiment]:
        inputs, signature = _inputs(function), inspect.signature(function)
        name = function.__name__.replace("_", "-")

        @wraps(function)
        def run(*args: P.args, **more: P.kwargs) -> Experiment:
            bound = signature.bind(*args, **more)
            bound.apply_defaults()
            # Arguments of this call that replace inputs, such as a question's mechanism for two
            # coins.
            lent = [key for key in instead or () if bound.arguments[key] is not None]
            replaced = {name for key in lent for name in (instead or {})[key]}
            for key, reader in inputs.items():
                bound.arguments[key] = reader.read(key, bound.arguments[key])
            findings = function(*bound.args, **bound.kwargs)
            return Experiment(
                name,
                title,
                question,
                {key: bound.arguments[key] for key in inputs if key not in replaced},
                findings.answer,
                findings.rows,
                findings.pictures,
                sources,
                findings.notes,
                findings.mechanism,
            )

        entry = Entry(
            name,
            title,
            question,
            inputs,
            {key: signature.parameters[key].default for key in inputs},
            sources,
            cases or (lambda _: iter(())),
            run,
            instead or {},
        )
        # ``entries`` finds the entry on the function, so there is no list to be kept in step.
        run.__dict__["entry"] = entry
        run.__dict__["__signature__"] = signature.replace(return_annotation="Experiment")
        return run

    return registered


def each_question(arguments_for: Callable[[Question], Mapping[str, Any] | None]) -> Cases:
    """Returns a function that yields the runs of an experiment on the questions of a survey, one
    question in each run. ``arguments_for(question)`` returns the arguments for one question, or
    None if the experiment does not apply to it."""

    def cases(survey: Survey) -> Iterator[Case]:
        for question in survey.questions:
            if (arguments := arguments_for(question)) is not None:
                yield Case(question.label, arguments)

    return cases


def entries() -> dict[str, Entry]:
    """Returns all experiments as {name of the command and page: experiment}, in the order of the
    handout."""
    return dict(_entries())


def of_survey(survey: Survey, *, seed: int = 1) -> list[Experiment]:
    """Returns the results of all experiments that apply to a survey, each run with the survey's
    own mechanisms."""
    return [
        entry.run(case, **_seeded(entry, seed))
        for entry in entries().values()
        for case in entry.cases(survey)
    ]


def _seeded(entry: Entry, seed: int) -> dict[str, int]:
    return {"seed": seed} if "seed" in entry.inputs else {}


@cache
def _entries() -> dict[str, Entry]:
    # Imported at first use: experiments need scipy, which most commands do not.
    homes = (import_module(f"deniably.lab.experiments.{name}") for name in EXPERIMENTS)
    entries = [getattr(home, name).entry for home, name in zip(homes, EXPERIMENTS, strict=True)]
    return {entry.name: entry for entry in entries}


def _inputs(function: Callable[..., Any]) -> dict[str, ExperimentInput]:
    hints = get_type_hints(function, include_extras=True)
    return {
        name: annotation
        for name, hint in hints.items()
        for annotation in getattr(hint, "__metadata__", ())
        if isinstance(annotation, ExperimentInput)
    }
