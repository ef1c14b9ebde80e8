//! Finds files with equal bytes. Compares sizes, then hashes of the first bytes, then hashes of
//! whole files.

#![expect(clippy::disallowed_types, reason = "reads the user's files, never the index's")]

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use xxhash_rust::xxh3::Xxh3;

use super::files::{ExaminedFiles, File};
use nearkin_kit::failure::Failure;
use nearkin_kit::file_state::FileState;
use nearkin_kit::interrupt;
use nearkin_kit::output;
use nearkin_kit::output::progress::{Progress, Unit};
use nearkin_kit::scratch;

/// Number of bytes at the beginning of a file that are compared first.
const HEAD_BYTES: u64 = 16 << 10;

const BLOCK_BYTES: usize = 256 << 10;

/// Groups of files with equal bytes. A file is given by its position in `files`. Files that cannot
/// be read, or that change meanwhile, are in no group. Gives each file in a group its hash.
pub(super) fn groups(files: &mut ExaminedFiles) -> Result<Vec<Vec<usize>>, Failure> {
    let mut sizes: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (at, file) in files.all.iter().enumerate() {
        sizes.entry(file.state.bytes).or_default().push(at);
    }
    let candidates: Vec<usize> =
        sizes.into_values().filter(|same| same.len() > 1).flatten().collect();
    let heads = same(files, &candidates, HEAD_BYTES)?;
    let (short, long): (Vec<_>, Vec<_>) =
        heads.into_iter().partition(|(_, group)| files.all[group[0]].state.bytes <= HEAD_BYTES);
    let long: Vec<usize> = long.into_iter().flat_map(|(_, group)| group).collect();
    let mut found = short;
    found.extend(same(files, &long, u64::MAX)?);
    for (sum, group) in &found {
        for at in group {
            files.all[*at].sum = Some(*sum);
        }
    }
    Ok(found.into_iter().map(|(_, group)| group).collect())
}

/// Groups of files of equal size whose first `most` bytes are equal, with the hash of these.
fn same(
    files: &ExaminedFiles,
    candidates: &[usize],
    most: u64,
) -> Result<Vec<(u128, Vec<usize>)>, Failure> {
    let progress = Progress::start("comparing", Unit::Documents, Some(candidates.len() as u64));
    let done = AtomicU64::new(0);
    let hash_of = |at: &usize| {
        interrupt::check()?;
        let hash = hash(&files.all[*at], most);
        progress.reached(done.fetch_add(1, Ordering::Relaxed));
        Ok((*at, hash))
    };
    let hashes: Vec<(usize, io::Result<u128>)> =
        candidates.par_iter().map(hash_of).collect::<Result<_, Failure>>()?;
    interrupt::check()?;
    let mut groups: BTreeMap<(u64, u128), Vec<usize>> = BTreeMap::new();
    for (at, hash) in hashes {
        let file = &files.all[at];
        match hash {
            Ok(hash) => groups.entry((file.state.bytes, hash)).or_default().push(at),
            Err(error) => {
                let name = output::visible(file.path().as_os_str().as_encoded_bytes());
                progress.note(format!("skipped {name}: {error}"));
            }
        }
    }
    let groups = groups.into_iter().map(|((_, hash), group)| (hash, group));
    Ok(groups.filter(|(_, group)| group.len() > 1).collect())
}

/// The hash of the first `most` bytes. Fails if the path now leads to another file, or if the file
/// has changed since it was found.
pub(super) fn hash(found: &File, most: u64) -> io::Result<u128> {
    let (mut hash, mut block) = (Xxh3::new(), Vec::new());
    each_block(found, most, &mut block, |bytes| hash.update(bytes))?;
    Ok(hash.digest128())
}

/// Reads the first `most` bytes of a file, block by block.
fn each_block(
    found: &File,
    most: u64,
    block: &mut Vec<u8>,
    mut each: impl FnMut(&[u8]),
) -> io::Result<()> {
    // A link may have been put in place of the file.
    let mut options = std::fs::File::options();
    let mut file = scratch::no_follow(options.read(true)).open(found.path())?;
    let mut rest = most.min(found.state.bytes);
    block.resize(usize::try_from(rest).unwrap_or(BLOCK_BYTES).clamp(1, BLOCK_BYTES), 0);
    while rest > 0 {
        if interrupt::came() {
            return Err(io::Error::other("interrupted"));
        }
        let wanted = usize::try_from(rest).unwrap_or(BLOCK_BYTES).min(block.len());
        match file.read(&mut block[..wanted]) {
            Ok(0) => break,
            Ok(count) => {
                each(&block[..count]);
                rest -= count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    // The open file has one identity, so this look after the reading covers the time before it.
    if rest > 0 || FileState::of_open(&file)? != found.state {
        return Err(io::Error::other("it changed while it was read"));
    }
    Ok(())
}
