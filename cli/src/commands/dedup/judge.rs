//! The third pass: looks once more at what was dropped, and keeps what the guard protects.
//!
//! The library judges. Only lines that were dropped, and those they were dropped for, are read
//! again, unless all their shingles are equal. After an interruption, this pass starts over.

use nearkin::{Apart, Judge, Judgement, Suspects};
use rayon::prelude::*;

use super::apart;
use super::order::{self, CHUNK, Order};
use super::request::Request;
use super::verdicts::{Pass, Verdict, Verdicts};
use super::work::{Stage, Work};
use nearkin_kit::failure::Failure;
use nearkin_kit::interrupt;
use nearkin_kit::output::progress::{Progress, Unit};

pub(super) fn run(request: &Request<'_>, work: &mut Work) -> Result<(), Failure> {
    if !request.is_guarded() {
        return work.enter(Stage::Write);
    }
    let open = |pass| Verdicts::open(&work.folder, pass, work.ledger.count);
    let decided = open(Pass::Decided).map_err(|error| work.failed(&error))?;
    let mut judged = open(Pass::Judged).map_err(|error| work.failed(&error))?;
    let order = Order::new(request.args, work)?;
    let (suspects, count) = suspects(work, &order, (&decided, &mut judged))?;
    let (mut lines, mut verdicts) = (Vec::new(), Vec::new());
    let progress = Progress::start("judging", Unit::Documents, Some(count));
    let documents = work.documents();
    let detailed = |rank: &u64| documents.detailed(order.line(*rank)).map(Some);
    let mut judge = Judge::new(request.guard, request.alike, suspects)
        .threads(rayon::current_num_threads())
        .cancel_if(interrupt::came);
    judge.run(&mut |ranks| ranks.par_iter().map(detailed).collect(), &mut |rank, judgement| {
        lines.push(order.line(rank));
        verdicts.push(verdict(&order, judgement));
        progress.reached(lines.len() as u64);
    })?;
    let written = judged.write(&lines, &verdicts).and_then(|()| judged.sync());
    written.map_err(|error| work.failed(&error))?;
    apart::write(request, work)?;
    let apart = |numbers| {
        let is_so = |one: &&Verdict| match one {
            Verdict::Apart { in_numbers, .. } => *in_numbers == numbers,
            _ => false,
        };
        verdicts.iter().filter(is_so).count() as u64
    };
    let (in_numbers, in_rare) = (apart(true), apart(false));
    let counts = &mut work.state.counts;
    counts.dropped -= in_numbers + in_rare;
    counts.kept += in_numbers + in_rare;
    (counts.apart_in_numbers, counts.apart_in_rare) = (in_numbers, in_rare);
    work.enter(Stage::Write)
}

/// Copies the decisions, and collects those to judge. Returns their number, too.
fn suspects(
    work: &Work,
    order: &Order,
    (decided, judged): (&Verdicts, &mut Verdicts),
) -> Result<(Suspects, u64), Failure> {
    let (mut suspects, mut count) = (Suspects::default(), 0);
    let shingles = |line| work.ledger.head(line).map(|entry| entry.shingles);
    let failed = |error| work.failed(&error);
    for begin in (0..work.ledger.count).step_by(4_096) {
        interrupt::check()?;
        let numbers: Vec<u64> = (begin..work.ledger.count.min(begin + CHUNK)).collect();
        let verdicts = decided.read(&numbers).map_err(failed)?;
        judged.write(&numbers, &verdicts).map_err(failed)?;
        for (line, verdict) in numbers.into_iter().zip(verdicts) {
            if let Verdict::Dropped { of, equal, is_whole: false } = verdict {
                let (own, other) = (shingles(line).map_err(failed)?, shingles(of).map_err(failed)?);
                let ranks = (order.rank(line, own), order.rank(of, other));
                suspects.add_dropped(ranks.0, ranks.1, [own, other, equal]);
                count += 1;
            }
        }
    }
    Ok((suspects, count))
}

fn verdict(order: &Order, judgement: Judgement) -> Verdict {
    match judgement {
        Judgement::CopyOf(copy) => order::verdict(order, Some(copy)),
        Judgement::Kept { apart, similar_to } => Verdict::Apart {
            of: order.line(similar_to.of),
            equal: order::equal(similar_to.evidence),
            in_numbers: apart == Apart::Numbers,
        },
        Judgement::Unlike => Verdict::Kept,
    }
}
