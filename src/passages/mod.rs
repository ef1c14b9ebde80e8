//! Passage indexes, which find quotations. This is a layer on top of the engine.
//!
//! A text is mapped to several documents of the engine, and matches of these documents are mapped
//! back to an answer. `docs/guide/PASSAGES.md` describes the design.

mod asked;
mod cut;
mod pairs;
mod prints;
mod query;
mod shared;
mod table;
#[cfg(test)]
mod tests;
mod view;
mod words;

pub use cut::{PassageCutter, Prepared};
pub use pairs::{CountedPairs, PassagePair};
pub use query::PassageQuery;
pub use view::{Contained, PassageAnswer, PassageMatch, PassageView};

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{Batch, Error, Index, Key, Options, Outcome, Params, Result, Snapshot};

/// An index of texts that finds quotations. Share it by reference or in an `Arc`.
///
/// It is an [`Index`] whose documents are the passages of the texts. Each text is written as one
/// batch, so inserting, replacing and removing it are atomic. All guarantees of [`Index`] hold.
///
/// ```
/// # fn main() -> nearkin::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let dir = folder.path().join("books.nearkin");
/// use nearkin::passages::PassageIndex;
/// use nearkin::{Options, Params, Windows};
///
/// let params = Params::builder().passages(Windows::new(20, 10)?).build()?;
/// let index = PassageIndex::create(&dir, &params, Options::default())?;
/// index.insert("b1", "the quick brown fox jumps over the lazy dog")?;
/// let answer = index.view().query("The quick brown fox jumps over the lazy dog!").run()?;
/// assert_eq!(answer.texts[0].key, b"b1");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct PassageIndex {
    index: Index,
    cutter: PassageCutter,
    /// Locked from the time when the number of a text's passages is read until the passages are
    /// replaced.
    writing: Mutex<()>,
}

impl PassageIndex {
    /// Wraps an open index.
    ///
    /// # Errors
    ///
    /// `Invalid` if the parameters are not those of a passage index, if the index has a time to
    /// live, which could remove a part of a text, or if the handle is shared: another process could
    /// replace a text while this one does.
    pub fn new(index: Index) -> Result<Self> {
        let cutter = PassageCutter::new(index.params())?;
        if index.core().options.ttl.is_some() {
            return Err(Error::invalid(
                "a passage index cannot have a time to live: passages of one text could expire \
                 at different times",
            ));
        }
        if index.core().sharing.is_some() {
            return Err(Error::invalid(
                "a passage index cannot be shared with other processes: open it without `shared`",
            ));
        }
        Ok(Self { index, cutter, writing: Mutex::new(()) })
    }

    /// Creates an empty index. The parameters need
    /// [`ParamsBuilder::passages`](crate::ParamsBuilder::passages).
    ///
    /// # Errors
    ///
    /// Those of [`Index::create`] and [`PassageIndex::new`].
    pub fn create(dir: impl AsRef<Path>, params: &Params, options: Options) -> Result<Self> {
        PassageCutter::new(params)?;
        Self::new(Index::create(dir, params, options)?)
    }

    /// Opens an index for reading and writing.
    ///
    /// # Errors
    ///
    /// Those of [`Index::open`] and [`PassageIndex::new`].
    pub fn open(dir: impl AsRef<Path>, options: Options) -> Result<Self> {
        Self::new(Index::open(dir, options)?)
    }

    /// The cutter of this index, for use on other threads.
    pub fn cutter(&self) -> &PassageCutter {
        &self.cutter
    }

    /// The underlying index, for statistics, flushes and backups. Inserting and removing documents
    /// there returns `Invalid`, because it would leave incomplete texts.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// Inserts a text, or replaces the text with this key (1 to 4,092 bytes) and keeps its payload.
    /// If the text is unchanged, nothing is written.
    ///
    /// Costs a look-up and an append per passage. With `Sync` durability it also costs one sync,
    /// and other writers wait for it.
    ///
    /// # Errors
    ///
    /// `Empty` if the text is blank. `Invalid` also if the passages of the text do not fit
    /// into one batch. Also the errors of [`Index::insert`].
    pub fn insert<'k>(&self, key: impl Into<Key<'k>>, text: &str) -> Result<Outcome> {
        self.insert_prepared(self.cutter.prepare(key, text, None)?)
    }

    fn insert_prepared(&self, prepared: Prepared) -> Result<Outcome> {
        Ok(self.write(&[prepared])?.first().copied().unwrap_or(Outcome::Unchanged))
    }

    /// Inserts or replaces a text with a payload: the caller's own bytes, at most 64 KiB less 20
    /// bytes (of fingerprints: 32 KiB less 20). An empty payload clears the stored one. Otherwise
    /// like [`PassageIndex::insert`].
    ///
    /// # Errors
    ///
    /// Those of [`PassageIndex::insert`]; also `Invalid` for a longer payload.
    pub fn insert_with_payload<'k>(
        &self,
        key: impl Into<Key<'k>>,
        text: &str,
        payload: impl AsRef<[u8]>,
    ) -> Result<Outcome> {
        self.insert_prepared(self.cutter.prepare(key, text, Some(payload.as_ref()))?)
    }

    /// Replaces the payload of the text with this key by one of at most 64 KiB less 20 bytes (of
    /// fingerprints: 32 KiB less 20). The passages stay. Returns `Missing`, and writes nothing, if
    /// there is no such text; `Unchanged` if it has that payload already.
    ///
    /// # Errors
    ///
    /// Those of [`Index::set_payload`].
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("books.nearkin");
    /// # use nearkin::passages::PassageIndex;
    /// # use nearkin::{Options, Outcome, Params, Windows};
    /// # let params = Params::builder().passages(Windows::new(20, 10)?).build()?;
    /// # let index = PassageIndex::create(&dir, &params, Options::default())?;
    /// index.insert("b1", "the quick brown fox jumps over the lazy dog")?;
    /// assert_eq!(index.set_payload("b1", "read")?, Outcome::Replaced);
    /// assert_eq!(index.set_payload("b2", "read")?, Outcome::Missing);
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_payload<'k>(
        &self,
        key: impl Into<Key<'k>>,
        payload: impl AsRef<[u8]>,
    ) -> Result<Outcome> {
        let (key, payload) = (key.into(), payload.as_ref());
        let key = key.as_bytes();
        cut::check_key(key)?;
        self.cutter.check_payload(payload)?;
        // Locked until the write below: the stored bytes begin with the position and the number of
        // passages, and no other write may change those in between.
        let _writing = self.lock()?;
        let first = cut::inner_key(key, 0);
        let Some(stored) = self.index.snapshot().get(&first[..])? else {
            return Ok(Outcome::Missing);
        };
        let (_, old) = self.cutter.split_first(&stored.payload)?;
        let head = stored.payload.len() - old.len();
        let changed = [&stored.payload[..head], payload].concat();
        let written = self.index.write_to_any(&Batch::new().set_payload(first, changed))?;
        Ok(written.outcomes.first().copied().unwrap_or(Outcome::Unchanged))
    }

    /// Writes texts as one atomic change, with one sync. Returns one outcome per text, in order. If
    /// a key occurs more than once, the last text counts.
    ///
    /// # Errors
    ///
    /// Those of [`Index::write`].
    pub fn write(&self, texts: &[Prepared]) -> Result<Vec<Outcome>> {
        let _writing = self.lock()?;
        let snapshot = self.index.snapshot();
        let last: HashMap<&[u8], usize> =
            texts.iter().enumerate().map(|(at, text)| (text.key(), at)).collect();
        let mut batch = Batch::new();
        // For each key, the last payload that was given.
        let mut given: HashMap<&[u8], &[u8]> = HashMap::new();
        // For each text, whether its key was stored; `None` if a later text of the batch replaces
        // it.
        let mut before = Vec::with_capacity(texts.len());
        for (at, text) in texts.iter().enumerate() {
            given.extend(text.payload.as_ref().map(|payload| (text.key(), &payload[..])));
            if last.get(text.key()) != Some(&at) {
                before.push((None, 0));
                continue;
            }
            let (old, stored) = self.stored(&snapshot, text.key())?;
            let payload = given.get(text.key()).copied().unwrap_or(&stored);
            let begin = batch.len();
            batch = self.replace(batch, text, payload, old)?;
            before.push((Some(old > 0), batch.len().saturating_sub(begin)));
        }
        let written = self
            .index
            .write_to_any(&batch)
            .map_err(|error| of_text(error, texts, before.iter().map(|(_, count)| *count)))?;
        let mut rest = written.outcomes.as_slice();
        let outcome = |(existed, operations): (Option<bool>, usize)| {
            let (own, others) = rest.split_at(operations.min(rest.len()));
            rest = others;
            let same = own.iter().all(|one| matches!(one, Outcome::Unchanged | Outcome::Missing));
            match existed {
                None => Outcome::Superseded,
                Some(true) if same => Outcome::Unchanged,
                Some(true) => Outcome::Replaced,
                Some(false) => Outcome::Inserted,
            }
        };
        Ok(before.into_iter().map(outcome).collect())
    }

    /// Removes the text with this key: all of its passages at once.
    ///
    /// # Errors
    ///
    /// Those of [`Index::remove`].
    pub fn remove<'k>(&self, key: impl Into<Key<'k>>) -> Result<Outcome> {
        let key = key.into();
        let key = key.as_bytes();
        cut::check_key(key)?;
        let _writing = self.lock()?;
        let (old, _) = self.stored(&self.index.snapshot(), key)?;
        if old == 0 {
            return Ok(Outcome::Missing);
        }
        let remove = |batch: Batch, number| batch.remove(cut::inner_key(key, number));
        self.index.write_to_any(&(0..old).fold(Batch::new(), remove))?;
        Ok(Outcome::Removed)
    }

    /// A snapshot for queries while writes go on. Cheap to create.
    pub fn view(&self) -> PassageView {
        PassageView { snapshot: self.index.snapshot(), cutter: self.cutter.clone() }
    }

    /// Closes the index: see [`Index::close`].
    ///
    /// # Errors
    ///
    /// Those of [`Index::close`].
    pub fn close(self) -> Result<()> {
        self.index.close()
    }

    /// The operations that replace a text of `old` passages by another text.
    fn replace(
        &self,
        mut batch: Batch,
        text: &Prepared,
        payload: &[u8],
        old: u32,
    ) -> Result<Batch> {
        let new = u32::try_from(text.pieces.len())
            .map_err(|_| Error::invalid("a text of more than 2^32 passages"))?;
        for number in new..old {
            batch = batch.remove(cut::inner_key(&text.key, number));
        }
        for (number, piece) in (0..new).zip(&text.pieces) {
            let first = (number == 0).then_some((new, payload));
            let payload = self.cutter.payload(piece, first);
            let key = cut::inner_key(&text.key, number);
            batch = batch.insert_with_payload(key, &piece.signature, payload);
        }
        Ok(batch)
    }

    /// The number of passages stored for a key (0 if there is no such text), and the payload of the
    /// text.
    fn stored(&self, snapshot: &Snapshot, key: &[u8]) -> Result<(u32, Vec<u8>)> {
        match snapshot.get(cut::inner_key(key, 0))? {
            Some(first) => {
                let (count, payload) = self.cutter.split_first(&first.payload)?;
                Ok((count, payload.to_vec()))
            }
            None => Ok((0, Vec::new())),
        }
    }

    /// Refused in a forked child: another thread of the parent may have held the lock at the fork.
    fn lock(&self) -> Result<MutexGuard<'_, ()>> {
        self.index.refuse_in_child()?;
        // The mutex guards no value, so a panic cannot leave one inconsistent.
        Ok(self.writing.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// An error about one operation of a batch, told about the text that it belongs to; `counts` are
/// the numbers of operations of the texts.
fn of_text(error: Error, texts: &[Prepared], counts: impl Iterator<Item = usize>) -> Error {
    let Some(mut operation) = error.position() else { return error };
    for (number, (text, count)) in texts.iter().zip(counts).enumerate() {
        match operation.checked_sub(count) {
            Some(rest) => operation = rest,
            None => return error.of_document(number, texts.len(), text.key()),
        }
    }
    error
}
