//! The minimum cost of 1,000 removals: reading and checking the blocks that locate the keys, then
//! writing and syncing a record.

use super::{REMOVAL_BYTES, prepared};
use crate::clock::time;
use crate::made::Random;
use crate::results::Result;
use crate::tables::BATCH;
use std::fs::File;
use std::hint::black_box;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;

const BLOCK_BYTES: usize = 4096;
/// Maximum number of consecutive blocks read with one call.
const READ_BLOCKS: usize = 16;
/// Average number of entries per word of a directory.
const GROUP: usize = 64;
/// Bytes per document in the table of starts. A key takes `KEY_BYTES`, including its length.
const START_BYTES: usize = 4;
const KEY_BYTES: usize = 10;
const ROUNDS: usize = 15;

/// The median time in seconds over several rounds, each of which starts with a cold page cache.
pub fn removals_alone(folder: &Path, documents: usize) -> Result<f64> {
    std::fs::create_dir_all(folder)?;
    let table = TableLayout::new(documents);
    let path = folder.join("table");
    let mut file = File::create(&path)?;
    let mut random = Random(3);
    let words = table.bytes().div_ceil(8);
    let bytes: Vec<u8> = (0..words).flat_map(|_| random.number().to_le_bytes()).collect();
    file.write_all(&bytes)?;
    file.sync_all()?;
    let file = File::open(&path)?;
    let record = vec![7; REMOVAL_BYTES * BATCH as usize];
    let log = prepared(&folder.join("log"), 1 << 20)?;
    let mut taken = Vec::new();
    for round in 0..ROUNDS {
        let keys: Vec<u64> = (0..BATCH).map(|_| random.number()).collect();
        let (seconds, ()) = time(|| {
            black_box(table.find(&file, &keys)?);
            log.write_all_at(&record, (round * record.len()) as u64)?;
            Ok(log.sync_data()?)
        })?;
        taken.push(seconds);
    }
    taken.sort_by(f64::total_cmp);
    Ok(taken[taken.len() / 2])
}

/// The layout of a table of keys, and of the documents to which it refers.
struct TableLayout {
    documents: usize,
    fingerprints: usize,
    ordinals: usize,
    starts: usize,
    keys: usize,
}

impl TableLayout {
    fn new(documents: usize) -> Self {
        let after = |begin: usize, bytes: usize| (begin + bytes).next_multiple_of(BLOCK_BYTES);
        let fingerprints = after(0, documents / GROUP * 4);
        let ordinals = after(fingerprints, documents * 2);
        let starts = after(ordinals, documents * 4);
        let keys = after(starts, documents * START_BYTES);
        Self { documents, fingerprints, ordinals, starts, keys }
    }

    fn bytes(&self) -> usize {
        (self.keys + self.documents * KEY_BYTES).next_multiple_of(BLOCK_BYTES)
    }

    /// Reads, step by step, the blocks to which the keys lead, each block once. The keys belong to
    /// the first documents, as in the removals that are measured with the stores. So the starts and
    /// the keys are adjacent.
    fn find(&self, file: &File, keys: &[u64]) -> Result<u32> {
        let groups = self.documents / GROUP;
        let group = |key: &u64| ((u128::from(*key) * groups as u128) >> 64) as usize;
        let mut read = Blocks { file, bytes: vec![0; READ_BLOCKS * BLOCK_BYTES], sum: 0 };
        read.check(keys.iter().map(|key| group(key) * 4))?;
        read.check(keys.iter().map(|key| self.fingerprints + group(key) * GROUP * 2))?;
        read.check(keys.iter().map(|key| self.ordinals + group(key) * GROUP * 4))?;
        read.check((0..keys.len()).map(|document| self.starts + document * START_BYTES))?;
        read.check((0..keys.len()).map(|document| self.keys + document * KEY_BYTES))?;
        Ok(read.sum)
    }
}

struct Blocks<'a> {
    file: &'a File,
    bytes: Vec<u8>,
    sum: u32,
}

impl Blocks<'_> {
    /// Reads and verifies the blocks that contain these byte positions.
    fn check(&mut self, places: impl Iterator<Item = usize>) -> Result<()> {
        let mut wanted: Vec<bool> = Vec::new();
        for block in places.map(|place| place / BLOCK_BYTES) {
            if wanted.len() <= block {
                wanted.resize(block + 1, false);
            }
            wanted[block] = true;
        }
        let mut begin = 0;
        while begin < wanted.len() {
            let run = wanted[begin..].iter().take(READ_BLOCKS).take_while(|is| **is).count();
            let bytes = &mut self.bytes[..run * BLOCK_BYTES];
            if run > 0 {
                self.file.read_exact_at(bytes, (begin * BLOCK_BYTES) as u64)?;
            }
            for block in bytes.chunks_exact(BLOCK_BYTES) {
                self.sum ^= crc32fast::hash(block);
            }
            begin += run.max(1);
        }
        Ok(())
    }
}
