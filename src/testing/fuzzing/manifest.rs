//! Fuzzes manifests of a sharded index: as bytes, as fields under valid checksums, and as input to
//! a reader and a writer.

use super::catalog::sealed;
use super::engine::{Base, DIR, names, options};
use super::input::FuzzInput;
use crate::format::header::{FileHeader, FileKind};
use crate::format::manifest::ManifestContent;
use crate::shards::{Manifest as Listed, Shards};
use crate::storage::Storage;
use crate::testing::sim::Sim;
use crate::{ReadMode, Reader};
use std::path::Path;
use std::sync::Arc;

pub(super) fn run(data: &[u8]) {
    let mut input = FuzzInput::new(data);
    match input.u8() % 4 {
        0 => drop(check(input.rest())),
        1 => {
            let bytes = ManifestFields::any(&mut input).encode();
            drop(check(&bytes));
        }
        2 => changed_bytes(&mut input),
        _ => changed_fields(&mut input),
    }
}

/// The fields of a manifest, valid or not.
struct ManifestFields {
    generation: u64,
    shards: u32,
    /// False lengths that replace the true ones, in this order: note, row, segments.
    lies: [Option<u32>; 3],
    shard_of: Vec<u32>,
    note: Vec<u8>,
    row: Vec<u8>,
}

impl ManifestFields {
    /// Valid fields: the segments of the `Base` index, in two of three shards.
    fn sound() -> Self {
        let mut row = Base::get().row.clone();
        (row.floor, row.wal) = (1, None);
        let shard_of = (0..2).cycle().take(row.segments.len()).collect();
        Self {
            generation: 1,
            shards: 3,
            lies: [None; 3],
            shard_of,
            note: b"batch 1".to_vec(),
            row: row.encode(),
        }
    }

    /// Fields that depend on the input only.
    fn any(input: &mut FuzzInput<'_>) -> Self {
        let mut fields = Self { generation: input.number(), ..Self::sound() };
        fields.shards = narrow(input.number());
        fields.lies =
            [(); 3].map(|()| input.u8().is_multiple_of(3).then(|| narrow(input.number())));
        fields.shard_of = (0..input.below(9)).map(|_| u32::from(input.u8() % 4)).collect();
        let count = input.below(40);
        fields.note = input.take(count).to_vec();
        fields.row = input.rest().to_vec();
        fields
    }

    fn encode(&self) -> Vec<u8> {
        let base = Base::get();
        let header = FileHeader {
            kind: FileKind::Manifest,
            uuid: base.row.uuid,
            number: self.generation,
            params_id: base.row.params.id(),
        };
        let stated_length =
            |which: usize, length: usize| self.lies[which].unwrap_or(narrow(length as u64));
        let lengths = [
            stated_length(0, self.note.len()),
            stated_length(1, self.row.len()),
            stated_length(2, self.shard_of.len()),
        ];
        let mut own = self.shards.to_le_bytes().to_vec();
        own.extend(lengths.iter().flat_map(|length| length.to_le_bytes()));
        let mut rest: Vec<u8> =
            self.shard_of.iter().flat_map(|shard| shard.to_le_bytes()).collect();
        rest.extend_from_slice(&self.note);
        // The checksum covers as many bytes as the stated lengths of shard list and note add up to,
        // or all bytes if there are fewer.
        let (segments, note) = (u64::from(lengths[2]) * 4, u64::from(lengths[0]));
        let all = [&rest[..], &self.row].concat();
        let covered = usize::try_from(segments + note).unwrap_or(usize::MAX).min(all.len());
        let crc = crc32fast::hash(&[&own[..], &all[..covered]].concat());
        [&header.encode()[..], &own, &crc.to_le_bytes(), &all].concat()
    }
}

fn narrow(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// Checks that the manifest is refused, or that it encodes and decodes to the same value and all
/// its files have names.
fn check(bytes: &[u8]) -> Option<ManifestContent> {
    let listed = Listed::decode(bytes);
    let manifest = ManifestContent::decode(bytes).ok();
    assert_eq!(listed.is_ok(), manifest.is_some());
    let manifest = manifest?;
    // Compare the values, not the bytes: a row may encode a small number in the long form.
    let again = ManifestContent::decode(&manifest.encode()).expect("it was decoded before");
    assert_eq!(format!("{again:?}"), format!("{manifest:?}"));
    assert_eq!(bytes[40..48], manifest.generation().to_le_bytes(), "the header says the same");
    let files = listed.ok()?.files();
    let dead = manifest.row.segments.iter().filter(|entry| entry.dead_file.is_some()).count();
    assert_eq!(files.len(), manifest.row.segments.len() + dead);
    assert!(files.iter().all(|file| file.path.starts_with("segments")));
    Some(manifest)
}

/// Changes bytes of the fields after the header, then computes valid checksums.
fn changed_bytes(input: &mut FuzzInput<'_>) {
    let mut fields = ManifestFields::sound();
    for _ in 0..=input.u8() % 4 {
        let which = input.u8() % 8;
        let value = input.number();
        match which {
            0 => fields.shards = narrow(value),
            1 => fields.generation = value,
            2 => fields.lies[input.below(3)] = Some(narrow(value)),
            3 => fields.shard_of.push(narrow(value)),
            4 => drop(fields.shard_of.pop()),
            5 => fields.note = vec![b'n'; input.below(65_536) + 2 * usize::from(input.u8())],
            _ => {
                // The row has its own checksum.
                let mut body = fields.row.split_off(5);
                let at = input.below(body.len());
                body[at] = input.u8();
                fields.row = sealed(fields.row[0], &body);
            }
        }
    }
    if let Some(manifest) = check(&fields.encode()) {
        read_and_write(&manifest.encode(), manifest.generation(), input);
    }
}

/// Sets fields of the row to values that no writer produces, because they contradict the files.
fn changed_fields(input: &mut FuzzInput<'_>) {
    let mut fields = ManifestFields::sound();
    let mut row = Base::get().row.clone();
    (row.floor, row.wal) = (1, None);
    for _ in 0..=input.u8() % 3 {
        let at = input.below(row.segments.len().max(1));
        let (choice, value) = (input.u8() % 8, input.number());
        match (choice, row.segments.get_mut(at)) {
            (0, _) => (row.floor, fields.generation) = (value, value),
            (1, _) => row.file_next = value,
            (2, Some(entry)) => entry.docs = narrow(value),
            (3, Some(entry)) => entry.dead = narrow(value),
            (4, Some(entry)) => entry.length = value,
            (5, Some(entry)) => entry.number = value,
            (6, Some(entry)) => entry.dead_file = None,
            (_, Some(entry)) => entry.tail_hash ^= value,
            (_, None) => {}
        }
    }
    let config = bincode::config::standard();
    let body = bincode::serde::encode_to_vec(&row, config).expect("to memory");
    fields.row = sealed(fields.row[0], &body);
    if let Some(manifest) = check(&fields.encode()) {
        read_and_write(&manifest.encode(), manifest.generation(), input);
    }
}

/// Tests a folder with this manifest and the files of the `Base` index: every call must return an
/// answer or an error.
fn read_and_write(manifest: &[u8], generation: u64, input: &mut FuzzInput<'_>) {
    let disk = lake(manifest, generation);
    let storage: Arc<dyn Storage> = Arc::new(disk);
    let dir = Path::new(DIR);
    let mode = if input.u8().is_multiple_of(2) { ReadMode::Mmap } else { ReadMode::Pread };
    if let Ok(listed) = Listed::decode(manifest) {
        let _ = listed.check_on(&storage, dir);
    }
    if let Ok(reader) = Reader::open_on(Arc::clone(&storage), dir, options(mode)) {
        let read = reader.iter().filter_map(Result::ok).count();
        let _ = (reader.len(), read, reader.pairs(0.0).map(Iterator::count));
        let _ = reader.verify().map(|verified| verified.problems.len());
        let _ = reader.stats();
    }
    let Ok(mut shards) = Shards::open_on(&storage, dir, options(mode)) else { return };
    let _ = shards.remove((0..20).map(|number| format!("key {number}")));
    let _ = shards.compact(u32::from(input.u8() % 3));
    let _ = shards.sweep();
    // Every committed manifest must open for writing again.
    Shards::open_on(&storage, dir, options(mode)).expect("a manifest that was written is sound");
    let _ = Reader::open_on(storage, dir, options(mode)).map(|reader| reader.len());
}

fn lake(manifest: &[u8], generation: u64) -> Sim {
    let sim = Sim::new();
    let names = names();
    for folder in [names.root(), &names.manifest_dir(), &names.segments_dir()] {
        sim.create_dir(folder).expect("a sound disk");
    }
    for (path, bytes) in Base::get().disk().snapshot_of_files() {
        if path.starts_with(names.segments_dir()) {
            sim.overwrite(&path, &bytes);
        }
    }
    sim.overwrite(&names.manifest(generation), manifest);
    sim
}
