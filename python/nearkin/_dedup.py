"""Deduplicates rows of a list, a data frame, an Arrow table or a data set."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, cast

from ._nearkin import Params, Readable, Signatures, Snapshot, Table, _Sieve, decide_rows

T = TypeVar("T")

_TABLES = ("pandas.DataFrame", "polars.DataFrame", "arrow.Table", "datasets")


class Row(NamedTuple):
    """A row of a list that was deduplicated with ``annotate=True``."""

    value: Any
    #: Whether the row is kept.
    kept: bool
    #: Number of the kept row of the cluster; None if the original is a document of the index.
    cluster: int | None
    #: Number of rows in the cluster.
    cluster_size: int | None
    #: The row that this row duplicates: its number, or its key if ``key`` was given.
    duplicate_of: Any
    #: Similarity to that row or document.
    similarity: float | None
    #: The document of ``against`` that this row duplicates.
    index_key: Any = None
    #: With ``exact=True``: how much of the smaller document the larger one contains.
    contained: float | None = None
    #: With ``exact=True``: the number of shingles of this row, of the document that it duplicates,
    #: and of both.
    shingles: int | None = None
    of_shingles: int | None = None
    shared: int | None = None


def dedup(
    data: T,
    on: str | None = None,
    *,
    threshold: float | None = None,
    contained: float | None = None,
    keep: Literal["first", "last", "longest"] = "first",
    against: Readable | str | Path | None = None,
    exact: bool = False,
    fetch: Callable[[Any], Any] | None = None,
    drop_blank: bool = False,
    annotate: bool = False,
    key: str | None = None,
    prefix: str = "",
    params: Params | None = None,
    threads: int | None = None,
    progress: Any = None,
    folder: str | Path | None = None,
) -> T:
    """Removes near-duplicate rows. Returns the same type as ``data``.

    Visits the rows in order of preference (``keep``) and drops each row whose similarity to a kept
    row is at least ``threshold``. Rows with nothing to compare (blank texts, None) are kept, each of
    them; ``drop_blank=True`` leaves them out. ``nearkin dedup`` keeps the same rows.

    ``data`` is a list of texts (or of sets, or :class:`Signatures`), a pandas or polars data frame,
    an Arrow table or a Hugging Face data set; ``on`` names the column to compare. For a
    ``pyarrow.RecordBatchReader``, the result is a reader that decides while it is read, with one
    batch in memory; of similar rows, it keeps the first.

    ``params`` sets the comparison (default: three-word shingles, threshold 0.7); ``threshold``
    overrides its threshold. With ``contained`` (0 to 1), a row is dropped if it or a kept row
    contains at least this fraction of the smaller of the two (``threshold`` is then 0 by default).
    This finds halves of texts, and texts with boilerplate added. ``against`` is an index or its
    path: rows similar to one of its documents are dropped, too; the index is not changed.

    ``exact=True`` compares shingles instead of estimates. Together with ``against`` it needs
    ``fetch``, a function that gets a key and returns the document (or None), because an index stores
    no texts. A document that differs from the indexed one is no reason to drop a row; a warning says
    how many there are. Shingles of words, the default, do not see punctuation: ``C++`` and ``C#``,
    ``-5`` and ``5`` are equal even then. ``Params(shingles="tokens:3")``, ``chars:N`` and
    ``Params.preset("code")`` see it.

    ``annotate=True`` drops nothing. It adds the columns ``kept``, ``cluster``, ``cluster_size``,
    ``duplicate_of`` and ``similarity`` (with ``against`` also ``index_key``; with ``exact`` also
    ``contained``, ``shingles``, ``of_shingles`` and ``shared``), each prefixed by ``prefix``. ``key``
    names the column whose values ``duplicate_of`` contains (default: row numbers). During the call,
    ``folder`` holds a temporary index of about 250 bytes per row, unless it is small.

    >>> import nearkin as nk
    >>> nk.dedup(["one two three four", "One, two, three, four!", "five six seven eight"])
    ['one two three four', 'five six seven eight']
    """
    if exact and against is not None and fetch is None:
        raise ValueError(
            "exact=True compares the documents of `against`, but an index holds only signatures: give"
            " fetch=, a function that returns the document of a key"
        )
    if fetch is not None and (against is None or not exact):
        raise ValueError("fetch= returns documents of `against`, for exact=True: give all three")
    asked = _opened(against)
    if params is None:
        params = asked.params if asked is not None else Params()
    if _kind(data) == "arrow.Reader":
        if keep != "first" or exact or annotate or key is not None:
            raise ValueError(
                "rows of a RecordBatchReader are decided on one by one: only keep='first', without"
                " exact, annotate and key; read_all() makes a table of it"
            )
        return cast(
            T,
            _streamed(
                data, on, params, threshold, contained, asked, drop_blank, threads, progress, folder
            ),
        )
    rows = _rows_of(data, on)
    if key is not None and _kind(data) not in _TABLES:
        raise TypeError("`key` names a column of a table; this has none")
    import tempfile

    with tempfile.TemporaryDirectory(prefix="nearkin-", dir=folder) as scratch:
        place = str(Path(scratch) / "kept")
        told = decide_rows(
            rows,
            params,
            place,
            threshold,
            contained,
            keep,
            exact,
            asked,
            fetch,
            drop_blank,
            threads,
            progress,
        )
    if not annotate:
        return cast(T, _selected(data, told["kept"]))
    columns = told.to_dict()
    if against is None:
        del columns["index_key"]
    if key is not None:
        names = _values_of(data, key)
        others = columns["duplicate_of"]
        columns["duplicate_of"] = [None if of is None else names[of] for of in others]
    return cast(T, _annotated(data, told, columns, key, prefix))


def _streamed(
    reader: Any,
    on: str | None,
    params: Params,
    threshold: float | None,
    contained: float | None,
    against: Readable | None,
    drop_blank: bool,
    threads: int | None,
    progress: Any,
    folder: str | Path | None,
) -> Any:
    """A reader that returns the kept rows of ``reader``."""
    import tempfile

    import pyarrow as pa

    if on is None:
        raise TypeError("`on` must name the column that is compared")
    if reader.schema.get_field_index(on) < 0:
        names = ", ".join(map(repr, reader.schema.names))
        raise KeyError(f"no column, or more than one, is named {on!r}; there are {names}")
    if progress:
        raise ValueError("a RecordBatchReader does not say how many rows come: leave progress out")

    def batches() -> Iterator[Any]:
        with tempfile.TemporaryDirectory(prefix="nearkin-", dir=folder) as scratch:
            place = str(Path(scratch) / "kept")
            sieve = _Sieve(params, place, threshold, contained, against, drop_blank, threads)
            try:
                for batch in reader:
                    stays = pa.py_buffer(sieve.admit(batch.column(on)))
                    mask = pa.Array.from_buffers(pa.uint8(), len(batch), [None, stays])
                    kept = _filtered(pa.Table.from_batches([batch]), mask.cast(pa.bool_()))
                    if len(kept):
                        yield from kept.to_batches()
            finally:
                sieve.close()

    return pa.RecordBatchReader.from_batches(reader.schema, batches())


def _opened(against: Readable | str | Path | None) -> Readable | None:
    if against is None or isinstance(against, Snapshot):
        return against
    if isinstance(against, Readable):
        # All rows are compared with the same state of the index.
        return against.snapshot()
    from ._nearkin import Reader

    return Reader(against)


def _kind(data: Any) -> str:
    """The kind of container that holds the rows."""
    if isinstance(data, (list, tuple, Signatures)):
        return "list"
    module = type(data).__module__.partition(".")[0]
    name = type(data).__name__
    if module in ("pandas", "polars") and name in ("DataFrame", "Series"):
        return f"{module}.{name}"
    if module == "polars" and name == "LazyFrame":
        raise TypeError("a LazyFrame has no rows yet: give frame.collect()")
    if module == "pyarrow":
        if name == "RecordBatchReader":
            return "arrow.Reader"
        if name in ("ParquetFile", "Scanner") or name.endswith("Dataset"):
            raise TypeError(
                f"dedup reads no {name} itself: give pyarrow.dataset.dataset(...).scanner()"
                ".to_reader(), and it returns such a reader"
            )
        if hasattr(data, "column_names") and hasattr(data, "num_rows"):
            return "arrow.Table"
        if hasattr(data, "filter"):
            return "arrow.Array"
    if module == "datasets" and name == "Dataset":
        return "datasets"
    if module == "numpy":
        return "numpy"
    raise TypeError(
        "dedup takes a list, a pandas or polars DataFrame, an Arrow table or a datasets.Dataset,"
        f" not {type(data).__name__}"
    )


def _rows_of(data: Any, on: str | None) -> Any:
    """The column to compare."""
    kind = _kind(data)
    is_table = kind in _TABLES
    if is_table and on is None:
        raise TypeError("`on` must name the column that is compared")
    if not is_table and on is not None:
        raise TypeError("`on` names a column of a table; this has none")
    if kind == "datasets":
        return data.with_format("arrow")[:][on]
    return data[on] if is_table else data


def _values_of(data: Any, name: str) -> Sequence[Any]:
    """The values of a column as Python objects."""
    if _kind(data) == "datasets":
        column = data[name]
        return list(column)
    column = data[name]
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, method):
            values: Sequence[Any] = getattr(column, method)()
            return values
    return list(column)


def _selected(data: Any, kept: list[bool]) -> Any:
    """The kept rows."""
    kind = _kind(data)
    if isinstance(data, Signatures):
        return [row for row, stays in enumerate(kept) if stays]
    if kind == "list":
        return type(data)(row for row, stays in zip(data, kept) if stays)
    if kind == "datasets":
        return data.select([row for row, stays in enumerate(kept) if stays])
    if kind == "numpy" or kind.startswith("pandas."):
        import numpy as np

        # An empty list would select no columns of a pandas frame, instead of no rows.
        return data[np.asarray(kept, dtype=bool)]
    if kind.startswith("arrow."):
        import pyarrow as pa

        mask = pa.array(kept, pa.bool_())
        return _filtered(data, mask) if kind == "arrow.Table" else _filtered_column(data, mask)
    import polars as pl

    return data.filter(pl.Series(kept, dtype=pl.Boolean))


def _filtered(table: Any, mask: Any) -> Any:
    """The rows of an Arrow table that the mask names."""
    columns = [_filtered_column(column, mask) for column in table.columns]
    return type(table).from_arrays(columns, schema=table.schema)


def _filtered_column(column: Any, mask: Any) -> Any:
    """The values that the mask names. Arrow has no such kernel for columns of views and of runs."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        return column.filter(mask)
    except pa.ArrowNotImplementedError:
        pass
    kind = column.type
    plain = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}.get(kind)
    if plain is not None:
        return column.cast(plain).filter(mask).cast(kind)
    # The rows between two that are dropped, as slices.
    ends = [*pc.indices_nonzero(pc.invert(mask)).to_pylist(), len(mask)]
    starts = [0, *(end + 1 for end in ends)]
    parts = [column.slice(at, end - at) for at, end in zip(starts, ends) if at < end]
    chunks = [chunk for part in parts for chunk in getattr(part, "chunks", [part])]
    kept = pa.chunked_array(chunks, kind)
    return kept if isinstance(column, pa.ChunkedArray) else kept.combine_chunks()


def _annotated(
    data: Any, told: Table, columns: dict[str, list[Any]], key: str | None, prefix: str
) -> Any:
    """The rows, with the new columns added. The columns' types do not depend on their values, so
    that the parts of a data set can be concatenated."""
    kind = _kind(data)
    named = {prefix + name: values for name, values in columns.items()}
    if kind in _TABLES:
        names = data.columns if hasattr(data, "columns") else data.column_names
        there = set(data.column_names if kind in ("arrow.Table", "datasets") else names)
        for name in named:
            if name in there:
                raise ValueError(f"there is a column {name!r} already: give a prefix")
    if kind == "pandas.DataFrame":
        import pandas as pd

        types = {"cluster": "Int64", "cluster_size": "Int64", "similarity": "float64"}
        types |= {"contained": "float64"}
        types |= dict.fromkeys(("shingles", "of_shingles", "shared"), "Int64")
        frame = data.copy(deep=False)
        for name, values in columns.items():
            dtype = types.get(name) or ("bool" if name == "kept" else None)
            if name == "duplicate_of" and key is None:
                dtype = "Int64"
            frame[prefix + name] = pd.Series(values, index=data.index, dtype=dtype or object)
        return frame
    if kind == "polars.DataFrame":
        import polars as pl

        of_types = dict(told.to_polars().schema)
        if key is not None:
            of_types["duplicate_of"] = data.schema[key]
        series = [
            pl.Series(prefix + name, values, dtype=of_types[name])
            for name, values in columns.items()
        ]
        return data.with_columns(series)
    if kind in ("arrow.Table", "datasets"):
        schema = data.schema if kind == "arrow.Table" else data.features.arrow_schema
        arrays = _arrays(told, columns, None if key is None else schema.field(key).type)
        for name, array in zip(named, arrays):
            if kind == "arrow.Table":
                data = data.append_column(name, array)
            else:
                from datasets import Value

                data = data.add_column(name, array, feature=Value(str(array.type)))
        return data
    rows: Any = data if not isinstance(data, Signatures) else range(len(data))
    if hasattr(rows, "to_pylist"):
        rows = rows.to_pylist()
    elif kind == "numpy":
        rows = rows.tolist()
    return [
        Row(value, **dict(zip(columns, rest))) for value, *rest in zip(rows, *columns.values())
    ]


def _arrays(told: Table, columns: dict[str, list[Any]], key_type: Any) -> list[Any]:
    """The new columns as Arrow arrays."""
    import pyarrow as pa

    schema = pa.schema(told)
    types = {name: schema.field(name).type for name in columns}
    if key_type is not None:
        is_encoded = pa.types.is_dictionary(key_type)
        types["duplicate_of"] = key_type.value_type if is_encoded else key_type
    return [pa.array(values, types[name]) for name, values in columns.items()]
