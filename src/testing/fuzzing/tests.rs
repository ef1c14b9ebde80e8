//! Short runs of the fuzz targets with the stable compiler: the committed seeds, and pseudo-random
//! mutations of these. `NEARKIN_FUZZ_RUNS` is the number of mutations per target (default 2,000).

use crate::storage::{Disk, OpenMode, Storage};
use crate::testing::random::Random;
use std::path::Path;

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(target);
    let disk = Disk::default();
    let read = |name: String| {
        let file = disk.open(&folder.join(name), OpenMode::Read).expect("a seed");
        let mut bytes = vec![0; usize::try_from(file.bytes().expect("a length")).expect("small")];
        file.read_at(&mut bytes, 0).expect("read");
        bytes
    };
    let entries = disk.list(&folder).expect("seeds are committed");
    let seeds: Vec<_> = entries.into_iter().map(|entry| read(entry.name)).collect();
    assert!(!seeds.is_empty(), "{target} has seeds");
    seeds
}

/// Mutates a seed: changes, inserts, removes or repeats some bytes, and sometimes appends part of
/// another seed.
fn change(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = seeds[random.below(seeds.len())].clone();
    for _ in 0..=random.below(6) {
        let at = random.below(bytes.len() + 1);
        let end = (at + random.below(12)).min(bytes.len());
        match random.below(7) {
            0 => drop(bytes.drain(at..end)),
            1 => bytes.insert(at, random.byte(256)),
            2 => {
                let part = bytes[at..end].to_vec();
                drop(bytes.splice(at..at, part));
            }
            3 => {
                let other = &seeds[random.below(seeds.len())];
                let from = random.below(other.len() + 1);
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
            4 => bytes.extend((0..20).map(|_| random.byte(256))),
            _ if at < bytes.len() => bytes[at] = random.byte(256),
            _ => {}
        }
    }
    bytes.truncate(2_000);
    bytes
}

/// Prints its input when it is dropped by a panic, so that the input can be added as a seed.
struct Shown(Vec<u8>);

impl Drop for Shown {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the input: {:?}", self.0);
        }
    }
}

fn run(name: &str, share: usize, target: fn(&[u8])) {
    let seeds = seeds(name);
    let runs = std::env::var("NEARKIN_FUZZ_RUNS").map_or(2_000, |n| n.parse().expect("a number"));
    let seed = std::env::var("NEARKIN_SEED").map_or(1, |n| n.parse().expect("a number"));
    let mut random = Random(seed);
    let changed = (0..runs / share).map(|_| change(&mut random, &seeds));
    for input in seeds.iter().cloned().chain(changed) {
        let shown = Shown(input);
        target(&shown.0);
    }
}

#[test]
fn replay_takes_what_the_document_says_of_any_log() {
    run("wal_replay", 1, super::wal_replay);
}

#[test]
fn a_forged_segment_is_read_without_a_panic() {
    run("segment_query", 1, super::segment_query);
}

#[test]
fn any_row_of_the_catalog_is_refused_or_lived_with() {
    run("catalog_row", 1, super::catalog_row);
}

#[test]
fn any_manifest_is_refused_or_lived_with() {
    run("manifest", 1, super::manifest);
}

#[test]
fn scripts_from_bytes_have_the_answers_of_brute_force() {
    run("operations", 4, super::operations);
}

#[test]
fn a_dead_file_without_its_dead_does_not_underflow_the_count() {
    super::segment_query(&[4, 0, 1, 64, 0, 3, 1, 0]);
}

#[test]
fn a_generation_after_which_there_is_none_is_not_followed() {
    // The generation is 2^62 - 1, the largest that the name of a manifest can contain.
    super::manifest(&[3, 0, 0, 0, 200, 255, 255, 255, 255, 255, 255, 255, 63]);
}

#[test]
fn a_catalog_whose_next_file_number_is_the_last_is_not_opened() {
    super::catalog_row(&[3, 0, 0, 1, 2]);
}
