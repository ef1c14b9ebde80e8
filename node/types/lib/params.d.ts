/**
 * The parameters of an index: which signature a text gets, and which documents are candidates of
 * each other. They are fixed when an index is created, and never change.
 */
export class Params {
    /**
     * The settings for a purpose.
     * @param {Preset} name
     */
    static preset(name: Preset): Params;
    /**
     * Parameters that `JSON.stringify` wrote: the text, or what it was parsed to.
     * @param {string | object} json
     */
    static fromJSON(json: string | object): Params;
    /** @param {Settings} [settings] */
    constructor(settings?: Settings);
    /** The similarity for which the bands were chosen: the default threshold of queries. @type {number} */
    threshold: number;
    /** How documents are cut: `words:3`, `chars:5`, `items` ... @type {string} */
    shingles: string;
    /** Number of rows of a signature. @type {number} */
    hashes: number;
    /** Number of bands. @type {number} */
    bands: number;
    /** Number of rows per band. @type {number} */
    rowsPerBand: number;
    /** Minimum probability that a pair at the threshold is a candidate. @type {number} */
    recallTarget: number;
    /** Bits stored per row. @type {number} */
    laneBits: number;
    /** The words that are left out. @type {readonly string[]} */
    stopWords: readonly string[];
    /** How texts are cut into passages, if they are. @type {string | undefined} */
    passages: string | undefined;
    /** Whether a repeated shingle counts each time. @type {boolean} */
    bag: boolean;
    /** How characters are normalised. @type {string} */
    normalise: string;
    /** Whether white space is kept. @type {boolean} */
    keepSpace: boolean;
    /** How shingles become rows. @type {string} */
    scheme: string;
    /** The seed of every hash. @type {bigint} */
    seed: bigint;
    /** Size of a signature in bytes. @type {number} */
    signatureBytes: number;
    /** Signatures with equal ids are comparable. @type {bigint} */
    signatureId: bigint;
    /** Costs that a caller may not expect. @type {readonly string[]} */
    warnings: readonly string[];
    /**
     * All parameters, for `JSON.stringify`. A seed that is no safe integer is a string.
     * @returns {object}
     */
    toJSON(): object;
    /**
     * The probability that a pair of this similarity shares a band.
     * @param {number} similarity
     * @returns {number}
     */
    candidateProbability(similarity: number): number;
    /**
     * The probability that a query at `threshold` returns a pair of this similarity.
     * @param {number} similarity
     * @param {number} threshold
     * @returns {number}
     */
    expectedRecall(similarity: number, threshold: number): number;
    /**
     * The standard error of an estimate near this similarity.
     * @param {number} similarity
     * @returns {number}
     */
    standardError(similarity: number): number;
    /**
     * How other parameters differ: a phrase per difference, none if they are equal.
     * @param {Params} other
     * @returns {string[]}
     */
    differences(other: Params): string[];
}
/**
 * @param {any} made
 * @returns {Params}
 */
export function paramsOf(made: any): Params;
import type { Preset } from './types.js';
import type { Settings } from './types.js';
