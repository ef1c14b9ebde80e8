// Measures whether the event loop goes on while 100,000 documents are compared. It runs in a process
// of its own: under the test runner, every promise is traced, and collecting the traces takes longer
// than all that is measured here.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Index, Params } from 'nearkin';

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'nearkin-loop-'));
const COUNT = 100_000;
const DELAY_MAX_MS = 10;
const ATTEMPTS = 5;

/** A text of its own for every number, of twelve words. */
function text(number) {
  return Array.from({ length: 12 }, (_, at) => `w${Math.imul(number + 1, 40503 + at * 7919) >>> 12}`)
    .join(' ');
}

/**
 * For how long this thread was ready to run and other threads had the processors, in milliseconds
 * since it began; 0 where the system does not tell.
 */
function starved() {
  try {
    const told = fs.readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8');
    return Number(told.split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}

/**
 * The longest that the event loop was away while `work` ran, in milliseconds: `wall` by the clock,
 * `own` without the time that the system gave to others.
 */
async function delayOf(work) {
  globalThis.gc?.();
  await sleep(50);
  const longest = { wall: 0, own: 0 };
  let [last, waited] = [performance.now(), starved()];
  const timer = setInterval(() => {
    const [now, waits] = [performance.now(), starved()];
    longest.wall = Math.max(longest.wall, now - last);
    longest.own = Math.max(longest.own, now - last - (waits - waited));
    [last, waited] = [now, waits];
  }, 1);
  await work();
  await sleep(5);
  clearInterval(timer);
  return longest;
}

async function assertNeverAway(what, work) {
  const delays = [];
  do delays.push(await delayOf(work));
  while (delays.at(-1).own >= DELAY_MAX_MS && delays.length < ATTEMPTS);
  const told = delays.map(({ own, wall }) => `${own.toFixed(1)} ms (by the clock ${wall.toFixed(1)})`);
  console.log(`${what}: longest delay of the event loop ${told.join(', ')}`);
  assert.ok(delays.at(-1).own < DELAY_MAX_MS, `${what}: ${told}`);
}

/** A loop that is blocked must be noticed. */
async function checkMeasure() {
  const { own } = await delayOf(async () => {
    const index = Index.temporary(new Params());
    index.insertSync('a', text(1).repeat(120_000));
  });
  assert.ok(own > DELAY_MAX_MS, `${own} ms`);
}

async function checkLoop() {
  const index = await Index.create(path.join(folder, 'pairs'), new Params(), { durability: 'os' });
  for (let first = 0; first < COUNT; first += 1_000) {
    const edits = Array.from({ length: 1_000 }, (_, at) => {
      const number = first + at;
      return { key: `k${number}`, document: text(number >> 2) };
    });
    await index.write(edits);
  }
  assert.equal(index.size, COUNT);
  await assertNeverAway('compaction', () => index.compact());
  let pairs = 0;
  await assertNeverAway('pairs of 100,000', async () => {
    pairs = 0;
    for await (const pair of index.pairs()) pairs += Number(pair.a < pair.b);
  });
  assert.ok(pairs >= (COUNT / 4) * 6, `${pairs} pairs`);
  let members = 0;
  await assertNeverAway('clusters of 100,000', async () => {
    members = 0;
    for await (const cluster of index.clusters()) members += cluster.keys.length;
  });
  assert.equal(members, COUNT);
  await assertNeverAway('verification', () => index.verify());
  await index.close();
}

try {
  await checkMeasure();
  await checkLoop();
} finally {
  fs.rmSync(folder, { recursive: true });
}
