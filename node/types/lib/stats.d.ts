/** @import { Stats } from './types.js' */
/**
 * The numbers of the engine, with names in camelCase.
 * @param {any} text
 * @returns {Stats}
 */
export function statsOf(text: any): Stats;
import type { Stats } from './types.js';
