/** A call was stopped by its `AbortSignal`, whose reason is the `cause`. */
export class AbortError extends Error {
    /** @param {unknown} reason */
    constructor(reason: unknown);
    /** As for Node's own calls. */
    code: string;
    readonly name: string;
}
/** @import { ErrorCode } from './types.js' */
/** Why a call failed. Act on its `code`; the message says what happened, where, and what to do. */
export class NearkinError extends Error {
    /**
     * @param {string} message
     * @param {ErrorCode} code
     */
    constructor(message: string, code: ErrorCode);
    /** The kind of the error: `NEARKIN_NOT_FOUND`, `NEARKIN_LOCKED` ... */
    code: ErrorCode;
    readonly name: string;
}
import type { ErrorCode } from './types.js';
