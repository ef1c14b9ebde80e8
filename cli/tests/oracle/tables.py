"""Tables and JSON lines as Python's csv and json, polars and DuckDB read them.

    tables.py make FOLDER SEED COUNT     writes files, and cases.json: file, options, what it is
    tables.py check FOLDER               compares OUT (NAME.out) and the status (NAME.status)

A file that `nearkin dedup` reads with success must have the rows that another program reads. A file
that it refuses must be refused, or read as rows of unequal length, by one of them. polars and
DuckDB are asked if they are installed.
"""

import codecs
import csv
import io
import json
import os
import random
import re
import sys

try:
    import polars
except ImportError:
    polars = None
try:
    import duckdb
except ImportError:
    duckdb = None

csv.field_size_limit(1 << 30)
WORDS = "harbour fog ferry bread honey rye bicycle gate council bridge caf\u00e9 na\u00efve".split()
ODD = ['"', '""', "\\", '\\"', "\\\\", "'", ",", ";", "\t", "|", "\n", "\r\n", " ", "", "#", "-1.50",
       "\u65e5\u672c", "\u00df", "\U0001f600", "\u2028", "NULL", "\ufeff"]
NAMES = ["id", "note", "a b", " padded ", "x,y", "n;m", "", 'q"q', "\u00fcber", "p|q"]


def cell(rng, odd):
    parts = []
    for _ in range(rng.randrange(5)):
        parts.append(rng.choice(ODD) if rng.random() < odd else rng.choice(WORDS))
    return rng.choice(["", " "]).join(parts)


def table(rng, number):
    columns = rng.randrange(1, 5)
    names = rng.sample(NAMES, columns - 1)
    names.insert(rng.randrange(columns), "text")
    odd = rng.choice([0, 0.1, 0.4])
    rows = []
    for row in range(rng.randrange(1, 9)):
        cells = [cell(rng, odd) for _ in range(columns)]
        at = names.index("text")
        unique = f"row{number}x{row} " + " ".join(f"w{number}y{row}z{n}" for n in range(4))
        cells[at] = rng.choice([f"{cells[at]} {unique}", f"{unique} {cells[at]}"])
        rows.append(cells)
    return names, rows


def written(rng, names, rows, delimiter):
    """The text of a table, by one of the programs that write tables."""
    end = rng.choice(["\n", "\n", "\r\n", "\r"])
    how = rng.choice(["minimal", "minimal", "all", "spark", "python", "bare"])
    if how in ("minimal", "all"):
        quoting = csv.QUOTE_ALL if how == "all" else csv.QUOTE_MINIMAL
        out = io.StringIO(newline="")
        writer = csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator=end)
        writer.writerows([names] + rows)
        return how, out.getvalue()
    if how == "python":
        out = io.StringIO(newline="")
        writer = csv.writer(out, delimiter=delimiter, escapechar="\\", doublequote=False,
                            quoting=rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
                            lineterminator=end)
        writer.writerows([names] + rows)
        return how, out.getvalue()
    if how == "spark":
        quoted = [[text.replace("\\", "/") for text in row] for row in rows]
        rows[:] = quoted
        lines = [['"' + text.replace('"', '\\"') + '"' for text in row] for row in [names] + rows]
        return how, end.join(delimiter.join(row) for row in lines) + end
    lines = [[text.replace("\r", " ").replace("\n", " ") for text in row] for row in [names] + rows]
    return how, end.join(delimiter.join(row) for row in lines) + end


def damaged(rng, text):
    for _ in range(rng.randrange(1, 3)):
        at = rng.randrange(len(text) + 1)
        kind = rng.randrange(6)
        if kind == 0:
            text = text[:at] + text[at + 1:]
        elif kind == 1:
            text = text[:at] + rng.choice(['"', '"', ",", "\\", "\n", ";", "\t"]) + text[at:]
        elif kind == 2:
            text = text[:at]
        elif kind == 3:
            text = text.rstrip("\r\n")
        elif kind == 4:
            text = text.replace("\n", "\n\n", 1)
        else:
            text = text[:at] + "\ufeff" + text[at:]
    return text


def in_latin(text):
    return "".join(c if ord(c) < 128 or c in "\u00e9\u00ef\u00df\u00fc" else "?" for c in text)


def encoded(rng, text):
    how = rng.random()
    if how < 0.7:
        return "utf-8", text.encode(), []
    if how < 0.8:
        return "utf-8-sig", codecs.BOM_UTF8 + text.encode(), []
    if how < 0.86:
        return "utf-16", codecs.BOM_UTF16_LE + text.encode("utf-16-le"), []
    if how < 0.9:
        return "utf-16", codecs.BOM_UTF16_BE + text.encode("utf-16-be"), []
    plain = in_latin(text)
    options = ["--encoding", "windows-1252"] if how < 0.95 else []
    return "cp1252", plain.encode("cp1252"), options


def make(folder, seed, count):
    cases = []
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        if rng.random() < 0.2:
            cases.append(make_lines(folder, rng, number))
            continue
        names, rows = table(rng, number)
        delimiter = rng.choice([",", ",", ",", ";", "\t", "|"])
        writer, text = written(rng, names, rows, delimiter)
        is_damaged = rng.random() < 0.35
        if is_damaged:
            text = damaged(rng, text)
        encoding, data, options = encoded(rng, text)
        ending = {"\t": "tsv", "|": "psv"}.get(delimiter, "csv")
        if rng.random() < 0.3:
            ending = rng.choice(["csv", "dat", "txt"])
        if ending in ("dat", "txt") or rng.random() < 0.3 or len(names) == 1:
            options += ["--delimiter", "tab" if delimiter == "\t" else delimiter]
        if writer == "python":
            options += ["--escape", "\\"]
        name = f"{number}.{ending}"
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)
        if encoding == "cp1252":
            rows = [[in_latin(text) for text in row] for row in rows]
        cases.append({"name": name, "options": options, "kind": "table", "delimiter": delimiter,
                      "writer": writer, "encoding": encoding, "damaged": is_damaged,
                      "rows": None if is_damaged else rows})
    with open(os.path.join(folder, "cases.json"), "w") as file:
        json.dump(cases, file)
    with open(os.path.join(folder, "cases.txt"), "w") as file:
        for case in cases:
            file.write("\t".join([case["name"]] + ["tab" if o == "\t" else o for o in case["options"]]))
            file.write("\n")


def make_lines(folder, rng, number):
    lines = []
    for row in range(rng.randrange(1, 9)):
        unique = f"row{number}x{row} " + " ".join(f"w{number}y{row}z{n}" for n in range(4))
        text = cell(rng, 0.3) + " " + unique
        if rng.random() < 0.2:
            text += rng.choice(["\ud83d", "\udc00 x", "\ud83d\ud83d"])
        value = {"id": row, "text": text}
        if rng.random() < 0.5:
            value["extra"] = rng.choice([float("nan"), float("inf"), -float("inf"), 1e300, 10 ** 30,
                                         None, [1, [2]], {"text": "no"}, "\udc00", "NaN"])
        line = json.dumps(value, ensure_ascii=rng.random() < 0.6 or "\\ud" in json.dumps(value),
                          separators=rng.choice([(",", ":"), (", ", ": ")]))
        if rng.random() < 0.1:
            line = rng.choice([line[:-1], line[1:], "nonsense", line.replace('"text"', '"txt"'),
                               line[:-1] + ', "text": "again"}', line + ",", "[" + line + "]",
                               line.replace("NaN", "nan"), line.replace("Infinity", "Inf")])
        lines.append(line)
    end = rng.choice(["\n", "\r\n", "\n\n"])
    text = end.join(lines) + rng.choice([end, ""])
    if rng.random() < 0.2:
        data = rng.choice([codecs.BOM_UTF16_LE + text.encode("utf-16-le"),
                           codecs.BOM_UTF16_BE + text.encode("utf-16-be")])
    else:
        data = rng.choice([b"", b"", codecs.BOM_UTF8]) + text.encode()
    name = f"{number}.jsonl"
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)
    return {"name": name, "options": [], "kind": "lines", "lines": [x for x in lines if x.strip()]}


def by_python(text, delimiter, **how):
    """The rows by Python's csv, or None if it fails or the rows differ in length."""
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True, **how))
    except csv.Error:
        return None
    rows = [row for row in rows if row]
    return rows if len({len(row) for row in rows}) <= 1 else None


def by_polars(text, delimiter):
    if not polars or "\r" in text.replace("\r\n", ""):
        return "absent"  # or takes a CR alone for text
    try:
        frame = polars.read_csv(text.encode(), separator=delimiter, has_header=False,
                                infer_schema=False)
        return [[value or "" for value in row] for row in frame.rows()]
    except Exception:
        return None


def by_duckdb(folder, text, delimiter, columns):
    if not duckdb or not columns:
        return "absent"
    path = os.path.join(folder, "duckdb.tmp")
    with open(path, "w", newline="") as file:
        file.write(text)
    try:
        relation = duckdb.read_csv(path, delimiter=delimiter, header=False, auto_detect=False,
                                   columns={f"c{n}": "VARCHAR" for n in range(columns)},
                                   quotechar='"', escapechar='"', strict_mode=True)
        return [[value or "" for value in row] for row in relation.fetchall()]
    except Exception:
        return None


NOTES = {}


def note(what, example):
    """Counts how often a program read other rows than Python does; they are printed, if asked for."""
    NOTES[what] = NOTES.get(what, 0) + 1
    if example and os.environ.get("NEARKIN_PEER_NOTES"):
        print(what, example, file=sys.stderr)


def unmarked(rows):
    rows = [[text.replace("\ufeff", "").replace("\r\n", "\n") for text in row] for row in rows]
    return [row for row in rows if any(row)]


def check_table(folder, case, status, out):
    """None if all is well, else what is wrong."""
    path = os.path.join(folder, case["name"])
    with open(path, "rb") as file:
        data = file.read()
    encoding = {"utf-16": "utf-16", "cp1252": "cp1252"}.get(case["encoding"], "utf-8-sig")
    text, delimiter = data.decode(encoding), case["delimiter"]
    quoted = by_python(text, delimiter)
    # A mark before the quotation mark of a row is no part of its first cell.
    without_marks = by_python(text.replace("\ufeff", ""), delimiter)
    escaped = by_python(text, delimiter, escapechar="\\", doublequote=True)
    bare = by_python(text, delimiter, quoting=csv.QUOTE_NONE)
    bare_escaped = by_python(text, delimiter, quoting=csv.QUOTE_NONE, escapechar="\\")
    columns = len((quoted or [[]])[0])
    if status != 0:
        is_bytes = case["encoding"] == "cp1252" and not text.isascii()
        reasons = [quoted is None, is_bytes and "--encoding" not in case["options"],
                   by_polars(text, delimiter) is None, by_duckdb(folder, text, delimiter, columns) is None]
        header = (quoted or escaped or bare or [[]])[0]
        names = [name.strip() for name in header]
        reasons.append(names.count("text") + names.count("\ufefftext") != 1 or "\ufefftext" in names)
        # Only before marks, delimiters and line ends does an escape mean the same everywhere.
        is_escaped = "--escape" in case["options"]
        reasons.append(is_escaped and (escaped is None or re.search(r'\\[^"\\,;|\t\r\n]|\\$', text)))
        # Rows of another delimiter, in a file of which nothing says so.
        reasons.append("--delimiter" not in case["options"] and case["name"].endswith(".csv"))
        return None if any(reasons) else "refused, but every program reads it"
    rows = [list(row.values()) for row in out]
    allowed = {"quoted": quoted, "escaped": escaped if "--escape" in case["options"] else None}
    if delimiter == "\t":
        allowed["bare"] = bare
    if quoted is None and case["rows"] is not None and case["writer"] == "spark":
        allowed["spark"] = [[]] + case["rows"]
    if quoted is None and case["damaged"]:
        # Spark keeps a backslash that stands before another character; Python drops it.
        spark = re.sub(r'\\(?!["\\])', r"\\\\", text)
        allowed["spark"] = by_python(spark, delimiter, escapechar="\\")
        spark = spark.replace("\ufeff", "")
        allowed["spark, without marks"] = by_python(spark, delimiter, escapechar="\\")
    allowed["without marks"] = without_marks
    if "--escape" in case["options"]:
        allowed.pop("quoted")
        allowed.pop("without marks")
        allowed["bare_escaped"] = bare_escaped if delimiter == "\t" else None
    found = unmarked(rows)
    for name, reading in (("polars", by_polars(text, delimiter)),
                          ("DuckDB", by_duckdb(folder, text, delimiter, columns))):
        if isinstance(reading, list) and quoted is not None and "--escape" not in case["options"]:
            same = unmarked(unmarked(reading)[1:]) == found
            note(f"{name} {'equal' if same else 'other'}", None if same else (case, reading, rows))
    for reading in allowed.values():
        if reading is not None and unmarked(reading[1:]) == found:
            return None
    return f"other rows: {rows!r}, not {allowed!r}"


def check_lines(case, status, out):
    def is_read(line):
        try:
            pairs = json.loads(line, object_pairs_hook=lambda pairs: pairs)
        except ValueError:
            return False
        if not isinstance(pairs, list) or any(not isinstance(p, tuple) for p in pairs):
            return False
        texts = [value for name, value in pairs if name == "text"]
        keys = [value for name, value in pairs if name == "id"]
        return len(texts) == 1 and isinstance(texts[0], str) and len(keys) == 1
    expected = [line for line in case["lines"] if is_read(line)]
    if status == 2:
        # More than half of the lines cannot be read; or the file begins with an array, and so is one
        # that something follows.
        is_array = case["lines"][0].startswith("[")
        is_right = is_array or 2 * len(expected) < len(case["lines"]) or not expected
        return None if is_right else "refused"
    if [line.rstrip("\r") for line in out] != [line.rstrip("\r") for line in expected]:
        return f"other lines: {out!r}, not {expected!r}"
    wanted = 0 if len(expected) == len(case["lines"]) else 3
    return None if status == wanted else f"status {status}, not {wanted}"


def check(folder):
    with open(os.path.join(folder, "cases.json")) as file:
        cases = json.load(file)
    counts, failed = {}, 0
    for case in cases:
        stem = os.path.join(folder, case["name"])
        with open(stem + ".status") as file:
            status = int(file.read())
        out = []
        if status in (0, 3):
            with open(stem + ".out.jsonl", encoding="utf-8", newline="\n") as file:
                out = file.read().split("\n")[:-1]
        if case["kind"] == "lines":
            wrong = check_lines(case, status, out)
        else:
            wrong = check_table(folder, case, status, [json.loads(line) for line in out])
        kind = (case["kind"], "refused" if status == 2 else "read")
        counts[kind] = counts.get(kind, 0) + 1
        if wrong:
            failed += 1
            if failed <= 10:
                print(f"{case['name']} {case['options']} {case}: {wrong}", file=sys.stderr)
    print(f"{len(cases)} files, {failed} wrong: {counts}; polars {bool(polars)}, DuckDB {bool(duckdb)}; {NOTES}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        check(sys.argv[2])
