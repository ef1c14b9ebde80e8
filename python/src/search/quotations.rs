//! Results of passage queries: the quoted texts, and the places of the quotations.

use std::sync::Arc;

use nearkin::SimilarityText;
use nearkin::passages::{Contained, PassageAnswer, PassageMatch, PassagePair, PassageView};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::columns::keys::KeyType;
use crate::error::engine;
use crate::search::answers::element;
use crate::search::conditions::Conditions;

/// Queries a snapshot by a text.
pub(crate) fn ask(
    py: Python<'_>,
    view: &PassageView,
    text: &str,
    keys: KeyType,
    conditions: Conditions,
) -> PyResult<Passages> {
    let query = view.query(text).conditions(conditions.engine);
    let (inner, offsets) = engine(py, || {
        let answer = query.run()?;
        let offsets = Offsets::new(text);
        Ok((answer, offsets))
    })?;
    Ok(Passages { inner, keys, offsets: Arc::new(offsets) })
}

/// Converts byte offsets in a text to Python's character offsets.
#[derive(Debug)]
struct Offsets {
    /// For each character longer than one byte: the byte offset of its end, and how many more bytes
    /// than characters there are up to that point. Empty for ASCII.
    long: Vec<(usize, usize)>,
}

impl Offsets {
    fn new(text: &str) -> Self {
        let long = text.char_indices().filter(|(_, one)| one.len_utf8() > 1);
        let mut surplus = 0;
        let long = long.map(|(begin, one)| {
            surplus += one.len_utf8() - 1;
            (begin + one.len_utf8(), surplus)
        });
        Self { long: long.collect() }
    }

    fn characters(&self, bytes: u64) -> usize {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let before = self.long.partition_point(|(end, _)| *end <= bytes).checked_sub(1);
        let surplus = before.and_then(|at| self.long.get(at)).map_or(0, |(_, surplus)| *surplus);
        bytes - surplus
    }
}

/// The texts that contain parts of the query, a sequence: largest share first.
#[pyclass(frozen, sequence, module = "nearkin", name = "PassageAnswer")]
pub(crate) struct Passages {
    inner: PassageAnswer,
    keys: KeyType,
    offsets: Arc<Offsets>,
}

#[pymethods]
impl Passages {
    fn __len__(&self) -> usize {
        self.inner.texts.len()
    }

    /// A text, or a list of texts for a slice.
    fn __getitem__<'py>(&self, at: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let texts = &self.inner.texts;
        element(at, texts.len(), "no such text", |row| {
            let inner = texts.get(row)?.clone();
            Some(Text { inner, keys: self.keys, offsets: Arc::clone(&self.offsets) })
        })
    }

    /// Number of texts that contain any part of the query. The limit does not reduce it.
    #[getter]
    fn found(&self) -> u64 {
        self.inner.found
    }

    /// Number of words of the query.
    #[getter]
    fn words(&self) -> u64 {
        self.inner.words
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

    fn __repr__(&self) -> String {
        format!("PassageAnswer({} of {} texts)", self.inner.texts.len(), self.inner.found)
    }
}

/// A stored text that contains passages of the query.
#[pyclass(frozen, module = "nearkin", name = "Contained")]
pub(crate) struct Text {
    inner: Contained,
    keys: KeyType,
    offsets: Arc<Offsets>,
}

#[pymethods]
impl Text {
    /// The text's key.
    #[getter]
    fn key<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.keys.show(py, &self.inner.key)
    }

    /// The payload: the caller's own bytes.
    #[getter]
    fn payload<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.inner.payload)
    }

    /// Fraction of the query found in this text: matching words divided by all words.
    #[getter]
    fn share(&self) -> f64 {
        self.inner.share
    }

    /// Fraction of the stored text found in the query; ``None`` for windows.
    #[getter]
    fn stored_share(&self) -> Option<f64> {
        self.inner.stored_share
    }

    /// The matching passages, in the order of the stored text.
    #[getter]
    fn passages(&self) -> Vec<Passage> {
        let one = |inner: &PassageMatch| Passage {
            query: (
                self.offsets.characters(inner.query.start),
                self.offsets.characters(inner.query.end),
            ),
            inner: inner.clone(),
        };
        self.inner.passages.iter().map(one).collect()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let key = self.keys.show(py, &self.inner.key);
        let key = key.unwrap_or_else(|_| PyString::new(py, "?").into_any());
        let share = SimilarityText::Exact(self.inner.share);
        Ok(format!("Contained({}, share={share})", key.repr()?))
    }
}

/// A passage of the query found in a stored text: a run of words.
#[pyclass(frozen, module = "nearkin", name = "PassageMatch")]
pub(crate) struct Passage {
    inner: PassageMatch,
    query: (usize, usize),
}

#[pymethods]
impl Passage {
    /// Place in the query: the passage is ``text[a:b]``.
    #[getter]
    fn query(&self) -> (usize, usize) {
        self.query
    }

    /// Place in the stored text, as UTF-8 byte offsets. With windows they are approximate, because
    /// the text is not stored; with fingerprints they are those of the words.
    #[getter]
    fn stored_bytes(&self) -> (u64, u64) {
        (self.inner.stored.start, self.inner.stored.end)
    }

    /// Number of matching words of the query in this passage.
    #[getter]
    fn words(&self) -> u64 {
        self.inner.words
    }

    /// Place in the query in words, begin and end; ``None`` for windows.
    #[getter]
    fn query_words(&self) -> Option<(u64, u64)> {
        self.inner.in_words.as_ref().map(|(query, _)| (query.start, query.end))
    }

    /// Place in the stored text in words, begin and end; ``None`` for windows.
    #[getter]
    fn stored_words(&self) -> Option<(u64, u64)> {
        self.inner.in_words.as_ref().map(|(_, stored)| (stored.start, stored.end))
    }

    /// Number of words of the longest run without a gap; ``None`` for windows.
    #[getter]
    fn longest(&self) -> Option<u64> {
        self.inner.longest
    }

    /// The highest estimated Jaccard similarity between a window of the query and a window of this
    /// passage. With fingerprints: matching words divided by those of the longer of both places.
    #[getter]
    fn similarity(&self) -> f64 {
        self.inner.similarity
    }

    fn __repr__(&self) -> String {
        let (begin, end) = self.query;
        let similarity = SimilarityText::Estimate(self.inner.similarity);
        format!("PassageMatch([{begin}:{end}], similarity={similarity})")
    }
}

/// Two texts of an index of fingerprints that share a run of words.
#[pyclass(frozen, module = "nearkin", name = "PassagePair")]
pub(crate) struct TextPair {
    pub(crate) inner: PassagePair,
    pub(crate) keys: KeyType,
}

#[pymethods]
impl TextPair {
    /// The key of the one text: the smaller one as bytes.
    #[getter]
    fn a<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.keys.show(py, &self.inner.a)
    }

    /// The key of the other text.
    #[getter]
    fn b<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.keys.show(py, &self.inner.b)
    }

    /// Fraction of the words of ``a`` that are in ``b``.
    #[getter]
    fn share_of_a(&self) -> f64 {
        self.inner.share_of_a
    }

    /// Fraction of the words of ``b`` that are in ``a``.
    #[getter]
    fn share_of_b(&self) -> f64 {
        self.inner.share_of_b
    }

    /// Number of words of ``a`` that are in ``b``.
    #[getter]
    fn words(&self) -> u64 {
        self.inner.words
    }

    /// Number of words of the longest run of equal words.
    #[getter]
    fn longest(&self) -> u64 {
        self.inner.longest
    }

    /// Whether the longest run stands out in this collection: it has at least 12 words, and twice
    /// as many as those of nearly all other pairs.
    #[getter]
    fn stands_out(&self) -> bool {
        self.inner.stands_out
    }

    /// Whether both texts were compared to their ends. If not, they may share more.
    #[getter]
    fn complete(&self) -> bool {
        self.inner.complete
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let name = |key: &[u8]| match self.keys.show(py, key) {
            Ok(key) => key.repr().map(|text| text.to_string()),
            Err(_) => Ok("?".to_owned()),
        };
        let (a, b, longest) = (name(&self.inner.a)?, name(&self.inner.b)?, self.inner.longest);
        Ok(format!("PassagePair({a}, {b}, longest={longest})"))
    }
}
