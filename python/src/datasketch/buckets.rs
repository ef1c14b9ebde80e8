//! Hash tables of bands: they find the documents whose values equal those of a query in at least
//! one band.
//!
//! A table has one 64-bit slot per bucket: a tag, which is half of the hash of the band's values,
//! and the newest document of the bucket. All documents of a bucket form a ring. The values of the
//! newest one are compared with those of the query, so answers are exact.

/// Sentinel: not a document.
const NOBODY: u32 = u32::MAX;
const EMPTY: u64 = u64::MAX;
const SLOTS_AT_FIRST: usize = 16;

fn document_of(slot: u64) -> u32 {
    u32::try_from(slot & u64::from(u32::MAX)).unwrap_or(NOBODY)
}

fn tag_of(slot: u64) -> u32 {
    u32::try_from(slot >> 32).unwrap_or(NOBODY)
}

fn slot_of(tag: u32, document: u32) -> u64 {
    u64::from(tag) << 32 | u64::from(document)
}

/// The table of one band: open addressing by the tag, linear probing.
struct BandTable {
    /// The number of slots is a power of two. At most five in eight are in use.
    slots: Vec<u64>,
    used: usize,
}

impl BandTable {
    fn new() -> Self {
        Self { slots: vec![EMPTY; SLOTS_AT_FIRST], used: 0 }
    }

    fn home(&self, tag: u32) -> usize {
        usize::try_from((u64::from(tag) * self.slots.len() as u64) >> 32).unwrap_or(0)
    }

    fn after(&self, at: usize) -> usize {
        (at + 1) & (self.slots.len() - 1)
    }

    /// Returns the slot that has this tag and whose newest document satisfies `same`, or else a
    /// free slot for a new bucket.
    fn find(&self, tag: u32, mut same: impl FnMut(u32) -> bool) -> Result<usize, usize> {
        let mut at = self.home(tag);
        loop {
            let slot = self.slots[at];
            if slot == EMPTY {
                return Err(at);
            }
            if tag_of(slot) == tag && same(document_of(slot)) {
                return Ok(at);
            }
            at = self.after(at);
        }
    }

    /// Makes room for one more bucket.
    fn reserve(&mut self) {
        if (self.used + 1) * 8 <= self.slots.len() * 5 {
            return;
        }
        let larger = vec![EMPTY; self.slots.len() * 2];
        for slot in std::mem::replace(&mut self.slots, larger) {
            if slot != EMPTY {
                let (Ok(at) | Err(at)) = self.find(tag_of(slot), |_| false);
                self.slots[at] = slot;
            }
        }
    }

    /// Empties a slot, and moves back later entries of the same probe sequence.
    fn remove(&mut self, at: usize) {
        let mask = self.slots.len() - 1;
        let (mut hole, mut next) = (at, self.after(at));
        while self.slots[next] != EMPTY {
            let first = self.home(tag_of(self.slots[next]));
            if next.wrapping_sub(first) & mask >= next.wrapping_sub(hole) & mask {
                self.slots[hole] = self.slots[next];
                hole = next;
            }
            next = self.after(next);
        }
        self.slots[hole] = EMPTY;
        self.used -= 1;
    }
}

/// One row. The fields that a query reads are adjacent.
struct BucketRow<K> {
    /// The values that the bands cover; `None` if the document was removed and its number can be
    /// used again.
    row: Option<Box<[u8]>>,
    key: Option<K>,
    /// The number of the last query that found this document: a query returns it only once.
    found: u32,
}

/// Rows of values under keys, found by their bands.
pub(super) struct BandBuckets<K> {
    seed: u64,
    tables: Vec<BandTable>,
    documents: Vec<BucketRow<K>>,
    /// The next document of the ring, per document and band. `previous` is the opposite direction.
    next: Vec<u32>,
    previous: Vec<u32>,
    free: Vec<u32>,
    query: u32,
    /// Buffers of the current query: `tags` holds the tag of each band, and `slots` the first slot
    /// that each tag leads to.
    tags: Vec<u32>,
    slots: Vec<u64>,
}

/// The two halves of the product of two words, combined by XOR.
#[inline]
fn folded(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    let [low, high] = [product & u128::from(u64::MAX), product >> 64];
    u64::try_from(low ^ high).unwrap_or(0)
}

/// A tag for the values of a band. Collisions do not change answers, because the values themselves
/// are compared, too. The multiplications are independent of each other, so the processor overlaps
/// them.
#[inline]
fn tag_for(seed: u64, values: &[u8]) -> u32 {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let (pairs, rest) = values.as_chunks::<16>();
    let mut last = [0; 16];
    last[..rest.len()].copy_from_slice(rest);
    let (mut own, mut sum) = (seed, values.len() as u64);
    for pair in pairs.iter().chain(std::iter::once(&last)) {
        own = own.wrapping_add(STEP);
        let words = u128::from_le_bytes(*pair);
        let low = u64::try_from(words & u128::from(u64::MAX)).unwrap_or(0);
        let high = u64::try_from(words >> 64).unwrap_or(0);
        sum = sum.wrapping_add(folded(low ^ own, high ^ own.rotate_left(32)));
    }
    tag_of(folded(sum ^ STEP, seed | 1))
}

/// The part of a row that a band covers.
#[inline]
fn band_of(row: &[u8], bands: usize, band: usize) -> &[u8] {
    let width = row.len() / bands;
    row.get(band * width..(band + 1) * width).unwrap_or_default()
}

impl<K> BucketRow<K> {
    fn has(&self, bands: usize, band: usize, values: &[u8]) -> bool {
        self.row.as_deref().is_some_and(|row| band_of(row, bands, band) == values)
    }
}

impl<K> BandBuckets<K> {
    pub(super) fn new(bands: usize, seed: u64) -> Self {
        Self {
            seed,
            tables: (0..bands).map(|_| BandTable::new()).collect(),
            documents: Vec::new(),
            next: Vec::new(),
            previous: Vec::new(),
            free: Vec::new(),
            query: 0,
            tags: Vec::with_capacity(bands),
            slots: Vec::with_capacity(bands),
        }
    }

    /// Adds a row and returns its number; `None` if there are already 2^32 - 1 rows.
    pub(super) fn insert(&mut self, key: K, row: &[u8]) -> Option<u32> {
        let bands = self.tables.len();
        let number = match self.free.pop() {
            Some(number) => number,
            None => u32::try_from(self.documents.len()).ok().filter(|number| *number != NOBODY)?,
        };
        let place = number as usize;
        if place == self.documents.len() {
            self.documents.push(BucketRow { row: None, key: None, found: 0 });
            self.next.resize(self.next.len() + bands, NOBODY);
            self.previous.resize(self.previous.len() + bands, NOBODY);
        }
        for band in 0..bands {
            let own = band_of(row, bands, band);
            let tag = tag_for(self.seed, own);
            let (table, documents) = (&mut self.tables[band], &self.documents);
            table.reserve();
            let same = |newest: u32| documents[newest as usize].has(bands, band, own);
            let own_place = place * bands + band;
            let (at, newest) = match table.find(tag, same) {
                Ok(at) => (at, document_of(table.slots[at])),
                Err(at) => {
                    table.used += 1;
                    self.next[own_place] = number;
                    (at, number)
                }
            };
            let newest_place = newest as usize * bands + band;
            let oldest = std::mem::replace(&mut self.next[newest_place], number);
            self.next[own_place] = oldest;
            self.previous[own_place] = newest;
            self.previous[oldest as usize * bands + band] = number;
            table.slots[at] = slot_of(tag, number);
        }
        let document = &mut self.documents[place];
        (document.row, document.key) = (Some(row.into()), Some(key));
        Some(number)
    }

    /// Removes the row with this number. Returns its key.
    pub(super) fn remove(&mut self, number: u32) -> Option<K> {
        let bands = self.tables.len();
        let document = self.documents.get_mut(number as usize)?;
        let (row, key) = (document.row.take()?, document.key.take());
        for band in 0..bands {
            let own = band_of(&row, bands, band);
            let place = |document: u32| document as usize * bands + band;
            let (table, documents) = (&mut self.tables[band], &self.documents);
            let same =
                |newest: u32| newest == number || documents[newest as usize].has(bands, band, own);
            let tag = tag_for(self.seed, own);
            let Ok(at) = table.find(tag, same) else { continue };
            let (next, before) = (self.next[place(number)], self.previous[place(number)]);
            if before == number {
                table.remove(at);
                continue;
            }
            self.next[place(before)] = next;
            self.previous[place(next)] = before;
            if document_of(table.slots[at]) == number {
                table.slots[at] = slot_of(tag, before);
            }
        }
        self.free.push(number);
        key
    }

    /// Calls `each` with the number and the key of each row that shares a band, once per row, in
    /// the order found.
    pub(super) fn query(&mut self, row: &[u8], mut each: impl FnMut(u32, &K)) {
        let bands = self.tables.len();
        self.query = self.query.wrapping_add(1);
        if self.query == 0 {
            self.documents.iter_mut().for_each(|document| document.found = 0);
            self.query = 1;
        }
        let Self { seed, tables, documents, next, query, tags, slots, .. } = self;
        // The first slots of all tables are read before any slot is examined, so that the reads
        // overlap.
        tags.clear();
        tags.extend((0..bands).map(|band| tag_for(*seed, band_of(row, bands, band))));
        slots.clear();
        slots.extend(tables.iter().zip(&*tags).map(|(table, tag)| table.slots[table.home(*tag)]));
        for (band, ((table, tag), first)) in tables.iter().zip(&*tags).zip(&*slots).enumerate() {
            if *first == EMPTY {
                continue;
            }
            let own = band_of(row, bands, band);
            let next_of = |one: u32| next[one as usize * bands + band];
            let same = |newest: u32| {
                let document = &documents[newest as usize];
                // If a document is alone in its bucket and was already found in another band, this
                // bucket adds nothing, so its values need not be compared.
                let known = document.found == *query && next_of(newest) == newest;
                !known && document.has(bands, band, own)
            };
            let Ok(at) = table.find(*tag, same) else { continue };
            let newest = document_of(table.slots[at]);
            let mut one = newest;
            loop {
                one = next_of(one);
                let document = &mut documents[one as usize];
                if document.found != *query {
                    document.found = *query;
                    if let Some(key) = &document.key {
                        each(one, key);
                    }
                }
                if one == newest {
                    break;
                }
            }
        }
    }

    /// Numbers of the rows that have these values in a band.
    pub(super) fn bucket(&self, band: usize, values: &[u8]) -> Vec<u32> {
        let (bands, tag) = (self.tables.len(), tag_for(self.seed, values));
        let Some(table) = self.tables.get(band) else { return Vec::new() };
        let same = |newest: u32| self.documents[newest as usize].has(bands, band, values);
        let Ok(at) = table.find(tag, same) else { return Vec::new() };
        let newest = document_of(table.slots[at]);
        let next = |one: &u32| {
            let next = self.next[*one as usize * bands + band];
            (*one != newest).then_some(next)
        };
        let oldest = self.next[newest as usize * bands + band];
        std::iter::successors(Some(oldest), next).collect()
    }

    /// The values of a row.
    pub(super) fn row(&self, number: u32) -> Option<&[u8]> {
        self.documents.get(number as usize)?.row.as_deref()
    }

    /// The key of a row.
    pub(super) fn key(&self, number: u32) -> Option<&K> {
        self.documents.get(number as usize)?.key.as_ref()
    }

    /// The keys of all rows.
    pub(super) fn keys(&self) -> impl Iterator<Item = &K> {
        self.documents.iter().filter_map(|document| document.key.as_ref())
    }

    /// Takes the keys of all rows.
    pub(super) fn take_keys(&mut self) -> Vec<K> {
        self.documents.iter_mut().filter_map(|document| document.key.take()).collect()
    }
}
