/** @import { Abortable, Items } from './types.js' */
/** The MinHash signature of a document: plain data, which may be stored or sent to a worker. */
export class Signature {
    /**
     * The signature with these bytes, which `Sketcher` made with the same parameters.
     * @param {Params} params
     * @param {Uint8Array} bytes
     * @param {number} [shingleCount]
     */
    constructor(params: Params, bytes: Uint8Array, shingleCount?: number);
    /** The rows, as stored. */
    bytes: Uint8Array<ArrayBufferLike>;
    /** Number of different shingles of the document; 0 if it is not known. */
    shingleCount: number;
    /** The `signatureId` of the parameters: signatures with equal ids are comparable. */
    id: bigint;
}
/** Makes signatures: of texts, or of sets of items. */
export class Sketcher {
    /** @param {Params} params */
    constructor(params: Params);
    /** The parameters of the signatures. */
    params: Params;
    /**
     * The signature of a text. A blank one is an error, `NEARKIN_EMPTY`.
     * @param {string} text
     * @returns {Promise<Signature>}
     */
    text(text: string): Promise<Signature>;
    /**
     * {@link text} at once.
     * @param {string} text
     */
    textSync(text: string): Signature;
    /**
     * The signature of a set, with `shingles: 'items'`. An empty one is an error, `NEARKIN_EMPTY`.
     * @param {Items} items
     * @returns {Promise<Signature>}
     */
    items(items: Items): Promise<Signature>;
    /**
     * {@link items} at once.
     * @param {Items} items
     */
    itemsSync(items: Items): Signature;
    /**
     * The signatures of several texts, in order: `null` for a blank one.
     * @param {Iterable<string>} texts
     * @param {Abortable} [options]
     * @returns {Promise<(Signature | null)[]>}
     */
    texts(texts: Iterable<string>, options?: Abortable): Promise<(Signature | null)[]>;
    /**
     * {@link texts} at once.
     * @param {Iterable<string>} texts
     * @returns {(Signature | null)[]}
     */
    textsSync(texts: Iterable<string>): (Signature | null)[];
    /**
     * The estimated similarity of two signatures.
     * @param {Signature} a
     * @param {Signature} b
     * @returns {number}
     */
    similarity(a: Signature, b: Signature): number;
}
/**
 * A signature that the native part has made.
 * @param {any[]} row
 * @returns {Signature}
 */
export function signatureOf([bytes, shingleCount, id]: any[]): Signature;
import { Params } from "./params.js";
import type { Items } from './types.js';
import type { Abortable } from './types.js';
