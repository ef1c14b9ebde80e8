'use strict';

// Iterators over pages, which the native part computes one at a time.

const { call, settled } = require('./call.js');
const { AbortError } = require('./errors.js');

/** @import { Signal } from './types.js' */

/**
 * An iteration whose pages are computed on the pool, each when the one before it is used up. An async
 * generator would cost several promises a value; this class costs one.
 * @template T
 * @implements {AsyncIterableIterator<T>}
 */
class Walk {
  /** @type {any} */
  #pages;
  #signal;
  #shape;
  /** @type {T[]} */
  #page = [];
  #at = 0;
  /** @type {Promise<void> | undefined} */
  #waiting;

  /**
   * @param {any} pages
   * @param {Signal | undefined} signal
   * @param {(page: any[]) => T[]} [shape] Makes values of a page as the native part gives it.
   */
  constructor(pages, signal, shape = (page) => page) {
    this.#pages = pages;
    this.#signal = signal;
    this.#shape = shape;
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  /**
   * The next value. Calls that do not wait for each other get the values in their order.
   * @returns {Promise<IteratorResult<T, undefined>>}
   */
  next() {
    if (this.#waiting) return this.#waiting.then(() => this.next());
    if (this.#pages && this.#signal?.aborted) {
      this.#end();
      return Promise.reject(new AbortError(this.#signal.reason));
    }
    if (this.#at < this.#page.length || !this.#pages) return Promise.resolve(this.#take());
    const turned = this.#turn();
    const settle = () => {
      this.#waiting = undefined;
    };
    this.#waiting = turned.then(settle, settle);
    return turned.then(() => this.#take());
  }

  /** Ends the iteration, as `break` does. @returns {Promise<IteratorResult<T, undefined>>} */
  async return() {
    this.#end();
    return { done: true, value: undefined };
  }

  async #turn() {
    const pages = this.#pages;
    try {
      const run = (/** @type {any} */ how) => pages.next(how);
      this.#page = this.#shape(await call(this.#signal, run, true));
    } catch (error) {
      this.#end();
      throw error;
    }
    // The iteration may have been ended meanwhile.
    if (this.#page.length === 0 || !this.#pages) this.#end();
    this.#at = 0;
  }

  #end() {
    this.#pages = undefined;
    this.#page = [];
  }

  /** @returns {IteratorResult<T, undefined>} */
  #take() {
    if (this.#at >= this.#page.length) return { done: true, value: undefined };
    return { done: false, value: this.#page[this.#at++] };
  }
}

/**
 * @param {any} pages
 * @param {(page: any[]) => any[]} [shape]
 * @returns {Generator<any, void, void>}
 */
function* walkSync(pages, shape = (page) => page) {
  for (;;) {
    const page = shape(settled(pages.next(true)));
    if (page.length === 0) return;
    yield* page;
  }
}

module.exports = { Walk, walkSync };
