// AbortSignal: before a call, during one, and afterwards.
import assert from 'node:assert/strict';
import { getEventListeners, setMaxListeners } from 'node:events';
import test from 'node:test';
import { AbortError, Index, Params } from 'nearkin';

const TEXT = 'the ferry was cancelled after the harbour froze';

/** An index of so many copies of a text: all are pairs of each other. */
async function crowd(count) {
  const index = Index.temporary(new Params());
  const edits = Array.from({ length: count }, (_, number) => ({ key: `k${number}`, document: TEXT }));
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
  // More calls than libuv has threads; those behind wait.
  const busy = Array.from({ length: 40 }, (_, at) => index.insert(`k${at}`, TEXT.repeat(40_000)));
  const controller = new AbortController();
  const { signal } = controller;
  const waiting = index.insert('last', TEXT, { signal });
  controller.abort();
  await assert.rejects(waiting, { name: 'AbortError' });
  await Promise.all(busy);
  assert.equal(await index.has('last'), false);
  assert.equal(index.size, 40);
});

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
  assert.ok(seen >= 1_000 && seen < 2_000, `${seen} pairs of 1,999,000`);
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
  const index = await crowd(30_000);
  const begun = performance.now();
  for await (const cluster of index.clusters()) assert.equal(cluster.keys.length, 30_000);
  const whole = performance.now() - begun;
  const signal = AbortSignal.timeout(Math.ceil(whole / 20));
  const walk = index.clusters({ signal });
  await assert.rejects(walk.next(), { name: 'AbortError' });
});

test('a query stops while it runs', async () => {
  const index = await crowd(100_000);
  const begun = performance.now();
  assert.equal((await index.query(TEXT, { limit: 3 })).found, 100_000);
  const whole = performance.now() - begun;
  const partial = await index.query(TEXT, { maxCandidates: 1_000, limit: 3 });
  assert.equal(partial.complete, false);
  assert.equal((await index.query(TEXT, { timeoutMs: 0, limit: 3 })).complete, false);
  const signal = AbortSignal.timeout(0);
  setMaxListeners(0, signal);
  const asked = Array.from({ length: 20 }, () => index.query(TEXT, { signal, limit: 3 }));
  const again = performance.now();
  const done = await Promise.allSettled(asked);
  assert.ok(done.some(({ reason }) => reason?.name === 'AbortError'));
  const took = performance.now() - again;
  assert.ok(took < whole * 15, `20 queries, of ${whole} ms each, took ${took} ms`);
});

test('signals are not listened to for longer than a call', async () => {
  const index = Index.temporary(new Params());
  const { signal } = new AbortController();
  await index.insert('a', TEXT, { signal });
  await assert.rejects(index.insert('b', ' ', { signal }), { code: 'NEARKIN_EMPTY' });
  for await (const key of index.keys({ signal })) assert.equal(key, 'a');
  assert.equal(getEventListeners(signal, 'abort').length, 0);
});
