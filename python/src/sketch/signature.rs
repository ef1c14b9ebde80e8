//! `nearkin.Signature`: the signature of one document.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::called::elements;
use crate::error::{from_engine, raise};
use crate::sketch::params::Params;

/// The MinHash signature of one document.
///
/// >>> import nearkin as nk
/// >>> s = nk.Sketcher(nk.Params(shingles="words:1"))
/// >>> s.text("a b c").similarity(s.text("A, B, C!"))
/// 1.0
#[pyclass(frozen, module = "nearkin")]
#[derive(Debug, Clone)]
pub(crate) struct Signature {
    pub(crate) params: nearkin::Params,
    pub(crate) inner: nearkin::Signature,
}

/// Number of equal lanes of two signatures.
pub(crate) fn equal_rows(params: &nearkin::Params, a: &[u8], b: &[u8]) -> u32 {
    let lane = params.signature_bytes() / params.hashes();
    let equal = a.chunks_exact(lane).zip(b.chunks_exact(lane)).filter(|(a, b)| a == b).count();
    u32::try_from(equal).unwrap_or(u32::MAX)
}

/// Fails with `what` and the differences, unless signatures of both parameters are comparable.
pub(crate) fn check_same(
    py: Python<'_>,
    a: &nearkin::Params,
    b: &nearkin::Params,
    what: &str,
) -> PyResult<()> {
    let differences = a.signature_differences(b).join("; ");
    if differences.is_empty() {
        return Ok(());
    }
    Err(raise(py, "MismatchError", &format!("{what}: {differences}")))
}

pub(super) const OTHER: &str = "signatures of other parameters";

#[pymethods]
impl Signature {
    /// The signature with these bytes: see :meth:`to_bytes`.
    #[staticmethod]
    #[pyo3(signature = (params, data, shingle_count=0))]
    fn from_bytes(
        py: Python<'_>,
        params: &Bound<'_, Params>,
        data: &[u8],
        shingle_count: u32,
    ) -> PyResult<Self> {
        let params = params.get().inner.clone();
        let inner = nearkin::Signature::from_bytes(&params, data, shingle_count)
            .map_err(|error| from_engine(py, &error))?;
        Ok(Self { params, inner })
    }

    /// The signature with these rows, for rows computed by another program: the parameters have
    /// ``scheme="external:NAME"``.
    ///
    /// >>> import nearkin as nk
    /// >>> p = nk.Params(scheme="external:x", hashes=16, bands=(4, 4), lane_bits=64)
    /// >>> a = nk.Signature.from_rows(p, range(16))
    /// >>> a.union(nk.Signature.from_rows(p, [5] * 16)).rows[:8]
    /// [0, 1, 2, 3, 4, 5, 5, 5]
    #[staticmethod]
    #[pyo3(signature = (params, rows, shingle_count=0))]
    fn from_rows(
        py: Python<'_>,
        params: &Bound<'_, Params>,
        rows: &Bound<'_, PyAny>,
        shingle_count: u32,
    ) -> PyResult<Self> {
        let params = params.get().inner.clone();
        let rows = elements(rows)?.map(|row| row?.extract::<u64>());
        let rows = rows.collect::<PyResult<Vec<_>>>()?;
        let inner = nearkin::Signature::from_rows(&params, &rows, shingle_count)
            .map_err(|error| from_engine(py, &error))?;
        Ok(Self { params, inner })
    }

    /// The rows as numbers: whole values if ``lane_bits`` is 32 or 64, otherwise the stored 8 or 16
    /// bits.
    #[getter]
    fn rows(&self) -> Vec<u64> {
        self.inner.rows().collect()
    }

    /// The signature of the union of two sets: the minimum of each row. ``InvalidError`` unless
    /// rows are stored whole (``lane_bits`` of 32 or 64).
    fn union(&self, py: Python<'_>, other: PyRef<'_, Self>) -> PyResult<Self> {
        check_same(py, &self.params, &other.params, OTHER)?;
        let inner = self.inner.union(&other.inner).map_err(|error| from_engine(py, &error))?;
        Ok(Self { params: self.params.clone(), inner })
    }

    /// The rows as stored.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.inner.as_bytes())
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        self.to_bytes(py)
    }

    /// The parameters of the signature.
    #[getter]
    fn params(&self) -> Params {
        Params::from_inner(self.params.clone())
    }

    /// Number of distinct shingles of the document.
    #[getter]
    fn shingle_count(&self) -> u32 {
        self.inner.shingle_count()
    }

    /// Estimated Jaccard similarity to ``other``.
    fn similarity(&self, py: Python<'_>, other: PyRef<'_, Self>) -> PyResult<f64> {
        check_same(py, &self.params, &other.params, OTHER)?;
        let equal = equal_rows(&self.params, self.inner.as_bytes(), other.inner.as_bytes());
        Ok(self.params.similarity(equal))
    }

    fn __eq__(&self, other: PyRef<'_, Self>) -> bool {
        self.inner == other.inner
    }

    fn __hash__(&self) -> u64 {
        let bytes = self.inner.as_bytes();
        let first = bytes.first_chunk::<8>().map_or(0, |first| u64::from_le_bytes(*first));
        first ^ self.inner.id()
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (py, this) = (slf.py(), slf.get());
        let arguments = (this.params(), this.to_bytes(py), this.shingle_count());
        Ok((slf.getattr("from_bytes")?, arguments.into_pyobject(py)?))
    }

    fn __repr__(&self) -> String {
        let (hashes, count) = (self.params.hashes(), self.inner.shingle_count());
        format!("Signature(hashes={hashes}, shingle_count={count})")
    }
}
