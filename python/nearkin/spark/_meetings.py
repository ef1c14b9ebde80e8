"""Meetings: candidates get the signature of one document at its home, and are compared at the home
of the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .. import shards
from ._buckets import MEMBER, MEMBERS, PAIR, PAIRS, PART, slots_of_parts
from ._homes import Home, Layout, arrow_of, home_of, of_one_number, slots_of_numbers
from ._packed import keys_of, packed, records_of, table_of

EDGES = "a long, b long"


class How(NamedTuple):
    """How candidates are compared."""

    layout: Layout
    threshold: float
    #: Whether all pairs are wanted, with the keys of the documents; otherwise edges that connect.
    keyed: bool

    @property
    def pair(self) -> Any:
        """All bands of small buckets where the two meet, and the first of them."""
        bands = -(-self.layout.params.bands // 8)
        return self._signed([*PAIR.descr, ("bands", "u1", (bands,)), ("is_shared", "?")])

    @property
    def member(self) -> Any:
        return self._signed(MEMBER.descr)

    def _signed(self, fields: list[Any]) -> Any:
        more = [("keys", "<u4")] if self.keyed else []
        return np.dtype([*fields, *more, ("signature", f"V{self.layout.params.signature_bytes}")])


def signed_table(homes: Any, messages: Any, how: How) -> Any:
    """Adds the signature (and the keys) of one document to each message, and sends it on: a pair to
    the home of its other document, a member to its part of a bucket."""
    if not messages.num_rows or not homes.num_rows:
        return table_of([])
    home, slots, sent = home_of(homes, how.layout), how.layout.slots, []
    pairs, bands = _each_once(_of_kind(messages, PAIRS, PAIR), how)
    if len(pairs):
        row, at = home.places(pairs["a"])
        records = np.empty(len(row), dtype=how.pair)
        records["a"], records["b"], records["band"] = home.ids[at], pairs["b"][row], pairs["band"][row]
        records["bands"], records["is_shared"] = bands[row], home.is_shared[at]
        keys = _signed(records, home, at, how)
        sent.append(packed(PAIRS, records, slots_of_numbers(records["b"], slots), slots, keys))
    members = _of_kind(messages, MEMBERS, MEMBER)
    if len(members):
        row, at = home.places(members["number"])
        records = np.empty(len(row), dtype=how.member)
        for name in (*(name for name, _ in PART), "of_right"):
            records[name] = members[name][row]
        records["number"] = home.ids[at]
        keys = _signed(records, home, at, how)
        sent.append(packed(MEMBERS, records, slots_of_parts(records, slots), slots, keys))
    return table_of(sent)


def _each_once(pairs: Any, how: How) -> tuple[Any, Any]:
    """Each pair of numbers once, with its first band; and the bits of all its bands."""
    shape = how.pair["bands"].shape
    if not len(pairs):
        return pairs, np.empty((0, *shape), dtype=np.uint8)
    pairs = pairs[np.lexsort((pairs["band"], pairs["b"], pairs["a"]))]
    is_new = np.ones(len(pairs), dtype=bool)
    is_new[1:] = (pairs["a"][1:] != pairs["a"][:-1]) | (pairs["b"][1:] != pairs["b"][:-1])
    bits = np.zeros((len(pairs), *shape), dtype=np.uint8)
    bits[np.arange(len(pairs)), pairs["band"] >> 3] = 1 << (pairs["band"] & 7)
    starts = np.flatnonzero(is_new)
    return pairs[starts], np.bitwise_or.reduceat(bits, starts)


def _of_kind(messages: Any, kind: int, dtype: Any) -> Any:
    return records_of(_rows(messages, kind).column("data"), dtype)


def _rows(messages: Any, kind: int) -> Any:
    return messages.filter(pc.equal(messages.column("kind"), kind))


def _signed(records: Any, home: Home, at: Any, how: How) -> Any:
    records["signature"] = home.signatures[at]
    if not how.keyed:
        return None
    keys = home.keys.take(pa.array(at))
    records["keys"] = np.diff(keys.offsets.to_numpy())
    return keys


class Found(NamedTuple):
    """Pairs of ids, with the keys of each if pairs are wanted."""

    a: Any
    b: Any
    similarity: Any = None
    a_keys: Any = None
    b_keys: Any = None


def compared_table(homes: Any, messages: Any, how: How) -> Any:
    """The pairs among what meets in a slot: edges, or pairs of lists of keys."""
    found: list[Found] = []
    if homes.num_rows and (how.keyed or messages.num_rows):
        found += _at_home(home_of(homes, how.layout), messages, how)
    if messages.num_rows:
        found += _in_parts(_rows(messages, MEMBERS), how)
    if not how.keyed:
        columns = [np.concatenate([*(one[end] for one in found), np.empty(0, np.int64)]) for end in (0, 1)]
        return pa.table([pa.array(column) for column in columns], names=["a", "b"])
    return pa.Table.from_batches([_named(one, how) for one in found], schema=_named_schema(how))


def _named_schema(how: How) -> Any:
    keys = pa.list_(how.layout.key_type)
    return pa.schema([("a", keys), ("b", keys), ("similarity", pa.float64()), ("within", pa.bool_())])


def _named(found: Found, how: How) -> Any:
    keys = pa.list_(how.layout.key_type)
    within = pa.array(np.full(len(found.a), found.a is found.b))
    columns = [found.a_keys.cast(keys), found.b_keys.cast(keys), pa.array(found.similarity), within]
    return pa.RecordBatch.from_arrays(columns, schema=_named_schema(how))


def _at_home(home: Home, messages: Any, how: How) -> Iterator[Found]:
    params = how.layout.params
    rows = _rows(messages, PAIRS)
    pairs = records_of(rows.column("data"), how.pair)
    if len(pairs):
        keys = keys_of(rows, pairs["keys"]) if how.keyed else None
        row, at = home.places(pairs["b"])
        yield _at_band(pairs, keys, row, at, pairs["band"][row], home, how)
        # Signatures with the same number may share other bands than the first one.
        shared = pairs["is_shared"][row] | home.is_shared[at]
        for band in range(params.bands if shared.any() else 0):
            has_band = (pairs["bands"][row, band >> 3] >> (band & 7) & 1).astype(bool)
            chosen = np.flatnonzero(shared & has_band & (pairs["band"][row] != band))
            bands = np.full(len(chosen), band)
            yield _at_band(pairs, keys, row[chosen], at[chosen], bands, home, how)
    yield from _of_one_number(home, how)
    if how.keyed:
        several = np.flatnonzero(np.diff(home.keys.offsets.to_numpy()) > 1)
        if len(several):
            keys, ids = home.keys.take(pa.array(several)), home.ids[several]
            equal = np.full(len(several), 1.0)
            yield Found(ids, ids, equal, keys, keys)


def _at_band(
    pairs: Any, keys: Any, row: Any, at: Any, bands: Any, home: Home, how: How
) -> Found:
    """Compares pairs, each at one band, with the signatures ``at`` this home."""
    inputs = (pa.array(bands), arrow_of(pairs["signature"][row]), arrow_of(home.signatures[at]))
    told = pa.table(shards.verify(how.layout.params, *inputs, how.threshold))
    yes = told.column("row").to_numpy()
    row, at = row[yes], at[yes]
    found = Found(pairs["a"][row], home.ids[at], told.column("similarity").to_numpy())
    if not how.keyed:
        return found
    return found._replace(a_keys=keys.take(pa.array(row)), b_keys=home.keys.take(pa.array(at)))


def _of_one_number(home: Home, how: How) -> Iterator[Found]:
    """The pairs of different signatures that happen to have the same number."""
    params = how.layout.params
    at = np.flatnonzero(home.is_shared)
    if not len(at):
        return
    signatures, numbers = arrow_of(home.signatures[at]), pa.array(home.numbers[at])
    for band in range(params.bands):
        bands = pa.array(np.full(len(at), band))
        told = shards.verify_buckets(
            params, bands, numbers, pa.array(home.ids[at]), signatures, how.threshold
        )
        yield _found_in(pa.table(told), home.ids[at], home.keys.take(pa.array(at)), how)


def _found_in(told: Any, ids: Any, keys: Any, how: How) -> Found:
    a, b = told.column("a").to_numpy(), told.column("b").to_numpy()
    found = Found(a, b, told.column("similarity").to_numpy())
    if not how.keyed:
        return found
    order = np.argsort(ids)
    a_at, b_at = (order[np.searchsorted(ids, end, sorter=order)] for end in (a, b))
    return found._replace(a_keys=keys.take(pa.array(a_at)), b_keys=keys.take(pa.array(b_at)))


def _in_parts(rows: Any, how: How) -> Iterator[Found]:
    """The pairs of large buckets."""
    stored = records_of(rows.column("data"), how.member)
    if not len(stored):
        return
    keys: Any = keys_of(rows, stored["keys"]) if how.keyed else None
    order = np.lexsort([stored[name] for name in ("number", "of_right", "right", "left", "tag", "band")])
    records = stored[order]
    first = np.ones(len(records), dtype=bool)
    first[1:] = False
    for name, _ in PART:
        first[1:] |= records[name][1:] != records[name][:-1]
    starts = [*np.flatnonzero(first).tolist(), len(records)]
    for start, end in zip(starts, starts[1:]):
        part = records[start:end]
        told = _compared(part, how)
        # Signatures with the same number are compared at home.
        other = ~of_one_number(told.column("a").to_numpy(), told.column("b").to_numpy())
        told = told if other.all() else told.filter(pa.array(other))
        if not how.keyed:
            yield Found(told.column("a").to_numpy(), told.column("b").to_numpy())
        elif told.num_rows:
            keys_of_part = keys.take(pa.array(order[start:end]))
            yield _found_in(told, part["number"], keys_of_part, how)


def _compared(part: Any, how: How) -> Any:
    params, band = how.layout.params, int(part["band"][0])
    numbers, signatures = part["number"], part["signature"]
    if not how.keyed or part["left"][0] == part["right"][0]:
        same = pa.array(np.full(len(part), band)), pa.array(np.zeros(len(part), dtype=np.int64))
        inputs = (*same, pa.array(np.ascontiguousarray(numbers)), arrow_of(signatures), how.threshold)
        call = shards.verify_buckets if how.keyed else shards.connect_buckets
        return pa.table(call(params, *inputs))
    sides = (~part["of_right"], part["of_right"])
    left, right = (pa.array(np.ascontiguousarray(numbers[side])) for side in sides)
    of_left, of_right = (arrow_of(signatures[side]) for side in sides)
    found = shards.verify_between(params, band, left, of_left, right, of_right, how.threshold)
    return pa.table(found)
