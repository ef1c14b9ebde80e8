'use strict';

// Calls of the native part: failures become errors, and signals are watched.

const { AbortError, NearkinError } = require('./errors.js');
const { native } = require('./load.js');

/** @import { ErrorCode } from './types.js' */

/**
 * The value of an answer, or its failure as an exception.
 * @param {any} answer
 * @returns {any}
 */
function settled(answer) {
  if (answer instanceof native.Failure) {
    const code = /** @type {ErrorCode} */ (`NEARKIN_${answer.kind.toUpperCase()}`);
    throw new NearkinError(answer.message, code);
  }
  return answer;
}

/**
 * Awaits a call. If the signal is triggered, the call ends early: a write that failed for that
 * reason, and every call that only reads (`discard`), is rejected with an `AbortError`. The signal
 * does not undo a write that was completed.
 * @param {AbortSignal | undefined} signal
 * @param {(how: any) => Promise<any>} run Calls the native part; `how` says that it is to return a
 *   promise, and how it is stopped.
 * @param {boolean} [discard]
 * @returns {Promise<any>}
 */
async function call(signal, run, discard = false) {
  if (signal === undefined) return settled(await run(false));
  if (!(signal instanceof AbortSignal)) throw new TypeError('signal must be an AbortSignal');
  if (signal.aborted) throw new AbortError(signal.reason);
  const stop = new native.Stop();
  const abort = () => stop.abort();
  signal.addEventListener('abort', abort, { once: true });
  let answer;
  try {
    answer = await run(stop);
  } finally {
    signal.removeEventListener('abort', abort);
  }
  const failed = answer instanceof native.Failure && answer.kind === 'cancelled';
  if (signal.aborted && (discard || failed)) throw new AbortError(signal.reason);
  return settled(answer);
}

module.exports = { call, settled };
