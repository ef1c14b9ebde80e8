#!/bin/sh
# nearkin mirror on crowds: files of one identical line, and letters of one template. Prints the
# processor time of each size; a linear command takes 4 times as long for 4 times as many files.
# Usage: benches/mirror-crowds.sh SCRATCH [NEARKIN]. Needs python3 and GNU time.
set -eu
nearkin=$(realpath "${2:-$(dirname "$0")/../target/release/nearkin}")
mkdir -p "$1"
cd "$1"
for kind in same letters; do
    for count in 5000 20000 80000; do
        python3 - $kind $count <<'PYTHON'
import os, shutil, sys
kind, count = sys.argv[1], int(sys.argv[2])
shutil.rmtree("folder", ignore_errors=True)
body = " ".join(f"phrase{word}" for word in range(60))
for number in range(count):
    folder = f"folder/{number // 500:03}"
    os.makedirs(folder, exist_ok=True)
    name = lambda at: f"{['ann', 'bob', 'cleo', 'dora'][at % 4]}{at}"
    letter = f"dear {name(number)}, {body} yours, {name(number * 7)} {number}\n"
    with open(f"{folder}/{number:06}.txt", "w") as file:
        file.write(letter if kind == "letters" else "one line that all files hold\n")
PYTHON
        for options in "" "--json"; do
            rm -rf i
            # shellcheck disable=SC2086
            /usr/bin/time -f "$kind $count $options: %U s user, %S s system, %M KiB" \
                "$nearkin" mirror i folder $options 2>&1 >out | tail -2
        done
    done
done
