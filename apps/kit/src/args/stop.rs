//! The words of `--stop`.

use std::collections::BTreeSet;
use std::path::Path;

use nearkin_input::files;

/// The words of a stop list, sorted and unique.
#[derive(Debug, Clone)]
pub(super) struct StopWords(pub(super) BTreeSet<String>);

impl StopWords {
    pub(super) fn read(path: &str) -> Result<Self, String> {
        let bytes = files::read(Path::new(path)).map_err(|reason| reason.kind().to_owned())?;
        let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        Ok(Self(lines.flat_map(str::split_whitespace).map(str::to_owned).collect()))
    }
}
