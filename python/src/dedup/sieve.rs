//! Deduplication of a stream of rows: each row is compared with the rows before it, so neither all
//! rows nor all signatures need to be in memory.

use std::path::PathBuf;
use std::sync::Mutex;

use nearkin::{Alike, Index, Params, Sketcher, Snapshot};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::columns::documents::{Documents, Sketching};
use crate::dedup::estimate::{Estimate, against_index, kept_index, of_kept};
use crate::dedup::fates::Fate;
use crate::dedup::how::How;
use crate::error::{InvalidError, engine};
use crate::index::originals::Make;
use crate::lock::lock;
use crate::sketch::signatures::{Flat, Signatures, SignaturesBuilder};

/// Decides rows in the order in which they arrive.
pub(crate) struct Sieve<'a> {
    pub(crate) params: &'a Params,
    pub(crate) kept: &'a Index,
    pub(crate) against: Option<&'a Snapshot>,
    pub(crate) alike: Alike,
    pub(crate) drop_blank: bool,
    pub(crate) threads: usize,
    /// Makes the document of a row, whose shingles confirm what the estimate finds. If `None`, the
    /// estimate decides.
    pub(crate) confirm: Option<&'a Make<'a>>,
}

impl Sieve<'_> {
    /// Decides the rows of a column; `first` is the number of its first row in the stream. Calls
    /// `done` with the number of rows of the column decided so far.
    pub(crate) fn decide(
        &self,
        py: Python<'_>,
        documents: &Documents<'_>,
        first: usize,
        mut done: impl FnMut(usize) -> PyResult<()>,
    ) -> PyResult<Vec<Fate>> {
        let sketcher = Sketcher::new(self.params);
        let how = Sketching { sketcher: &sketcher, threads: self.threads, progress: None };
        let mut fates = Vec::with_capacity(documents.len());
        documents.sketch::<Flat>(py, how, |rows, parts| {
            let signatures = SignaturesBuilder::of_parts(self.params, &parts);
            let (begin, mut some) = (rows.start, vec![Fate::Kept; rows.len()]);
            if let Some(against) = self.against {
                against_index(py, against, &signatures, self.alike, self.threads, &mut some)?;
            }
            let order: Vec<usize> = (0..rows.len()).collect();
            let estimate = Estimate {
                kept: self.kept,
                signatures: &signatures,
                order: &order,
                first_rank: first + begin,
                // Rows are decided in input order, so the rank of a row is its number.
                row_of: &|rank| rank,
                alike: self.alike,
                threads: self.threads,
                confirm: self.confirm,
            };
            estimate.decide(py, &mut some, &mut |decided| done(begin + decided))?;
            if self.drop_blank {
                drop_blank(&signatures, &mut some);
            }
            fates.append(&mut some);
            Ok(())
        })?;
        Ok(fates)
    }
}

/// Leaves out rows that have nothing to compare.
pub(crate) fn drop_blank(signatures: &Signatures, fates: &mut [Fate]) {
    for (row, fate) in fates.iter_mut().enumerate() {
        if signatures.row(row).is_none() {
            *fate = Fate::Blank;
        }
    }
}

struct Open {
    kept: Index,
    /// Number of rows decided so far.
    rows: usize,
}

/// Decides which rows of a stream are kept. Called by `nearkin.dedup`.
#[pyclass(frozen, name = "_Sieve", module = "nearkin._nearkin")]
pub(crate) struct RowSieve {
    params: Params,
    against: Option<Snapshot>,
    alike: Alike,
    drop_blank: bool,
    threads: usize,
    process: u32,
    open: Mutex<Option<Open>>,
}

impl Drop for RowSieve {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // In a forked child, the index is leaked and not closed, because it belongs to the
            // parent.
            std::mem::forget(lock(&self.open).take());
        }
    }
}

#[pymethods]
impl RowSieve {
    #[new]
    fn new(py: Python<'_>, how: &Bound<'_, PyAny>, folder: PathBuf) -> PyResult<Self> {
        let how = How::new(how)?;
        let (given, alike, against) = (how.params.get(), how.alike(), how.snapshot(py)?);
        let params = engine(py, || of_kept(given, alike, false, against.is_some()))?;
        let kept = engine(py, || kept_index(&folder, &params))?;
        let open = Mutex::new(Some(Open { kept, rows: 0 }));
        let (threads, process) = (crate::parallel::threads(how.threads), std::process::id());
        Ok(Self { params, against, alike, drop_blank: how.drop_blank, threads, process, open })
    }

    /// Decides the next rows. Returns one byte per row: 1 if the row is kept.
    fn admit<'py>(
        &self,
        py: Python<'py>,
        documents: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        // The state is taken out for the duration of the call, and put back only if the call
        // succeeds: after an exception, the index of kept rows may lack rows of this call.
        let taken = lock(&self.open).take().filter(|_| self.process == std::process::id());
        let mut open = taken.ok_or_else(|| {
            InvalidError::new_err("the stream of rows was closed, failed, or is read elsewhere")
        })?;
        let documents = Documents::new(documents, &self.params)?;
        let sieve = Sieve {
            params: &self.params,
            kept: &open.kept,
            against: self.against.as_ref(),
            alike: self.alike,
            drop_blank: self.drop_blank,
            threads: self.threads,
            // The texts of earlier rows are gone.
            confirm: None,
        };
        let fates = sieve.decide(py, &documents, open.rows, |_| py.check_signals())?;
        open.rows += fates.len();
        *lock(&self.open) = Some(open);
        let stays: Vec<u8> = fates.iter().map(|fate| u8::from(fate.is_kept())).collect();
        Ok(PyBytes::new(py, &stays))
    }

    /// Closes the index of kept rows, so that its folder can be deleted.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let open = lock(&self.open).take();
        if self.process != std::process::id() {
            std::mem::forget(open);
            return Ok(());
        }
        engine(py, || {
            drop(open);
            Ok(())
        })
    }
}
