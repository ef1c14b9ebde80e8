'use strict';

// The public names of the package. `import` finds them, too: keep this one plain object.

const { AbortError, NearkinError } = require('./lib/errors.js');
const { Index } = require('./lib/writer.js');
const { Params } = require('./lib/params.js');
const { Readable, Snapshot } = require('./lib/readable.js');
const { Reader } = require('./lib/reader.js');
const { Signature, Sketcher } = require('./lib/sketcher.js');
const { exists, existsSync, version } = require('./lib/opening.js');

module.exports = {
  AbortError,
  Index,
  NearkinError,
  Params,
  Readable,
  Reader,
  Signature,
  Sketcher,
  Snapshot,
  exists,
  existsSync,
  version,
};
