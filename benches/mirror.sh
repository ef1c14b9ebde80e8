#!/bin/sh
# nearkin mirror on a folder of 100,000 files: the first run, one that finds nothing new, one after
# changes; killed in the midst and run again. Usage: benches/mirror.sh CORPORA SCRATCH, where
# CORPORA holds *.jsonl.zst (docs/reports/BENCHMARKS.md says which). Needs python3, zstd, strace, GNU time.
set -eu
corpora=$(realpath "$1")
nearkin=$(realpath "$(dirname "$0")/../target/release/nearkin")
mkdir -p "$2"
cd "$2"
run() { /usr/bin/time -f "%e s, %M KiB" "$nearkin" mirror "$@" 2>&1 >/dev/null | tail -2; }
documents() {
    "$nearkin" export "$1" --out - | python3 -c 'import hashlib, json, sys
rows = sorted((d.get("key"), d.get("key_hex"), d["signature"])
              for d in map(json.loads, sys.stdin) if "signature" in d)
print(len(rows), "documents", hashlib.sha1(repr(rows).encode()).hexdigest())'
}
rm -rf folder ./*.nearkin
python3 - "$corpora" <<'PYTHON'
import json, os, subprocess, sys
made = 0
for corpus in ["rfc_2k", "python_docs", "reuters21578", "debian_descriptions"]:
    path = f"{sys.argv[1]}/{corpus}.jsonl.zst"
    lines = subprocess.Popen(["zstd", "-dcq", path], stdout=subprocess.PIPE).stdout
    for line in lines:
        if made == 100_000:
            break
        folder = f"folder/{corpus}/{made // 500:03}"
        os.makedirs(folder, exist_ok=True)
        with open(f"{folder}/{made:06}.txt", "w") as file:
            file.write(json.loads(line).get("text") or "")
        made += 1
PYTHON
sleep 3
echo "first run"; run a.nearkin folder
echo "nothing new"; run a.nearkin folder
echo "opened of the folder: $(strace -f -e trace=open,openat "$nearkin" mirror a.nearkin folder 2>&1 |
    grep -c '\.txt"' || true)"
list() { find folder/debian_descriptions -name '*.txt' | sort | sed -n "$1"; }
list 1,1000p | xargs touch
list 2001,2500p | while read -r file; do echo "and some words more" >> "$file"; done
list 5001,5200p | xargs rm
mv folder/debian_descriptions/150 folder/renamed
sleep 3
"$nearkin" mirror a.nearkin folder --dry-run > dry 2> /dev/null
cp -a a.nearkin b.nearkin
"$nearkin" mirror b.nearkin folder > wet 2> /dev/null
cmp dry wet && echo "a dry run says what a run does"
echo "1,000 touched, 500 changed, 200 removed, 500 moved"; run a.nearkin folder
echo "killed at eight places and run again, and undisturbed"
for seconds in 0.2 0.5 1 1.5 2 3 4 5; do
    timeout -s KILL "$seconds" "$nearkin" mirror c.nearkin folder > /dev/null 2>&1 || true
done
run c.nearkin folder
for index in a b c; do documents $index.nearkin; done
"$nearkin" verify c.nearkin
