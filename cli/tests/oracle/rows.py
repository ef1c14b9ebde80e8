"""Writes a Parquet file with columns of every type, and checks what `nearkin dedup` made of it.

Needs Python 3.9 and the packages `pyarrow` and, for a second opinion, `duckdb`:
    python cli/tests/oracle/rows.py make IN.parquet
    nearkin dedup IN.parquet --out OUT.parquet
    python cli/tests/oracle/rows.py check IN.parquet OUT.parquet OUT.parquet.dropped.jsonl
"""

import datetime
import decimal
import json
import sys

import pyarrow
import pyarrow.parquet

ROWS = 5_000


def make(path):
    numbers = range(ROWS)
    some = lambda value: [value(n) if n % 7 else None for n in numbers]
    day = datetime.datetime(2024, 1, 1)
    later = lambda n: day + datetime.timedelta(seconds=n, microseconds=n)
    arrow = pyarrow
    columns = {
        # Every third text comes twice; some rows have none, and are skipped.
        "id": arrow.array([f"d{n}" for n in numbers]),
        "text": arrow.array(
            [None if n % 101 == 5 else " ".join(f"w{m * 7 + i}" for i in range(12))
             for n in numbers for m in [n // 3 * 3 if n % 3 == 1 else n]]
        ),
        "when": arrow.array(some(later), arrow.timestamp("us", tz="UTC")),
        "when_ns": arrow.array(some(later), arrow.timestamp("ns")),
        "day": arrow.array(some(lambda n: later(n * 9_999).date()), arrow.date32()),
        "clock": arrow.array(some(lambda n: later(n).time()), arrow.time64("us")),
        "span": arrow.array(some(lambda n: datetime.timedelta(seconds=n)), arrow.duration("us")),
        "price": arrow.array(some(lambda n: decimal.Decimal(n) / 100), arrow.decimal128(20, 2)),
        "wide": arrow.array(some(lambda n: decimal.Decimal(n) ** 9), arrow.decimal256(50, 3)),
        "kind": arrow.array(some(lambda n: f"kind {n % 5}")).dictionary_encode(),
        "place": arrow.array(
            some(lambda n: {"lat": n / 7, "names": [f"p{n}", None] if n % 2 else []}),
            arrow.struct({"lat": arrow.float64(), "names": arrow.list_(arrow.string())}),
        ),
        "nested": arrow.array(
            some(lambda n: [[n, None], [], None][: n % 4]), arrow.list_(arrow.list_(arrow.int16()))
        ),
        "facts": arrow.array(
            some(lambda n: [(f"k{i}", {"v": i}) for i in range(n % 4)]),
            arrow.map_(arrow.string(), arrow.struct({"v": arrow.uint64()})),
        ),
        "vector": arrow.array(some(lambda n: [n, n / 2, 0.5]), arrow.list_(arrow.float32(), 3)),
        "half": arrow.array(some(float), arrow.float32()).cast(arrow.float16()),
        "blob": arrow.array(some(lambda n: bytes([n % 256, 0, 255]))),
        "fixed": arrow.array(some(lambda n: n.to_bytes(4, "big")), arrow.binary(4)),
        "large": arrow.array(some(lambda n: f"{n}" * 3), arrow.large_string()),
        "truth": arrow.array(some(lambda n: n % 3 == 0)),
        "tiny": arrow.array(some(lambda n: n % 100), arrow.uint8()),
        "nothing": arrow.nulls(ROWS),
    }
    table = arrow.table(columns).replace_schema_metadata({"made by": "rows.py"})
    field = table.schema.field("tiny").with_metadata({"unit": "percent"})
    table = table.set_column(table.schema.get_field_index("tiny"), field, table["tiny"])
    pyarrow.parquet.write_table(table, path, row_group_size=1_234, compression="zstd")


def check(before_path, after_path, dropped_path):
    dropped = {json.loads(line)["line"] for line in open(dropped_path, encoding="utf-8")}
    before = pyarrow.parquet.read_table(before_path)
    after = pyarrow.parquet.read_table(after_path)
    kept = [n for n in range(len(before)) if n + 1 not in dropped]
    assert after.schema.equals(before.schema, check_metadata=True), "the schemas differ"
    files = [pyarrow.parquet.ParquetFile(path) for path in (before_path, after_path)]
    assert files[0].schema.equals(files[1].schema), "the Parquet schemas differ"
    assert files[0].metadata.metadata == files[1].metadata.metadata, "the metadata differ"
    expected = before.take(kept)
    assert len(after) == len(kept) < len(before), (len(after), len(kept))
    for name in before.column_names:
        same = expected[name].combine_chunks().equals(after[name].combine_chunks())
        # Dictionaries may be numbered differently, and mean the same.
        assert same or expected[name].to_pylist() == after[name].to_pylist(), name
    try:
        import duckdb
    except ImportError:
        print("without duckdb")
    else:
        rows = "SELECT *, row_number() OVER () - 1 AS n FROM read_parquet(?)"
        ask = lambda path: duckdb.execute(rows, [path]).fetchall()
        before, after = ask(before_path), ask(after_path)
        assert [before[n][:-1] for n in kept] == [row[:-1] for row in after], "duckdb differs"
    print(f"{len(kept)} rows kept, {len(dropped)} left out, all columns equal")


{"make": make, "check": check}[sys.argv[1]](*sys.argv[2:])
