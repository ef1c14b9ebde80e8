//! The reading face that `Index` and `Reader` share: each method reads a snapshot made by the call.

use super::handle::Index;
use super::reader::Reader;
use crate::index::read::{Clusters, Conditions, Document, Documents, Keys, Pairs, Progress};
use crate::index::read::{Queries, Query};
use crate::index::state::key::Key;
use crate::index::state::versions::Snapshot;
use crate::{Result, Signature};
use std::ops::ControlFlow;

impl Index {
    /// A frozen view of the index: later writes do not change its answers. Taking a snapshot is
    /// cheap.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # use nearkin::{Index, Options, Params};
    /// # let params = Params::for_threshold(0.7).build()?;
    /// # let index = Index::temporary(&params, Options::default())?;
    /// # let sketch = index.sketcher();
    /// # index.insert("p1", &sketch.text("the quick brown fox jumps over the lazy dog")?)?;
    /// # index.insert("p2", &sketch.text("The quick brown fox jumps over the lazy dog")?)?;
    /// let before = index.snapshot();
    /// index.remove("p2")?;
    /// assert_eq!((before.len(), index.len()), (2, 1));
    /// # Ok(())
    /// # }
    /// ```
    pub fn snapshot(&self) -> Snapshot {
        self.core.snapshot()
    }
}

/// Implements the face for a handle that has `snapshot()`.
macro_rules! reading_face {
    ($handle:ident) => {
        impl $handle {
            /// The number of live documents. Constant time.
            pub fn len(&self) -> u64 {
                self.snapshot().len()
            }

            /// Whether no document is live.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Whether there is a document with this key. Costs as much as [`Snapshot::get`].
            ///
            /// # Errors
            ///
            /// Those of [`Snapshot::get`].
            pub fn contains<'k>(&self, key: impl Into<Key<'k>>) -> Result<bool> {
                self.snapshot().contains(key)
            }

            /// The document with this key. Costs a probe per segment, and reading the document's
            /// block.
            ///
            /// # Errors
            ///
            /// `Corrupt`, `Io`.
            ///
            /// # Examples
            ///
            /// ```
            /// # fn main() -> nearkin::Result<()> {
            /// # use nearkin::{Index, Options, Params};
            /// # let params = Params::for_threshold(0.7).build()?;
            /// # let index = Index::temporary(&params, Options::default())?;
            /// # let sketch = index.sketcher();
            /// # index.insert("p1", &sketch.text("the quick brown fox jumps over the lazy dog")?)?;
            /// # index.insert("p2", &sketch.text("The quick brown fox jumps over the lazy dog")?)?;
            /// let document = index.get("p1")?.expect("it was inserted");
            /// assert_eq!(document.key, b"p1");
            /// assert!(index.get("p3")?.is_none());
            /// # Ok(())
            /// # }
            /// ```
            pub fn get<'k>(&self, key: impl Into<Key<'k>>) -> Result<Option<Document>> {
                self.snapshot().get(key)
            }

            /// The documents with these keys, in the order of the keys: see [`Snapshot::get_many`].
            ///
            /// # Errors
            ///
            /// Those of [`Snapshot::get_many`].
            pub fn get_many<'k>(
                &self,
                keys: impl IntoIterator<Item = impl Into<Key<'k>>>,
            ) -> Result<Vec<Option<Document>>> {
                self.snapshot().get_many(keys)
            }

            /// The signature of the document with this key. Costs as much as [`Snapshot::get`].
            ///
            /// # Errors
            ///
            /// Those of [`Snapshot::get`].
            pub fn signature<'k>(&self, key: impl Into<Key<'k>>) -> Result<Option<Signature>> {
                self.snapshot().signature(key)
            }

            /// Finds documents similar to this signature. See [`Query`] for threshold and limit.
            ///
            /// # Examples
            ///
            /// ```
            /// # fn main() -> nearkin::Result<()> {
            /// # use nearkin::{Index, Options, Params};
            /// # let params = Params::for_threshold(0.7).build()?;
            /// # let index = Index::temporary(&params, Options::default())?;
            /// # let sketch = index.sketcher();
            /// # index.insert("p1", &sketch.text("the quick brown fox jumps over the lazy dog")?)?;
            /// # index.insert("p2", &sketch.text("The quick brown fox jumps over the lazy dog")?)?;
            /// let text = index.sketcher().text("the quick brown fox jumps over the lazy dog")?;
            /// let answer = index.query(&text).threshold(0.8).limit(1).run()?;
            /// assert_eq!(answer.matches[0].key, b"p1");
            /// # Ok(())
            /// # }
            /// ```
            pub fn query<'a>(&self, signature: &'a Signature) -> Query<'a> {
                self.snapshot().query(signature)
            }

            /// Finds documents similar to each of these signatures. One call costs less than
            /// separate queries: see [`Queries`].
            pub fn queries<'a>(&self, signatures: &'a [Signature]) -> Queries<'a> {
                self.snapshot().queries(signatures)
            }

            /// Finds documents similar to the document with this key, which is never in the answer
            /// itself. Running the query fails with `NoSuchKey` if no document has the key.
            pub fn query_key<'a>(&self, key: impl Into<Key<'a>>) -> Query<'a> {
                self.snapshot().query_key(key)
            }

            /// Finds documents similar to any of the documents with these keys. See
            /// [`Snapshot::query_keys`].
            pub fn query_keys<'a>(
                &self,
                keys: impl IntoIterator<Item = impl Into<Key<'a>>>,
            ) -> Query<'a> {
                self.snapshot().query_keys(keys)
            }

            /// All documents. See [`Snapshot::iter`].
            #[expect(clippy::iter_without_into_iter, reason = "iteration takes an explicit call")]
            pub fn iter(&self) -> Documents {
                self.snapshot().iter()
            }

            /// All keys in ascending order. See [`Snapshot::keys`].
            ///
            /// # Errors
            ///
            /// Those of [`Snapshot::keys`].
            pub fn keys(&self) -> Result<Keys> {
                self.snapshot().keys()
            }

            /// The keys that begin with these bytes. See [`Snapshot::keys_with_prefix`].
            ///
            /// # Errors
            ///
            /// Those of [`Snapshot::keys_with_prefix`].
            pub fn keys_with_prefix<'k>(&self, prefix: impl Into<Key<'k>>) -> Result<Keys> {
                self.snapshot().keys_with_prefix(prefix)
            }

            /// One page of the keys that begin with these bytes. See [`Snapshot::keys_page`].
            ///
            /// # Errors
            ///
            /// Those of [`Snapshot::keys_page`].
            pub fn keys_page<'k>(
                &self,
                prefix: impl Into<Key<'k>>,
                after: Option<&[u8]>,
                limit: usize,
            ) -> Result<Vec<Key<'static>>> {
                self.snapshot().keys_page(prefix, after, limit)
            }

            /// All pairs of documents that reach a threshold ([`Alike`](crate::Alike)) and pass the
            /// other [`Conditions`]. See [`Snapshot::pairs`].
            ///
            /// # Errors
            ///
            /// Those of [`Snapshot::pairs`].
            ///
            /// # Examples
            ///
            /// ```
            /// # fn main() -> nearkin::Result<()> {
            /// # use nearkin::{Index, Options, Params};
            /// # let params = Params::for_threshold(0.7).build()?;
            /// # let index = Index::temporary(&params, Options::default())?;
            /// # let sketch = index.sketcher();
            /// # index.insert("p1", &sketch.text("the quick brown fox jumps over the lazy dog")?)?;
            /// # index.insert("p2", &sketch.text("The quick brown fox jumps over the lazy dog")?)?;
            /// for pair in index.pairs(0.8)? {
            ///     let pair = pair?;
            ///     assert_eq!(pair.similarity, 1.0);
            /// }
            /// assert_eq!(index.pairs(0.8)?.count(), 1);
            /// # Ok(())
            /// # }
            /// ```
            pub fn pairs(&self, conditions: impl Into<Conditions<'static>>) -> Result<Pairs> {
                self.snapshot().pairs(conditions)
            }

            /// The clusters of documents linked by pairs that reach a threshold
            /// ([`Alike`](crate::Alike)), of the documents that pass the other [`Conditions`]. See
            /// [`Snapshot::clusters_with`].
            ///
            /// # Errors
            ///
            /// `Invalid` (the threshold), `Corrupt`, `Io`.
            ///
            /// # Examples
            ///
            /// ```
            /// # fn main() -> nearkin::Result<()> {
            /// # use nearkin::{Index, Options, Params};
            /// # let params = Params::for_threshold(0.7).build()?;
            /// # let index = Index::temporary(&params, Options::default())?;
            /// # let sketch = index.sketcher();
            /// # index.insert("p1", &sketch.text("the quick brown fox jumps over the lazy dog")?)?;
            /// # index.insert("p2", &sketch.text("The quick brown fox jumps over the lazy dog")?)?;
            /// for cluster in index.clusters(0.8)? {
            ///     assert_eq!(cluster?.keys.len(), 2);
            /// }
            /// # Ok(())
            /// # }
            /// ```
            pub fn clusters<'c>(&self, conditions: impl Into<Conditions<'c>>) -> Result<Clusters> {
                self.snapshot().clusters(conditions)
            }

            /// The clusters, like [`Snapshot::clusters`]. Reports the progress in documents to
            /// `progress`, which may cancel the search.
            ///
            /// Takes as long as [`Snapshot::pairs`], and needs memory of 4 bytes per document and
            /// 16 bytes per member of a cluster.
            ///
            /// # Errors
            ///
            /// `Cancelled` if `progress` returns `Break`. Also the errors of
            /// [`Snapshot::clusters`].
            pub fn clusters_with<'c>(
                &self,
                conditions: impl Into<Conditions<'c>>,
                progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
            ) -> Result<Clusters> {
                self.snapshot().clusters_with(conditions, progress)
            }
        }
    };
}

reading_face!(Index);
reading_face!(Reader);
