// Random programs of calls against a Map. The model shares no code with the engine but the
// sketcher: it compares rows itself. NEARKIN_SEED=N runs the program with that seed alone,
// NEARKIN_PROGRAMS=N runs so many.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { Index, Params, Reader } from 'nearkin';

const PROGRAMS = Number(process.env.NEARKIN_PROGRAMS ?? 150);
const STEPS = 60;
const WORDS = 'ferry harbour frost island monday bread honey rye bridge mayor'.split(' ');

/** A small generator of random numbers (mulberry32). */
function random(seed) {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

/** What an index must hold, and answer. */
class Model {
  constructor(params) {
    this.params = params;
    this.map = new Map();
  }

  equalRows(a, b) {
    let equal = 0;
    for (let at = 0; at < a.length; at++) equal += Number(a[at] === b[at]);
    return equal;
  }

  sharesBand(a, b) {
    const { bands, rowsPerBand } = this.params;
    for (let band = 0; band < bands; band++) {
      const rows = [...Array(rowsPerBand).keys()].map((row) => band * rowsPerBand + row);
      if (rows.every((row) => a[row] === b[row])) return true;
    }
    return false;
  }

  /** The estimate for rows of 8 bits, of which one in 256 is equal by chance. */
  similarity(equal) {
    const { hashes } = this.params;
    return Math.min(1, Math.max(0, (equal / hashes - 1 / 256) / (1 - 1 / 256)));
  }

  query(signature, threshold, { limit = Infinity, prefix = '' } = {}) {
    const found = [];
    for (const [key, { bytes }] of this.map) {
      const equal = this.equalRows(signature, bytes);
      const near = this.similarity(equal) >= threshold && this.sharesBand(signature, bytes);
      if (near && key.startsWith(prefix)) found.push([key, equal]);
    }
    found.sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
    return found.slice(0, limit);
  }

  pairs(threshold) {
    const keys = [...this.map.keys()].sort();
    return keys.flatMap((a) =>
      this.query(this.map.get(a).bytes, threshold)
        .filter(([b]) => a < b)
        .map(([b, equal]) => `${a} ${b} ${equal}`),
    );
  }

  clusters(threshold) {
    const of = new Map([...this.map.keys()].map((key) => [key, key]));
    for (const pair of this.pairs(threshold)) {
      const [a, b] = pair.split(' ').map((key) => of.get(key));
      for (const [key, cluster] of of) if (cluster === b) of.set(key, a);
    }
    const groups = Map.groupBy ? Map.groupBy(of.keys(), (key) => of.get(key)) : group(of);
    return [...groups.values()].filter((keys) => keys.length > 1).map((keys) => keys.sort().join());
  }
}

function group(of) {
  const groups = new Map();
  for (const [key, cluster] of of) groups.set(cluster, [...(groups.get(cluster) ?? []), key]);
  return groups;
}

/** One program: an index, its model, and the calls between them. */
class Program {
  constructor(seed, folder) {
    this.pick = random(seed);
    this.path = path.join(folder, `p${seed}.nearkin`);
    this.params = new Params({ threshold: 0.5, shingles: 'words:1' });
    this.model = new Model(this.params);
    this.options = { keys: this.pick(2) ? 'buffer' : 'string', durability: 'os' };
  }

  /** Calls a method, or its twin. */
  call(object, name, ...given) {
    return this.pick(2) ? object[name](...given) : object[`${name}Sync`](...given);
  }

  key() {
    return `${'ab'[this.pick(2)]}/${this.pick(12)}`;
  }

  given(key) {
    return this.pick(2) ? key : Buffer.from(key);
  }

  shown(key) {
    assert.equal(Buffer.isBuffer(key), this.options.keys === 'buffer');
    return String(key);
  }

  text() {
    return Array.from({ length: 1 + this.pick(9) }, () => WORDS[this.pick(WORDS.length)]).join(' ');
  }

  payload() {
    return this.pick(3) ? undefined : 'xyz'.slice(this.pick(4));
  }

  /** Puts a document into the model; returns the outcome. */
  put(key, signature, payload) {
    const old = this.model.map.get(key);
    const { bytes, shingleCount } = signature;
    const now = { bytes, shingleCount, payload: payload ?? old?.payload ?? '' };
    const same = old && Buffer.compare(old.bytes, bytes) === 0;
    if (same && old.shingleCount === shingleCount && old.payload === now.payload) return 'unchanged';
    this.model.map.set(key, now);
    return old ? 'replaced' : 'inserted';
  }

  async open() {
    this.index = await this.call(Index, 'open', this.path, this.params, this.options);
    this.sketcher = this.index.sketcher;
  }

  async insert() {
    const [key, text, payload] = [this.key(), this.text(), this.payload()];
    const signature = this.sketcher.textSync(text);
    const document = this.pick(2) ? text : signature;
    const outcome = await this.call(this.index, 'insert', this.given(key), document, { payload });
    assert.equal(outcome, this.put(key, signature, payload));
  }

  async setPayload() {
    const [key, payload] = [this.key(), 'p'.repeat(this.pick(3))];
    const had = await this.call(this.index, 'setPayload', this.given(key), payload);
    const old = this.model.map.get(key);
    assert.equal(had, old !== undefined);
    if (old) this.model.map.set(key, { ...old, payload });
  }

  async remove() {
    const key = this.key();
    const had = await this.call(this.index, 'remove', this.given(key));
    assert.equal(had, this.model.map.delete(key));
  }

  async removePrefix() {
    const prefix = `${'ab'[this.pick(2)]}/${this.pick(2)}`;
    const removed = await this.call(this.index, 'removePrefix', prefix);
    const gone = [...this.model.map.keys()].filter((key) => key.startsWith(prefix));
    gone.forEach((key) => this.model.map.delete(key));
    assert.equal(removed, gone.length);
  }

  async write() {
    const keys = [...new Set(Array.from({ length: this.pick(6) }, () => this.key()))];
    const expected = [];
    const edits = keys.map((key) => {
      if (this.pick(4) === 0) {
        expected.push(this.model.map.delete(key) ? 'removed' : 'missing');
        return { key: this.given(key), remove: true };
      }
      const [document, payload] = [this.text(), this.payload()];
      expected.push(this.put(key, this.sketcher.textSync(document), payload));
      return { key: this.given(key), document, payload };
    });
    const { outcomes } = await this.call(this.index, 'write', edits);
    assert.deepEqual(outcomes, expected);
  }

  async admit() {
    const [key, text, reject] = [this.key(), this.text(), 0.53 + this.pick(5) / 10];
    const signature = this.sketcher.textSync(text);
    const prefix = this.pick(2) ? key.slice(0, 2) : undefined;
    const admission = await this.call(this.index, 'admit', key, text, { reject, prefix });
    const near = this.model.query(signature.bytes, reject, { prefix });
    const duplicates = near.filter(([other]) => other !== key);
    assert.equal(admission.decision === 'rejected', duplicates.length > 0);
    const told = admission.duplicates.map((match) => [this.shown(match.key), match.equalRows]);
    assert.deepEqual(told, duplicates);
    if (duplicates.length > 0) return;
    const outcome = this.put(key, signature);
    assert.equal(admission.decision, outcome === 'inserted' ? 'admitted' : outcome);
  }

  async query() {
    const [text, threshold] = [this.text(), this.pick(10) / 10 + 0.03];
    const limit = this.pick(2) ? undefined : this.pick(4);
    const prefix = this.pick(2) ? undefined : 'a/';
    const signature = this.sketcher.textSync(text);
    const target = [this.index, this.index.snapshot()][this.pick(2)];
    const answer = await this.call(target, 'query', text, { threshold, limit, prefix });
    const expected = this.model.query(signature.bytes, threshold, { limit, prefix });
    const found = answer.matches.map((match) => [this.shown(match.key), match.equalRows]);
    assert.deepEqual(found, expected);
    for (const match of answer.matches) {
      assert.equal(String(match.payload), this.model.map.get(String(match.key)).payload);
      assert.ok(Math.abs(match.similarity - this.model.similarity(match.equalRows)) < 1e-9);
    }
  }

  async look() {
    const key = this.key();
    const old = this.model.map.get(key);
    assert.equal(await this.call(this.index, 'has', key), old !== undefined);
    const document = await this.call(this.index, 'get', this.given(key));
    assert.equal(document === undefined, old === undefined);
    if (document) {
      assert.equal(this.shown(document.key), key);
      assert.equal(String(document.payload), old.payload);
      assert.deepEqual(Buffer.from(document.signature.bytes), Buffer.from(old.bytes));
    }
    assert.equal(this.index.size, this.model.map.size);
  }

  async list() {
    const threshold = 0.45 + this.pick(5) / 10;
    const [keys, pairs, clusters] = [[], [], []];
    const reader = this.pick(2) ? this.index : await this.reader();
    for await (const key of reader.keys()) keys.push(this.shown(key));
    for await (const pair of reader.pairs({ threshold })) {
      pairs.push(`${this.shown(pair.a)} ${this.shown(pair.b)} ${pair.equalRows}`);
    }
    for (const cluster of reader.clustersSync({ threshold })) {
      clusters.push(cluster.keys.map((key) => this.shown(key)).sort().join());
    }
    assert.deepEqual(keys, [...this.model.map.keys()].sort());
    assert.deepEqual(pairs.sort(), this.model.pairs(threshold).sort());
    assert.deepEqual(clusters.sort(), this.model.clusters(threshold).sort());
    if (reader !== this.index) await reader.close();
  }

  async reader() {
    await this.index.sync();
    const reader = await this.call(Reader, 'open', this.path, { keys: this.options.keys });
    await this.call(reader, 'refresh');
    return reader;
  }

  async maintain() {
    await this.call(this.index, ['flush', 'compact', 'sync'][this.pick(3)]);
    const { ok, documents } = await this.call(this.index, 'verify');
    assert.ok(ok);
    assert.equal(documents, this.model.map.size);
  }

  async reopen() {
    const old = this.index;
    await this.call(old, 'close');
    assert.equal(old.closed, true);
    await this.call(old, 'close');
    await this.fails(() => old.insert('a/1', 'ferry'), 'NEARKIN_CLOSED');
    await this.fails(() => old.size, 'NEARKIN_CLOSED');
    await this.fails(() => old.pairs(), 'NEARKIN_CLOSED');
    await this.open();
  }

  /** Calls that are wrong: each fails with its code, and changes nothing. */
  async misuse() {
    const { index } = this;
    const wrong = [
      [() => index.insert('', 'ferry'), 'NEARKIN_INVALID'],
      [() => index.insert('k'.repeat(5000), 'ferry'), 'NEARKIN_INVALID'],
      [() => index.insert('a/1', '  '), 'NEARKIN_EMPTY'],
      [() => index.insert('a/1', 'ferry', { payload: Buffer.alloc(70_000) }), 'NEARKIN_INVALID'],
      [() => index.insert('a/1', ['ferry']), 'NEARKIN_INVALID'],
      [() => index.insert('a/\ud800', 'ferry'), TypeError],
      [() => index.insert(7, 'ferry'), TypeError],
      [() => index.insert('a/1', Buffer.from('ferry')), TypeError],
      [() => index.insert('a/1', null), TypeError],
      [() => index.insert('a/1', 'ferry', { paylod: 'x' }), TypeError],
      [() => index.insert('a/1', 'ferry', { time: new Date(NaN) }), 'NEARKIN_INVALID'],
      [() => index.write([{ key: 'a/1', document: undefined }]), TypeError],
      [() => index.write([{ key: 'a/1' }]), TypeError],
      [() => index.write([{ key: 'a/1', document: 'ferry' }, { key: 'a/2', document: '' }]),
        'NEARKIN_EMPTY'],
      [() => index.write('abc'), TypeError],
      [() => index.admit('a/1', 'ferry', { keep: 'best' }), 'NEARKIN_INVALID'],
      [() => index.admit('b/1', 'ferry', { prefix: 'a/' }), 'NEARKIN_INVALID'],
      [() => index.query('ferry', { threshold: 2 }), 'NEARKIN_INVALID'],
      [() => index.query('ferry', { limit: -1 }), 'NEARKIN_INVALID'],
      [() => index.query('ferry', { limit: '5' }), TypeError],
      [() => index.query('ferry', { signal: {} }), TypeError],
      [() => index.queryKey('no such key'), 'NEARKIN_NO_SUCH_KEY'],
      [() => index.backup(this.path), 'NEARKIN_INVALID'],
      [() => Index.open(this.path), 'NEARKIN_LOCKED'],
      [() => Index.create(this.path, this.params), /NEARKIN_(EXISTS|LOCKED)/],
      [() => Index.open(`${this.path}.none`), 'NEARKIN_NOT_FOUND'],
      [() => Index.open(this.path, {}), TypeError],
      [() => new Index(), TypeError],
      [() => index.constructor.prototype.has.call({}, 'a'), TypeError],
    ];
    const [run, code] = wrong[this.pick(wrong.length)];
    await this.fails(run, code);
    await this.look();
  }

  async fails(run, code) {
    const check = (error) => {
      if (typeof code === 'function') return error instanceof code;
      assert.match(error.code ?? String(error), code instanceof RegExp ? code : RegExp(`^${code}$`));
      assert.equal(error.name, 'NearkinError');
      return true;
    };
    await assert.rejects(async () => run(), check, `${run} must fail`);
  }

  async run() {
    await this.open();
    const steps = ['insert', 'insert', 'insert', 'write', 'write', 'setPayload', 'remove', 'admit',
      'removePrefix', 'query', 'query', 'look', 'list', 'maintain', 'reopen', 'misuse', 'misuse'];
    for (let step = 0; step < STEPS; step++) await this[steps[this.pick(steps.length)]]();
    await this.list();
    await this.index.close();
  }
}

test('random programs agree with a Map', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'nearkin-model-'));
  const given = process.env.NEARKIN_SEED;
  const first = given === undefined ? Date.now() % 1_000_000_000 : Number(given);
  const programs = given === undefined ? PROGRAMS : 1;
  console.log(`${programs} programs, seeds from ${first}`);
  try {
    for (let seed = first; seed < first + programs; seed++) {
      try {
        await new Program(seed, folder).run();
      } catch (error) {
        throw new Error(`the program of NEARKIN_SEED=${seed} fails: ${error}`, { cause: error });
      }
    }
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
});
