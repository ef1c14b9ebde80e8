export * from './types/lib/main.js';
