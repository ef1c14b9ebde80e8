"""The hash functions of datasketch."""

from ._native import sha1_hash32, sha1_hash64

__all__ = ["sha1_hash32", "sha1_hash64"]
