//! Fuzzes WAL replay with records, gaps and damage, and compares with the rules in the
//! specification.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nearkin::fuzzing::wal_replay(data));
