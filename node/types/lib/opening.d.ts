/**
 * Whether there is an index in this folder.
 * @param {string} path
 * @returns {Promise<boolean>}
 */
export function exists(path: string): Promise<boolean>;
/**
 * {@link exists} at once.
 * @param {string} path
 * @returns {boolean}
 */
export function existsSync(path: string): boolean;
/**
 * @param {string} what
 * @param {string} path
 * @param {Params | undefined} params
 * @param {any} options
 * @param {any} how
 */
export function opened(what: string, path: string, params: Params | undefined, options: any, how: any): any;
/** The version of the engine. @type {string} */
export const version: string;
import { Params } from "./params.js";
