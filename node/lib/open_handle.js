'use strict';

const { call, settled } = require('./call.js');
const { pathOf } = require('./bytes.js');
const { signalAlone } = require('./given.js');
const { of } = require('./load.js');
const { Readable } = require('./readable.js');
const { objectOf, verificationOf } = require('./shapes.js');

/** @import { Abortable, Path, Stats, Verification } from './types.js' */

/**
 * The methods that `Index` and `Reader` share.
 * @template {string | Uint8Array} [K=string]
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
    return verificationOf(await call(signalAlone(options), run, true));
  }

  /** {@link verify} at once. @returns {Verification} */
  verifySync() {
    return verificationOf(settled(of(this).verify(true)));
  }

  /**
   * Copies the index, as the handle sees it, to a new folder. Reads and writes go on meanwhile.
   * @param {Path} path
   * @returns {Promise<void>}
   */
  async backup(path) {
    return call(undefined, (how) => of(this).backup(how, pathOf(path)));
  }

  /**
   * {@link backup} at once.
   * @param {Path} path
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
}

module.exports = { OpenHandle };
