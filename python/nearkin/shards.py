"""Sharded indexes, and the steps of a job on a cluster as functions of Arrow batches.
``nearkin.spark`` is built on this module.

Each step is pure and takes columns (lists, Arrow, pandas, polars), so any engine that moves batches
can run it. See ``docs/reference/SHARDS.md``.

>>> import nearkin as nk
>>> from nearkin import shards
>>> p = nk.Params(0.5, shingles="words:1")
>>> s = nk.Sketcher(p).texts(["one two three four five", "other words", "one two three four six"])
>>> t = shards.band_entries(p, s, [0, 1, 2])
>>> rows = [s[d].to_bytes() for d in t["document"]]
>>> pairs = shards.verify_buckets(p, t["band"], t["band_key"], t["document"], rows, 0.5)
>>> list(zip(pairs["a"], pairs["b"]))
[(0, 2)]
>>> shards.components(pairs["a"], pairs["b"]).rows()
[(0, 0), (2, 0)]

Tasks seal documents into files. One process lists all the files in a single commit:

>>> import pathlib, tempfile
>>> folder = pathlib.Path(tempfile.mkdtemp())
>>> lake = shards.Shards.create(folder / "lake", p, 2)
>>> [shard] = shards.shard_of(["k1"], 2)["shard"]
>>> sealed = shards.seal(p, ["k1"], ["one two three"], lake.ticket(4711, shard), folder / "part")
>>> lake.place(folder / "part", sealed)
>>> lake.append([(shard, sealed)]).inserted
1
>>> nk.Reader(folder / "lake").query("One, two, three!").keys
['k1']
"""

from __future__ import annotations

from ._fetch import fetch
from ._nearkin import shards as _shards
from ._remote import RemoteShards

__all__ = [
    "Manifest",
    "RemoteShards",
    "Sealed",
    "Shards",
    "Ticket",
    "are_stars",
    "band_entries",
    "compare",
    "components",
    "connect_buckets",
    "dropped",
    "fetch",
    "large_star",
    "seal",
    "shard_of",
    "shingles",
    "small_star",
    "verify",
    "verify_between",
    "verify_buckets",
]

for _name in __all__:
    if _name in vars(_shards):
        globals()[_name] = getattr(_shards, _name)
        # Engines pickle functions by the name of their module; Rust calls it `shards`.
        globals()[_name].__module__ = __name__
del _name
