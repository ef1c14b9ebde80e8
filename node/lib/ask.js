'use strict';

// Queries at once: the signature and the answer pass through memory that both sides share, which is
// many times faster than values of N-API.

const { types: kinds } = require('node:util');
const { settled } = require('./call.js');
const { of } = require('./load.js');
const { answerOf } = require('./shapes.js');

/** @import { Answer, Document } from './types.js' */

/** A longer answer comes as a buffer of its own. */
const ROOM = Buffer.allocUnsafeSlow(64 << 10);
const NUMBERS = new Float64Array(ROOM.buffer);

/**
 * The answer to a query, computed at once; `undefined` if the document must be converted first, or,
 * with `brief`, if the work may take long.
 * @param {any} readable
 * @param {Document} document
 * @param {[string, (string | Buffer)?]} terms
 * @param {boolean} brief
 * @returns {Answer<any> | undefined}
 */
function ask(readable, document, terms, brief) {
  /** @type {string | number} */
  let given;
  let shingles = 0;
  if (typeof document === 'string') {
    given = document;
  } else {
    const { bytes, shingleCount, id } = partsOf(document);
    const fits = kinds.isUint8Array(bytes) && bytes.length > 0 && bytes.length <= ROOM.length;
    if (id !== readable.params.signatureId || !fits || !Number.isInteger(shingleCount)) return undefined;
    ROOM.set(bytes);
    given = bytes.length;
    shingles = shingleCount;
  }
  const answer = of(readable).ask(ROOM, given, shingles, terms[0], terms[1], brief);
  if (typeof answer === 'number') return answerOf(ROOM, NUMBERS);
  return answer === undefined ? undefined : answerOf(settled(answer));
}

/**
 * The parts of a signature, if the document may be one.
 * @param {any} document
 * @returns {any}
 */
function partsOf(document) {
  const isPlain = typeof document === 'object' && document !== null && !(Symbol.iterator in document);
  return isPlain ? document : {};
}

module.exports = { ask };
