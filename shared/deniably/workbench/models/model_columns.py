"""Reads columns of data frames, whole and checked, for formulas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from deniably.core.binomial import Floats
from deniably.core.errors import BadModel
from deniably.core.extras import install_command
from deniably.workbench.models.fit import Ints

if TYPE_CHECKING:
    import pandas as pd


def read_columns(frame: object, names: Iterable[str]) -> pd.DataFrame:
    """Returns the columns ``names`` of ``frame`` as a pandas frame. ``frame`` is a pandas or
    polars frame, another one that narwhals reads, or a mapping of names to columns.

    Raises BadModel for an unknown column, columns of unequal length, a frame without rows, and
    values that are missing or not finite; the message states the first such row.
    """
    import pandas as pd

    columns = {name: _column(frame, name) for name in dict.fromkeys(names)}
    if len({len(column) for column in columns.values()}) > 1:
        raise BadModel(
            "the columns are not equally long: "
            + ", ".join(f"{name} has {len(column)}" for name, column in columns.items())
        )
    table = pd.DataFrame(
        {name: pd.Series(list_or_series) for name, list_or_series in columns.items()}
    )
    if table.shape[1] and not len(table):
        raise BadModel(f"there is no row: {', '.join(columns)} are empty")
    for name in table:
        _check_whole(str(name), table[name])
    return table


def names_of(frame: object) -> list[str]:
    """Returns the names of the columns of a frame. Raises BadModel where ``frame`` is neither a
    data frame nor a mapping."""
    if isinstance(frame, Mapping):
        return [str(name) for name in cast(Mapping[object, object], frame)]
    return list(_narwhal(frame).columns)


def _column(frame: object, name: str) -> pd.Series[Any]:
    import pandas as pd

    names = names_of(frame)
    if name not in names:
        raise BadModel(f"there is no column {name}{nearest(name, names)}")
    if isinstance(frame, Mapping):
        return _plain(frame[name])
    column = _narwhal(frame)[name]
    native = column.to_native()
    if type(native).__module__.startswith("pandas"):
        return pd.Series(native).reset_index(drop=True)  # keeps the order of categories
    return pd.Series(column.to_list())


def _plain(column: Any) -> pd.Series[Any]:
    import pandas as pd

    known: Any = pd.Series | pd.Categorical | np.ndarray
    series: Any = pd.Series(column if isinstance(column, known) else list(column))
    whole: pd.Series[Any] = series.reset_index(drop=True)
    return whole


def _narwhal(frame: object) -> Any:
    try:
        import narwhals
    except ImportError:
        raise ImportError(
            f"frames need narwhals; get it with: {install_command('bench')}"
        ) from None
    read: Any = narwhals.from_native
    try:
        return read(frame, eager_only=True)
    except TypeError:
        raise BadModel(
            "the data are a frame of pandas or polars, or a mapping of names to columns, and not a"
            f" {type(frame).__name__}"
        ) from None


def nearest(name: str, names: Iterable[str]) -> str:
    """Returns the end of an error message about an unknown ``name``: a suggestion of the most
    similar known name, or a list of all known ones."""
    known = list(names)
    near = get_close_matches(name, known, n=1)
    if near:
        return f"; did you mean {near[0]}?"
    return f"; there are {', '.join(known)}" if known else "; there is none at all"


def _check_whole(name: str, column: pd.Series[Any]) -> None:
    missing = column.isna().to_numpy(bool)
    if column.dtype.kind == "f":
        missing = missing | ~np.isfinite(column.to_numpy(np.float64))
    if missing.any():
        raise BadModel(
            f"{name} is missing or not finite in {int(missing.sum())} of {len(missing)} rows, first"
            f" in row {int(np.argmax(missing)) + 1}: leave these rows out, or fill them in, first"
        )


def numbers(name: str, column: object) -> Floats:
    """Converts a column to an array of finite numbers, shape (n,). Raises BadModel where a value
    is not a finite number."""
    try:
        values = np.asarray(column, np.float64)
    except (TypeError, ValueError):
        raise BadModel(f"{name} has values that are no numbers") from None
    if not np.isfinite(values).all():
        raise BadModel(f"{name} has values that are not finite")
    return values


def weights_of(name: str, column: object) -> Floats:
    """Returns a column of weights as an array, shape (n,). Raises BadModel where a weight is
    negative or not a number, or all weights are 0."""
    weights = numbers(name, column)
    if (weights < 0).any():
        raise BadModel(f"{name}: row {int(np.argmax(weights < 0)) + 1} has a negative weight")
    if not weights.any():
        raise BadModel(f"{name}: all weights are 0")
    return weights


def groups_of(column: Any) -> Ints:
    """Numbers the distinct values of a column from 0. Returns for each row the number of its
    value, shape (n,)."""
    import pandas as pd

    codes, _ = pd.factorize(pd.Series(column))
    return codes.astype(np.int64)
