"""Converts tables to pyarrow, pandas and polars."""

from __future__ import annotations

from typing import Any


def to_arrow(table: Any) -> Any:
    import pyarrow as pa

    return pa.table(table)


def to_polars(table: Any) -> Any:
    import polars as pl

    return pl.DataFrame(table)


def to_pandas(table: Any) -> Any:
    import pandas as pd

    try:
        import pyarrow as pa
    except ImportError:
        return pd.DataFrame(table.to_dict())
    return pa.table(table).to_pandas()
