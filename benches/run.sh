#!/usr/bin/env bash
# Measures Nearkin and its rivals and prints the tables of docs/reports/BENCHMARKS.md.
# About 40 minutes, 30 GB of disk below benches/rivals/target, and 16 GB of memory for gaoya; run
# it on a machine that does nothing else. Flags are those of `rivals` (see benches/rivals/README.md),
# as in `benches/run.sh --quick`. NEARKIN_DATA names a folder of English corpora.
set -euo pipefail
cd "$(dirname "$0")/rivals"

# The rivals in Python, if they can be had; without them their rows are missing.
python=()
venv=python/.venv
if [ ! -x "$venv/bin/python" ]; then
  python3 -m venv "$venv" || true
fi
if "$venv/bin/python" -m pip install --quiet --requirement python/requirements.txt; then
  python=(--python "$PWD/$venv/bin/python")
else
  echo "SKIPPED: datasketch, rensa and Lance could not be installed" >&2
fi

# gaoya as a build for this machine has it: the stage `scripts`, once more.
RUSTFLAGS="-C target-cpu=native" \
  cargo run --release --locked --quiet --target-dir target/native -- scripts "$@"
cargo build --release --locked
cargo run --release --locked --quiet -- all "${python[@]}" "$@"
# The targets of docs/reports/BENCHMARKS.md, by these results.
if command -v python3 > /dev/null; then python3 python/targets.py; fi
