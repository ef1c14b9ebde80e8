"""Converts an LSH of datasketch to an index of Nearkin."""

from __future__ import annotations

import os
import pickle
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np

from .. import _nearkin
from ._pickles import loads
from .lsh import MinHashLSH
from .lshforest import MinHashLSHForest


def import_datasketch(source: Any, path: str | os.PathLike[str]) -> _nearkin.Index[Any]:
    """Creates an index at ``path`` from a ``MinHashLSH`` or ``MinHashLSHForest``. Returns it open.

    ``source`` is the object, of datasketch or of this package, or its pickle: bytes, or the path of
    a file. An LSH keeps only the rows of its bands. The index stores these rows unchanged, and thus
    finds the same candidates. Keys must be ``str`` or ``int`` (or all ``bytes``).

    >>> import pathlib, tempfile
    >>> from nearkin import import_datasketch
    >>> from nearkin.datasketch import MinHash, MinHashLSH
    >>> lsh = MinHashLSH(num_perm=64, params=(8, 4))
    >>> m = MinHash(num_perm=64)
    >>> m.update(b"a")
    >>> lsh.insert("a", m)
    >>> with import_datasketch(lsh, pathlib.Path(tempfile.mkdtemp()) / "index") as ix:
    ...     len(ix), ix.params.bands, ix.params.rows_per_band, ix.params.hashes
    (1, 8, 4, 32)
    """
    if isinstance(source, (str, os.PathLike)):
        source = Path(source).read_bytes()
    if isinstance(source, bytes):
        source = loads(source)
    elif not isinstance(source, (MinHashLSH, MinHashLSHForest)):
        source = loads(pickle.dumps(source))
    rows = _rows(source)
    bands, per_band, threshold = _shape(source)
    if not rows:
        raise ValueError("there are no keys to import")
    width = len(next(iter(rows.values()))) // (bands * per_band)
    scheme = getattr(source, "_minhash_scheme", None) or getattr(source, "_scheme", None)
    params = _nearkin.Params(
        threshold,
        hashes=bands * per_band,
        bands=(bands, per_band),
        lane_bits=8 * width,
        scheme=f"external:datasketch-{scheme or 'legacy'}",
    )
    keys = list(rows)
    as_bytes = all(isinstance(key, bytes) for key in keys)
    if not as_bytes:
        keys = [str(key) if type(key) is int else key for key in keys]
        if not all(isinstance(key, str) for key in keys):
            raise TypeError("keys must be str or int, or all bytes")
        if len(set(keys)) < len(keys):
            raise ValueError("an int and the str of its digits are one key: rename one")
    values = np.frombuffer(b"".join(rows.values()), f">u{width}").astype(f"<u{width}")
    index = _nearkin.Index.create(path, params, keys="bytes" if as_bytes else "str")
    index.add(keys, _nearkin.Signatures.from_bytes(params, values.tobytes()))
    return index


def _rows(source: Any) -> dict[Hashable, bytes]:
    """The rows of all bands, big-endian, by key; the newest ones of a key inserted several times."""
    if isinstance(source, MinHashLSHForest):
        return {key: b"".join(parts) for key, parts in source.keys.items()}
    if not isinstance(source, MinHashLSH):
        name = type(source).__name__
        raise TypeError(f"a MinHashLSH or MinHashLSHForest is imported, not {name}")
    if source.hashfunc is not None:
        raise ValueError("an LSH with a hash function keeps no rows: insert the MinHashes again")
    return {source._outer([key])[0]: b"".join(source._rows_of(key)[-1]) for key in source.keys}


def _shape(source: Any) -> tuple[int, int, float]:
    """Bands, rows per band, and the similarity above which pairs are probably found."""
    is_forest = isinstance(source, MinHashLSHForest)
    bands, rows = (source.l, source.k) if is_forest else (source.b, source.r)
    return bands, rows, float((1 / bands) ** (1 / rows))
