//! The memtable: signatures and bucket tables of recent documents, and recent deaths of documents
//! that are in segments.
//!
//! Works on ordinals and change numbers only. Each reader passes the number of the last change that
//! is visible to it.

mod cover;
mod forked;
mod table;
#[cfg(test)]
mod tests;

use crate::filter::Columns;
use crate::format::bytes::index;
use crate::keyed::RandomState;
use crate::storage::forks;
use crate::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use crate::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::collections::HashMap;
use std::ops::Range;
use table::{Chain, Table, mix};

/// Value of `StoredEntry::died` for a live document.
const NEVER: u64 = u64::MAX;

/// Minimum number of dead documents that justifies a flush.
const DEAD_DOCS_MIN: u32 = small!(memtable::DEAD_DOCS_MIN, 16_384);

/// Maximum number of steps that are applied before the lock is released, so that readers can run in
/// between. (Table entries are made under the read lock, concurrently with readers.)
const STEPS_PER_HOLD: usize = small!(memtable::STEPS_PER_HOLD, 8);
/// The same limit for changes without births, which is higher: deaths are cheaper than births.
const DEATHS_PER_HOLD: usize = small!(memtable::DEATHS_PER_HOLD, 64);
/// Batch size for table entries. The cache lines of a whole batch are prefetched together.
const ENTRIES_TOGETHER: usize = small!(memtable::ENTRIES_TOGETHER, 64);

/// Spin iterations before a thread sleeps on the lock: about 20 microseconds. If the thread sleeps,
/// the unlocking thread must make a system call to wake it. (Under the schedule explorer, one
/// iteration is enough.)
const TRIES: u32 = if cfg!(shuttle) { 1 } else { 400 };

/// Maximum number of spin iterations per change with which a writer lets waiting readers go first.
const PATIENCE: u32 = 8 * TRIES;

/// A document as the writer passes it to the memtable.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewDocument<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) payload: &'a [u8],
    pub(crate) time: u64,
    pub(crate) shingle_count: u32,
    pub(crate) signature: &'a [u8],
    /// One hash per bucket table: the BandKeys in order, then the hash of the key.
    pub(crate) table_keys: &'a [u64],
}

/// A step of a change.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step<'a> {
    /// A document is born.
    Birth(NewDocument<'a>),
    /// A document of this memtable dies.
    Death(u32),
    /// Removes a document that is stored in a segment.
    SegmentDeath { segment: u64, ordinal: u32 },
}

/// The memtable. One writer and any number of readers may use it concurrently.
#[derive(Debug)]
pub(crate) struct Memtable {
    content: RwLock<Content>,
    tables: usize,
    /// Number of readers that wait for the lock.
    waiting: AtomicU32,
    /// Whether anything was ever applied. Set before the first change becomes visible.
    touched: AtomicBool,
    /// The columns of the index's filter that contain all BandKeys of the memtable, if there are.
    columns: OnceLock<Arc<Columns>>,
    /// The number of forks when it was made.
    forks: u32,
}

/// The content under the lock. While a reader holds the lock, documents do not change, but table
/// entries may be added.
#[derive(Debug)]
pub(crate) struct Content {
    documents: Vec<StoredEntry>,
    /// Number of dead documents.
    dead: u32,
    signatures: Vec<u8>,
    /// Keys and payloads, concatenated.
    texts: Vec<u8>,
    /// Bucket tables: one per band, and one of keys.
    tables: Vec<Table>,
    segment_deaths: HashMap<(u64, u32), u64, RandomState>,
    /// Number of documents to reserve memory for at the first birth.
    documents_expected: u32,
    signature_bytes: usize,
    /// Secret that is mixed into every hash.
    secret: u64,
}

/// Buffer for [`Content::buckets`]. Each item is a chain that is being walked: the index of its
/// hash, its table, and a cursor.
#[derive(Debug, Default)]
pub(crate) struct Walk(Vec<(usize, usize, Chain)>);

#[derive(Debug)]
struct StoredEntry {
    born: u64,
    died: u64,
    time: u64,
    text: usize,
    key_bytes: u32,
    payload_bytes: u32,
    shingle_count: u32,
}

impl Memtable {
    /// An empty memtable. `documents_expected` is a hint that avoids growth. `secret` protects
    /// against crafted documents: anyone can compute the BandKeys and key hashes of a document, but
    /// without the secret, nobody can predict its buckets.
    pub(crate) fn new(
        signature_bytes: usize,
        bands: usize,
        secret: u64,
        documents_expected: u32,
    ) -> Self {
        let tables = bands + 1;
        let content = Content {
            documents: Vec::new(),
            dead: 0,
            signatures: Vec::new(),
            texts: Vec::new(),
            tables: (0..tables).map(|_| Table::for_documents(documents_expected)).collect(),
            segment_deaths: HashMap::default(),
            documents_expected,
            signature_bytes,
            secret,
        };
        let (waiting, touched) = (AtomicU32::new(0), AtomicBool::new(false));
        let (content, columns) = (RwLock::new(content), OnceLock::new());
        Self { content, tables, waiting, touched, columns, forks: forks() }
    }

    /// Locks the content for reading. The writer waits for as long as the guard lives.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Content> {
        if let Ok(content) = self.content.try_read() {
            return content;
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let content = self.read_in_turn();
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        content
    }

    fn read_in_turn(&self) -> RwLockReadGuard<'_, Content> {
        // The writer holds the lock for one or two microseconds, which is less than a sleep and a
        // wake-up take.
        for _ in 0..TRIES {
            if let Ok(content) = self.content.try_read() {
                return content;
            }
            std::hint::spin_loop();
        }
        // Poisoning is harmless: readers change nothing, and the writer does not panic while it
        // holds the lock.
        self.content.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prefetches the chain heads that [`Content::buckets`] reads first. Does nothing while a
    /// writer holds the lock.
    pub(crate) fn ask_for_buckets(&self, keys: impl Iterator<Item = (usize, u64)>) {
        if let Ok(content) = self.content.try_read() {
            for (table, key) in keys {
                content.tables[table].ask_for(mix(key, content.secret));
            }
        }
    }

    /// Whether the memtable contains no document and no death from any visible change. Takes no
    /// lock.
    #[inline]
    pub(crate) fn is_untouched(&self) -> bool {
        !self.touched.load(Ordering::Acquire)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Content> {
        for _ in 0..TRIES {
            if let Ok(content) = self.content.try_write() {
                return content;
            }
            std::hint::spin_loop();
        }
        self.content.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the content for the next part of a change. A writer takes the lock many times per
    /// change and would starve readers, so waiting readers go first. The writer spins for at most
    /// `patience` iterations per change, because the system may not be running a waiting reader.
    fn write_in_turn(&self, patience: &mut u32) -> RwLockWriteGuard<'_, Content> {
        while self.waiting.load(Ordering::Relaxed) > 0 && *patience > 0 {
            *patience -= 1;
            std::hint::spin_loop();
        }
        self.write()
    }

    /// Applies the steps of a change. Readers may run in between, but see the steps only once
    /// `change` is visible to them.
    pub(crate) fn apply(&self, change: u64, steps: &[Step<'_>]) {
        self.touched.store(true, Ordering::Release);
        let patience = &mut { PATIENCE };
        let born = births(steps).count();
        let steps_per_hold = if born > 0 { STEPS_PER_HOLD } else { DEATHS_PER_HOLD };
        if born == 0 {
            self.write().segment_deaths.reserve(steps.len());
        }
        for steps in steps.chunks(steps_per_hold) {
            self.write_in_turn(patience).take_down(change, steps);
        }
        // Tables are filled after the documents were added, so that every ordinal in a table has
        // its document.
        if born > 0 {
            self.make_room(born, patience);
            self.enter(steps);
            self.enter_filter(steps);
        }
    }

    /// Enters births into the tables, under a read lock. Fills one table after another, which keeps
    /// the pages of the table in the TLB.
    fn enter(&self, steps: &[Step<'_>]) {
        let tables = (ENTRIES_TOGETHER / steps.len()).clamp(1, self.tables);
        let parts = (0..self.tables).step_by(tables).flat_map(|first| {
            let tables = first..self.tables.min(first + tables);
            steps.chunks(ENTRIES_TOGETHER).map(move |steps| (tables.clone(), steps))
        });
        let mut following = parts.clone();
        let content = self.read();
        if let Some((tables, steps)) = following.next() {
            content.ask_for(tables, steps);
        }
        for (tables, steps) in parts {
            if let Some((tables, steps)) = following.next() {
                content.ask_for(tables, steps);
            }
            content.enter(tables, steps);
        }
    }

    /// Reuses the buffers, not the content, of a memtable that nobody else holds, if this one is
    /// still empty. That avoids the page faults and the zeroing of new memory.
    pub(crate) fn reuse(&self, old: Arc<Self>) {
        let Some(old) = Arc::into_inner(old) else { return };
        let mut old = old.content.into_inner().unwrap_or_else(PoisonError::into_inner);
        let content = self.read();
        if !content.documents.is_empty() {
            return;
        }
        // The slow part runs concurrently with readers. That is safe, because there is only one
        // writer.
        let pairs = content.tables.iter().zip(old.tables);
        let tables: Vec<Table> = pairs.map(|(table, old)| table.in_memory_of(old)).collect();
        drop(content);
        let mut content = self.write();
        content.tables = tables;
        old.documents.clear();
        old.signatures.clear();
        old.texts.clear();
        content.documents = old.documents;
        content.signatures = old.signatures;
        content.texts = old.texts;
    }

    /// Sets the expected number of documents of an empty memtable.
    pub(crate) fn expect(&self, documents: u32) {
        let mut content = self.write();
        if content.documents.is_empty() {
            content.documents_expected = documents;
            content.tables.fill_with(|| Table::for_documents(documents));
        }
    }

    /// Makes room for more documents, table by table. A table that must be replaced is copied
    /// concurrently with readers.
    fn make_room(&self, count: usize, patience: &mut u32) {
        // All tables have the same number of documents and the same capacity.
        if self.read().tables.last().is_some_and(|table| table.has_room_for(count)) {
            return;
        }
        for number in 0..self.tables {
            if self.write_in_turn(patience).tables[number].make_room(count) {
                continue;
            }
            let mut table = self.read().tables[number].enlarged(count);
            table.make_room(count);
            let _old = std::mem::replace(&mut self.write_in_turn(patience).tables[number], table);
        }
    }

    /// Whether most documents are dead, for example because the same keys were replaced repeatedly.
    /// Queries for similar documents would walk past all the dead versions.
    pub(crate) fn is_mostly_dead(&self) -> bool {
        let content = self.read();
        content.dead >= DEAD_DOCS_MIN && content.dead > content.document_count() / 2
    }

    /// Approximate memory usage of the content in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let content = self.read();
        let tables: usize = content.tables.iter().map(Table::bytes).sum();
        // A hash map entry takes 24 bytes and a control byte, at a load factor of 7/16 to 7/8.
        content.documents.len() * size_of::<StoredEntry>()
            + content.signatures.len()
            + content.texts.len()
            + tables
            + content.segment_deaths.len() * 56
    }
}

fn births<'a>(steps: &'a [Step<'a>]) -> impl Iterator<Item = &'a NewDocument<'a>> {
    steps.iter().filter_map(|step| match step {
        Step::Birth(document) => Some(document),
        Step::Death(_) | Step::SegmentDeath { .. } => None,
    })
}

impl Content {
    /// Applies the steps, except for the table entries, which `enter` makes.
    fn take_down(&mut self, change: u64, steps: &[Step<'_>]) {
        for step in steps {
            match *step {
                Step::Birth(document) => self.give_birth(change, &document),
                Step::Death(ordinal) => {
                    self.documents[index(ordinal)].died = change;
                    self.dead += 1;
                }
                Step::SegmentDeath { segment, ordinal } => {
                    self.segment_deaths.entry((segment, ordinal)).or_insert(change);
                }
            }
        }
    }

    fn give_birth(&mut self, change: u64, document: &NewDocument<'_>) {
        assert_eq!(
            document.signature.len(),
            self.signature_bytes,
            "the length of a signature of this index"
        );
        assert_eq!(document.table_keys.len(), self.tables.len(), "one hash per table");
        if self.documents.is_empty() {
            // Reserved memory costs nothing until it is used, while each growth would copy the
            // content.
            self.documents.reserve(index(self.documents_expected));
            self.signatures.reserve(index(self.documents_expected) * self.signature_bytes);
        }
        self.documents.push(StoredEntry {
            born: change,
            died: NEVER,
            time: document.time,
            text: self.texts.len(),
            key_bytes: u32::try_from(document.key.len()).unwrap_or(0),
            payload_bytes: u32::try_from(document.payload.len()).unwrap_or(0),
            shingle_count: document.shingle_count,
        });
        self.signatures.extend_from_slice(document.signature);
        self.texts.extend_from_slice(document.key);
        self.texts.extend_from_slice(document.payload);
    }

    /// Prefetches all cache lines that `enter` will change, so that the misses overlap.
    fn ask_for(&self, tables: Range<usize>, steps: &[Step<'_>]) {
        for number in tables {
            let table = &self.tables[number];
            for document in births(steps) {
                table.ask_for(mix(document.table_keys[number], self.secret));
            }
        }
    }

    /// Enters births into these tables. Concurrent readers may already find some of the entries.
    fn enter(&self, tables: Range<usize>, steps: &[Step<'_>]) {
        for number in tables {
            let hash = |document: &NewDocument<'_>| mix(document.table_keys[number], self.secret);
            self.tables[number].enter(births(steps).map(hash));
        }
    }

    /// Number of documents born here, including dead ones.
    pub(crate) fn document_count(&self) -> u32 {
        u32::try_from(self.documents.len()).unwrap_or(u32::MAX)
    }

    /// Whether a document is live after the change `visible`.
    pub(crate) fn is_live(&self, ordinal: u32, visible: u64) -> bool {
        let entry = &self.documents[index(ordinal)];
        entry.born <= visible && visible < entry.died
    }

    pub(crate) fn signature(&self, ordinal: u32) -> &[u8] {
        let begin = index(ordinal) * self.signature_bytes;
        &self.signatures[begin..begin + self.signature_bytes]
    }

    /// The signatures of consecutive documents, concatenated.
    pub(crate) fn signatures(&self, ordinals: Range<u32>) -> &[u8] {
        let (begin, end) = (index(ordinals.start), index(ordinals.end));
        &self.signatures[begin * self.signature_bytes..end * self.signature_bytes]
    }

    pub(crate) fn key(&self, ordinal: u32) -> &[u8] {
        let entry = &self.documents[index(ordinal)];
        &self.texts[entry.text..entry.text + index(entry.key_bytes)]
    }

    pub(crate) fn payload(&self, ordinal: u32) -> &[u8] {
        let entry = &self.documents[index(ordinal)];
        let begin = entry.text + index(entry.key_bytes);
        &self.texts[begin..begin + index(entry.payload_bytes)]
    }

    pub(crate) fn time(&self, ordinal: u32) -> u64 {
        self.documents[index(ordinal)].time
    }

    pub(crate) fn shingle_count(&self, ordinal: u32) -> u32 {
        self.documents[index(ordinal)].shingle_count
    }

    /// The documents with the hash `key` in this table, newest first, live or dead. Only part of
    /// the hash is compared, so the caller must compare the bytes.
    #[inline]
    pub(crate) fn bucket(&self, table: usize, key: u64) -> impl Iterator<Item = u32> + '_ {
        self.tables[table].documents(mix(key, self.secret))
    }

    /// Looks up several hashes in parallel, so that their cache misses overlap. Calls `visit` with
    /// the index of the hash and each document in the range `ordinals`, in the order of
    /// [`Content::bucket`]. `visit` returns whether to continue with that hash.
    pub(crate) fn buckets(
        &self,
        keys: impl Iterator<Item = (usize, u64)>,
        ordinals: Range<u32>,
        Walk(chains): &mut Walk,
        mut visit: impl FnMut(usize, u32) -> bool,
    ) {
        chains.clear();
        // Read the heads of all chains, then the second entries of all chains, and so on, so that
        // no cache miss waits for another.
        chains.extend(keys.enumerate().map(|(nth, (table, key))| {
            (nth, table, self.tables[table].chain(mix(key, self.secret)))
        }));
        while !chains.is_empty() {
            chains.retain_mut(|(nth, table, chain)| {
                let table = &self.tables[*table];
                match table.at(*chain) {
                    // Ordinals decrease along a chain: below the range, the walk ends.
                    Some((ordinal, has_it)) if ordinal >= ordinals.start => {
                        table.go_on(chain);
                        !has_it || ordinal >= ordinals.end || visit(*nth, ordinal)
                    }
                    _ => false,
                }
            });
        }
    }

    /// Prefetches the head that [`Content::find_key`] reads.
    #[inline]
    pub(crate) fn ask_for_key(&self, key_hash: u64) {
        if let Some(table) = self.tables.last() {
            table.ask_for(mix(key_hash, self.secret));
        }
    }

    /// The document with this key that is live after the change `visible`.
    pub(crate) fn find_key(&self, key: &[u8], key_hash: u64, visible: u64) -> Option<u32> {
        let table = self.tables.len() - 1;
        // The newest visible version decides, because older versions died at its birth or earlier.
        // So look-ups of a key do not get slower with every version.
        let born = |ordinal: &u32| self.documents[index(*ordinal)].born <= visible;
        self.bucket(table, key_hash)
            .find(|ordinal| born(ordinal) && self.key(*ordinal) == key)
            .filter(|ordinal| self.is_live(*ordinal, visible))
    }

    /// Whether a document of a segment had died at the change `visible`. Covers only deaths since
    /// the segment's dead file was written.
    pub(crate) fn segment_death(&self, segment: u64, ordinal: u32, visible: u64) -> bool {
        !self.segment_deaths.is_empty()
            && self.segment_deaths.get(&(segment, ordinal)).is_some_and(|died| *died <= visible)
    }

    /// All deaths in segments, in no particular order: (segment, ordinal, change).
    pub(crate) fn segment_deaths(&self) -> impl Iterator<Item = (u64, u32, u64)> + '_ {
        self.segment_deaths.iter().map(|(&(segment, ordinal), &died)| (segment, ordinal, died))
    }
}
