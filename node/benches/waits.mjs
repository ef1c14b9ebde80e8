// How long a caller waits after `abort()`: every call that takes a signal, at ten moments.
// node node/benches/waits.mjs [DOCUMENTS], after node/build.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { AbortError, Index, Params, Reader } from 'nearkin';

const COUNT = Number(process.argv[2] ?? 100_000);
const TEXT = 'the ferry was cancelled after the harbour froze';
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'nearkin-waits-'));
const at = path.join(folder, 'index');
const index = await Index.create(at, new Params(), { durability: 'os' });

/** Writes documents in batches of 1,000, and flushes them to a segment. */
async function fill(prefix, textOf) {
  for (let first = 0; first < COUNT; first += 1_000) {
    const numbers = Array.from({ length: 1_000 }, (_, number) => first + number);
    await index.write(numbers.map((one) => ({ key: prefix + one, document: textOf(one), time: 5 })));
  }
  await index.flush();
}
await fill('k', () => TEXT);
await fill('m', (number) => `${TEXT} and ${number} words ${number * 7} that are others ${number * 3}`);
const reader = await Reader.open(at);

const long = Array.from({ length: 15_000 }, (_, number) => `w${number}`).join(' ');
const texts = Array.from({ length: 600 }, () => long);
const rows = texts.map((document, number) => ({ key: `z${number}`, document }));
const alike = Array.from({ length: 200 }, (_, number) => ({ key: `n${number}`, document: TEXT }));
const keys = Array.from({ length: 2_000 }, (_, number) => `k${number}`);
const drain = async (walk) => {
  for await (const _ of walk);
};

const calls = {
  query: (signal) => index.query(TEXT, { signal, limit: 3 }),
  'queryKeys of 2,000': (signal) => index.queryKeys(keys, { signal, limit: 3 }),
  'queryKeys of a reader': (signal) => reader.queryKeys(keys, { signal, limit: 3 }),
  pairs: (signal) => drain(index.pairs({ signal })),
  clusters: (signal) => drain(index.clusters({ signal })),
  'clusters of a reader': (signal) => drain(reader.clusters({ signal, threshold: 0.3 })),
  'admitAll of 200 alike': (signal) => index.admitAll(alike, { signal }),
  'admit, contained': (signal) => index.admit('n', TEXT, { signal, contained: 0.9 }),
  'write of 600 long texts': (signal) => index.write(rows, { signal }),
  'admitAll of 600 long texts': (signal) => index.admitAll(rows, { signal }),
  'texts of 600 long texts': (signal) => index.sketcher.texts(texts, { signal }),
  keys: (signal) => drain(index.keys({ signal })),
  verify: (signal) => index.verify({ signal }),
  'verify of a reader': (signal) => reader.verify({ signal }),
  compact: (signal) => index.compact({ signal }),
  removeBefore: (signal) => index.removeBefore(1, { signal }),
  removePrefix: (signal) => index.removePrefix('m', { signal }),
};

/** Runs a call that is aborted after so many milliseconds. Returns the wait after the abort, if it came. */
async function wait(run, ms) {
  const controller = new AbortController();
  let aborted;
  const timer = setTimeout(() => {
    aborted = performance.now();
    controller.abort();
  }, ms);
  try {
    await run(controller.signal);
  } catch (error) {
    if (!(error instanceof AbortError)) throw error;
    return performance.now() - aborted;
  } finally {
    clearTimeout(timer);
  }
  return undefined;
}

for (const [name, run] of Object.entries(calls)) {
  const begun = performance.now();
  // These two can be done once only.
  const isOnce = name === 'compact' || name === 'removePrefix';
  if (!isOnce) await wait(run, 2_000);
  const span = isOnce ? 500 : performance.now() - begun;
  const waits = [];
  for (let moment = 0; moment < 10; moment++) waits.push(await wait(run, (span * (moment + 0.5)) / 10));
  const ended = waits.filter((one) => one !== undefined);
  const longest = Math.max(0, ...ended).toFixed(0);
  console.log(`${name}: ${ended.length} of 10 aborted, longest wait ${longest} ms`);
}
fs.rmSync(folder, { recursive: true });
