"""The classes of datasketch, with their hash values bit for bit and the work done in Rust.

One import line changes:

>>> from nearkin.datasketch import MinHash, MinHashLSH
>>> lsh = MinHashLSH(threshold=0.5, num_perm=64)
>>> a, b = MinHash.bulk([[b"x", b"y", b"z"], [b"x", b"y", b"z"]], num_perm=64)
>>> lsh.insert("a", a)
>>> lsh.query(b)
['a']

Objects of datasketch itself are accepted wherever those of this package are. numpy is needed.
"""

from __future__ import annotations

from ._bbit import bBitMinHash
from ._ensemble import MinHashLSHEnsemble
from ._forest import MinHashLSHForest
from ._lean import LeanMinHash
from ._lsh import MinHashLSH
from ._minhash import MinHash
from ._native import sha1_hash32, sha1_hash64
from ._pickles import dumps, loads
from ._stored import StoredMinHashLSH

__all__ = [
    "LeanMinHash",
    "MinHash",
    "MinHashLSH",
    "MinHashLSHEnsemble",
    "MinHashLSHForest",
    "StoredMinHashLSH",
    "bBitMinHash",
    "dumps",
    "loads",
    "sha1_hash32",
    "sha1_hash64",
]
