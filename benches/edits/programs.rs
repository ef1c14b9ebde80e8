//! Programs of others that `benches/removals/run.py` has run on the corpora. They share the folder
//! that `NEARKIN_REMOVALS` names: a file of JSON lines for each corpus, and for each program and
//! corpus the documents that it kept.

#![expect(clippy::disallowed_methods, reason = "writes corpora, never an index")]

use std::error::Error;
use std::fmt::Write as _;
use std::path::PathBuf;

/// A program, by its name in the folder.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Program {
    TextDedup,
    Datatrove,
    Rensa,
    Datasketch,
}

fn folder() -> Option<PathBuf> {
    std::env::var_os("NEARKIN_REMOVALS").map(PathBuf::from)
}

/// Writes the corpora for the programs.
pub(crate) fn write_corpora(corpora: &[&[String]]) -> Result<(), Box<dyn Error>> {
    let folder = folder().ok_or("NEARKIN_REMOVALS names no folder")?;
    for (number, texts) in corpora.iter().enumerate() {
        let mut lines = String::new();
        for (at, text) in texts.iter().enumerate() {
            // A key of digits that is a string: some programs drop a key that is 0.
            writeln!(lines, "{{\"id\":\"{at}\",\"text\":{}}}", serde_json::to_string(text)?)?;
        }
        std::fs::write(folder.join(format!("{number}.jsonl")), lines)?;
    }
    Ok(())
}

impl Program {
    fn name(self) -> &'static str {
        match self {
            Self::TextDedup => "text-dedup",
            Self::Datatrove => "datatrove",
            Self::Rensa => "rensa",
            Self::Datasketch => "datasketch",
        }
    }

    /// By which settings it ran.
    pub(crate) fn how(self) -> &'static str {
        match self {
            Self::TextDedup | Self::Datatrove => "default settings",
            Self::Rensa => "as in its readme",
            Self::Datasketch => "as documented",
        }
    }

    /// Its version, if it has run.
    pub(crate) fn version(self) -> Option<String> {
        let path = folder()?.join(format!("{}.version", self.name()));
        std::fs::read_to_string(path).ok().map(|version| version.trim().to_owned())
    }

    /// For each document the one that was kept for it: itself, if it was kept; none (`usize::MAX`)
    /// if the program does not say.
    pub(crate) fn kept_for(
        self,
        corpus: usize,
        documents: usize,
    ) -> Result<Vec<usize>, Box<dyn Error>> {
        let folder = folder().ok_or("NEARKIN_REMOVALS names no folder")?;
        let path = folder.join(format!("{corpus}.{}", self.name()));
        let text = std::fs::read_to_string(&path)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        let place =
            |line: &str| line.parse::<i64>().map(|at| usize::try_from(at).unwrap_or(usize::MAX));
        let kept_for = text.lines().map(place).collect::<Result<Vec<_>, _>>()?;
        if kept_for.len() == documents {
            return Ok(kept_for);
        }
        Err(format!("{} has {} documents, not {documents}", path.display(), kept_for.len()).into())
    }
}
