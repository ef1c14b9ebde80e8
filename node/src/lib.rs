//! The native part of the Node package: conversions and calls, no algorithm. `lib/*.js` is the
//! public API over it; it checks types, makes errors and iterators, and watches `AbortSignal`s.
//!
//! Every method that may wait takes `how`: with `true` it works at once; otherwise it returns a
//! promise, and its work runs on libuv's pool, except brief queries (`brief.rs`). A failure is a
//! value, `Failure`, which JavaScript throws.

mod brief;
mod documents;
mod failure;
mod handle;
mod job;
mod keys;
mod numbers;
mod options;
mod pages;
mod params;
mod shown;
mod upkeep;
mod writing;
