//! A small index on a simulated disk, and calls of the whole public API.

use super::input::FuzzInput;
use crate::format::catalog::Row;
use crate::storage::Storage;
use crate::storage::names::Names;
use crate::testing::sim::Sim;
use crate::{Batch, Durability, Index, Maintenance, Options, Params, ReadMode, Result, Signature};
use crate::{catalog, format::bytes::wide};
use nearkin_sketch::engine::signature_from_parts;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

pub(super) const DIR: &str = "/x.nearkin";
pub(super) const SIGNATURE_BYTES: usize = 16;

/// Signature, payload, time and shingle count.
pub(super) type FuzzDocument = (Vec<u8>, Vec<u8>, u64, u32);

/// An index with two segments, a dead file and a WAL with one record. Its process was killed.
pub(super) struct Base {
    sim: Sim,
    pub(super) row: Row,
    pub(super) params: Params,
    /// The documents at the floor.
    pub(super) docs: BTreeMap<Vec<u8>, FuzzDocument>,
}

impl Base {
    pub(super) fn get() -> &'static Self {
        static BASE: OnceLock<Base> = OnceLock::new();
        BASE.get_or_init(|| Self::make().expect("a sound disk"))
    }

    fn make() -> Result<Self> {
        let sim = Sim::new();
        let params = Params::builder().hashes(SIGNATURE_BYTES).bands(4, 4).lane_bits(8).build()?;
        let storage: Arc<dyn Storage> = Arc::new(sim.clone());
        let index = Index::create_on(storage, Path::new(DIR), &params, options(ReadMode::Mmap))?;
        for range in [0..70_u8, 70..76] {
            let mut batch = Batch::new();
            for number in range {
                let payload = vec![number; usize::from(number) % 40];
                let signature = signature(&params, number);
                batch = batch.insert_with_payload(key(number), &signature, &payload);
            }
            index.write(&batch)?;
            index.flush()?;
        }
        let removed = (0..70).step_by(9).fold(Batch::new(), |batch, n| batch.remove(key(n)));
        index.write(&removed)?;
        index.flush()?;
        let docs = docs_of(&index)?;
        index.insert("last", &signature(&params, 200))?;
        let base = sim.kill();
        drop(index);
        let row = catalog::load(&base, &names().catalog())?;
        Ok(Self { sim: base, row, params, docs })
    }

    /// A new disk with the index on it.
    pub(super) fn disk(&self) -> Sim {
        self.sim.kill()
    }

    /// Opens the index on a disk whose catalog now contains `row`.
    pub(super) fn open_as(&self, sim: &Sim, row: &Row, mode: ReadMode) -> Result<Index> {
        let storage: Arc<dyn Storage> = Arc::new(sim.clone());
        if *row != self.row {
            storage.remove(&names().catalog()).expect("a sound disk");
            catalog::create(&*storage, &names().catalog(), row).expect("a sound disk");
        }
        Index::open_on(storage, Path::new(DIR), options(mode))
    }
}

pub(super) fn names() -> Names {
    Names::new(Path::new(DIR))
}

pub(super) fn options(mode: ReadMode) -> Options {
    Options {
        durability: Durability::OsBuffer,
        maintenance: Maintenance::Inline,
        read_mode: mode,
        wal_bytes_min: 8 << 10,
        wal_bytes_max: 16 << 10,
        clock: Arc::new(|| 1_700_000_000_000),
        random: Arc::new(|| 0x1234_5678_9ABC_DEF0),
        ..Options::default()
    }
}

fn key(number: u8) -> Vec<u8> {
    format!("key {number}").into_bytes()
}

/// Makes signatures in a few clusters: neighbouring numbers share bands.
pub(super) fn signature(params: &Params, number: u8) -> Signature {
    let lane = |row: usize| (number / 5).wrapping_mul(7) ^ u8::from(row > usize::from(number % 16));
    let bytes: Vec<u8> = (0..params.signature_bytes()).map(lane).collect();
    signature_from_parts(params, u32::from(number), bytes.into())
}

/// All stored documents.
pub(super) fn docs_of(index: &Index) -> Result<BTreeMap<Vec<u8>, FuzzDocument>> {
    index.snapshot().iter().map(|document| document.map(stored)).collect()
}

fn stored(document: crate::Document) -> (Vec<u8>, FuzzDocument) {
    let signature = document.signature.as_bytes().to_vec();
    let shingle_count = document.signature.shingle_count();
    (document.key, (signature, document.payload, document.time, shingle_count))
}

/// Calls every read and every write. Both answers and errors are fine, but a panic is not, and
/// neither is an answer with more matches than documents. `choices` determines how much is called.
pub(super) fn exercise(index: Index, choices: &mut FuzzInput<'_>) {
    let params = index.params().clone();
    let snapshot = index.snapshot();
    let read = snapshot.iter().filter_map(Result::ok).count();
    for number in (0..80).step_by(7) {
        let _ = index.get(key(number));
        let _ = index.query_key(key(number)).threshold(0.0).run();
        if let Ok(answer) = index.query(&signature(&params, number)).threshold(0.0).run() {
            assert!(wide(answer.matches.len()) <= snapshot.place_count());
        }
    }
    let _ = index.pairs(0.0).map(Iterator::count);
    let _ = index.clusters(0.3).map(Iterator::count);
    let _ = index.verify().map(|verified| verified.problems.len());
    let _ = index.stats();
    let _ = index.insert("new", &signature(&params, 33));
    // Removes all documents in a single change: between several changes, a flush would detect a
    // forged dead file before the wrong document counts have any effect.
    let all = (0..76).fold(Batch::new(), |batch, number| batch.remove(key(number)));
    let _ = index.write(all.remove("new").remove("last"));
    let _ = (index.len(), index.is_empty(), read);
    drop(snapshot);
    if choices.u8().is_multiple_of(2) {
        let _ = index.flush();
        let _ = index.insert("more", &signature(&params, 12));
    }
    let _ = index.compact();
    let _ = index.maintain();
    let _ = index.verify().map(|verified| verified.problems.len());
    let _ = index.close();
}
