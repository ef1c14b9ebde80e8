//! The filter over small segments: which are covered, and that no answer depends on it.

use crate::filter::BandFilter;
use crate::index::merge::cover;
use crate::index::state::options::{Durability, Maintenance};
use crate::{Index, Options, Params, ReadMode, Signature, Sketcher};
use std::ops::Range;
use std::sync::Arc;

fn params() -> Params {
    Params::for_threshold(0.7).build().unwrap()
}

fn signature(number: u32) -> Signature {
    Sketcher::new(&params()).text(&format!("text {number} which shares few words")).unwrap()
}

fn options() -> Options {
    let options = Options::default().durability(Durability::OsBuffer);
    options.maintenance(Maintenance::Inline).tier_segments_max(1_000)
}

/// Inserts documents and flushes them, which makes a segment.
fn add(index: &Index, numbers: Range<u32>) {
    for number in numbers {
        index.insert(format!("{number}"), &signature(number)).unwrap();
    }
    index.flush().unwrap();
    cover::cover_small(index.core()).unwrap();
}

/// For each segment, whether it is covered.
fn covered(index: &Index) -> Vec<bool> {
    let state = index.core().state();
    state.segments.iter().map(|live| live.segment.covered().is_some()).collect()
}

fn assert_answers(index: &Index, stored: Range<u32>) {
    for number in stored.clone() {
        let answer = index.query(&signature(number)).threshold(1.0).run().unwrap();
        assert_eq!(answer.matches.len(), 1, "document {number}");
        assert_eq!(answer.matches[0].key, format!("{number}").into_bytes());
    }
    let unknown = signature(stored.end + 1);
    assert!(index.query(&unknown).threshold(1.0).run().unwrap().matches.is_empty());
}

#[test]
fn segments_are_covered_from_their_first_document_on() {
    let index = Index::temporary(&params(), options()).unwrap();
    add(&index, 0..60);
    assert_eq!(covered(&index), [false], "there was no segment beside its memtable");
    for number in 60..70 {
        index.insert(format!("{number}"), &signature(number)).unwrap();
    }
    assert!(index.core().state().memtable.covered().is_some());
    assert_answers(&index, 0..70);
    add(&index, 70..80);
    add(&index, 80..90);
    assert_eq!(covered(&index), [false, true, true]);
    assert_answers(&index, 0..90);
}

#[test]
fn maintenance_covers_all_segments_but_the_largest() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("an index");
    let index = Index::create(&path, &params(), options()).unwrap();
    for numbers in [0..10, 10..30, 30..130, 130..180] {
        add(&index, numbers);
    }
    index.close().unwrap();
    let index = Index::open(&path, options()).unwrap();
    assert_eq!(covered(&index), [false; 4]);
    index.maintain().unwrap();
    assert_eq!(covered(&index), [true, true, false, true]);
    assert_answers(&index, 0..180);
    index.close().unwrap();
}

#[test]
fn a_filter_is_gone_when_nothing_is_covered_any_more() {
    let index = Index::temporary(&params(), options()).unwrap();
    add(&index, 0..60);
    add(&index, 60..80);
    let held = index.snapshot();
    let stats = index.stats().unwrap();
    assert_eq!(stats.own_bytes - stats.memtable_bytes, 32 << 20);
    index.compact().unwrap();
    assert_eq!(covered(&index), [false]);
    let answer = held.query(&signature(70)).threshold(1.0).run().unwrap();
    assert_eq!(answer.matches.len(), 1, "the snapshot holds its columns");
    drop(held);
    let stats = index.stats().unwrap();
    assert_eq!(stats.own_bytes, stats.memtable_bytes);
    assert_answers(&index, 0..80);
}

/// Without free columns, segments stay as they are; columns of merged segments serve later ones.
#[test]
fn columns_run_out_and_are_used_again() {
    // A filter of 8 KiB: a column holds the BandKeys of sixty documents.
    let index = Index::temporary(&params(), options().memtable_bytes_max(1 << 14)).unwrap();
    for first in 0..12 {
        add(&index, 20 * first..20 * (first + 1));
        assert_answers(&index, 0..20 * (first + 1));
    }
    let count = covered(&index).iter().filter(|is_covered| **is_covered).count();
    assert_eq!(count, 8, "of eleven that are not the largest");
    index.compact().unwrap();
    add(&index, 240..260);
    assert_eq!(covered(&index), [false, true]);
    assert_answers(&index, 0..260);
}

/// The columns of a source say nothing about the words of another filter.
#[test]
fn columns_of_another_filter_do_not_count() {
    let index = Index::temporary(&params(), options()).unwrap();
    for numbers in [0..20, 20..40] {
        for number in numbers {
            index.insert(format!("{number}"), &signature(number)).unwrap();
        }
        index.flush().unwrap();
    }
    assert_eq!(covered(&index), [false, true]);
    let filter = Arc::new(BandFilter::new(1 << 16, 5));
    let first = &index.core().state().segments[0];
    first.segment.cover(filter.take(1).unwrap()).unwrap();
    assert_eq!(covered(&index), [true; 2]);
    assert_answers(&index, 0..40);
}

#[test]
fn own_memory_and_mapped_files_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    for (read_mode, is_mapped) in [(ReadMode::Mmap, true), (ReadMode::Pread, false)] {
        let path = folder.path().join(format!("{read_mode:?}"));
        let index = Index::create(&path, &params(), options().read_mode(read_mode)).unwrap();
        index.insert("a", &signature(999)).unwrap();
        let stats = index.stats().unwrap();
        assert!(stats.own_bytes > 0 && stats.mapped_bytes == 0, "{stats:?}");
        add(&index, 0..20);
        add(&index, 20..30);
        let lengths = index.core().state().segments.iter().map(|live| live.entry.length).sum();
        let stats = index.stats().unwrap();
        assert_eq!(stats.mapped_bytes, if is_mapped { lengths } else { 0 });
        assert_answers(&index, 0..30);
        index.close().unwrap();
    }
}
