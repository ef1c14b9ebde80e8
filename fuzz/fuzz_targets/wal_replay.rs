//! WAL replay: records, gaps and damage, against the document's rules.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nearkin::fuzzing::wal_replay(data));
