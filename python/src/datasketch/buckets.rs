//! Hash tables of bands: which documents share the values of a band with a row.
//!
//! A table has a slot of 64 bits for each bucket: a tag, which is half of the hash of the values,
//! and the newest document. All documents of a bucket form a ring, so that the values of one of
//! them are compared and answers are exact.

/// No document has this number.
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
struct Table {
    /// A power of two of them, at most five in eight in use.
    slots: Vec<u64>,
    used: usize,
}

impl Table {
    fn new() -> Self {
        Self { slots: vec![EMPTY; SLOTS_AT_FIRST], used: 0 }
    }

    fn home(&self, tag: u32) -> usize {
        usize::try_from((u64::from(tag) * self.slots.len() as u64) >> 32).unwrap_or(0)
    }

    fn after(&self, at: usize) -> usize {
        (at + 1) & (self.slots.len() - 1)
    }

    /// The slot of the bucket for whose newest document `same` holds; else the free slot for it.
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

    /// Empties a slot, and moves those after it that could not have its place.
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

/// Rows of values, found by their bands.
pub(super) struct Buckets {
    seed: u64,
    tables: Vec<Table>,
    /// The values of each document that bands cover; `None` where none is.
    rows: Vec<Option<Box<[u8]>>>,
    /// For each document and band the next document of the ring, and the one before.
    next: Vec<u32>,
    previous: Vec<u32>,
    free: Vec<u32>,
    /// In which query a document was last found.
    found: Vec<u32>,
    query: u32,
    /// For each band of the current query its tag and its first slot.
    tags: Vec<(u32, u64)>,
}

/// A 64-bit hash of the values of a band: fast, and exact answers do not depend on it.
fn mixed(seed: u64, band: &[u8]) -> u64 {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = seed ^ (band.len() as u64);
    let (longs, rest) = band.as_chunks();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    for long in longs.iter().chain(std::iter::once(&last)) {
        let product = u128::from(hash ^ u64::from_le_bytes(*long)) * u128::from(STEP);
        let [low, high] = [product & u128::from(u64::MAX), product >> 64];
        hash = u64::try_from(low ^ high).unwrap_or(0).rotate_left(23).wrapping_add(STEP);
    }
    hash ^ (hash >> 29)
}

/// The values of a band of a row.
fn band_of(row: &[u8], bands: usize, band: usize) -> &[u8] {
    let width = row.len() / bands;
    row.get(band * width..(band + 1) * width).unwrap_or_default()
}

fn has(rows: &[Option<Box<[u8]>>], bands: usize, document: u32, band: usize, own: &[u8]) -> bool {
    rows[document as usize].as_deref().is_some_and(|row| band_of(row, bands, band) == own)
}

impl Buckets {
    pub(super) fn new(bands: usize, seed: u64) -> Self {
        Self {
            seed,
            tables: (0..bands).map(|_| Table::new()).collect(),
            rows: Vec::new(),
            next: Vec::new(),
            previous: Vec::new(),
            free: Vec::new(),
            found: Vec::new(),
            query: 0,
            tags: Vec::with_capacity(bands),
        }
    }

    fn tag(&self, values: &[u8]) -> u32 {
        tag_of(mixed(self.seed, values))
    }

    /// Adds a row and returns its number; `None` if there are 2^32 - 1 already.
    pub(super) fn insert(&mut self, row: &[u8]) -> Option<u32> {
        let bands = self.tables.len();
        let number = match self.free.pop() {
            Some(number) => number,
            None => u32::try_from(self.rows.len()).ok().filter(|number| *number != NOBODY)?,
        };
        let place = number as usize;
        if place == self.rows.len() {
            self.rows.push(None);
            self.found.push(0);
            self.next.resize(self.next.len() + bands, NOBODY);
            self.previous.resize(self.previous.len() + bands, NOBODY);
        }
        for band in 0..bands {
            let own = band_of(row, bands, band);
            let tag = self.tag(own);
            let (table, rows) = (&mut self.tables[band], &self.rows);
            table.reserve();
            let same = |newest: u32| has(rows, bands, newest, band, own);
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
        self.rows[place] = Some(row.into());
        Some(number)
    }

    /// Removes the row of a number; whether there was one.
    pub(super) fn remove(&mut self, number: u32) -> bool {
        let bands = self.tables.len();
        let Some(row) = self.rows.get_mut(number as usize).and_then(Option::take) else {
            return false;
        };
        for band in 0..bands {
            let own = band_of(&row, bands, band);
            let place = |document: u32| document as usize * bands + band;
            let (table, rows) = (&mut self.tables[band], &self.rows);
            let tag = tag_of(mixed(self.seed, own));
            let same = |newest| newest == number || has(rows, bands, newest, band, own);
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
        true
    }

    /// Calls `each` with the rows that share a band, each once, in the order found.
    pub(super) fn query(&mut self, row: &[u8], mut each: impl FnMut(u32)) {
        let bands = self.tables.len();
        self.query = self.query.wrapping_add(1);
        if self.query == 0 {
            self.found.fill(0);
            self.query = 1;
        }
        // The first slots of all tables are read before any is looked at: these reads overlap.
        self.tags.clear();
        for (band, table) in self.tables.iter().enumerate() {
            let tag = tag_of(mixed(self.seed, band_of(row, bands, band)));
            self.tags.push((tag, table.slots[table.home(tag)]));
        }
        let Self { tables, rows, next, found, query, tags, .. } = self;
        for (band, (table, (tag, first))) in tables.iter().zip(&*tags).enumerate() {
            if *first == EMPTY {
                continue;
            }
            let own = band_of(row, bands, band);
            let next_of = |one: u32| next[one as usize * bands + band];
            let same = |newest: u32| {
                // Alone in its bucket and found already: its values need not be compared.
                let known = found[newest as usize] == *query && next_of(newest) == newest;
                !known && has(rows, bands, newest, band, own)
            };
            let Ok(at) = table.find(*tag, same) else { continue };
            let newest = document_of(table.slots[at]);
            let mut one = newest;
            loop {
                one = next_of(one);
                if found[one as usize] != *query {
                    found[one as usize] = *query;
                    each(one);
                }
                if one == newest {
                    break;
                }
            }
        }
    }

    /// Numbers of the rows that have these values in a band.
    pub(super) fn bucket(&self, band: usize, values: &[u8]) -> Vec<u32> {
        let (bands, tag) = (self.tables.len(), self.tag(values));
        let Some(table) = self.tables.get(band) else { return Vec::new() };
        let same = |newest: u32| has(&self.rows, bands, newest, band, values);
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
        self.rows.get(number as usize)?.as_deref()
    }
}
