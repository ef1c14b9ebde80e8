'use strict';

/** @import { ErrorCode } from './types.js' */

/** Why a call failed. Act on its `code`; the message says what happened, where, and what to do. */
class NearkinError extends Error {
  /**
   * @param {string} message
   * @param {ErrorCode} code
   * @param {string} advice
   */
  constructor(message, code, advice) {
    super(message);
    /** The kind of the error: `NEARKIN_NOT_FOUND`, `NEARKIN_LOCKED` ... */
    this.code = code;
    /** What to do about an error of this kind. */
    this.advice = advice;
  }
}
Object.defineProperty(NearkinError.prototype, 'name', { value: 'NearkinError' });

/** A call was stopped by its `AbortSignal`, whose reason is the `cause`. */
class AbortError extends Error {
  /** @param {unknown} reason */
  constructor(reason) {
    super('The operation was aborted', { cause: reason });
    /** As for Node's own calls. */
    this.code = 'ABORT_ERR';
  }
}
Object.defineProperty(AbortError.prototype, 'name', { value: 'AbortError' });

module.exports = { AbortError, NearkinError };
