//! The conditions of searches and admissions: the engine parses and checks the options of a caller.

use std::sync::{Mutex, PoisonError};

use napi_derive::napi;
use nearkin::{Admit, ConditionSetting, Conditions, Error, Keep};

use crate::failure::Failure;
use crate::job::Stop;
use crate::keys::{Bytes, owned};

/// The conditions of the settings that `termsOf` in `lib/given.js` makes, one a line, and of a
/// prefix, whose bytes need not be text.
pub(crate) fn conditions(
    settings: &str,
    prefix: Option<Bytes>,
) -> Result<Conditions<'static>, Failure> {
    let settings = settings.lines().filter_map(|line| line.split_once('='));
    let conditions = Conditions::from_settings(settings).map_err(of_option)?;
    Ok(prefix.into_iter().fold(conditions, |conditions, prefix| conditions.prefix(owned(prefix))))
}

/// The conditions of the last query of a handle: most queries have those of the one before.
#[derive(Default)]
pub(crate) struct LastConditions(Mutex<Option<(String, Conditions<'static>)>>);

impl LastConditions {
    /// Same as [`conditions`].
    pub(crate) fn get(
        &self,
        settings: String,
        prefix: Option<Bytes>,
    ) -> Result<Conditions<'static>, Failure> {
        // A deadline counts from the making of its conditions.
        if prefix.is_some() || settings.contains("deadline_ms") {
            return conditions(&settings, prefix);
        }
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((same, conditions)) if *same == settings => Ok(conditions.clone()),
            _ => {
                let conditions = conditions(&settings, None)?;
                *last = Some((settings, conditions.clone()));
                Ok(conditions)
            }
        }
    }
}

/// The conditions that JavaScript gives as options: the option, the engine's setting, and what it
/// takes. `verify` is for callers that compare the documents.
#[napi]
#[must_use]
pub fn list_conditions() -> Vec<Vec<String>> {
    let settings = Conditions::SETTINGS.iter().filter(|setting| setting.name != "verify");
    let shown = |one: &ConditionSetting| {
        vec![option_of(one.name), one.name.to_owned(), format!("{:?}", one.value)]
    };
    settings.map(shown).collect()
}

/// The option of JavaScript for a setting of the engine.
fn option_of(setting: &str) -> String {
    let mut words = setting.split('_');
    let mut option = words.next().unwrap_or_default().to_owned();
    for word in words {
        let (first, rest) = word.split_at(word.len().min(1));
        option.push_str(&first.to_ascii_uppercase());
        option.push_str(rest);
    }
    option
}

/// The failure for a refused setting. Its message begins with the option of JavaScript in place of
/// the engine's setting.
fn of_option(error: Error) -> Failure {
    let mut failure = Failure::from(error);
    let ends = failure.message.find(['=', ' ']).unwrap_or_default();
    let option = option_of(&failure.message[..ends]);
    failure.message.replace_range(..ends, &option);
    failure
}

/// Conditions that also end a search when the call is aborted.
pub(crate) fn until(conditions: Conditions<'static>, stop: Option<&Stop>) -> Conditions<'static> {
    match stop.cloned() {
        Some(stop) => conditions.cancel_if(move || stop.is_set()),
        None => conditions,
    }
}

/// The conditions of an admission: those of a search, `relate` and `keep`.
pub(crate) fn admit(settings: &str, prefix: Option<Bytes>) -> Result<Admit<'static>, Failure> {
    let (mut others, mut relate, mut keep) = (String::new(), None, Keep::First);
    for line in settings.lines() {
        match line.split_once('=') {
            Some(("relate", value)) => {
                let refuse = |error| Failure::invalid(format!("relate={value}: {error}"));
                relate = Some(value.parse().map_err(refuse)?);
            }
            Some(("keep", name)) => keep = name.parse()?,
            _ => others.extend([line, "\n"]),
        }
    }
    let admit = Admit::at(conditions(&others, prefix)?).keep(keep);
    Ok(relate.into_iter().fold(admit, Admit::relate))
}
