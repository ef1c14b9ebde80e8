/**
 * An iteration whose pages are computed on the pool, each when the one before it is used up. It is
 * no async generator: `yield` costs several promises a value, and this one.
 * @template T
 * @implements {AsyncIterableIterator<T>}
 */
export class Walk<T> implements AsyncIterableIterator<T> {
    /**
     * @param {any} pages
     * @param {AbortSignal | undefined} signal
     */
    constructor(pages: any, signal: AbortSignal | undefined);
    /**
     * The next value. Calls that do not wait for each other get the values in their order.
     * @returns {Promise<IteratorResult<T, undefined>>}
     */
    next(): Promise<IteratorResult<T, undefined>>;
    /** Ends the iteration, as `break` does. @returns {Promise<IteratorResult<T, undefined>>} */
    return(): Promise<IteratorResult<T, undefined>>;
    [Symbol.asyncIterator](): this;
    #private;
}
/**
 * @param {any} pages
 * @returns {Generator<any, void, void>}
 */
export function walkSync(pages: any): Generator<any, void, void>;
