"""Meetings: candidates get the signature of one document at its home, and are compared at the home
of the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .. import shards
from ._alike import Alike
from ._buckets import MEMBER, MEMBERS, PAIR, PAIRS, PART, slots_of_parts
from ._homes import Home, Layout, home_of, of_one_number, slots_of_numbers
from ._packed import keys_of, packed, records_of, table_of

EDGES = "a long, b long"


class How(NamedTuple):
    """How candidates are compared."""

    layout: Layout
    alike: Alike
    #: What is wanted: edges that connect, all pairs of ids, or all pairs with the keys of both.
    wanted: Literal["edges", "ids", "keys"]

    @property
    def keyed(self) -> bool:
        return self.wanted == "keys"

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
        return np.dtype([*fields, *more, ("identity", self.layout.identity)])


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
        # Spark brings messages in any order; the output has one.
        members = members[_order_of_members(members)]
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
    records["identity"] = home.identities[at]
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
    #: The estimated containment, if the condition has one.
    contained: Any = None
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
    schema = _named_schema(how)
    return pa.Table.from_batches([_named(one, how, schema) for one in found], schema=schema)


def _named_schema(how: How) -> Any:
    keys = pa.list_(how.layout.key_type)
    values = ["similarity", *how.alike.estimates]
    fields = [("a", keys), ("b", keys), *((name, pa.float64()) for name in values)]
    return pa.schema([*fields, ("within", pa.bool_())])


def _named(found: Found, how: How, schema: Any) -> Any:
    within = np.full(len(found.a), found.a is found.b)
    columns = {"a": found.a_keys, "b": found.b_keys, "similarity": found.similarity}
    columns |= {"contained": found.contained, "within": within}
    values = [columns[field.name] for field in schema]
    arrays = [
        value.cast(field.type) if isinstance(value, pa.Array) else pa.array(value, field.type)
        for value, field in zip(values, schema)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


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
            yield Found(ids, ids, equal, equal, keys, keys)


def _at_band(
    pairs: Any, keys: Any, row: Any, at: Any, bands: Any, home: Home, how: How
) -> Found:
    """Compares pairs, each at one band, with the signatures ``at`` this home."""
    layout, alike = how.layout, how.alike
    signatures = (layout.signatures(pairs["identity"][row]), layout.signatures(home.identities[at]))
    told = shards.verify(
        layout.params, pa.array(bands), *signatures, alike.threshold, **alike.search
    )
    table = pa.table(told)
    yes = table.column("row").to_numpy()
    row, at = row[yes], at[yes]
    found = Found(pairs["a"][row], home.ids[at], *_values(table, how))
    if not how.keyed:
        return found
    return found._replace(a_keys=keys.take(pa.array(row)), b_keys=home.keys.take(pa.array(at)))


def _values(told: Any, how: How) -> list[Any]:
    return [told.column(name).to_numpy() for name in ("similarity", *how.alike.estimates)]


def _of_one_number(home: Home, how: How) -> Iterator[Found]:
    """The pairs of different signatures that happen to have the same number."""
    params = how.layout.params
    at = np.flatnonzero(home.is_shared)
    if not len(at):
        return
    signatures = how.layout.signatures(home.identities[at])
    numbers, ids = pa.array(home.numbers[at]), pa.array(home.ids[at])
    for band in range(params.bands):
        bands = pa.array(np.full(len(at), band))
        inputs = (bands, numbers, ids, signatures, how.alike.threshold)
        told = shards.verify_buckets(params, *inputs, **how.alike.search)
        yield _found_in(pa.table(told), home.ids[at], home.keys.take(pa.array(at)), how)


def _found_in(told: Any, ids: Any, keys: Any, how: How) -> Found:
    a, b = told.column("a").to_numpy(), told.column("b").to_numpy()
    found = Found(a, b, *_values(told, how))
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
    order = _order_of_members(stored)
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
        if how.wanted == "edges":
            yield Found(told.column("a").to_numpy(), told.column("b").to_numpy())
        elif told.num_rows:
            keys_of_part = keys.take(pa.array(order[start:end])) if how.keyed else None
            yield _found_in(told, part["number"], keys_of_part, how)


def _order_of_members(members: Any) -> Any:
    """By part of a bucket, side and number."""
    names = ("number", "of_right", "right", "left", "tag", "band")
    return np.lexsort([members[name] for name in names])


def _compared(part: Any, how: How) -> Any:
    layout, band, alike = how.layout, int(part["band"][0]), how.alike
    numbers, identities, is_edges = part["number"], part["identity"], how.wanted == "edges"
    if is_edges or part["left"][0] == part["right"][0]:
        same = pa.array(np.full(len(part), band)), pa.array(np.zeros(len(part), dtype=np.int64))
        documents = pa.array(np.ascontiguousarray(numbers)), layout.signatures(identities)
        call = shards.connect_buckets if is_edges else shards.verify_buckets
        return pa.table(call(layout.params, *same, *documents, alike.threshold, **alike.search))
    sides = (~part["of_right"], part["of_right"])
    left, right = (
        (pa.array(np.ascontiguousarray(numbers[side])), layout.signatures(identities[side]))
        for side in sides
    )
    found = shards.verify_between(
        layout.params, band, *left, *right, alike.threshold, **alike.search
    )
    return pa.table(found)
