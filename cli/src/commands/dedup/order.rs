//! The order in which documents are decided, and the decisions. A rank is a position in this order,
//! counted from 0.

use std::io;

use nearkin::{Duplicate, Evidence, Keep};

use super::ledger::Kind;
use super::verdicts::Verdict;
use super::work::Work;
use crate::args::Dedup;
use nearkin_input::sets::Grouping;
use nearkin_kit::failure::Failure;
use nearkin_kit::interrupt;

/// Number of documents decided together.
pub(super) const CHUNK: u64 = 4_096;

/// The decisions on consecutive ranks: the number of each line, and the verdict on it.
pub(super) struct DecidedRanks {
    pub(super) numbers: Vec<u64>,
    pub(super) verdicts: Vec<Verdict>,
}

/// Maps ranks to lines. Documents are decided in the order of their ranks.
pub(super) enum Order {
    First,
    /// From the last line to the first. Holds the number of lines.
    Newest(u64),
    /// From the longest document to the shortest. Each value holds the inverted shingle count in
    /// its high bits and the number of the line in its low bits, so that sorting gives the order.
    Longest(Vec<u64>),
    /// By the values of a field: the lines in this order, and the rank of each line.
    Values(Vec<u32>, Vec<u32>),
}

impl Order {
    pub(super) fn new(args: &Dedup, work: &Work) -> Result<Self, Failure> {
        let lines = work.ledger.count;
        match args.keep {
            Keep::First | Keep::All if args.keep_by.is_none() => Ok(Self::First),
            Keep::Newest => Ok(Self::Newest(lines)),
            _ if lines > u64::from(u32::MAX) => Err(Failure::new(
                format!("--keep longest and --keep-by take up to {} lines", u32::MAX),
                "split the input",
            )),
            Keep::First => Self::by_values(args.keep_by.as_deref().unwrap_or_default(), work),
            _ => {
                let mut order = Vec::new();
                for begin in (0..lines).step_by(4_096) {
                    let numbers: Vec<u64> = (begin..lines.min(begin + CHUNK)).collect();
                    let entries = work.ledger.entries(&numbers);
                    for (number, entry) in
                        numbers.iter().zip(entries.map_err(|error| work.failed(&error))?)
                    {
                        if entry.kind == Kind::Document {
                            order.push(u64::from(u32::MAX - entry.shingles) << 32 | number);
                        }
                    }
                }
                order.sort_unstable();
                Ok(Self::Longest(order))
            }
        }
    }

    /// The order by the values that the ledger has beside the documents.
    #[expect(clippy::big_endian_bytes, reason = "lines of equal values are sorted by their bytes")]
    fn by_values(field: &str, work: &Work) -> Result<Self, Failure> {
        let failed = |error: io::Error| work.failed(&error);
        let (mut grouping, mut has_any, mut number) = (Grouping::default(), false, 0);
        while number < work.ledger.count {
            for entry in work.ledger.heads(number).map_err(failed)? {
                if entry.kind == Kind::Document {
                    let mut key = work.ledger.text(entry.other).map_err(failed)?;
                    has_any |= key.len() > 1;
                    key.extend_from_slice(&u32::try_from(number).unwrap_or(u32::MAX).to_be_bytes());
                    grouping.push(&key, b"")?;
                }
                number += 1;
            }
            interrupt::check()?;
        }
        let (mut order, mut sorted) = (Vec::new(), grouping.finish()?);
        let mut ranks = vec![u32::MAX; usize::try_from(work.ledger.count).unwrap_or(0)];
        while let Some((key, _)) = sorted.next()? {
            let line = key.last_chunk().map_or(0, |line| u32::from_be_bytes(*line));
            ranks[line as usize] = u32::try_from(order.len()).unwrap_or(u32::MAX);
            order.push(line);
        }
        if !has_any && !order.is_empty() {
            let message = format!("no line has a string or a number in the field {field:?}");
            return Err(Failure::new(message, "check --keep-by FIELD"));
        }
        Ok(Self::Values(order, ranks))
    }

    /// The number of ranks. `lines` is the number of all lines; some orders have ranks only for
    /// documents ([`Kind::Document`]).
    pub(super) fn ranks(&self, lines: u64) -> u64 {
        match self {
            Self::First | Self::Newest(_) => lines,
            Self::Longest(order) => order.len() as u64,
            Self::Values(order, _) => order.len() as u64,
        }
    }

    /// The rank of a document with this many shingles.
    pub(super) fn rank(&self, line: u64, shingles: u32) -> u64 {
        match self {
            Self::First => line,
            Self::Newest(lines) => lines - 1 - line,
            Self::Longest(order) => {
                let place = order.binary_search(&(u64::from(u32::MAX - shingles) << 32 | line));
                place.map_or(u64::MAX, |at| at as u64)
            }
            Self::Values(_, ranks) => {
                let line = usize::try_from(line).unwrap_or(usize::MAX);
                ranks.get(line).map_or(u64::MAX, |rank| u64::from(*rank))
            }
        }
    }

    pub(super) fn line(&self, rank: u64) -> u64 {
        match self {
            Self::First => rank,
            Self::Newest(lines) => lines - 1 - rank,
            Self::Longest(order) => {
                let at = usize::try_from(rank).unwrap_or(usize::MAX);
                order.get(at).map_or(0, |line| line & u64::from(u32::MAX))
            }
            Self::Values(order, _) => {
                let at = usize::try_from(rank).unwrap_or(usize::MAX);
                order.get(at).map_or(0, |line| u64::from(*line))
            }
        }
    }
}

/// The decision on a document, as it is stored.
pub(super) fn verdict(order: &Order, duplicate: Option<Duplicate>) -> Verdict {
    duplicate.map_or(Verdict::Kept, |duplicate| Verdict::Dropped {
        of: order.line(duplicate.of),
        equal: equal(duplicate.evidence),
        is_whole: matches!(
            duplicate.evidence,
            Evidence::Shingles { own, other, shared, .. } if own == shared && other == shared
        ),
    })
}

/// The number of equal rows, or of shared shingles.
pub(super) fn equal(evidence: Evidence) -> u32 {
    match evidence {
        Evidence::EqualRows(equal_rows) => equal_rows,
        Evidence::Shingles { shared, .. } => shared,
        // The library may add other kinds; a verdict has no place for them.
        _ => 0,
    }
}
