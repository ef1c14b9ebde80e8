//! `nearkin.Match`, `nearkin.Answer` and `nearkin.Document`: results of queries and look-ups.

use nearkin::SimilarityText;
use pyo3::PyClass;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PySlice, PyTuple};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::called::call;
use crate::columns::keys::KeyType;
use crate::error::raise;
use crate::sketch::signature::Signature;
use crate::tables::table::converted;

/// Converts milliseconds since 1970 (UTC) to a `datetime`.
pub(crate) fn datetime(py: Python<'_>, ms: u64) -> PyResult<Bound<'_, PyAny>> {
    call(&py.import("nearkin._columns")?.getattr("datetime_of")?, (ms,))
}

/// The arguments of `_of_json`: a value of the engine as JSON, and whether its keys are bytes.
type Pickled = (String, bool);

fn pickled<T: Serialize>(py: Python<'_>, value: &T, keys: KeyType) -> PyResult<Pickled> {
    Ok((json_of(py, value)?, keys == KeyType::Bytes))
}

/// A value of the engine as JSON.
pub(crate) fn json_of<T: Serialize>(py: Python<'_>, value: &T) -> PyResult<String> {
    let text = serde_json::to_string(value);
    text.map_err(|error| raise(py, "BugError", &format!("cannot be written as JSON: {error}")))
}

fn unpickled<T: DeserializeOwned>(py: Python<'_>, pickled: &Pickled) -> PyResult<(T, KeyType)> {
    let value = serde_json::from_str(&pickled.0);
    let value =
        value.map_err(|error| raise(py, "InvalidError", &format!("not such a pickle: {error}")))?;
    Ok((value, if pickled.1 { KeyType::Bytes } else { KeyType::Text }))
}

/// An element of a sequence of `length`, or a list of them for a slice. `at` makes an element, and
/// `missing` is the message if there is none.
pub(crate) fn element<'py, T>(
    index: &Bound<'py, PyAny>,
    length: usize,
    missing: &'static str,
    at: impl Fn(usize) -> Option<T>,
) -> PyResult<Bound<'py, PyAny>>
where
    T: PyClass + Into<PyClassInitializer<T>>,
{
    let py = index.py();
    let length = isize::try_from(length).unwrap_or(isize::MAX);
    let at = |row: isize| usize::try_from(row).ok().and_then(&at);
    let Ok(slice) = index.cast::<PySlice>() else {
        let row = index.extract::<isize>()?;
        let found = at(if row < 0 { row + length } else { row });
        let found = found.ok_or_else(|| PyIndexError::new_err(missing))?;
        return Ok(Bound::new(py, found)?.into_any());
    };
    let part = slice.indices(length)?;
    let rows = (0..part.slicelength)
        .map_while(|row| at(part.start + part.step * isize::try_from(row).unwrap_or(isize::MAX)));
    let rows = rows.map(|found| Bound::new(py, found)).collect::<PyResult<Vec<_>>>()?;
    Ok(PyList::new(py, rows)?.into_any())
}

/// A document similar to the query.
#[pyclass(frozen, module = "nearkin")]
#[derive(Debug, Clone)]
pub(crate) struct Match {
    inner: nearkin::Match,
    keys: KeyType,
}

#[pymethods]
impl Match {
    /// The document's key.
    #[getter]
    fn key<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.keys.show(py, &self.inner.key)
    }

    /// Estimated Jaccard similarity.
    #[getter]
    fn similarity(&self) -> f64 {
        self.inner.similarity
    }

    /// Standard error of the estimate.
    #[getter]
    fn standard_error(&self) -> f64 {
        self.inner.standard_error
    }

    /// Estimated fraction of the smaller document that the larger one contains; ``None`` unless the
    /// query asked for containment.
    #[getter]
    fn contained(&self) -> Option<f64> {
        self.inner.containment.map(|containment| containment.estimate)
    }

    /// Number of equal rows of the two signatures; matches are ordered by it.
    #[getter]
    fn equal_rows(&self) -> u32 {
        self.inner.equal_rows
    }

    /// The payload: the caller's own bytes.
    #[getter]
    fn payload<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.inner.payload)
    }

    /// Time of insertion or last replacement, in UTC.
    #[getter]
    fn time<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        datetime(py, self.inner.time)
    }

    /// The time in milliseconds since 1970.
    #[getter]
    fn time_ms(&self) -> u64 {
        self.inner.time
    }

    #[staticmethod]
    fn _of_json(py: Python<'_>, text: String, bytes_keys: bool) -> PyResult<Self> {
        let (inner, keys) = unpickled(py, &(text, bytes_keys))?;
        Ok(Self { inner, keys })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Pickled)> {
        let this = slf.get();
        Ok((slf.getattr("_of_json")?, pickled(slf.py(), &this.inner, this.keys)?))
    }

    fn __eq__(&self, other: PyRef<'_, Self>) -> bool {
        self.inner == other.inner
    }

    fn __hash__(&self) -> u64 {
        self.inner.key.iter().fold(self.inner.time, |hash, byte| {
            hash.wrapping_mul(0x100_0000_01b3) ^ u64::from(*byte)
        })
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let key = KeyType::show(self.keys, py, &self.inner.key);
        let key = key.unwrap_or_else(|_| PyBytes::new(py, &self.inner.key).into_any());
        Ok(format!("Match({}, similarity={})", key.repr()?, self.inner.similarity_text()))
    }
}

/// A similarity as text: only an exact one of 1 is written as 1.000.
#[pyfunction]
pub(crate) fn _similarity_text(similarity: f64, exact: bool) -> String {
    if exact {
        SimilarityText::Exact(similarity).to_string()
    } else {
        SimilarityText::Estimate(similarity).to_string()
    }
}

/// The matches of a query, a sequence: most similar first; matches with equal similarity are sorted
/// by key.
#[pyclass(frozen, sequence, module = "nearkin")]
#[derive(Debug)]
pub(crate) struct Answer {
    inner: nearkin::Answer,
    keys: KeyType,
}

impl Answer {
    pub(crate) fn new(inner: nearkin::Answer, keys: KeyType) -> Self {
        Self { inner, keys }
    }
}

#[pymethods]
impl Answer {
    fn __len__(&self) -> usize {
        self.inner.matches.len()
    }

    /// A match, or a list of matches for a slice.
    fn __getitem__<'py>(&self, at: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let matches = &self.inner.matches;
        let one = |row| Some(Match { inner: matches.get::<usize>(row)?.clone(), keys: self.keys });
        element(at, matches.len(), "no such match", one)
    }

    #[staticmethod]
    fn _of_json(py: Python<'_>, text: String, bytes_keys: bool) -> PyResult<Self> {
        let (inner, keys) = unpickled(py, &(text, bytes_keys))?;
        Ok(Self { inner, keys })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Pickled)> {
        let this = slf.get();
        Ok((slf.getattr("_of_json")?, pickled(slf.py(), &this.inner, this.keys)?))
    }

    /// The keys of the matches.
    #[getter]
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.inner.matches.iter().map(|found| self.keys.show(py, &found.key)).collect()
    }

    /// Number of documents at or above the threshold. The limit does not reduce it.
    #[getter]
    fn found(&self) -> u64 {
        self.inner.found
    }

    /// The threshold of the query; by default, that of the index.
    #[getter]
    fn threshold(&self) -> f64 {
        self.inner.threshold
    }

    /// Whether every candidate was compared: see the conditions of :class:`Readable`.
    #[getter]
    fn complete(&self) -> bool {
        self.inner.complete
    }

    /// Number of the last change that the answer reflects.
    #[getter]
    fn change(&self) -> u64 {
        self.inner.change
    }

    /// The matches as a pandas data frame: key, similarity, contained (if it was asked for), time
    /// and payload.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        converted(slf, "answer_to_pandas")
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        converted(slf, "answer_to_html")
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        converted(slf, "answer_to_text")
    }
}

/// A stored document.
#[pyclass(frozen, module = "nearkin")]
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) inner: nearkin::Document,
    pub(crate) params: nearkin::Params,
    pub(crate) keys: KeyType,
}

#[pymethods]
impl Document {
    /// The document's key.
    #[getter]
    fn key<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.keys.show(py, &self.inner.key)
    }

    /// The payload: the caller's own bytes.
    #[getter]
    fn payload<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.inner.payload)
    }

    /// Time of insertion or last replacement, in UTC.
    #[getter]
    fn time<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        datetime(py, self.inner.time)
    }

    /// The time in milliseconds since 1970.
    #[getter]
    fn time_ms(&self) -> u64 {
        self.inner.time
    }

    /// The document's signature. (The text is not stored.)
    #[getter]
    fn signature(&self) -> Signature {
        Signature { params: self.params.clone(), inner: self.inner.signature.clone() }
    }

    #[staticmethod]
    fn _of_parts(
        key: Vec<u8>,
        bytes_keys: bool,
        payload: Vec<u8>,
        time_ms: u64,
        signature: &Signature,
    ) -> Self {
        let mut inner = nearkin::Document::new(key, signature.inner.clone());
        (inner.payload, inner.time) = (payload, time_ms);
        let keys = if bytes_keys { KeyType::Bytes } else { KeyType::Text };
        Self { inner, params: signature.params.clone(), keys }
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (py, this) = (slf.py(), slf.get());
        let key = PyBytes::new(py, &this.inner.key);
        let is_bytes = this.keys == KeyType::Bytes;
        let rest = (this.payload(py), this.inner.time, this.signature());
        let arguments = (key, is_bytes, rest.0, rest.1, rest.2).into_pyobject(py)?;
        Ok((slf.getattr("_of_parts")?, arguments))
    }

    fn __eq__(&self, other: PyRef<'_, Self>) -> bool {
        self.inner == other.inner
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let count = self.inner.signature.shingle_count();
        let payload = self.inner.payload.len();
        Ok(format!(
            "Document({}, {count} shingles, payload of {payload} bytes)",
            self.key(py)?.repr()?
        ))
    }
}

/// A stored document as a filter of a search sees it.
#[pyclass(frozen, module = "nearkin", name = "DocumentView")]
#[derive(Debug)]
pub(crate) struct SeenDocument {
    /// The document's key.
    #[pyo3(get)]
    key: Py<PyAny>,
    /// The payload: the caller's own bytes.
    #[pyo3(get)]
    payload: Py<PyBytes>,
    /// The time in milliseconds since 1970.
    #[pyo3(get)]
    time_ms: u64,
}

impl SeenDocument {
    pub(crate) fn new(
        py: Python<'_>,
        keys: KeyType,
        seen: nearkin::DocumentView<'_>,
    ) -> PyResult<Self> {
        let (key, payload) = (keys.show(py, seen.key)?.unbind(), PyBytes::new(py, seen.payload));
        Ok(Self { key, payload: payload.unbind(), time_ms: seen.time })
    }
}

#[pymethods]
impl SeenDocument {
    /// Time of insertion or last replacement, in UTC.
    #[getter]
    fn time<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        datetime(py, self.time_ms)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let bytes = self.payload.bind(py).as_bytes().len();
        Ok(format!("DocumentView({}, payload of {bytes} bytes)", self.key.bind(py).repr()?))
    }
}
