from typing import Any, Literal

from ._nearkin import Params, Table

def band_entries(
    params: Params, signatures: Any, documents: Any, bands: tuple[int, int] | None = None
) -> Table: ...
def verify_buckets(
    params: Params,
    bands: Any,
    band_keys: Any,
    documents: Any,
    signatures: Any,
    threshold: float,
) -> Table: ...
def verify_between(
    params: Params,
    band: int,
    documents: Any,
    signatures: Any,
    other_documents: Any,
    other_signatures: Any,
    threshold: float,
) -> Table: ...
def verify(
    params: Params, bands: Any, signatures: Any, other_signatures: Any, threshold: float
) -> Table: ...
def components(a: Any, b: Any, *, keys: Literal["str", "bytes"] = "str") -> Table: ...
def large_star(nodes: Any, neighbours: Any, *, keys: Literal["str", "bytes"] = "str") -> Table: ...
def small_star(nodes: Any, neighbours: Any, *, keys: Literal["str", "bytes"] = "str") -> Table: ...
def are_stars(nodes: Any, centres: Any) -> bool: ...
def shard_of(keys: Any, shards: int) -> Table: ...
