//! The engines behind one small interface: documents in batches, queries by signature.

mod fjall;
mod gaoya;
mod lmdb;
mod nearkin;
mod redb;
mod sqlite;

use crate::made::{BANDS, EQUAL_ROWS_MIN, Signature, band, equal_rows};
use crate::results::Result;
use std::path::Path;

pub use nearkin::{Nearkin, key, params, threshold};

/// An engine with an index open.
pub trait Engine: Send {
    /// Converts the documents `first`, `first + 1`, ... to the engine's own form. Not timed.
    fn stage(&mut self, first: u32, signatures: &[Signature]) -> Result<()>;

    /// Inserts the staged documents: durable on return, for engines that can.
    fn insert(&mut self) -> Result<()>;

    /// Removes documents, as durable as an insert.
    fn remove(&mut self, documents: &[u32]) -> Result<()>;

    /// Does what the engine recommends after a bulk load for the best reads.
    fn settle(&mut self) -> Result<()>;

    /// A handle for one query thread. It may hold a read transaction or a snapshot.
    fn reader(&self) -> Result<Box<dyn Reader + '_>>;

    /// Closes the index in an orderly way.
    fn close(self: Box<Self>) -> Result<()>;
}

/// A handle for queries of one thread.
pub trait Reader: Send {
    /// Converts queries to the engine's own form. Not timed.
    fn stage(&mut self, queries: &[Signature]) -> Result<()>;

    /// Answers the staged query `at`: appends the verified matches in any order.
    fn query(&mut self, at: usize, found: &mut Vec<u32>) -> Result<()>;

    /// Answers the first `count` staged queries in the engine's best way: one by one if it cannot
    /// take several. Returns the total number of matches.
    fn query_all(&mut self, count: usize) -> Result<u64> {
        let (mut found, mut matches) = (Vec::new(), 0);
        for at in 0..count {
            found.clear();
            self.query(at, &mut found)?;
            matches += found.len() as u64;
        }
        Ok(matches)
    }
}

/// Which engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Nearkin,
    Gaoya,
    Sqlite,
    Lmdb,
    Redb,
    Fjall,
}

impl Kind {
    pub const ALL: [Self; 6] =
        [Self::Nearkin, Self::Gaoya, Self::Fjall, Self::Lmdb, Self::Sqlite, Self::Redb];

    pub fn name(self) -> &'static str {
        match self {
            Self::Nearkin => "nearkin",
            Self::Gaoya => "gaoya",
            Self::Sqlite => "sqlite",
            Self::Lmdb => "lmdb",
            Self::Redb => "redb",
            Self::Fjall => "fjall",
        }
    }

    /// The guarantee of a write that returned.
    pub fn durability(self) -> &'static str {
        match self {
            Self::Nearkin => "sync per batch",
            Self::Gaoya => "none (memory)",
            Self::Sqlite => "sync per batch (WAL, FULL)",
            Self::Lmdb => "sync per batch",
            Self::Redb => "sync per batch (Immediate)",
            Self::Fjall => "sync per batch (SyncData)",
        }
    }

    pub fn is_durable(self) -> bool {
        self != Self::Gaoya
    }

    /// Whether it is a tree that prefers large sorted batches in a bulk load.
    pub fn is_tree(self) -> bool {
        matches!(self, Self::Sqlite | Self::Lmdb | Self::Redb)
    }

    /// Whether it handles a million documents in seconds and not in minutes.
    pub fn is_quick(self) -> bool {
        matches!(self, Self::Nearkin | Self::Gaoya)
    }

    /// Opens the index in a folder, or creates it there.
    pub fn open(self, folder: &Path) -> Result<Box<dyn Engine>> {
        std::fs::create_dir_all(folder)?;
        Ok(match self {
            Self::Nearkin => Box::new(Nearkin::open(folder)?),
            Self::Gaoya => Box::new(gaoya::Gaoya::new()),
            Self::Sqlite => Box::new(sqlite::Sqlite::open(folder)?),
            Self::Lmdb => Box::new(lmdb::Lmdb::open(folder)?),
            Self::Redb => Box::new(redb::Redb::open(folder)?),
            Self::Fjall => Box::new(fjall::Fjall::open(folder)?),
        })
    }
}

/// One entry of a (band, hash) table, as the hand-made engines store it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    band: u8,
    hash: u64,
    document: u32,
}

impl Entry {
    /// The key in table order.
    fn key(self) -> [u8; 13] {
        let mut key = [0; 13];
        key[0] = self.band;
        key[1..9].copy_from_slice(&self.hash.to_be_bytes());
        key[9..].copy_from_slice(&self.document.to_be_bytes());
        key
    }
}

/// The entries of documents, sorted, which is best for a tree.
fn entries<'a>(documents: impl Iterator<Item = (u32, &'a Signature)>) -> Vec<Entry> {
    let of_one = |(document, signature): (u32, &'a Signature)| {
        (0..BANDS as u8).map(move |at| Entry {
            band: at,
            hash: band(signature, usize::from(at)),
            document,
        })
    };
    let mut entries: Vec<Entry> = documents.flat_map(of_one).collect();
    entries.sort_unstable();
    entries
}

/// Documents staged for the hand-made engines.
#[derive(Debug, Default)]
struct Staged {
    first: u32,
    signatures: Vec<Signature>,
}

impl Staged {
    fn take(&mut self, first: u32, signatures: &[Signature]) {
        self.first = first;
        self.signatures.clear();
        self.signatures.extend_from_slice(signatures);
    }

    fn documents(&self) -> impl Iterator<Item = (u32, &Signature)> {
        (self.first..).zip(&self.signatures)
    }
}

/// The second half of a query in a hand-made engine: each candidate is verified once.
fn verify(
    query: &Signature,
    candidates: &mut Vec<u32>,
    found: &mut Vec<u32>,
    mut stored: impl FnMut(u32) -> Result<Option<Signature>>,
) -> Result<()> {
    candidates.sort_unstable();
    candidates.dedup();
    for candidate in candidates.drain(..) {
        if let Some(signature) = stored(candidate)?
            && equal_rows(query, &signature) >= EQUAL_ROWS_MIN
        {
            found.push(candidate);
        }
    }
    Ok(())
}

/// The signature in an engine's stored bytes.
fn stored(bytes: &[u8]) -> Result<Signature> {
    Ok(bytes.try_into()?)
}
