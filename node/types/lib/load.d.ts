/** The native part of each object, which nobody else can reach. @type {WeakMap<object, any>} */
export const natives: WeakMap<object, any>;
/**
 * The native part of an object.
 * @param {object} object
 * @returns {any}
 */
export function of(object: object): any;
/** The name of this platform, such as `linux-x64-gnu`. */
export function platform(): string;
export declare let native: any;
