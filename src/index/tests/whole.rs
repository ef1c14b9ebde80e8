//! Imported signatures with whole rows, in lanes of 32 and 64 bits: what copies of an index hold,
//! and rebuilding with other lanes. The model compares their answers with brute force.

use super::copies::{answers, options};
use crate::{Batch, Index, Params, Reader, Scheme, Signature};
use std::collections::BTreeMap;
use std::path::Path;

const HASHES: usize = 70;

fn params(lane_bits: u32) -> Params {
    let scheme = Scheme::external("datasketch-seed1").expect("a name");
    let builder = Params::for_threshold(0.5).scheme(scheme).hashes(HASHES).bands(17, 4);
    builder.lane_bits(lane_bits).build().expect("valid")
}

/// The rows of a document. On average, at least half of them are those of its family. The others
/// differ from the rows of the family in the top bit, in bit 7, or in both; two families differ in
/// the lowest bits.
fn rows(lane_bits: u32, document: u64) -> Vec<u64> {
    let (family, top) = (document / 8, u64::from(lane_bits) - 1);
    let mut random = document.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut below = |end: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) % end
    };
    let row = |at: u64| {
        let own = if below(8) <= document % 8 / 2 { below(4) } else { 0 };
        at << 8 ^ family ^ (own & 1) << top ^ (own >> 1) << 7
    };
    (0..70).map(row).collect()
}

fn filled(dir: &Path, lane_bits: u32) -> (Index, BTreeMap<u64, Vec<u64>>) {
    let params = params(lane_bits);
    let index = Index::create(dir, &params, options()).expect("created");
    let mut all = BTreeMap::new();
    for part in 0..4 {
        let documents: Vec<u64> = (0..200).filter(|document| document % 4 == part).collect();
        let mut batch = Batch::new();
        for document in &documents {
            let rows = rows(lane_bits, *document);
            let signature = Signature::from_rows(&params, &rows, 0).expect("rows");
            batch = batch.insert(*document, &signature);
            all.insert(*document, rows);
        }
        index.write(batch).expect("written");
        if part < 3 {
            index.flush().expect("flushed");
        }
    }
    for document in (0..200).step_by(7) {
        index.remove(document).expect("removed");
        all.remove(&document);
    }
    (index, all)
}

#[test]
fn whole_rows_are_the_same_in_every_copy() {
    for bits in [32, 64] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let (index, all) = filled(&path("index"), bits);
        let before = answers(&index.snapshot());
        index.backup(path("copy")).expect("backed up");
        index.compact().expect("compacted");
        assert_eq!(answers(&index.snapshot()), before);
        assert!(index.verify().expect("verified").problems.is_empty());
        let copy = Reader::open(path("copy"), options()).expect("opened");
        assert_eq!(answers(&copy.snapshot()), before);
        drop(index);
        let index = Index::open(path("index"), options()).expect("opened");
        assert_eq!((index.params(), answers(&index.snapshot())), (&params(bits), before.clone()));
        index.close().expect("closed");
        let salvaged =
            Index::salvage(path("index"), path("salvaged"), None, options()).expect("salvaged");
        assert_eq!(salvaged.documents, all.len() as u64);
        let index = Index::open(path("salvaged"), options()).expect("opened");
        assert_eq!(answers(&index.snapshot()), before);
    }
}

#[test]
fn an_index_of_whole_rows_is_rebuilt_with_other_lanes() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let (index, all) = filled(&path("index"), 32);
    for bits in [8, 16, 64] {
        let out = path(&format!("{bits}"));
        let to = params(bits);
        let count = Index::rebuild(&index.snapshot(), &out, &to, options()).expect("rebuilt");
        assert_eq!(count, all.len() as u64);
        let rebuilt = Index::open(&out, options()).expect("opened");
        for (document, rows) in &all {
            let stored = rebuilt.signature(*document).expect("read").expect("there");
            assert_eq!(stored, Signature::from_rows(&to, rows, 0).expect("rows"), "{bits}");
            assert!(bits < 64 || stored.rows().eq(rows.iter().copied()));
        }
    }
    let wide = Index::open(path("64"), options()).expect("opened");
    let refused = Index::rebuild(&wide.snapshot(), path("x"), &params(32), options());
    let message = refused.expect_err("refused").to_string();
    assert!(message.contains("lane bits: 64 here, 32 asked"), "{message}");
    let own = Params::builder().build().expect("valid");
    let refused = Index::rebuild(&wide.snapshot(), path("x"), &own, options());
    assert_eq!(refused.expect_err("refused").kind(), crate::ErrorKind::Mismatch);
}
