"""Near-duplicates of a dataset of Ray Data. Copy this file, and change what you need.

``pairs``, ``clusters`` and ``dedup`` give the answers of ``Index.pairs``, ``Index.clusters`` and
``nearkin.dedup(estimate=True)`` (of the rows sorted by key). A key that is null or occurs twice is an error.
"""

import pyarrow as pa
import pyarrow.compute as pc
import ray

import nearkin as nk
from nearkin import shards


def by_slot(rows, step, slots):
    groups = rows.groupby("slot", num_partitions=slots)
    return groups.map_groups(step, batch_format="pyarrow").materialize()


def signed(ds, params, key, text, slots):
    """The key and the signature of each row that has something to compare."""

    def sign(batch):
        keys = batch[key].cast(pa.string())
        signatures = pa.array(nk.Sketcher(params, threads=1).texts(batch[text])).cast(pa.binary())
        slot = pa.array(shards.shard_of(keys, slots)["shard"], pa.int64())
        return pa.table({"key": keys, "signature": signatures, "slot": slot})

    def refused(rows):
        counts = rows.group_by("key").aggregate([([], "count_all")])
        return counts.filter(pc.or_(pc.is_null(counts["key"]), pc.greater(counts["count_all"], 1)))

    rows = ds.map_batches(sign, batch_format="pyarrow").materialize()
    if found := by_slot(rows.select_columns(["key", "slot"]), refused, slots).take(3):
        raise ValueError(f"column {key!r}: keys are null or occur twice: {found[0]['key']!r}")
    return rows.map_batches(lambda rows: rows.filter(pc.is_valid(rows["signature"])), batch_format="pyarrow")


def found_by(step, rows, params, slots):
    """What ``step`` finds in the buckets of documents. A call gets whole buckets."""

    def entries_of(rows):
        entries = pa.table(shards.band_entries(params, rows["signature"], range(len(rows))))
        slot = pa.array(entries["band_key"].to_numpy() % slots)
        rows = rows.select(["key", "signature"]).take(entries["document"])
        rows = rows.append_column("band", entries["band"]).append_column("slot", slot)
        return rows.append_column("band_key", entries["band_key"])

    def compared(rows):
        names = pc.unique(rows["key"]).sort()
        buckets = [rows["band"], rows["band_key"], pc.index_in(rows["key"], names), rows["signature"]]
        found = pa.table(step(params, *buckets, params.threshold))
        ends = [names.take(found[name]) for name in "ab"]
        return pa.table([*ends, *found.columns[2:]], found.column_names)

    return by_slot(rows.map_batches(entries_of, batch_format="pyarrow"), compared, slots)


def pairs(ds, params, key="id", text="text", slots=16):
    """Pairs of keys (a, b), their equal rows, and their similarity."""
    return found_by(shards.verify_buckets, signed(ds, params, key, text, slots), params, slots)


def connected(rows, params, slots):
    edges = found_by(shards.connect_buckets, rows, params, slots).to_arrow_refs()
    return pa.table(shards.components(*pa.concat_tables(ray.get(edges)).columns))


def clusters(ds, params, key="id", text="text", slots=16):
    """Each key that is similar to another one (node), and the smallest key of its cluster."""
    return ray.data.from_arrow(connected(signed(ds, params, key, text, slots), params, slots))


def dedup(ds, params, key="id", text="text", slots=16):
    """The rows that stay."""
    rows = signed(ds, params, key, text, slots)
    components = connected(rows, params, slots)

    def members_of(rows):
        rows = rows.drop_columns(["slot"]).join(components, "key", "node", "inner")
        slot = pa.array(shards.shard_of(rows["component"], slots)["shard"], pa.int64())
        return rows.append_column("slot", slot)

    def dropped(rows):
        rows = rows.sort_by("key")
        signatures = nk.Signatures.from_bytes(params, b"".join(rows["signature"].to_pylist()))
        kept = rows["key"].take(nk.dedup(signatures, params=params, threads=1))
        return rows.filter(pc.invert(pc.is_in(rows["key"], kept)))

    gone = by_slot(rows.map_batches(members_of, batch_format="pyarrow"), dropped, slots).to_arrow_refs()
    gone = pa.concat_tables(ray.get(gone))["key"]

    def stay(batch):
        return batch.filter(pc.invert(pc.is_in(batch[key], gone.cast(batch[key].type))))

    return ds.map_batches(stay, batch_format="pyarrow")
