//! `nearkin.Params`: the parameters of an index, as keywords and properties.

use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use crate::called::elements;
use crate::error::{from_engine, raise};
use crate::options::{Share, Spelled, argument};
use crate::sketch::common::common_of;
use crate::tables::table::converted;

/// The parameters of an index: they determine which signature a text gets, and which documents are
/// candidates of each other. Fixed when an index is created. Immutable, comparable, picklable.
///
/// >>> import nearkin as nk
/// >>> p = nk.Params(threshold=0.7, shingles="words:3")
/// >>> p.bands, p.rows_per_band
/// (17, 5)
/// >>> p.candidate_probability(0.7) >= 0.95
/// True
#[pyclass(frozen, module = "nearkin")]
#[derive(Debug, Clone)]
pub(crate) struct Params {
    pub(crate) inner: nearkin::Params,
    /// The settings that were given, if these parameters were made from settings: the others may be
    /// chosen anew for another threshold.
    pub(crate) given: Option<nearkin::ParamsBuilder>,
}

impl Params {
    /// Parameters of which none is to be chosen anew.
    pub(crate) fn from_inner(inner: nearkin::Params) -> Self {
        Self { inner, given: None }
    }

    fn built(given: nearkin::ParamsBuilder) -> nearkin::Result<Self> {
        Ok(Self { inner: given.clone().build()?, given: Some(given) })
    }
}

#[pymethods]
impl Params {
    #[new]
    #[pyo3(signature = (threshold=None, shingles=None, *, hashes=None, bands=None,
        recall_target=0.95, lane_bits=None, stop_words=None, common=None, passages=None,
        bag=false, normalise=None, keep_case=false, keep_space=false, no_nfc=false, scheme=None,
        seed=0),
        text_signature = "(threshold=0.7, shingles=None, *, hashes=None, \
        bands=None, recall_target=0.95, lane_bits=None, stop_words=None, common=None, \
        passages=None, bag=False, normalise=None, keep_case=False, keep_space=False, \
        no_nfc=False, scheme=None, seed=0)")]
    #[expect(
        clippy::too_many_arguments,
        clippy::fn_params_excessive_bools,
        reason = "the keywords of Python"
    )]
    fn new(
        py: Python<'_>,
        threshold: Option<Bound<'_, PyAny>>,
        shingles: Option<Bound<'_, PyAny>>,
        hashes: Option<usize>,
        bands: Option<(usize, usize)>,
        recall_target: f64,
        lane_bits: Option<u32>,
        stop_words: Option<Bound<'_, PyAny>>,
        common: Option<Bound<'_, PyAny>>,
        passages: Option<&str>,
        bag: bool,
        normalise: Option<&str>,
        keep_case: bool,
        keep_space: bool,
        no_nfc: bool,
        scheme: Option<&str>,
        seed: u64,
    ) -> PyResult<Self> {
        let fail = |error: nearkin::Error| from_engine(py, &error);
        let threshold = threshold.map(|value| argument(&value, "threshold")).transpose()?;
        let Share(threshold) = threshold.unwrap_or(Share(0.7));
        let mut builder = nearkin::Params::for_threshold(threshold)
            .recall_target(recall_target)
            .bag(bag)
            .keep_case(keep_case)
            .keep_space(keep_space)
            .no_nfc(no_nfc)
            .seed(seed);
        if let Some(hashes) = hashes {
            builder = builder.hashes(hashes);
        }
        if let Some(normalise) = normalise {
            if keep_case || no_nfc {
                let message = "normalise replaces keep_case and no_nfc: give one or the other";
                return Err(raise(py, "InvalidError", message));
            }
            builder = builder.normalise(normalise.parse().map_err(fail)?);
        }
        if let Some(shingles) = shingles {
            let Spelled(shingles) = argument(&shingles, "shingles")?;
            builder = builder.shingles(shingles.parse().map_err(fail)?);
        }
        if let Some((bands, rows)) = bands {
            builder = builder.bands(bands, rows);
        }
        if let Some(lane_bits) = lane_bits {
            builder = builder.lane_bits(lane_bits);
        }
        if let Some(words) = stop_words {
            if words.is_instance_of::<PyString>() {
                let message = "stop_words must be an iterable of words, not one str";
                return Err(pyo3::exceptions::PyTypeError::new_err(message));
            }
            let words = elements(&words)?.map(|word| word?.extract::<String>());
            builder = builder.stop_words(words.collect::<PyResult<Vec<_>>>()?);
        }
        if let Some(common) = common {
            builder = builder.common(common_of(py, &common)?);
        }
        if let Some(windows) = passages {
            builder = builder.passages(windows.parse().map_err(fail)?);
        }
        if let Some(scheme) = scheme {
            builder = builder.scheme(scheme.parse().map_err(fail)?);
        }
        Self::built(builder).map_err(fail)
    }

    /// The settings for a purpose: "documents", "archive" (scans), "training", "short", "records",
    /// "code" or "quotes". They were measured by how well they find edited copies:
    /// docs/guide/TUNING.md has the table.
    ///
    /// >>> import nearkin as nk
    /// >>> nk.Params.preset("archive").shingles
    /// 'chars:7'
    #[staticmethod]
    fn preset(py: Python<'_>, name: &str) -> PyResult<Self> {
        let fail = |error: nearkin::Error| from_engine(py, &error);
        let preset = name.parse().map_err(fail)?;
        Self::built(nearkin::Params::preset(preset)).map_err(fail)
    }

    /// Parses parameters that :meth:`to_json` wrote.
    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str) -> PyResult<Self> {
        let inner = serde_json::from_str(text)
            .map_err(|error| raise(py, "InvalidError", &format!("not parameters: {error}")))?;
        Ok(Self::from_inner(inner))
    }

    /// All parameters as one line of JSON.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        serde_json::to_string(&self.inner)
            .map_err(|error| raise(py, "BugError", &format!("cannot write parameters: {error}")))
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let text = slf.get().to_json(py)?;
        Ok((slf.getattr("from_json")?, PyTuple::new(py, [text])?))
    }

    /// The similarity for which the bands were chosen; also the default threshold of a query.
    #[getter]
    fn threshold(&self) -> f64 {
        self.inner.threshold()
    }

    /// The kind of pieces by which texts are compared: ``words:3``, ``chars:5``, ``items`` ...
    #[getter]
    fn shingles(&self) -> String {
        self.inner.shingles().to_string()
    }

    /// Number of rows of a signature.
    #[getter]
    fn hashes(&self) -> usize {
        self.inner.hashes()
    }

    /// Number of bands.
    #[getter]
    fn bands(&self) -> usize {
        self.inner.bands()
    }

    /// Number of rows per band.
    #[getter]
    fn rows_per_band(&self) -> usize {
        self.inner.rows_per_band()
    }

    /// The minimum probability that a pair at the threshold is a candidate.
    #[getter]
    fn recall_target(&self) -> f64 {
        self.inner.recall_target()
    }

    /// Number of bits that are stored per row: 8 or 16. With ``scheme="external:NAME"`` also 32 or
    /// 64, which store rows unchanged.
    #[getter]
    fn lane_bits(&self) -> u32 {
        self.inner.lane_bits()
    }

    /// The words that are left out of the comparison.
    #[getter]
    fn stop_words(&self) -> Vec<String> {
        self.inner.stop_words().map(str::to_owned).collect()
    }

    /// The hashes of the common shingles, which are left out of the comparison: see
    /// :func:`learn_common`.
    #[getter]
    fn common(&self) -> Vec<u64> {
        self.inner.common().map_or(Vec::new(), |common| common.hashes().to_vec())
    }

    /// How texts are cut into passages (``window:stride`` in words); ``None`` if they are not.
    #[getter]
    fn passages(&self) -> Option<String> {
        self.inner.passages().map(|windows| windows.to_string())
    }

    /// Whether a repeated shingle counts each time it occurs (a multiset), and not only once (a
    /// set).
    #[getter]
    fn bag(&self) -> bool {
        self.inner.bag()
    }

    /// How the characters of a text are normalised: ``none``, ``lower``, ``nfc``, ``case``, or
    /// ``fold`` with its options, such as ``fold,diacritics``.
    #[getter]
    fn normalise(&self) -> String {
        self.inner.normalise().to_string()
    }

    /// Whether upper-case letters are kept.
    #[getter]
    fn keep_case(&self) -> bool {
        self.inner.keep_case()
    }

    /// Whether white space is kept as it is.
    #[getter]
    fn keep_space(&self) -> bool {
        self.inner.keep_space()
    }

    /// Whether Unicode's normalisation form C is skipped.
    #[getter]
    fn no_nfc(&self) -> bool {
        self.inner.no_nfc()
    }

    /// How shingles become rows: ``fast``, ``textbook`` or ``external:NAME``.
    #[getter]
    fn scheme(&self) -> String {
        self.inner.scheme().to_string()
    }

    /// The seed of every hash.
    #[getter]
    fn seed(&self) -> u64 {
        self.inner.seed()
    }

    /// Size of a signature in bytes.
    #[getter]
    fn signature_bytes(&self) -> usize {
        self.inner.signature_bytes()
    }

    /// The id of everything that a signature depends on: signatures with equal ids are comparable.
    #[getter]
    fn signature_id(&self) -> u64 {
        self.inner.signature_id()
    }

    /// Costs of these parameters that a caller may not expect; empty if there are none.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.inner.warnings()
    }

    /// The probability that a pair of this true similarity shares a band.
    fn candidate_probability(&self, similarity: f64) -> f64 {
        self.inner.candidate_probability(similarity)
    }

    /// The probability that a query at ``threshold`` returns a pair of this true similarity.
    fn expected_recall(&self, py: Python<'_>, similarity: f64, threshold: f64) -> f64 {
        py.detach(|| self.inner.expected_recall(similarity, threshold))
    }

    /// The standard error of an estimate near this similarity.
    fn standard_error(&self, similarity: f64) -> f64 {
        self.inner.standard_error(self.inner.equal_rows_min(similarity))
    }

    /// How ``other`` differs: one phrase per difference.
    fn differences(&self, other: PyRef<'_, Self>) -> Vec<String> {
        self.inner.differences(&other.inner)
    }

    fn __eq__(&self, other: PyRef<'_, Self>) -> bool {
        self.inner == other.inner
    }

    fn __hash__(&self) -> u64 {
        self.inner.id()
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        converted(slf, "params_to_html")
    }

    pub(crate) fn __repr__(&self) -> String {
        let shown = self.shown().into_iter().map(|(name, value)| format!("{name}={value}"));
        format!("Params({})", shown.collect::<Vec<_>>().join(", "))
    }

    /// The names and values that are shown; some of those that are usual are left out.
    #[pyo3(name = "_shown")]
    fn shown(&self) -> Vec<(&'static str, String)> {
        let p = &self.inner;
        let mut shown = vec![
            ("threshold", p.threshold().to_string()),
            ("shingles", format!("'{}'", p.shingles())),
            ("hashes", p.hashes().to_string()),
            ("bands", format!("({}, {})", p.bands(), p.rows_per_band())),
            ("lane_bits", p.lane_bits().to_string()),
        ];
        let count = p.stop_words().count();
        if count > 0 {
            shown.push(("stop_words", format!("<{count} words>")));
        }
        if let Some(common) = p.common() {
            shown.push(("common", format!("<{} shingles>", common.hashes().len())));
        }
        if let Some(windows) = p.passages() {
            shown.push(("passages", format!("'{windows}'")));
        }
        let items = p.shingles() == nearkin::Shingles::Items;
        let usual = if items { nearkin::Normalise::Case } else { nearkin::Normalise::FOLD };
        if p.normalise() != usual {
            shown.push(("normalise", format!("'{}'", p.normalise())));
        }
        let options = [("bag", p.bag()), ("keep_space", p.keep_space())];
        for (name, _) in options.into_iter().filter(|(_, is_set)| *is_set) {
            shown.push((name, "True".to_owned()));
        }
        if p.scheme() != nearkin::Scheme::Fast {
            shown.push(("scheme", format!("'{}'", p.scheme())));
        }
        // The seed's value is left out: it may be secret, and reprs end up in logs.
        if p.seed() != 0 {
            shown.push(("seed", "...".to_owned()));
        }
        shown
    }
}
