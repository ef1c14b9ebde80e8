"""Functions that pickles refer to."""

from __future__ import annotations

import os
from typing import Literal

from ._nearkin import Reader


def reader_of(
    path: str | os.PathLike[str], keys: str, threads: int | None, read_mode: Literal["mmap", "pread"] = "mmap"
) -> Reader:
    return Reader(path, keys=keys, threads=threads, read_mode=read_mode)
