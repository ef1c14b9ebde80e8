"""The classes of datasketch, implemented in Rust, with the same hash values bit for bit.

To switch, change one import line:

>>> from nearkin.datasketch import MinHash, MinHashLSH
>>> lsh = MinHashLSH(threshold=0.5, num_perm=64)
>>> a, b = MinHash.bulk([[b"x", b"y", b"z"], [b"x", b"y", b"z"]], num_perm=64)
>>> lsh.insert("a", a)
>>> lsh.query(b)
['a']

Objects of datasketch itself are accepted wherever objects of this package are. Needs numpy.
"""

from __future__ import annotations

from .b_bit_minhash import bBitMinHash
from .lshensemble import MinHashLSHEnsemble
from .lshforest import MinHashLSHForest
from .lean_minhash import LeanMinHash
from .lsh import MinHashLSH
from .minhash import MinHash
from .hashfunc import sha1_hash32, sha1_hash64
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
