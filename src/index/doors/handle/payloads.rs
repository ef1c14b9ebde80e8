//! More of the public handle: writing with payloads, removing by prefix, and the maximum size of
//! a batch.

#[cfg(doc)]
use crate::Options;
use crate::index::Index;
use crate::index::maintain::removal;
use crate::index::read::Progress;
use crate::index::state::key::Key;
use crate::index::write::admit::{Admission, Admit, Newcomer, VerifiedAdmit, verify};
use crate::index::write::batch::{Batch, Outcome};
use crate::index::write::write_path;
use crate::{Error, ErrorKind, Result, Signature};
use std::ops::ControlFlow;

impl Index {
    /// Inserts or replaces a document with a payload: up to 64 KiB of the caller's own bytes. An
    /// empty payload clears the stored one. Everything else is as for [`Index::insert`].
    ///
    /// # Errors
    ///
    /// Those of [`Index::insert`]; also `Invalid` for a payload above 64 KiB.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("papers.nearkin");
    /// # use nearkin::{Index, Options, Params};
    /// # let params = Params::for_threshold(0.7).build()?;
    /// # let index = Index::create(&dir, &params, Options::default())?;
    /// let sketch = index.sketcher();
    /// index.insert_with_payload("p1", &sketch.text("a first draft of it")?, "by Ann")?;
    /// index.insert("p1", &sketch.text("the text as it was printed")?)?;
    /// assert_eq!(index.get("p1")?.unwrap().payload, b"by Ann");
    /// # Ok(())
    /// # }
    /// ```
    pub fn insert_with_payload<'k>(
        &self,
        key: impl Into<Key<'k>>,
        signature: &Signature,
        payload: impl AsRef<[u8]>,
    ) -> Result<Outcome> {
        let batch = Batch::new().insert_with_payload(key, signature, payload);
        self.write(batch).map(|written| written.outcomes[0])
    }

    /// Replaces the payload (up to 64 KiB) of the document with this key. Its signature and its
    /// time stay.
    ///
    /// Returns `Missing`, and writes nothing, if there is no such document; `Unchanged` if it has
    /// that payload already. Guarantees the same as [`Index::insert`], and costs as much, without
    /// the sketching.
    ///
    /// # Errors
    ///
    /// Those of [`Index::insert`]; also `Invalid` for a payload above 64 KiB.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("papers.nearkin");
    /// # use nearkin::{Index, Options, Outcome, Params};
    /// # let params = Params::for_threshold(0.7).build()?;
    /// # let index = Index::create(&dir, &params, Options::default())?;
    /// index.insert("p1", &index.sketcher().text("the quick brown fox")?)?;
    /// assert_eq!(index.set_payload("p1", "read")?, Outcome::Replaced);
    /// assert_eq!(index.set_payload("p2", "read")?, Outcome::Missing);
    /// assert_eq!(index.get("p1")?.unwrap().payload, b"read");
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_payload<'k>(
        &self,
        key: impl Into<Key<'k>>,
        payload: impl AsRef<[u8]>,
    ) -> Result<Outcome> {
        self.write(Batch::new().set_payload(key, payload)).map(|written| written.outcomes[0])
    }

    /// Removes every document whose key begins with these bytes. Returns the number of removed
    /// documents. An empty prefix removes all documents.
    ///
    /// The removes are one change if they fit into a batch of [`Options::batch_bytes_max`] (by
    /// default 16 MiB: 400,000 keys of 20 bytes). Otherwise they are several changes, in the order
    /// of the keys: after a crash or an error, each change is either complete or missing, and all
    /// those after a missing one are missing as well.
    ///
    /// Covers all documents that were written before the call. Guarantees the same as
    /// [`Index::insert`]. Reads every key of the index, and needs memory for the keys with the
    /// prefix.
    ///
    /// # Errors
    ///
    /// `Invalid` if the prefix is empty, as that of an unset variable is: [`Index::clear`] removes
    /// all documents. Also those of [`Index::insert`].
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("papers.nearkin");
    /// # use nearkin::{Batch, Index, Options, Params};
    /// # let params = Params::for_threshold(0.7).build()?;
    /// # let index = Index::create(&dir, &params, Options::default())?;
    /// let text = index.sketcher().text("the quick brown fox")?;
    /// let tenants = ["north/1", "north/2", "south/1"];
    /// index.write(tenants.iter().fold(Batch::new(), |batch, key| batch.insert(key, &text)))?;
    /// assert_eq!(index.remove_prefix("north/")?, 2);
    /// assert!(index.contains("south/1")?);
    /// assert!(index.remove_prefix("").is_err() && index.clear()? == 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn remove_prefix<'k>(&self, prefix: impl Into<Key<'k>>) -> Result<u64> {
        self.remove_prefix_with(prefix, &mut |_| ControlFlow::Continue(()))
    }

    /// Like [`Index::remove_prefix`], and reports the progress between two changes. If `progress`
    /// breaks off, the error is `Cancelled`, and the documents removed before stay removed.
    ///
    /// # Errors
    ///
    /// `Cancelled` if `progress` breaks off. Also the errors of [`Index::remove_prefix`].
    pub fn remove_prefix_with<'k>(
        &self,
        prefix: impl Into<Key<'k>>,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<u64> {
        write_path::refuse_passages(&self.core)?;
        let prefix = prefix.into();
        if prefix.as_bytes().is_empty() {
            return Err(Error::invalid(
                "an empty prefix would remove every document; give one, or call `clear`",
            ));
        }
        removal::remove_prefix(&*self.here()?, prefix.as_bytes(), progress)
    }

    /// Removes every document, as [`Index::remove_prefix`] removes those with a prefix, and returns
    /// their number.
    ///
    /// # Errors
    ///
    /// Those of [`Index::insert`].
    pub fn clear(&self) -> Result<u64> {
        self.clear_with(&mut |_| ControlFlow::Continue(()))
    }

    /// Like [`Index::clear`], and reports the progress as [`Index::remove_prefix_with`] does.
    ///
    /// # Errors
    ///
    /// `Cancelled` if `progress` breaks off. Also the errors of [`Index::insert`].
    pub fn clear_with(&self, progress: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> Result<u64> {
        write_path::refuse_passages(&self.core)?;
        removal::remove_prefix(&*self.here()?, b"", progress)
    }

    /// Like [`Index::remove_before`], and reports the progress in documents looked at. If
    /// `progress` breaks off, the error is `Cancelled`, and the documents removed before stay
    /// removed.
    ///
    /// # Errors
    ///
    /// `Cancelled` if `progress` breaks off. Also the errors of [`Index::insert`].
    pub fn remove_before_with(
        &self,
        time: u64,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<u64> {
        write_path::refuse_passages(&self.core)?;
        removal::remove_before(&*self.here()?, time, progress)
    }

    /// The maximum size of a batch ([`Batch::bytes`]): the [`Options::batch_bytes_max`] that this
    /// handle was opened with.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("papers.nearkin");
    /// # use nearkin::{Batch, Edit, Index, Options, Params};
    /// # let params = Params::for_threshold(0.7).build()?;
    /// # let index = Index::create(&dir, &params, Options::default())?;
    /// let text = index.sketcher().text("the quick brown fox")?;
    /// let edit = Edit::insert("p1", &text).payload("page 1");
    /// assert!(Batch::new().bytes() + edit.bytes() <= index.batch_bytes_max());
    /// # Ok(())
    /// # }
    /// ```
    pub fn batch_bytes_max(&self) -> usize {
        self.core.options.batch_bytes_max
    }

    /// Admits one newcomer, which may have a payload and a time. Everything else is as for
    /// [`Index::admit`].
    ///
    /// # Errors
    ///
    /// Those of [`Index::admit`]; also `Invalid` for a payload above 64 KiB.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("papers.nearkin");
    /// # use nearkin::{Admit, Index, Newcomer, Options, Params};
    /// # let params = Params::for_threshold(0.7).build()?;
    /// # let index = Index::create(&dir, &params, Options::default())?;
    /// let text = index.sketcher().text("the quick brown fox")?;
    /// let page = Newcomer::new("p1", &text).payload("page 1");
    /// assert!(index.admit_one(&page, &Admit::at(0.9))?.is_admitted());
    /// assert_eq!(index.get("p1")?.unwrap().payload, b"page 1");
    /// # Ok(())
    /// # }
    /// ```
    pub fn admit_one(&self, newcomer: &Newcomer<'_>, admit: &Admit<'_>) -> Result<Admission> {
        let admissions = self.admit_all(std::slice::from_ref(newcomer), admit)?;
        let none = || Error::new(ErrorKind::Unknown, "one document has one admission");
        admissions.into_iter().next().ok_or_else(none)
    }

    /// Same as [`Index::admit_all`], but decides by the documents themselves: see
    /// [`Admit::verify`]. The newcomers need their documents: [`Newcomer::original`].
    ///
    /// # Errors
    ///
    /// Those of [`Index::admit_all`] and of the caller's closure. `Unsettled` if documents like a
    /// newcomer were written 16 times in a row while others were compared with it.
    pub fn admit_verified(
        &self,
        newcomers: &[Newcomer<'_>],
        admit: &mut VerifiedAdmit<'_, '_>,
    ) -> Result<Vec<Admission>> {
        write_path::refuse_passages(&self.core)?;
        self.writing(|core| verify::admit_verified(core, newcomers, admit))
    }
}
