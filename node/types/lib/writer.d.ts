/**
 * @import {
 *   Abortable, Admission, AdmitOptions, Document, Edit, InsertOptions, Key, KeyKind, Newcomer,
 *   OpenOptions, Outcome, ShownKey, Time, Written,
 * } from './types.js'
 * @import { Params } from './params.js'
 */
/**
 * An index, open for reading and writing: a map from keys to signatures, on disk. One handle writes
 * to an index; others read it with `Reader`. Calls that are not awaited run at the same time, in any
 * order: await a write, or put several into one `write`.
 * @template {string | Buffer} [K=string]
 * @extends {OpenHandle<K>}
 */
export class Index<K extends string | Buffer = string> extends OpenHandle<K> {
    /**
     * Opens an index. With `params` it is created if there is none, and must have the same ones.
     * @template {KeyKind} [T='string']
     * @param {string} path
     * @param {Params} [params]
     * @param {OpenOptions<T>} [options]
     * @returns {Promise<Index<ShownKey<T>>>}
     */
    static open<T extends KeyKind = "string">(path: string, params?: Params, options?: OpenOptions<T>): Promise<Index<ShownKey<T>>>;
    /**
     * {@link Index.open} at once.
     * @template {KeyKind} [T='string']
     * @param {string} path
     * @param {Params} [params]
     * @param {OpenOptions<T>} [options]
     * @returns {Index<ShownKey<T>>}
     */
    static openSync<T extends KeyKind = "string">(path: string, params?: Params, options?: OpenOptions<T>): Index<ShownKey<T>>;
    /**
     * Creates an index. If there is one already, the error is `NEARKIN_EXISTS`.
     * @template {KeyKind} [T='string']
     * @param {string} path
     * @param {Params} params
     * @param {OpenOptions<T>} [options]
     * @returns {Promise<Index<ShownKey<T>>>}
     */
    static create<T extends KeyKind = "string">(path: string, params: Params, options?: OpenOptions<T>): Promise<Index<ShownKey<T>>>;
    /**
     * {@link Index.create} at once.
     * @template {KeyKind} [T='string']
     * @param {string} path
     * @param {Params} params
     * @param {OpenOptions<T>} [options]
     * @returns {Index<ShownKey<T>>}
     */
    static createSync<T extends KeyKind = "string">(path: string, params: Params, options?: OpenOptions<T>): Index<ShownKey<T>>;
    /**
     * An index in memory, which is gone when it is closed.
     * @template {KeyKind} [T='string']
     * @param {Params} params
     * @param {OpenOptions<T>} [options]
     * @returns {Index<ShownKey<T>>}
     */
    static temporary<T extends KeyKind = "string">(params: Params, options?: OpenOptions<T>): Index<ShownKey<T>>;
    /**
     * Inserts a document, or replaces the one with this key. A stored payload is kept unless another
     * one is given. The document is durable when the promise is fulfilled (see `durability`).
     * @param {Key} key
     * @param {Document} document
     * @param {InsertOptions & Abortable} [options]
     * @returns {Promise<Outcome>}
     */
    insert(key: Key, document: Document, options?: InsertOptions & Abortable): Promise<Outcome>;
    /**
     * {@link insert} at once.
     * @param {Key} key
     * @param {Document} document
     * @param {InsertOptions} [options]
     * @returns {Outcome}
     */
    insertSync(key: Key, document: Document, options?: InsertOptions): Outcome;
    /**
     * Sets the payload of a document, and nothing else. Returns whether there is such a document.
     * @param {Key} key
     * @param {string | Uint8Array} payload
     * @returns {Promise<boolean>}
     */
    setPayload(key: Key, payload: string | Uint8Array): Promise<boolean>;
    /**
     * {@link setPayload} at once.
     * @param {Key} key
     * @param {string | Uint8Array} payload
     * @returns {boolean}
     */
    setPayloadSync(key: Key, payload: string | Uint8Array): boolean;
    /**
     * Removes a document. Returns whether there was one.
     * @param {Key} key
     * @returns {Promise<boolean>}
     */
    remove(key: Key): Promise<boolean>;
    /**
     * {@link remove} at once.
     * @param {Key} key
     * @returns {boolean}
     */
    removeSync(key: Key): boolean;
    /**
     * Writes several edits as one change: all of them or none, with one sync. Load documents in
     * batches of about 1,000.
     * @param {Iterable<Edit>} edits
     * @param {Abortable} [options]
     * @returns {Promise<Written>}
     */
    write(edits: Iterable<Edit>, options?: Abortable): Promise<Written>;
    /**
     * {@link write} at once.
     * @param {Iterable<Edit>} edits
     * @returns {Written}
     */
    writeSync(edits: Iterable<Edit>): Written;
    /**
     * Inserts a document unless a stored one is too similar: search and insert are one atomic step.
     * @param {Key} key
     * @param {Document} document
     * @param {AdmitOptions & InsertOptions & Abortable} [options]
     * @returns {Promise<Admission<K>>}
     */
    admit(key: Key, document: Document, options?: AdmitOptions & InsertOptions & Abortable): Promise<Admission<K>>;
    /**
     * {@link admit} at once.
     * @param {Key} key
     * @param {Document} document
     * @param {AdmitOptions & InsertOptions} [options]
     * @returns {Admission<K>}
     */
    admitSync(key: Key, document: Document, options?: AdmitOptions & InsertOptions): Admission<K>;
    /**
     * Admits documents one after the other; each is compared with those before it, too. One sync
     * covers all.
     * @param {Iterable<Newcomer>} newcomers
     * @param {AdmitOptions & Abortable} [options]
     * @returns {Promise<Admission<K>[]>}
     */
    admitAll(newcomers: Iterable<Newcomer>, options?: AdmitOptions & Abortable): Promise<Admission<K>[]>;
    /**
     * {@link admitAll} at once.
     * @param {Iterable<Newcomer>} newcomers
     * @param {AdmitOptions} [options]
     * @returns {Admission<K>[]}
     */
    admitAllSync(newcomers: Iterable<Newcomer>, options?: AdmitOptions): Admission<K>[];
    /**
     * Removes every document whose key begins with the prefix. Returns their number.
     * @param {Key} prefix
     * @returns {Promise<number>}
     */
    removePrefix(prefix: Key): Promise<number>;
    /**
     * {@link removePrefix} at once.
     * @param {Key} prefix
     * @returns {number}
     */
    removePrefixSync(prefix: Key): number;
    /**
     * Removes every document that is older than a time. Returns their number.
     * @param {Time} time
     * @returns {Promise<number>}
     */
    removeBefore(time: Time): Promise<number>;
    /**
     * {@link removeBefore} at once.
     * @param {Time} time
     * @returns {number}
     */
    removeBeforeSync(time: Time): number;
    /** Writes what is in memory to a segment. @returns {Promise<void>} */
    flush(): Promise<void>;
    /** {@link flush} at once. @returns {void} */
    flushSync(): void;
    /**
     * Makes all earlier writes durable, whatever the durability. Returns the last durable change.
     * @returns {Promise<number>}
     */
    sync(): Promise<number>;
    /** {@link sync} at once. @returns {number} */
    syncSync(): number;
    /**
     * Merges everything into one segment. Reads and writes go on meanwhile.
     * @param {Abortable} [options]
     * @returns {Promise<void>}
     */
    compact(options?: Abortable): Promise<void>;
    /** {@link compact} at once. @returns {void} */
    compactSync(): void;
}
import { OpenHandle } from "./open_handle.js";
import type { Key } from './types.js';
import type { Document } from './types.js';
import type { InsertOptions } from './types.js';
import type { Abortable } from './types.js';
import type { Outcome } from './types.js';
import type { Edit } from './types.js';
import type { Written } from './types.js';
import type { AdmitOptions } from './types.js';
import type { Admission } from './types.js';
import type { Newcomer } from './types.js';
import type { Time } from './types.js';
import type { KeyKind } from './types.js';
import type { Params } from './params.js';
import type { OpenOptions } from './types.js';
import type { ShownKey } from './types.js';
