"""The containers in which rows come to :func:`nearkin.dedup`: the column that is compared, the
rows that are kept, and the columns that are added.

A container is named by its *kind*; what one library calls a table differs from what another does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import (
    Callable,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    Sequence,
    ValuesView,
)
from itertools import chain
from typing import Any, NamedTuple

from ._columns import is_a
from ._errors import InvalidError
from ._nearkin import Signatures, Table, _is_null

#: A column, or the columns whose texts are compared as one.
On = str | int | Sequence[Any]

#: Kinds whose rows have named fields.
TABLES = ("pandas.DataFrame", "polars.DataFrame", "arrow.Table", "datasets", "records")
#: Kinds whose rows are decided while they are read.
STREAMS = ("arrow.Reader", "datasets.Iterable", "iterator")
#: Added columns that name other rows.
ROWS_NAMED = ("duplicate_of", "similar_to")


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
    #: Similarity to that row or document, or to that of ``similar_to``.
    similarity: float | None
    #: The document of ``against`` that this row duplicates.
    index_key: Any = None
    #: If shingles decided: how much of the smaller document the larger one contains.
    contained: float | None = None
    #: If shingles decided: the number of shingles of this row, of the other document, and of both.
    shingles: int | None = None
    of_shingles: int | None = None
    shared: int | None = None
    #: What sets a row apart that is kept although it is similar to a kept one: ``"numbers"`` or
    #: ``"rare"``.
    apart: str | None = None
    #: The kept row that it is similar to: its number, or its key if ``key`` was given.
    similar_to: Any = None
    #: With ``differences=True``: the first words that only this row has, that only the other one
    #: has, how many there are, and whether a number is among them.
    only_here: str | None = None
    only_there: str | None = None
    only_here_count: int | None = None
    only_there_count: int | None = None
    numbers_differ: bool | None = None


def kind_of(data: Any, on: On | None) -> str:
    """The kind of container that holds the rows."""
    if isinstance(data, (list, tuple, deque)):
        return "records" if on is not None else "list"
    if isinstance(data, Signatures):
        return "list"
    # A subclass of a frame, such as that of geopandas, is a frame.
    for parent in type(data).__mro__:
        module, name = parent.__module__.partition(".")[0], parent.__name__
        kind = _kind_of_class(module, name, data)
        if kind is not None:
            return kind
    if isinstance(data, Iterator):
        return "iterator"
    raise TypeError(
        "dedup takes a list, an iterator, a pandas or polars frame, an Arrow table or reader, or a"
        f" datasets.Dataset, not {type(data).__name__}"
    )


def _kind_of_class(module: str, name: str, data: Any) -> str | None:
    if module == "pandas" and name in ("DataFrame", "Series", "Index"):
        return f"pandas.{name}"
    if module == "polars" and name in ("DataFrame", "Series"):
        return f"polars.{name}"
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
    if module == "datasets":
        return {"Dataset": "datasets", "IterableDataset": "datasets.Iterable"}.get(name)
    return "numpy" if module == "numpy" and name == "ndarray" else None


def plain(data: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The rows in a container that :func:`kind_of` names, and a function that makes the result of
    the caller's kind from a result of that kind."""
    if is_a(data, "polars", "LazyFrame"):
        return data.collect(), lambda frame: frame.lazy()
    if is_a(data, "duckdb", "DuckDBPyRelation"):
        return data.to_arrow_table(), lambda table: table
    if is_a(data, "datasets", "Column") or isinstance(data, (ValuesView, KeysView)):
        return list(data), lambda rows: rows
    if is_a(data, "datasets", "IterableColumn"):
        return iter(data), lambda rows: rows
    if is_a(data, "datasets", "IterableDatasetDict"):
        raise TypeError(
            "the splits of an IterableDatasetDict are separate streams: chain the splits that are"
            " compared with one another (datasets.concatenate_datasets), or give one of them"
        )
    return data, lambda rows: rows


def is_splits(data: Any) -> bool:
    """Whether this is a ``datasets.DatasetDict``."""
    return is_a(data, "datasets", "DatasetDict")


def joined(splits: Any) -> tuple[Any, Callable[[Any, list[bool]], Any]]:
    """The rows of all splits one after the other, and a function that makes splits from a result
    and the list of kept rows (all ``True`` if none was dropped)."""
    from datasets import concatenate_datasets

    def split(result: Any, kept: list[bool]) -> Any:
        made, begin, row = {}, 0, 0
        for name, rows in splits.items():
            count = sum(kept[row : row + len(rows)])
            made[name] = result.select(range(begin, begin + count))
            begin, row = begin + count, row + len(rows)
        return type(splits)(made)

    return concatenate_datasets(list(splits.values())), split


def column_of(data: Any, on: On | None) -> Any:
    """The column to compare."""
    kind = kind_of(data, on)
    if kind in TABLES and on is None:
        raise TypeError("`on` must name the column that is compared")
    if on is None:
        return data
    if kind not in TABLES:
        raise TypeError("`on` names a column of a table; this has none")
    # A label of pandas may be a number or a tuple.
    is_label = kind == "pandas.DataFrame" and not isinstance(on, list) and on in data.columns
    if isinstance(on, str) or is_label:
        return _field(data, kind, on)
    names = names_of(on)
    return together([_values(_field(data, kind, name)) for name in names], names)


def names_of(on: On) -> list[str]:
    """The names of the columns that are compared."""
    if isinstance(on, str):
        return [on]
    if not isinstance(on, Sequence):
        raise TypeError(f"`on` must be the name of a column or a list of names, not {on!r}")
    if not on:
        raise InvalidError("`on` is an empty list: name the columns that are compared")
    return list(on)


def together(columns: Sequence[Iterable[Any]], on: Sequence[str]) -> list[str | None]:
    """The texts of several columns, as one text per row, with a line for each."""

    def one(values: tuple[Any, ...]) -> str | None:
        texts = []
        for name, value in zip(on, values):
            if isinstance(value, str):
                texts.append(value)
            elif not _is_null(value):
                kind = type(value).__name__
                raise TypeError(f"the column {name!r} must hold texts, not {kind}")
        return "\n".join(texts) if texts else None

    return [one(values) for values in zip(*columns, strict=True)]


def _missing(name: str, names: Iterable[Any]) -> KeyError:
    there = ", ".join(map(repr, names))
    return KeyError(f"no column, or more than one, is named {name!r}; there are {there}")


def _field(data: Any, kind: str, name: Any) -> Any:
    """The column of this name. ``a.b`` is the field ``b`` in the column ``a``, if no column has the
    whole name."""
    if kind == "records":
        return field_of_records(data, name)
    if kind == "datasets":
        names = data.column_names
        head = name if name in names else name.partition(".")[0]
        if head not in names:
            raise _missing(name, names)
        # Only this column is read; its pages are mapped.
        return arrow_field(data.select_columns([head]).with_format("arrow")[:], name)
    if kind == "arrow.Table":
        return arrow_field(data, name)
    names = list(data.columns)
    if names.count(name) == 1:
        return data[name]
    head, _, rest = name.partition(".") if isinstance(name, str) else (name, "", "")
    if not rest or names.count(head) != 1:
        raise _missing(name, names)
    if kind == "polars.DataFrame":
        import polars as pl

        expression = pl.col(head)
        for part in rest.split("."):
            expression = expression.struct.field(part)
        try:
            return data.select(expression).to_series()
        except pl.exceptions.PolarsError as error:
            raise _missing(name, names) from error
    return field_of_records([{head: value} for value in data[head]], name)


def arrow_path(schema: Any, name: str) -> list[str]:
    """The names of a column and of the fields in it that lead to this field."""
    if schema.names.count(name) == 1:
        return [name]
    path = name.split(".")
    if schema.names.count(path[0]) != 1:
        raise _missing(name, schema.names)
    import pyarrow as pa

    kind = schema.field(path[0]).type
    for part in path[1:]:
        if not pa.types.is_struct(kind) or kind.get_field_index(part) < 0:
            raise _missing(name, schema.names)
        kind = kind.field(part).type
    return path


def arrow_field(table: Any, name: str) -> Any:
    """A column of an Arrow table or batch, or a field in one."""
    head, *rest = arrow_path(table.schema, name)
    column = table.column(head)
    if not rest:
        return column
    import pyarrow.compute as pc

    return pc.struct_field(column, rest)


def _walk(value: Any, path: Sequence[str]) -> Any:
    for part in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(part)
    return value


def value_of(row: Any, name: str) -> Any:
    """A field of a row that is a dict. Missing: None."""
    if not isinstance(row, Mapping):
        kind = type(row).__name__
        raise TypeError(f"`on` names a column of a table, or a field of dicts, not of {kind}")
    return row[name] if name in row else _walk(row, name.split("."))


def _has(row: Any, name: str) -> bool:
    head, *rest = name.split(".")
    inner = row.get(head) if isinstance(row, Mapping) else None
    return name in row or bool(rest) and isinstance(inner, Mapping) and _has(inner, ".".join(rest))


def field_of_records(rows: Sequence[Any], name: str) -> list[Any]:
    """A field of all rows. An error if no row has it: then its name is likely wrong."""
    values = [value_of(row, name) for row in rows]
    if rows and not any(_has(row, name) for row in rows):
        raise _missing(name, dict.fromkeys(chain.from_iterable(rows)))
    return values


def _values(column: Any) -> list[Any]:
    """The values of a column as Python objects."""
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, method):
            values: list[Any] = getattr(column, method)()
            return values
    return list(column)


def values_of(data: Any, name: str) -> list[Any]:
    """The values of a named column as Python objects."""
    kind = kind_of(data, name)
    if kind == "datasets":
        # As the caller sees them: decoded.
        return list(data[name])
    return _values(_field(data, kind, name))


def selected(data: Any, on: On | None, kept: list[bool]) -> Any:
    """The kept rows."""
    kind = kind_of(data, on)
    if isinstance(data, Signatures):
        return [row for row, stays in enumerate(kept) if stays]
    if kind in ("list", "records"):
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
        return filtered(data, mask) if kind == "arrow.Table" else _filtered_column(data, mask)
    import polars as pl

    return data.filter(pl.Series(kept, dtype=pl.Boolean))


def filtered(table: Any, mask: Any) -> Any:
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


def annotated(
    data: Any,
    on: On | None,
    told: Table,
    columns: dict[str, list[Any]],
    key: str | None,
    prefix: str,
) -> Any:
    """The rows, with the new columns added. The columns' types do not depend on their values, so
    that the parts of a data set can be concatenated."""
    kind = kind_of(data, on)
    named = {prefix + name: values for name, values in columns.items()}
    if kind == "records":
        there = set(chain.from_iterable(data))
    elif kind in TABLES:
        there = set(data.column_names if kind in ("arrow.Table", "datasets") else data.columns)
    else:
        there = set()
    if kind in TABLES:
        for name in named:
            if name in there:
                raise InvalidError(f"there is a column {name!r} already: give a prefix")
    if kind == "pandas.DataFrame":
        import pandas as pd

        types = {"cluster": "Int64", "cluster_size": "Int64", "similarity": "float64"}
        types |= {"contained": "float64"}
        counts = ("shingles", "of_shingles", "shared", "only_here_count", "only_there_count")
        types |= dict.fromkeys(counts, "Int64") | {"numbers_differ": "boolean"}
        frame = data.copy(deep=False)
        for name, values in columns.items():
            dtype = types.get(name) or ("bool" if name == "kept" else None)
            if name in ROWS_NAMED and key is None:
                dtype = "Int64"
            frame[prefix + name] = pd.Series(values, index=data.index, dtype=dtype or object)
        return frame
    if kind == "polars.DataFrame":
        import polars as pl

        of_types = dict(told.to_polars().schema)
        if key is not None:
            of_types |= dict.fromkeys(ROWS_NAMED, data.schema[key])
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
    if kind == "records":
        rest = [dict(zip(named, values)) for values in zip(*columns.values())]
        return type(data)({**row, **added} for row, added in zip(data, rest))
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
        types |= dict.fromkeys(ROWS_NAMED, key_type.value_type if is_encoded else key_type)
    return [pa.array(values, types[name]) for name, values in columns.items()]
