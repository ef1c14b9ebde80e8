//! The option for common shingles: a list, or the share of documents that makes shingles common.

use std::path::Path;

use nearkin::{Common, Params};

use super::values::share;
use nearkin_input::files;

/// What `--ignore-common` was given.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum CommonGiven {
    /// The list is learned from the documents.
    Share(f64),
    List(Common),
}

impl CommonGiven {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match share(text) {
            Ok(share) if share > 0.0 && share <= 1.0 => return Ok(Self::Share(share)),
            Ok(_) => return Err("a share is above 0, at most 1 or 100%".to_owned()),
            Err(_) => {}
        }
        let bytes = files::read(Path::new(text)).map_err(|reason| reason.kind().to_owned())?;
        let list = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
        list.parse().map(Self::List).map_err(|error: nearkin::Error| error.to_string())
    }

    /// The list, if it was given.
    pub(super) fn list(&self) -> Option<&Common> {
        match self {
            Self::List(list) => Some(list),
            Self::Share(_) => None,
        }
    }

    /// As it is written on the command line. The path of a list is not repeated.
    pub(super) fn spelled(&self) -> String {
        match self {
            Self::Share(share) => share.to_string(),
            Self::List(_) => "FILE".to_owned(),
        }
    }

    /// How an index differs. With a share, the index's own list holds, whatever it was learned
    /// from. A list that is not alone is compared together with the templates, once these are read.
    pub(super) fn difference(&self, params: &Params, is_alone: bool) -> Option<String> {
        let here = params.common().map_or(0, |common| common.hashes().len());
        match self {
            Self::Share(_) if here > 0 => None,
            Self::Share(_) => {
                Some("--ignore-common was given, but the index was created without it".to_owned())
            }
            Self::List(_) if !is_alone => None,
            Self::List(list) if params.common().map(Common::hashes) == Some(list.hashes()) => None,
            Self::List(_) => {
                Some(format!("--ignore-common has other shingles than the {here} of the index"))
            }
        }
    }
}
