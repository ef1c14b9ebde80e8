#!/usr/bin/env bash
# Measures sketching by script beside gaoya, in a build for any machine and in one for this.
# NEARKIN_DATA names the folder of corpora. Further flags are those of `rivals`.
set -euo pipefail
cd "$(dirname "$0")/rivals"

cargo run --release --locked --quiet -- scripts "$@"
RUSTFLAGS="-C target-cpu=native" \
  exec cargo run --release --locked --quiet --target-dir target/native -- scripts "$@"
