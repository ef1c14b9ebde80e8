"""The work folder: intermediate results, visible to the driver and all executors."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import uuid
from typing import Any


def folder(spark: Any, work: str | None) -> str:
    """A folder for one call: under ``work``, the checkpoint folder or (locally) a temporary one."""
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
    """Computes ``df`` once: writes it to ``path`` and reads it from there.

    Spark may compute a data frame twice (a lost executor, a second action) and then number the
    documents differently. A file does not change. Signatures do not compress.
    """
    df.write.option("compression", "uncompressed").parquet(path)
    return df.sparkSession.read.schema(df.schema).parquet(path)


def spread(df: Any, partitions: int | None, *columns: str) -> Any:
    """Repartitions ``df``: rows with equal ``columns`` are in the same partition."""
    return df.repartition(partitions, *columns) if partitions else df.repartition(*columns)
