"""Converts tables to pyarrow, pandas and polars, and shows them."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from ._errors import ClosedError
from ._nearkin import _similarity_text


def to_arrow(table: Any) -> Any:
    import pyarrow as pa

    return pa.table(table)


def to_polars(table: Any) -> Any:
    import polars as pl

    return pl.DataFrame(table)


def to_pandas(table: Any) -> Any:
    import pandas as pd

    try:
        import pyarrow as pa
    except ImportError:
        return pd.DataFrame(table.to_dict())
    return pa.table(table).to_pandas()


#: The most rows that a table shows of itself.
_SHOWN = 10
#: The most characters that it shows of a value.
_WIDTH_MAX = 60


def _shown(name: str, value: object, exact: bool) -> str:
    if isinstance(value, float):
        # Other columns are shares and containments, which are not said to be equality.
        return _similarity_text(value, exact or name != "similarity")
    text = str(value)
    return text if len(text) <= _WIDTH_MAX else text[: _WIDTH_MAX - 3] + "..."


def _cells(table: Any) -> tuple[list[list[str]], int]:
    """The names and the first rows as text, and the number of rows that are left out."""
    names = list(table.column_names)
    rows = [_shown_row(names, row) for row in table._first(_SHOWN)]
    return [names, *rows], len(table) - len(rows)


def _shown_row(names: list[str], row: Any) -> list[str]:
    # Where shared shingles were counted, the similarity is exact.
    exact = "shared" in names and row[names.index("shared")] is not None
    return [_shown(name, value, exact) for name, value in zip(names, row)]


def to_text(table: Any) -> str:
    """The first rows, in columns."""
    return _text(f"Table of {len(table)} rows", *_cells(table))


def stream_to_text(table: Any) -> str:
    """The first rows of a stream."""
    cells, more = _cells(table)
    head = "Stream, to be read once: read_all(), to_pandas() or a loop"
    return _text(head if len(cells) > 1 else "Stream without further rows", cells, more)


def _text(head: str, cells: list[list[str]], more: int) -> str:
    widths = [max(map(len, column)) for column in zip(*cells)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]
    rest = [f"... and {more} more"] if more else []
    return "\n".join([head, *lines, *rest])


def to_html(table: Any) -> str:
    """The first rows as a table of HTML."""
    (names, *rows), more = _cells(table)
    return _html(names, rows, more)


def _html(names: list[str], rows: list[list[str]], more: int) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
    lines = "".join(f"<tr>{row}</tr>" for row in body)
    rest = f"<p>... and {more} more</p>" if more else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>{rest}"


def _of_answer(answer: Any) -> dict[str, list[Any]]:
    """The matches of an answer as columns: key, similarity, the containment if the query asked for
    it, time, payload."""
    columns: dict[str, list[Any]] = {
        "key": answer.keys,
        "similarity": [match.similarity for match in answer],
    }
    contained = [match.contained for match in answer]
    if any(share is not None for share in contained):
        columns["contained"] = contained
    columns["time"] = [match.time for match in answer]
    columns["payload"] = [match.payload for match in answer]
    return columns


def answer_to_pandas(answer: Any) -> Any:
    import pandas as pd

    columns = _of_answer(answer)
    # The types do not depend on how many matches there are.
    time = pd.to_datetime(pd.Series(columns["time"], dtype=object), utc=True)
    types: Any = {"key": object, "similarity": "float64", "payload": object}
    types["time"] = "datetime64[ms, UTC]"
    return pd.DataFrame({**columns, "time": time}).astype(types)


def answer_to_html(answer: Any) -> str:
    """The first matches as a table of HTML."""
    (names, *rows), more = _answer_cells(answer)
    return _html(names, rows, more)


def answer_to_text(answer: Any) -> str:
    """The first matches, in columns."""
    head = f"Answer of {len(answer)} of {answer.found} matches at {answer.threshold:g}"
    return _text(head, *_answer_cells(answer))


def _answer_cells(answer: Any) -> tuple[list[list[str]], int]:
    columns = _of_answer(answer)
    names = list(columns)
    rows = [_shown_row(names, row) for row in zip(*columns.values())][:_SHOWN]
    return [names, *rows], answer.found - len(rows)


def params_to_html(params: Any) -> str:
    """The parameters as a table of HTML; what has its usual value is left out, as in ``repr``."""
    return _facts(dict(params._shown()))


def readable_to_html(readable: Any) -> str:
    """What an index holds, and its parameters, as a table of HTML."""
    kind = type(readable).__name__
    try:
        facts = {kind: readable.path, "documents": f"{len(readable):,}", "change": readable.change}
    except ClosedError:
        facts = {kind: f"{readable.path} (closed)"}
    return _facts({**facts, **dict(readable.params._shown())})


def _facts(facts: Mapping[str, object]) -> str:
    return _html(["", ""], [[name, str(value)] for name, value in facts.items()], 0)
