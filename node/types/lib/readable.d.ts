/**
 * @import {
 *   Abortable, Alike, Answer, Cluster, Document, Key, Pair, QueryOptions, StoredDocument,
 * } from './types.js'
 */
/**
 * What an `Index`, a `Reader` and a `Snapshot` answer. A method returns a promise and works on
 * libuv's pool; its twin with `Sync` works at once and blocks the event loop.
 * @template {string | Buffer} [K=string]
 */
export class Readable<K extends string | Buffer = string> {
    /** @param {any} handle The native part: indexes and readers are made by `open` and `create`. */
    constructor(handle: any);
    /** The parameters of the index. */
    params: import("./params.js").Params;
    /** Makes signatures for this index. */
    get sketcher(): Sketcher;
    /** Number of documents. @returns {number} */
    get size(): number;
    /** The number of the last change that is seen. @returns {number} */
    get change(): number;
    /** Whether `close` was called. @returns {boolean} */
    get closed(): boolean;
    /** A view that does not change. @returns {Snapshot<K>} */
    snapshot(): Snapshot<K>;
    /**
     * Whether there is a document with this key.
     * @param {Key} key
     * @returns {Promise<boolean>}
     */
    has(key: Key): Promise<boolean>;
    /**
     * {@link has} at once.
     * @param {Key} key
     * @returns {boolean}
     */
    hasSync(key: Key): boolean;
    /**
     * The document with this key; `undefined` if there is none.
     * @param {Key} key
     * @returns {Promise<StoredDocument<K> | undefined>}
     */
    get(key: Key): Promise<StoredDocument<K> | undefined>;
    /**
     * {@link get} at once.
     * @param {Key} key
     * @returns {StoredDocument<K> | undefined}
     */
    getSync(key: Key): StoredDocument<K> | undefined;
    /**
     * What is like this document? The answer is sorted, most similar first.
     * @param {Document} document
     * @param {QueryOptions & Abortable} [options]
     * @returns {Promise<Answer<K>>}
     */
    query(document: Document, options?: QueryOptions & Abortable): Promise<Answer<K>>;
    /**
     * {@link query} at once.
     * @param {Document} document
     * @param {QueryOptions} [options]
     * @returns {Answer<K>}
     */
    querySync(document: Document, options?: QueryOptions): Answer<K>;
    /**
     * What is like this stored document? A key that is not stored is `NEARKIN_NO_SUCH_KEY`.
     * @param {Key} key
     * @param {QueryOptions & Abortable} [options]
     * @returns {Promise<Answer<K>>}
     */
    queryKey(key: Key, options?: QueryOptions & Abortable): Promise<Answer<K>>;
    /**
     * {@link queryKey} at once.
     * @param {Key} key
     * @param {QueryOptions} [options]
     * @returns {Answer<K>}
     */
    queryKeySync(key: Key, options?: QueryOptions): Answer<K>;
    /**
     * What is like any of these stored documents?
     * @param {Iterable<Key>} keys
     * @param {QueryOptions & Abortable} [options]
     * @returns {Promise<Answer<K>>}
     */
    queryKeys(keys: Iterable<Key>, options?: QueryOptions & Abortable): Promise<Answer<K>>;
    /**
     * {@link queryKeys} at once.
     * @param {Iterable<Key>} keys
     * @param {QueryOptions} [options]
     * @returns {Answer<K>}
     */
    queryKeysSync(keys: Iterable<Key>, options?: QueryOptions): Answer<K>;
    /**
     * All pairs of documents that are alike, each once, in no particular order. They are computed
     * while you read: `for await (const { a, b } of index.pairs())`. The state is that of the call.
     * @param {Alike & Abortable} [options]
     * @returns {AsyncIterableIterator<Pair<K>>}
     */
    pairs(options?: Alike & Abortable): AsyncIterableIterator<Pair<K>>;
    /**
     * {@link pairs} at once.
     * @param {Alike} [options]
     * @returns {Generator<Pair<K>, void, void>}
     */
    pairsSync(options?: Alike): Generator<Pair<K>, void, void>;
    /**
     * All clusters: documents that are linked by pairs. The first waits until all are found.
     * @param {Alike & Abortable} [options]
     * @returns {AsyncIterableIterator<Cluster<K>>}
     */
    clusters(options?: Alike & Abortable): AsyncIterableIterator<Cluster<K>>;
    /**
     * {@link clusters} at once.
     * @param {Alike} [options]
     * @returns {Generator<Cluster<K>, void, void>}
     */
    clustersSync(options?: Alike): Generator<Cluster<K>, void, void>;
    /**
     * All keys, sorted by their bytes; with `prefix`, those that begin with it.
     * @param {{ prefix?: Key } & Abortable} [options]
     * @returns {AsyncIterableIterator<K>}
     */
    keys(options?: {
        prefix?: Key;
    } & Abortable): AsyncIterableIterator<K>;
    /**
     * {@link keys} at once.
     * @param {{ prefix?: Key }} [options]
     * @returns {Generator<K, void, void>}
     */
    keysSync(options?: {
        prefix?: Key;
    }): Generator<K, void, void>;
}
/**
 * A view of an index or a reader that does not change. The files it needs stay on disk until it is
 * collected.
 * @template {string | Buffer} [K=string]
 * @extends {Readable<K>}
 */
export class Snapshot<K extends string | Buffer = string> extends Readable<K> {
}
import { Sketcher } from "./sketcher.js";
import type { Key } from './types.js';
import type { StoredDocument } from './types.js';
import type { Document } from './types.js';
import type { QueryOptions } from './types.js';
import type { Abortable } from './types.js';
import type { Answer } from './types.js';
import type { Alike } from './types.js';
import type { Pair } from './types.js';
import type { Cluster } from './types.js';
