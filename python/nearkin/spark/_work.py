"""The work folder: intermediate results, visible to the driver and all executors."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import uuid
from typing import Any


def folder(spark: Any, work: str | None) -> str:
    """Creates a folder for one call, under ``work`` or the one set in the session."""
    name = f"nearkin-{uuid.uuid4().hex}"
    if work is not None:
        return f"{work.rstrip('/')}/{name}"
    master = spark.conf.get("spark.master", "")
    checkpoints = spark.sparkContext.getCheckpointDir()
    if checkpoints:
        return f"{checkpoints.rstrip('/')}/{name}"
    if not master.startswith("local"):
        raise ValueError(
            f"the executors of {master!r} need a folder that all of them see: give work=, for"
            " instance 'hdfs:///tmp/nearkin', or call SparkContext.setCheckpointDir"
        )
    made = tempfile.mkdtemp(prefix="nearkin-spark-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return f"file://{made}/{name}"


def stored(df: Any, path: str) -> Any:
    """``df`` as it was computed once: written to ``path`` and read again.

    What is computed twice (a lost executor, a second action) may number documents differently; a
    file does not change.
    """
    df.write.parquet(path)
    return df.sparkSession.read.schema(df.schema).parquet(path)


def spread(df: Any, partitions: int | None, *columns: str) -> Any:
    """``df`` with all rows of equal ``columns`` in one partition."""
    return df.repartition(partitions, *columns) if partitions else df.repartition(*columns)
