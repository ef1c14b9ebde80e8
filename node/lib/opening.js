'use strict';

// Opening, which indexes and readers share.

const { call, settled } = require('./call.js');
const { pathOf } = require('./bytes.js');
const { checked, settingsOf } = require('./given.js');
const { native, of } = require('./load.js');
const { Params } = require('./params.js');

/** @import { OpenOptions, Path, ReaderOptions } from './types.js' */

/** @type {Record<keyof ReaderOptions, string>} */
const READING = { readMode: 'string', keys: 'string' };
/** @type {Record<keyof OpenOptions, string>} */
const WRITING = {
  durability: 'string|number',
  ttlMs: 'number',
  memoryBytes: 'number',
  memtableBytes: 'number',
  shared: 'boolean',
  lockWaitMs: 'number',
  onEvent: 'function',
  ...READING,
};

/**
 * @param {string} what
 * @param {Path} path
 * @param {Params | undefined} params
 * @param {any} options
 * @param {any} how
 */
function opened(what, path, params, options, how) {
  if (params !== undefined && !(params instanceof Params)) {
    throw new TypeError('params must be Params');
  }
  const { onEvent, ...settings } = checked(options, what === 'read' ? READING : WRITING);
  const folder = what === 'temporary' ? '' : pathOf(path);
  const tell = onEvent && ((/** @type {string} */ kind, /** @type {string} */ message) => onEvent({ kind, message }));
  return native.open(how, what, folder, params && of(params), settingsOf(settings), tell);
}

/**
 * Whether there is an index in this folder.
 * @param {Path} path
 * @returns {Promise<boolean>}
 */
async function exists(path) {
  return call(undefined, (how) => native.exists(how, pathOf(path)));
}

/**
 * {@link exists} at once.
 * @param {Path} path
 * @returns {boolean}
 */
function existsSync(path) {
  return settled(native.exists(true, pathOf(path)));
}

/** The version of the engine. @type {string} */
const version = native.version();

module.exports = { exists, existsSync, opened, version };
