"""Converts Python containers (lists, numpy, pandas, Arrow) to columns."""

from __future__ import annotations

import datetime as _dt
from collections.abc import Iterable, Mapping
from typing import Any

_UTC = _dt.timezone.utc
_EPOCH = _dt.datetime(1970, 1, 1, tzinfo=_UTC)


def is_a(value: Any, package: str, name: str) -> bool:
    """Whether this is an object of a class of another package, which need not be installed."""
    return any(
        kind.__name__ == name and kind.__module__.partition(".")[0].lstrip("_") == package
        for kind in type(value).__mro__
    )


def column(values: Any, name: str) -> Any:
    """Returns a list, a tuple, or an object with the Arrow PyCapsule interface."""
    if isinstance(values, (list, tuple)):
        return values
    if isinstance(values, (str, bytes, bytearray, Mapping)):
        kind = type(values).__name__
        raise TypeError(f"{name} must be a column (a list, Arrow, pandas, polars ...), not one {kind}")
    if is_a(values, "duckdb", "DuckDBPyRelation") and len(values.columns) == 1:
        return values.to_arrow_table().column(0)
    # Python objects are read one by one; other columns are read without a copy if possible.
    if getattr(values, "dtype", None) == object:
        return _listed(values, name)
    if hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
        return values
    if hasattr(values, "tolist") and hasattr(values, "dtype"):
        return _listed(values, name)
    if isinstance(values, Iterable):
        return list(values)
    raise TypeError(
        f"{name} must be a list or a column (Arrow, pandas, polars), not {type(values).__name__}"
    )


def _listed(values: Any, name: str) -> list[Any]:
    """The elements of a numpy array, or of a pandas column, as Python objects."""
    if getattr(values, "ndim", 1) != 1:
        raise ValueError(f"{name} must have one dimension, not {values.ndim}")
    listed: list[Any] = values.tolist()
    return listed


def datetime_of(ms: int) -> _dt.datetime:
    """Milliseconds since 1970 as an aware ``datetime``."""
    return _EPOCH + _dt.timedelta(milliseconds=ms)


def ms_of(time: Any) -> int:
    """A ``datetime`` (a naive one is local time) or an int as milliseconds since 1970."""
    if isinstance(time, bool):
        raise TypeError("a time must be a datetime or int (milliseconds), not bool")
    if isinstance(time, int):
        ms = time
    elif isinstance(time, _dt.datetime):
        # Integer arithmetic: a float would round.
        ms = (time.astimezone(_UTC) - _EPOCH) // _dt.timedelta(milliseconds=1)
    elif hasattr(time, "astype") and type(time).__name__ == "datetime64":
        ms = int(time.astype("datetime64[ms]").astype("int64"))
    else:
        kind = type(time).__name__
        raise TypeError(f"a time must be a datetime or int (milliseconds), not {kind}")
    if ms < 0:
        raise ValueError(f"a time must not be before 1970: {time}")
    return ms


def times(values: Any, rows: int) -> list[int | None]:
    """A column of times as milliseconds since 1970; a single time applies to all rows."""
    if isinstance(values, (int, _dt.datetime)):
        return [ms_of(values)] * rows
    dtype = getattr(values, "dtype", None)
    if dtype is not None and getattr(dtype, "kind", "") == "M" and hasattr(values, "to_numpy"):
        # For a pandas column with a time zone, numpy's values are in UTC.
        values = values.to_numpy(dtype="datetime64[ms]")
        dtype = values.dtype
    if dtype is not None and getattr(dtype, "kind", "") == "M":
        import numpy as np

        ms = values.astype("datetime64[ms]").astype("int64")
        return _ms_of_all(None if null else int(time) for time, null in zip(ms, np.isnat(values)))
    if hasattr(values, "to_pylist"):
        values = values.to_pylist()
    elif hasattr(values, "to_list"):
        values = values.to_list()
    elif hasattr(values, "tolist"):
        values = values.tolist()
    return _ms_of_all(values)


def _ms_of_all(values: Iterable[Any]) -> list[int | None]:
    made: list[int | None] = []
    for row, time in enumerate(values):
        try:
            made.append(None if time is None else ms_of(time))
        except (TypeError, ValueError) as error:
            raise type(error)(f"times[{row}]: {error}") from None
    return made
