//! `_Tables`: the hash tables of a MinHash LSH in memory.
//!
//! Python maps keys to document numbers; here are the rows, and for each number its key.

use std::hash::{BuildHasher, Hasher as _, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use pyo3::{PyTraverseError, PyVisit};

use super::buckets::Buckets;

struct State {
    buckets: Buckets,
    /// The key of each document.
    keys: Vec<Option<Py<PyAny>>>,
}

/// Hash tables of bands.
///
/// No Python code may run while `state` is locked: a finalizer could call this object again.
#[pyclass(frozen, name = "_Tables", module = "nearkin._nearkin")]
pub(crate) struct Tables {
    bands: usize,
    /// Values of a band; 0 where what is stored of a band is no values, but a number of Python's.
    lanes: usize,
    state: Mutex<State>,
}

impl Tables {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of `part`, those of each value reversed: from bucket keys to values, and back.
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
            return Err(PyValueError::new_err("a row must fill all bands"));
        }
        Ok(self.swapped(row, self.bands * self.lanes))
    }

    /// The bytes of the hash values, and how many of them the bands cover. `None` if the MinHash
    /// does not fit, or only Python can hash it.
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
        let state = &mut *self.lock();
        let number = state.buckets.insert(row);
        let number = number.ok_or_else(|| PyValueError::new_err("at most 2**32 - 1 rows fit"))?;
        let place = number as usize;
        if place >= state.keys.len() {
            state.keys.resize_with(place + 1, || None);
        }
        // A number that is free has no key: nothing is dropped here.
        state.keys[place] = Some(key.unbind());
        Ok(number)
    }
}

#[pymethods]
impl Tables {
    #[new]
    fn new(bands: usize, lanes: usize) -> PyResult<Self> {
        if bands == 0 {
            return Err(PyValueError::new_err("at least one band is needed"));
        }
        let buckets = Buckets::new(bands, RandomState::new().build_hasher().finish());
        Ok(Self { bands, lanes, state: Mutex::new(State { buckets, keys: Vec::new() }) })
    }

    /// Adds a MinHash and returns its number; `None` if it is not of this length and scheme.
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

    /// The keys of the rows that share a band with a MinHash; `None` if it is not of this length
    /// and scheme.
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
        {
            let State { buckets, keys } = &mut *self.lock();
            buckets.query(&values.as_bytes()[..covered], |number| {
                let key = keys.get(number as usize).and_then(Option::as_ref);
                found.extend(key.map(|key| key.clone_ref(py)));
            });
        }
        // Unlocked: a new list can start the garbage collector.
        PyList::new(py, found).map(Some)
    }

    /// Adds a row of bucket keys and returns its number.
    fn insert(&self, key: Bound<'_, PyAny>, row: &[u8]) -> PyResult<u32> {
        self.insert_row(key, &self.swapped_row(row)?)
    }

    /// Removes the row of a number.
    fn remove(&self, number: u32) -> PyResult<()> {
        let key = {
            let State { buckets, keys } = &mut *self.lock();
            if !buckets.remove(number) {
                return Err(PyIndexError::new_err(format!("there is no row {number}")));
            }
            keys.get_mut(number as usize).and_then(Option::take)
        };
        drop(key);
        Ok(())
    }

    /// Numbers of the rows that share a band, each once, in the order found.
    fn query(&self, row: &[u8]) -> PyResult<Vec<u32>> {
        let row = self.swapped_row(row)?;
        let mut answer = Vec::new();
        self.lock().buckets.query(&row, |number| answer.push(number));
        Ok(answer)
    }

    /// Numbers of the rows that have this bucket key in a band.
    fn bucket(&self, band: usize, sought: &[u8]) -> Vec<u32> {
        if self.lanes > 0 && !sought.len().is_multiple_of(self.lanes) {
            return Vec::new();
        }
        self.lock().buckets.bucket(band, &self.swapped(sought, self.lanes))
    }

    /// The bucket keys of a row, joined.
    fn row<'py>(&self, py: Python<'py>, number: u32) -> PyResult<Bound<'py, PyBytes>> {
        let lanes = self.bands * self.lanes;
        let row = self.lock().buckets.row(number).map(|row| self.swapped(row, lanes));
        let row = row.ok_or_else(|| PyIndexError::new_err(format!("there is no row {number}")))?;
        Ok(PyBytes::new(py, &row))
    }

    /// The key of a row.
    fn key(&self, py: Python<'_>, number: u32) -> PyResult<Py<PyAny>> {
        let key = match self.lock().keys.get(number as usize) {
            Some(Some(key)) => Some(key.clone_ref(py)),
            _ => None,
        };
        key.ok_or_else(|| PyIndexError::new_err(format!("there is no row {number}")))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // Locked by a thread at work: the keys then count as used, and stay.
        let Ok(state) = self.state.try_lock() else { return Ok(()) };
        state.keys.iter().flatten().try_for_each(|key| visit.call(key))
    }

    fn __clear__(&self) {
        let keys = std::mem::take(&mut self.lock().keys);
        drop(keys);
    }
}
