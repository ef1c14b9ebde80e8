'use strict';

const { call, settled } = require('./call.js');
const { pathOf } = require('./given.js');
const { of } = require('./load.js');
const { Readable } = require('./readable.js');
const { objectOf, verificationOf } = require('./shapes.js');

/** @import { Abortable, Stats, Verification } from './types.js' */

/**
 * The methods that `Index` and `Reader` share.
 * @template {string | Buffer} [K=string]
 * @extends {Readable<K>}
 */
class OpenHandle extends Readable {
  /**
   * Checks everything: all checksums, and all tables against the signatures. Damage is not an error:
   * the answer lists it.
   * @param {Abortable} [options]
   * @returns {Promise<Verification>}
   */
  async verify(options = {}) {
    const run = (/** @type {any} */ how) => of(this).verify(how);
    return verificationOf(await call(options.signal, run, true));
  }

  /** {@link verify} at once. @returns {Verification} */
  verifySync() {
    return verificationOf(settled(of(this).verify(true)));
  }

  /**
   * Copies the index, as the handle sees it, to a new folder. Reads and writes go on meanwhile.
   * @param {string} path
   * @returns {Promise<void>}
   */
  async backup(path) {
    return call(undefined, (how) => of(this).backup(how, pathOf(path)));
  }

  /**
   * {@link backup} at once.
   * @param {string} path
   * @returns {void}
   */
  backupSync(path) {
    settled(of(this).backup(true, pathOf(path)));
  }

  /** The state of the index in numbers. @returns {Promise<Stats>} */
  async stats() {
    return objectOf(await call(undefined, (how) => of(this).stats(how)));
  }

  /** {@link stats} at once. @returns {Stats} */
  statsSync() {
    return objectOf(settled(of(this).stats(true)));
  }

  /**
   * Closes the handle. Calls that run are completed, or fail with `NEARKIN_CLOSED`; does nothing if
   * it is closed. Without it an index loses nothing, but takes longer to open.
   * @returns {Promise<void>}
   */
  async close() {
    return call(undefined, (how) => of(this).close(how));
  }

  /** {@link close} at once. @returns {void} */
  closeSync() {
    settled(of(this).close(true));
  }
}

module.exports = { OpenHandle };
