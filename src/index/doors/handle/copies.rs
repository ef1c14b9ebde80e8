//! More of the public handle: taking over documents of other indexes and sealed segments.

use crate::index::Index;
use crate::index::files::adopt::{self, Adopt};
use crate::index::files::copy::{Imported, Salvaged, import, salvage};
use crate::index::read::Progress;
use crate::index::state::core::Core;
use crate::index::state::options::{Durability, Options};
use crate::index::state::versions::Snapshot;
use crate::{Params, Result};
use std::ops::ControlFlow;
use std::path::Path;

impl Index {
    /// Takes sealed segments into the index in one commit. After a crash at any moment, the index
    /// has either all of them or none.
    ///
    /// Each file is copied with a new header that names this index; no document is sketched again,
    /// and no table is recomputed. The files themselves are unchanged; deleting them is up to the
    /// caller. The adoption is one change, and is durable on return under every
    /// [`Durability`](crate::Durability). The field `unchanged` of the result is always 0. Writers
    /// wait while keys are looked up; readers continue. See [`seal`](crate::shards::seal) for an
    /// example.
    ///
    /// # Errors
    ///
    /// `Mismatch` (a segment with other parameters), `Exists` (under [`Adopt::Refuse`]: a key is
    /// already live, or occurs in two of the segments), `Corrupt` (a damaged file), and those of
    /// [`Index::write`]. After an error nothing has changed.
    pub fn adopt(&self, sealed: &[impl AsRef<Path>], how: Adopt) -> Result<Imported> {
        import::check_of_documents(self.params())?;
        let paths: Vec<&Path> = sealed.iter().map(AsRef::as_ref).collect();
        adopt::adopt_from(&*self.here()?, &Core::disk(), &paths, how)
    }

    /// Inserts every document of another index. Keys, payloads (including empty ones), times,
    /// shingle counts and signatures are copied unchanged. A document replaces the one with the
    /// same key.
    ///
    /// The other index may have other bands and another threshold, but its signatures must have the
    /// same parameters. Documents are written in batches of about 4 MiB, and each batch is one
    /// change. After a crash or an error the batches written so far remain; import again to add the
    /// rest. Costs the same as inserting, without the sketching.
    ///
    /// # Errors
    ///
    /// `Mismatch`: nothing is written, and the message says what differs. Also the errors of
    /// reading the other index, and those of [`Index::write`].
    pub fn import(&self, from: &Snapshot) -> Result<Imported> {
        self.import_with(from, &mut |_| ControlFlow::Continue(()))
    }

    /// Imports with progress in documents. If `progress` breaks off, the error is `Cancelled`, and
    /// the documents written before remain.
    ///
    /// # Errors
    ///
    /// `Cancelled` if `progress` breaks off. Also the errors of [`Index::import`].
    pub fn import_with(
        &self,
        from: &Snapshot,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Imported> {
        import::import(&*self.here()?, from, progress)
    }

    /// Creates a new index at `out` from the stored signatures of another index. Returns its number
    /// of documents.
    ///
    /// The new index may have other bands, another threshold, or rows of another width: 16 bits can
    /// become 8; whole rows (32 or 64 bits) can become 8 or 16; and 32 can become 64.
    ///
    /// The new index answers exactly as if it had been made from the texts. Other changes of the
    /// parameters need the texts: the error `Mismatch` names them. Everything is durable on return.
    /// After a crash or an error an incomplete index may remain at `out`: delete it. Costs the same
    /// as [`Index::import`].
    ///
    /// # Errors
    ///
    /// `Mismatch` if the new parameters need the texts. Also the errors of [`Index::create`], of
    /// [`Index::write`], and of reading the other index.
    pub fn rebuild(
        from: &Snapshot,
        out: impl AsRef<Path>,
        params: &Params,
        options: Options,
    ) -> Result<u64> {
        Self::rebuild_with(from, out, params, options, &mut |_| ControlFlow::Continue(()))
    }

    /// Rebuilds with progress in documents. If `progress` breaks off, the error is `Cancelled`, and
    /// an incomplete index remains at `out`.
    ///
    /// # Errors
    ///
    /// `Cancelled` if `progress` breaks off. Also the errors of [`Index::rebuild`].
    pub fn rebuild_with(
        from: &Snapshot,
        out: impl AsRef<Path>,
        params: &Params,
        options: Options,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<u64> {
        import::check_convertible(from.params(), params)?;
        // One sync at the end is enough: after an earlier crash, the call can be repeated, because
        // the other index still exists.
        let options = Options { durability: Durability::OsBuffer, ..options };
        let index = Self::create(out, params, options)?;
        import::copy_documents(index.core(), from, progress)?;
        let documents = index.len();
        index.close()?;
        Ok(documents)
    }

    /// Copies everything that can still be read of a damaged index into a new index at `out`, even
    /// if the catalog is lost, or segments and logs are damaged. The damaged index is not changed.
    ///
    /// `params` are needed only if both the catalog and the copy of the parameters are lost.
    /// Recovered documents keep their times. If removes were lost, the removed documents may
    /// return. The report says what was lost and what is in doubt.
    ///
    /// # Errors
    ///
    /// `Invalid` (parameters needed), `Exists` (`out` holds an index), `Locked` (open for writing),
    /// `Corrupt` (nothing to recover from), `Io`.
    pub fn salvage(
        dir: impl AsRef<Path>,
        out: impl AsRef<Path>,
        params: Option<&Params>,
        options: Options,
    ) -> Result<Salvaged> {
        salvage(&Core::disk(), dir.as_ref(), out.as_ref(), params, options)
    }
}
