"""Functions that pickles refer to."""

from __future__ import annotations

import os

from ._nearkin import Reader


def reader_of(path: str | os.PathLike[str], keys: str, threads: int | None) -> Reader:
    return Reader(path, keys=keys, threads=threads)
