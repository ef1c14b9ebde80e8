"""The session: its executors, and the work folder that the driver and all executors see."""

from __future__ import annotations

import atexit
import re
import shutil
import sys
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from .. import __version__

#: Ids of the sessions whose executors were checked.
_checked: set[str] = set()


def check_workers(spark: Any) -> None:
    """Fails with one line if the Python of the executors is not that of the driver, or has not this
    package. Costs one task, once per session."""
    session = spark.conf.get("spark.app.id", "") or str(id(spark))
    if session in _checked:
        return
    here = f"{_minor(sys.version)} {__version__}"
    try:
        [row] = spark.range(0, 1, 1, 1).mapInArrow(version_batches, "versions string").collect()
        there = row["versions"]
    except Exception as error:
        there = _first_problem(str(error))
    if there != here:
        raise RuntimeError(
            f"the executors do not run Python {_minor(sys.version)} with nearkin {__version__} like the"
            f" driver ({there}): install it there, and set PYSPARK_PYTHON before the session starts"
        )
    _checked.add(session)


def version_batches(batches: Iterable[Any]) -> Iterator[Any]:
    for _ in batches:
        versions = pa.array([f"{_minor(sys.version)} {__version__}"])
        yield pa.RecordBatch.from_arrays([versions], names=["versions"])


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _first_problem(message: str) -> str:
    """The line of an error of Spark that says what is wrong."""
    found = re.search(r"\S*(ModuleNotFoundError|ImportError|PYTHON_VERSION_MISMATCH|IOException).*", message)
    return (found[0] if found else message.strip().partition("\n")[0])[:200]


def folder(spark: Any, work: str | None) -> str:
    """A folder for one call: under ``work``, the checkpoint folder or (locally) a temporary one."""
    name = f"nearkin-{uuid.uuid4().hex}"
    if work is not None:
        return f"{work.rstrip('/')}/{name}"
    master = spark.conf.get("spark.master", "") or ""
    checkpoints = _checkpoints(spark)
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


def _checkpoints(spark: Any) -> str | None:
    """The checkpoint folder. A session of Spark Connect has no SparkContext, only settings."""
    try:
        found = spark.sparkContext.getCheckpointDir()
    except Exception:
        found = spark.conf.get("spark.checkpoint.dir", None)
    return found or None


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
