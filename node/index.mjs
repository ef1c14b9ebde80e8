// The ES module: the same objects as `require('nearkin')` gives.
import nearkin from './index.js';

export const {
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
} = nearkin;
