'use strict';

// Single calls, through CommonJS.

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const test = require('node:test');
const { promisify } = require('node:util');
const { Worker } = require('node:worker_threads');
const nearkin = require('nearkin');
const { Index, NearkinError, Params, Reader, Signature, Sketcher } = nearkin;

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'nearkin-calls-'));
test.after(() => fs.rmSync(folder, { recursive: true }));

const TEXT = 'The ferry was cancelled after the harbour froze';
const LIKE = 'the ferry was cancelled, after the harbour froze!';

/** A function for every method of a class, with those of the classes above it. */
function methodsOf(type) {
  const names = [];
  for (let of = type.prototype; of !== Object.prototype; of = Object.getPrototypeOf(of)) {
    const all = Object.entries(Object.getOwnPropertyDescriptors(of));
    names.push(...all.filter(([, own]) => typeof own.value === 'function').map(([name]) => name));
  }
  return names;
}

test('`import` finds every name that `require` finds', async () => {
  const { default: all, 'module.exports': _, ...named } = await import('nearkin');
  assert.equal(all, nearkin);
  assert.deepEqual({ ...named }, { ...nearkin });
  assert.equal(nearkin.version, require('nearkin/package.json').version);
});

test('every method that returns a promise or a stream has a twin', () => {
  const lone = ['constructor', 'snapshot', 'similarity'];
  for (const type of [Index, Reader, Sketcher]) {
    const names = methodsOf(type);
    const plain = names.filter((name) => !name.endsWith('Sync') && !lone.includes(name));
    assert.ok(plain.length >= 3);
    for (const name of plain) assert.ok(names.includes(`${name}Sync`), `${name}Sync is missing`);
    const statics = Object.getOwnPropertyNames(type).filter((name) => /^(open|create)$/.test(name));
    for (const name of statics) assert.equal(typeof type[`${name}Sync`], 'function');
  }
});

test('a first program', async () => {
  const index = await Index.create(path.join(folder, 'first'), new Params({ threshold: 0.7 }));
  assert.equal(await index.insert('monday', TEXT, { payload: 'page 1' }), 'inserted');
  const { matches, found, complete } = await index.query(LIKE, { limit: 10 });
  assert.deepEqual([found, complete], [1, true]);
  const [{ key, payload, similarity }] = matches;
  assert.deepEqual([key, String(payload), similarity], ['monday', 'page 1', 1]);
  assert.equal((await index.queryKey('monday')).matches.length, 0);
  await index.insert('tuesday', LIKE);
  assert.deepEqual((await index.queryKeys(['monday'])).matches.map((match) => match.key), ['tuesday']);
  await index.close();
});

test('parameters are shown, compared and written', () => {
  const params = new Params({ threshold: 0.7, shingles: 'chars:5', stopWords: new Set(), seed: 7n });
  assert.deepEqual([params.threshold, params.shingles, params.seed], [0.7, 'chars:5', 7n]);
  const again = Params.fromJSON(JSON.stringify(params));
  assert.deepEqual(again.differences(params), []);
  assert.equal(again.signatureId, params.signatureId);
  assert.equal(Params.fromJSON(params.toJSON()).bands, params.bands);
  for (const seed of [7n, 0x0123456789abcdefn, 2n ** 64n - 1n]) {
    const seeded = new Params({ seed });
    assert.equal(Params.fromJSON(JSON.stringify(seeded)).seed, seed);
    assert.equal(Params.fromJSON(seeded.toJSON()).signatureId, seeded.signatureId);
  }
  assert.equal(new Params().differences(params).length > 0, true);
  assert.equal(Params.preset('archive').shingles, 'chars:7');
  assert.deepEqual([new Params().bands, new Params().rowsPerBand], [17, 5]);
  assert.deepEqual(new Params({ bands: [16, 8] }).bands, 16);
  assert.ok(new Params().candidateProbability(0.7) >= 0.95);
  assert.ok(new Params().expectedRecall(0.8, 0.7) > 0.95);
  assert.ok(new Params().standardError(0.7) > 0.03);
  const code = (code) => (error) => error instanceof NearkinError && error.code === code;
  assert.throws(() => new Params({ threshold: 3 }), code('NEARKIN_INVALID'));
  assert.throws(() => new Params({ shingles: 'verses' }), code('NEARKIN_INVALID'));
  assert.throws(() => new Params({ normalise: 'nfc', keepCase: true }), code('NEARKIN_INVALID'));
  assert.throws(() => new Params({ seed: -1 }), code('NEARKIN_INVALID'));
  assert.throws(() => Params.preset('poems'), code('NEARKIN_INVALID'));
  assert.throws(() => Params.fromJSON('{}'), code('NEARKIN_INVALID'));
  assert.throws(() => new Params({ stopWords: ['a b'] }), TypeError);
  const common = new Params({ common: 'nearkin-common-1 any 0123456789abcdef' });
  assert.equal(common.commonShingles, 1);
  assert.throws(() => new Params({ common: 'the of' }), /nearkin-common-1/);
  assert.throws(() => new Params({ treshold: 0.5 }), TypeError);
  assert.throws(() => { 'use strict'; params.threshold = 0.5; }, TypeError);
});

test('signatures are plain data', async () => {
  const sketcher = new Sketcher(new Params());
  const [a, b] = [await sketcher.text(TEXT), sketcher.textSync(LIKE)];
  assert.ok(a instanceof Signature);
  assert.equal(sketcher.similarity(a, b), 1);
  assert.equal(sketcher.similarity(a, structuredClone(b)), 1);
  const copy = new Signature(sketcher.params, a.bytes, a.shingleCount);
  assert.equal(sketcher.similarity(copy, a), 1);
  const several = await sketcher.texts([TEXT, '  ', 'bread']);
  assert.deepEqual(several.map((one) => one === null), [false, true, false]);
  assert.deepEqual(several, sketcher.textsSync([TEXT, '  ', 'bread']));
  assert.ok(sketcher.similarity(a, several[2]) < 0.1);
  assert.throws(() => sketcher.textSync(' '), { code: 'NEARKIN_EMPTY' });
  assert.throws(() => sketcher.textSync(5), TypeError);
  assert.throws(() => new Signature(new Params(), Buffer.alloc(3)), RangeError);
  const index = Index.temporary(new Params({ seed: 1 }));
  await assert.rejects(index.insert('a', a), { code: 'NEARKIN_MISMATCH' });
});

test('events come on the event loop', async () => {
  const told = [];
  const index = Index.temporary(new Params(), { onEvent: (event) => told.push(event) });
  index.insertSync('a', TEXT);
  index.flushSync();
  assert.deepEqual(told, [], 'not within a call');
  await new Promise((resolve) => { setTimeout(resolve, 20); });
  assert.equal(told[0].kind, 'Flushed');
  assert.match(told[0].message, /^flushed 1 documents into/);
  await index.close();
  assert.throws(() => Index.temporary(new Params(), { onEvent: 5 }), /onEvent must be of type function/);
});

test('sets of items', async () => {
  const index = Index.temporary(new Params({ threshold: 0.5, shingles: 'items' }));
  await index.insert('anna', ['bread', 'milk', 'tea']);
  index.insertSync('ben', new Set(['tea', 'milk', Buffer.from('bread')]), { payload: 'since 2019' });
  const { matches } = await index.queryKey('anna');
  assert.deepEqual(matches.map(({ key, similarity }) => [key, similarity]), [['ben', 1]]);
  const { sketcher } = index;
  const [a, b] = [await sketcher.items(['x', 'y']), sketcher.itemsSync(new Set(['y', 'x', 'x']))];
  assert.deepEqual(a, b);
  await assert.rejects(index.insert('c', []), { code: 'NEARKIN_EMPTY' });
  await assert.rejects(index.insert('c', [1, 2]), TypeError);
  assert.throws(() => sketcher.itemsSync('milk'), TypeError);
});

test('admission', async () => {
  const index = Index.temporary(new Params());
  const all = await index.admitAll(
    [{ key: 'a', document: TEXT }, { key: 'b', document: LIKE }, { key: 'c', document: 'bread' }],
    { reject: 0.9 },
  );
  assert.deepEqual(all.map((one) => one.decision), ['admitted', 'rejected', 'admitted']);
  assert.equal(all[1].duplicates[0].key, 'a');
  const newest = await index.admit('b', LIKE, { reject: 0.9, keep: 'newest', payload: 'p', time: 5 });
  assert.deepEqual([newest.decision, newest.removed[0].key], ['admitted', 'a']);
  const { payload, timeMs } = await index.get('b');
  assert.deepEqual([String(payload), timeMs], ['p', 5]);
  assert.equal(index.admitSync('d', `${TEXT} again`, { reject: 0.99, relate: 0.3 }).related.length, 1);
});

test('containment', async () => {
  const index = Index.temporary(new Params({ threshold: 0.3, shingles: 'words:1' }));
  const long = 'dear neighbours, the bridge is closed until further notice, yours, the mayor';
  await index.insert('long', long);
  const part = 'the bridge is closed until further notice';
  const { matches } = await index.query(part, { contained: 0.75 });
  assert.ok(matches[0].contained > 0.75);
  assert.equal((await index.admit('part', part, { contained: 0.75 })).decision, 'rejected');
  await index.insert('part', part);
  const pairs = [...index.pairsSync({ contained: 0.75 })];
  assert.equal(pairs.length, 1);
  assert.ok(pairs[0].contained > 0.75);
});

test('conditions are checked, and errors name the option', async () => {
  const index = Index.temporary(new Params());
  index.insertSync('a', TEXT);
  const none = { limit: Infinity, maxCandidates: Infinity, deadlineMs: Infinity, before: 1e15 };
  assert.equal(index.querySync(LIKE, none).found, 1);
  assert.equal(index.querySync(LIKE, { limit: undefined, before: new Date(1) }).found, 0);
  for (const name of ['limit', 'maxCandidates', 'after', 'before']) {
    const error = { code: 'NEARKIN_INVALID', message: RegExp(`^${name} must be .*, not "1.5"$`) };
    assert.throws(() => index.querySync(LIKE, { [name]: 1.5 }), error);
    assert.throws(() => index.querySync(LIKE, { [name]: NaN }), TypeError);
  }
  const late = { code: 'NEARKIN_INVALID', message: /^deadlineMs must be a number of milliseconds, 0 or more/ };
  assert.throws(() => index.querySync(LIKE, { deadlineMs: -1 }), late);
  assert.equal(index.querySync(LIKE, { deadlineMs: 0 }).complete, false);
  assert.equal(index.admitSync('b', LIKE, { reject: 1, relate: 0.5 }).duplicates.length, 1);
  assert.throws(() => index.querySync(LIKE, { threshold: Infinity }), { code: 'NEARKIN_INVALID' });
  assert.throws(() => index.querySync(LIKE, { after: 2, before: 2 }), { message: /^after must be/ });
  assert.throws(() => index.querySync(LIKE, { after: null }), TypeError);
  const kept = { code: 'NEARKIN_INVALID', message: /^keep must be/ };
  assert.throws(() => index.admitSync('b', LIKE, { keep: 'best' }), kept);
  assert.equal(index.admitSync('b', LIKE, { keep: 'newest' }).removed.length, 1);
});

test('pairs and clusters take the conditions of queries', async () => {
  const index = Index.temporary(new Params());
  const keys = ['a/1', 'a/2', 'b/1', 'b/2'];
  await index.write(keys.map((key, at) => ({ key, document: TEXT, time: 1000 * at })));
  const pairs = (options) => [...index.pairsSync(options)].map(({ a, b }) => `${a} ${b}`).sort();
  assert.equal(pairs().length, 6);
  assert.deepEqual(pairs({ prefix: 'a/' }), ['a/1 a/2']);
  assert.deepEqual(pairs({ prefix: Buffer.from('b/') }), ['b/1 b/2']);
  assert.deepEqual(pairs({ after: 1000, before: new Date(2001) }), ['a/2 b/1']);
  assert.equal(pairs({ limit: 2 }).length, 2);
  assert.equal(pairs({ limit: Infinity, deadlineMs: Infinity }).length, 6);
  const clusters = [];
  for await (const one of index.clusters({ after: 1000, threshold: 0.9 })) clusters.push(one.keys);
  assert.deepEqual(clusters, [['a/2', 'b/1', 'b/2']]);
  assert.deepEqual([...index.clustersSync({ limit: 0 })], []);
  const late = { code: 'NEARKIN_CANCELLED' };
  assert.throws(() => pairs({ deadlineMs: 0 }), late);
  await assert.rejects(index.clusters({ deadlineMs: 0 }).next(), late);
  assert.throws(() => pairs({ maxCandidates: 5 }), TypeError);
  assert.throws(() => pairs({ threshold: 2 }), { code: 'NEARKIN_INVALID' });
});

test('a filter by time', async () => {
  const index = Index.temporary(new Params());
  const edits = [1000, 2000, 3000].map((time) => ({ key: `t${time}`, document: TEXT, time }));
  await index.write(edits);
  const found = async (options) => (await index.query(TEXT, options)).matches.map(({ key }) => key);
  assert.deepEqual(await found({ after: 2000 }), ['t2000', 't3000']);
  assert.deepEqual(await found({ before: new Date(2000) }), ['t1000']);
  assert.deepEqual(await found({ after: 1001, before: 2001, prefix: 't' }), ['t2000']);
  assert.deepEqual(await found({ after: 2000, limit: 1 }), ['t2000']);
  assert.equal(index.queryKeySync('t1000', { before: 3000 }).found, 1);
  assert.equal(index.admitSync('n1', LIKE, { before: 1000, time: 1 }).decision, 'admitted');
  const refused = await index.admit('n2', LIKE, { after: 3000 });
  assert.deepEqual(refused.duplicates.map(({ key }) => key), ['t3000']);
  await assert.rejects(index.query(TEXT, { after: -1 }), { code: 'NEARKIN_INVALID' });
  await assert.rejects(index.query(TEXT, { after: new Date(NaN) }), TypeError);
  await assert.rejects(index.query(TEXT, { after: 'monday' }), TypeError);
  await assert.rejects(index.query(TEXT, { limit: NaN }), TypeError);
});

test('times, removal by time, and expiry', async () => {
  const index = Index.temporary(new Params(), { ttlMs: 1e12 });
  await index.insert('old', TEXT, { time: new Date(Date.now() - 5e11) });
  await index.insert('new', TEXT);
  assert.equal(await index.removeBefore(new Date(Date.now() - 1e6)), 1);
  assert.equal(index.removeBeforeSync(0), 0);
  assert.deepEqual([...index.keysSync()], ['new']);
});

test('a reader follows its writer; a snapshot does not', async () => {
  const at = path.join(folder, 'followed');
  assert.equal(await nearkin.exists(at), false);
  const index = await Index.open(at, new Params());
  assert.equal(nearkin.existsSync(at), true);
  const reader = await Reader.open(at, { keys: 'buffer' });
  await index.insert('a', TEXT);
  await index.sync();
  const before = reader.snapshot();
  assert.equal(await reader.refresh(), true);
  assert.equal(reader.refreshSync(), false);
  assert.deepEqual([before.size, reader.size, index.size], [0, 1, 1]);
  assert.ok(Buffer.isBuffer(reader.querySync(LIKE).matches[0].key));
  assert.equal(reader.change, index.change);
  assert.equal((await reader.verify()).ok, true);
  assert.equal((await reader.stats()).documents, 1);
  await index.backup(path.join(folder, 'copy'));
  const copy = Reader.openSync(path.join(folder, 'copy'));
  assert.deepEqual([...copy.keysSync()], ['a']);
  copy.closeSync();
  assert.throws(() => copy.size, { code: 'NEARKIN_CLOSED' });
  assert.equal(before.insert, undefined);
  await index.close();
  assert.equal(reader.hasSync('a'), true);
});

test('keys that are no strings', async () => {
  const at = path.join(folder, 'bytes');
  const index = await Index.create(at, new Params(), { keys: 'buffer' });
  const key = Buffer.from([0xff, 0x00, 0x80]);
  await index.insert(new Uint8Array(key), TEXT);
  const { matches } = await index.query(TEXT);
  assert.deepEqual(matches[0].key, key);
  await index.close();
  const strings = await Index.open(at);
  await assert.rejects(strings.query(TEXT), { code: 'NEARKIN_INVALID', message: /keys: 'buffer'/ });
  // What is written is answered: the removed key is a buffer.
  const { removed } = await strings.admit('n', TEXT, { keep: 'newest' });
  assert.deepEqual(removed.map((match) => match.key), [key]);
  assert.equal(await strings.has('n'), true);
  await assert.rejects(Index.open(at, undefined, { keys: 'numbers' }), { code: 'NEARKIN_INVALID' });
  strings.closeSync();
  await assert.rejects(Index.open(at, new Params({ seed: 1 })), { code: 'NEARKIN_MISMATCH' });
});

test('long answers have all keys and payloads', async () => {
  for (const keys of ['string', 'buffer']) {
    const index = Index.temporary(new Params(), { keys });
    const given = Array.from({ length: 2_000 }, (_, at) => `${at % 2 ? 'ключ' : 'key'}${at}\u{1f600}`);
    const payloadOf = (key) => (key.length % 3 ? `of ${key}` : '');
    index.writeSync(given.map((key) => ({ key, document: TEXT, payload: payloadOf(key) })));
    const byBytes = (one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other));
    const expected = [...given].sort(byBytes).map((key) => [key, payloadOf(key)]);
    const signature = index.sketcher.textSync(TEXT);
    for (const document of [TEXT, signature, structuredClone(signature)]) {
      for (const limit of [1, 2_000]) {
        for (const answer of [index.querySync(document, { limit }), await index.query(document, { limit })]) {
          assert.deepEqual([answer.found, answer.complete], [2_000, true]);
          assert.equal(typeof answer.matches[0].key === 'string', keys === 'string');
          const shown = answer.matches.map(({ key, payload }) => [String(key), String(payload)]);
          assert.deepEqual(shown, expected.slice(0, limit));
        }
      }
    }
  }
});

test('a buffer may be used again as soon as the call has returned', async () => {
  const index = Index.temporary(new Params(), { keys: 'buffer' });
  const [key, payload] = [Buffer.from('key'), Buffer.from('payload')];
  const written = index.insert(key, TEXT, { payload });
  key.fill(0);
  payload.fill(0);
  await written;
  assert.equal(String((await index.get('key')).payload), 'payload');
});

test('calls during a close complete or fail as closed', async () => {
  for (let round = 0; round < 20; round++) {
    const at = path.join(folder, `closing${round}`);
    const index = await Index.create(at, new Params(), { durability: 'os' });
    const numbers = Array.from({ length: 50 }, (_, number) => number);
    const calls = numbers.map((number) => index.insert(`k${number}`, `${TEXT} ${number}`));
    const settling = Promise.allSettled(calls);
    await index.close();
    const done = await settling;
    const kept = numbers.filter((number) => done[number].status === 'fulfilled');
    for (const { status, reason } of done) {
      assert.ok(status === 'fulfilled' || reason.code === 'NEARKIN_CLOSED', reason);
    }
    const again = await Index.open(at);
    for (const number of kept) assert.ok(await again.has(`k${number}`));
    await again.close();
  }
});

test('a worker has its own reader, and may end at any time', async () => {
  const at = path.join(folder, 'shared');
  const index = await Index.create(at, new Params());
  for (let number = 0; number < 500; number++) index.insertSync(`k${number}`, `${TEXT} ${number}`);
  index.flushSync();
  const source = `
    const { parentPort, workerData } = require('node:worker_threads');
    const { Index, Reader } = require(workerData.module);
    let code;
    try { Index.openSync(workerData.at) } catch (error) { code = error.code }
    const reader = Reader.openSync(workerData.at);
    parentPort.postMessage([code, reader.size]);
    (async () => { for (;;) for await (const pair of reader.pairs()) await reader.get(pair.a) })();`;
  for (let round = 0; round < 5; round++) {
    const workerData = { at, module: require.resolve('nearkin') };
    const worker = new Worker(source, { eval: true, workerData });
    const told = await new Promise((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
    });
    assert.deepEqual(told, ['NEARKIN_LOCKED', 500]);
    await new Promise((resolve) => setTimeout(resolve, 20));
    await worker.terminate();
  }
  await index.close();
});

test('processes write to one index by turns', async () => {
  const at = path.join(folder, 'turns');
  const source = `
    const { Index, Params } = require(process.argv[1]);
    const index = Index.openSync(process.argv[2], new Params(), { shared: true });
    for (let n = 0; n < 20; n++) index.insertSync(process.argv[3] + n, 'text ' + n);
    index.closeSync();`;
  const own = await Index.open(at, new Params(), { shared: true, lockWaitMs: 30_000 });
  const run = promisify(execFile);
  const module = require.resolve('nearkin');
  await Promise.all(['a', 'b'].map((name) => run(process.execPath, ['-e', source, module, at, name])));
  assert.equal(await own.refreshUntil(40, 10_000), true);
  assert.deepEqual([own.size, own.refreshSync(), await own.refresh()], [40, false, false]);
  assert.deepEqual([await own.refreshUntil(41, 1), own.refreshUntilSync(40, 1)], [false, true]);
  await assert.rejects(own.refreshUntil(41, 60_000, { signal: AbortSignal.timeout(20) }));
  await own.close();
});
