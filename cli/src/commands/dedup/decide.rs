//! The second pass: visits documents in order of preference, and drops each document that is
//! similar to one already kept.
//!
//! The library decides. The kept documents are stored in an index; the key of each is its rank, its
//! place in the order of preference. So decisions made after the last checkpoint can be undone:
//! their ranks are the highest.

use std::sync::Arc;

use nearkin::{Dedup, Keep, LookedUp, Signature};
use rayon::prelude::*;

use super::deciding::Deciding;
use super::exactly;
use super::exactly::Documents;
use super::ledger::{Entry, Kind};
use super::order::{self, CHUNK, DecidedRanks, Order};
use super::request::Request;
use super::verdicts::{Pass, Verdict, Verdicts};
use super::work::{Stage, Work};
use nearkin_kit::failure::Failure;
use nearkin_kit::interrupt;
use nearkin_kit::output::progress::{Progress, Unit};

/// Number of documents that a core looks up at a time.
const BATCH_SIGNATURES: usize = 128;

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
    let look_up = |some: &[Signature]| match request.deciding {
        Deciding::Confirmed => dedup.look_up_candidates(some),
        _ => dedup.look_up(some),
    };
    let found: nearkin::Result<Vec<Vec<LookedUp>>> =
        signatures.par_chunks(BATCH_SIGNATURES).map(look_up).collect();
    let found = found?.concat();
    let decided = if request.deciding == Deciding::Confirmed {
        let documents = Documents::new(work);
        let fetch = &mut |rank: u64| {
            let at = rank.checked_sub(begin).and_then(|at| usize::try_from(at).ok());
            let (line, entry) = (order.line(rank), at.and_then(|at| entries.get(at)));
            // What is fetched now is judged later, unless nothing is.
            let document = if request.is_guarded() {
                documents.detailed(line, entry)
            } else {
                documents.original(line)
            };
            document.map(Some)
        };
        dedup.decide_confirmed(&ranks, &signatures, &found, fetch)?
    } else {
        dedup.decide(&ranks, &signatures, &found)?
    };
    let mut verdicts = vec![Verdict::None; numbers.len()];
    for (rank, duplicate) in ranks.iter().zip(decided) {
        let at = usize::try_from(rank - begin).unwrap_or(usize::MAX);
        verdicts[at] = order::verdict(order, duplicate);
    }
    Ok(DecidedRanks { numbers, verdicts })
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
