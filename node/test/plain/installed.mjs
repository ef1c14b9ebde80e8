// Runs after `installed.cjs`, in the same folder: the ES module.
import assert from 'node:assert/strict';
import { Index } from 'nearkin';

const index = await Index.open('first.nearkin');
const keys = [];
for await (const key of index.keys()) keys.push(key);
assert.deepEqual(keys, ['monday']);
await index.close();
console.log('installed, ES module: works');
