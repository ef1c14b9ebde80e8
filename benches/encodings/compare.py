#!/usr/bin/env python3
"""Compares the texts that nearkin reads with what Python wrote.

    compare.py NEARKIN [--seed N] [--small] [--keep FOLDER]

Makes files of 12 languages in 18 encodings and 8 formats, each clean, with its end cut, with a bad
byte, and with a line of another encoding. Each must be found by its text at a similarity of .9, or
be named: as not read, or as read with a doubt. Prints a table; exit status 1 if a file was read as
another text without a word. Then the same for PDF files and what pdftotext reads of them, if the
programs that `pdfs.py` needs are there.
"""

import argparse
import base64
import collections
import gzip
import json
import pathlib
import quopri
import random
import re
import subprocess
import sys
import tempfile
import zipfile

import pdfs

HERE = pathlib.Path(__file__).parent
UNICODE = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"]
WESTERN = ["English", "German", "French", "Spanish"]
ENCODINGS = {
    **{name: None for name in UNICODE},
    "windows-1252": WESTERN,
    "windows-1250": ["Polish"],
    "iso-8859-2": ["Polish"],
    "windows-1254": ["Turkish"],
    "windows-1251": ["Russian"],
    "koi8-r": ["Russian"],
    "windows-1253": ["Greek"],
    "shift_jis": ["Japanese"],
    "euc-jp": ["Japanese"],
    "iso-2022-jp": ["Japanese"],
    "gb18030": ["Chinese (simplified)", "Chinese (traditional)"],
    "big5": ["Chinese (traditional)"],
    "euc-kr": ["Korean"],
    "iso-2022-kr": ["Korean"],
}
FORMATS = ["txt", "gz", "html", "8bit", "base64", "quoted-printable", "epub", "docx"]
DAMAGE = ["clean", "cut", "byte", "line"]
LINES = 100


def text_of(parts, chance):
    """Lines of words in random order; in scripts without spaces, of pieces of clauses."""
    if any(" " in part for part in parts):
        words = [word for part in parts for word in part.split()]
        return "".join(" ".join(chance.choices(words, k=9)) + ".\n" for _ in range(LINES))
    pieces = [part[at : at + 4] for part in parts for at in range(0, len(part), 4)]
    clause = lambda: "".join(chance.choices(pieces, k=4))
    return "".join(f"{clause()}\u3001{clause()}\u3002\n" for _ in range(LINES))


def bare(encoding):
    """The encoding of what stands within a text, without a byte order mark."""
    return {"utf-8-sig": "utf-8", "utf-16": "utf-16-le"}.get(encoding, encoding)


def line_of_another(texts, encoding, chance):
    while True:
        language, other = chance.choice(list(texts)), chance.choice(list(ENCODINGS))
        written = ENCODINGS[other] or list(texts)
        if other in UNICODE[1:] or other == encoding or language not in written:
            continue
        line = chance.choice(texts[language].splitlines()).encode(other)
        if not line.isascii() and not other.startswith("iso-2022"):
            return line


def body(texts, language, encoding, damage, chance):
    """The bytes of a text, without a mark."""
    text = texts[language]
    code = bare(encoding)
    if damage == "line":
        lines = text.splitlines(True)
        at = chance.randrange(1, len(lines))
        other = line_of_another(texts, encoding, chance)
        return "".join(lines[:at]).encode(code) + other + "\n".encode(code) + (
            "".join(lines[at:]).encode(code)
        )
    data = text.encode(code)
    if damage == "cut":
        return data[: -chance.randrange(2, 7)]
    if damage == "byte":
        at = chance.randrange(len(data))
        bad = chance.choice([0xFF, 0xFE, 0x80, 0xC3, 0xE9])
        return data[:at] + bytes([bad]) + data[at + 1 :]
    return data


def mark(encoding):
    return {"utf-8-sig": b"\xef\xbb\xbf", "utf-16": b"\xff\xfe"}.get(encoding, b"")


def message(data, encoding, transfer):
    charset = {"utf-8-sig": "utf-8", "utf-16-le": "utf-16le"}.get(encoding, encoding)
    head = (
        f"Received: from a by b\r\nFrom: a@example.org\r\nSubject: s\r\nMIME-Version: 1.0\r\n"
        f"Content-Type: text/plain; charset={charset}\r\n"
        f"Content-Transfer-Encoding: {transfer}\r\n\r\n"
    ).encode()
    if transfer == "base64":
        return head + base64.encodebytes(data)
    if transfer == "quoted-printable":
        return head + quopri.encodestring(data)
    return head + data


def packed(parts):
    with tempfile.TemporaryFile() as file:
        with zipfile.ZipFile(file, "w") as archive:
            for name, data in parts:
                archive.writestr(name, data)
        file.seek(0)
        return file.read()


def page(data, encoding, is_xml):
    label = {"utf-8-sig": "utf-8"}.get(encoding, encoding)
    begin = f"<html><head><meta charset='{label}'><title>t</title></head><body><pre>"
    end = "</pre></body></html>"
    if is_xml:
        begin = f"<?xml version='1.0' encoding='{label}'?>" + begin.replace("'>", "'/>", 1)
    code = bare(encoding)
    return mark(encoding) + begin.encode(code) + data + end.encode(code)


def file_of(data, encoding, form):
    """A file of this format; `None` if it cannot have this encoding."""
    if form == "txt":
        return ".txt", mark(encoding) + data
    if form == "gz":
        return ".txt.gz", gzip.compress(mark(encoding) + data)
    if form == "html":
        return ".html", page(data, encoding, False)
    if form == "epub":
        container = "<container><rootfiles><rootfile full-path='c.opf'/></rootfiles></container>"
        package = (
            "<package><manifest><item id='a' href='a.xhtml'/></manifest>"
            "<spine><itemref idref='a'/></spine></package>"
        )
        return ".epub", packed([
            ("mimetype", "application/epub+zip"),
            ("META-INF/container.xml", container),
            ("c.opf", package),
            ("a.xhtml", page(data, encoding, True)),
        ])
    if form == "docx":
        if encoding not in UNICODE:
            return None
        code = bare(encoding)
        paragraph = "</w:t></w:r></w:p><w:p><w:r><w:t>"
        begin = "<w:document xmlns:w='x'><w:body><w:p><w:r><w:t>"
        end = "</w:t></w:r></w:p></w:body></w:document>"
        data = data.replace("\n".encode(code), paragraph.encode(code)) if code == "utf-8" else data
        xml = mark(encoding) + begin.encode(code) + data + end.encode(code)
        return ".docx", packed([("word/document.xml", xml)])
    if form == "8bit" and encoding.startswith("utf-16"):
        return None
    return ".eml", message(mark(encoding) + data, encoding, form)


def make(folder, texts, chance, small):
    cases = {}
    for encoding, languages in ENCODINGS.items():
        for language in languages or list(texts):
            if small and languages is None and chance.random() > 0.25:
                continue
            for form in FORMATS:
                for damage in DAMAGE:
                    data = body(texts, language, encoding, damage, chance)
                    made = file_of(data, encoding, form)
                    if made is None:
                        continue
                    name = re.sub(r"\W+", "-", f"{language}-{encoding}-{form}-{damage}").lower()
                    path = folder / (name + made[0])
                    path.write_bytes(made[1])
                    cases[str(path)] = (language, encoding, form, damage)
    return cases


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return done.stdout, done.stderr


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("nearkin")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--keep")
    given = parser.parse_args()
    print(f"seed {given.seed}", file=sys.stderr)
    chance = random.Random(given.seed)
    parts = json.loads((HERE / "texts.json").read_text(encoding="utf-8"))
    texts = {language: text_of(parts[language], chance) for language in parts}
    with tempfile.TemporaryDirectory() as scratch:
        base = pathlib.Path(given.keep or scratch)
        folder, index = base / "files", str(base / "x.nearkin")
        folder.mkdir(parents=True)
        cases = make(folder, texts, chance, given.small)
        _, notes = run(given.nearkin, "add", index, str(folder), "-v")
        found = {}
        for language, text in texts.items():
            original = base / "original.txt"
            original.write_text(text, encoding="utf-8")
            lines, _ = run(given.nearkin, "query", index, str(original), "--threshold", "0",
                           "--limit", "1000000", "--exact", "--json")
            for line in lines.splitlines():
                match = json.loads(line)
                if cases[match["key"]][0] == language:
                    found[match["key"]] = match["exact"] or 0
        wrong = judge(cases, found, notes)
        return max(wrong, compare_pdfs(given.nearkin, base, texts, chance))


def compare_pdfs(nearkin, base, texts, chance):
    if pdfs.missing():
        print(f"no PDF files: missing {', '.join(pdfs.missing())}", file=sys.stderr)
        return 0
    folder, index = base / "pdfs", str(base / "pdfs.nearkin")
    folder.mkdir()
    cases = pdfs.make(folder, texts, chance)
    _, notes = run(nearkin, "add", index, str(folder), "-v")
    counts, wrong = collections.defaultdict(collections.Counter), []
    for path, (text, (_, maker, damage)) in cases.items():
        original = base / "original.txt"
        original.write_text(text, encoding="utf-8")
        lines, _ = run(nearkin, "query", index, str(original), "--threshold", "0",
                       "--limit", "1000000", "--exact", "--json")
        matches = {match["key"]: match["exact"] or 0 for match in map(json.loads, lines.splitlines())}
        kind = kind_of(path, matches, *named_in(notes))
        counts[maker][damage, kind] += 1
        if kind == "wrong":
            wrong.append((path, matches.get(path, 0)))
    return table("PDF by", counts, pdfs.DAMAGE, wrong)


def named_in(notes):
    """The files that are named as skipped, and those named as read with a doubt."""
    named = set(re.findall(r"^nearkin: skipped (.*?): ", notes, re.M))
    return named, set(re.findall(r"^nearkin: (.*?): (?:guessed: |.*invalid byte)", notes, re.M))


def kind_of(path, found, named, doubtful):
    kind = "wrong"
    if found.get(path, 0) >= 0.9:
        return "found"
    if path in named:
        kind = "named"
    elif path in doubtful:
        kind = "doubtful"
    if kind != "wrong":
        print(f"{kind}: {path}", file=sys.stderr)
    return kind


def judge(cases, found, notes):
    names = named_in(notes)
    counts = {encoding: collections.Counter() for encoding in [*ENCODINGS, "all"]}
    wrong = []
    for path, (_, encoding, _, damage) in cases.items():
        kind = kind_of(path, found, *names)
        if kind == "wrong":
            wrong.append((path, found.get(path, 0)))
        counts[encoding][damage, kind] += 1
        counts["all"][damage, kind] += 1
    return table("encoding", counts, DAMAGE, wrong)


def table(head, counts, damages, wrong):
    print(f"| {head} | files | " + " | ".join(damages) + " |")
    print("|---|---:|" + "---:|" * len(damages))
    for name, row in counts.items():
        cells = ["/".join(str(row[damage, kind]) for kind in ("found", "named", "doubtful"))
                 for damage in damages]
        print(f"| {name} | {sum(row.values())} | " + " | ".join(cells) + " |")
    for path, similarity in wrong:
        print(f"wrong: {path} ({similarity})", file=sys.stderr)
    return 1 if wrong else 0



if __name__ == "__main__":
    sys.exit(main())
