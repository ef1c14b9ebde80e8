'use strict';

// Opening, which indexes and readers share.

const { call, settled } = require('./call.js');
const { checked, pathOf } = require('./given.js');
const { native, of } = require('./load.js');
const { Params } = require('./params.js');

const READING = { readMode: 'string', keys: 'string' };
const WRITING = {
  durability: 'string|number',
  ttlMs: 'number',
  memtableBytes: 'number',
  ...READING,
};

/**
 * @param {string} how
 * @param {string} path
 * @param {Params | undefined} params
 * @param {any} options
 * @param {boolean} sync
 */
function opened(how, path, params, options, sync) {
  if (params !== undefined && !(params instanceof Params)) {
    throw new TypeError('params must be Params');
  }
  const opening = checked(options, how === 'read' ? READING : WRITING);
  return native.open(sync, how, pathOf(path), params && of(params), opening);
}

/**
 * Whether there is an index in this folder.
 * @param {string} path
 * @returns {Promise<boolean>}
 */
async function exists(path) {
  return call(undefined, () => native.exists(false, pathOf(path)));
}

/**
 * {@link exists} at once.
 * @param {string} path
 * @returns {boolean}
 */
function existsSync(path) {
  return settled(native.exists(true, pathOf(path)));
}

/** The version of the engine. @type {string} */
const version = native.version();

module.exports = { exists, existsSync, opened, version };
