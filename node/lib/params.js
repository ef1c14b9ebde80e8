'use strict';

const { native, natives, of } = require('./load.js');
const { settled } = require('./call.js');
const { checked, listOf, settingsOf } = require('./given.js');

/** @import { Preset, Settings } from './types.js' */

/** @type {Record<keyof Settings, string>} */
const SETTINGS = {
  threshold: 'number',
  shingles: 'string',
  hashes: 'number',
  bands: 'object',
  recallTarget: 'number',
  laneBits: 'number',
  stopWords: 'object',
  common: 'string',
  bag: 'boolean',
  normalise: 'string',
  keepCase: 'boolean',
  keepSpace: 'boolean',
  noNfc: 'boolean',
  scheme: 'string',
  seed: 'bigint|number',
};

/** The seed in JSON: a number in the addon, a string for callers if it is no safe integer. */
const SEED_NUMBER = /("seed":)(\d+)/;
const SEED_TEXT = /("seed":\s*)"(\d+)"/;

/** @param {Settings} settings */
function madeOf(settings) {
  const { bands, stopWords, recallTarget, ...rest } = checked(settings, SETTINGS, 'settings');
  const asked = settingsOf({ ...rest, recall: recallTarget });
  if (bands !== undefined) asked.bands = listOf(bands, 'bands', Number).join('x');
  if (stopWords !== undefined) asked.stop_words = listOf(stopWords, 'stopWords', textOf).join(' ');
  return settled(native.NativeParams.make(asked));
}

/** @param {unknown} word */
function textOf(word) {
  if (typeof word !== 'string' || /\s/.test(word)) {
    throw new TypeError('a stop word must be a string without blanks');
  }
  return word;
}

/**
 * @param {any} made
 * @returns {Params}
 */
function paramsOf(made) {
  return new Params(made);
}

/**
 * The parameters of an index: which signature a text gets, and which documents are candidates of
 * each other. They are fixed when an index is created, and never change.
 */
class Params {
  /** @param {Settings} [settings] */
  constructor(settings = {}) {
    const made = settings instanceof native.NativeParams ? settings : madeOf(settings);
    natives.set(this, made);
    const told = JSON.parse(made.describe());
    /** The similarity for which the bands were chosen: the default threshold of queries. @type {number} */
    this.threshold = told.threshold;
    /** How documents are cut: `words:3`, `chars:5`, `items` ... @type {string} */
    this.shingles = told.shingles;
    /** Number of rows of a signature. @type {number} */
    this.hashes = told.hashes;
    /** Number of bands. @type {number} */
    this.bands = told.bands;
    /** Number of rows per band. @type {number} */
    this.rowsPerBand = told.rowsPerBand;
    /** Minimum probability that a pair at the threshold is a candidate. @type {number} */
    this.recallTarget = told.recallTarget;
    /** Bits stored per row. @type {number} */
    this.laneBits = told.laneBits;
    /** The words that are left out. @type {readonly string[]} */
    this.stopWords = Object.freeze(told.stopWords);
    /** Number of common shingles, which are left out. @type {number} */
    this.commonShingles = told.commonShingles;
    /** How texts are cut into passages, if they are. @type {string | undefined} */
    this.passages = told.passages ?? undefined;
    /** Whether a repeated shingle counts each time. @type {boolean} */
    this.bag = told.bag;
    /** How characters are normalised. @type {string} */
    this.normalise = told.normalise;
    /** Whether white space is kept. @type {boolean} */
    this.keepSpace = told.keepSpace;
    /** How shingles become rows. @type {string} */
    this.scheme = told.scheme;
    /** The seed of every hash. @type {bigint} */
    this.seed = BigInt(told.seed);
    Object.defineProperty(this, 'seed', { enumerable: false });
    /** Size of a signature in bytes. @type {number} */
    this.signatureBytes = told.signatureBytes;
    /** Signatures with equal ids are comparable. @type {bigint} */
    this.signatureId = BigInt(told.signatureId);
    /** Costs that a caller may not expect. @type {readonly string[]} */
    this.warnings = Object.freeze(told.warnings);
    Object.freeze(this);
  }

  /**
   * The settings for a purpose.
   * @param {Preset} name
   */
  static preset(name) {
    return paramsOf(settled(native.NativeParams.make(settingsOf({ preset: name }))));
  }

  /**
   * Parameters that `JSON.stringify` wrote: the text, or the parsed object.
   * @param {string | object} json
   */
  static fromJSON(json) {
    const text = typeof json === 'string' ? json : JSON.stringify(json);
    return paramsOf(settled(native.NativeParams.fromJson(text.replace(SEED_TEXT, '$1$2'))));
  }

  /**
   * All parameters, for `JSON.stringify`. A seed that is no safe integer is a string.
   * @returns {object}
   */
  toJSON() {
    const text = of(this).toJson();
    if (Number.isSafeInteger(Number(this.seed))) return JSON.parse(text);
    return JSON.parse(text.replace(SEED_NUMBER, '$1"$2"'));
  }

  /**
   * The probability that a pair of this similarity shares a band.
   * @param {number} similarity
   * @returns {number}
   */
  candidateProbability(similarity) {
    return of(this).candidateProbability(similarity);
  }

  /**
   * The probability that a query at `threshold` returns a pair of this similarity.
   * @param {number} similarity
   * @param {number} threshold
   * @returns {number}
   */
  expectedRecall(similarity, threshold) {
    return of(this).expectedRecall(similarity, threshold);
  }

  /**
   * The standard error of an estimate near this similarity.
   * @param {number} similarity
   * @returns {number}
   */
  standardError(similarity) {
    return of(this).standardError(similarity);
  }

  /**
   * How other parameters differ: a phrase per difference, none if they are equal.
   * @param {Params} other
   * @returns {string[]}
   */
  differences(other) {
    if (!(other instanceof Params)) throw new TypeError('other must be Params');
    return of(this).differences(of(other));
  }
}

module.exports = { Params, paramsOf };
