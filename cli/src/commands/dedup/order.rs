//! The order in which documents are decided, and the decisions. A rank is a position in this order,
//! counted from 0.

use nearkin::{Duplicate, Evidence, Keep};

use super::ledger::Kind;
use super::verdicts::Verdict;
use super::work::Work;
use nearkin_kit::failure::Failure;

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
}

impl Order {
    pub(super) fn new(keep: Keep, work: &Work) -> Result<Self, Failure> {
        let lines = work.ledger.count;
        match keep {
            Keep::First => Ok(Self::First),
            Keep::Newest => Ok(Self::Newest(lines)),
            _ if lines > u64::from(u32::MAX) => Err(Failure::new(
                format!("--keep longest takes up to {} lines", u32::MAX),
                "split the input",
            )),
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

    /// The number of ranks. `lines` is the number of all lines; [`Order::Longest`] has ranks only
    /// for documents ([`Kind::Document`]).
    pub(super) fn ranks(&self, lines: u64) -> u64 {
        match self {
            Self::First | Self::Newest(_) => lines,
            Self::Longest(order) => order.len() as u64,
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
