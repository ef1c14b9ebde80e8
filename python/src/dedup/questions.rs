//! Questions that rows must not contain.

use nearkin::{ContainsQuestion, QuestionFound, QuestionsBuilder};
use pyo3::prelude::*;

use crate::columns::column::{Column, Role};
use crate::error::{engine, unlocked};
use crate::options::Threads;
use crate::parallel::in_parts;
use crate::sketch::params::Params;

/// Number of texts between two checks for signals, and that a thread takes at a time.
const TEXTS: usize = 4_096;
const TEXTS_OF_A_PART: usize = 64;

/// Finds test questions in training data. ``questions`` are texts, and numbered from 0.
///
/// A text contains a question if a passage at most twice as long has ``share`` of its words, and
/// at least 8 of them (in runs of three and more that both have), or ``words`` consecutive words of
/// it. Exact by words: upper case, punctuation and white space do not count; each character of Han,
/// kana and Thai is a word. A question of fewer than 8 words has to be there as a whole, one of
/// fewer than 3 is never found. ``params`` sets the normalisation. Memory: at most 32 bytes for
/// each word of the questions.
///
/// >>> import nearkin as nk
/// >>> question = "In which year was the bridge at the old mill finished?"
/// >>> text = "Quiz: in which year was the bridge at the old mill done?"
/// >>> found = nk.Questions([question]).find([text, "x"])
/// >>> found[0].passage, found[0].shared, found[0].words
/// ('in which year was the bridge at the old mill', 10, 11)
/// >>> found[1] is None
/// True
#[pyclass(frozen, module = "nearkin")]
pub(crate) struct Questions(nearkin::Questions);

#[pymethods]
impl Questions {
    #[new]
    #[pyo3(signature = (questions, *, share=0.6, words=12, params=None))]
    fn new(
        py: Python<'_>,
        questions: &Bound<'_, PyAny>,
        share: f64,
        words: usize,
        params: Option<&Bound<'_, Params>>,
    ) -> PyResult<Self> {
        let rule = ContainsQuestion::default().share(share).run(words);
        let sketcher = match params {
            Some(params) => nearkin::Sketcher::new(&params.get().inner),
            None => nearkin::Sketcher::new(&engine(py, || nearkin::Params::builder().build())?),
        };
        let mut builder = engine(py, || QuestionsBuilder::new(&sketcher, rule))?;
        let column = Column::new(questions, Role::Texts)?;
        for begin in (0..column.len()).step_by(TEXTS) {
            let rows = begin..column.len().min(begin + TEXTS);
            let held = column.hold(rows)?;
            for text in held.texts(begin)? {
                engine(py, || builder.add(text.unwrap_or_default()))?;
            }
            py.check_signals()?;
        }
        Ok(Self(unlocked(py, || builder.build())?))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __repr__(&self) -> String {
        format!("Questions({} questions)", self.0.len())
    }

    /// Memory of the questions, in bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.bytes()
    }

    /// The question that each text contains: a list of :class:`QuestionFound`, and ``None`` for a
    /// text that contains none. Of several, the one with most words shared; of several such the
    /// shortest, then the first.
    #[pyo3(signature = (texts, *, threads=None))]
    fn find(
        &self,
        py: Python<'_>,
        texts: &Bound<'_, PyAny>,
        threads: Option<Threads>,
    ) -> PyResult<Vec<Option<FoundQuestion>>> {
        let column = Column::new(texts, Role::Texts)?;
        let threads = crate::parallel::threads(threads);
        let mut all = Vec::with_capacity(column.len());
        for begin in (0..column.len()).step_by(TEXTS) {
            let held = column.hold(begin..column.len().min(begin + TEXTS))?;
            let texts = held.texts(begin)?;
            let find = |rows: std::ops::Range<usize>| {
                let some = texts.get(rows).unwrap_or_default().iter();
                some.map(|text| FoundQuestion::new(&self.0, (*text)?)).collect::<Vec<_>>()
            };
            let found = unlocked(py, || in_parts(threads, texts.len(), TEXTS_OF_A_PART, find))?;
            all.extend(found.into_iter().flatten());
            py.check_signals()?;
        }
        Ok(all)
    }
}

/// A question that a text contains.
#[pyclass(frozen, name = "QuestionFound", module = "nearkin", get_all)]
pub(crate) struct FoundQuestion {
    /// The number of the question.
    question: usize,
    /// Number of words of the question.
    words: usize,
    /// Number of its words that the passage has, in runs of three words and more.
    shared: usize,
    /// Number of words of the longest run that question and text have in common.
    longest: usize,
    /// Number of words of the text before the passage.
    word: usize,
    /// The passage of the text.
    passage: String,
    /// Number of questions that the text contains.
    questions: usize,
}

impl FoundQuestion {
    fn new(questions: &nearkin::Questions, text: &str) -> Option<Self> {
        let found = questions.find(text)?;
        let QuestionFound { question, words, shared, longest, word, bytes, questions, .. } = found;
        let passage = text.get(bytes).unwrap_or_default().to_owned();
        Some(Self { question, words, shared, longest, word, passage, questions })
    }
}

#[pymethods]
impl FoundQuestion {
    fn __repr__(&self) -> String {
        let Self { question, words, shared, longest, .. } = self;
        format!("QuestionFound(question={question}, shared={shared} of {words}, longest={longest})")
    }
}
