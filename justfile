# The commands of this project, one line each: they can be pasted without `just`.

# What CI runs.
ci:
    .ci/run

# All tests.
test:
    cargo test --all-features

# Format, lints, documentation.
lint:
    cargo fmt --all --check
    cargo clippy --all-targets -- -D warnings
    cargo clippy -p nearkin --lib -- -D warnings
    cargo clippy -p nearkin-sketch --lib -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --no-deps

# The pages as a site with search, in target/site/book; every link within it is checked.
site *flags:
    tools/site/build {{flags}}

# The main job on the corpus in tests/data.
demo:
    cargo run --release -- add demo.nearkin --jsonl tests/data/spdx.jsonl --jsonl tests/data/pydocs.jsonl
    cargo run --release -- pairs demo.nearkin --sort

# Accuracy on real corpora; writes docs/reports/ACCURACY.md. NEARKIN_DATA names the folder of corpora.
accuracy:
    cargo bench --bench accuracy

# What other programs remove wrongly, and Nearkin; writes docs/reports/REMOVALS.md. Installs them in `work`.
removals work:
    benches/removals/run.py {{work}}

# A longer model campaign: random operations against brute force.
model ops="1000000" seed="1":
    NEARKIN_MODEL_OPS={{ops}} NEARKIN_MODEL_SEED={{seed}} cargo test --release model -- --nocapture

# A longer kill -9 campaign.
kill rounds="200":
    NEARKIN_KILL_ROUNDS={{rounds}} cargo test --release --test it kill -- --nocapture

# Threads under a schedule explorer: that many schedules of each scenario, in each of three ways.
# A build of its own; replaying a failure: docs/reports/CRASH_TESTS.md.
schedules count="100" seed="1":
    RUSTFLAGS="--cfg shuttle" CARGO_TARGET_DIR=target/shuttle NEARKIN_SCHEDULES={{count}} NEARKIN_SCHEDULES_SEED={{seed}} cargo test -p nearkin --lib schedules -- --nocapture

# Every bit and every length of every file of a small index.
damage:
    NEARKIN_DAMAGE=all cargo test --release damage -- --nocapture

# Campaigns on fresh seeds and slow checks, an hour (NEARKIN_NIGHT_MINUTES): a table, and a replay for each failure.
# With names (tools/night --list): some of them.
night *steps:
    tools/night {{steps}}

# Fuzzes a target: wal_replay, segment_query, catalog_row, manifest, operations or text (needs nightly and
# cargo-fuzz).
fuzz target seconds="3600":
    mkdir -p fuzz/corpus/{{target}}
    cargo +nightly fuzz run -s none {{target}} fuzz/corpus/{{target}} fuzz/seeds/{{target}} -- -max_total_time={{seconds}} -max_len=2000

# Licences and advisories of the dependencies (needs cargo-deny).
deny:
    .ci/deny

# Nearkin beside its rivals; prints the tables of docs/reports/BENCHMARKS.md. NEARKIN_DATA names the folder of corpora.
rivals *flags:
    benches/run.sh {{flags}}

# Instructions of single operations against benches/instructions.tsv (needs valgrind).
instructions *flags:
    cargo bench -p nearkin --bench instructions -- {{flags}}

# Pages in a real browser (needs Chromium; NEARKIN_CHROMIUM names one). With a folder: pictures of
# them, too.
browser pictures="":
    NEARKIN_PICTURES={{pictures}} cargo test --test browser -- --nocapture
