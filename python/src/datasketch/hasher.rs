//! `_Hasher`: the permutations of a MinHash, and the hash values that they produce.

use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyList, PyMemoryView};
use sha1::{Digest, Sha1};

use super::{kernels, random};
use crate::error::{InvalidError, unlocked};
use crate::parallel::{in_parts, threads};

/// Rows that one thread takes at a time.
const BATCH_ROWS: usize = 32;

/// Permutations per scheme: multipliers and addends.
enum Permutations {
    Affine32(Vec<u32>, Vec<u32>),
    Affine64(Vec<u64>, Vec<u64>),
    Legacy(Vec<u64>, Vec<u64>),
}

/// The permutations of a MinHash in one scheme.
#[pyclass(frozen, name = "_Hasher", module = "nearkin._nearkin")]
pub(crate) struct Hasher {
    permutations: Permutations,
}

fn words(data: &[u8]) -> Vec<u32> {
    let (words, _) = data.as_chunks();
    words.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

fn longs(data: &[u8]) -> Vec<u64> {
    let (longs, _) = data.as_chunks();
    longs.iter().map(|long| u64::from_le_bytes(*long)).collect()
}

fn word_bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn long_bytes(longs: &[u64]) -> Vec<u8> {
    longs.iter().flat_map(|long| long.to_le_bytes()).collect()
}

fn unknown_scheme(scheme: &str) -> PyErr {
    InvalidError::new_err(format!("scheme {scheme:?}: use affine32, affine64 or legacy"))
}

/// An item, kept alive or copied, so that it can be hashed without the interpreter lock.
enum HeldItem<'py> {
    Bytes(Bound<'py, PyBytes>),
    Copied(Vec<u8>),
}

/// The bytes of an item: of a `bytes` object, or of any object with a buffer.
fn hold(item: Bound<'_, PyAny>) -> PyResult<HeldItem<'_>> {
    match item.cast_into::<PyBytes>() {
        Ok(bytes) => Ok(HeldItem::Bytes(bytes)),
        Err(error) => {
            let view = PyMemoryView::from(&error.into_inner())?;
            Ok(HeldItem::Copied(view.call_method0("tobytes")?.extract()?))
        }
    }
}

fn hold_all<'py>(items: &Bound<'py, PyList>, held: &mut Vec<HeldItem<'py>>) -> PyResult<()> {
    held.reserve(items.len());
    for item in items {
        held.push(hold(item)?);
    }
    Ok(())
}

fn data<'a>(held: &'a [HeldItem<'_>]) -> Vec<&'a [u8]> {
    let bytes = |item: &'a HeldItem<'_>| match item {
        HeldItem::Bytes(bytes) => bytes.as_bytes(),
        HeldItem::Copied(copied) => copied,
    };
    held.iter().map(bytes).collect()
}

/// The first four bytes of an item's SHA-1.
fn sha1_word(item: &[u8]) -> u32 {
    let hash = Sha1::digest(item);
    u32::from_le_bytes([hash[0], hash[1], hash[2], hash[3]])
}

/// The first eight bytes of an item's SHA-1.
fn sha1_long(item: &[u8]) -> u64 {
    let hash = Sha1::digest(item);
    let high = u32::from_le_bytes([hash[4], hash[5], hash[6], hash[7]]);
    u64::from(sha1_word_of(&hash)) | (u64::from(high) << 32)
}

fn sha1_word_of(hash: &[u8]) -> u32 {
    u32::from_le_bytes([hash[0], hash[1], hash[2], hash[3]])
}

impl Hasher {
    fn count(&self) -> usize {
        match &self.permutations {
            Permutations::Affine32(a, _) => a.len(),
            Permutations::Affine64(a, _) | Permutations::Legacy(a, _) => a.len(),
        }
    }

    fn lane(&self) -> usize {
        if matches!(self.permutations, Permutations::Affine32(..)) { 4 } else { 8 }
    }

    fn check(&self, values: &[u8]) -> PyResult<()> {
        if values.len() == self.count() * self.lane() {
            return Ok(());
        }
        Err(InvalidError::new_err("Numbers of hash values and permutations mismatch"))
    }

    /// For each permutation, the minimum of the given hash value and of the permuted SHA-1 hashes
    /// of all items.
    fn hash_items(&self, values: &[u8], items: &[&[u8]]) -> Vec<u8> {
        match &self.permutations {
            Permutations::Affine32(a, b) => {
                let mut out = words(values);
                let hashes: Vec<u32> = items.iter().map(|item| sha1_word(item)).collect();
                kernels::min_affine32(a, b, &hashes, &mut out);
                word_bytes(&out)
            }
            Permutations::Affine64(a, b) => {
                let mut out = longs(values);
                let hashes: Vec<u64> = items.iter().map(|item| sha1_long(item)).collect();
                kernels::min_affine64(a, b, &hashes, &mut out);
                long_bytes(&out)
            }
            Permutations::Legacy(a, b) => {
                let mut out = longs(values);
                let hashes: Vec<u64> =
                    items.iter().map(|item| u64::from(sha1_word(item))).collect();
                kernels::min_legacy(a, b, &hashes, &mut out);
                long_bytes(&out)
            }
        }
    }

    /// For each permutation, the minimum of the given hash value and of all permuted hashes.
    fn permute(&self, values: &[u8], hashes: &[u8]) -> Vec<u8> {
        match &self.permutations {
            Permutations::Affine32(a, b) => {
                let mut out = words(values);
                kernels::min_affine32(a, b, &words(hashes), &mut out);
                word_bytes(&out)
            }
            Permutations::Affine64(a, b) => {
                let mut out = longs(values);
                kernels::min_affine64(a, b, &longs(hashes), &mut out);
                long_bytes(&out)
            }
            Permutations::Legacy(a, b) => {
                let mut out = longs(values);
                kernels::min_legacy(a, b, &longs(hashes), &mut out);
                long_bytes(&out)
            }
        }
    }
}

#[pymethods]
impl Hasher {
    #[new]
    fn new(scheme: &str, a: &[u8], b: &[u8]) -> PyResult<Self> {
        let permutations = match scheme {
            "affine32" => Permutations::Affine32(words(a), words(b)),
            "affine64" => Permutations::Affine64(longs(a), longs(b)),
            "legacy" => Permutations::Legacy(longs(a), longs(b)),
            _ => return Err(unknown_scheme(scheme)),
        };
        Ok(Self { permutations })
    }

    /// The multipliers, followed by the addends, for a seed.
    #[staticmethod]
    fn permutations<'py>(
        py: Python<'py>,
        scheme: &str,
        seed: u32,
        count: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let both = |(a, b): (Vec<u64>, Vec<u64>)| [long_bytes(&a), long_bytes(&b)].concat();
        let bytes = match scheme {
            "affine32" => {
                let (a, b) = random::affine32(seed, count);
                [word_bytes(&a), word_bytes(&b)].concat()
            }
            "affine64" => both(random::affine64(seed, count)),
            "legacy" => both(random::legacy(seed, count)),
            _ => return Err(unknown_scheme(scheme)),
        };
        Ok(PyBytes::new(py, &bytes))
    }

    /// The hash values after adding items.
    fn update<'py>(
        &self,
        py: Python<'py>,
        values: &[u8],
        items: &Bound<'py, PyList>,
    ) -> PyResult<Bound<'py, PyByteArray>> {
        self.check(values)?;
        let mut held = Vec::new();
        hold_all(items, &mut held)?;
        let items = data(&held);
        // Releasing the interpreter lock costs more than a few hashes.
        let out = if items.len() < 4 {
            self.hash_items(values, &items)
        } else {
            unlocked(py, || self.hash_items(values, &items))?
        };
        Ok(PyByteArray::new(py, &out))
    }

    /// The hash values after adding hashes that the caller computed.
    fn update_hashes<'py>(
        &self,
        py: Python<'py>,
        values: &[u8],
        hashes: &[u8],
    ) -> PyResult<Bound<'py, PyByteArray>> {
        self.check(values)?;
        let out = unlocked(py, || self.permute(values, hashes))?;
        Ok(PyByteArray::new(py, &out))
    }

    /// The hash values of many sets. Each row is the items of one set; every set starts from the
    /// same initial values.
    fn bulk<'py>(
        &self,
        py: Python<'py>,
        values: &[u8],
        rows: Vec<Bound<'py, PyList>>,
    ) -> PyResult<Bound<'py, PyByteArray>> {
        self.check(values)?;
        let (mut held, mut ends) = (Vec::new(), vec![0]);
        for row in rows {
            hold_all(&row, &mut held)?;
            ends.push(held.len());
        }
        let (items, rows) = (data(&held), ends.len() - 1);
        let out = unlocked(py, || {
            let hash_row = |row: usize| self.hash_items(values, &items[ends[row]..ends[row + 1]]);
            in_parts(threads(None), rows, BATCH_ROWS, |part| {
                part.flat_map(hash_row).collect::<Vec<_>>()
            })
        })?;
        Ok(PyByteArray::new(py, &out.concat()))
    }

    /// The hash of an item before the permutations: the first bytes of its SHA-1.
    #[staticmethod]
    fn sha1(item: Bound<'_, PyAny>, bits: u32) -> PyResult<u64> {
        let held = hold(item)?;
        let item = data(std::slice::from_ref(&held))[0];
        Ok(if bits == 64 { sha1_long(item) } else { u64::from(sha1_word(item)) })
    }
}
