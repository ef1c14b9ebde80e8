'use strict';

// Checks and converts arguments. A wrong type is a `TypeError`, as for Node's own calls.

const { types: kinds } = require('node:util');
const { bytesOf, keyOf, msOf } = require('./bytes.js');
const { native } = require('./load.js');

/**
 * @import {
 *   Abortable, AdmitOptions, Document, Edit, InsertOptions, Key, Newcomer, Signal,
 * } from './types.js'
 */

/**
 * A copy of an object of options without what is undefined. A name that is not among `types` is
 * refused, for a misspelt option would be ignored; so is a value of another type. The copy has no
 * prototype: a program may have polluted `Object.prototype`.
 * @param {object} options
 * @param {Record<string, string>} types Names, each with the types of `typeof`, or with `Date`; `any`
 *   is not checked.
 * @param {string} [name]
 * @returns {any}
 */
function checked(options, types, name = 'options') {
  refuseNoObject(options, name);
  const found = Object.create(null);
  for (const [option, value] of Object.entries(options)) {
    if (isGiven(option, value, types)) found[option] = value;
  }
  return found;
}

/**
 * @param {unknown} options
 * @param {string} name
 */
function refuseNoObject(options, name) {
  if (options === null || typeof options !== 'object') {
    throw new TypeError(`${name} must be an object`);
  }
}

/**
 * Whether an option is not `undefined`. Refuses unknown names, and values of another type.
 * @param {string} option
 * @param {unknown} value
 * @param {Record<string, string>} types
 */
function isGiven(option, value, types) {
  if (!Object.hasOwn(types, option)) {
    throw new TypeError(`unknown option ${option}: there are ${Object.keys(types).join(', ')}`);
  }
  if (value === undefined) return false;
  const expected = types[option];
  const type = typeof value === 'object' && kinds.isDate(value) ? 'Date' : typeof value;
  // No name of a type is part of another one.
  if (expected !== 'any' && !expected.includes(type)) {
    throw new TypeError(`${option} must be of type ${expected.replaceAll('|', ' or ')}`);
  }
  return true;
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
  // The native part reads inherited names, too.
  const settings = Object.create(null);
  for (const [name, value] of given) settings[snake(name)] = String(value);
  return settings;
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
  if (kinds.isUint8Array(bytes) && typeof id === 'bigint') {
    return { bytes: bytesOf(bytes, 'bytes'), shingleCount, id };
  }
  throw new TypeError(problem);
}

/**
 * The signal among options that were checked, or that `checked` will check.
 * @param {Abortable} options
 * @returns {Signal | undefined}
 */
function signalOf(options) {
  const given = options && Object.hasOwn(options, 'signal') ? options.signal : undefined;
  if (given === undefined) return undefined;
  /** @type {any} Not `instanceof`: a program may have a signal of another realm, or a polyfill. */
  const signal = given;
  if (typeof signal?.aborted !== 'boolean' || typeof signal.addEventListener !== 'function') {
    throw new TypeError('signal must be an AbortSignal');
  }
  return signal;
}

/**
 * The signal of a call that takes no other option.
 * @param {Abortable} options
 */
function signalAlone(options) {
  return signalOf(checked(options, { signal: 'any' }));
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

// The native part would read a field that is missing from `Object.prototype`: none is missing.

/**
 * A removal for the native part.
 * @param {Key} key
 */
function removalOf(key) {
  return { key: keyOf(key), document: undefined, payload: undefined, timeMs: undefined };
}

/**
 * A new payload for the native part.
 * @param {Key} key
 * @param {string | Uint8Array} payload
 */
function payloadOf(key, payload) {
  return { ...removalOf(key), payload: bytesOf(payload, 'payload') };
}

/**
 * An edit for the native part. A forgotten document is an error, not a removal.
 * @param {Edit} edit
 */
function editOf(edit) {
  const given = checked(edit, { ...INSERT, remove: 'boolean' }, 'an edit');
  const { key, remove, document, payload, time } = given;
  delete given.remove;
  if (remove) {
    if (Object.keys(given).length > 1) throw new TypeError('a removal has no document or payload');
    return removalOf(key);
  }
  if (Object.hasOwn(edit, 'document')) return insertOf(key, document, given);
  if (payload === undefined || time !== undefined) {
    throw new TypeError('an edit needs a document, or a payload alone, or `remove: true`');
  }
  return payloadOf(key, payload);
}

/**
 * A document to be admitted, for the native part.
 * @param {Newcomer} newcomer
 */
function newcomerOf(newcomer) {
  const given = checked(newcomer, INSERT, 'a newcomer');
  return insertOf(given.key, given.document, given);
}

/**
 * An array with every element checked. An error names the element.
 * @template T, U
 * @param {Iterable<T>} all
 * @param {string} name
 * @param {(one: T) => U} each
 */
function listOf(all, name, each) {
  if (typeof all !== 'object' || all === null || !(Symbol.iterator in all)) {
    throw new TypeError(`${name} must be an array`);
  }
  return Array.from(all, (one, number) => {
    try {
      return each(one);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      throw new TypeError(`${name}[${number}]${keyIn(one)}: ${error.message}`, { cause: error });
    }
  });
}

/**
 * The key of a refused row, for its error.
 * @param {any} row
 */
function keyIn(row) {
  const key = row !== null && typeof row === 'object' && Object.hasOwn(row, 'key') ? row.key : undefined;
  if (typeof key !== 'string' && !kinds.isUint8Array(key)) return '';
  const text = String(typeof key === 'string' ? key : Buffer.from(key));
  return `, key ${JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}...` : text)}`;
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
 * @type {Map<string, string>}
 */
const SETTINGS = new Map([['reject', 'threshold']]);

/**
 * The conditions of a search, which the engine lists.
 * @type {Record<string, string>}
 */
const QUERY = {};
for (const [option, setting, takes] of native.listConditions()) {
  SETTINGS.set(option, setting);
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
  /** @type {Record<string, any>} */
  const given = options;
  refuseNoObject(given, 'options');
  let settings = '';
  let prefix;
  for (const name of Object.keys(given)) {
    const one = given[name];
    if (!isGiven(name, one, types) || name === 'signal') continue;
    if (name === 'prefix') {
      prefix = one;
      continue;
    }
    const value = typeof one === 'object' ? Number(one) : one;
    if (Number.isNaN(value)) throw new TypeError('NaN is no value of an option');
    if (value === Infinity && types[name].endsWith('Infinity')) continue;
    settings += `${SETTINGS.get(name) ?? snake(name)}=${value}\n`;
  }
  return prefix === undefined ? [settings] : [settings, keyOf(prefix, 'prefix')];
}

/**
 * A document to be admitted alone, and the options of its admission, for the native part.
 * @param {Key} key
 * @param {Document} document
 * @param {AdmitOptions & InsertOptions & Abortable} options
 */
function admissionOf(key, document, options) {
  const given = checked(options, { ...INSERT, ...ADMIT });
  const { payload, time, ...rest } = given;
  return { newcomers: [insertOf(key, document, { payload, time })], terms: termsOf('admit', rest) };
}

module.exports = {
  admissionOf,
  checked,
  documentOf,
  editOf,
  insertOf,
  listOf,
  newcomerOf,
  payloadOf,
  removalOf,
  settingsOf,
  signalAlone,
  signalOf,
  termsOf,
};
