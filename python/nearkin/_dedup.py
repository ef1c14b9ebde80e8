"""Deduplicates rows of a list, a data frame, an Arrow table or a data set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, TypeVar, overload

from . import _containers as containers
from ._containers import On, Row
from ._errors import InvalidError
from ._nearkin import Params, Questions, Readable, Signatures, Snapshot, _Sieve, decide_rows

if TYPE_CHECKING:
    # Not installed: the checkers of types bring it. Python 3.10 has no `typing.Unpack`.
    from typing_extensions import Unpack

__all__ = ["Row", "dedup"]

T = TypeVar("T")
Keep = Literal["first", "last", "longest"]
Guard = Literal["rare", "numbers", "agree", "none"]

#: Rows of an iterator that are decided together.
_ROWS_TOGETHER = 1_000


class _Options(TypedDict, total=False):
    """The keyword arguments of :func:`dedup` that do not change the type of its result."""

    threshold: float | None
    contained: float | None
    keep: Keep
    against: Readable | str | Path | None
    without: Questions | Iterable[str | None] | None
    exact: bool
    estimate: bool
    guard: Guard | None
    fetch: Callable[[Any], Any] | None
    drop_blank: bool
    differences: bool
    prefix: str
    params: Params | None
    threads: int | None
    progress: Any
    folder: str | Path | None


@overload
def dedup(
    data: object,
    on: None = None,
    *,
    annotate: Literal[True],
    key: None = None,
    **options: Unpack[_Options],
) -> list[Row]: ...


@overload
def dedup(
    data: Signatures,
    on: None = None,
    *,
    annotate: Literal[False] = False,
    key: None = None,
    **options: Unpack[_Options],
) -> list[int]: ...


@overload
def dedup(
    data: T,
    on: On | None = None,
    *,
    annotate: bool = False,
    key: str | None = None,
    **options: Unpack[_Options],
) -> T: ...


def dedup(
    data: Any,
    on: On | None = None,
    *,
    threshold: float | None = None,
    contained: float | None = None,
    keep: Keep = "first",
    against: Readable | str | Path | None = None,
    without: Questions | Iterable[str | None] | None = None,
    exact: bool = False,
    estimate: bool = False,
    guard: Guard | None = None,
    fetch: Callable[[Any], Any] | None = None,
    drop_blank: bool = False,
    annotate: bool = False,
    differences: bool = False,
    key: str | None = None,
    prefix: str = "",
    params: Params | None = None,
    threads: int | None = None,
    progress: Any = None,
    folder: str | Path | None = None,
) -> Any:
    """Removes near-duplicate rows. Returns the same type as ``data``.

    Visits the rows in order of preference (``keep``) and drops each row whose similarity to a kept
    row is at least ``threshold``. Rows with nothing to compare (blank texts, None) are kept, each of
    them; ``drop_blank=True`` leaves them out. ``nearkin dedup`` keeps the same rows.

    ``data`` is a list of texts (or of sets, or :class:`Signatures`), a list of dicts, a pandas or
    polars frame, an Arrow table, a relation of DuckDB or a Hugging Face data set (the splits of a
    ``DatasetDict`` are decided together, in their order). ``on`` names the column to compare;
    ``"a.b"`` is the field ``b`` in the column ``a``, and of several columns the texts are compared
    as one. An iterator, a ``pyarrow.RecordBatchReader`` and an ``IterableDataset`` are streams: the
    result is one, too, which decides while it is read; of similar rows, it keeps the first.

    ``params`` sets the comparison (default: three-word shingles, threshold 0.7); ``threshold``
    overrides its threshold. With ``contained`` (0 to 1), a row is dropped if it or a kept row
    contains at least this fraction of the smaller of the two (``threshold`` is then 0 by default).
    This finds halves of texts, and texts with boilerplate added. ``against`` is an index or its
    path: rows similar to one of its documents are dropped, too; the index is not changed.

    ``without`` are test questions, texts or :class:`Questions`: rows that contain one are dropped
    first, by the rule of :class:`Questions`. ``Questions(...).find(texts)`` says which row contains
    which question.

    The estimate finds similar rows, and their shingles decide: no row is dropped whose similarity to
    a kept row is below ``threshold``. ``exact=True`` finds more, because it also compares rows whose
    estimate is up to three standard errors lower. ``estimate=True`` compares no shingles. The
    estimate also decides where there are no texts to compare: :class:`Signatures`, the rows of a
    stream, and the documents of ``against``. With ``exact=True``, ``against`` needs ``fetch``, a
    function that gets a key and returns the document (or None). A document that differs from the
    indexed one is no reason to drop a row; a warning says how many there are. Shingles of words, the
    default, do not see punctuation: ``C++`` and ``C#``, ``-5`` and ``5`` are equal.
    ``Params(shingles="tokens:3")``, ``chars:N`` and ``Params.preset("code")`` see it.

    Two forms filled in, such as invoices, are similar and no copies. So a row is kept if it and its
    duplicate differ in nothing but numbers, or if both have rare words for themselves alone.
    A warning says how many rows were kept for that, unless ``guard`` says what to do: ``"rare"`` (the
    default), ``"numbers"`` (only the first of the two), ``"agree"`` (any other number; the default with shingles
    of up to four characters, as the presets "short" and "records" have), or ``"none"``. The estimate, sets and
    ``contained`` have no guard. Of the documents of ``against`` it sees numbers alone, with ``exact=True`` and
    ``fetch``; without, the estimate drops forms, too.

    ``annotate=True`` drops nothing. It adds the columns ``kept``, ``cluster``, ``cluster_size``,
    ``duplicate_of`` and ``similarity``, with ``against`` also ``index_key``. If shingles decided, it
    adds ``contained``, ``shingles``, ``of_shingles``, ``shared``, ``apart`` and ``similar_to``: a row
    that the guard kept has ``"numbers"`` or ``"rare"`` in ``apart`` and the row that it resembles in
    ``similar_to``. ``differences=True`` adds ``only_here`` and ``only_there`` (the first five words
    that only one of the two has), ``only_here_count``, ``only_there_count`` and ``numbers_differ``.
    All names are prefixed by ``prefix``. ``key`` names the column whose values ``duplicate_of`` and
    ``similar_to`` contain (default: row numbers). During the call, ``folder`` holds a temporary index
    of about 250 bytes per row, unless it is small.

    >>> import nearkin as nk
    >>> nk.dedup(["one two three four", "One, two, three, four!", "five six seven eight"])
    ['one two three four', 'five six seven eight']
    """
    if exact and against is not None and fetch is None:
        raise InvalidError(
            "exact=True compares the documents of `against`, but an index holds only signatures: give"
            " fetch=, a function that returns the document of a key"
        )
    if fetch is not None and (against is None or not exact):
        raise InvalidError("fetch= returns documents of `against`, for exact=True: give all three")
    if exact and estimate:
        raise InvalidError("exact=True and estimate=True exclude each other: give one of them")
    if differences and (not annotate or estimate or isinstance(data, Signatures)):
        raise InvalidError(
            "differences=True adds columns with the words that differ: give annotate=True and texts,"
            " without estimate"
        )
    asked = opened(against)
    if params is None:
        params = asked.params if asked is not None else Params()
    rows, back = containers.plain(data)
    split = None
    if containers.is_splits(rows):
        rows, split = containers.joined(rows)
    kind = containers.kind_of(rows, on)
    if without is not None:
        if annotate or split is not None or kind in containers.STREAMS or isinstance(rows, Signatures):
            raise InvalidError(
                "without= drops rows of a list or table of texts: for streams, splits and"
                " annotate=True, call Questions(...).find(texts), which says what each text contains"
            )
        if not isinstance(without, Questions):
            without = Questions(without, params=params)
        found = without.find(containers.column_of(rows, on), threads=threads)
        rows = containers.selected(rows, on, [one is None for one in found])
    if kind in containers.STREAMS:
        is_guarded = guard not in (None, "none")
        if keep != "first" or exact or is_guarded or annotate or key is not None:
            raise InvalidError(
                "rows of a stream are decided on one by one: only keep='first', without exact,"
                " guard, annotate and key; give a list or a table (list(rows), read_all())"
            )
        if progress:
            raise InvalidError("a stream does not say how many rows come: leave progress out")
        how = How(params, threshold, contained, asked, drop_blank, threads, folder=folder)
        return _streamed(kind, rows, on, how)
    column = containers.column_of(rows, on)
    if key is not None and kind not in containers.TABLES:
        raise TypeError("`key` names a column of a table; this has none")
    import tempfile

    with tempfile.TemporaryDirectory(prefix="nearkin-", dir=folder) as scratch:
        how = How(
            params,
            threshold,
            contained,
            asked,
            drop_blank,
            threads,
            keep=keep,
            exact=exact,
            estimate=estimate,
            guard=guard,
            fetch=fetch,
            differences=differences,
            progress=progress,
        )
        told, apart = decide_rows(column, how, str(Path(scratch) / "kept"))
    kept = told["kept"]
    if apart and guard is None and not annotate:
        _warn_of_apart(apart)
    if not annotate:
        result = containers.selected(rows, on, kept)
    else:
        columns = told.to_dict()
        if against is None:
            del columns["index_key"]
        if key is not None:
            names = containers.values_of(rows, key)
            for name in columns.keys() & set(containers.ROWS_NAMED):
                columns[name] = [None if of is None else names[of] for of in columns[name]]
        result = containers.annotated(rows, on, told, columns, key, prefix)
        kept = [True] * len(kept)
    return back(result) if split is None else split(result, kept)


def _warn_of_apart(apart: int) -> None:
    """Says what the guard kept."""
    import warnings

    what = "row differs" if apart == 1 else "rows differ"
    message = (
        f"{apart:,} {what} from a kept one only in numbers or in rare words: kept; guard='none' drops"
        " them, annotate=True marks them, guard='rare' keeps them without this warning"
    )
    warnings.warn(message, stacklevel=3)


class How(NamedTuple):
    """How rows are decided."""

    params: Params
    threshold: float | None
    contained: float | None
    against: Readable | str | Path | None
    drop_blank: bool = False
    threads: int | None = None
    keep: Keep = "first"
    exact: bool = False
    estimate: bool = False
    guard: Guard | None = None
    fetch: Callable[[Any], Any] | None = None
    differences: bool = False
    progress: Any = None
    folder: str | Path | None = None


def _streamed(kind: str, data: Any, on: On | None, how: How) -> Any:
    """The kept rows of a stream, as a stream of the same kind."""
    if kind == "iterator":
        return _rows(data, on, how)
    if on is None:
        raise TypeError("`on` must name the column that is compared")
    names = containers.names_of(on)
    if kind == "datasets.Iterable":
        from datasets import IterableDataset

        # Each pass over the data decides anew.
        named = {} if data.split is None else {"split": data.split}
        passes = _Passes(data, names, how)
        return IterableDataset.from_generator(passes, features=data.features, **named)
    import pyarrow as pa

    for name in names:
        containers.arrow_path(data.schema, name)

    def batches() -> Iterator[Any]:
        for batch, stays in sieved(data, lambda batch: _batch_column(batch, names), how):
            mask = pa.Array.from_buffers(pa.uint8(), len(batch), [None, pa.py_buffer(stays)])
            kept = containers.filtered(pa.Table.from_batches([batch]), mask.cast(pa.bool_()))
            if len(kept):
                yield from kept.to_batches()

    return pa.RecordBatchReader.from_batches(data.schema, batches())


class _Passes:
    """The kept rows of an ``IterableDataset``, read and decided anew by each call."""

    def __init__(self, data: Any, names: list[str], how: How) -> None:
        self._data, self._names, self._how = data, names, how

    def __call__(self) -> Iterator[Any]:
        return _rows(iter(self._data), self._names, self._how)

    def __getstate__(self) -> Any:
        # Workers of a loader are processes of their own: they open the index for reading.
        against = self._how.against
        path = against.path if isinstance(against, Readable) else against
        how = self._how._replace(against=path)
        return {"_data": self._data, "_names": self._names, "_how": how}


def _batch_column(batch: Any, names: list[str]) -> Any:
    columns = [containers.arrow_field(batch, name) for name in names]
    if len(columns) == 1:
        return columns[0]
    return containers.together([column.to_pylist() for column in columns], names)


def _rows(rows: Iterator[Any], on: On | None, how: How) -> Iterator[Any]:
    """The kept rows of an iterator. ``on`` names fields of dicts."""
    names = None if on is None else containers.names_of(on)

    def column(some: list[Any]) -> list[Any]:
        if names is None:
            return some
        columns = [[containers.value_of(row, name) for row in some] for name in names]
        return columns[0] if len(columns) == 1 else containers.together(columns, names)

    def parts() -> Iterator[list[Any]]:
        some = list(islice(rows, _ROWS_TOGETHER))
        for name in names or ():
            # Checked once: later rows may lack the field.
            containers.field_of_records(some, name)
        while some:
            yield some
            some = list(islice(rows, _ROWS_TOGETHER))

    for some, stays in sieved(parts(), column, how):
        yield from (row for row, is_kept in zip(some, stays) if is_kept)


def sieved(
    parts: Iterable[Any], column: Callable[[Any], Any], how: How
) -> Iterator[tuple[Any, bytes]]:
    """The parts of a stream, each with a byte per row: whether it is kept."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="nearkin-", dir=how.folder) as scratch:
        against = opened(how.against)
        sieve = _Sieve(how._replace(against=against), str(Path(scratch) / "kept"))
        try:
            for part in parts:
                yield part, sieve.admit(column(part))
        finally:
            sieve.close()


def opened(against: Readable | str | Path | None) -> Readable | None:
    if against is None or isinstance(against, Snapshot):
        return against
    if isinstance(against, Readable):
        # All rows are compared with the same state of the index.
        return against.snapshot()
    from ._nearkin import Reader

    return Reader(against)


