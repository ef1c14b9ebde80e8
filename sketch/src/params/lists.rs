//! The lists of parameters: stop words and common shingles.

use std::sync::Arc;

use super::{Common, Fields, Scheme, Shingles, stop};
use crate::{Error, Result};

/// The lists of [`Params`](super::Params).
#[derive(Clone, Default, PartialEq)]
pub(super) struct Lists {
    /// The stop list: its words in byte order, one per line.
    pub(super) stop: Option<Arc<str>>,
    pub(super) common: Option<Common>,
}

impl Lists {
    /// The lists as they appear in the text whose hash is the id of the parameters.
    pub(super) fn id_text(&self) -> String {
        stop::id_text(self.stop.as_deref()) + &Common::id_text(self.common.as_ref())
    }

    /// Returns an error if a list does not fit the other parameters.
    pub(super) fn validate(&self, fields: &Fields) -> Result<()> {
        let shingles = fields.shingles;
        if let Some(stop) = &self.stop {
            stop::check(stop)?;
            if fields.scheme == Scheme::Winnow {
                return Err(Error::invalid("fingerprints take no stop list"));
            }
            if !matches!(shingles, Shingles::Words(_)) {
                return Err(Error::invalid(format!(
                    "a stop list needs shingles of words; these are {shingles}"
                )));
            }
        }
        if self.common.is_some() {
            if fields.passages.is_some() && fields.scheme != Scheme::Winnow {
                return Err(Error::invalid(
                    "windows of words take no list of common shingles; fingerprints do",
                ));
            }
            if fields.scheme.is_external() {
                return Err(Error::invalid(format!(
                    "signatures of {} come from another program; omit the list of common shingles",
                    fields.scheme
                )));
            }
        }
        Ok(())
    }

    /// Adds a phrase for each list that differs.
    pub(super) fn differences(&self, other: &Self, found: &mut Vec<String>) {
        let mut compare = |name: &str, is_equal: bool, here: usize, requested: usize| {
            if !is_equal {
                let other = if here == requested { "others " } else { "" };
                found.push(format!("{name}: {here} here, {other}{requested} asked"));
            }
        };
        let stop = |lists: &Self| stop::count(lists.stop.as_deref());
        compare("stop words", self.stop == other.stop, stop(self), stop(other));
        let common = |lists: &Self| lists.common.as_ref().map_or(0, |common| common.hashes().len());
        compare("common shingles", self.common == other.common, common(self), common(other));
    }
}
