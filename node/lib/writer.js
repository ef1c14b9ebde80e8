'use strict';

const { call, settled } = require('./call.js');
const { keyOf, msOf } = require('./bytes.js');
const {
  admissionOf, editOf, insertOf, listOf, newcomerOf, payloadOf, removalOf, signalAlone, signalOf, termsOf,
} = require('./given.js');
const { of } = require('./load.js');
const { opened } = require('./opening.js');
const { OpenHandle } = require('./open_handle.js');
const { admissionsOf, writtenOf } = require('./shapes.js');

/**
 * @import {
 *   Abortable, Admission, AdmitOptions, Document, Edit, InsertOptions, Key, KeyKind, Newcomer,
 *   OpenOptions, Outcome, Path, ShownKey, Time, Written,
 * } from './types.js'
 * @import { Params } from './params.js'
 */

/**
 * An index, open for reading and writing: a map from keys to signatures, on disk. One handle writes
 * to an index, or several with `shared`; others read it with `Reader`. Calls that are not awaited run at the same time, in any
 * order: await a write, or put several into one `write`.
 * @template {string | Uint8Array} [K=string]
 * @extends {OpenHandle<K>}
 */
class Index extends OpenHandle {
  /**
   * Opens an index. With `params` it is created if there is none, and must have the same ones.
   * @template {KeyKind} [T='string']
   * @param {Path} path
   * @param {Params} [params]
   * @param {OpenOptions<T>} [options]
   * @returns {Promise<Index<ShownKey<T>>>}
   */
  static async open(path, params, options = {}) {
    const what = params === undefined ? 'open' : 'either';
    return new Index(await call(undefined, (how) => opened(what, path, params, options, how)));
  }

  /**
   * {@link Index.open} at once.
   * @template {KeyKind} [T='string']
   * @param {Path} path
   * @param {Params} [params]
   * @param {OpenOptions<T>} [options]
   * @returns {Index<ShownKey<T>>}
   */
  static openSync(path, params, options = {}) {
    const what = params === undefined ? 'open' : 'either';
    return new Index(settled(opened(what, path, params, options, true)));
  }

  /**
   * Creates an index. If there is one already, the error is `NEARKIN_EXISTS`.
   * @template {KeyKind} [T='string']
   * @param {Path} path
   * @param {Params} params
   * @param {OpenOptions<T>} [options]
   * @returns {Promise<Index<ShownKey<T>>>}
   */
  static async create(path, params, options = {}) {
    return new Index(await call(undefined, (how) => opened('create', path, params, options, how)));
  }

  /**
   * {@link Index.create} at once.
   * @template {KeyKind} [T='string']
   * @param {Path} path
   * @param {Params} params
   * @param {OpenOptions<T>} [options]
   * @returns {Index<ShownKey<T>>}
   */
  static createSync(path, params, options = {}) {
    return new Index(settled(opened('create', path, params, options, true)));
  }

  /**
   * An index in memory, which is gone when it is closed.
   * @template {KeyKind} [T='string']
   * @param {Params} params
   * @param {OpenOptions<T>} [options]
   * @returns {Index<ShownKey<T>>}
   */
  static temporary(params, options = {}) {
    return new Index(settled(opened('temporary', '', params, options, true)));
  }

  /**
   * Inserts a document, or replaces the one with this key. A stored payload is kept unless another
   * one is given. The document is durable when the promise is fulfilled (see `durability`).
   * @param {Key} key
   * @param {Document} document
   * @param {InsertOptions & Abortable} [options]
   * @returns {Promise<Outcome>}
   */
  async insert(key, document, options = {}) {
    const edit = insertOf(key, document, options);
    return call(signalOf(options), (how) => of(this).edit(how, edit));
  }

  /**
   * {@link insert} at once.
   * @param {Key} key
   * @param {Document} document
   * @param {InsertOptions} [options]
   * @returns {Outcome}
   */
  insertSync(key, document, options = {}) {
    return settled(of(this).edit(true, insertOf(key, document, options)));
  }

  /**
   * Sets the payload of a document, and nothing else. Returns whether there is such a document.
   * @param {Key} key
   * @param {string | Uint8Array} payload
   * @returns {Promise<boolean>}
   */
  async setPayload(key, payload) {
    const edit = payloadOf(key, payload);
    return (await call(undefined, (how) => of(this).edit(how, edit))) !== 'missing';
  }

  /**
   * {@link setPayload} at once.
   * @param {Key} key
   * @param {string | Uint8Array} payload
   * @returns {boolean}
   */
  setPayloadSync(key, payload) {
    const edit = payloadOf(key, payload);
    return settled(of(this).edit(true, edit)) !== 'missing';
  }

  /**
   * Removes a document. Returns whether there was one.
   * @param {Key} key
   * @returns {Promise<boolean>}
   */
  async remove(key) {
    const edit = removalOf(key);
    return (await call(undefined, (how) => of(this).edit(how, edit))) === 'removed';
  }

  /**
   * {@link remove} at once.
   * @param {Key} key
   * @returns {boolean}
   */
  removeSync(key) {
    return settled(of(this).edit(true, removalOf(key))) === 'removed';
  }

  /**
   * Writes several edits as one change: all of them or none, with one sync. Load documents in
   * batches of about 1,000.
   * @param {Iterable<Edit>} edits
   * @param {Abortable} [options]
   * @returns {Promise<Written>}
   */
  async write(edits, options = {}) {
    const [given, signal] = [listOf(edits, 'edits', editOf), signalAlone(options)];
    return writtenOf(await call(signal, (how) => of(this).write(how, given)));
  }

  /**
   * {@link write} at once.
   * @param {Iterable<Edit>} edits
   * @returns {Written}
   */
  writeSync(edits) {
    return writtenOf(settled(of(this).write(true, listOf(edits, 'edits', editOf))));
  }

  /**
   * Inserts a document unless a stored one is too similar: search and insert are one atomic step.
   * @param {Key} key
   * @param {Document} document
   * @param {AdmitOptions & InsertOptions & Abortable} [options]
   * @returns {Promise<Admission<K>>}
   */
  async admit(key, document, options = {}) {
    const { newcomers, terms } = admissionOf(key, document, options);
    const run = (/** @type {any} */ how) => of(this).admit(how, newcomers, ...terms);
    return admissionsOf(await call(signalOf(options), run))[0];
  }

  /**
   * {@link admit} at once.
   * @param {Key} key
   * @param {Document} document
   * @param {AdmitOptions & InsertOptions} [options]
   * @returns {Admission<K>}
   */
  admitSync(key, document, options = {}) {
    const { newcomers, terms } = admissionOf(key, document, options);
    return admissionsOf(settled(of(this).admit(true, newcomers, ...terms)))[0];
  }

  /**
   * Admits documents one after the other; each is compared with those before it, too. One sync
   * covers all.
   * @param {Iterable<Newcomer>} newcomers
   * @param {AdmitOptions & Abortable} [options]
   * @returns {Promise<Admission<K>[]>}
   */
  async admitAll(newcomers, options = {}) {
    const [given, terms] = [listOf(newcomers, 'newcomers', newcomerOf), termsOf('admit', options)];
    return admissionsOf(await call(signalOf(options), (how) => of(this).admit(how, given, ...terms)));
  }

  /**
   * {@link admitAll} at once.
   * @param {Iterable<Newcomer>} newcomers
   * @param {AdmitOptions} [options]
   * @returns {Admission<K>[]}
   */
  admitAllSync(newcomers, options = {}) {
    const [given, terms] = [listOf(newcomers, 'newcomers', newcomerOf), termsOf('admit', options)];
    return admissionsOf(settled(of(this).admit(true, given, ...terms)));
  }

  /**
   * Removes every document whose key begins with the prefix, which is not empty. Returns their number.
   * If it is aborted, a part may be removed.
   * @param {Key} prefix
   * @param {Abortable} [options]
   * @returns {Promise<number>}
   */
  async removePrefix(prefix, options = {}) {
    const given = keyOf(prefix, 'prefix');
    return call(signalAlone(options), (how) => of(this).removePrefix(how, given));
  }

  /**
   * {@link removePrefix} at once.
   * @param {Key} prefix
   * @returns {number}
   */
  removePrefixSync(prefix) {
    return settled(of(this).removePrefix(true, keyOf(prefix, 'prefix')));
  }

  /**
   * Removes every document. Returns their number. If it is aborted, a part may be removed.
   * @param {Abortable} [options]
   * @returns {Promise<number>}
   */
  async clear(options = {}) {
    return call(signalAlone(options), (how) => of(this).clear(how));
  }

  /** {@link clear} at once. @returns {number} */
  clearSync() {
    return settled(of(this).clear(true));
  }

  /**
   * Removes every document that is older than a time. Returns their number. If it is aborted, a part
   * may be removed.
   * @param {Time} time
   * @param {Abortable} [options]
   * @returns {Promise<number>}
   */
  async removeBefore(time, options = {}) {
    const given = msOf(time);
    return call(signalAlone(options), (how) => of(this).removeBefore(how, given));
  }

  /**
   * {@link removeBefore} at once.
   * @param {Time} time
   * @returns {number}
   */
  removeBeforeSync(time) {
    return settled(of(this).removeBefore(true, msOf(time)));
  }

  /**
   * With `shared`: sees what other processes have written. Returns whether there was something new.
   * @returns {Promise<boolean>}
   */
  async refresh() {
    return call(undefined, (how) => of(this).refresh(how));
  }

  /** {@link refresh} at once. @returns {boolean} */
  refreshSync() {
    return settled(of(this).refresh(true));
  }

  /**
   * Refreshes until the change of this number is visible, for at most `waitMs` milliseconds. Returns
   * whether it is.
   * @param {number} change
   * @param {number} waitMs
   * @param {Abortable} [options]
   * @returns {Promise<boolean>}
   */
  async refreshUntil(change, waitMs, options = {}) {
    return call(signalAlone(options), (how) => of(this).refreshUntil(how, change, waitMs));
  }

  /**
   * {@link refreshUntil} at once.
   * @param {number} change
   * @param {number} waitMs
   * @returns {boolean}
   */
  refreshUntilSync(change, waitMs) {
    return settled(of(this).refreshUntil(true, change, waitMs));
  }

  /** Writes what is in memory to a segment. @returns {Promise<void>} */
  async flush() {
    return call(undefined, (how) => of(this).flush(how));
  }

  /** {@link flush} at once. @returns {void} */
  flushSync() {
    settled(of(this).flush(true));
  }

  /**
   * Makes all earlier writes durable, whatever the durability. Returns the last durable change.
   * @returns {Promise<number>}
   */
  async sync() {
    return call(undefined, (how) => of(this).sync(how));
  }

  /** {@link sync} at once. @returns {number} */
  syncSync() {
    return settled(of(this).sync(true));
  }

  /**
   * Merges everything into one segment. Reads and writes go on meanwhile.
   * @param {Abortable} [options]
   * @returns {Promise<void>}
   */
  async compact(options = {}) {
    return call(signalAlone(options), (how) => of(this).compact(how));
  }

  /** {@link compact} at once. @returns {void} */
  compactSync() {
    settled(of(this).compact(true));
  }
}

module.exports = { Index };
