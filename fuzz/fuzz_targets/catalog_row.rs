//! Fuzzes rows of the catalog, as bytes and as values, and indexes with these rows.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nearkin::fuzzing::catalog_row(data));
