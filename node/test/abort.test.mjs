// AbortSignal: before a call, during one, and afterwards.
import assert from 'node:assert/strict';
import { pbkdf2 } from 'node:crypto';
import { getEventListeners } from 'node:events';
import test from 'node:test';
import { promisify } from 'node:util';
import { AbortError, Index, Params } from 'nearkin';
import { native } from '../lib/load.js';

const hash = promisify(pbkdf2);
const TEXT = 'the ferry was cancelled after the harbour froze';

/** An index of so many documents; all have the same text, so all are pairs of each other. */
async function crowd(count, textOf = () => TEXT) {
  const index = Index.temporary(new Params());
  const edits = Array.from({ length: count }, (_, number) => {
    return { key: `k${number}`, document: textOf(number) };
  });
  await index.write(edits);
  return index;
}

test('a call with an aborted signal does nothing', async () => {
  const index = Index.temporary(new Params());
  const signal = AbortSignal.abort('too late');
  const check = (error) => {
    assert.ok(error instanceof AbortError);
    assert.deepEqual([error.name, error.code, error.cause], ['AbortError', 'ABORT_ERR', 'too late']);
    return true;
  };
  await assert.rejects(index.insert('a', TEXT, { signal }), check);
  await assert.rejects(index.write([{ key: 'a', document: TEXT }], { signal }), check);
  await assert.rejects(index.admit('a', TEXT, { signal }), check);
  await assert.rejects(index.query(TEXT, { signal }), check);
  await assert.rejects(index.compact({ signal }), check);
  await assert.rejects(index.verify({ signal }), check);
  await assert.rejects(index.sketcher.texts([TEXT], { signal }), check);
  for (const walk of [index.pairs({ signal }), index.clusters({ signal }), index.keys({ signal })]) {
    await assert.rejects(walk.next(), check);
  }
  assert.equal(index.size, 0);
});

test('a call that waits for a thread is not begun', async () => {
  const index = Index.temporary(new Params());
  // Every thread of libuv's pool is busy for a while; what comes later waits.
  const threads = Number(process.env.UV_THREADPOOL_SIZE ?? 4);
  const busy = Array.from({ length: threads }, () => hash('p', 's', 1_000_000, 64, 'sha512'));
  const controller = new AbortController();
  const { signal } = controller;
  const waiting = index.insert('last', TEXT, { signal });
  controller.abort();
  await assert.rejects(waiting, { name: 'AbortError' });
  await Promise.all(busy);
  assert.equal(await index.has('last'), false);
  assert.equal(index.size, 0);
});

/**
 * Aborts a call a few milliseconds after it began, until the native part has stopped while it ran:
 * `isStopped` looks at its answer. A call may be aborted before its work begins, or be completed.
 */
async function assertStops(native, name, run, isStopped) {
  const { prototype } = native;
  const [method, answers] = [prototype[name], []];
  prototype[name] = async function (...given) {
    answers.push(await method.apply(this, given));
    return answers.at(-1);
  };
  try {
    for (let turn = 0; turn < 100; turn++) {
      const controller = new AbortController();
      const called = run(controller.signal);
      setTimeout(() => controller.abort(), turn % 10);
      await called.catch((error) => assert.equal(error.name, 'AbortError'));
      if (isStopped(answers.at(-1))) return;
    }
  } finally {
    prototype[name] = method;
  }
  assert.fail(`${name} never stopped while it ran`);
}

test('an iteration ends when it is aborted', async () => {
  const index = await crowd(2_000);
  const controller = new AbortController();
  let seen = 0;
  const walk = async () => {
    for await (const pair of index.pairs({ signal: controller.signal })) {
      assert.ok(pair.a < pair.b);
      if (++seen === 1_000) controller.abort();
    }
  };
  await assert.rejects(walk, { name: 'AbortError' });
  // Not even the rest of the page is told.
  assert.equal(seen, 1_000);
});

test('breaking off an iteration frees it', async () => {
  const index = await crowd(1_000);
  for await (const pair of index.pairs()) {
    assert.equal(pair.similarity, 1);
    break;
  }
  const walk = index.pairs();
  await walk.next();
  await walk.return();
  assert.deepEqual(await walk.next(), { done: true, value: undefined });
});

test('a search for clusters stops while it runs', async () => {
  // Clusters of two.
  const words = (number) => Array.from({ length: 6 }, (_, at) => `w${(number >> 1) * 7 + at}`);
  const index = await crowd(100_000, (number) => words(number).join(' '));
  const run = async (signal) => {
    const { value } = await index.clusters({ signal }).next();
    assert.equal(value.keys.length, 2);
  };
  await run(undefined);
  const isStopped = ({ message }) => message === 'the search for clusters was cancelled';
  await assertStops(native.Pages, 'next', run, isStopped);
});

test('a query stops while it runs', async () => {
  const index = await crowd(100_000);
  assert.equal((await index.query(TEXT, { limit: 3 })).found, 100_000);
  assert.equal((await index.query(TEXT, { maxCandidates: 1_000, limit: 3 })).complete, false);
  assert.equal((await index.query(TEXT, { deadlineMs: 0, limit: 3 })).complete, false);
  const keys = Array.from({ length: 20 }, (_, number) => `k${number}`);
  const run = (signal) => index.queryKeys(keys, { signal, limit: 3 });
  // After the count and the threshold stands whether the answer is complete.
  const isStopped = ({ buffer, byteOffset }) => new Float64Array(buffer, byteOffset, 3)[2] === 0;
  assert.equal((await run(undefined)).complete, true);
  await assertStops(native.Handle, 'queryKeys', run, isStopped);
});

test('calls of `next` that do not wait get the values in order', async () => {
  const index = await crowd(50);
  const expected = [...index.pairsSync()].map(({ a, b }) => `${a} ${b}`);
  const walk = index.pairs();
  const all = await Promise.all(Array.from({ length: 1_300 }, () => walk.next()));
  assert.equal(expected.length, 1_225);
  const values = all.filter(({ done }) => !done).map(({ value: { a, b } }) => `${a} ${b}`);
  assert.deepEqual(values, expected);
  assert.ok(all.slice(1_225).every(({ done }) => done));
});

test('signals are not listened to for longer than a call', async () => {
  const index = Index.temporary(new Params());
  const { signal } = new AbortController();
  await index.insert('a', TEXT, { signal });
  await assert.rejects(index.insert('b', ' ', { signal }), { code: 'NEARKIN_EMPTY' });
  for await (const key of index.keys({ signal })) assert.equal(key, 'a');
  assert.equal(getEventListeners(signal, 'abort').length, 0);
});

test('a signal that many calls share has one listener', async () => {
  const index = Index.temporary(new Params());
  const controller = new AbortController();
  const { signal } = controller;
  const warnings = [];
  const warned = (warning) => warnings.push(warning.name);
  process.on('warning', warned);
  const calls = Array.from({ length: 50 }, (_, at) => index.insert(`k${at}`, TEXT, { signal }));
  assert.equal(getEventListeners(signal, 'abort').length, 1);
  await Promise.all(calls);
  assert.equal(getEventListeners(signal, 'abort').length, 0);
  const stopped = Array.from({ length: 50 }, () => index.query(TEXT, { signal }));
  controller.abort();
  for (const { reason } of await Promise.allSettled(stopped)) assert.equal(reason.name, 'AbortError');
  // Warnings come by `process.nextTick`.
  await new Promise((resolve) => setImmediate(resolve));
  process.off('warning', warned);
  assert.deepEqual(warnings, []);
});

test('a signal need not be of this realm', async () => {
  const index = Index.temporary(new Params());
  const listeners = new Set();
  const signal = {
    aborted: false,
    reason: 'late',
    addEventListener: (_, listener) => listeners.add(listener),
    removeEventListener: (_, listener) => listeners.delete(listener),
  };
  await index.insert('a', TEXT, { signal });
  assert.equal(listeners.size, 0);
  signal.aborted = true;
  await assert.rejects(index.insert('b', TEXT, { signal }), { name: 'AbortError', cause: 'late' });
  for (const wrong of [5, {}, null, 'signal', new AbortController()]) {
    await assert.rejects(index.insert('b', TEXT, { signal: wrong }), TypeError);
    await assert.rejects(index.verify({ signal: wrong }), TypeError);
    assert.throws(() => index.pairs({ signal: wrong }), TypeError);
  }
});
