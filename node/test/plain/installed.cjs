// Runs in an empty folder in which the tarballs were installed: CommonJS.
'use strict';
const assert = require('node:assert/strict');
const { Index, Params } = require('nearkin');

const index = Index.createSync('first.nearkin', new Params());
index.insertSync('monday', 'The ferry was cancelled after the harbour froze');
const { matches } = index.querySync('the ferry was cancelled, after the harbour froze!');
assert.equal(matches[0].key, 'monday');
index.closeSync();
assert.ok(require.resolve('nearkin').startsWith(__dirname), 'the installed package is tested');
console.log('installed, CommonJS: works');
