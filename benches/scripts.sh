#!/usr/bin/env bash
# Measures sketching by script beside gaoya, in a build for any machine and in one for this, and
# writes docs/reports/BENCHMARKS.md anew. NEARKIN_DATA names the folder of corpora. Further flags are those
# of `rivals`.
set -euo pipefail
cd "$(dirname "$0")/rivals"

cargo run --release --locked --quiet -- scripts "$@"
RUSTFLAGS="-C target-cpu=native" \
  cargo run --release --locked --quiet --target-dir target/native -- scripts "$@"
exec cargo run --release --locked --quiet -- report "$@"
