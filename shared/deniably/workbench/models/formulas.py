"""Reads formulas, and makes the columns of a model from a table: for new rows the same as for
those of the fit."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from deniably.core.binomial import Floats
from deniably.core.errors import BadModel
from deniably.core.extras import install_command
from deniably.workbench.models.corrected import CellTable
from deniably.workbench.models.fit import Ints
from deniably.workbench.models.joint import cell_answers
from deniably.workbench.models.model_columns import names_of, nearest, read_columns
from deniably.workbench.models.randomised import Randomised

if TYPE_CHECKING:
    import pandas as pd

_SCORE = "score"
_QUOTED = re.compile("`([^`]+)`")
_KEPT = 1 << 26
"""The most numbers of a table of columns that is kept in memory; of a larger one, rows are made
again whenever they are needed."""
_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class Formula:
    """A parsed formula: the name of its ``outcome``, the ``variables`` of its right side, and the
    parsed ``right`` side itself, an object of formulaic.

    In the formula, a name that Python does not allow, such as a-b, is between backticks. ``right``
    has a stand-in for such a name, and ``stand_ins`` maps each stand-in to the name.
    """

    text: str
    outcome: str
    variables: tuple[str, ...]
    right: Any
    stand_ins: Mapping[str, str]

    def named(self, text: str) -> str:
        """Returns ``text`` with each stand-in replaced by its name, and without backticks."""
        for stand_in, name in self.stand_ins.items():
            text = text.replace(stand_in, name)
        return text.replace("`", "")


def _with_stand_ins(formula: str) -> tuple[str, dict[str, str]]:
    """Returns the formula with stand-ins for names between backticks, and what each stands for."""
    known = dict[str, str]()

    def stand_in(match: re.Match[str]) -> str:
        name = match[1]
        if name.isidentifier() and not iskeyword(name):
            return match[0]
        return known.setdefault(name, f"quoted{len(known) + 1}_")

    written = _QUOTED.sub(stand_in, formula)
    return written, {stand_in: name for name, stand_in in known.items()}


def parsed(formula: str) -> Formula:
    """Parses a formula. Raises BadModel where the text is no formula or its outcome is not a
    single column, and ImportError without formulaic."""
    try:
        import formulaic
        from formulaic.errors import FormulaicError
    except ImportError:
        raise ImportError(
            f"formulas need formulaic; get it with: {install_command('bench')}"
        ) from None
    read: Any = formulaic.Formula
    written, stand_ins = _with_stand_ins(formula)
    try:
        sides: Any = read(written)
    except FormulaicError as error:
        raise BadModel(f"{formula!r} is no formula: {one_line(error)}") from None
    left = [str(term) for term in getattr(sides, "lhs", ())]
    # The outcome must be a column by itself: no log(y), as true answers are not known.
    if len(left) != 1 or _variables(sides.lhs) != set(left):
        raise BadModel(
            f"{formula!r} has no outcome: write one column, ~ and the covariates, such as"
            ' "affair ~ age", and one like a-b between backticks'
        )
    if isinstance(sides.rhs, tuple):
        raise BadModel(f"{formula!r} has two right sides: | has no meaning here")
    names = {stand_ins.get(name, name) for name in _variables(sides.rhs)}
    outcome = stand_ins.get(left[0], left[0])
    if outcome in names:
        raise BadModel(f"{outcome} stands on both sides of the formula")
    if not len(sides.rhs):
        raise BadModel("the right side of the formula is empty: write ~ 1 for a constant alone")
    return Formula(formula, outcome, tuple(sorted(names)), sides.rhs, stand_ins)


def _variables(side: Any) -> set[str]:
    """Returns the columns that a side needs. formulaic alone misses those within calls such as
    center()."""
    import formulaic.transforms

    known: Mapping[str, object] = cast(Any, formulaic.transforms).TRANSFORMS
    used = {str(name) for name in side.required_variables} - {_SCORE}
    for factor in (factor for term in side for factor in term.factors):
        if factor.eval_method.value == "lookup":
            used |= {_SCORE} & {str(factor.expr)}  # a column of that name, as no call is
            continue  # a name alone, whose letters may be no Python
        try:
            tree = ast.parse(str(factor.expr), mode="eval")
        except SyntaxError:
            continue  # a name between backticks
        called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        names = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
        used |= {node.id for node in names if id(node) not in called}
    return used - known.keys()


class Columns:
    """Computes the columns of a formula's right side: first for the rows of the fit, and then in
    the same way for new rows.

    ``reports`` has the randomised columns by name. In the formula, the function score() turns a
    randomised column into numbers.
    """

    def __init__(self, formula: Formula, reports: Mapping[str, Randomised]) -> None:
        self._asked, self._spec = formula, cast(Any, None)
        self._seen = dict[str, list[object]]()
        self._context = {_SCORE: self._score}
        self._right = {name: reports[name] for name in formula.variables if name in reports}

    @property
    def names(self) -> list[str]:
        """Returns the names of the columns, in order."""
        return [self._asked.named(name) for name in self._spec.column_names]

    def first(self, table: pd.DataFrame) -> Floats:
        """Returns the columns of the n rows that the model is fitted to, shape (n, columns), and
        remembers how they were computed. Raises BadModel where the formula cannot be computed."""
        made = self._made(self._asked.right, table)
        self._spec = made.model_spec
        self._seen = {
            name: list(table[name].unique()) for name in self._asked.variables if name in table
        }
        # Such columns would be computed from the cells of true answers, and not from people.
        if self._right and any(self._spec.transform_state.values()):
            raise BadModel(
                "center(), scale(), poly() and splines depend on all rows, and true answers are"
                " known of none: make such columns yourself, before"
            )
        if not made.shape[1]:
            raise BadModel("the right side of the formula has no column")
        return np.asarray(made, np.float64)

    def again(self, rows: pd.DataFrame) -> Floats:
        """Returns the columns of other rows, computed as ``first`` computed those of the fit.
        Raises BadModel for a value that does not occur in the rows of the fit."""
        return np.asarray(self._made(self._spec, rows), np.float64)

    def __call__(self, frame: object) -> Floats:
        """Returns the columns (n, c) of new rows, which have the true answers to randomised
        columns. Raises BadModel for a missing column or an unknown value."""
        rows = read_columns(frame, self._asked.variables or names_of(frame)[:1])
        for name, column in self._right.items():
            rows[name] = self.answers(column, _places(column, rows[name]))
        return self.again(rows)

    @staticmethod
    def answers(column: Randomised, places: Ints) -> Any:
        """Returns true answers as a column for a table, given their numbers ``places``: 0.0 and
        1.0 for a column of 0 and 1, otherwise categories."""
        import pandas as pd

        if column.is_pair and column.choices == (0, 1):
            return places.astype(np.float64)
        names = [str(choice) for choice in column.choices]
        return pd.Categorical([names[int(place)] for place in places], categories=names)

    def _score(self, column: Any) -> Any:
        for randomised in self._right.values():
            if self._asked.named(str(getattr(column, "name", ""))) == randomised.name:
                if len(apart := np.flatnonzero(np.isnan(randomised.values))):
                    named = ", ".join(str(randomised.choices[place]) for place in apart)
                    raise BadModel(
                        f"{_SCORE}({randomised.name}) is no number for everybody: {named} has no"
                        f" place on the scale. Write {randomised.name} alone, for categories"
                    )
                codes = column.cat.codes if hasattr(column, "cat") else column
                return randomised.values[np.asarray(codes, np.int64)]
        raise BadModel(f"{_SCORE}() takes a randomised column, by its name alone")

    def _unseen(self, table: pd.DataFrame, why: str) -> str:
        """Returns a sentence on a value that the rows of the fit did not have."""
        for name, seen in self._seen.items():
            new = [
                value for value in table[name].unique() if value not in seen and repr(value) in why
            ]
            if new:
                return (
                    f"{name} has a value that the model was not fitted to:"
                    f" {new[0]}{nearest(str(new[0]), map(str, seen))}"
                )
        return f"the rows have values that the model was not fitted to: {why}"

    def _made(self, recipe: Any, table: pd.DataFrame) -> Any:
        from formulaic.errors import DataMismatchWarning, FormulaicError

        names = {name: stand_in for stand_in, name in self._asked.stand_ins.items()}
        known = table.rename(columns=names)
        # formulaic only warns of unknown categories, and makes their columns 0.
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                return recipe.get_model_matrix(known, context=self._context, na_action="raise")
            except BadModel:
                raise
            except DataMismatchWarning as error:
                raise BadModel(self._unseen(table, str(error))) from None
            except (FormulaicError, Warning, ValueError, TypeError) as error:
                if isinstance(cause := error.__cause__ or error.__context__, BadModel):
                    raise cause from None
                raise BadModel(
                    f"the columns of {self._asked.text!r} cannot be made: {one_line(error)}"
                ) from None


class CellRows:
    """The values of a formula's columns, for each person and each cell. A cell is a combination of
    true answers to the formula's randomised columns.

    ``public`` has the columns that are not randomised, with a row for each person. The formula is
    evaluated once for each distinct row of ``public``.
    """

    def __init__(
        self, columns: Columns, public: pd.DataFrame, randomised: Sequence[Randomised]
    ) -> None:
        self._columns, self._randomised = columns, randomised
        self._answers = cell_answers(randomised)
        self._cells = len(self._answers[0])
        rows, self.group = different_rows(public)
        self.rows = rows
        # Each answer is in some row, and each value of the others: what a formula has to see.
        size = max(len(rows), self._cells)
        some = rows.iloc[np.arange(size) % len(rows)].reset_index(drop=True)
        at = np.arange(size) % self._cells
        for column, answer in zip(randomised, self._answers, strict=True):
            some[column.name] = columns.answers(column, answer[at])
        self._width = columns.first(some).shape[1]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Returns the numbers of people, cells and columns."""
        return len(self.group), self._cells, self._width

    def table(self) -> CellTable:
        """Returns the values as a table that is held in memory."""
        return CellTable(self._made(self.rows), self.group)

    def kept(self) -> CellTable | CellRows:
        """Returns the values as a table if that is small enough for memory. Otherwise returns this
        object, which computes the values whenever they are needed."""
        return self.table() if len(self.rows) * self._cells * self._width <= _KEPT else self

    def of(self, some: slice) -> Floats:
        """Returns the columns of the people in the slice ``some``, shape (people in it, cells,
        columns)."""
        return self._made(self.rows.iloc[self.group[some]])

    def distinct(self) -> Iterator[Floats]:
        """Yields the columns of all distinct rows of ``public`` in blocks, shape (rows, cells,
        columns)."""
        step = max(1, _AT_ONCE // (self._cells * self._width))
        for start in range(0, len(self.rows), step):
            yield self._made(self.rows.iloc[start : start + step])

    def _made(self, rows: pd.DataFrame) -> Floats:
        grid = rows.iloc[np.repeat(np.arange(len(rows)), self._cells)].reset_index(drop=True)
        for column, answer in zip(self._randomised, self._answers, strict=True):
            grid[column.name] = self._columns.answers(column, np.tile(answer, len(rows)))
        return self._columns.again(grid).reshape(len(rows), self._cells, -1)


def different_rows(table: pd.DataFrame) -> tuple[pd.DataFrame, Ints]:
    """Returns the distinct rows of a table, and an array that has for each row of the table the
    number of its distinct row."""
    if not table.shape[1]:
        return table.iloc[:1], np.zeros(len(table), np.int64)
    groups: Any = table.groupby(list(table), sort=False, observed=True).ngroup()
    group: Ints = groups.to_numpy(np.int64)
    _, first = np.unique(group, return_index=True)
    return table.iloc[first], group


def _places(reported: Randomised, column: Any) -> Ints:
    """Returns the numbers of true answers, which are given by name. Raises BadModel for an unknown
    one."""
    known = {str(choice): place for place, choice in enumerate(reported.choices)}
    try:
        return np.array([known[_answer_text(answer)] for answer in column], np.int64)
    except KeyError:
        raise BadModel(
            f"{reported.name} takes the true answers {', '.join(known)} where you predict"
        ) from None


def _answer_text(answer: Any) -> str:
    """Returns an answer spelt as choices are: 1 for 1.0 and True."""
    if isinstance(answer, str):
        return answer
    return f"{float(answer):g}"


def one_line(error: object) -> str:
    """Returns the message of an error as one line of at most 300 characters, without colour
    codes."""
    return " ".join(re.sub("[\\x1b⧛]\\[[0-9;]*m|⧚", "", str(error)).split())[:300]
