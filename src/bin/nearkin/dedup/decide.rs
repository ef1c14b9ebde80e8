//! The second pass: documents in order of preference, each dropped if it is like one kept before.
//!
//! Those kept are in an index under their ranks, so that of equally similar ones the most
//! preferred is named, and what was decided after the last checkpoint can be taken back.

use nearkin::{Admission, Admit, Batch, Decision, Keep, Newcomer, Signature};

use super::ledger::{Entry, Kind, Verdict, Verdicts};
use super::work::{Stage, Work};
use super::{Asked, bar};
use crate::failure::Failure;

/// Documents decided on together.
const CHUNK: u64 = 4_096;

/// Removes in one batch.
const REMOVES: usize = 10_000;

/// Which line has which rank.
enum Order {
    First,
    /// Of so many lines.
    Newest(u64),
    /// Lines from the longest document to the shortest: shingles, counted down, above the line.
    Longest(Vec<u64>),
}

impl Order {
    fn new(keep: Keep, work: &Work) -> Result<Self, Failure> {
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

    /// How many ranks there are of so many lines.
    fn ranks(&self, lines: u64) -> u64 {
        match self {
            Self::First | Self::Newest(_) => lines,
            Self::Longest(order) => order.len() as u64,
        }
    }

    fn line(&self, rank: u64) -> u64 {
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

pub(super) fn run(asked: &Asked<'_>, work: &mut Work) -> Result<(), Failure> {
    work.ledger.flush().map_err(|error| work.failed(&error))?;
    let lines = work.ledger.count;
    let order = Order::new(asked.args.keep, work)?;
    let ranks = order.ranks(lines);
    let verdicts = Verdicts::open(&work.folder, lines);
    let mut verdicts = verdicts.map_err(|error| work.failed(&error))?;
    take_back(work)?;
    let progress = bar("deciding", ranks);
    while work.state.done < ranks {
        let begin = work.state.done;
        let end = ranks.min(begin + CHUNK);
        decide(asked, work, &order, (begin, end), &mut verdicts)?;
        work.state.done = end;
        if work.is_due() || end == ranks {
            work.kept.sync()?;
            verdicts.sync().map_err(|error| work.failed(&error))?;
            work.store()?;
        }
        progress.reached(end);
    }
    work.enter(Stage::Write)
}

/// Removes the documents that were kept after the last checkpoint.
fn take_back(work: &Work) -> Result<(), Failure> {
    let mut ranks = Vec::new();
    for document in work.kept.snapshot().iter() {
        let key = document?.key;
        if rank_of(&key) >= work.state.done {
            ranks.push(key);
        }
    }
    for some in ranks.chunks(REMOVES) {
        work.kept.write(some.iter().fold(Batch::new(), Batch::remove))?;
    }
    Ok(())
}

/// Big-endian, so that keys are in order of the ranks.
#[expect(clippy::big_endian_bytes, reason = "the order of keys is that of their bytes")]
fn key_of(rank: u64) -> [u8; 8] {
    rank.to_be_bytes()
}

#[expect(clippy::big_endian_bytes, reason = "the order of keys is that of their bytes")]
fn rank_of(key: &[u8]) -> u64 {
    key.first_chunk().map_or(u64::MAX, |key| u64::from_be_bytes(*key))
}

fn decide(
    asked: &Asked<'_>,
    work: &mut Work,
    order: &Order,
    (begin, end): (u64, u64),
    verdicts: &mut Verdicts,
) -> Result<(), Failure> {
    let numbers: Vec<u64> = (begin..end).map(|rank| order.line(rank)).collect();
    let entries = work.ledger.entries(&numbers).map_err(|error| work.failed(&error))?;
    let mut documents = Vec::with_capacity(entries.len());
    for (rank, Entry { kind, shingles, signature, .. }) in (begin..end).zip(entries) {
        if kind == Kind::Document {
            let signature = Signature::from_bytes(work.kept.params(), &signature, shingles)?;
            documents.push((key_of(rank), signature));
        }
    }
    let newcomers: Vec<_> =
        documents.iter().map(|(key, signature)| Newcomer::new(key, signature)).collect();
    let terms = Admit::at(asked.params.threshold()).limit(1);
    let admissions = work.kept.admit_all(&newcomers, &terms)?;
    let mut decided = vec![Verdict::None; numbers.len()];
    for ((key, _), admission) in documents.iter().zip(&admissions) {
        let verdict = verdict(admission, order);
        match verdict {
            Verdict::Kept => work.state.counts.kept += 1,
            _ => work.state.counts.dropped += 1,
        }
        let at = usize::try_from(rank_of(key) - begin).unwrap_or(usize::MAX);
        decided[at] = verdict;
    }
    verdicts.write(&numbers, &decided).map_err(|error| work.failed(&error))
}

fn verdict(admission: &Admission, order: &Order) -> Verdict {
    match &admission.decision {
        Decision::Rejected { duplicates } => match duplicates.first() {
            Some(found) => Verdict::Dropped {
                of: order.line(rank_of(&found.key)),
                equal_rows: found.equal_rows,
            },
            None => Verdict::Kept,
        },
        Decision::Admitted { .. } => Verdict::Kept,
    }
}
