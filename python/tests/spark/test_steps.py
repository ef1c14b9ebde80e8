"""The steps one after the other, without Spark: each slot as a cluster would run it."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from corpora import CORPORA

import nearkin as nk
from nearkin import shards
from nearkin._nearkin import dedup_params

pytest.importorskip("nearkin.spark", reason="no pyspark (pip install 'nearkin[spark]')")
from nearkin.spark import _buckets, _clusters, _dedup, _documents, _homes, _meetings  # noqa: E402
from nearkin.spark._alike import Alike  # noqa: E402
from nearkin.spark._packed import table_of  # noqa: E402

NOTHING = table_of([])


def stored(rows, layout, partitions):
    """What tasks store; each has a part of the rows, in small batches."""
    tables = []
    for part in range(partitions):
        some = rows[part::partitions]
        table = pa.table(
            {
                "key": [key for key, _ in some],
                "key_hash": pa.array([hash(key) & (2**63 - 1) for key, _ in some], pa.int64()),
                "source": pa.array([text for _, text in some], pa.string()),
            }
        )
        batches = table.to_batches(max_chunksize=97)
        made = _documents.stored_batches(batches, layout, "texts", None)
        tables.append(pa.Table.from_batches(list(made)))
    return pa.concat_tables(tables)


def by_slot(batches):
    table = pa.Table.from_batches(batches) if isinstance(batches, list) else batches
    slots = pc.unique(table.column("slot")).to_pylist()
    return {slot: table.filter(pc.equal(table.column("slot"), slot)) for slot in slots}


def homes_of(table):
    table = table.filter(pc.is_valid(table.column("data")))
    return by_slot(table.select(["slot", "data", "sizes", "keys"]))


def met(table, layout, alike, block, wanted):
    entries = table.select(["slot", "entries"]).rename_columns(["slot", "data"])
    entries = entries.filter(pc.is_valid(entries.column("data"))).sort_by("slot")
    found = _buckets.candidate_batches(
        entries.to_batches(max_chunksize=3), layout.params, layout.slots, block
    )
    homes, how = homes_of(table), _meetings.How(layout, alike, wanted)
    messages = by_slot(list(found))
    signed = [
        _meetings.signed_table(homes.get(slot, NOTHING), messages.get(slot, NOTHING), how)
        for slot in range(layout.slots)
    ]
    messages = by_slot(pa.concat_tables(signed))
    return pa.concat_tables(
        _meetings.compared_table(homes.get(slot, NOTHING), messages.get(slot, NOTHING), how)
        for slot in range(layout.slots)
    )


def pairs_of(found):
    return sorted(
        (min(one, other), max(one, other), row["similarity"])
        for row in found.to_pylist()
        for one in row["a"]
        for other in row["b"]
        if not row["within"] or one < other
    )


def components_at(table, edges, layout):
    found = pa.table(shards.components(edges.column("a"), edges.column("b")))
    messages = by_slot(list(_clusters.component_batches(found.to_batches(), layout.slots)))
    homes = homes_of(table).items()
    return [(home, messages.get(slot, NOTHING)) for slot, home in homes]


@pytest.mark.parametrize("few_numbers", [False, True], ids=["", "few numbers"])
@pytest.mark.parametrize("name", CORPORA)
def test_the_steps_find_what_an_index_finds(monkeypatch, tmp_path, name, few_numbers):
    """With few numbers, many signatures have the same one; nothing is lost, and nothing mixed."""
    rows, params, threshold = CORPORA[name]
    if few_numbers:
        numbers_of = _homes.numbers_of
        for module in (_homes, _documents):
            monkeypatch.setattr(module, "numbers_of", lambda many: (numbers_of(many) >> 8) % 37 << 8)
    with nk.Index(tmp_path / "ix", params) as index:
        index.add([key for key, _ in rows], [text for _, text in rows])
        expected = sorted(row[:3] for row in index.pairs(threshold).read_all().rows())
        found = index.clusters(threshold).read_all()
    members = {}
    for cluster, key in zip(found["cluster"], found["key"], strict=True):
        members.setdefault(cluster, []).append(key)
    clusters = sorted((key, min(keys)) for keys in members.values() for key in keys)

    for partitions, slots, block, small in [(1, 4, 16_384, 16), (3, 14, 5, 3)]:
        monkeypatch.setattr(_buckets, "SMALL", small)
        layout = _homes.Layout(params, slots)
        table = stored(rows, layout, partitions)
        pairs = pairs_of(met(table, layout, Alike(threshold), block, "keys"))
        # Where two pairs of signatures have the same two numbers, one may be found twice.
        assert (sorted(set(pairs)) if few_numbers else pairs) == expected
        edges = met(table, layout, Alike(threshold), block, "edges")
        named = {}
        for home, messages in components_at(table, edges, layout):
            for row in _clusters.named_table(home, messages, layout).to_pylist():
                named.setdefault(row["component"], []).append(row["key"])
        assert sorted((key, min(keys)) for keys in named.values() for key in keys) == clusters


@pytest.mark.parametrize("keep", ["first", "last", "longest"])
@pytest.mark.parametrize("name", CORPORA)
def test_the_steps_drop_what_dedup_drops(name, keep):
    rows, params, _ = CORPORA[name]
    rows = sorted(rows)
    told = nk.dedup([text for _, text in rows], params=params, keep=keep, estimate=True, annotate=True)
    expected = sorted(key for (key, _), of in zip(rows, told, strict=True) if not of.kept)
    chosen = dedup_params(params, params.threshold, None, False, False)
    alike = Alike(params.threshold)
    layout = _homes.Layout(chosen, 8, detailed=True)
    table = stored(rows, layout, 2)
    edges = met(table, layout, alike, 5, "edges")
    decided = pa.concat_tables(
        _dedup.decided_table(home, messages, layout, keep)
        for home, messages in components_at(table, edges, layout)
    )
    by = [(name, "descending" if down else "ascending") for name, down in _dedup.ORDERS[keep]]
    batches = decided.sort_by([("component", "ascending"), *by]).to_batches(max_chunksize=50)
    gone = list(_dedup.dropped_batches(batches, chosen, alike))
    assert sorted(pa.Table.from_batches(gone).column("key").to_pylist()) == expected


@pytest.mark.parametrize("name", CORPORA)
def test_a_repeated_task_sends_the_same_rows(monkeypatch, name):
    """A task that is repeated gets its rows in another order. Spark (4.2) compares what it sends with
    what the first attempt sent, and fails the job if rows differ."""
    monkeypatch.setattr(_buckets, "SMALL", 3)
    rows, params, threshold = CORPORA[name]
    # Equal documents have several keys.
    rows = [*rows, *((f"{key} again", text) for key, text in rows[::3])]
    layout, how = _homes.Layout(params, 4), Alike(threshold)
    table = stored(rows, layout, 5)
    rng = np.random.default_rng(5)

    def shuffled(rows):
        return rows.take(pa.array(rng.permutation(rows.num_rows)))

    def as_rows(sent):
        return sorted(map(repr, sent.to_pylist()))

    def candidates(table):
        entries = table.select(["slot", "entries"]).rename_columns(["slot", "data"])
        entries = entries.filter(pc.is_valid(entries.column("data"))).sort_by("slot").to_batches()
        return pa.Table.from_batches(
            list(_buckets.candidate_batches(entries, layout.params, layout.slots, 5))
        )

    sent, homes = candidates(table), homes_of(table)
    assert as_rows(sent) == as_rows(candidates(shuffled(table)))
    for wanted in ("keys", "edges", "ids"):
        which, messages = _meetings.How(layout, how, wanted), sent
        for step in (_meetings.signed_table, _meetings.compared_table):
            of, made = by_slot(messages), []
            for slot in range(layout.slots):
                home, got = homes.get(slot, NOTHING), of.get(slot, NOTHING)
                made.append(step(home, got, which))
                assert as_rows(made[-1]) == as_rows(step(shuffled(home), shuffled(got), which))
            messages = pa.concat_tables(made)
        assert messages.num_rows

    # What a component is, and which documents of it are shown.
    detailed = _homes.Layout(params, 4, detailed=True)
    table = stored(rows, detailed, 5)
    edges = met(table, detailed, how, 5, "edges")
    steps = [
        lambda home, got: _clusters.named_table(home, got, detailed),
        lambda home, got: _dedup.decided_table(home, got, detailed, "longest"),
        lambda home, got: _dedup.decided_table(home, got, detailed, "last", guarded=True),
    ]
    for home, got in components_at(table, edges, detailed):
        for step in steps:
            assert as_rows(step(home, got)) == as_rows(step(shuffled(home), shuffled(got)))


def test_a_number_does_not_depend_on_where_a_signature_is():
    many = np.frombuffer(bytes(range(256)) * 10, dtype="V20")
    numbers = _homes.numbers_of(many)
    assert (numbers == np.concatenate([_homes.numbers_of(many[at : at + 1]) for at in range(128)])).all()
    assert (numbers & 0xFF == 0).all() and len(set(numbers.tolist())) == len(set(many.tolist()))
    # Each byte counts.
    one = np.zeros(1, dtype="V20")
    for at in range(20):
        other = one.view(np.uint8).copy()
        other[at] = 1
        assert _homes.numbers_of(other.view("V20")) != _homes.numbers_of(one)


def test_keys_twice_are_found_by_their_hashes():
    layout = _homes.Layout(CORPORA["spdx"][1], 4)
    batch = pa.record_batch(
        {
            "key": ["a", "b", None, "a", None],
            "key_hash": pa.array([7, 8, None, 7, None], pa.int64()),
            "source": ["one two three", "four", "five", None, None],
        }
    )
    made = list(_documents.stored_batches([batch], layout, "texts", None))
    table = pa.Table.from_batches(made).select(["slot", "keyless", "key_hashes"])
    table = table.rename_columns(["slot", "keyless", "data"])
    found = pa.Table.from_batches(list(_documents.repeated_batches(table.to_batches())))
    assert pc.sum(found.column("keyless")).as_py() == 1
    assert [number for number in found.column("key_hash").to_pylist() if number is not None] == [7]
