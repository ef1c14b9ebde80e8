//! The conditions of a search: keyword arguments of Python, as those of the engine.

use std::panic::resume_unwind;
use std::time::Instant;

use nearkin::{ConditionSetting, DocumentView, SettingValue};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::called::{call, is_true};
use crate::columns::keys::{KeyType, key_bytes};
use crate::error::{InvalidError, from_engine};
use crate::interrupt::is_interrupted;
use crate::options::{Count, Share, argument, duration, keywords, ms_of};
use crate::search::answers::SeenDocument;

/// The engine's settings that a search does not take: none.
pub(crate) const OF_A_SEARCH: &[&str] = &[];
/// Those that an admission does not take: it has them under other names, or not at all.
pub(crate) const OF_AN_ADMISSION: &[&str] = &["threshold", "limit", "verify"];

/// The keyword of a setting of the engine.
fn keyword_of(setting: &ConditionSetting) -> &'static str {
    match setting.name {
        "verify" => "for_verification",
        "deadline_ms" => "deadline",
        name => name,
    }
}

/// The conditions of a search.
#[derive(Debug, Clone)]
pub(crate) struct Conditions {
    pub(crate) engine: nearkin::Conditions<'static>,
    /// Whether matches have a containment.
    pub(crate) is_contained: bool,
    /// The filter is a function of Python, which one thread at a time can call.
    pub(crate) has_filter: bool,
    deadline: Option<Instant>,
}

impl Conditions {
    /// Reads the keyword arguments of `method`: those of the engine's settings but for `without`,
    /// and a filter.
    pub(crate) fn new(
        py: Python<'_>,
        method: &str,
        without: &[&str],
        keys: KeyType,
        given: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let mut settings = Vec::new();
        let (mut prefix, mut filter, mut deadline) = (None, None, None);
        let known = || {
            let settings = nearkin::Conditions::SETTINGS.iter();
            settings.filter(|setting| !without.contains(&setting.name))
        };
        let names: Vec<&str> = known().map(keyword_of).chain(["filter"]).collect();
        keywords(method, &names, given, |name, value| {
            if value.is_none() {
                return Ok(());
            }
            match name {
                "prefix" => prefix = Some(key_bytes(value)?),
                "filter" => filter = Some(function(value)?),
                "deadline" => deadline = Some(deadline_of(value)?),
                _ => {
                    if let Some(setting) = known().find(|setting| keyword_of(setting) == name) {
                        settings.push((setting.name, text_of(name, setting.value, value)?));
                    }
                }
            }
            Ok(())
        })?;
        let is_contained = settings.iter().any(|(name, _)| *name == "contained");
        let engine = nearkin::Conditions::from_settings(settings);
        let engine = engine.map_err(|error| from_engine(py, &error))?;
        let mut engine = engine.cancel_if(is_interrupted);
        if let Some(prefix) = prefix {
            engine = engine.prefix(prefix);
        }
        if let Some(deadline) = deadline {
            engine = engine.deadline(deadline);
        }
        let has_filter = filter.is_some();
        if let Some(filter) = filter {
            engine = engine.filter_document(move |seen| is_passed(&filter, keys, seen));
        }
        Ok(Self { engine, is_contained, has_filter, deadline })
    }

    /// These conditions with this threshold, if there is one.
    pub(crate) fn with_threshold(mut self, threshold: Option<f64>) -> Self {
        if let Some(threshold) = threshold {
            self.engine = self.engine.threshold(threshold);
        }
        self
    }

    /// Whether the time of the search has run out.
    pub(crate) fn are_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

/// The value of a keyword as the text of a setting.
fn text_of(name: &str, takes: SettingValue, value: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(match takes {
        SettingValue::Switch => argument::<bool>(value, name)?.to_string(),
        SettingValue::Count => argument::<Count>(value, name)?.0.to_string(),
        SettingValue::Time => ms_of(value)?.to_string(),
        SettingValue::Span => (duration(value, name)?.as_secs_f64() * 1_000.0).to_string(),
        SettingValue::Share => argument::<Share>(value, name)?.0.to_string(),
        _ => argument::<String>(value, name)?,
    })
}

fn function(value: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    if value.is_callable() {
        return Ok(value.clone().unbind());
    }
    let found = value.get_type().name()?;
    Err(PyTypeError::new_err(format!("argument 'filter': must be a function, not {found}")))
}

fn deadline_of(value: &Bound<'_, PyAny>) -> PyResult<Instant> {
    let deadline = Instant::now().checked_add(duration(value, "deadline")?);
    deadline.ok_or_else(|| InvalidError::new_err("deadline: too many seconds"))
}

/// Calls the filter. An exception ends the search: it unwinds it, as a panic of a filter does, and
/// `unlocked` raises it again.
fn is_passed(filter: &Py<PyAny>, keys: KeyType, seen: DocumentView<'_>) -> bool {
    let passed = Python::attach(|py| {
        // A function in C does not look for signals.
        py.check_signals()?;
        is_true(&call(filter.bind(py), (SeenDocument::new(py, keys, seen)?,))?)
    });
    passed.unwrap_or_else(|raised| resume_unwind(Box::new(raised)))
}
