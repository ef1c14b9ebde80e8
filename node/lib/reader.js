'use strict';

const { call, settled } = require('./call.js');
const { of } = require('./load.js');
const { opened } = require('./opening.js');
const { OpenHandle } = require('./open_handle.js');

/** @import { KeyKind, Path, ReaderOptions, ShownKey } from './types.js' */

/**
 * An index opened for reading, beside its writer in this or another process. It shows the state of
 * the last `refresh`.
 * @template {string | Uint8Array} [K=string]
 * @extends {OpenHandle<K>}
 */
class Reader extends OpenHandle {
  /**
   * Opens an index for reading.
   * @template {KeyKind} [T='string']
   * @param {Path} path
   * @param {ReaderOptions<T>} [options]
   * @returns {Promise<Reader<ShownKey<T>>>}
   */
  static async open(path, options = {}) {
    return new Reader(await call(undefined, (how) => opened('read', path, undefined, options, how)));
  }

  /**
   * {@link Reader.open} at once.
   * @template {KeyKind} [T='string']
   * @param {Path} path
   * @param {ReaderOptions<T>} [options]
   * @returns {Reader<ShownKey<T>>}
   */
  static openSync(path, options = {}) {
    return new Reader(settled(opened('read', path, undefined, options, true)));
  }

  /** Follows the writer. Returns whether there was something new. @returns {Promise<boolean>} */
  async refresh() {
    return call(undefined, (how) => of(this).refresh(how));
  }

  /** {@link refresh} at once. @returns {boolean} */
  refreshSync() {
    return settled(of(this).refresh(true));
  }
}

module.exports = { Reader };
