'use strict';

const { ask } = require('./ask.js');
const { call, settled } = require('./call.js');
const { keyOf } = require('./bytes.js');
const { AbortError } = require('./errors.js');
const { documentOf, listOf, signalOf, termsOf } = require('./given.js');
const { natives, of } = require('./load.js');
const { paramsOf } = require('./params.js');
const { answerOf, clustersOf, pairsOf } = require('./shapes.js');
const { Sketcher, signatureOf } = require('./sketcher.js');
const { Walk, walkSync } = require('./walk.js');

/**
 * @import {
 *   Abortable, Answer, Cluster, Document, Key, Pair, PairOptions, QueryOptions, StoredDocument,
 * } from './types.js'
 */

/**
 * The reading methods of `Index`, `Reader` and `Snapshot`. A method returns a promise and works on
 * libuv's pool; its twin with `Sync` works at once and blocks the event loop.
 * @template {string | Uint8Array} [K=string]
 */
class Readable {
  /** @param {any} handle The native part: indexes and readers are made by `open` and `create`. */
  constructor(handle) {
    if (typeof handle?.isClosed !== 'function') {
      throw new TypeError('use Index.open, Index.create or Reader.open');
    }
    natives.set(this, handle);
    /** The parameters of the index. */
    this.params = paramsOf(handle.params());
  }

  /** Makes signatures for this index. */
  get sketcher() {
    return new Sketcher(this.params);
  }

  /** Number of documents. @returns {number} */
  get size() {
    return settled(of(this).size());
  }

  /** The number of the last visible change. @returns {number} */
  get change() {
    return settled(of(this).change());
  }

  /** Whether `close` was called. @returns {boolean} */
  get closed() {
    return of(this).isClosed();
  }

  /** A view that does not change. @returns {Snapshot<K>} */
  snapshot() {
    return new Snapshot(settled(of(this).snapshot()));
  }

  /**
   * Whether there is a document with this key.
   * @param {Key} key
   * @returns {Promise<boolean>}
   */
  async has(key) {
    return call(undefined, (how) => of(this).has(how, keyOf(key)));
  }

  /**
   * {@link has} at once.
   * @param {Key} key
   * @returns {boolean}
   */
  hasSync(key) {
    return settled(of(this).has(true, keyOf(key)));
  }

  /**
   * The document with this key; `undefined` if there is none.
   * @param {Key} key
   * @returns {Promise<StoredDocument<K> | undefined>}
   */
  async get(key) {
    return document(await call(undefined, (how) => of(this).get(how, keyOf(key))));
  }

  /**
   * {@link get} at once.
   * @param {Key} key
   * @returns {StoredDocument<K> | undefined}
   */
  getSync(key) {
    return document(settled(of(this).get(true, keyOf(key))));
  }

  /**
   * Finds documents similar to this one. The answer is sorted, most similar first. Most queries that
   * take less time than handing them to the pool are answered at once.
   * @param {Document} document
   * @param {QueryOptions & Abortable} [options]
   * @returns {Promise<Answer<K>>}
   */
  async query(document, options = {}) {
    const [terms, signal] = [termsOf('query', options), signalOf(options)];
    const brief = signal?.aborted ? undefined : ask(this, document, terms, true);
    if (brief !== undefined) {
      // A signal that is triggered before the answer is read counts.
      await undefined;
      if (signal?.aborted) throw new AbortError(signal.reason);
      return brief;
    }
    const given = documentOf(document);
    const run = (/** @type {any} */ how) => of(this).query(how, given, ...terms);
    return answerOf(await call(signal, run, true));
  }

  /**
   * {@link query} at once.
   * @param {Document} document
   * @param {QueryOptions} [options]
   * @returns {Answer<K>}
   */
  querySync(document, options = {}) {
    const terms = termsOf('query', options);
    const answer = ask(this, document, terms, false);
    return answer ?? answerOf(settled(of(this).query(true, documentOf(document), ...terms)));
  }

  /**
   * Finds documents similar to a stored one. A key that is not stored is `NEARKIN_NO_SUCH_KEY`.
   * @param {Key} key
   * @param {QueryOptions & Abortable} [options]
   * @returns {Promise<Answer<K>>}
   */
  async queryKey(key, options = {}) {
    const [given, terms] = [[keyOf(key)], termsOf('query', options)];
    const run = (/** @type {any} */ how) => of(this).queryKeys(how, given, ...terms);
    return answerOf(await call(signalOf(options), run, true));
  }

  /**
   * {@link queryKey} at once.
   * @param {Key} key
   * @param {QueryOptions} [options]
   * @returns {Answer<K>}
   */
  queryKeySync(key, options = {}) {
    const given = [keyOf(key)];
    return answerOf(settled(of(this).queryKeys(true, given, ...termsOf('query', options))));
  }

  /**
   * Finds documents similar to any of these stored ones.
   * @param {Iterable<Key>} keys
   * @param {QueryOptions & Abortable} [options]
   * @returns {Promise<Answer<K>>}
   */
  async queryKeys(keys, options = {}) {
    const [given, terms] = [listOf(keys, 'keys', (key) => keyOf(key)), termsOf('query', options)];
    const run = (/** @type {any} */ how) => of(this).queryKeys(how, given, ...terms);
    return answerOf(await call(signalOf(options), run, true));
  }

  /**
   * {@link queryKeys} at once.
   * @param {Iterable<Key>} keys
   * @param {QueryOptions} [options]
   * @returns {Answer<K>}
   */
  queryKeysSync(keys, options = {}) {
    const given = listOf(keys, 'keys', (key) => keyOf(key));
    return answerOf(settled(of(this).queryKeys(true, given, ...termsOf('query', options))));
  }

  /**
   * All pairs of similar documents, each once, in no particular order. They are computed
   * while you read: `for await (const { a, b } of index.pairs())`. The state is that of the call.
   * @param {PairOptions & Abortable} [options]
   * @returns {AsyncIterableIterator<Pair<K>>}
   */
  pairs(options = {}) {
    return new Walk(pagesOf(this, 'pairs', options), signalOf(options), pairsOf);
  }

  /**
   * {@link pairs} at once.
   * @param {PairOptions} [options]
   * @returns {Generator<Pair<K>, void, void>}
   */
  pairsSync(options = {}) {
    return walkSync(pagesOf(this, 'pairs', options), pairsOf);
  }

  /**
   * All clusters: documents that are linked by pairs. The first waits until all are found.
   * @param {PairOptions & Abortable} [options]
   * @returns {AsyncIterableIterator<Cluster<K>>}
   */
  clusters(options = {}) {
    return new Walk(pagesOf(this, 'clusters', options), signalOf(options), clustersOf);
  }

  /**
   * {@link clusters} at once.
   * @param {PairOptions} [options]
   * @returns {Generator<Cluster<K>, void, void>}
   */
  clustersSync(options = {}) {
    return walkSync(pagesOf(this, 'clusters', options), clustersOf);
  }

  /**
   * All keys, sorted by their bytes; with `prefix`, those that begin with it.
   * @param {{ prefix?: Key } & Abortable} [options]
   * @returns {AsyncIterableIterator<K>}
   */
  keys(options = {}) {
    return new Walk(keysOf(this, options), signalOf(options));
  }

  /**
   * {@link keys} at once.
   * @param {{ prefix?: Key }} [options]
   * @returns {Generator<K, void, void>}
   */
  keysSync(options = {}) {
    return walkSync(keysOf(this, options));
  }

  /**
   * Closes the handle; does nothing if it is closed. Calls that run are completed, or fail with
   * `NEARKIN_CLOSED`. Without it an index loses nothing, but takes longer to open; a reader and a
   * snapshot keep files on disk until they are garbage-collected. `await using` calls it.
   * @returns {Promise<void>}
   */
  async close() {
    return call(undefined, (how) => of(this).close(how));
  }

  /** {@link close} at once. `using` calls it. @returns {void} */
  closeSync() {
    settled(of(this).close(true));
  }

  /** {@link close}. @returns {Promise<void>} */
  [Symbol.asyncDispose]() {
    return this.close();
  }

  /** {@link closeSync}. @returns {void} */
  [Symbol.dispose]() {
    this.closeSync();
  }
}

/**
 * @param {Readable<any>} readable
 * @param {'pairs' | 'clusters'} kind
 * @param {object} options
 */
function pagesOf(readable, kind, options) {
  return settled(of(readable).pages(kind, ...termsOf(kind, options)));
}

/**
 * @param {Readable<any>} readable
 * @param {object} options
 */
function keysOf(readable, options) {
  return settled(of(readable).pagesOfKeys(termsOf('keys', options)[1]));
}

/**
 * A view of an index or a reader that does not change. The files it needs stay on disk until the
 * snapshot is closed or garbage-collected.
 * @template {string | Uint8Array} [K=string]
 * @extends {Readable<K>}
 */
class Snapshot extends Readable {}

/**
 * @param {any[] | undefined} found
 * @returns {StoredDocument<any> | undefined}
 */
function document(found) {
  if (found === undefined) return undefined;
  const [key, payload, timeMs, signature] = found;
  return { key, payload, timeMs, signature: signatureOf(signature) };
}

module.exports = { Readable, Snapshot };
