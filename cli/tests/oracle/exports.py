"""Compares an export of JSON lines with one of Parquet, as pyarrow reads it, and copies the latter.

Needs Python 3.9 and the package `pyarrow`:
    python cli/tests/oracle/exports.py EXPORT.jsonl EXPORT.parquet COPY.parquet
"""

import json
import sys

import pyarrow.parquet


def held(line, name):
    if name + "_hex" in line:
        return bytes.fromhex(line[name + "_hex"])
    return line.get(name, "").encode()


def main():
    lines_path, parquet_path, copy_path = sys.argv[1:]
    with open(lines_path, encoding="utf-8") as file:
        header, *lines = map(json.loads, file)
    table = pyarrow.parquet.read_table(parquet_path)
    assert json.loads(table.schema.metadata[b"nearkin"]) == header, "the headers differ"
    rows = table.to_pylist()
    assert len(rows) == len(lines) == header["documents"], "the numbers of documents differ"
    for row, line in zip(rows, lines):
        expected = {
            "key": held(line, "key"),
            "time": line["time"],
            "shingle_count": line["shingle_count"],
            "payload": held(line, "payload"),
            "signature": bytes.fromhex(line["signature"]),
        }
        assert row == expected, f"{row}\nis not\n{expected}"
    # As pyarrow writes by itself: other row groups, dictionaries, another version.
    pyarrow.parquet.write_table(table, copy_path, row_group_size=3)
    print(f"{len(rows)} documents, all equal")


main()
