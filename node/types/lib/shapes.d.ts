/**
 * @param {any[][]} rows
 * @returns {Admission<any>[]}
 */
export function admissionsOf(rows: any[][]): Admission<any>[];
/**
 * @param {any[]} row
 * @returns {Answer<any>}
 */
export function answerOf(row: any[]): Answer<any>;
/**
 * @param {any[][]} rows
 * @returns {Cluster<any>[]}
 */
export function clustersOf(rows: any[][]): Cluster<any>[];
/**
 * @param {any[]} row
 * @returns {Pair<any>[]}
 */
export function pairsOf(row: any[]): Pair<any>[];
/**
 * @param {any[]} row
 * @returns {Verification}
 */
export function verificationOf([ok, documents, problems]: any[]): Verification;
/**
 * @param {any[]} row
 * @returns {Written}
 */
export function writtenOf([change, outcomes]: any[]): Written;
import type { Admission } from './types.js';
import type { Answer } from './types.js';
import type { Cluster } from './types.js';
import type { Pair } from './types.js';
import type { Verification } from './types.js';
import type { Written } from './types.js';
