"""The home of a signature: the slot where its documents are together."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .. import BugError, Params, Signatures
from ._packed import keys_of, lists_of, records_of

#: Low bits of a signature's number, which are 0. Different signatures with the same number get
#: different ids by them.
_RANK_BITS = 8
KeyKind = Literal["binary", "string"]
_ODD = np.uint64(0x9E3779B97F4A7C15)
_COUNT_BYTES = 4
#: Size of the hash that tells the shingles of documents apart.
FINGERPRINT_BYTES = 16


class Layout(NamedTuple):
    """How a document is stored at its home."""

    params: Params
    slots: int
    #: The type of keys.
    key_kind: KeyKind = "string"
    #: Whether the shingle count is stored, and whether the document is like one of an index.
    detailed: bool = False
    #: Whether documents of one identity also have the same count of shingles.
    is_counted: bool = False
    #: Whether documents of one identity also have the same shingles, which are stored, too.
    is_exact: bool = False

    @property
    def key_type(self) -> Any:
        return pa.binary() if self.key_kind == "binary" else pa.string()

    @property
    def identity(self) -> Any:
        """What documents have in common that are in the same pairs: the signature, then the count
        and a hash of the shingles, if these matter."""
        more = _COUNT_BYTES * self.is_counted + FINGERPRINT_BYTES * self.is_exact
        return np.dtype(f"V{self.params.signature_bytes + more}")

    @property
    def home(self) -> Any:
        """The record of a document."""
        more = [("count", "<u4"), ("is_like", "?")] if self.detailed else []
        return np.dtype([("identity", self.identity), *more])

    def identities(self, signatures: Any, counts: Any, fingerprints: Any) -> Any:
        """The identities of documents. ``fingerprints`` are records of bytes, or None."""
        parts = [_matrix(signatures)]
        if self.is_counted:
            parts.append(_matrix(np.minimum(counts, 2**32 - 1).astype("<u4")))
        if self.is_exact:
            parts.append(_matrix(fingerprints))
        return np.ascontiguousarray(np.hstack(parts)).view(self.identity).reshape(-1)

    def signatures(self, identities: Any) -> Any:
        """The signatures of identities, as the functions of ``nearkin.shards`` take them."""
        width, matrix = self.params.signature_bytes, _matrix(identities)
        data = np.ascontiguousarray(matrix[:, :width])
        if not self.is_counted:
            return arrow_of(data.view(f"V{width}").reshape(-1))
        counts = np.ascontiguousarray(matrix[:, width : width + _COUNT_BYTES]).view("<u4")
        return Signatures.from_bytes(self.params, data.tobytes(), counts.reshape(-1).tolist())


def _matrix(records: Any) -> Any:
    """The bytes of fixed-size records, a row each."""
    records = np.ascontiguousarray(records)
    return records.view(np.uint8).reshape(len(records), records.dtype.itemsize)


def numbers_of(signatures: Any) -> Any:
    """The number of each identity: a hash, so that it does not depend on partitions. ``signatures``
    is an array of fixed-size records."""
    width = signatures.dtype.itemsize
    words = np.zeros((len(signatures), -(-width // 8) * 8), dtype=np.uint8)
    words[:, :width] = np.ascontiguousarray(signatures).view(np.uint8).reshape(-1, width)
    mixed = np.full(len(signatures), width, dtype=np.uint64)
    for word in words.view("<u8").T:
        mixed ^= word
        mixed *= _ODD
        mixed ^= mixed >> np.uint64(29)
    mixed *= _ODD
    mixed ^= mixed >> np.uint64(32)
    return (mixed << np.uint64(_RANK_BITS)).view(np.int64)


def slots_of_numbers(numbers: Any, slots: int) -> Any:
    """The home slot of each number or id."""
    mixed = np.ascontiguousarray(numbers).view(np.uint64) >> np.uint64(_RANK_BITS)
    return (mixed % np.uint64(slots)).astype(np.int32)


def of_one_number(a: Any, b: Any) -> Any:
    """Whether the ids are of signatures with the same number."""
    return (a ^ b) >> _RANK_BITS == 0


class Home(NamedTuple):
    """The distinct signatures (identities, see :class:`Layout`) of one slot, in ascending order of
    ``ids``."""

    #: The numbers. Different signatures can have the same number.
    numbers: Any
    #: A number for each signature that no other signature has.
    ids: Any
    identities: Any
    #: An Arrow list of keys for each signature.
    keys: Any
    #: For each document, the index of its signature, in the order of ``keys.values``.
    group_of: Any
    #: The records of the documents in the same order.
    documents: Any
    #: For each document, its row among the stored ones.
    order: Any

    @property
    def is_shared(self) -> Any:
        """Whether another signature has the same number."""
        same = self.numbers[1:] == self.numbers[:-1]
        return (np.append(same, False) | np.append(False, same))[: len(self.numbers)]

    def places(self, numbers: Any) -> tuple[Any, Any]:
        """For each wanted number, the indexes of its signatures: (index of the wanted number,
        index of the signature)."""
        first = np.searchsorted(self.numbers, numbers, "left")
        counts = np.searchsorted(self.numbers, numbers, "right") - first
        if not counts.all():
            raise BugError("a document of a bucket has no signature: please report this")
        wanted = np.repeat(np.arange(len(numbers)), counts)
        within = np.arange(len(wanted)) - np.repeat(np.cumsum(counts) - counts, counts)
        return wanted, first[wanted] + within


def home_of(rows: Any, layout: Layout) -> Home:
    """Collapses equal signatures. The result depends only on the set of documents."""
    documents = records_of(rows.column("data"), layout.home)
    keys = keys_of(rows, np.ones(len(documents), dtype=np.int64)).values
    signatures = np.ascontiguousarray(documents["identity"])
    numbers = numbers_of(signatures)
    order = np.argsort(numbers, kind="stable")
    numbers, signatures = numbers[order], signatures[order]
    same_number = numbers[1:] == numbers[:-1]
    differ = _differ(signatures, np.flatnonzero(same_number))
    if differ.any():
        # Different signatures with the same number: sort these by their bytes, too.
        rank = np.unique(_bytes_of(signatures), return_inverse=True)[1].reshape(-1)
        again = np.lexsort((rank, numbers))
        order, numbers, signatures = order[again], numbers[again], signatures[again]
        differ = _differ(signatures, np.flatnonzero(same_number))
    first = np.ones(len(numbers), dtype=bool)
    first[1:] = ~same_number
    begins_number = first.copy()
    first[1:][np.flatnonzero(same_number)[differ]] = True
    group_of = np.cumsum(first) - 1
    starts = np.flatnonzero(first)
    order = _by_key(order, group_of, keys)
    lists = lists_of(keys.take(pa.array(order)), np.append(starts, len(numbers)))
    # The rank of a signature among those with the same number.
    begin_of = np.maximum.accumulate(np.where(begins_number, group_of, 0))[starts]
    ranks = np.arange(len(starts)) - begin_of
    if len(ranks) and ranks.max() >> _RANK_BITS:
        raise BugError("too many signatures have the same number: please report this")
    distinct = numbers[starts]
    documents = documents[order]
    return Home(distinct, distinct + ranks, signatures[starts], lists, group_of, documents, order)


def _by_key(order: Any, group_of: Any, keys: Any) -> Any:
    """``order`` with the documents of each signature in ascending order of their keys: Spark brings
    rows in any order, and fails a repeated task whose output differs from the first one's."""
    several = np.flatnonzero((np.bincount(group_of) > 1)[group_of]) if len(order) else order
    if not len(several):
        return order
    table = pa.table([group_of[several], keys.take(pa.array(order[several]))], names=["group", "key"])
    by = pc.sort_indices(table, sort_keys=[("group", "ascending"), ("key", "ascending")])
    ordered = order.copy()
    ordered[several] = order[several][by.to_numpy()]
    return ordered


def shingles_of(rows: Any, home: Home) -> Any:
    """The shingles of each identity of a home. Of equal documents that were stored together, only
    one has them."""
    sizes = records_of(rows.column("shingle_sizes"), "<u4").astype(np.int64)
    ends = np.concatenate(([0], np.cumsum(sizes)))
    data = records_of(rows.column("shingles"), np.uint8)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(data)]
    shingles = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(sizes), buffers)
    there = np.flatnonzero(sizes[home.order])
    _, first = np.unique(home.group_of[there], return_index=True)
    if len(first) != len(home.ids):
        raise BugError("a document has no shingles: please report this")
    return shingles.take(pa.array(home.order[there[first]]))


def distinct(signatures: Any, numbers: Any) -> Any:
    """Indexes of all different signatures, nearly each once."""
    order = np.argsort(numbers, kind="stable")
    numbers = numbers[order]
    is_new = np.ones(len(order), dtype=bool)
    same = np.flatnonzero(numbers[1:] == numbers[:-1])
    is_new[same + 1] = _differ(signatures[order], same)
    return order[is_new]


def _bytes_of(signatures: Any) -> Any:
    return np.char.asarray(np.array([bytes(one).hex() for one in signatures]))


def _differ(signatures: Any, rows: Any) -> Any:
    """Whether each of these rows has another signature than the next row."""
    width = signatures.dtype.itemsize
    matrix = signatures.view(np.uint8).reshape(-1, width)
    return (matrix[rows] != matrix[rows + 1]).any(axis=1)


def arrow_of(signatures: Any) -> Any:
    """An array of fixed-size records as an Arrow column."""
    width = signatures.dtype.itemsize
    ends = np.arange(0, width * len(signatures) + 1, width, dtype=np.int64)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(np.ascontiguousarray(signatures))]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(signatures), buffers)
