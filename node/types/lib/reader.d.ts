/** @import { KeyKind, ReaderOptions, ShownKey } from './types.js' */
/**
 * An index opened for reading, beside its writer in this or another process. It shows the state of
 * the last `refresh`.
 * @template {string | Buffer} [K=string]
 * @extends {OpenHandle<K>}
 */
export class Reader<K extends string | Buffer = string> extends OpenHandle<K> {
    /**
     * Opens an index for reading.
     * @template {KeyKind} [T='string']
     * @param {string} path
     * @param {ReaderOptions<T>} [options]
     * @returns {Promise<Reader<ShownKey<T>>>}
     */
    static open<T extends KeyKind = "string">(path: string, options?: ReaderOptions<T>): Promise<Reader<ShownKey<T>>>;
    /**
     * {@link Reader.open} at once.
     * @template {KeyKind} [T='string']
     * @param {string} path
     * @param {ReaderOptions<T>} [options]
     * @returns {Reader<ShownKey<T>>}
     */
    static openSync<T extends KeyKind = "string">(path: string, options?: ReaderOptions<T>): Reader<ShownKey<T>>;
    /** Follows the writer. Returns whether there was something new. @returns {Promise<boolean>} */
    refresh(): Promise<boolean>;
    /** {@link refresh} at once. @returns {boolean} */
    refreshSync(): boolean;
}
import { OpenHandle } from "./open_handle.js";
import type { KeyKind } from './types.js';
import type { ReaderOptions } from './types.js';
import type { ShownKey } from './types.js';
