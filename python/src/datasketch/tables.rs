//! `_Tables`: the hash tables of a MinHash LSH in memory.
//!
//! In Python, a dictionary maps keys to document numbers. This object holds the rows, and the key
//! of each number.

use std::hash::{BuildHasher, Hasher as _, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::InvalidError;
use pyo3::exceptions::PyIndexError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use pyo3::{PyTraverseError, PyVisit};

use super::buckets::BandBuckets;

type KeyBuckets = BandBuckets<Py<PyAny>>;

/// Hash tables of bands.
///
/// No Python code may run while `buckets` is locked: a finalizer could call this object again.
#[pyclass(frozen, name = "_Tables", module = "nearkin._nearkin")]
pub(crate) struct Tables {
    bands: usize,
    /// Number of values per band; 0 if the caller has a hash function of its own: Python then
    /// numbers the results of that function, and a band is stored as such a number.
    lanes: usize,
    buckets: Mutex<KeyBuckets>,
}

impl Tables {
    fn lock(&self) -> MutexGuard<'_, KeyBuckets> {
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Converts bucket keys to values, and back. A bucket key, in datasketch, consists of the
    /// values of a band, with the bytes of each value in reverse order.
    fn swapped(&self, part: &[u8], lanes: usize) -> Vec<u8> {
        let mut part = part.to_vec();
        if self.lanes > 0 && part.len() >= lanes {
            let width = part.len() / lanes;
            for value in part.chunks_exact_mut(width) {
                value.reverse();
            }
        }
        part
    }

    fn swapped_row(&self, row: &[u8]) -> PyResult<Vec<u8>> {
        if row.is_empty() || !row.len().is_multiple_of(self.bands * self.lanes.max(1)) {
            return Err(InvalidError::new_err("a row must fill all bands"));
        }
        Ok(self.swapped(row, self.bands * self.lanes))
    }

    /// The bytes of the hash values, and how many of these bytes the bands cover. `None` if the
    /// MinHash has another length or scheme, or if the caller's hash function has to compute the
    /// bucket keys.
    fn values_of<'py>(
        &self,
        minhash: &Bound<'py, PyAny>,
        length: usize,
        scheme: &Bound<'py, PyAny>,
    ) -> PyResult<Option<(Bound<'py, PyBytes>, usize)>> {
        let py = minhash.py();
        if self.lanes == 0 {
            return Ok(None);
        }
        if !scheme.is_none()
            && let Some(own) = minhash.getattr_opt(intern!(py, "scheme"))?
            && !own.is(scheme)
            && !own.is_none()
            && !own.eq(scheme)?
        {
            return Ok(None);
        }
        let Some(values) = minhash.getattr_opt(intern!(py, "hashvalues"))? else {
            return Ok(None);
        };
        if length == 0 || values.len()? != length {
            return Ok(None);
        }
        let bytes = values.call_method0(intern!(py, "tobytes"))?.cast_into::<PyBytes>()?;
        let all = bytes.as_bytes().len();
        let covered = all / length * self.bands * self.lanes;
        Ok((covered > 0 && covered <= all).then_some((bytes, covered)))
    }

    fn insert_row(&self, key: Bound<'_, PyAny>, row: &[u8]) -> PyResult<u32> {
        let number = self.lock().insert(key.unbind(), row);
        number.ok_or_else(|| {
            InvalidError::new_err("the table is full: it holds at most 2**32 - 1 rows")
        })
    }
}

#[pymethods]
impl Tables {
    #[new]
    fn new(bands: usize, lanes: usize) -> PyResult<Self> {
        if bands == 0 {
            return Err(InvalidError::new_err("at least one band is needed"));
        }
        let buckets = BandBuckets::new(bands, RandomState::new().build_hasher().finish());
        Ok(Self { bands, lanes, buckets: Mutex::new(buckets) })
    }

    /// Adds a MinHash and returns its number; `None` if `values_of` returns `None`.
    fn add<'py>(
        &self,
        key: Bound<'py, PyAny>,
        minhash: &Bound<'py, PyAny>,
        length: usize,
        scheme: &Bound<'py, PyAny>,
    ) -> PyResult<Option<u32>> {
        let Some((values, covered)) = self.values_of(minhash, length, scheme)? else {
            return Ok(None);
        };
        self.insert_row(key, &values.as_bytes()[..covered]).map(Some)
    }

    /// The keys of the rows that share a band with a MinHash; `None` if `values_of` returns `None`.
    fn find<'py>(
        &self,
        minhash: &Bound<'py, PyAny>,
        length: usize,
        scheme: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyList>>> {
        let py = minhash.py();
        let Some((values, covered)) = self.values_of(minhash, length, scheme)? else {
            return Ok(None);
        };
        let mut found = Vec::new();
        let row = &values.as_bytes()[..covered];
        self.lock().query(row, |_, key| found.push(key.clone_ref(py)));
        // The tables are unlocked here, because creating a list can start the garbage collector,
        // which may need the lock.
        PyList::new(py, found).map(Some)
    }

    /// Adds a row of bucket keys and returns its number.
    fn insert(&self, key: Bound<'_, PyAny>, row: &[u8]) -> PyResult<u32> {
        self.insert_row(key, &self.swapped_row(row)?)
    }

    /// Removes the row with this number.
    fn remove(&self, number: u32) -> PyResult<()> {
        let key = self.lock().remove(number);
        key.map(drop).ok_or_else(|| PyIndexError::new_err(format!("there is no row {number}")))
    }

    /// Numbers of the rows that share a band, each once, in the order found.
    fn query(&self, row: &[u8]) -> PyResult<Vec<u32>> {
        let row = self.swapped_row(row)?;
        let mut answer = Vec::new();
        self.lock().query(&row, |number, _| answer.push(number));
        Ok(answer)
    }

    /// Numbers of the rows that have this bucket key in a band.
    fn bucket(&self, band: usize, sought: &[u8]) -> Vec<u32> {
        if self.lanes > 0 && !sought.len().is_multiple_of(self.lanes) {
            return Vec::new();
        }
        self.lock().bucket(band, &self.swapped(sought, self.lanes))
    }

    /// The bucket keys of a row, joined.
    fn row<'py>(&self, py: Python<'py>, number: u32) -> PyResult<Bound<'py, PyBytes>> {
        let lanes = self.bands * self.lanes;
        let row = self.lock().row(number).map(|row| self.swapped(row, lanes));
        let row = row.ok_or_else(|| PyIndexError::new_err(format!("there is no row {number}")))?;
        Ok(PyBytes::new(py, &row))
    }

    /// The key of a row.
    fn key(&self, py: Python<'_>, number: u32) -> PyResult<Py<PyAny>> {
        let key = self.lock().key(number).map(|key| key.clone_ref(py));
        key.ok_or_else(|| PyIndexError::new_err(format!("there is no row {number}")))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // If another call holds the lock, no key is visited. The garbage collector then treats the
        // keys as referenced from elsewhere, and keeps them.
        let Ok(buckets) = self.buckets.try_lock() else { return Ok(()) };
        buckets.keys().try_for_each(|key| visit.call(key))
    }

    fn __clear__(&self) {
        let keys = self.lock().take_keys();
        drop(keys);
    }
}
