//! The engines behind one small interface: insert documents in batches, query by signature.

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

    /// Inserts the staged documents. They are durable on return, unless the engine works in memory.
    fn insert(&mut self) -> Result<()>;

    /// Removes documents, as durable as an insert.
    fn remove(&mut self, documents: &[u32]) -> Result<()>;

    /// Prepares for the fastest reads, as the engine recommends after a bulk load.
    fn settle(&mut self) -> Result<()>;

    /// A handle for one query thread. It may hold a read transaction or a snapshot.
    fn reader(&self) -> Result<Box<dyn Reader + '_>>;

    /// Closes the index cleanly.
    fn close(self: Box<Self>) -> Result<()>;
}

/// A handle for queries of one thread.
pub trait Reader: Send {
    /// Converts queries to the engine's own form. Not timed.
    fn stage(&mut self, queries: &[Signature]) -> Result<()>;

    /// Answers the staged query `at`: appends the verified matches in any order.
    fn query(&mut self, at: usize, found: &mut Vec<u32>) -> Result<()>;

    /// Answers the first `count` staged queries in the way that is fastest for the engine: one by
    /// one, unless it accepts several at once. Returns the total number of matches.
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

/// The kinds of engines.
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

    /// What a write guarantees once it has returned.
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

    /// Whether the engine is a tree, which is fastest with large sorted batches in a bulk load.
    pub fn is_tree(self) -> bool {
        matches!(self, Self::Sqlite | Self::Lmdb | Self::Redb)
    }

    /// Whether the engine handles a million documents in seconds rather than minutes.
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

/// One entry of a (band, hash) table, as stored by the engines that are built here on a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    band: u8,
    hash: u64,
    document: u32,
}

impl Entry {
    /// The entry as a key. Keys sort in the order of the table.
    fn key(self) -> [u8; 13] {
        let mut key = [0; 13];
        key[0] = self.band;
        key[1..9].copy_from_slice(&self.hash.to_be_bytes());
        key[9..].copy_from_slice(&self.document.to_be_bytes());
        key
    }
}

/// The entries of documents, sorted, because trees are fastest with sorted input.
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

/// Documents staged for an engine that is built on a database.
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

/// The second half of a query of an engine that is built on a database: verifies each candidate
/// once.
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

/// Converts the bytes that an engine has stored to a signature.
fn stored(bytes: &[u8]) -> Result<Signature> {
    Ok(bytes.try_into()?)
}
