// A host without standard streams: opens an index, is talked over, and is killed. Run by
// `streams.test.mjs` with a folder. Node opens 0, 1 and 2 at its start; the program closes them.
'use strict';
const fs = require('node:fs');
const { Index, Params, Reader } = require('nearkin');

const [, , folder, how] = process.argv;
const TEXT = 'The ferry was cancelled after the harbour froze';
const seen = [];

/** Closes 0, 1 and 2, if the test asks for it, and runs the work. */
function without(work) {
  if (how === 'closed') for (const number of [0, 1, 2]) try { fs.closeSync(number); } catch { /* it is closed */ }
  const made = work();
  if (process.platform !== 'linux') return made;
  for (const number of [0, 1, 2]) {
    try {
      seen.push(fs.readlinkSync(`/proc/self/fd/${number}`));
    } catch (error) {
      if (error.code !== 'ENOENT') throw error;
    }
  }
  return made;
}

const index = without(() => Index.createSync(`${folder}/index`, new Params()));
for (let at = 0; at < 5; at++) index.insertSync(`a${at}`, TEXT);
without(() => Reader.openSync(`${folder}/index`));
without(() => index.backupSync(`${folder}/copy`));
for (const number of [0, 1, 2]) {
  try {
    fs.writeSync(number, 'warning: a library of the host prints a line that nobody reads\n');
  } catch { /* there is no stream */ }
}
for (let at = 0; at < 5; at++) index.insertSync(`b${at}`, TEXT);
fs.writeFileSync(`${folder}/seen`, JSON.stringify(seen));
process.kill(process.pid, 'SIGKILL');
