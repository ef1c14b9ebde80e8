'use strict';

// Checks and copies bytes, keys, times and paths. Values of another realm (`node:vm`, Jest) count:
// `instanceof` would refuse them.

const { fileURLToPath } = require('node:url');
const { types } = require('node:util');

/** @import { Key, Path, Time } from './types.js' */

/** Half of a surrogate pair, which has no UTF-8. */
const HALF = /\p{Cs}/u;

/** A method that refuses a view without memory; the view's own methods may be replaced. */
const { at } = Uint8Array.prototype;

/**
 * A copy of bytes: a later edit of the caller's iterator may change or detach them.
 * @param {string | Uint8Array} bytes
 * @param {string} name
 */
function bytesOf(bytes, name) {
  if (typeof bytes === 'string') return Buffer.from(textOf(bytes, name), 'utf8');
  if (!types.isUint8Array(bytes)) throw new TypeError(`${name} must be a string or a Uint8Array`);
  if (bytes.length === 0) refuseDetached(bytes, name);
  return Buffer.from(bytes);
}

/**
 * Refuses a view whose memory is gone. Its length is 0, but it does not stand for "no bytes".
 * @param {Uint8Array} bytes
 * @param {string} name
 */
function refuseDetached(bytes, name) {
  try {
    at.call(bytes, 0);
  } catch {
    throw new TypeError(`${name} has lost its memory: its ArrayBuffer was transferred or resized`);
  }
}

/**
 * Refuses text that has no UTF-8.
 * @param {string} text
 * @param {string} name
 */
function textOf(text, name) {
  if (HALF.test(text)) throw new TypeError(`${name} has half of a surrogate pair`);
  return text;
}

/**
 * A key for the native part.
 * @param {Key} key
 * @param {string} [name]
 * @returns {string | Buffer}
 */
function keyOf(key, name = 'key') {
  return typeof key === 'string' ? textOf(key, name) : bytesOf(key, name);
}

/**
 * Milliseconds since 1970.
 * @param {Time} time
 */
function msOf(time) {
  if (typeof time !== 'number' && !types.isDate(time)) {
    throw new TypeError('time must be a Date or milliseconds');
  }
  return Number(time);
}

/**
 * A path of the file system, as `node:fs` takes it.
 * @param {Path} path
 * @returns {string | Buffer}
 */
function pathOf(path) {
  if (typeof path !== 'string' && !types.isUint8Array(path) && !isUrl(path)) {
    throw new TypeError('path must be a string, a Buffer or a file URL');
  }
  const found = isUrl(path) ? fileURLToPath(/** @type {any} */ (path)) : keyOf(path, 'path');
  if (found.length === 0) throw new TypeError('path is empty');
  if (found.includes('\0')) throw new TypeError('path has a zero byte');
  return found;
}

/**
 * @param {unknown} path
 * @returns {path is { href: string, protocol: string }}
 */
function isUrl(path) {
  return typeof path === 'object' && path !== null && 'href' in path && 'protocol' in path;
}

module.exports = { bytesOf, keyOf, msOf, pathOf };
