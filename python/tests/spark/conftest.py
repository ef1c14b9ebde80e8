"""One session for all tests: two executors in processes of their own, as on a cluster."""

import os
import shutil
import subprocess
import sys

import pytest


def missing():
    """What keeps the tests from running, or None."""
    java = shutil.which("java")
    if java is None:
        return "no Java (apt-get install openjdk-17-jre-headless)"
    if subprocess.run([java, "-version"], capture_output=True).returncode:
        return f"{java} does not run"
    try:
        import pyspark
    except ImportError:
        return "no pyspark (pip install 'nearkin[spark]')"
    return None if int(pyspark.__version__.split(".")[0]) >= 4 else "pyspark before 4.0"


def pytest_configure(config):
    config.addinivalue_line("markers", "spark: needs Java and pyspark, and takes minutes")


def pytest_collection_modifyitems(items):
    here = os.path.dirname(__file__)
    reason = missing()
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.spark)
            if reason:
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    os.environ.update(SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=sys.executable)
    # Jobs are small: Java's second compiler and its threads take longer than they save.
    os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("spark")
    # For a quick look NEARKIN_SPARK=local[2] will do: there the executors cannot be killed.
    master = os.environ.get("NEARKIN_SPARK", "local-cluster[2,1,1024]")
    builder = SparkSession.builder.master(master).appName("nearkin")
    settings = {
        "spark.ui.enabled": "false",
        "spark.speculation": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        # Java finds executors' settings here, and their Python by PYSPARK_PYTHON.
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "spark.network.timeout": "600s",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
