// The shapes of options and answers.

import type { Signature } from './sketcher.js';

/** A key as given: 1 to 4,096 bytes. A string stands for its UTF-8. */
export type Key = string | Uint8Array;

/** A set, for indexes with `shingles: 'items'`. */
export type Items = Iterable<string | Uint8Array>;

/** A document as given: a text, a set of items, or a signature. */
export type Document = string | Items | Signature;

/** A time: a `Date`, or milliseconds since 1970. */
export type Time = Date | number;

/** A path as `node:fs` takes it: a string, a `Buffer`, or a `URL` of a file. */
export type Path = string | Uint8Array | { readonly href: string; readonly protocol: string };

/**
 * A `Buffer`. To a program without `@types/node` it is a `Uint8Array`: these types need no other
 * package.
 */
export type NodeBuffer = typeof globalThis extends { Buffer: { alloc(size: number): infer B } }
  ? B extends Uint8Array ? B : Uint8Array
  : Uint8Array;

/** An `AbortSignal`, whichever library declares it. */
export interface Signal {
  readonly aborted: boolean;
  readonly reason?: any;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

declare global {
  // What `using` and `await using` call; libraries before ES2026 do not have it.
  interface SymbolConstructor {
    readonly dispose: unique symbol;
    readonly asyncDispose: unique symbol;
  }
}

/** What kind of keys an index shows: strings (the default), or buffers. */
export type KeyKind = 'string' | 'buffer';

/** The type of keys in answers. */
export type ShownKey<T extends KeyKind> = T extends 'buffer' ? NodeBuffer : string;

/** Stops a call. Its promise is rejected with an `AbortError`. */
export interface Abortable {
  /** A call that was aborted before its work began has changed nothing. */
  signal?: Signal;
}

/** The settings of parameters: those of `nearkin.Params` in Python. */
export interface Settings {
  /** The similarity from which documents shall be found. Default: 0.7. */
  threshold?: number;
  /** How documents are cut: `words:3` (the default), `chars:5`, `tokens:4`, `lines:1`, `items`. */
  shingles?: string;
  /** Number of rows of a signature. */
  hashes?: number;
  /** Number of bands, and of rows per band; chosen by the threshold if it is missing. */
  bands?: [number, number];
  /** Minimum probability that a pair at the threshold is a candidate. Default: 0.95. */
  recallTarget?: number;
  /** Bits stored per row: 8 or 16. */
  laneBits?: number;
  /** Words that are left out. */
  stopWords?: Iterable<string>;
  /** Common shingles that are left out: what `nearkin tune --ignore-common SHARE --out FILE` wrote. */
  common?: string;
  /** Whether a repeated shingle counts each time. */
  bag?: boolean;
  /** `fold` (the default for texts), `case`, `nfc`, `lower` or `none`; `fold` takes options. */
  normalise?: string;
  /** Whether upper-case letters are kept. */
  keepCase?: boolean;
  /** Whether white space is kept as it is. */
  keepSpace?: boolean;
  /** Whether Unicode's form C is skipped. */
  noNfc?: boolean;
  /** `fast` (the default), `textbook` or `external:NAME`. */
  scheme?: string;
  /** The seed of every hash. */
  seed?: bigint | number;
}

/** The name of a purpose, whose settings were measured: see TUNING.md. */
export type Preset = 'documents' | 'archive' | 'training' | 'short' | 'records' | 'code' | 'quotes';

/** How a reader is opened. */
export interface ReaderOptions<T extends KeyKind = 'string'> {
  /** `mmap` (the default) or `pread`. */
  readMode?: 'mmap' | 'pread';
  /** Whether answers show keys as strings (the default) or as buffers. */
  keys?: T;
}

/** How an index is opened. */
export interface OpenOptions<T extends KeyKind = 'string'> extends ReaderOptions<T> {
  /**
   * What a write promises when it returns: `sync` (the default) survives power loss, `os` a crash
   * of the program; a number is the maximum age, in milliseconds, of writes that may be lost.
   */
  durability?: 'sync' | 'os' | number;
  /** Documents older than this many milliseconds are removed. Default: never. */
  ttlMs?: number;
  /**
   * Memory of the open index on a small machine, at least 4 MiB: see the library's
   * `Options::memory_bytes_max`.
   */
  memoryBytes?: number;
  /** Maximum memory for documents that are in no segment yet; counts more than `memoryBytes`. */
  memtableBytes?: number;
  /** Whether other processes write, too, each with a shared handle: they take turns. */
  shared?: boolean;
  /** How long an opening, or a shared handle for its turn, waits for the lock, in milliseconds. */
  lockWaitMs?: number;
  /**
   * Called on the event loop with flushes, compactions, expiry, failures of maintenance and long waits of
   * writers, soon after they happened. Events alone do not keep the process running.
   */
  onEvent?: (event: IndexEvent) => void;
}

/** What an index tells of its maintenance. */
export interface IndexEvent {
  /** The event; later versions may add some. */
  kind: 'Recovered' | 'Flushed' | 'CompactionBegun' | 'Compacted' | 'Expired' | 'MaintenanceFailed'
    | 'WriterStalled' | 'Poisoned' | 'LockLost' | (string & {});
  /** The event in words. */
  message: string;
}

/** The options of a query: its conditions. */
export interface QueryOptions {
  /** Minimum similarity. Default: the threshold of the index, and 0 with `contained`. */
  threshold?: number;
  /** Minimum share of the smaller document that the larger one contains. */
  contained?: number;
  /** Maximum number of matches, most similar first. Give one in a server. */
  limit?: number;
  /** Maximum number of candidates that are compared; `complete` says whether that was all. */
  maxCandidates?: number;
  /** Maximum time, in milliseconds; `complete` says whether it was enough. */
  deadlineMs?: number;
  /** Only documents that were inserted or last replaced at this time or later. */
  after?: Time;
  /** Only documents that were inserted or last replaced before this time. */
  before?: Time;
  /** Only documents whose keys begin with this: a tenant's part of the index. */
  prefix?: Key;
}

/** The options of pairs and clusters. Both documents of a pair must pass its conditions. */
export interface PairOptions extends Omit<QueryOptions, 'maxCandidates'> {
  /** Maximum number: of pairs, in no particular order; of clusters, those with the smallest keys. */
  limit?: number;
  /** Maximum time since the call, in milliseconds: then the iteration fails, as cancelled. */
  deadlineMs?: number;
}

/** A similar document. */
export interface Match<K = string> {
  key: K;
  /** The bytes stored with it. */
  payload: NodeBuffer;
  /** When it was written, in milliseconds since 1970. */
  timeMs: number;
  /** The estimated similarity. */
  similarity: number;
  /** The standard error of the estimate. */
  standardError: number;
  equalRows: number;
  /** The estimated containment, if it was asked for. */
  contained?: number;
}

/** The answer to a query: most similar first, ties by key. */
export interface Answer<K = string> {
  matches: Match<K>[];
  /** Number of matches without the limit. */
  found: number;
  threshold: number;
  /** False if a bound or a time limit ended the search early. */
  complete: boolean;
  /** The last change that the query saw. */
  change: number;
}

/** A stored document. */
export interface StoredDocument<K = string> {
  key: K;
  payload: NodeBuffer;
  /** When it was written, in milliseconds since 1970. */
  timeMs: number;
  signature: Signature;
}

/** Two similar documents; `a` is before `b` in the order of bytes. */
export interface Pair<K = string> {
  a: K;
  b: K;
  similarity: number;
  equalRows: number;
  contained?: number;
}

/** Documents linked by pairs. */
export interface Cluster<K = string> {
  /** The key that stands for the cluster. */
  representative: K;
  keys: K[];
  /** When each document was written, in milliseconds since 1970. */
  timesMs: number[];
}

/** The outcome of an edit. */
export type Outcome =
  | 'inserted' | 'replaced' | 'unchanged' | 'removed' | 'missing' | 'superseded';

/** What is stored with a document. */
export interface InsertOptions {
  /** Up to 64 KiB. Without one a stored payload is kept; an empty one clears it. */
  payload?: string | Uint8Array;
  /** The document's time. Default: now. */
  time?: Time;
}

/** A document with its key. */
export interface Newcomer extends InsertOptions {
  key: Key;
  document: Document;
}

/** One edit of a batch: an insert, a new payload, or a removal. */
export type Edit =
  | Newcomer
  | { key: Key; payload: string | Uint8Array }
  | { key: Key; remove: true };

/** The result of a batch. */
export interface Written {
  /** The number of the change. */
  change: number;
  /** One outcome per edit. */
  outcomes: Outcome[];
}

/** The options of an admission. */
export interface AdmitOptions extends Omit<QueryOptions, 'threshold'> {
  /** A stored document of at least this similarity rejects the newcomer. Default: the threshold. */
  reject?: number;
  /** Documents of at least this similarity are returned as `related`. */
  relate?: number;
  /** Which stays: the stored document (`first`, the default), the newcomer, or the longer one. */
  keep?: 'first' | 'newest' | 'longest' | 'all';
  /** A tenant's part of the index: only documents with this prefix count, and keys must have it. */
  prefix?: Key;
  /** Maximum time, in milliseconds: then the call fails and that newcomer is not written. */
  deadlineMs?: number;
}

/** The result of an admission. */
export interface Admission<K = string> {
  /** `replaced` and `unchanged`: it was admitted, and its key already had a document. */
  decision: 'admitted' | 'replaced' | 'unchanged' | 'rejected';
  /** The stored documents that caused the rejection. */
  duplicates: Match<K>[];
  related: Match<K>[];
  /** The stored documents that the newcomer replaced. */
  removed: Match<K>[];
  /** False if `maxCandidates` ended the search early: a duplicate may have been missed. */
  complete: boolean;
  change: number;
}

/** The result of a verification. */
export interface Verification {
  ok: boolean;
  documents: number;
  /** All damage, each with its file and place. */
  problems: string[];
}

/** The state of an index in numbers. */
export interface Stats {
  documents: number;
  /** Dead documents that still take space. */
  dead: number;
  segments: number;
  memtableDocuments: number;
  memtableBytes: number;
  /** The handle's own memory: the memtable, and the filter over small segments. */
  ownBytes: number;
  /** Bytes of segments that are mapped; their pages belong to the page cache. */
  mappedBytes: number;
  bytesOnDisk: number;
  change: number;
  durableChange: number;
  floor: number;
  bytesRead: number;
  bytesWritten: number;
  syncs: number;
  snapshotsPinning: number;
  unicodeCreated: string;
  unicode: string;
  recovery: Record<string, unknown>;
  /** The error of the last maintenance, if it failed. */
  maintenanceFailure: string | null;
}

/** What to do about an error: see ERRORS in NODE.md. */
export type ErrorCode =
  | 'NEARKIN_INVALID' | 'NEARKIN_EMPTY' | 'NEARKIN_NOT_FOUND' | 'NEARKIN_NO_SUCH_KEY'
  | 'NEARKIN_EXISTS' | 'NEARKIN_MISMATCH' | 'NEARKIN_LOCKED' | 'NEARKIN_UNSETTLED'
  | 'NEARKIN_UNSUPPORTED' | 'NEARKIN_CORRUPT' | 'NEARKIN_IO' | 'NEARKIN_UNKNOWN'
  | 'NEARKIN_POISONED' | 'NEARKIN_CLOSED' | 'NEARKIN_CANCELLED' | 'NEARKIN_OTHER'
  | 'NEARKIN_BUG';
