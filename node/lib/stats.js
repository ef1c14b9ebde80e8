'use strict';

/** @import { Stats } from './types.js' */

/**
 * The numbers of the engine, with names in camelCase.
 * @param {any} text
 * @returns {Stats}
 */
function statsOf(text) {
  const camel = (/** @type {string} */ name) =>
    name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
  return JSON.parse(text, (_, value) => {
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, of]) => [camel(name), of]));
  });
}

module.exports = { statsOf };
