#!/usr/bin/env python3
"""A gate for commits: fails if two files of a repository are near-copies that nobody has accepted.

    copies_gate.py [PATHSPEC ...]              status 1 if there are new near-copies
    copies_gate.py --accept [PATHSPEC ...]     writes the near-copies that there are to the baseline
    copies_gate.py --sarif FILE [PATHSPEC ...] writes the new ones for code scanning, too

It needs git and the command `nearkin`, and compares the files that git tracks, such as '*.py' or src. The
baseline (.nearkin-copies.json) names accepted pairs of paths: commit it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path


def copies(pathspecs, threshold):
    """The pairs of tracked files of at least this similarity, compared exactly: (a, b, similarity)."""
    listed = subprocess.run(["git", "ls-files", "-z", "--", *pathspecs], check=True, stdout=subprocess.PIPE)
    names = os.fsdecode(listed.stdout).split("\0")
    # A symbolic link is no copy of its file.
    files = [name for name in names if Path(name).is_file() and not Path(name).is_symlink()]
    with tempfile.TemporaryDirectory() as folder:
        index = f"{folder}/ix"
        create = ["nearkin", "create", index, "--for", "code", "--quiet"]
        subprocess.run(create, check=True, stdout=subprocess.DEVNULL)
        for first in range(0, len(files), 500):
            # A table, or lines of JSON, is one file here, too.
            add = ["nearkin", "add", index, "--as-text", "--quiet", "--", *files[first : first + 500]]
            # Status 3: some files are no text.
            if subprocess.run(add, stdout=subprocess.DEVNULL).returncode not in (0, 3):
                sys.exit(2)
        find = ["nearkin", "pairs", index, "--exact", "--at-least", str(threshold), "--json", "--quiet"]
        found = subprocess.run(find, check=True, stdout=subprocess.PIPE).stdout
    rows = [json.loads(line) for line in found.splitlines()]
    return sorted((*sorted((row["a"], row["b"])), row["exact"]) for row in rows)


def sarif(found):
    """Results for code scanning: one for each pair, at the first line of its second file."""
    results = [
        {
            "ruleId": "near-copy",
            "level": "warning",
            "message": {"text": f"{b} is {share:.0%} the same as {a}"},
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": b}, "region": {"startLine": 1}}}],
            "partialFingerprints": {"pair/v1": f"{a}:{b}"},
        }
        for a, b, share in found
    ]
    driver = {"name": "nearkin", "rules": [{"id": "near-copy", "name": "NearCopy"}]}
    return {"version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pathspecs", nargs="*", help="which of the tracked files; all")
    parser.add_argument("--at-least", type=float, default=0.8, help="similarity of a near-copy")
    parser.add_argument("--baseline", type=Path, default=Path(".nearkin-copies.json"))
    parser.add_argument("--accept", action="store_true", help="write the baseline")
    parser.add_argument("--sarif", type=Path, help="write the new near-copies to this file")
    told = parser.parse_args()
    found = copies(told.pathspecs, told.at_least)
    if told.accept:
        pairs = [[a, b] for a, b, _ in found]
        told.baseline.write_text(json.dumps(pairs, indent=1) + "\n", encoding="utf-8")
        return 0
    known = json.loads(told.baseline.read_text(encoding="utf-8")) if told.baseline.exists() else []
    new = [(a, b, share) for a, b, share in found if [a, b] not in known]
    if told.sarif:
        told.sarif.write_text(json.dumps(sarif(new), indent=1) + "\n", encoding="utf-8")
    for a, b, share in new:
        print(f"{b}: {share:.0%} the same as {a}")
    return 1 if new else 0


if __name__ == "__main__":
    sys.exit(main())
