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
export function call(signal: AbortSignal | undefined, run: (how: any) => Promise<any>, discard?: boolean): Promise<any>;
/** @import { ErrorCode } from './types.js' */
/**
 * The value of an answer, or its failure as an exception.
 * @param {any} answer
 * @returns {any}
 */
export function settled(answer: any): any;
