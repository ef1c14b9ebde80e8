#!/bin/sh
# Requests a second of `nearkin serve`, by wrk: queries, PUTs and /health with 1, 16 and 64
# connections. Usage: benches/serve/run.sh CORPUS SCRATCH [SECONDS], where CORPUS is the file
# debian_descriptions.jsonl.zst (docs/reports/BENCHMARKS.md says which). Needs wrk, zstd, python3, and a
# release build. docs/guide/SERVE.md has a table of what it prints.
set -eu
here=$(realpath "$(dirname "$0")")
corpus=$(realpath "$1")
seconds=${3:-10}
nearkin=$here/../../target/release/nearkin
address=127.0.0.1:7979
mkdir -p "$2"
cd "$2"
rm -rf serve.nearkin
zstd -dcqf "$corpus" > corpus.jsonl
python3 -c 'import itertools, json
for line in itertools.islice(open("corpus.jsonl", encoding="utf-8"), 500):
    print(json.dumps(json.loads(line)["text"]))' > texts
"$nearkin" add serve.nearkin --jsonl corpus.jsonl --shingles words:3 --threshold 0.6
"$nearkin" serve serve.nearkin --listen "$address" 2> serve.log &
server=$!
trap 'kill "$server"' EXIT
sleep 2
export TEXTS="$PWD/texts" LUA_PATH="$here/?.lua"
# All queries first: PUTs store the same texts under new keys, and more is found then.
for script in query put; do
    for connections in 1 16 64; do
        echo "== $script, $connections connections"
        wrk -t1 -c "$connections" -d "${seconds}s" --latency -s "$here/$script.lua" "http://$address" |
            grep -E '50%|99%|Requests/sec|Non-2xx'
    done
done
echo "== /health, 16 connections"
wrk -t1 -c 16 -d "${seconds}s" "http://$address/health" | grep -E 'Requests/sec|Non-2xx'
