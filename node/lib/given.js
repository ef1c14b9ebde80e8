'use strict';

// Checks and converts arguments. A wrong type is a `TypeError`, as for Node's own calls.

/** @import { Abortable, Document, Edit, InsertOptions, Key, Newcomer, Time } from './types.js' */

const { native } = require('./load.js');

/** Half of a surrogate pair, which has no UTF-8. */
const HALF = /\p{Cs}/u;

/**
 * A copy of an object of options without what is undefined. A name that is not among `types` is
 * refused, for a misspelt option would be ignored; so is a value of another type.
 * @param {object} options
 * @param {Record<string, string>} types Names, each with the types of `typeof`, or with `Date`; `any`
 *   is not checked.
 * @param {string} [name]
 * @returns {any}
 */
function checked(options, types, name = 'options') {
  if (options === null || typeof options !== 'object') {
    throw new TypeError(`${name} must be an object`);
  }
  /** @type {any} */
  const found = {};
  for (const [option, value] of Object.entries(options)) {
    const expected = types[option];
    if (expected === undefined) {
      throw new TypeError(`unknown option ${option}: there are ${Object.keys(types).join(', ')}`);
    }
    if (value === undefined) continue;
    const type = value instanceof Date ? 'Date' : typeof value;
    if (expected !== 'any' && !expected.split('|').includes(type)) {
      throw new TypeError(`${option} must be of type ${expected.replaceAll('|', ' or ')}`);
    }
    found[option] = value;
  }
  return found;
}

/** @param {string} name */
function snake(name) {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/**
 * Settings for the engine: names in snake_case, values as text.
 * @param {object} options
 * @returns {Record<string, string>}
 */
function settingsOf(options) {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [snake(name), String(value)]));
}

/**
 * A path of the file system.
 * @param {string} path
 */
function pathOf(path) {
  if (typeof path !== 'string') throw new TypeError('path must be a string');
  return path;
}

/**
 * A key for the native part.
 * @param {Key} key
 * @param {string} [name]
 * @returns {string | Buffer}
 */
function keyOf(key, name = 'key') {
  if (typeof key === 'string') {
    if (HALF.test(key)) throw new TypeError(`${name} has half of a surrogate pair`);
    return key;
  }
  if (key instanceof Uint8Array) return bytesOf(key, name);
  throw new TypeError(`${name} must be a string or a Uint8Array`);
}

/**
 * A buffer over the same bytes.
 * @param {string | Uint8Array} bytes
 * @param {string} name
 */
function bytesOf(bytes, name) {
  if (typeof bytes === 'string') return Buffer.from(bytes, 'utf8');
  if (!(bytes instanceof Uint8Array)) {
    throw new TypeError(`${name} must be a string or a Uint8Array`);
  }
  if (Buffer.isBuffer(bytes)) return bytes;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/**
 * A document for the native part: a string, an array of items, or the parts of a signature.
 * @param {Document} document
 * @returns {any}
 */
function documentOf(document) {
  if (typeof document === 'string') return document;
  const problem = 'a document must be a string, a Signature or a collection of items';
  // A buffer is an iterable of numbers: most likely not meant as a set of items.
  if (document === null || typeof document !== 'object' || ArrayBuffer.isView(document)) {
    throw new TypeError(problem);
  }
  if (Symbol.iterator in document) {
    return Array.from(document, (item) => (typeof item === 'string' ? item : bytesOf(item, 'item')));
  }
  const { bytes, shingleCount, id } = document;
  if (bytes instanceof Uint8Array && typeof id === 'bigint') {
    return { bytes: bytesOf(bytes, 'bytes'), shingleCount, id };
  }
  throw new TypeError(problem);
}

/**
 * Milliseconds since 1970.
 * @param {Time} time
 */
function msOf(time) {
  if (typeof time !== 'number' && !(time instanceof Date)) {
    throw new TypeError('time must be a Date or milliseconds');
  }
  return Number(time);
}

/** @type {Record<keyof (Newcomer & Abortable), string>} */
const INSERT = { key: 'any', document: 'any', payload: 'any', time: 'any', signal: 'any' };

/**
 * An insert for the native part.
 * @param {Key} key
 * @param {Document} document
 * @param {InsertOptions} options
 */
function insertOf(key, document, options) {
  const { payload, time } = checked(options, INSERT);
  return {
    key: keyOf(key),
    document: documentOf(document),
    payload: payload === undefined ? undefined : bytesOf(payload, 'payload'),
    timeMs: time === undefined ? undefined : msOf(time),
  };
}

/**
 * An edit for the native part. A forgotten document is an error, not a removal.
 * @param {Edit} edit
 */
function editOf(edit) {
  /** @type {any} */
  const { key, remove, ...rest } = checked(edit, { ...INSERT, remove: 'boolean' }, 'an edit');
  if (remove) {
    if (Object.keys(rest).length > 0) throw new TypeError('a removal has no document or payload');
    return { key: keyOf(key) };
  }
  if ('document' in edit) return insertOf(key, rest.document, rest);
  if (rest.payload === undefined || rest.time !== undefined) {
    throw new TypeError('an edit needs a document, or a payload alone, or `remove: true`');
  }
  return { key: keyOf(key), payload: bytesOf(rest.payload, 'payload') };
}

/**
 * An array with every element checked.
 * @template T, U
 * @param {Iterable<T>} all
 * @param {string} name
 * @param {(one: T) => U} each
 */
function listOf(all, name, each) {
  if (typeof all !== 'object' || all === null || !(Symbol.iterator in all)) {
    throw new TypeError(`${name} must be an array`);
  }
  return Array.from(all, each);
}

/**
 * What an option takes, by what the engine's setting takes.
 * @type {Record<string, string>}
 */
const TYPES = {
  Share: 'number',
  Switch: 'boolean',
  Count: 'number|Infinity',
  Span: 'number|Infinity',
  Time: 'number|Date',
  Text: 'string',
};

/**
 * The engine's setting of each option.
 * @type {Record<string, string>}
 */
const SETTINGS = { reject: 'threshold' };

/**
 * The conditions of a search, which the engine lists.
 * @type {Record<string, string>}
 */
const QUERY = {};
for (const [option, setting, takes] of native.listConditions()) {
  SETTINGS[option] = setting;
  QUERY[option] = TYPES[takes];
}
// Its bytes need not be text.
QUERY.prefix = 'any';

/** @type {Record<string, string>} */
const ALL = { ...QUERY, signal: 'any' };
const { maxCandidates: _, ...PAIRS } = ALL;
const { threshold: reject, ...OTHERS } = QUERY;
/** @type {Record<string, string>} */
const ADMIT = { reject, relate: 'number', keep: 'string', ...OTHERS, signal: 'any' };

/** The options of each kind of search. */
const TERMS = {
  query: { ...QUERY, signal: 'any' },
  pairs: PAIRS,
  clusters: PAIRS,
  keys: { prefix: 'any', signal: 'any' },
  admit: ADMIT,
};

/**
 * Options of a search for the native part: settings of the engine, a line `name=value` each (one
 * string is converted faster than an object); the prefix of keys, whose bytes need not be text.
 * @param {keyof TERMS} kind
 * @param {object} options
 * @returns {[string, (string | Buffer)?]}
 */
function termsOf(kind, options) {
  /** @type {Record<string, string>} */
  const types = TERMS[kind];
  const { prefix, signal, ...rest } = checked(options, types);
  let settings = '';
  for (const name in rest) {
    const value = rest[name] instanceof Date ? Number(rest[name]) : rest[name];
    if (Number.isNaN(value)) throw new TypeError('NaN is no value of an option');
    if (value === Infinity && types[name].endsWith('Infinity')) continue;
    settings += `${SETTINGS[name] ?? snake(name)}=${value}\n`;
  }
  return prefix === undefined ? [settings] : [settings, keyOf(prefix, 'prefix')];
}

module.exports = {
  bytesOf,
  checked,
  documentOf,
  editOf,
  insertOf,
  keyOf,
  listOf,
  msOf,
  pathOf,
  settingsOf,
  termsOf,
};
