//! The second pass: visits documents in order of preference, and drops each document that is
//! similar to one already kept.
//!
//! The library decides. The kept documents are stored in an index; the key of each is its rank, its
//! place in the order of preference. So decisions made after the last checkpoint can be undone:
//! their ranks are the highest.

use std::sync::Arc;

use bytes::Bytes;
use nearkin::{Dedup, Duplicate, FetchRanks, Index, Keep, LookedUp, Original, Signature};
use rayon::ThreadPool;
use rayon::prelude::*;

use super::deciding::Deciding;
use super::exactly;
use super::ledger::{Entry, Kind};
use super::order::{self, CHUNK, DecidedRanks, Order};
use super::request::Request;
use super::verdicts::{Pass, Verdict, Verdicts};
use super::work::{Stage, Work};
use nearkin_kit::failure::Failure;
use nearkin_kit::interrupt;
use nearkin_kit::output::progress::{Progress, Unit};
use nearkin_kit::threads;

/// Number of documents that a core looks up at a time.
const BATCH_SIGNATURES: usize = 128;

/// Documents of which so few are read or decided together are large, or all.
const FEW: usize = 8;

pub(super) fn run(request: &Request<'_>, work: &mut Work) -> Result<(), Failure> {
    work.ledger.flush().map_err(|error| work.failed(&error))?;
    if request.args.keep == Keep::All {
        return keep_all(work);
    }
    let lines = work.ledger.count;
    let order = Order::new(request.args, work)?;
    let ranks = order.ranks(lines);
    let verdicts = Verdicts::open(&work.folder, Pass::Decided, lines);
    let mut verdicts = verdicts.map_err(|error| work.failed(&error))?;
    let progress = Progress::start("deciding", Unit::Documents, Some(ranks));
    let kept = Arc::clone(&work.kept);
    let mut dedup = Dedup::new(&kept, request.alike)?.cancel_if(interrupt::came);
    // Decisions after the last checkpoint are made again.
    dedup.go_back(work.state.done)?;
    while work.state.done < ranks {
        let begin = work.state.done;
        let decided = match request.deciding {
            Deciding::Exact => exactly::decide(&mut dedup, work, &order, (begin, ranks))?,
            _ => decide((&mut dedup, request), work, &order, (begin, ranks.min(begin + CHUNK)))?,
        };
        let end = begin + decided.numbers.len() as u64;
        let DecidedRanks { numbers, verdicts: decided } = decided;
        let count = |is: fn(&Verdict) -> bool| decided.iter().filter(|one| is(one)).count() as u64;
        work.state.counts.kept += count(|one| *one == Verdict::Kept);
        work.state.counts.dropped += count(|one| matches!(one, Verdict::Dropped { .. }));
        verdicts.write(&numbers, &decided).map_err(|error| work.failed(&error))?;
        work.state.done = end;
        if work.is_due() || end == ranks {
            work.kept.sync()?;
            verdicts.sync().map_err(|error| work.failed(&error))?;
            work.store()?;
        }
        progress.reached(end);
        interrupt::check()?;
    }
    work.enter(Stage::Judge)
}

fn decide(
    (dedup, request): (&mut Dedup<'_>, &Request<'_>),
    work: &Work,
    order: &Order,
    (begin, end): (u64, u64),
) -> Result<DecidedRanks, Failure> {
    let numbers: Vec<u64> = (begin..end).map(|rank| order.line(rank)).collect();
    let mut entries = work.ledger.entries(&numbers).map_err(|error| work.failed(&error))?;
    let (mut ranks, mut signatures) = (Vec::new(), Vec::new());
    for (rank, Entry { kind, shingles, signature, .. }) in (begin..end).zip(&mut entries) {
        if *kind == Kind::Document {
            let signature = std::mem::take(signature);
            signatures.push(Signature::from_bytes(work.kept.params(), &signature, *shingles)?);
            ranks.push(rank);
        }
    }
    let documents = work.documents();
    let document = |rank: u64| {
        documents.original(match at(begin, rank).and_then(|at| entries.get(at)) {
            Some(entry) => documents.line(entry),
            None => documents.line_of(order.line(rank)),
        })
    };
    let decided = similar((dedup, request), work, (&ranks, &signatures), order, &document)?;
    let mut verdicts = vec![Verdict::None; numbers.len()];
    for (rank, duplicate) in ranks.iter().zip(decided) {
        verdicts[at(begin, *rank).unwrap_or(usize::MAX)] = order::verdict(order, duplicate);
    }
    Ok(DecidedRanks { numbers, verdicts })
}

/// The place of a rank among those from `begin` on.
fn at(begin: u64, rank: u64) -> Option<usize> {
    rank.checked_sub(begin).and_then(|at| usize::try_from(at).ok())
}

/// For each document, the kept one that it duplicates. `document` makes that of a rank.
fn similar(
    (dedup, request): (&mut Dedup<'_>, &Request<'_>),
    work: &Work,
    (ranks, signatures): (&[u64], &[Signature]),
    order: &Order,
    document: &(dyn Fn(u64) -> nearkin::Result<Original> + Sync),
) -> Result<Vec<Option<Duplicate>>, Failure> {
    let look_up = |some: &[Signature]| match request.deciding {
        Deciding::Confirmed => dedup.look_up_candidates(some),
        _ => dedup.look_up(some),
    };
    let found: nearkin::Result<Vec<Vec<LookedUp>>> =
        signatures.par_chunks(BATCH_SIGNATURES).map(look_up).collect();
    let found = found?.concat();
    if request.deciding != Deciding::Confirmed {
        return Ok(dedup.decide(ranks, signatures, &found)?);
    }
    let documents = work.documents();
    let made = |rank: &u64| {
        // What is fetched now is judged later, unless nothing is.
        let document = if request.is_guarded() {
            documents.held(order.line(*rank), || document(*rank))
        } else {
            document(*rank)
        };
        document.map(Some)
    };
    // Large documents, of which few are decided together, are made one after the other.
    let fetch: &mut FetchRanks<'_> = &mut |some| {
        if ranks.len() < FEW {
            some.iter().map(made).collect()
        } else {
            some.par_iter().map(made).collect()
        }
    };
    Ok(dedup.decide_confirmed(ranks, signatures, &found, fetch)?)
}

/// A document that is to be decided.
pub(super) struct Undecided {
    pub(super) signature: Signature,
    pub(super) line: Bytes,
    /// The hashes of its shingles, if they are known, in no particular order.
    pub(super) shingles: Option<Vec<u64>>,
}

/// Decides documents while they are read. Decisions become durable with the lines.
pub(super) struct AsRead<'a> {
    dedup: Dedup<'a>,
    verdicts: Verdicts,
    /// Decisions come one after the other: in the global pool they queue behind lines that are
    /// sketched.
    pool: Option<ThreadPool>,
}

impl<'a> AsRead<'a> {
    /// Begins behind the lines of the ledger. `kept` is the index of kept documents.
    pub(super) fn new(
        request: &Request<'_>,
        work: &Work,
        kept: &'a Index,
    ) -> Result<Self, Failure> {
        let verdicts = Verdicts::open(&work.folder, Pass::Decided, work.ledger.count);
        let verdicts = verdicts.map_err(|error| work.failed(&error))?;
        let mut dedup = Dedup::new(kept, request.alike)?.cancel_if(interrupt::came);
        // Decisions after the last checkpoint are made again.
        dedup.go_back(work.ledger.count)?;
        Ok(Self { dedup, verdicts, pool: threads::pool_beside() })
    }

    /// Decides the lines that follow those of the ledger; `None` stands for one without a document.
    pub(super) fn decide(
        &mut self,
        request: &Request<'_>,
        work: &mut Work,
        lines: Vec<Option<Undecided>>,
    ) -> Result<Vec<Verdict>, Failure> {
        work.ledger.flush().map_err(|error| work.failed(&error))?;
        let begin = work.ledger.count;
        let numbers: Vec<u64> = (begin..begin + lines.len() as u64).collect();
        let (mut ranks, mut signatures) = (Vec::new(), Vec::new());
        let mut here = Vec::with_capacity(lines.len());
        for (rank, line) in numbers.iter().zip(lines) {
            here.push(line.map(|Undecided { signature, line, shingles }| {
                signatures.push(signature);
                ranks.push(*rank);
                (signatures.len() - 1, line, shingles)
            }));
        }
        let documents = work.documents();
        let document = |rank: u64| match at(begin, rank).and_then(|at| here.get(at)) {
            Some(Some((at, _, Some(shingles)))) => {
                let mut shingles = shingles.clone();
                shingles.sort_unstable();
                Original::from_shingle_hashes(signatures[*at].clone(), shingles)
            }
            Some(Some((_, line, None))) => documents.original(Ok(line.clone())),
            // Its text is needed again, and its line is not at hand any more.
            _ if request.is_guarded() => documents.whole(rank),
            _ => documents.original(documents.line_of(rank)),
        };
        let (dedup, shared) = ((&mut self.dedup, request), &*work);
        let similar = || similar(dedup, shared, (&ranks, &signatures), &Order::First, &document);
        let decided = match &self.pool {
            Some(pool) => pool.install(similar)?,
            None => similar()?,
        };
        let mut verdicts = vec![Verdict::None; numbers.len()];
        for (rank, duplicate) in ranks.iter().zip(decided) {
            let at = at(begin, *rank).unwrap_or(usize::MAX);
            verdicts[at] = order::verdict(&Order::First, duplicate);
        }
        self.verdicts.write(&numbers, &verdicts).map_err(|error| work.failed(&error))?;
        Ok(verdicts)
    }

    /// Makes the decisions durable.
    pub(super) fn sync(&self, work: &Work) -> Result<(), Failure> {
        work.kept.sync()?;
        self.verdicts.sync().map_err(|error| work.failed(&error))
    }
}

/// Keeps all documents (`--keep all`), instead of comparing them with each other.
fn keep_all(work: &mut Work) -> Result<(), Failure> {
    let failed = |error: std::io::Error| work.failed(&error);
    let mut verdicts =
        Verdicts::open(&work.folder, Pass::Decided, work.ledger.count).map_err(failed)?;
    let (mut number, mut kept) = (0, 0);
    while number < work.ledger.count {
        interrupt::check()?;
        let heads = work.ledger.heads(number).map_err(failed)?;
        let of = |kind| if kind == Kind::Document { Verdict::Kept } else { Verdict::None };
        let decided: Vec<Verdict> = heads.iter().map(|head| of(head.kind)).collect();
        kept += decided.iter().filter(|one| **one == Verdict::Kept).count() as u64;
        let end = number + heads.len() as u64;
        let numbers: Vec<u64> = (number..end).collect();
        verdicts.write(&numbers, &decided).map_err(failed)?;
        number = end;
    }
    verdicts.sync().map_err(failed)?;
    work.state.counts.kept += kept;
    work.enter(Stage::Judge)
}
