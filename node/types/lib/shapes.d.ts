/**
 * @param {any[]} all
 * @returns {Admission<any>[]}
 */
export function admissionsOf(all: any[]): Admission<any>[];
/**
 * @param {any} answer
 * @returns {Answer<any>}
 */
export function answerOf(answer: any): Answer<any>;
/**
 * @param {any[]} flat
 * @returns {Pair<any>[]}
 */
export function pairsOf(flat: any[]): Pair<any>[];
import type { Admission } from './types.js';
import type { Answer } from './types.js';
import type { Pair } from './types.js';
