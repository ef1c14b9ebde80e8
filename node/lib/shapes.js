'use strict';

// Objects of the flat arrays that the native part makes: here they are made many times faster.

/** @import { Admission, Answer, Match, Pair } from './types.js' */

const EMPTY = Buffer.alloc(0);
const MATCH_FIELDS = 7;
const PAIR_FIELDS = 5;

/**
 * @param {any[]} flat
 * @returns {Match<any>[]}
 */
function matchesOf(flat) {
  const matches = [];
  for (let at = 0; at < flat.length; at += MATCH_FIELDS) {
    /** @type {Match<any>} */
    const match = {
      key: flat[at],
      payload: flat[at + 1] ?? EMPTY,
      timeMs: flat[at + 2],
      similarity: flat[at + 3],
      standardError: flat[at + 4],
      equalRows: flat[at + 5],
    };
    if (flat[at + 6] !== undefined) match.contained = flat[at + 6];
    matches.push(match);
  }
  return matches;
}

/**
 * @param {any} answer
 * @returns {Answer<any>}
 */
function answerOf(answer) {
  answer.matches = matchesOf(answer.matches);
  return answer;
}

/**
 * @param {any[]} all
 * @returns {Admission<any>[]}
 */
function admissionsOf(all) {
  for (const admission of all) {
    for (const name of ['duplicates', 'related', 'removed']) {
      admission[name] = matchesOf(admission[name]);
    }
  }
  return all;
}

/**
 * @param {any[]} flat
 * @returns {Pair<any>[]}
 */
function pairsOf(flat) {
  const pairs = [];
  for (let at = 0; at < flat.length; at += PAIR_FIELDS) {
    /** @type {Pair<any>} */
    const pair = {
      a: flat[at],
      b: flat[at + 1],
      similarity: flat[at + 2],
      equalRows: flat[at + 3],
    };
    if (flat[at + 4] !== undefined) pair.contained = flat[at + 4];
    pairs.push(pair);
  }
  return pairs;
}

module.exports = { admissionsOf, answerOf, pairsOf };
