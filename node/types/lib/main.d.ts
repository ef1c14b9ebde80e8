export * from '../index.js';
export type * from './types.js';
