'use strict';

// Makes objects of the arrays and bytes of the native part: many times faster than N-API does.

/** @import { Admission, Answer, Cluster, Match, Pair, Verification, Written } from './types.js' */

const EMPTY = Buffer.alloc(0);
const ANSWER_FIELDS = 4;
const MATCH_FIELDS = 7;
const PAIR_FIELDS = 5;

/**
 * The numbers that bytes of the native part begin with.
 * @param {Buffer} bytes
 */
function numbersOf({ buffer, byteOffset, length }) {
  return new Float64Array(buffer, byteOffset, Math.trunc(length / 8));
}

/**
 * A copy with memory of its own.
 * @param {Buffer} bytes
 * @param {number} first
 * @param {number} end
 */
function copyOf(bytes, first, end) {
  const copy = Buffer.allocUnsafeSlow(end - first);
  bytes.copy(copy, 0, first, end);
  return copy;
}

/**
 * Matches: `flat` in `src/shown.rs` describes the bytes.
 * @param {Buffer} bytes
 * @param {Float64Array} numbers The numbers that the bytes begin with.
 * @param {number} first Where the numbers of the matches begin.
 * @returns {Match<any>[]}
 */
function matchesIn(bytes, numbers, first) {
  const count = numbers[first];
  let at = first + 3;
  let blob = 8 * (at + count * MATCH_FIELDS);
  const end = blob + numbers[first + 1];
  const keys = bytes.toString(numbers[first + 2] ? 'latin1' : 'utf8', blob, end);
  blob = end;
  let unit = 0;
  const matches = [];
  for (let match = 0; match < count; match++, at += MATCH_FIELDS) {
    const length = numbers[at + 5];
    let key;
    if (length >= 0) {
      key = keys.substring(unit, unit + length);
      unit += length;
    } else {
      key = copyOf(bytes, blob, blob - length - 1);
      blob -= length + 1;
    }
    const size = numbers[at + 6];
    /** @type {Match<any>} */
    const found = {
      key,
      payload: size === 0 ? EMPTY : copyOf(bytes, blob, blob + size),
      timeMs: numbers[at],
      similarity: numbers[at + 1],
      standardError: numbers[at + 2],
      equalRows: numbers[at + 3],
    };
    if (numbers[at + 4] >= 0) found.contained = numbers[at + 4];
    blob += size;
    matches.push(found);
  }
  return matches;
}

/**
 * @param {Buffer | undefined} bytes
 * @returns {Match<any>[]}
 */
function matchesOf(bytes) {
  return bytes === undefined ? [] : matchesIn(bytes, numbersOf(bytes), 0);
}

/**
 * @param {Buffer} bytes
 * @param {Float64Array} [numbers]
 * @returns {Answer<any>}
 */
function answerOf(bytes, numbers = numbersOf(bytes)) {
  return {
    matches: matchesIn(bytes, numbers, ANSWER_FIELDS),
    found: numbers[0],
    threshold: numbers[1],
    complete: numbers[2] === 1,
    change: numbers[3],
  };
}

/**
 * @param {any[][]} rows
 * @returns {Admission<any>[]}
 */
function admissionsOf(rows) {
  return rows.map(([decision, duplicates, related, removed, complete, change]) => ({
    decision,
    duplicates: matchesOf(duplicates),
    related: matchesOf(related),
    removed: matchesOf(removed),
    complete,
    change,
  }));
}

/**
 * @param {any[]} row
 * @returns {Pair<any>[]}
 */
function pairsOf(row) {
  const pairs = [];
  for (let at = 0; at < row.length; at += PAIR_FIELDS) {
    /** @type {Pair<any>} */
    const pair = {
      a: row[at],
      b: row[at + 1],
      similarity: row[at + 2],
      equalRows: row[at + 3],
    };
    if (row[at + 4] !== undefined) pair.contained = row[at + 4];
    pairs.push(pair);
  }
  return pairs;
}

/**
 * @param {any[][]} rows
 * @returns {Cluster<any>[]}
 */
function clustersOf(rows) {
  return rows.map(([representative, keys, timesMs]) => ({ representative, keys, timesMs }));
}

/**
 * @param {any[]} row
 * @returns {Written}
 */
function writtenOf([change, outcomes]) {
  return { change, outcomes };
}

/**
 * @param {any[]} row
 * @returns {Verification}
 */
function verificationOf([ok, documents, problems]) {
  return { ok, documents, problems };
}

/**
 * JSON of the engine, whose names are in snake_case, as an object with names in camelCase.
 * @param {string} text
 * @returns {any}
 */
function objectOf(text) {
  const camel = (/** @type {string} */ name) =>
    name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
  return JSON.parse(text, (_, value) => {
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, of]) => [camel(name), of]));
  });
}

module.exports = {
  admissionsOf,
  answerOf,
  clustersOf,
  objectOf,
  pairsOf,
  verificationOf,
  writtenOf,
};
