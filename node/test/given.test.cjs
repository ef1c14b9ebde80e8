'use strict';

// Arguments that other programs have spoilt: bytes without memory, a polluted `Object.prototype`,
// values of another realm, paths of any kind.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const test = require('node:test');
const { pathToFileURL } = require('node:url');
const vm = require('node:vm');
const { Index, Params, Reader, Signature, exists, existsSync } = require('nearkin');

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'nearkin-given-'));
test.after(() => fs.rmSync(folder, { recursive: true }));

const TEXT = 'The ferry was cancelled after the harbour froze';

/** An index of one document, `a`, with a payload. */
function stored() {
  const index = Index.temporary(new Params({ threshold: 0.5 }));
  index.insertSync('a', TEXT, { payload: 'keep me' });
  return index;
}

/** A view of 8 bytes whose memory goes elsewhere. */
function detached(make) {
  const memory = new ArrayBuffer(8);
  const view = make(memory);
  structuredClone(memory, { transfer: [memory] });
  return view;
}

/** Views without memory: of a detached buffer, and, where there are such, of one that shrank. */
function lost() {
  const views = [detached((memory) => Buffer.from(memory)), detached((memory) => new Uint8Array(memory, 4))];
  if (typeof ArrayBuffer.prototype.resize === 'function') {
    const memory = new ArrayBuffer(8, { maxByteLength: 8 });
    views.push(new Uint8Array(memory, 4, 4));
    memory.resize(5);
  }
  return views;
}

test('bytes that have lost their memory are no empty bytes', async () => {
  for (const bytes of lost()) {
    const index = stored();
    const refused = { name: 'TypeError', message: /has lost its memory/ };
    const signature = Object.assign(Object.create(Signature.prototype), { bytes, shingleCount: 1, id: 1n });
    await assert.rejects(index.insert('a', TEXT, { payload: bytes }), refused);
    await assert.rejects(index.setPayload('a', bytes), refused);
    await assert.rejects(index.insert(bytes, TEXT), refused);
    await assert.rejects(index.insert('a', signature), refused);
    await assert.rejects(index.write([{ key: 'a', payload: bytes }]), refused);
    await assert.rejects(index.admit('b', 'other words', { payload: bytes }), refused);
    await assert.rejects(index.removePrefix(bytes), refused);
    await assert.rejects(index.query(TEXT, { prefix: bytes }), refused);
    await assert.rejects(Index.open(bytes), refused);
    assert.throws(() => new Signature(new Params(), bytes), refused);
    assert.equal(String(index.getSync('a').payload), 'keep me');
  }
  const index = stored();
  await index.insert('a', TEXT, { payload: new Uint8Array(0) });
  assert.equal(index.getSync('a').payload.length, 0);
});

test('a list is read at once: its iterator may use a buffer again', async () => {
  const index = stored();
  const buffer = Buffer.alloc(1);
  function* edits() {
    for (const letter of ['x', 'y']) {
      buffer.write(letter);
      yield { key: buffer, document: TEXT, payload: buffer };
    }
    structuredClone(buffer.buffer, { transfer: [buffer.buffer] });
  }
  assert.equal((await index.write(edits())).outcomes.length, 2);
  assert.equal(String(index.getSync('x').payload), 'x');
  assert.equal(String(index.getSync('y').payload), 'y');
});

test('nothing is read from `Object.prototype`', async () => {
  const spoilt = {
    document: 'polluted words', payload: Buffer.from('pp'), timeMs: 5, time: 5, signal: 5, key: 'b',
    remove: true, keys: 'buffer', limit: 0, threshold: 2, durability: 'x', relate: 2, keep: 'x', prefix: 'z',
  };
  const signatureOf = stored().sketcher;
  const at = path.join(folder, 'polluted');
  Object.assign(Object.prototype, spoilt);
  try {
    const params = new Params({ shingles: 'words:3' });
    assert.equal(Params.preset('archive').shingles, 'chars:7');
    const index = await Index.create(at, params);
    await index.insert('a', TEXT, { payload: 'keep me' });
    await index.insert('a', `${TEXT} again`);
    assert.equal(String(index.getSync('a').payload), 'keep me');
    await index.insert('a', signatureOf.textSync(TEXT));
    assert.equal(await index.setPayload('a', 'new'), true);
    const { key, payload, timeMs } = await index.get('a');
    assert.deepEqual([key, String(payload), timeMs > 5], ['a', 'new', true]);
    assert.deepEqual((await index.query(TEXT)).matches.map((match) => match.key), ['a']);
    assert.equal([...index.keysSync()].length, 1);
    assert.equal((await index.admit('c', 'bread and butter and milk')).decision, 'admitted');
    assert.equal((await index.get('c')).payload.length, 0);
    assert.equal((await index.admitAll([{ key: 'd', document: TEXT }]))[0].decision, 'rejected');
    await index.write([{ key: 'e', document: 'other words in a row' }, { key: 'c', payload: 'p' }]);
    assert.throws(() => index.writeSync([{ key: 'e' }]), /needs a document/);
    assert.equal(await index.remove('e'), true);
    assert.deepEqual(index.writeSync([{ key: 'c', remove: true }]).outcomes, ['removed']);
    assert.equal((await index.verify()).ok, true);
    assert.equal(await index.remove('a'), true);
    assert.equal(index.size, 0);
    await index.close();
  } finally {
    for (const name of Object.keys(spoilt)) delete Object.prototype[name];
  }
});

test('an option that objects inherit is unknown', async () => {
  const index = stored();
  for (const name of ['constructor', 'toString', '__proto__']) {
    const options = JSON.parse(`{"${name}": 1}`);
    assert.throws(() => index.querySync(TEXT, options), { name: 'TypeError', message: /^unknown option/ });
  }
  for (const call of ['verify', 'compact']) {
    await assert.rejects(index[call]({ sginal: 1 }), { name: 'TypeError', message: /^unknown option sginal/ });
  }
});

test('values of another realm are taken', async () => {
  const other = (source) => vm.runInNewContext(source);
  const index = stored();
  const bytes = other('new Uint8Array([120])');
  await index.insert(bytes, TEXT, { payload: bytes, time: other('new Date(5)') });
  const { key, payload, timeMs } = await index.get('x');
  assert.deepEqual([key, String(payload), timeMs], ['x', 'x', 5]);
  assert.equal(index.querySync(TEXT, { before: other('new Date(6)') }).found, 1);
  assert.equal(await index.removeBefore(other('new Date(6)')), 1);
  index.writeSync(other('[{ key: "y", document: "another text", time: new Date(7) }]'));
  const { sketcher, params } = index;
  const made = sketcher.textSync(TEXT);
  const copy = new Signature(params, other(`new Uint8Array([${[...made.bytes]}])`), made.shingleCount);
  assert.equal(sketcher.similarity(made, copy), 1);
  assert.equal(index.querySync(copy).found, 1);
});

test('paths are those of `node:fs`', async () => {
  const params = new Params();
  const names = ['caf\u00e9', Buffer.from('buffer'), new Uint8Array(Buffer.from('bytes'))];
  // Only Linux has file names that are no Unicode.
  if (process.platform === 'linux') names.push(Buffer.from('caf\xe9', 'latin1'));
  const inside = (name) => Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(name)]);
  const paths = [...names.map(inside), pathToFileURL(path.join(folder, 'a url #1'))];
  for (const at of paths) {
    const index = await Index.create(at, params);
    await index.close();
    assert.ok(fs.existsSync(at));
    assert.deepEqual([await exists(at), existsSync(at)], [true, true]);
    Index.openSync(at).closeSync();
    const reader = await Reader.open(at);
    const copy = at instanceof URL ? new URL(`${at}-copy`) : Buffer.concat([at, Buffer.from('-copy')]);
    await reader.backup(copy);
    assert.equal(existsSync(copy), true);
    reader.closeSync();
  }
  const before = fs.readdirSync(folder);
  for (const bad of ['caf\udce9', 'a\0b', Buffer.from('a\0b'), '', new URL('https://example.org/'), 5, {}, null]) {
    await assert.rejects(Index.create(bad, params), TypeError);
    await assert.rejects(exists(bad), TypeError);
  }
  assert.deepEqual(fs.readdirSync(folder), before);
});

test('a refused row of many is named', async () => {
  const index = stored();
  const good = { key: 'b', document: TEXT };
  const names = (name) => ({ name: 'TypeError', message: new RegExp(`^${name}\\[1\\][,:] `) });
  await assert.rejects(index.write([good, { key: 5, document: TEXT }]), names('edits'));
  await assert.rejects(index.write([good, { key: 'c', document: TEXT, payload: 5 }]), names('edits'));
  await assert.rejects(index.write([good, null]), names('edits'));
  await assert.rejects(index.admitAll([good, { key: 'c', document: 5 }]), names('newcomers'));
  await assert.rejects(index.queryKeys(['a', 5]), names('keys'));
  await assert.rejects(index.sketcher.texts([TEXT, 5]), names('texts'));
  await assert.rejects(index.write([good, { key: 'c', document: 5 }]), /^TypeError: edits\[1\], key "c": a doc/);
  assert.deepEqual([...index.keysSync()], ['a']);
  // The refusals of the engine.
  const strange = Index.temporary(new Params({ seed: 5 })).sketcher.textSync(TEXT);
  const refused = [
    { key: '', document: TEXT },
    { key: 'c', document: TEXT, payload: 'p'.repeat(70_000) },
    { key: 'c', document: ' ' },
    { key: 'c', document: TEXT, time: -1 },
    { key: 'c', document: strange },
  ];
  for (const row of refused) {
    const message = new RegExp(`^document 1 \\(counted from 0\\), key "${row.key}": `);
    for (const call of ['write', 'admitAll']) {
      await assert.rejects(index[call]([good, row]), { name: 'NearkinError', message });
    }
    // One alone needs no number.
    await assert.rejects(index.insert(row.key, row.document, { payload: row.payload, time: row.time }),
      (error) => !error.message.includes('counted'));
  }
  assert.deepEqual([...index.keysSync()], ['a']);
});

test('every handle is closed by `await using` and `using`', async () => {
  const at = path.join(folder, 'disposed');
  const index = await Index.create(at, new Params());
  index.insertSync('a', TEXT);
  const reader = Reader.openSync(at);
  const [one, other] = [index.snapshot(), reader.snapshot()];
  await one[Symbol.asyncDispose]();
  await one.close();
  assert.equal(one.closed, true);
  await assert.rejects(one.query(TEXT), { code: 'NEARKIN_CLOSED', message: /^the snapshot is closed/ });
  assert.equal((await index.stats()).snapshotsPinning, 0);
  other[Symbol.dispose]();
  assert.throws(() => other.size, { code: 'NEARKIN_CLOSED' });
  reader[Symbol.dispose]();
  await index[Symbol.asyncDispose]();
  assert.deepEqual([reader.closed, index.closed], [true, true]);
});

test('a handle may be closed by the iterator of a call', async () => {
  function* rows(index, row) {
    yield row;
    index.closeSync();
    yield row;
  }
  const closed = { code: 'NEARKIN_CLOSED' };
  const row = { key: 'b', document: TEXT };
  for (const call of ['write', 'admitAll']) {
    let index = stored();
    await assert.rejects(index[call](rows(index, row)), closed);
    index = stored();
    assert.throws(() => index[`${call}Sync`](rows(index, row)), closed);
  }
  let index = stored();
  await assert.rejects(index.queryKeys(rows(index, 'a')), closed);
  index = stored();
  index.insertSync('b', TEXT);
  // An iteration shows the state at its call.
  for await (const { a, b } of index.pairs()) {
    assert.deepEqual([a, b], ['a', 'b']);
    await index.close();
  }
  index = stored();
  const options = { get prefix() { index.closeSync(); return 'a'; } };
  await assert.rejects(index.query(TEXT, options), closed);
});

test('a payload with half of a surrogate pair is refused, not rewritten', async () => {
  const index = stored();
  const refused = { name: 'TypeError', message: /payload has half of a surrogate pair/ };
  for (const half of ['x\ud83d', '\ude00x']) {
    await assert.rejects(index.insert('a', TEXT, { payload: half }), refused);
    await assert.rejects(index.setPayload('a', half), refused);
    await assert.rejects(index.write([{ key: 'a', payload: half }]), refused);
    await assert.rejects(index.admit('b', 'other words', { payload: half }), refused);
  }
  assert.equal(String(index.getSync('a').payload), 'keep me');
  index.setPayloadSync('a', 'x\ud83d\ude00');
  assert.equal(String(index.getSync('a').payload), 'x\u{1f600}');
});
