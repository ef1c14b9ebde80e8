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
     * @param {(page: any[]) => T[]} [shape] Makes values of a page as the native part gives it.
     */
    constructor(pages: any, signal: AbortSignal | undefined, shape?: (page: any[]) => T[]);
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
 * @param {(page: any[]) => any[]} [shape]
 * @returns {Generator<any, void, void>}
 */
export function walkSync(pages: any, shape?: (page: any[]) => any[]): Generator<any, void, void>;
