//! What becomes of each line, in the order of the lines: the ledger and the verdicts together.

#![expect(clippy::disallowed_types, reason = "reads the work folder of a run, never an index")]

use std::fs::File;
use std::io::{self, BufReader, Read as _};
use std::path::Path;

use super::clusters::{Cluster, ClusterSizes};
use super::deciding::{Deciding, Equal};
use super::ledger::{Entry, Kind, Ledger};
use super::verdicts::{Pass, Verdict, Verdicts};
use nearkin_input::raw;

/// What becomes of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LineOutcome {
    Kept,
    Dropped(Box<Dropped>),
    WithQuestion(WithQuestion),
    /// The line could not be compared.
    Skipped {
        file: u32,
        line: u64,
        kind: Vec<u8>,
        reason: Vec<u8>,
    },
}

impl LineOutcome {
    /// Whether this is the rest of a damaged file.
    pub(super) fn is_damage(&self) -> bool {
        matches!(self, Self::Skipped { kind, .. } if kind == raw::DAMAGED.as_bytes())
    }
}

/// A document that contains a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WithQuestion {
    pub(super) file: u32,
    pub(super) line: u64,
    pub(super) key: Vec<u8>,
    /// What is known about the question, as JSON.
    pub(super) evidence: Vec<u8>,
}

/// A duplicate, and the document that it duplicates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dropped {
    /// Number of the input file, counted from 0; `line` counts from 1.
    pub(super) file: u32,
    pub(super) line: u64,
    pub(super) key: Vec<u8>,
    pub(super) shingles: u32,
    pub(super) repetitive: bool,
    pub(super) equal: Equal,
    pub(super) of_key: Vec<u8>,
    /// The other line; `None` if the document is in the archive.
    pub(super) of: Option<OfLine>,
    /// With `--cluster-field`: the cluster, unless that document is in the archive.
    pub(super) cluster: Option<Cluster>,
    /// The lines of both, if their contents are stored, and differ.
    pub(super) compared: Option<[(u64, Entry); 2]>,
}

/// The line of a kept document that another line duplicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OfLine {
    pub(super) file: u32,
    pub(super) line: u64,
    pub(super) shingles: u32,
}

/// Reads what becomes of each line, in the order of the lines.
pub(super) struct Outcomes {
    deciding: Deciding,
    verdicts: BufReader<File>,
    /// Number of the next line.
    number: u64,
    /// With `--cluster-field`.
    clusters: Option<ClusterSizes>,
}

impl Outcomes {
    /// Opens the verdicts beside the ledger in `folder`, at line `number`. Nothing is appended to
    /// the ledger from now on.
    pub(super) fn open(
        folder: &Path,
        ledger: &mut Ledger,
        number: u64,
        (deciding, pass, has_clusters): (Deciding, Pass, bool),
    ) -> io::Result<Self> {
        ledger.flush()?;
        let verdicts = Verdicts::open(folder, pass, ledger.count)?;
        let clusters = has_clusters.then(|| ClusterSizes::count(&verdicts, ledger)).transpose()?;
        Ok(Self { deciding, verdicts: verdicts.read_from(number)?, number, clusters })
    }

    /// The number of the next line, and the verdict on it.
    pub(super) fn next(&mut self) -> io::Result<(u64, Verdict)> {
        let mut bytes = [0; 16];
        self.verdicts.read_exact(&mut bytes)?;
        self.number += 1;
        Ok((self.number - 1, Verdict::decode(bytes)))
    }

    /// With `--cluster-field`: the cluster of a line that is kept.
    pub(super) fn cluster(&self, number: u64) -> Option<Cluster> {
        self.clusters.as_ref().map(|clusters| clusters.of(number))
    }

    /// What becomes of a line. Several threads may ask at once.
    pub(super) fn of(
        &self,
        ledger: &Ledger,
        (number, verdict): (u64, Verdict),
    ) -> io::Result<LineOutcome> {
        if matches!(verdict, Verdict::Kept | Verdict::Apart { .. }) {
            return Ok(LineOutcome::Kept);
        }
        let entry = ledger.head(number)?;
        let Entry { kind, repetitive, file, line, key, other, shingles, equal_rows, .. } = entry;
        if kind == Kind::Blank {
            return Ok(LineOutcome::Kept);
        }
        let (key, other) = (ledger.text(key)?, ledger.text(other)?);
        if kind == Kind::Skipped {
            return Ok(LineOutcome::Skipped { file, line, kind: key, reason: other });
        }
        if kind == Kind::WithQuestion {
            let evidence = other;
            return Ok(LineOutcome::WithQuestion(WithQuestion { file, line, key, evidence }));
        }
        let mut compared = None;
        let (equal, of_key, of) = match verdict {
            Verdict::Dropped { of: of_number, equal, is_whole } => {
                let of = ledger.head(of_number)?;
                let of_line = OfLine { file: of.file, line: of.line, shingles: of.shingles };
                let of_key = ledger.text(of.key)?;
                if !is_whole && self.deciding != Deciding::Estimate {
                    compared = Some([(number, entry), (of_number, of)]);
                }
                (self.deciding.equal(equal), of_key, Some(of_line))
            }
            _ => (self.deciding.equal_to_archived(equal_rows), other, None),
        };
        let cluster = match verdict {
            Verdict::Dropped { of, .. } => self.cluster(of),
            _ => None,
        };
        Ok(LineOutcome::Dropped(Box::new(Dropped {
            file,
            line,
            key,
            shingles,
            repetitive,
            equal,
            of_key,
            of,
            cluster,
            compared,
        })))
    }
}
