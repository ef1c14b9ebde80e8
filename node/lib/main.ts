// What the package exports, for TypeScript: its classes, and the shapes of their options and answers.
export * from '../index.js';
export * from './types.js';
