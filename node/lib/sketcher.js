'use strict';

const { call, settled } = require('./call.js');
const { bytesOf } = require('./bytes.js');
const { documentOf, listOf, signalAlone } = require('./given.js');
const { native, natives, of } = require('./load.js');
const { Params } = require('./params.js');

/** @import { Abortable, Items } from './types.js' */

/** The MinHash signature of a document: plain data, which may be stored or sent to a worker. */
class Signature {
  /**
   * The signature with these bytes, which `Sketcher` made with the same parameters.
   * @param {Params} params
   * @param {Uint8Array} bytes
   * @param {number} [shingleCount]
   */
  constructor(params, bytes, shingleCount = 0) {
    if (!(params instanceof Params)) throw new TypeError('params must be Params');
    if (bytesOf(bytes, 'bytes').length !== params.signatureBytes) {
      throw new RangeError(`a signature of these parameters has ${params.signatureBytes} bytes`);
    }
    /** The rows, as stored. @type {Uint8Array} */
    this.bytes = bytes;
    /** Number of different shingles of the document; 0 if it is not known. */
    this.shingleCount = shingleCount;
    /** The `signatureId` of the parameters: signatures with equal ids are comparable. */
    this.id = params.signatureId;
  }
}

/**
 * A signature that the native part has made.
 * @param {any[]} row
 * @returns {Signature}
 */
function signatureOf([bytes, shingleCount, id]) {
  return Object.assign(Object.create(Signature.prototype), { bytes, shingleCount, id });
}

/** Makes signatures: of texts, or of sets of items. */
class Sketcher {
  /** @param {Params} params */
  constructor(params) {
    if (!(params instanceof Params)) throw new TypeError('params must be Params');
    /** The parameters of the signatures. */
    this.params = params;
    natives.set(this, new native.NativeSketcher(of(params)));
  }

  /**
   * The signature of a text. A blank one is an error, `NEARKIN_EMPTY`.
   * @param {string} text
   * @returns {Promise<Signature>}
   */
  async text(text) {
    return signatureOf(await call(undefined, (how) => of(this).one(how, textOf(text))));
  }

  /**
   * {@link text} at once.
   * @param {string} text
   */
  textSync(text) {
    return signatureOf(settled(of(this).one(true, textOf(text))));
  }

  /**
   * The signature of a set, with `shingles: 'items'`. An empty one is an error, `NEARKIN_EMPTY`.
   * @param {Items} items
   * @returns {Promise<Signature>}
   */
  async items(items) {
    return signatureOf(await call(undefined, (how) => of(this).one(how, itemsOf(items))));
  }

  /**
   * {@link items} at once.
   * @param {Items} items
   */
  itemsSync(items) {
    return signatureOf(settled(of(this).one(true, itemsOf(items))));
  }

  /**
   * The signatures of several texts, in order: `null` for a blank one.
   * @param {Iterable<string>} texts
   * @param {Abortable} [options]
   * @returns {Promise<(Signature | null)[]>}
   */
  async texts(texts, options = {}) {
    const given = listOf(texts, 'texts', textOf);
    const run = (/** @type {any} */ how) => of(this).many(how, given);
    return (await call(signalAlone(options), run, true)).map(orNull);
  }

  /**
   * {@link texts} at once.
   * @param {Iterable<string>} texts
   * @returns {(Signature | null)[]}
   */
  textsSync(texts) {
    return settled(of(this).many(true, listOf(texts, 'texts', textOf))).map(orNull);
  }

  /**
   * The estimated similarity of two signatures.
   * @param {Signature} a
   * @param {Signature} b
   * @returns {number}
   */
  similarity(a, b) {
    return settled(of(this).similarity(partsOf(a), partsOf(b)));
  }
}

/** @param {any[] | null} row */
function orNull(row) {
  return row === null ? null : signatureOf(row);
}

/** @param {string} text */
function textOf(text) {
  if (typeof text !== 'string') throw new TypeError('a text must be a string');
  return text;
}

/** @param {Items} items */
function itemsOf(items) {
  if (typeof items === 'string') throw new TypeError('items must be a collection, not one string');
  return listOf(documentOf(items), 'items', (item) => item);
}

/** @param {Signature} signature */
function partsOf(signature) {
  if (typeof signature !== 'object' || signature === null || !('bytes' in signature)) {
    throw new TypeError('a signature must be a Signature');
  }
  return documentOf(signature);
}

module.exports = { Signature, Sketcher, signatureOf };
