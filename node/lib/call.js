'use strict';

// Calls of the native part: failures become errors, and signals are watched.

const { AbortError, NearkinError } = require('./errors.js');
const { native } = require('./load.js');

/** @import { ErrorCode, Signal } from './types.js' */

/**
 * The value of an answer, or its failure as an exception.
 * @param {any} answer
 * @returns {any}
 */
function settled(answer) {
  if (answer instanceof native.Failure) {
    const code = /** @type {ErrorCode} */ (`NEARKIN_${answer.kind.toUpperCase()}`);
    throw new NearkinError(answer.message, code, answer.advice);
  }
  return answer;
}

/**
 * The running calls of a signal. It has one listener for all of them: Node warns of a leak from the
 * eleventh on.
 */
class Watch {
  /** @type {Set<any>} */
  #stops = new Set();
  #abort = () => this.#stops.forEach((stop) => stop.abort());

  /**
   * @param {Signal} signal
   * @param {any} stop
   */
  add(signal, stop) {
    if (this.#stops.size === 0) signal.addEventListener('abort', this.#abort);
    this.#stops.add(stop);
  }

  /**
   * @param {Signal} signal
   * @param {any} stop
   */
  remove(signal, stop) {
    this.#stops.delete(stop);
    if (this.#stops.size === 0) signal.removeEventListener('abort', this.#abort);
  }
}

/** @type {WeakMap<Signal, Watch>} */
const watches = new WeakMap();

/** @param {Signal} signal */
function watchOf(signal) {
  const watch = watches.get(signal) ?? new Watch();
  watches.set(signal, watch);
  return watch;
}

/**
 * Awaits a call. If the signal is triggered, the call ends early: a write that failed for that
 * reason, and every call that only reads (`discard`), is rejected with an `AbortError`. The signal
 * does not undo a write that was completed.
 * @param {Signal | undefined} signal
 * @param {(how: any) => Promise<any>} run Calls the native part; `how` says that it is to return a
 *   promise, and how it is stopped.
 * @param {boolean} [discard]
 * @returns {Promise<any>}
 */
async function call(signal, run, discard = false) {
  if (signal === undefined) return settled(await run(false));
  if (signal.aborted) throw new AbortError(signal.reason);
  const stop = new native.Stop();
  const watch = watchOf(signal);
  watch.add(signal, stop);
  let answer;
  try {
    answer = await run(stop);
  } finally {
    watch.remove(signal, stop);
  }
  const failed = answer instanceof native.Failure && answer.kind === 'cancelled';
  if (signal.aborted && (discard || failed)) throw new AbortError(signal.reason);
  return settled(answer);
}

module.exports = { call, settled };
