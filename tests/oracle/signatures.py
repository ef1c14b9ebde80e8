"""Computes every known answer of docs/reference/SIGNATURES.md from that page's text alone.

Written without looking at the Rust code, so that a mistake there cannot be pinned as right.
Needs Python 3.9 and the package `xxhash`:  python tests/oracle/signatures.py
"""

import json
import pathlib
import re
import sys
import unicodedata

import xxhash

MASK = 2**64 - 1
BASE = 0xD1342543DE82EF93
GOLDEN = 0x9E3779B97F4A7C15
ROUNDS = 0x6E6561726B696E31
LANE = 0xF1357AEA2E62A9C5
PRIME = 2**61 - 1
WHITE = set(map(chr, [*range(9, 14), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B),
                      0x2028, 0x2029, 0x202F, 0x205F, 0x3000]))

# Typographic equivalents and default ignorable code points, as the page lists them.
PAGE = pathlib.Path(__file__).parents[2] / "docs" / "reference" / "SIGNATURES.md"


def xxh3(data, seed):
    return xxhash.xxh3_64_intdigest(data, seed=seed)


def finalise(x):
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


def split_mix(seed, n):
    return finalise((seed + (n + 1) * GOLDEN) & MASK)


def window_sum(units):
    n = len(units)
    return sum(u * BASE ** (n - 1 - i) for i, u in enumerate(units)) & MASK


def split_white(text):
    pieces, piece = [], ""
    for c in text + " ":
        if c not in WHITE:
            piece += c
        elif piece:
            pieces.append(piece)
            piece = ""
    return pieces


def parse_tables(page):
    """The tables of section 1.2."""
    equivalents = {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 3 and re.fullmatch(r"[0-9A-F ]+", cells[0]):
            to = "" if cells[1] == "nothing" else "".join(chr(int(c, 16)) for c in cells[1].split())
            equivalents.update({chr(int(c, 16)): to for c in cells[0].split()})

    def listed(start):
        text = re.search(start + r"(.*?)\.\n", page, re.S)[1].replace("\n", " ")
        found = set()
        for part in text.split(","):
            first, _, last = part.strip().partition(" to ")
            found.update(map(chr, range(int(first, 16), int(last or first, 16) + 1)))
        return found

    return equivalents, listed("Default ignorable: "), listed("Left out by `diacritics`: ")


def common_list(page):
    """The list that the page prints: its shingle id and its hashes."""
    words = re.search(r"nearkin-common-1 (.*?)```", page, re.S)[1].split()
    return words[0], {int(word, 16) for word in words[1:]}


STOP = f"{xxh3(chr(10).join(sorted(['over', 'The'])).encode(), 0):016x}"
TABLES = parse_tables(PAGE.read_text(encoding="utf-8"))
COMMON_FOR, COMMON = common_list(PAGE.read_text(encoding="utf-8"))
COMMON_ID = f"{xxh3(b''.join(h.to_bytes(8, 'little') for h in sorted(COMMON)), 0):016x}"
LOOK_ALIKES = {
    chr(int(code, 16)): to
    for codes, to in re.findall(
        r"((?:[0-9A-F]{4} ?)+) \| ([a-z]) \|",
        PAGE.read_text(encoding="utf-8").split("#### 1.2.2")[1].split("### 1.3")[0])
    for code in codes.split()
}
SEPARATORS = set(".,:/-'_\u066b\u066c")
form = unicodedata.normalize


def nfkc_casefold(c):
    text = c
    while True:
        folded = form("NFKC", text).casefold()
        after = form("NFKC", "".join(c for c in folded if c not in TABLES[1]))
        if after == text:
            return text
        text = after


def is_letter(c):
    """Enough of the page's definition for the texts that it prints."""
    folded = fold(c, [])
    return folded != "" and all(unicodedata.category(c)[0] in "LM" for c in folded)


def is_digit(c):
    """Enough of the page's definition for the texts that it prints."""
    folded = fold(c, [])
    digits = [unicodedata.category(c) == "Nd" for c in folded]
    return (folded != "" and digits[0] and digits[-1]
            and all(d or c in SEPARATORS for c, d in zip(folded, digits)))


def without_numbers(text):
    part = [False] * len(text)
    at = 0
    while at < len(text):
        end = at
        while end < len(text) and (re.match("[A-Za-z]", text[end]) or is_digit(text[end])):
            end += 1
        run = text[at:end]
        core = run[2:] if re.match("0[xX].", run, re.S) else run
        beside = (text[at - 1] if at else "") + text[end:end + 1]
        hexadecimal = (any(map(is_digit, run)) and not any(map(is_letter, beside))
                       and all(re.match("[A-Fa-f]", c) or is_digit(c) for c in core))
        part[at:end] = [hexadecimal or is_digit(c) for c in run]
        at = end + 1
    joined = [i for i in range(1, len(text) - 1)
              if part[i - 1] and part[i + 1] and fold(text[i], []) in SEPARATORS]
    for i in joined:
        part[i] = True
    return "".join("" if p and i and part[i - 1] else "0" if p else c
                   for i, (c, p) in enumerate(zip(text, part)))


def latin(text):
    """Its table is that of the page."""
    marked = lambda i: i + 1 < len(text) and unicodedata.combining(text[i + 1])
    out = list(text)
    at = 0
    while at < len(text):
        end = at
        while end < len(text) and is_letter(text[end]):
            end += 1
        plain = [i for i in range(at, end) if not marked(i)]
        if any(re.match("[A-Za-z\u212a]", text[i]) for i in plain):
            for i in plain:
                out[i] = LOOK_ALIKES.get(text[i], text[i])
        at = end + 1
    return "".join(out)


def fold(text, options):
    equivalents, _, diacritics = TABLES
    if "dehyphenate" in options:
        out, at = "", 0
        while at < len(text):
            end = at + 1
            while end < len(text) and text[end] in WHITE:
                end += 1
            if (text[at] in "-\u00ad\u2010" and at > 0 and is_letter(text[at - 1])
                    and set(text[at + 1:end]) & set("\n\x0b\x0c\r\x85\u2028\u2029")
                    and end < len(text) and is_letter(text[end])):
                at = end
            else:
                out, at = out + text[at], at + 1
        text = out
    if "turkish" in options:
        text = text.replace("\u0130", "i").replace("I\u0307", "i")
        marked = lambda i: i + 1 < len(text) and unicodedata.combining(text[i + 1])
        text = "".join("\u0131" if c == "I" and not marked(i) else c for i, c in enumerate(text))
    if "lookalikes" in options:
        text = latin(text)
    if "digits" in options:
        text = without_numbers(text)
    folded = ""
    for c in form("NFD", text):
        if c in equivalents:
            folded += equivalents[c]
        else:
            folded += "".join(equivalents.get(f, f) for f in nfkc_casefold(c))
    folded = form("NFC", folded)
    if "diacritics" in options:
        folded = form("NFC", "".join(c for c in form("NFD", folded) if c not in diacritics))
    return folded


def normalise(text, flag):
    if flag.startswith("fold"):
        return fold(text, flag.split(",")[1:])
    if flag != "keep-case":
        text = "".join(c.lower() for c in text)
    if flag != "no-nfc":
        text = unicodedata.normalize("NFC", text)
    return text


def single_spaced(text, flag):
    return text if flag == "keep-space" else " ".join(split_white(text))


def ascii_words(text):
    ascii_letters = text.replace("\u0131", "i")  # Of `turkish`.
    if not any(c.isalnum() for c in text):
        return []  # True of the texts that the page prints: none of their marks is Alphabetic.
    assert ascii_letters.isascii(), "the page spells out the words of ASCII text only"
    words, word = [], ""
    for i, c in enumerate(text):
        before, after = text[i - 1:i], text[i + 1:i + 2]
        letters = before.isalpha() and after.isalpha()
        digits = before.isdigit() and after.isdigit()
        if c.isalnum() or c == "_" or (c in ".':" and letters) or (c in ".',;" and digits):
            word += c
        else:
            words.append(word)
            word = ""
    return [w for w in [*words, word] if any(c.isalnum() for c in w)]


def units(text, kind, flag):
    if kind == "items":
        items = text.split("|")
        if flag.startswith("fold"):
            return [single_spaced(normalise(item, flag), flag) for item in items]
        return items
    text = normalise(text, flag)
    if kind == "lines":
        return [line for line in (single_spaced(x, flag) for x in text.split("\n")) if line]
    text = single_spaced(text, flag)
    return {"words": ascii_words, "tokens": split_white, "chars": list}[kind](text)


def unit_hashes(text, kind, flag, seed):
    """The hashes of the units, or of the whole normalised text if it has none and is not blank."""
    hashes = [xxh3(u.encode(), seed) for u in units(text, kind, flag)]
    if flag == "stop":
        stop = {xxh3(word, seed) for word in (b"over", b"the")}
        hashes = [h for h in hashes if h not in stop]
    whole = single_spaced(normalise(text, flag), flag)
    if not hashes and kind != "items" and split_white(whole):
        return [xxh3(whole.encode(), seed)]
    return hashes


def shingle_hashes(hashes, k, bag, common=frozenset()):
    windows = [hashes] if len(hashes) < k else [hashes[i:i + k] for i in range(len(hashes) - k + 1)]
    sums = list(map(window_sum, windows))
    sums = [total for total in sums if finalise(total) not in common] or sums
    seen, out = {}, []
    for total in sums:
        n = seen.get(total, 0)
        seen[total] = n + 1
        out.append(finalise((total + (n if bag else 0) * GOLDEN) & MASK))
    return out if bag else set(out)


def fast(hashes, k):
    def offer(h, t):
        x = h
        if t > 0:
            product = (h ^ split_mix(ROUNDS, 2 * t)) * (split_mix(ROUNDS, 2 * t + 1) | 1)
            x = (product >> 64) ^ (product & MASK)
        return (x * k) >> 64, (x * k & MASK) >> 16

    rows = [None] * k
    for t in range(2 * k):
        if None not in rows:
            break
        if t >= k and rows[t - k] is not None:
            continue
        offers = {}
        for h in hashes:
            row, value = offer(h, t)
            row = row if t < k else t - k
            offers[row] = min(value, offers.get(row, value))
        for row, value in offers.items():
            if rows[row] is None:
                rows[row] = value
    return rows


def textbook(hashes, k, seed):
    rows = []
    for i in range(k):
        a = 1 + split_mix(seed, 2 * i) % (PRIME - 1)
        b = split_mix(seed, 2 * i + 1) % PRIME
        rows.append(min((a * (h % PRIME) + b) % PRIME for h in hashes))
    return rows


def lanes(values, bits):
    if bits >= 32:
        return b"".join(v.to_bytes(bits // 8, "little") for v in values)
    tops = [(v * LANE & MASK) >> 48 for v in values]
    return b"".join(t.to_bytes(2, "little") if bits == 16 else bytes([t >> 8]) for t in tops)


def signature(inputs, scheme, bits, k, seed, shingles, flag, name):
    kind, _, width = shingles.partition(":")
    hashed = unit_hashes(inputs[name], kind, flag, seed)
    common = COMMON if flag.startswith("common") else set()
    hashes = shingle_hashes(hashed, int(width or 1), flag in ("bag", "common-bag"), common)
    values = fast(hashes, k) if scheme == "fast" else textbook(hashes, k, seed)
    return len(hashes), lanes(values, bits)


def signature_text(scheme, bits, k, seed, shingles, flag):
    flags = ["bag", "keep-case", "keep-space", "no-nfc"]
    if flag.startswith("fold"):
        return (f"nearkin-signature-1;scheme={scheme};seed={seed};hashes={k};lanes={bits}"
                f";shingles={shingles};bag=false;normalise={flag};keep-space=false")
    states = "".join(f";{f}={'true' if f in (flag, flag[7:]) else 'false'}" for f in flags)
    stop = f";stop={STOP}" if flag == "stop" else ""
    stop += f";common={COMMON_ID}" if flag.startswith("common") else ""
    return (f"nearkin-signature-1;scheme={scheme};seed={seed};hashes={k};lanes={bits}"
            f";shingles={shingles}{states}{stop}")


def check_step(line, fox):
    kind, *rest = line.split(" ", 1)
    *rest, expected = rest[0].rsplit(" ", 1)
    if kind in ("unit", "key"):
        text, seed = rest[0].rsplit(" ", 1)
        found = xxh3(json.loads(text).encode(), int(seed))
    elif kind == "finalise":
        found = finalise(int(rest[0], 16))
    elif kind == "window":
        found = window_sum([int(u) for u in rest[0].split(",")])
    else:
        found = xxh3(bytes.fromhex(rest[0]), 0)
        assert rest[0] in (fox[:5].hex(), fox[80:85].hex()), line
    return f"{found:016x}" == expected


def main():
    page = PAGE.read_text(encoding="utf-8")
    block = lambda name: re.search(rf"```{name}\n(.*?)```", page, re.S)[1].splitlines()
    inputs = {"numbers": " ".join(map(str, range(1000)))}
    for line in block("inputs") + block("wordless-inputs"):
        name, text = line.split(" ", 1)
        inputs[name] = json.loads(text)
    wrong, folding = [], []
    for line in block("fold-texts"):
        flag, texts = line.split(" ", 1)
        text, end = json.JSONDecoder().raw_decode(texts)
        folding.append(text)
        found = normalise(text, flag)
        if json.loads(texts[end:]) != found:
            wrong.append(f"{line}\n  computed {json.dumps(found)}")
    inputs["folding"] = "\n".join(folding)
    for line in block("lookalikes-texts"):
        text, end = json.JSONDecoder().raw_decode(line)
        if json.loads(line[end:]) != normalise(text, "fold,lookalikes"):
            wrong.append(f"{line}\n  computed {json.dumps(normalise(text, 'fold,lookalikes'))}")
    digits = []
    for line in block("digits-texts"):
        text, end = json.JSONDecoder().raw_decode(line)
        digits.append(text)
        found = normalise(text, "fold,digits")
        if json.loads(line[end:]) != found:
            wrong.append(f"{line}\n  computed {json.dumps(found)}")
    inputs["digits"] = "\n".join(digits)
    name, text = block("common")[0].split(" ", 1)
    inputs[name] = json.loads(text)
    notice = unit_hashes(inputs[name], "words", "-", 0)
    settings = ("nearkin-shingles-1;seed=0;shingles=words:3;keep-case=false;keep-space=false"
                ";no-nfc=false")
    if (COMMON_FOR, COMMON) != (f"{xxh3(settings.encode(), 0):016x}",
                                shingle_hashes(notice, 3, False)):
        wrong.append("the list of common shingles")
    _, fox = signature(inputs, "fast", 8, 128, 0, "words:3", "-", "fox")
    wrong += [line for line in block("hashes") if not check_step(line, fox)]
    lines = block("fold-ids") + block("ids") + block("stop-ids") + block("common-ids")
    for line, part in (lines[-4], f";stop={STOP};"), (lines[-2], f";common={COMMON_ID};"):
        if part not in line:
            wrong.append(line)
    for line in block("external"):
        bits, values, expected = line.split(" ")
        if lanes([int(v) for v in values.split(",")], int(bits)).hex() != expected:
            wrong.append(line)
    for text, ids in zip(lines[::2], lines[1::2]):
        found = xxh3(text.split(";bands=")[0].encode(), 0), xxh3(text.encode(), 0)
        if ids != "%016x %016x" % found:
            wrong.append(text)
    vectors = block("fold-vectors") + block("vectors") + block("wordless-vectors")
    vectors += block("common-vectors") + block("digits-vectors")
    for line in vectors:
        scheme, bits, k, seed, shingles, flag, name, *expected = line.split(" ")
        bits, k, seed = int(bits), int(k), int(seed)
        count, found = signature(inputs, scheme, bits, k, seed, shingles, flag, name)
        text = signature_text(scheme, bits, k, seed, shingles, flag)
        found = [str(count), found[:8].hex(), f"{xxh3(found, 0):016x}",
                 f"{xxh3(text.encode(), 0):016x}"]
        if found != expected:
            wrong.append(f"{line}\n  computed {' '.join(found)}")
    for line in wrong:
        print("WRONG", line)
    print(f"{len(vectors)} signatures, {len(folding)} folded texts, {len(block('hashes'))} steps,"
          f" {len(lines) // 2} ids: {len(wrong)} wrong")
    sys.exit(bool(wrong))


main()
