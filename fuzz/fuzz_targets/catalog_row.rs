//! Fuzzes rows of the catalog, by changing bytes or fields, and opens indexes with these rows.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| nearkin::fuzzing::catalog_row(data));
