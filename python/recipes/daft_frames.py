"""Near-duplicates of a Daft data frame. Copy this file, and change what you need.

``pairs``, ``clusters`` and ``dedup`` give the answers of ``Index.pairs``, ``Index.clusters`` and
``nearkin.dedup(estimate=True)`` (of the rows sorted by key). Keys are strings; one that is null
or occurs twice is an error.
"""

import daft
import pyarrow as pa
import pyarrow.compute as pc
from daft import DataType, col

import nearkin as nk
from nearkin import shards

BUCKET = ["band", "band_key"]
ENTRY = DataType.struct(dict.fromkeys(BUCKET, DataType.int64()))
PAIR = DataType.struct(
    {"a": DataType.string(), "b": DataType.string(), "similarity": DataType.float64()}
)


def signed(df, params, key, text):
    """The key and the signature of each row that has something to compare."""

    @daft.func.batch(return_dtype=DataType.binary())
    def sign(texts):
        return pa.array(nk.Sketcher(params, threads=1).texts(texts.to_arrow()))

    rows = df.select(col(key).alias("key"), sign(col(text)).alias("signature")).collect()
    counts = rows.groupby("key").agg(col("signature").count("all"))
    bad = counts.where((col("signature") > 1) | col("key").is_null())
    if found := bad.limit(3).to_pydict()["key"]:
        raise ValueError(f"column {key!r}: keys that are null or occur twice: {found}: correct them")
    return rows.where(col("signature").not_null())


def found_by(step, rows, params, threshold, slots):
    """What ``step`` finds in the buckets of two and more documents. A call gets whole buckets."""

    @daft.func.batch(return_dtype=DataType.list(ENTRY))
    def entries_of(signatures):
        entries = shards.band_entries(params, signatures.to_arrow(), range(len(signatures)))
        entries = pa.table(entries).select(BUCKET).to_struct_array().combine_chunks()
        starts = pa.array(range(0, len(entries) + 1, params.bands), pa.int32())
        return pa.ListArray.from_arrays(starts, entries)

    @daft.func.batch(return_dtype=PAIR)
    def compared(*columns):
        bands, band_keys, keys, signatures = (column.to_arrow() for column in columns)
        names = pc.unique(keys).sort()
        numbers = pc.index_in(keys, names)
        found = pa.table(step(params, bands, band_keys, numbers, signatures, threshold)).to_pydict()
        similarity = found.get("similarity", [None] * len(found["a"]))
        columns = [names.take(pa.array(found[name], pa.int64())) for name in "ab"]
        columns.append(pa.array(similarity, pa.float64()))
        return pa.StructArray.from_arrays(columns, ["a", "b", "similarity"])

    entries = rows.select("key", entries_of(col("signature")).alias("entry")).explode("entry")
    entries = entries.select("key", col("entry").unnest())
    several = entries.groupby(*BUCKET).agg(col("key").count()).where(col("key") > 1)
    shared = entries.join(several, on=BUCKET, how="semi").join(rows, on="key")
    slot = shared.with_column("slot", col("band_key") % slots).groupby("slot")
    pair = compared(*map(col, [*BUCKET, "key", "signature"])).alias("pair")
    return slot.map_groups(pair).select(col("pair").unnest())


def pairs(df, params, threshold, key="id", text="text", slots=16):
    """Pairs of keys and their similarity."""
    return found_by(shards.verify_buckets, signed(df, params, key, text), params, threshold, slots)


def clusters(df, params, threshold, key="id", text="text", slots=16):
    """Each key that is similar to another one (node), with the smallest key of its cluster."""
    rows = signed(df, params, key, text)
    edges = found_by(shards.connect_buckets, rows, params, threshold, slots).to_arrow()
    return daft.from_arrow(pa.table(shards.components(edges["a"], edges["b"])))


def dedup(df, params, threshold, key="id", text="text", slots=16):
    """The rows that stay."""
    rows = signed(df, params, key, text)
    first = rows.groupby("signature").agg(col("key").min()).collect()
    edges = found_by(shards.verify_buckets, first, params, threshold, slots).to_arrow()
    gone = daft.from_arrow(pa.table(shards.dropped(edges["a"], edges["b"])))
    kept = first.join(gone, left_on="key", right_on="node", how="anti")
    gone = rows.join(kept, on="key", how="anti")
    return df.join(gone, left_on=key, right_on="key", how="anti")
