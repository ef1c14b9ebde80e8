//! `_Tables`: the hash tables of a MinHash LSH in memory.
//!
//! Python keeps the keys; here documents are numbers. A table maps the hash of a band to document
//! numbers, and the bytes of the band are compared, so that answers are exact.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher as _, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The keys are hashes already.
#[derive(Default, Clone, Copy)]
struct Hashed(u64);

impl std::hash::Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 << 8) | u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

impl BuildHasher for Hashed {
    type Hasher = Self;

    fn build_hasher(&self) -> Self {
        *self
    }
}

/// Document numbers of a bucket; most hold one.
enum Numbers {
    One(u32),
    Many(Vec<u32>),
}

impl Numbers {
    fn as_slice(&self) -> &[u32] {
        match self {
            Self::One(number) => std::slice::from_ref(number),
            Self::Many(numbers) => numbers,
        }
    }

    fn push(&mut self, number: u32) {
        match self {
            Self::One(first) => *self = Self::Many(vec![*first, number]),
            Self::Many(numbers) => numbers.push(number),
        }
    }
}

type Table = HashMap<u64, Numbers, Hashed>;

struct State {
    tables: Vec<Table>,
    /// The values of each document that bands cover; `None` where none is.
    rows: Vec<Option<Box<[u8]>>>,
    free: Vec<u32>,
    /// In which query a document was last found.
    found: Vec<u32>,
    query: u32,
}

/// Hash tables of bands.
#[pyclass(frozen, name = "_Tables", module = "nearkin._nearkin")]
pub(crate) struct Tables {
    bands: usize,
    seed: u64,
    state: Mutex<State>,
}

/// A 64-bit hash of a band: fast, and exact answers do not depend on it.
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

impl Tables {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self, row: &[u8]) -> PyResult<usize> {
        let width = row.len() / self.bands;
        if width == 0 || !row.len().is_multiple_of(self.bands) {
            return Err(PyValueError::new_err("a signature must fill all bands"));
        }
        Ok(width)
    }
}

#[pymethods]
impl Tables {
    #[new]
    fn new(bands: usize) -> PyResult<Self> {
        if bands == 0 {
            return Err(PyValueError::new_err("at least one band is needed"));
        }
        let tables = (0..bands).map(|_| Table::default()).collect();
        let (rows, free, found) = (Vec::new(), Vec::new(), Vec::new());
        let state = Mutex::new(State { tables, rows, free, found, query: 0 });
        Ok(Self { bands, seed: RandomState::new().build_hasher().finish(), state })
    }

    /// Adds a row and returns its number.
    fn insert(&self, row: &[u8]) -> PyResult<u32> {
        let width = self.check(row)?;
        let state = &mut *self.lock();
        let number = match state.free.pop() {
            Some(number) => number,
            None => u32::try_from(state.rows.len())
                .map_err(|_| PyValueError::new_err("at most 2**32 documents fit"))?,
        };
        let place = number as usize;
        if place == state.rows.len() {
            state.rows.push(None);
            state.found.push(0);
        }
        state.rows[place] = Some(row.into());
        for (table, band) in state.tables.iter_mut().zip(row.chunks_exact(width)) {
            table
                .entry(mixed(self.seed, band))
                .and_modify(|numbers| numbers.push(number))
                .or_insert(Numbers::One(number));
        }
        Ok(number)
    }

    /// Removes the row of a number.
    fn remove(&self, number: u32) -> PyResult<()> {
        let state = &mut *self.lock();
        let Some(row) = state.rows.get_mut(number as usize).and_then(Option::take) else {
            return Err(PyIndexError::new_err(format!("there is no row {number}")));
        };
        let width = row.len() / self.bands;
        for (table, band) in state.tables.iter_mut().zip(row.chunks_exact(width)) {
            let hash = mixed(self.seed, band);
            let empty = match table.get_mut(&hash) {
                Some(Numbers::Many(numbers)) => {
                    numbers.retain(|other| *other != number);
                    numbers.is_empty()
                }
                Some(Numbers::One(_)) => true,
                None => false,
            };
            if empty {
                table.remove(&hash);
            }
        }
        state.free.push(number);
        Ok(())
    }

    /// Numbers of the rows that share a band, each once, in the order found.
    fn query(&self, row: &[u8]) -> PyResult<Vec<u32>> {
        let width = self.check(row)?;
        let state = &mut *self.lock();
        state.query = state.query.wrapping_add(1);
        if state.query == 0 {
            state.found.fill(0);
            state.query = 1;
        }
        let mut answer = Vec::new();
        for (band, (table, sought)) in state.tables.iter().zip(row.chunks_exact(width)).enumerate()
        {
            let Some(numbers) = table.get(&mixed(self.seed, sought)) else { continue };
            for &number in numbers.as_slice() {
                let place = number as usize;
                let Some(stored) = &state.rows[place] else { continue };
                let same = stored.chunks_exact(stored.len() / self.bands).nth(band) == Some(sought);
                if same && state.found[place] != state.query {
                    state.found[place] = state.query;
                    answer.push(number);
                }
            }
        }
        Ok(answer)
    }

    /// Numbers of the rows that have these bytes in a band.
    fn bucket(&self, band: usize, sought: &[u8]) -> Vec<u32> {
        let state = self.lock();
        let Some(numbers) =
            state.tables.get(band).and_then(|table| table.get(&mixed(self.seed, sought)))
        else {
            return Vec::new();
        };
        let same = |number: &&u32| {
            let stored = state.rows[**number as usize].as_deref().unwrap_or_default();
            !stored.is_empty()
                && stored.chunks_exact(stored.len() / self.bands).nth(band) == Some(sought)
        };
        numbers.as_slice().iter().filter(same).copied().collect()
    }

    /// The bytes of a row.
    fn row<'py>(&self, py: Python<'py>, number: u32) -> PyResult<Bound<'py, PyBytes>> {
        let state = self.lock();
        let row = state.rows.get(number as usize).and_then(Option::as_deref);
        let row = row.ok_or_else(|| PyIndexError::new_err(format!("there is no row {number}")))?;
        Ok(PyBytes::new(py, row))
    }
}
