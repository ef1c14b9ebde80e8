//! Finds files with equal bytes. Compares sizes, then hashes of the first bytes, then hashes of
//! whole files.

#![expect(clippy::disallowed_types, reason = "reads the user's files, never the index's")]

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use xxhash_rust::xxh3::Xxh3;

use super::files::{ExaminedFiles, File};
use crate::blocks::Blocks;
use nearkin_kit::failure::Failure;
use nearkin_kit::file_state::FileState;
use nearkin_kit::interrupt;
use nearkin_kit::output;
use nearkin_kit::output::progress::{Progress, Unit};
use nearkin_kit::scratch;

/// Number of bytes at the beginning of a file that are compared first.
const HEAD_BYTES: u64 = 16 << 10;

/// Groups of files with equal bytes. A file is given by its position in `files`. Files that cannot
/// be read, or that change meanwhile, are in no group. Gives each file in a group its hash.
pub(super) fn groups(files: &mut ExaminedFiles) -> Result<Vec<Vec<usize>>, Failure> {
    let sizes = files.all.iter().enumerate().map(|(at, file)| (file.state.bytes, at)).collect();
    let candidates: Vec<usize> = equal(sizes).into_iter().flat_map(|(_, group)| group).collect();
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
    let bytes = candidates.iter().map(|at| files.all[*at].state.bytes.min(most)).sum();
    let progress = Progress::start("comparing", Unit::Bytes, Some(bytes));
    let done = AtomicU64::new(0);
    let read = |bytes| progress.reached(done.fetch_add(bytes, Ordering::Relaxed) + bytes);
    let hash_of = |at: &usize| {
        interrupt::check()?;
        Ok((*at, hash(&files.all[*at], most, read)))
    };
    let hashes: Vec<(usize, io::Result<u128>)> =
        candidates.par_iter().map(hash_of).collect::<Result<_, Failure>>()?;
    interrupt::check()?;
    let mut found = Vec::with_capacity(hashes.len());
    for (at, hash) in hashes {
        let file = &files.all[at];
        match hash {
            Ok(hash) => found.push(((file.state.bytes, hash), at)),
            Err(error) => {
                let name = output::visible(file.path().as_os_str().as_encoded_bytes());
                progress.note(format!("skipped {name}: {error}"));
            }
        }
    }
    Ok(equal(found).into_iter().map(|((_, hash), group)| (hash, group)).collect())
}

/// Groups of files with equal values, in the order of these.
fn equal<T: Ord + Copy>(mut all: Vec<(T, usize)>) -> Vec<(T, Vec<usize>)> {
    all.sort_unstable();
    let groups = all.chunk_by(|one, next| one.0 == next.0).filter(|group| group.len() > 1);
    groups.map(|group| (group[0].0, group.iter().map(|(_, at)| *at).collect())).collect()
}

/// The hash of the first `most` bytes. Fails if the path now leads to another file, or if the file
/// has changed since it was found. Calls `read` with the length of each block.
pub(super) fn hash(found: &File, most: u64, read: impl Fn(u64)) -> io::Result<u128> {
    // A link may have been put in place of the file.
    let mut options = std::fs::File::options();
    let file = scratch::no_follow(options.read(true)).open(found.path())?;
    let mut blocks = Blocks::new(&file, most.min(found.state.bytes));
    let mut hash = Xxh3::new();
    loop {
        if interrupt::came() {
            return Err(io::Error::other("interrupted"));
        }
        let block = blocks.next()?;
        if block.is_empty() {
            break;
        }
        hash.update(block);
        read(block.len() as u64);
    }
    // The open file has one identity, so this look after the reading covers the time before it.
    if !blocks.is_at_end() || FileState::of_open(&file)? != found.state {
        return Err(io::Error::other("it changed while it was read"));
    }
    Ok(hash.digest128())
}
