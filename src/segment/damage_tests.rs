//! Tests that damage leads to an error or the exact answer, never to a panic or a wrong answer.

use super::forge::{footer_of, repair};
use super::tests::{DiskFolder, MODES, Model, Random, problems, shape};
use super::*;
use crate::format::blocks::BLOCK_BYTES;
use crate::storage::OpenMode;
use std::path::Path;

const MEMORY: usize = 1 << 20;

/// Builds a segment of several blocks. Also returns its bytes.
fn small(place: &DiskFolder, path: &Path) -> (Model, Listed, Vec<u8>) {
    let mut model = Model::random(3, 130, shape(24, 4), 3);
    model.payloads[7] = b"payload".repeat(700);
    let listed = model.build(&place.disk, path, MEMORY, 1 << 20).listed();
    let bytes = place.bytes(path);
    (model, listed, bytes)
}

#[test]
fn a_segment_that_is_read_back_is_checked_whole() {
    let place = DiskFolder::new();
    let path = place.path("a.seg");
    let (model, listed, bytes) = small(&place, &path);
    let file = place.disk.open(&path, OpenMode::ReadWrite).expect("opened");
    let open = |mode| place.segment(&path, &listed, &model.shape, mode);
    let body = open(ReadMode::Mmap).expect("opens").blocks.blocks() * BLOCK_BYTES;
    // Changes one byte at a time, about three in each block, but none in the header, which opening
    // reads.
    for at in (100..body).step_by(BLOCK_BYTES / 3) {
        file.write_at(&[bytes[at] ^ 1], at as u64).expect("written");
        let error = open(ReadMode::Mmap).expect("opens").read_back(true).expect_err("damaged");
        assert_eq!(error.kind(), crate::ErrorKind::Corrupt);
        assert!(error.to_string().contains("a.seg"), "{error}");
        open(ReadMode::Pread)
            .expect("opens")
            .read_back(true)
            .expect("every touch is the first there");
        file.write_at(&[bytes[at]], at as u64).expect("written");
    }
    let segment = open(ReadMode::Mmap).expect("opens");
    segment.read_back(true).expect("sound");
    let before = place.disk.counters().bytes_read;
    assert_eq!(model.check(&segment), 0);
    assert_eq!(place.disk.counters().bytes_read, before, "nothing is left to be touched first");
}

fn open_dead(
    place: &DiskFolder,
    path: &Path,
    listed: &Listed,
    shape: &Shape,
    mode: ReadMode,
) -> crate::Result<Dead> {
    Dead::open(&*place.disk, path, listed, shape, 7, 45, mode)
}

#[test]
fn damage_after_the_first_touch_is_found_by_verify_and_by_pread() {
    let place = DiskFolder::new();
    let path = place.path("a.seg");
    let (model, listed, bytes) = small(&place, &path);
    let file = place.disk.open(&path, OpenMode::ReadWrite).expect("opened");
    for mode in MODES {
        let segment = place.segment(&path, &listed, &model.shape, mode).expect("opens");
        assert_eq!(model.check(&segment), 0);
        file.write_at(&[!bytes[64]], 64).expect("written");
        assert_eq!(problems(|watch| segment.verify(None, watch)).len(), 1);
        if mode == ReadMode::Pread {
            segment.signature(0).expect_err("found");
        }
        file.write_at(&bytes[64..65], 64).expect("written");
    }
}

#[test]
fn verify_names_every_damaged_block() {
    let place = DiskFolder::new();
    let path = place.path("a.seg");
    let (model, listed, bytes) = small(&place, &path);
    let file = place.disk.open(&path, OpenMode::ReadWrite).expect("opened");
    let segment = place.segment(&path, &listed, &model.shape, ReadMode::Mmap).expect("opens");
    for at in [100, 4096, 4097, 8191, 8192] {
        file.write_at(&[!bytes[at]], at as u64).expect("written");
    }
    let found = problems(|watch| segment.verify(None, watch));
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(found.len(), 3, "{found:?}");
    for (problem, block) in found.iter().zip([0, 4096, 8192]) {
        assert!(problem.contains(&format!("at byte {block};")), "{problem}");
    }
}

/// Overwrites one to three places from `from` on, mostly with extreme or random numbers. Nearly
/// every place matters: readers follow all parts of the body except signatures and payloads.
fn forge(random: &mut Random, bytes: &mut [u8], from: usize) {
    for _ in 0..=random.below(3) {
        let width = [1, 2, 4, 8][random.below(4)];
        let at = from + random.below((bytes.len() - from - width) / 2) * 2;
        let value = match random.below(4) {
            0 => 0,
            1 => u64::MAX,
            2 => random.next(),
            _ => u64::from(bytes[at]) + random.next() % 3,
        };
        bytes[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
    }
}

#[test]
fn forged_files_with_right_checksums_do_not_panic() {
    let place = DiskFolder::new();
    let path = place.path("a.seg");
    let (model, listed, bytes) = small(&place, &path);
    let footer = footer_of(&bytes);
    let mut random = Random(17);
    let (mut opened, mut tails) = (0, 0);
    for round in 0..2000 {
        let mut forged = bytes.clone();
        let from = match round % 2 {
            0 => 0,
            _ => usize::try_from(footer.tail_offset).expect("small"),
        };
        forge(&mut random, &mut forged, from);
        let listed = repair(&mut forged, &footer, &listed);
        place.write(&path, &forged);
        let mode = MODES[round / 2 % 2];
        let Ok(segment) = place.segment(&path, &listed, &model.shape, mode) else {
            tails += 1;
            continue;
        };
        opened += 1;
        read_everything(&model, &segment);
        let found = problems(|watch| segment.verify(None, watch));
        let _ = found.len();
    }
    assert!(opened > 500 && tails > 500, "{opened} opened, {tails} refused");
}

/// Reads everything. The reads must only terminate, and no answer may be longer than possible.
fn read_everything(model: &Model, segment: &Segment) {
    let mut out = Vec::new();
    for ordinal in 0..segment.docs() {
        let _ = segment.signature(ordinal).map(|bytes| assert_eq!(bytes.len(), 24));
        let _ = segment.document(ordinal).map(|document| {
            assert!(document.key.len() + document.payload.len() < 70_000);
        });
        let _ = (segment.time(ordinal), segment.shingle_count(ordinal));
    }
    for table in 0..=model.shape.bands {
        for doc in 0..model.keys.len() {
            out.clear();
            let _ = segment.bucket(table, model.table_key(table, doc), &mut out);
            assert!(out.len() <= 130);
        }
    }
    for key in &model.keys {
        out.clear();
        let _ = segment.find_key(key, &mut out);
    }
}

#[test]
fn forged_dead_files_do_not_panic() {
    let place = DiskFolder::new();
    let path = place.path("a.dead");
    let shape = shape(24, 4);
    let listed = write_dead(&place.disk, &path, 9, &shape, 7, 45, &[5]).expect("written");
    let bytes = place.bytes(&path);
    let footer = footer_of(&bytes);
    let mut random = Random(17);
    for round in 0..2000 {
        let mut forged = bytes.clone();
        let from = [0, usize::try_from(footer.tail_offset).expect("small")][round % 2];
        forge(&mut random, &mut forged, from);
        if round % 3 == 0 {
            forged[64 + random.below(8)] = random.next().to_le_bytes()[0];
        }
        let listed = repair(&mut forged, &footer, &listed);
        place.write(&path, &forged);
        let Ok(dead) = open_dead(&place, &path, &listed, &shape, MODES[round / 2 % 2]) else {
            continue;
        };
        let _ = (dead.is_dead(0), dead.is_dead(44), dead.bits());
        problems(|watch| dead.verify(watch));
    }
}

#[test]
fn a_forged_body_is_found_by_computing_it_again() {
    let place = DiskFolder::new();
    let path = place.path("a.seg");
    let (model, listed, bytes) = small(&place, &path);
    let footer = footer_of(&bytes);
    let segment = place.segment(&path, &listed, &model.shape, ReadMode::Pread).expect("opens");
    let [_, documents, _, _, times, counts, ..] = segment.layout.sections;
    let mut free: Vec<_> =
        [times, counts].map(|section| section.offset..section.offset + section.bytes).into();
    let mut at = documents.offset;
    for (key, payload) in model.keys.iter().zip(&model.payloads) {
        at += 2 + key.len() as u64;
        free.push(at..at + payload.len() as u64);
        at += payload.len() as u64;
    }
    for at in 64..footer.body_bytes {
        // Nothing else in the file depends on these bytes, so only their checksums protect them,
        // and this test repairs the checksums.
        if free.iter().any(|range| range.contains(&at)) {
            continue;
        }
        let mut forged = bytes.clone();
        forged[usize::try_from(at).expect("small")] ^= 1 << (at % 8);
        let listed = repair(&mut forged, &footer, &listed);
        place.write(&path, &forged);
        let segment = place.segment(&path, &listed, &model.shape, ReadMode::Pread).expect("opens");
        let found = problems(|watch| segment.verify(None, watch));
        assert!(found.iter().any(|error| !error.to_string().contains("another live")), "byte {at}");
    }
}

#[test]
fn forged_tables_are_found_in_every_run() {
    let place = DiskFolder::new();
    let path = place.path("a.seg");
    let model = Model::random(8, 20_000, shape(8, 4), 1 << 40);
    let listed = model.build(&place.disk, &path, MEMORY, 1 << 20).listed();
    let bytes = place.bytes(&path);
    let footer = footer_of(&bytes);
    let found = |listed: &Listed| {
        let segment = place.segment(&path, listed, &model.shape, ReadMode::Pread).expect("opens");
        let found = problems(|watch| segment.verify(None, watch));
        let of_tables = |error: &crate::Error| error.to_string().contains("of bucket table");
        (found.iter().filter(|error| of_tables(error)).count(), segment.layout)
    };
    let (none, layout) = found(&listed);
    assert_eq!(none, 0);
    let [.., tables, directories] = layout.sections;
    for table in 0..3 {
        let (fingerprints, groups) = (tables.offset + table * layout.table_stride, 20_000 / 64 * 4);
        let (ordinals, directory) = (
            fingerprints + layout.table_ordinals,
            directories.offset + table * layout.directory_stride,
        );
        for (begin, bytes_of) in [(fingerprints, 40_000), (ordinals, 80_000), (directory, groups)] {
            for at in [begin, begin + bytes_of / 2, begin + bytes_of - 4] {
                let mut forged = bytes.clone();
                forged[usize::try_from(at).expect("small")] ^= 1;
                let listed = repair(&mut forged, &footer, &listed);
                place.write(&path, &forged);
                assert!(found(&listed).0 > 0, "byte {at}");
            }
        }
    }
}

/// The entries are a permutation of the right ones, so that only their order reveals the forgery.
#[test]
fn forged_tables_in_another_order_are_found() {
    let place = DiskFolder::new();
    let path = place.path("a.seg");
    let model = Model::random(9, 2_000, shape(8, 4), 1 << 40);
    let listed = model.build(&place.disk, &path, MEMORY, 1 << 20).listed();
    let bytes = place.bytes(&path);
    let footer = footer_of(&bytes);
    let layout =
        place.segment(&path, &listed, &model.shape, ReadMode::Pread).expect("opens").layout;
    let [.., tables, _] = layout.sections;
    for (table, entry) in (0..3).flat_map(|table| [0, 777, 1_998].map(|entry| (table, entry))) {
        let fingerprint = tables.offset + table * layout.table_stride + 2 * entry;
        let ordinal =
            tables.offset + table * layout.table_stride + layout.table_ordinals + 4 * entry;
        let mut forged = bytes.clone();
        for (at, width) in [(fingerprint, 2), (ordinal, 4)] {
            let at = usize::try_from(at).expect("small");
            forged[at..at + 2 * width].rotate_left(width);
        }
        let listed = repair(&mut forged, &footer, &listed);
        place.write(&path, &forged);
        let segment = place.segment(&path, &listed, &model.shape, ReadMode::Pread).expect("opens");
        let found = problems(|watch| segment.verify(None, watch));
        let of_table = format!("of bucket table {table}");
        assert!(found.iter().any(|error| error.to_string().contains(&of_table)), "{entry}");
    }
}

/// Builds a segment whose checksums take several blocks: one block covers 4 MiB.
fn long(place: &DiskFolder, path: &Path) -> (Model, Listed) {
    let mut model = Model::random(3, 200, shape(24, 4), 3);
    model.payloads.iter_mut().take(150).for_each(|payload| payload.resize(60_000, 5));
    let listed = model.build(&place.disk, path, MEMORY, 1 << 20).listed();
    (model, listed)
}

/// Reads a block in every way, each time in a newly opened segment. If it `is_damaged`, each read
/// must fail or leave the block unverified; otherwise it must succeed.
fn read_in_every_way(open: &dyn Fn(ReadMode) -> Segment, block: usize, is_damaged: bool) {
    let at = (block * BLOCK_BYTES) as u64;
    let corrupt = |error: crate::Error| assert_eq!(error.kind(), crate::ErrorKind::Corrupt);
    for mode in MODES {
        let segment = open(mode);
        let read = segment.blocks.read(at + 8, 8).map(|_| ());
        assert_eq!(read.map_err(corrupt).is_err(), is_damaged, "block {block}, {mode:?}");
        let read = open(mode).blocks.array::<8>(at + 16).map(|_| ());
        assert_eq!(read.map_err(corrupt).is_err(), is_damaged, "block {block}, {mode:?}");
        let read = segment.blocks.fetch(block, &mut [0; 4096]);
        assert_eq!(read.map_err(corrupt).is_err(), is_damaged, "block {block}, {mode:?}");
    }
    let unchecked = open(ReadMode::Mmap);
    unchecked.warm_up(block + 1);
    assert_eq!(unchecked.is_verified(block), !is_damaged, "block {block}");
    let unchecked = open(ReadMode::Mmap);
    let check = unchecked.blocks.check_extents(std::iter::once((at + 8, 8)));
    assert_eq!(check.map_err(corrupt).is_err(), is_damaged, "block {block}");
    assert_eq!(unchecked.is_verified(block), !is_damaged, "block {block}");
}

#[test]
fn damage_beyond_the_first_block_of_checksums_is_found() {
    const PER_BLOCK: usize = BLOCK_BYTES / 4;
    let place = DiskFolder::new();
    let path = place.path("a.seg");
    let (model, listed) = long(&place, &path);
    let file = place.disk.open(&path, OpenMode::ReadWrite).expect("opened");
    let open = |mode| place.segment(&path, &listed, &model.shape, mode).expect("opens");
    let blocks = open(ReadMode::Mmap).blocks.blocks();
    assert!(blocks > 2 * PER_BLOCK + 9, "{blocks} blocks");
    assert_eq!(model.check(&open(ReadMode::Mmap)), 0);
    let damage = |block: usize| {
        let (at, mut byte) = ((block * BLOCK_BYTES + 900) as u64, [0]);
        file.read_at(&mut byte, at).expect("read");
        file.write_at(&[byte[0] ^ 1], at).expect("written");
    };
    // Some keys of the model occur twice. `verify` reports that, but it is not the damage that this
    // test makes.
    let found = || {
        let mut found = problems(|watch| open(ReadMode::Mmap).verify(None, watch));
        found.retain(|problem| !problem.to_string().contains("another live"));
        found
    };
    let chosen = [1, PER_BLOCK - 1, PER_BLOCK, 2 * PER_BLOCK - 1, 2 * PER_BLOCK + 7, blocks - 1];
    for block in chosen {
        damage(block);
        for other in &chosen {
            read_in_every_way(&open, *other, *other == block);
        }
        open(ReadMode::Mmap).read_back(true).expect_err("damaged");
        let found = found();
        let named = format!("at byte {};", block * BLOCK_BYTES);
        assert!(found.iter().any(|problem| problem.to_string().contains(&named)), "{found:?}");
        damage(block);
    }
    // Now damages the checksums themselves.
    for crcs in 0..blocks.div_ceil(PER_BLOCK) {
        damage(blocks + crcs);
        let is_hit = |block: &usize| *block / PER_BLOCK == crcs;
        for block in &chosen {
            read_in_every_way(&open, *block, is_hit(block));
        }
        open(ReadMode::Mmap).read_back(true).expect_err("damaged");
        assert!(!found().is_empty());
        damage(blocks + crcs);
    }
    assert!(found().is_empty());
}
