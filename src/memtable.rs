//! Recent documents: their signatures and buckets in memory, and the deaths of documents that
//! lie in segments.
//!
//! Knows ordinals and change numbers. Does not know the WAL, segments (but by number) or which
//! change is visible: the reader says up to which change it sees.

mod table;
#[cfg(test)]
mod tests;

use crate::format::bytes::index;
use crate::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use crate::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use ahash::RandomState;
use std::collections::HashMap;
use std::ops::Range;
use table::{Chain, Table};

/// The change at which a live document dies: none yet.
const NEVER: u64 = u64::MAX;

/// As many dead documents are not worth a flush of their own.
const DEAD_DOCS_MIN: u32 = if cfg!(test) { 64 } else { 16_384 };

/// Steps taken down per hold of the lock, so that readers get in between. (For entries in tables
/// it is not held: they are made while others read.)
const STEPS_PER_HOLD: usize = if cfg!(test) { 3 } else { 8 };
/// The same where all of them are deaths: that many take as long as a few births.
const DEATHS_PER_HOLD: usize = if cfg!(test) { 4 } else { 64 };
/// Entries in tables that are made together: the memory is asked for the next while it is at work.
const ENTRIES_TOGETHER: usize = if cfg!(test) { 4 } else { 64 };

/// How often a reader looks whether the writer has let go before it sleeps, and the other way
/// round: some 20 microseconds. (The thread that unlocks must wake the sleeping ones.)
/// (Under the schedule explorer one look is as good as many.)
const TRIES: u32 = if cfg!(shuttle) { 1 } else { 400 };

/// How often a writer looks, in one change, whether those who wait to read have come in.
const PATIENCE: u32 = 8 * TRIES;

/// A document as the writer hands it over.
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

/// One step of a change.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step<'a> {
    /// A document is born.
    Birth(NewDocument<'a>),
    /// A document of this memtable dies.
    Death(u32),
    /// A document of a segment dies.
    SegmentDeath { segment: u64, ordinal: u32 },
    /// What follows is of the next change.
    NextChange,
}

/// The in-memory source of recent documents. One writer, any number of readers.
#[derive(Debug)]
pub(crate) struct Memtable {
    content: RwLock<Content>,
    tables: usize,
    /// Readers that found it locked.
    waiting: AtomicU32,
    /// Whether anything was ever applied; told before a change is visible to anybody.
    touched: AtomicBool,
}

/// What a reader sees while it holds the lock: documents stand still, entries are added.
#[derive(Debug)]
pub(crate) struct Content {
    documents: Vec<Entry>,
    /// How many of them have died.
    dead: u32,
    signatures: Vec<u8>,
    /// Keys and payloads, one after another.
    texts: Vec<u8>,
    /// One per band, and one of keys.
    tables: Vec<Table>,
    segment_deaths: HashMap<(u64, u32), u64, RandomState>,
    /// Room for so many is made at the first birth.
    documents_expected: u32,
    signature_bytes: usize,
    /// Mixed into every hash.
    secret: u64,
}

/// The chains that [`Content::buckets`] walks together, kept for their memory: the place of each
/// among the hashes, its table, and where it is.
#[derive(Debug, Default)]
pub(crate) struct Walk(Vec<(usize, usize, Chain)>);

#[derive(Debug)]
struct Entry {
    born: u64,
    died: u64,
    time: u64,
    text: usize,
    key_bytes: u32,
    payload_bytes: u32,
    shingle_count: u32,
}

impl Memtable {
    /// An empty memtable; `documents_expected` is a guess that saves it from growing. BandKeys and
    /// the hashes of keys follow from the documents: `secret`, which their author does not know,
    /// keeps anybody from making up many that share a bucket of the tables here.
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
        Self { content: RwLock::new(content), tables, waiting, touched }
    }

    /// The content, for reading; a writer waits while the guard lives.
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
        // The writer holds it for a microsecond or two: less than it takes to go to sleep and to be
        // woken.
        for _ in 0..TRIES {
            if let Ok(content) = self.content.try_read() {
                return content;
            }
            std::hint::spin_loop();
        }
        // A reader that panicked changed nothing, and the writer's section does not panic.
        self.content.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the memory for where [`Content::buckets`] begins, if no writer is at work.
    pub(crate) fn ask_for_buckets(&self, keys: impl Iterator<Item = (usize, u64)>) {
        if let Ok(content) = self.content.try_read() {
            for (table, key) in keys {
                content.tables[table].ask_for(mix(key, content.secret));
            }
        }
    }

    /// Whether there is nothing here for a reader of any change that was visible when it asked:
    /// no document and no death. Takes no lock.
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

    /// The content, for the next part of a change. A writer takes it many times for one, and
    /// would be back before a reader has noticed that it was free: who waits goes first, as long as
    /// there is patience left. (The system may have taken that one's processor away.)
    fn write_in_turn(&self, patience: &mut u32) -> RwLockWriteGuard<'_, Content> {
        while self.waiting.load(Ordering::Relaxed) > 0 && *patience > 0 {
            *patience -= 1;
            std::hint::spin_loop();
        }
        self.write()
    }

    /// Applies a change, or part of one, or several: readers see it once they are told that
    /// `change` is visible. Readers get in between.
    pub(crate) fn apply(&self, mut change: u64, steps: &[Step<'_>]) {
        self.touched.store(true, Ordering::Release);
        let patience = &mut { PATIENCE };
        let born = births(steps).count();
        let steps_per_hold = if born > 0 { STEPS_PER_HOLD } else { DEATHS_PER_HOLD };
        if born == 0 {
            self.write().segment_deaths.reserve(steps.len());
        }
        for steps in steps.chunks(steps_per_hold) {
            change = self.write_in_turn(patience).take_down(change, steps);
        }
        // Only now, so that every ordinal found in a table has its document.
        if born > 0 {
            self.make_room(born, patience);
            self.enter(steps);
        }
    }

    /// Enters births into the tables, as a reader among others. Table by table: the next entries of
    /// one lie in pages whose addresses are at hand.
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

    /// Takes over the memory of one that nobody else holds any more, and none of what is in it, if
    /// this one is still empty: memory that the system gives anew it clears first, page by page.
    pub(crate) fn reuse(&self, old: Arc<Self>) {
        let Some(old) = Arc::into_inner(old) else { return };
        let mut old = old.content.into_inner().unwrap_or_else(PoisonError::into_inner);
        let content = self.read();
        if !content.documents.is_empty() {
            return;
        }
        // What takes time, beside readers: nobody else writes.
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

    /// Makes an empty one as large as one made for so many documents.
    pub(crate) fn expect(&self, documents: u32) {
        let mut content = self.write();
        if content.documents.is_empty() {
            content.documents_expected = documents;
            content.tables.fill_with(|| Table::for_documents(documents));
        }
    }

    /// Makes room for more documents in the tables, one after the other. Where another has to take
    /// a table's place, it is made beside readers.
    fn make_room(&self, count: usize, patience: &mut u32) {
        // All tables hold as many documents, and have room for as many.
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

    /// Whether most of it is dead: of documents that were replaced soon, again and again. Who asks
    /// for one of them would walk past all that came before.
    pub(crate) fn is_mostly_dead(&self) -> bool {
        let content = self.read();
        content.dead >= DEAD_DOCS_MIN && content.dead > content.document_count() / 2
    }

    /// About how much memory the content takes.
    pub(crate) fn bytes(&self) -> usize {
        let content = self.read();
        let tables: usize = content.tables.iter().map(Table::bytes).sum();
        // A hash map entry is 24 bytes and its control byte, at a load of 7/16 to 7/8.
        content.documents.len() * size_of::<Entry>()
            + content.signatures.len()
            + content.texts.len()
            + tables
            + content.segment_deaths.len() * 56
    }
}

fn births<'a>(steps: &'a [Step<'a>]) -> impl Iterator<Item = &'a NewDocument<'a>> {
    steps.iter().filter_map(|step| match step {
        Step::Birth(document) => Some(document),
        Step::Death(_) | Step::SegmentDeath { .. } | Step::NextChange => None,
    })
}

impl Content {
    /// All of a change, or of several, but the entries in the tables; returns the last of them.
    fn take_down(&mut self, mut change: u64, steps: &[Step<'_>]) -> u64 {
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
                Step::NextChange => change += 1,
            }
        }
        change
    }

    fn give_birth(&mut self, change: u64, document: &NewDocument<'_>) {
        assert_eq!(document.signature.len(), self.signature_bytes, "a signature of this index");
        assert_eq!(document.table_keys.len(), self.tables.len(), "a hash per table");
        if self.documents.is_empty() {
            // The system gives the memory when it is used; growing would copy it again and again.
            self.documents.reserve(index(self.documents_expected));
            self.signatures.reserve(index(self.documents_expected) * self.signature_bytes);
        }
        self.documents.push(Entry {
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

    /// Asks the memory for all that `enter` will change, where that would wait for one line after
    /// the other.
    fn ask_for(&self, tables: Range<usize>, steps: &[Step<'_>]) {
        for number in tables {
            let table = &self.tables[number];
            for document in births(steps) {
                table.ask_for(mix(document.table_keys[number], self.secret));
            }
        }
    }

    /// Enters births into these tables: the entries of one table do not wait for each other.
    /// Concurrent readers find some of them.
    fn enter(&self, tables: Range<usize>, steps: &[Step<'_>]) {
        for number in tables {
            let hash = |document: &NewDocument<'_>| mix(document.table_keys[number], self.secret);
            self.tables[number].enter(births(steps).map(hash));
        }
    }

    /// Documents born here, dead ones included.
    pub(crate) fn document_count(&self) -> u32 {
        u32::try_from(self.documents.len()).unwrap_or(u32::MAX)
    }

    /// Documents that all tables have. The others are of a change that is being applied: tables are
    /// entered in order, and documents in each of them.
    pub(crate) fn entered_count(&self) -> u32 {
        self.tables.last().map_or(0, Table::count)
    }

    /// Whether a document is live for a reader who sees changes up to `visible`.
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

    /// The documents whose hash in this table is `key`, newest first, live or not; and sometimes
    /// another one, for it looks at a part of the hash: the caller compares the bytes.
    #[inline]
    pub(crate) fn bucket(&self, table: usize, key: u64) -> impl Iterator<Item = u32> + '_ {
        self.tables[table].documents(mix(key, self.secret))
    }

    /// Tells which documents of a range of ordinals have each of several hashes, as
    /// [`Content::bucket`] does: the memory works on all of them at once. Each comes with its
    /// table; `tell` gets the hash's place among them, and says whether to go on with it.
    pub(crate) fn buckets(
        &self,
        keys: impl Iterator<Item = (usize, u64)>,
        ordinals: Range<u32>,
        Walk(chains): &mut Walk,
        mut tell: impl FnMut(usize, u32) -> bool,
    ) {
        chains.clear();
        // All heads, then all next ones: no look into memory waits for another.
        chains.extend(keys.enumerate().map(|(nth, (table, key))| {
            (nth, table, self.tables[table].chain(mix(key, self.secret)))
        }));
        while !chains.is_empty() {
            chains.retain_mut(|(nth, table, chain)| {
                let table = &self.tables[*table];
                match table.at(*chain) {
                    // An older one has a smaller ordinal.
                    Some((ordinal, has_it)) if ordinal >= ordinals.start => {
                        table.go_on(chain);
                        !has_it || ordinal >= ordinals.end || tell(*nth, ordinal)
                    }
                    _ => false,
                }
            });
        }
    }

    /// Asks the memory for where [`Content::find_key`] begins.
    #[inline]
    pub(crate) fn ask_for_key(&self, key_hash: u64) {
        if let Some(table) = self.tables.last() {
            table.ask_for(mix(key_hash, self.secret));
        }
    }

    /// The live document with this key, for a reader who sees changes up to `visible`.
    pub(crate) fn find_key(&self, key: &[u8], key_hash: u64, visible: u64) -> Option<u32> {
        let table = self.tables.len() - 1;
        // The newest version that the reader sees decides: those before it died at its birth or
        // earlier. So a key that comes and goes does not get slower with every version.
        let born = |ordinal: &u32| self.documents[index(*ordinal)].born <= visible;
        self.bucket(table, key_hash)
            .find(|ordinal| born(ordinal) && self.key(*ordinal) == key)
            .filter(|ordinal| self.is_live(*ordinal, visible))
    }

    /// Whether a document of a segment has died since that segment's dead file was written.
    pub(crate) fn segment_death(&self, segment: u64, ordinal: u32, visible: u64) -> bool {
        !self.segment_deaths.is_empty()
            && self.segment_deaths.get(&(segment, ordinal)).is_some_and(|died| *died <= visible)
    }

    /// All deaths in segments, in no order: (segment, ordinal, change).
    pub(crate) fn segment_deaths(&self) -> impl Iterator<Item = (u64, u32, u64)> + '_ {
        self.segment_deaths.iter().map(|(&(segment, ordinal), &died)| (segment, ordinal, died))
    }
}

/// 32 bits of a hash that nobody foretells who does not know the secret.
#[inline]
fn mix(key: u64, secret: u64) -> u32 {
    // Multiply-shift by a secret odd number: two keys agree in the first n bits of the result with
    // a chance of at most 2^(1-n), even if an attacker chose them.
    let product = (key ^ secret.rotate_left(32)).wrapping_mul(secret | 1);
    u32::try_from(product >> 32).unwrap_or(0)
}
