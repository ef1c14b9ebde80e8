'use strict';

// Finds the native addon: beside this folder (a build from source), or in the package of this
// platform, which npm installs as an optional dependency.

/** The name of this platform, such as `linux-x64-gnu`. */
function platform() {
  const { platform: system, arch } = process;
  if (system === 'win32') return `win32-${arch}-msvc`;
  if (system !== 'linux') return `${system}-${arch}`;
  /** @type {any} */
  const report = process.report?.getReport();
  const { glibcVersionRuntime } = (typeof report === 'string' ? JSON.parse(report) : report).header;
  return `linux-${arch}-${glibcVersionRuntime ? 'gnu' : 'musl'}`;
}

/** @returns {any} */
function load() {
  const name = platform();
  const tried = [];
  for (const path of [`../nearkin.${name}.node`, `nearkin-${name}`]) {
    try {
      return require(path);
    } catch (error) {
      tried.push(`${path}: ${/** @type {Error} */ (error).message.split('\n')[0]}`);
    }
  }
  throw new Error(
    `nearkin finds no native addon for ${name}. Leave nearkin out of a bundle (external), install it ` +
      `without --omit=optional, or build it from source: see NODE.md. Tried ${tried.join('; ')}`,
  );
}

/** The native part of each object, which nobody else can reach. @type {WeakMap<object, any>} */
const natives = new WeakMap();

/**
 * The native part of an object.
 * @param {object} object
 * @returns {any}
 */
function of(object) {
  const found = natives.get(object);
  if (found === undefined) throw new TypeError('this is no object of nearkin');
  return found;
}

module.exports = { native: load(), natives, of, platform };
