//! `nearkin.Signatures`: a column of signatures.

use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::{Array, FixedSizeBinaryArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::{ArrowError, Field};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PySlice, PySliceMethods, PyTuple};

use crate::arrow::ffi::{ARRAY_NAME, SCHEMA_NAME, shared};
use crate::called::call_method;
use crate::error::{InvalidError, from_engine, raise};
use crate::sketch::params::Params;
use crate::sketch::signature::{OTHER, Signature, check_same, equal_rows};

/// The signatures of a column of documents, in one block of memory. A row is null if its document
/// was null or had nothing to compare.
///
/// >>> import nearkin as nk
/// >>> s = nk.Sketcher(nk.Params(shingles="words:1"))
/// >>> sigs = s.texts(["a b c", "a b c d", None])
/// >>> len(sigs), sigs.is_null(2)
/// (3, True)
/// >>> sigs[0].similarity(sigs[0])
/// 1.0
#[pyclass(frozen, sequence, module = "nearkin")]
#[derive(Debug, Clone)]
pub(crate) struct Signatures {
    pub(crate) params: nearkin::Params,
    data: Arc<Vec<u8>>,
    counts: Arc<Vec<u32>>,
    /// One bit per row.
    validity: Arc<Vec<u8>>,
}

/// Signatures, concatenated.
#[derive(Debug, Default)]
pub(crate) struct Flat {
    width: usize,
    data: Vec<u8>,
    counts: Vec<u32>,
    valid: Vec<bool>,
}

/// Receives signatures as they are made; each thread has its own sink.
pub(crate) trait Sink: Default + Send {
    /// Adds a row; `None` if its document is null or has nothing to compare.
    fn push(&mut self, signature: Option<nearkin::Signature>);

    /// Adds a row whose document is there but blank.
    fn push_blank(&mut self) {
        self.push(None);
    }
}

impl Sink for Flat {
    fn push(&mut self, signature: Option<nearkin::Signature>) {
        if let Some(signature) = &signature {
            if self.width == 0 {
                // The first signature reveals the width. The null rows before it, which had no data
                // yet, become zeros.
                self.width = signature.as_bytes().len();
                self.data.resize(self.counts.len() * self.width, 0);
            }
            self.data.extend_from_slice(signature.as_bytes());
        } else {
            self.data.resize((self.counts.len() + 1) * self.width, 0);
        }
        self.counts.push(signature.as_ref().map_or(0, nearkin::Signature::shingle_count));
        self.valid.push(signature.is_some());
    }
}

/// Collects the signatures of a column.
#[derive(Debug)]
pub(crate) struct SignaturesBuilder {
    params: nearkin::Params,
    data: Vec<u8>,
    counts: Vec<u32>,
    validity: Vec<u8>,
}

impl SignaturesBuilder {
    pub(crate) fn new(params: &nearkin::Params, rows: usize) -> Self {
        let data = Vec::with_capacity(rows * params.signature_bytes());
        let counts = Vec::with_capacity(rows);
        Self { params: params.clone(), data, counts, validity: Vec::with_capacity(rows / 8 + 1) }
    }

    /// The signatures of these parts.
    pub(crate) fn of_parts(params: &nearkin::Params, parts: &[Flat]) -> Signatures {
        let rows = parts.iter().map(|part| part.counts.len()).sum();
        let mut builder = Self::new(params, rows);
        for part in parts {
            builder.append(part);
        }
        builder.finish()
    }

    pub(crate) fn append(&mut self, part: &Flat) {
        for (is_valid, count) in part.valid.iter().zip(&part.counts) {
            let at = self.counts.len();
            if at.is_multiple_of(8) {
                self.validity.push(0);
            }
            if let (true, Some(byte)) = (*is_valid, self.validity.last_mut()) {
                *byte |= 1 << (at % 8);
            }
            self.counts.push(*count);
        }
        self.data.extend_from_slice(&part.data);
        // A part without any signature has no data, because its width is unknown. Its rows become
        // zeros here.
        self.data.resize(self.counts.len() * self.params.signature_bytes(), 0);
    }

    pub(crate) fn finish(self) -> Signatures {
        let Self { params, data, counts, validity } = self;
        Signatures {
            params,
            data: Arc::new(data),
            counts: Arc::new(counts),
            validity: Arc::new(validity),
        }
    }
}

impl Signatures {
    pub(crate) fn len(&self) -> usize {
        self.counts.len()
    }

    fn is_valid(&self, row: usize) -> bool {
        self.validity.get(row / 8).is_some_and(|byte| byte >> (row % 8) & 1 == 1)
    }

    /// Number of distinct shingles of a row; 0 for a null row.
    pub(crate) fn count(&self, row: usize) -> u32 {
        self.counts.get(row).copied().unwrap_or(0)
    }

    fn bytes(&self, row: usize) -> &[u8] {
        let width = self.params.signature_bytes();
        self.data.get(row * width..(row + 1) * width).unwrap_or_default()
    }

    /// Row `row` as stored; `None` if it is null.
    pub(crate) fn row(&self, row: usize) -> Option<&[u8]> {
        self.is_valid(row).then(|| self.bytes(row))
    }

    /// Row `row` as a signature of the library; `None` if it is null.
    pub(crate) fn signature(
        &self,
        py: Python<'_>,
        row: usize,
    ) -> PyResult<Option<nearkin::Signature>> {
        if !self.is_valid(row) {
            return Ok(None);
        }
        nearkin::Signature::from_bytes(&self.params, self.bytes(row), self.count(row))
            .map(Some)
            .map_err(|error| from_engine(py, &error))
    }

    /// The rows as an Arrow array that shares them.
    fn column(&self) -> Result<FixedSizeBinaryArray, ArrowError> {
        let width = i32::try_from(self.params.signature_bytes()).unwrap_or(i32::MAX);
        let validity = BooleanBuffer::new(shared(&self.validity), 0, self.len());
        FixedSizeBinaryArray::try_new(width, shared(&self.data), Some(NullBuffer::new(validity)))
    }

    fn selected(&self, rows: impl ExactSizeIterator<Item = usize>) -> Self {
        let mut builder = SignaturesBuilder::new(&self.params, rows.len());
        let width = self.params.signature_bytes();
        for row in rows {
            let mut one = Flat { width, ..Flat::default() };
            one.data.extend_from_slice(self.bytes(row));
            one.counts.push(self.count(row));
            one.valid.push(self.is_valid(row));
            builder.append(&one);
        }
        builder.finish()
    }
}

#[pymethods]
impl Signatures {
    /// Creates signatures from their concatenated bytes, as returned by :meth:`to_bytes`.
    /// ``counts`` are the shingle counts (default: all 0); ``nulls`` are the positions of null
    /// rows.
    #[staticmethod]
    #[pyo3(signature = (params, data, counts=None, nulls=None))]
    fn from_bytes(
        py: Python<'_>,
        params: &Bound<'_, Params>,
        data: &[u8],
        counts: Option<Vec<u32>>,
        nulls: Option<Vec<usize>>,
    ) -> PyResult<Self> {
        let params = params.get().inner.clone();
        let width = params.signature_bytes();
        if !data.len().is_multiple_of(width) {
            let message = format!("{} bytes are no multiple of {width}", data.len());
            return Err(raise(py, "InvalidError", &message));
        }
        let rows = data.len() / width;
        let counts = counts.unwrap_or_else(|| vec![0; rows]);
        if counts.len() != rows {
            let message = format!("{rows} signatures, but {} counts", counts.len());
            return Err(InvalidError::new_err(message));
        }
        let mut valid = vec![true; rows];
        for null in nulls.unwrap_or_default() {
            let row = valid.get_mut(null);
            *row.ok_or_else(|| PyIndexError::new_err("a null row beyond the end"))? = false;
        }
        let flat = Flat { width, data: data.to_vec(), counts, valid };
        Ok(SignaturesBuilder::of_parts(&params, &[flat]))
    }

    /// The stored bytes of all rows, concatenated; null rows are zeros.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.data)
    }

    /// The parameters of the signatures.
    #[getter]
    fn params(&self) -> Params {
        Params::from_inner(self.params.clone())
    }

    /// Number of distinct shingles of each document; 0 for a null row.
    #[getter]
    fn shingle_counts(&self) -> Vec<u32> {
        self.counts.to_vec()
    }

    /// Whether this row is null: its document was null or had nothing to compare.
    fn is_null(&self, row: usize) -> bool {
        !self.is_valid(row)
    }

    /// Numbers of the null rows.
    #[getter]
    fn nulls(&self) -> Vec<usize> {
        (0..self.len()).filter(|row| !self.is_valid(*row)).collect()
    }

    /// Estimated Jaccard similarities to ``other``, row by row. ``other`` has the same number of
    /// rows, or one row. NaN for null rows.
    fn similarity(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
        let other = match other.cast::<Signature>() {
            Ok(one) => {
                let mut flat = Flat::default();
                flat.push(Some(one.get().inner.clone()));
                SignaturesBuilder::of_parts(&one.get().params, &[flat])
            }
            Err(_) => other.cast::<Self>()?.get().clone(),
        };
        check_same(py, &self.params, &other.params, OTHER)?;
        let rows = self.len();
        if other.len() != rows && other.len() != 1 {
            let message = format!("{rows} signatures, but {} others", other.len());
            return Err(InvalidError::new_err(message));
        }
        let step = usize::from(other.len() != 1);
        let similarity = |row: usize| {
            if !self.is_valid(row) || !other.is_valid(row * step) {
                return f64::NAN;
            }
            let equal = equal_rows(&self.params, self.bytes(row), other.bytes(row * step));
            self.params.similarity(equal)
        };
        crate::error::unlocked(py, || (0..rows).map(similarity).collect())
    }

    /// A read-only numpy array of the lanes (rows x hashes), without a copy.
    fn to_numpy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        call_method(slf.py().import("numpy")?.as_any(), "asarray", (slf,))
    }

    /// Lets numpy read the lanes without a copy; the array keeps this object alive.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        let kind = match self.params.lane_bits() {
            8 => "|u1",
            16 => "<u2",
            32 => "<u4",
            _ => "<u8",
        };
        interface.set_item("version", 3)?;
        interface.set_item("shape", (self.len(), self.params.hashes()))?;
        interface.set_item("typestr", kind)?;
        interface.set_item("data", (self.data.as_ptr() as usize, true))?;
        Ok(interface)
    }

    /// The Arrow PyCapsule interface: fixed-size binary values, without a copy.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        drop(requested_schema);
        let exported = self.column().and_then(|column| {
            let field = Field::new("signature", column.data_type().clone(), true);
            Ok((FFI_ArrowSchema::try_from(&field)?, FFI_ArrowArray::new(&column.to_data())))
        });
        let (schema, array) = exported.map_err(|error| InvalidError::new_err(error.to_string()))?;
        let schema = PyCapsule::new_with_value(py, schema, SCHEMA_NAME)?;
        Ok((schema, PyCapsule::new_with_value(py, array, ARRAY_NAME)?))
    }

    fn __len__(&self) -> usize {
        self.len()
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        at: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let length = isize::try_from(self.len()).unwrap_or(isize::MAX);
        if let Ok(slice) = at.cast::<PySlice>() {
            let places = slice.indices(length)?;
            let row = |number: usize| {
                let step = isize::try_from(number).unwrap_or(0) * places.step;
                usize::try_from(places.start + step).unwrap_or(0)
            };
            let selected = self.selected((0..places.slicelength).map(row));
            return Ok(selected.into_pyobject(py)?.into_any());
        }
        let at: isize = at.extract()?;
        let at = if at < 0 { at + length } else { at };
        let row = usize::try_from(at).ok().filter(|row| *row < self.len());
        let row = row.ok_or_else(|| PyIndexError::new_err("no such row"))?;
        match self.signature(py, row)? {
            Some(inner) => {
                let signature = Signature { params: self.params.clone(), inner };
                Ok(signature.into_pyobject(py)?.into_any())
            }
            None => Ok(py.None().into_bound(py)),
        }
    }

    fn __eq__(&self, other: PyRef<'_, Self>) -> bool {
        self.params.signature_id() == other.params.signature_id()
            && (&self.data, &self.counts, &self.validity)
                == (&other.data, &other.counts, &other.validity)
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (py, this) = (slf.py(), slf.get());
        let arguments = (this.params(), this.to_bytes(py), this.shingle_counts(), this.nulls());
        Ok((slf.getattr("from_bytes")?, arguments.into_pyobject(py)?))
    }

    fn __repr__(&self) -> String {
        let (rows, hashes) = (self.len(), self.params.hashes());
        format!("Signatures({rows} rows, hashes={hashes})")
    }
}
