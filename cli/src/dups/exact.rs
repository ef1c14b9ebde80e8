//! Finds files with equal bytes. Compares sizes, then hashes of the first bytes, then hashes of
//! whole files.

#![expect(clippy::disallowed_types, reason = "reads the user's files, never the index's")]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use xxhash_rust::xxh3::Xxh3;

use super::groups::Files;
use crate::failure::Failure;
use crate::interrupt;
use crate::output;
use crate::progress::{Progress, Unit};

/// Number of bytes at the beginning of a file that are compared first.
const HEAD_BYTES: u64 = 16 << 10;

const BLOCK_BYTES: usize = 256 << 10;

/// Groups of files with equal bytes. A file is given by its position in `files`. Files that cannot
/// be read are in no group.
pub(super) fn groups(files: &Files) -> Result<Vec<Vec<usize>>, Failure> {
    let mut sizes: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (at, file) in files.all.iter().enumerate() {
        sizes.entry(file.bytes).or_default().push(at);
    }
    let candidates: Vec<usize> =
        sizes.into_values().filter(|same| same.len() > 1).flatten().collect();
    let heads = same(files, &candidates, HEAD_BYTES)?;
    let (short, long): (Vec<_>, Vec<_>) =
        heads.into_iter().partition(|group| files.all[group[0]].bytes <= HEAD_BYTES);
    let long: Vec<usize> = long.into_iter().flatten().collect();
    let mut found = short;
    found.extend(same(files, &long, u64::MAX)?);
    Ok(found)
}

/// Groups of files of equal size whose first `most` bytes are equal.
fn same(files: &Files, candidates: &[usize], most: u64) -> Result<Vec<Vec<usize>>, Failure> {
    let progress = Progress::start("comparing", Unit::Documents, Some(candidates.len() as u64));
    let done = AtomicU64::new(0);
    let hash_of = |at: &usize| {
        interrupt::check()?;
        let file = &files.all[*at];
        let hash = hash(&file.path, most);
        progress.reached(done.fetch_add(1, Ordering::Relaxed));
        Ok((*at, hash))
    };
    let hashes: Vec<(usize, io::Result<u128>)> =
        candidates.par_iter().map(hash_of).collect::<Result<_, Failure>>()?;
    let mut groups: BTreeMap<(u64, u128), Vec<usize>> = BTreeMap::new();
    for (at, hash) in hashes {
        let file = &files.all[at];
        match hash {
            Ok(hash) => groups.entry((file.bytes, hash)).or_default().push(at),
            Err(error) => progress.note(format!("skipped {}: {error}", output::visible(&file.key))),
        }
    }
    Ok(groups.into_values().filter(|group| group.len() > 1).collect())
}

fn hash(path: &Path, most: u64) -> io::Result<u128> {
    let mut file = File::open(path)?.take(most);
    let (mut hash, mut block) = (Xxh3::new(), vec![0; BLOCK_BYTES]);
    loop {
        match file.read(&mut block) {
            Ok(0) => return Ok(hash.digest128()),
            Ok(count) => hash.update(&block[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
