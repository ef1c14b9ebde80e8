//! All contents of a snapshot: documents in storage order, keys in ascending order.
//!
//! Both iterators own their data, so they can be stored and sent to other threads.

use crate::index::read::locate::locate_all;
use crate::index::read::ordered::{Ordered, each_live_key, least_keys};
use crate::index::state::key::Key;
use crate::index::state::versions::{Place, Snapshot};
use crate::{Document, Result};
use nearkin_sketch::engine::key_hash;
use std::fmt;
use std::ops::ControlFlow;

/// All documents of a snapshot: see [`Snapshot::iter`].
pub struct Documents {
    snapshot: Snapshot,
    next: Place,
    /// The number of documents in the source.
    count: u32,
}

/// Keys of a snapshot in order: see [`Snapshot::keys`].
pub struct Keys {
    ordered: Ordered,
    next: usize,
}

impl Snapshot {
    /// All documents, in no particular order. For the keys alone, in order, see [`Snapshot::keys`].
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("papers.nearkin");
    /// use nearkin::{Documents, Index, Options, Params};
    ///
    /// struct Walk {
    ///     documents: Documents,
    /// }
    ///
    /// let index = Index::create(&dir, &Params::for_threshold(0.7).build()?, Options::default())?;
    /// index.insert("p1", &index.sketcher().text("the quick brown fox")?)?;
    /// let mut walk = Walk { documents: index.snapshot().iter() };
    /// assert_eq!(walk.documents.next().unwrap()?.key, b"p1");
    /// # Ok(())
    /// # }
    /// ```
    #[expect(clippy::iter_without_into_iter, reason = "iteration takes an explicit call")]
    pub fn iter(&self) -> Documents {
        let next = Place { source: 0, ordinal: 0 };
        Documents { snapshot: self.clone(), next, count: self.document_count(0) }
    }

    /// All keys in ascending order, compared as bytes. Reads no signatures.
    ///
    /// The keys are sorted before the first is returned. This reads the key of every document, and
    /// needs memory for the keys plus 44 bytes each. If the order does not matter,
    /// [`Snapshot::for_each_key`] is several times as fast.
    ///
    /// # Errors
    ///
    /// `Invalid` (2^32 keys or more), `Corrupt`, `Io`. All of them are returned by this call, not
    /// by the iterator.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("papers.nearkin");
    /// use nearkin::{Batch, Index, Key, Options, Params, Result};
    ///
    /// let index = Index::create(&dir, &Params::for_threshold(0.7).build()?, Options::default())?;
    /// let text = index.sketcher().text("the quick brown fox")?;
    /// let keys = ["b/1", "a/2", "a/1"];
    /// index.write(keys.iter().fold(Batch::new(), |batch, key| batch.insert(key, &text)))?;
    /// let keys = index.snapshot().keys()?.collect::<Result<Vec<Key>>>()?;
    /// assert_eq!(keys, ["a/1", "a/2", "b/1"].map(Key::from));
    /// # Ok(())
    /// # }
    /// ```
    pub fn keys(&self) -> Result<Keys> {
        self.keys_with_prefix([])
    }

    /// The keys that begin with these bytes, in ascending order. Like [`Snapshot::keys`], this
    /// reads every key, but it needs memory only for the keys that match.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::keys`].
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("papers.nearkin");
    /// # use nearkin::{Batch, Index, Options, Params};
    /// # let params = Params::for_threshold(0.7).build()?;
    /// # let index = Index::create(&dir, &params, Options::default())?;
    /// # let text = index.sketcher().text("the quick brown fox")?;
    /// # let keys = ["b/1", "a/2", "a/1"];
    /// # index.write(keys.iter().fold(Batch::new(), |batch, key| batch.insert(key, &text)))?;
    /// let mut removes = Batch::new();
    /// for key in index.snapshot().keys_with_prefix("a/")? {
    ///     removes = removes.remove(key?);
    /// }
    /// assert_eq!(index.write(removes)?.outcomes.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn keys_with_prefix<'k>(&self, prefix: impl Into<Key<'k>>) -> Result<Keys> {
        self.refuse_if_closed()?;
        Ok(Keys { ordered: Ordered::live_keys(self, prefix.into().as_bytes())?, next: 0 })
    }

    /// One page of the keys that begin with `prefix`: at most `limit` of those greater than
    /// `after`, in ascending order. Pass the last key of a page to get the next one. If the index
    /// changes between pages, each key that is stored all the time is returned exactly once.
    ///
    /// Like [`Snapshot::keys_with_prefix`], each call reads every key, but it needs memory only for
    /// the page. To walk all keys of one snapshot, one call of [`Snapshot::keys`] costs less.
    ///
    /// # Errors
    ///
    /// `Corrupt`, `Io`.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("papers.nearkin");
    /// # use nearkin::{Batch, Index, Key, Options, Params};
    /// # let params = Params::for_threshold(0.7).build()?;
    /// # let index = Index::create(&dir, &params, Options::default())?;
    /// # let text = index.sketcher().text("the quick brown fox")?;
    /// # let keys = ["a/3", "b/1", "a/2", "a/1"];
    /// # index.write(keys.iter().fold(Batch::new(), |batch, key| batch.insert(key, &text)))?;
    /// let first = index.snapshot().keys_page("a/", None, 2)?;
    /// assert_eq!(first, ["a/1", "a/2"].map(Key::from));
    /// let next = index.snapshot().keys_page("a/", Some(first[1].as_bytes()), 2)?;
    /// assert_eq!(next, [Key::from("a/3")]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn keys_page<'k>(
        &self,
        prefix: impl Into<Key<'k>>,
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Key<'static>>> {
        self.refuse_if_closed()?;
        let keys = least_keys(self, prefix.into().as_bytes(), after, limit)?;
        Ok(keys.iter().map(|key| Key::owned(key)).collect())
    }

    /// Calls `each` with every key, in no particular order, until it breaks off: the fastest way to
    /// read all keys. Reads no signatures.
    ///
    /// # Errors
    ///
    /// `Corrupt`, `Io`.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("papers.nearkin");
    /// # use nearkin::{Index, Options, Params};
    /// # let params = Params::for_threshold(0.7).build()?;
    /// # let index = Index::create(&dir, &params, Options::default())?;
    /// use std::ops::ControlFlow;
    ///
    /// index.insert("p1", &index.sketcher().text("the quick brown fox")?)?;
    /// let mut bytes = 0;
    /// index.snapshot().for_each_key(|key| {
    ///     bytes += key.len();
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!(bytes, 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn for_each_key(&self, mut each: impl FnMut(&[u8]) -> ControlFlow<()>) -> Result<()> {
        each_live_key(self, &mut each)
    }

    /// The documents with these keys, in the given order; `None` for a key that is not stored. The
    /// keys are looked up together, which costs less than a [`Snapshot::get`] for each.
    ///
    /// # Errors
    ///
    /// `Corrupt`, `Io`.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("papers.nearkin");
    /// # use nearkin::{Index, Options, Params};
    /// # let params = Params::for_threshold(0.7).build()?;
    /// # let index = Index::create(&dir, &params, Options::default())?;
    /// index.insert("p1", &index.sketcher().text("the quick brown fox")?)?;
    /// let found = index.get_many(["p2", "p1"])?;
    /// assert!(found[0].is_none());
    /// assert_eq!(found[1].as_ref().unwrap().key, b"p1");
    /// # Ok(())
    /// # }
    /// ```
    pub fn get_many<'k>(
        &self,
        keys: impl IntoIterator<Item = impl Into<Key<'k>>>,
    ) -> Result<Vec<Option<Document>>> {
        self.refuse_if_closed()?;
        let keys: Vec<Key<'k>> = keys.into_iter().map(Into::into).collect();
        let seed = self.params().seed();
        let hashes: Vec<u64> = keys.iter().map(|key| key_hash(key.as_bytes(), seed)).collect();
        let places = locate_all(self, |at| keys[at].as_bytes(), &hashes, (0..keys.len()).collect());
        let document = |place: Option<Place>| place.map(|place| self.document(place)).transpose();
        places?.into_iter().map(document).collect()
    }
}

impl Documents {
    /// The next place, whether its document is live or dead.
    fn next_place(&mut self) -> Option<Place> {
        while self.next.ordinal >= self.count {
            if self.next.source >= self.snapshot.state.segments.len() {
                return None;
            }
            self.next = Place { source: self.next.source + 1, ordinal: 0 };
            self.count = self.snapshot.document_count(self.next.source);
        }
        let place = self.next;
        self.next.ordinal += 1;
        Some(place)
    }
}

impl Iterator for Documents {
    type Item = Result<Document>;

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(place) = self.next_place() {
            match self.snapshot.is_live(place) {
                Ok(false) => {}
                Ok(true) => return Some(self.snapshot.document(place)),
                Err(error) => return Some(Err(error)),
            }
        }
        None
    }
}

impl Iterator for Keys {
    type Item = Result<Key<'static>>;

    fn next(&mut self) -> Option<Self::Item> {
        let key = self.ordered.get(self.next)?;
        self.next += 1;
        Some(Ok(Key::owned(key)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.ordered.len() - self.next;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Keys {}

impl fmt::Debug for Documents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Documents").field("snapshot", &self.snapshot).finish_non_exhaustive()
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("left", &self.len()).finish_non_exhaustive()
    }
}
