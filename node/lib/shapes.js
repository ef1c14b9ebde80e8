'use strict';

// Makes objects of the arrays of the native part: many times faster than N-API does.

/** @import { Admission, Answer, Cluster, Match, Pair, Verification, Written } from './types.js' */

const EMPTY = Buffer.alloc(0);
const ANSWER_FIELDS = 4;
const MATCH_FIELDS = 7;
const PAIR_FIELDS = 5;

/**
 * @param {any[]} row
 * @param {number} first Where the matches begin.
 * @returns {Match<any>[]}
 */
function matchesOf(row, first) {
  const matches = [];
  for (let at = first; at < row.length; at += MATCH_FIELDS) {
    /** @type {Match<any>} */
    const match = {
      key: row[at],
      payload: row[at + 1] ?? EMPTY,
      timeMs: row[at + 2],
      similarity: row[at + 3],
      standardError: row[at + 4],
      equalRows: row[at + 5],
    };
    if (row[at + 6] !== undefined) match.contained = row[at + 6];
    matches.push(match);
  }
  return matches;
}

/**
 * @param {any[]} row
 * @returns {Answer<any>}
 */
function answerOf(row) {
  const [found, threshold, complete, change] = row;
  return { matches: matchesOf(row, ANSWER_FIELDS), found, threshold, complete, change };
}

/**
 * @param {any[][]} rows
 * @returns {Admission<any>[]}
 */
function admissionsOf(rows) {
  return rows.map(([decision, duplicates, related, removed, complete, change]) => ({
    decision,
    duplicates: matchesOf(duplicates, 0),
    related: matchesOf(related, 0),
    removed: matchesOf(removed, 0),
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
