//! Learns common shingles from texts.

use nearkin::{CommonLearner, ErrorKind};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::called::elements;
use crate::columns::keys::whole;
use crate::error::engine;
use crate::interrupt::is_interrupted;
use crate::options::Threads;
use crate::parallel::{in_parts, threads};
use crate::sketch::params::Params;

/// Texts are sketched together until they have this number of bytes.
const TOGETHER_BYTES: usize = 4 << 20;
/// Number of texts that a thread takes at a time.
const PART: usize = 16;

/// Learns the shingles that at least this share of the texts has (and at least ten texts), for
/// ``Params(common=...)``: notices, licences, menus. Returns the list as text, ``None`` if there
/// are no such shingles. Equal texts count once; the order of the texts does not matter. Blank
/// texts and ``None`` are passed over. Parameters: those that the list is for (default:
/// ``Params()``).
///
/// >>> import nearkin as nk
/// >>> texts = [f"report {n} sent by the weather service" for n in range(100)]
/// >>> common = nk.learn_common(texts, 0.05)
/// >>> nk.Sketcher(nk.Params(common=common)).text(texts[0]).shingle_count
/// 2
#[pyfunction]
#[pyo3(signature = (texts, share, params=None, *, threads=None))]
pub(crate) fn learn_common(
    py: Python<'_>,
    texts: &Bound<'_, PyAny>,
    share: f64,
    params: Option<&Bound<'_, Params>>,
    threads: Option<Threads>,
) -> PyResult<Option<String>> {
    if texts.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err("texts must be an iterable of texts, not one str"));
    }
    let params = match params {
        Some(params) => params.get().inner.clone(),
        None => engine(py, || nearkin::Params::builder().build())?,
    };
    let mut learner = engine(py, || CommonLearner::new(&params))?;
    let (mut batch, mut bytes) = (Vec::new(), 0);
    for text in elements(texts)? {
        let text = text?;
        if text.is_none() {
            continue;
        }
        let text = whole(text.cast_into::<PyString>()?)?.to_str()?.to_owned();
        bytes += text.len();
        batch.push(text);
        if bytes >= TOGETHER_BYTES {
            learn(py, &mut learner, &std::mem::take(&mut batch), threads)?;
            bytes = 0;
        }
    }
    learn(py, &mut learner, &batch, threads)?;
    let list = engine(py, || learner.common(share))?;
    Ok(list.map(|list| list.to_string()))
}

fn learn(
    py: Python<'_>,
    learner: &mut CommonLearner,
    texts: &[String],
    given: Option<Threads>,
) -> PyResult<()> {
    let sketcher = learner.sketcher();
    engine(py, || {
        let made = in_parts(threads(given), texts.len(), PART, |range| {
            let texts = texts.get(range).unwrap_or_default();
            texts.iter().map(|text| sketcher.original_text(text)).collect::<Vec<_>>()
        });
        for document in made.into_iter().flatten() {
            if is_interrupted() {
                break;
            }
            match document {
                Ok(document) => learner.add(&document)?,
                Err(error) if error.kind() == ErrorKind::Empty => {}
                Err(error) => return Err(error),
            }
        }
        Ok::<_, nearkin::Error>(())
    })
}
