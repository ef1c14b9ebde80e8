//! Fuzzes forged segments and dead files: reads the files directly, and in a whole index.

use super::engine::{Base, exercise, names};
use super::input::FuzzInput;
use crate::format::catalog::{Listed, Row};
use crate::segment::forge::{footer_of, repair};
use crate::segment::{Dead, Segment, Shape, Watch};
use crate::storage::names::Ending;
use crate::testing::sim::Sim;
use crate::{ReadMode, format::bytes::wide};
use std::ops::ControlFlow;
use std::path::Path;

pub(super) fn run(data: &[u8]) {
    let base = Base::get();
    let mut input = FuzzInput::new(data);
    let disk = base.disk();
    let mut row = base.row.clone();
    let choice = input.u8();
    let mode = if choice & 1 == 0 { ReadMode::Mmap } else { ReadMode::Pread };
    let at = usize::from(choice >> 1 & 1);
    let of_dead = choice & 4 != 0 && row.segments[at].dead_file.is_some();
    let whole_index = choice & 0x38 == 0;
    forge(&mut input, &disk, &mut row, at, of_dead);
    read_alone(base, &disk, &row, at, mode);
    if !whole_index {
        return;
    }
    // A forger may also change the counts in the catalog. (The catalog's times are not compared
    // with the file, so the test leaves them alone.)
    if of_dead && choice & 0x40 != 0 {
        row.segments[at].dead = u32::from(input.u8() % 70).max(1);
    }
    if let Ok(index) = base.open_as(&disk, &row, mode) {
        exercise(index, &mut input);
    }
}

/// Changes bytes of one file and recomputes its checksums, including the one in the catalog's row.
fn forge(input: &mut FuzzInput<'_>, disk: &Sim, row: &mut Row, at: usize, of_dead: bool) {
    let entry = &mut row.segments[at];
    let (number, ending, tail_hash) = match &mut entry.dead_file {
        Some(dead) if of_dead => (dead.number, Ending::Dead, &mut dead.tail_hash),
        _ => (entry.number, Ending::Segment, &mut entry.tail_hash),
    };
    let path = names().numbered(number, ending);
    let mut bytes = disk.snapshot_of_files().remove(&path).expect("listed");
    let footer = footer_of(&bytes);
    let tail = usize::try_from(footer.tail_offset).expect("small");
    for _ in 0..=input.u8() % 4 {
        // The place to change: anywhere in the file, or in the tail, which contains all offsets.
        let from = if input.u8().is_multiple_of(3) { tail } else { 0 };
        let place = from + input.below(bytes.len() - from);
        let width = [1, 2, 4, 8][input.below(4)].min(bytes.len() - place);
        let value = match input.u8() % 4 {
            0 => u64::from(bytes[place]).wrapping_add(input.u64() % 5).wrapping_sub(2),
            1 => u64::from(input.u8()),
            _ => input.number(),
        };
        bytes[place..place + width].copy_from_slice(&value.to_le_bytes()[..width]);
    }
    let listed = Listed { number, length: wide(bytes.len()), tail_hash: *tail_hash };
    *tail_hash = repair(&mut bytes, &footer, &listed).tail_hash;
    disk.overwrite(&path, &bytes);
}

fn shape(base: &Base) -> Shape {
    Shape {
        signature_bytes: base.params.signature_bytes(),
        band_bytes: base.params.band_bytes(),
        bands: base.params.bands(),
        key_seed: base.params.seed(),
        uuid: base.row.uuid,
        params_id: base.params.id(),
    }
}

/// Opens the files without the engine and reads all their content.
fn read_alone(base: &Base, disk: &Sim, row: &Row, at: usize, mode: ReadMode) {
    let shape = shape(base);
    let entry = row.segments[at];
    let path = names().numbered(entry.number, Ending::Segment);
    let segment = Segment::open(disk, &path, &entry.listed(), &shape, mode);
    let dead = entry.dead_file.map(|listed| {
        let path = names().numbered(listed.number, Ending::Dead);
        let open =
            |path: &Path| Dead::open(disk, path, &listed, &shape, entry.number, entry.docs, mode);
        open(&path)
    });
    let dead = dead.and_then(Result::ok);
    if let Some(dead) = &dead {
        for ordinal in 0..entry.docs {
            let _ = dead.is_dead(ordinal);
        }
        if let Ok(bits) = dead.bits() {
            let set: u32 = bits.iter().map(|word| word.count_ones()).sum();
            assert_eq!(set, dead.count());
        }
    }
    if let Ok(segment) = segment {
        read_segment(&segment, dead.as_ref(), base);
    }
}

fn read_segment(segment: &Segment, dead: Option<&Dead>, base: &Base) {
    let docs = segment.docs();
    let mut out = Vec::new();
    for ordinal in 0..docs {
        if let Ok(signature) = segment.signature(ordinal) {
            assert_eq!(signature.len(), base.params.signature_bytes());
            for (band, bytes) in signature.chunks(base.params.band_bytes()).enumerate() {
                out.clear();
                let _ = segment.bucket(band, nearkin_sketch::engine::band_key(bytes), &mut out);
                assert!(out.len() <= docs as usize && out.iter().all(|found| *found < docs));
            }
        }
        if let Ok(document) = segment.document(ordinal) {
            assert!((1..=4096).contains(&document.key.len()));
            out.clear();
            if segment.find_key(&document.key, &mut out).is_ok() {
                assert!(out.iter().all(|found| {
                    segment.document(*found).is_ok_and(|found| found.key == document.key)
                }));
            }
        }
        let _ = (segment.time(ordinal), segment.shingle_count(ordinal));
    }
    for key in base.docs.keys() {
        out.clear();
        let _ = segment.find_key(key, &mut out);
    }
    let mut problems = 0;
    let mut watch =
        Watch { problem: &mut |_| problems += 1, progress: &mut |_| ControlFlow::Continue(()) };
    segment.verify(dead, &mut watch).expect("not cancelled");
}
