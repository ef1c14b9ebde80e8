//! The sample of comparisons (`sample_comparisons`): it counts what queries compare, stays within
//! its bounds, and distinguishes band tables that amount to a scan from a crowd of documents that
//! really are similar.

use crate::index::state::options::{Durability, Maintenance};
use crate::{Comparisons, Index, Options, Params, Shingles, Signature};

fn index(dir: &std::path::Path) -> Index {
    let builder = Params::for_threshold(0.5).shingles(Shingles::Items).hashes(64);
    let params = builder.bands(16, 4).build().unwrap();
    let options =
        Options::default().durability(Durability::OsBuffer).maintenance(Maintenance::Inline);
    Index::create(dir, &params, options).unwrap()
}

/// A signature whose first `equal` rows do not depend on `number`. (8 rows are two bands.)
fn signature(index: &Index, number: u8, equal: usize) -> Signature {
    let row = |row| if row < equal { 7 } else { number };
    let rows: Vec<u8> = (0..64).map(row).collect();
    Signature::from_bytes(index.params(), &rows, 100).unwrap()
}

fn sampled(index: &Index) -> Comparisons {
    index.snapshot().sample_comparisons().unwrap()
}

#[test]
fn comparisons_are_counted_as_brute_force_counts_them() {
    let dir = tempfile::tempdir().unwrap();
    let index = index(&dir.path().join("x"));
    assert_eq!(sampled(&index), Comparisons::default());
    // Two segments and a memtable. All documents with odd numbers share bands with each other.
    let equal = |number: u8| [0, 8, 0, 60][usize::from(number % 4)];
    for number in 10..34 {
        index.insert([number], &signature(&index, number, equal(number))).unwrap();
        if number == 17 || number == 25 {
            index.flush().unwrap();
        }
    }
    index.remove([11]).unwrap();
    let mut expected = Comparisons { documents: 23, ..Comparisons::default() };
    for number in (10..34).step_by(3) {
        expected.queries += 1;
        let others = (10..34).filter(|other| *other != number && *other != 11);
        for other in others.filter(|other| equal(*other).min(equal(number)) > 0) {
            expected.compared += 1;
            expected.in_vain += u64::from(equal(other).min(equal(number)) == 8);
        }
    }
    assert!(expected.in_vain > 20 && expected.in_vain < expected.compared, "{expected:?}");
    assert_eq!(sampled(&index), expected);
    assert!(!expected.is_scan(), "too few documents to tell");
}

#[test]
fn dead_documents_do_not_use_up_the_sample() {
    let dir = tempfile::tempdir().unwrap();
    let index = index(&dir.path().join("x"));
    for number in 0..80 {
        index.insert([number], &signature(&index, number, 0)).unwrap();
    }
    index.flush().unwrap();
    // The sample queries every tenth document, or the next live one after it. The last ten
    // documents are all dead, so there are only seven queries instead of eight.
    for number in (0..80).step_by(10).chain(71..80) {
        index.remove([number]).unwrap();
    }
    assert_eq!(sampled(&index).queries, 7);
}

#[test]
fn a_scan_is_told_from_a_crowd_at_a_bounded_cost() {
    let dir = tempfile::tempdir().unwrap();
    // In `scan`, all documents agree in the first two bands and differ in everything else, so they
    // are compared in vain.
    let scan = index(&dir.path().join("scan"));
    let crowd = index(&dir.path().join("crowd"));
    for number in 10..110 {
        scan.insert([number], &signature(&scan, number, 8)).unwrap();
        crowd.insert([number], &signature(&crowd, number, 60)).unwrap();
    }
    for flushed in [false, true] {
        if flushed {
            scan.flush().unwrap();
            crowd.flush().unwrap();
        }
        let sample = sampled(&scan);
        assert!(sample.is_scan() && !sample.is_cut, "{sample:?}");
        // Each query is compared with 99 other documents. The sample ends once it has made at least
        // 200 comparisons, so after the third query.
        assert_eq!((sample.queries, sample.compared, sample.in_vain), (3, 297, 297));
        assert!((sample.in_vain_per_query() - 99.0).abs() < 1e-9);
        let sample = sampled(&crowd);
        assert!(!sample.is_scan() && sample.is_cut && sample.in_vain == 0, "{sample:?}");
        assert!(sample.compared >= 200 && sample.compared_per_query() <= 99.0, "{sample:?}");
    }
    scan.shutdown().unwrap();
    let error = scan.snapshot().sample_comparisons().unwrap_err();
    assert_eq!(error.kind(), crate::ErrorKind::Closed);
}
