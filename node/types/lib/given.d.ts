/**
 * A buffer over the same bytes.
 * @param {string | Uint8Array} bytes
 * @param {string} name
 */
export function bytesOf(bytes: string | Uint8Array, name: string): Buffer<ArrayBufferLike>;
/**
 * A copy of an object of options without what is undefined. A name that is not among `types` is
 * refused, for a misspelt option would be ignored; so is a value of another type.
 * @param {object} options
 * @param {Record<string, string>} types Names, each with the types of `typeof`; `any` is not checked.
 * @param {string} [name]
 * @returns {any}
 */
export function checked(options: object, types: Record<string, string>, name?: string): any;
/**
 * A document for the native part: a string, an array of items, or the parts of a signature.
 * @param {Document} document
 * @returns {any}
 */
export function documentOf(document: Document): any;
/**
 * An edit for the native part. A forgotten document is an error, not a removal.
 * @param {Edit} edit
 */
export function editOf(edit: Edit): {
    key: string | Buffer<ArrayBufferLike>;
    document: any;
    payload: Buffer<ArrayBufferLike> | undefined;
    timeMs: number | undefined;
} | {
    key: string | Buffer<ArrayBufferLike>;
    payload?: undefined;
} | {
    key: string | Buffer<ArrayBufferLike>;
    payload: Buffer<ArrayBufferLike>;
};
/**
 * An insert for the native part.
 * @param {Key} key
 * @param {Document} document
 * @param {InsertOptions} options
 */
export function insertOf(key: Key, document: Document, options: InsertOptions): {
    key: string | Buffer<ArrayBufferLike>;
    document: any;
    payload: Buffer<ArrayBufferLike> | undefined;
    timeMs: number | undefined;
};
/**
 * A key for the native part.
 * @param {Key} key
 * @param {string} [name]
 * @returns {string | Buffer}
 */
export function keyOf(key: Key, name?: string): string | Buffer;
/**
 * An array of things that each are checked.
 * @template T, U
 * @param {Iterable<T>} all
 * @param {string} name
 * @param {(one: T) => U} each
 */
export function listOf<T, U>(all: Iterable<T>, name: string, each: (one: T) => U): U[];
/**
 * Milliseconds since 1970.
 * @param {Time} time
 */
export function msOf(time: Time): number;
/**
 * A path of the file system.
 * @param {string} path
 */
export function pathOf(path: string): string;
/**
 * Settings for the engine: names in snake_case, values as text.
 * @param {object} options
 * @returns {Record<string, string>}
 */
export function settingsOf(options: object): Record<string, string>;
/**
 * Options of a search for the native part: a row of numbers in the order of `Terms::new`, of which
 * NaN stands for none; the prefix of keys.
 * @param {keyof TERMS} kind
 * @param {object} options
 * @returns {[Float64Array, (string | Buffer)?]}
 */
export function termsOf(kind: "keys" | "query" | "pairs" | "clusters" | "admit", options: object): [Float64Array, (string | Buffer)?];
import type { Document } from './types.js';
import type { Edit } from './types.js';
import type { Key } from './types.js';
import type { InsertOptions } from './types.js';
import type { Time } from './types.js';
