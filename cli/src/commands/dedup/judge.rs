//! The third pass: looks once more at what was dropped, and keeps what the guard protects.
//!
//! The library judges. Only lines that were dropped, and those they were dropped for, are read
//! again, unless all their shingles are equal. After an interruption, this pass starts over.

use nearkin::{Apart, Judge, Judgement, Original};
use rayon::prelude::*;

use super::apart;
use super::exactly::Documents;
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
    let lines = work.ledger.count;
    let open = |pass| Verdicts::open(&work.folder, pass, lines);
    let decided = open(Pass::Decided).map_err(|error| work.failed(&error))?;
    let mut judged = open(Pass::Judged).map_err(|error| work.failed(&error))?;
    let parts = Participants::new(work, &decided)?;
    let mut judge = Judge::new(request.guard, request.alike, parts.shingles);
    count(work, &parts, &mut judge)?;
    let order = Order::new(request.args, work)?;
    let ranks = order.ranks(lines);
    let progress = Progress::start("judging", Unit::Documents, Some(ranks));
    let (mut in_numbers, mut in_rare) = (0, 0);
    for begin in (0..ranks).step_by(4_096) {
        interrupt::check()?;
        let numbers: Vec<u64> =
            (begin..ranks.min(begin + CHUNK)).map(|rank| order.line(rank)).collect();
        let read = decided.read(&numbers);
        let mut verdicts = read.map_err(|error| work.failed(&error))?;
        judge_chunk(work, (&order, begin), &parts, &mut judge, (&numbers, &mut verdicts))?;
        for verdict in &verdicts {
            if let Verdict::Apart { in_numbers: only, .. } = verdict {
                *(if *only { &mut in_numbers } else { &mut in_rare }) += 1;
            }
        }
        judged.write(&numbers, &verdicts).map_err(|error| work.failed(&error))?;
        progress.reached(begin + numbers.len() as u64);
    }
    judged.sync().map_err(|error| work.failed(&error))?;
    apart::write(request, work)?;
    let counts = &mut work.state.counts;
    counts.dropped -= in_numbers + in_rare;
    counts.kept += in_numbers + in_rare;
    (counts.apart_in_numbers, counts.apart_in_rare) = (in_numbers, in_rare);
    work.enter(Stage::Write)
}

/// The lines that take part: a bit for each line.
struct Participants {
    bits: Vec<u64>,
    /// Number of their shingles.
    shingles: u64,
}

impl Participants {
    fn new(work: &Work, decided: &Verdicts) -> Result<Self, Failure> {
        let lines = work.ledger.count;
        let words = usize::try_from(lines / 64 + 1).unwrap_or(usize::MAX);
        let mut parts = Self { bits: vec![0; words], shingles: 0 };
        for begin in (0..lines).step_by(4_096) {
            let numbers: Vec<u64> = (begin..lines.min(begin + CHUNK)).collect();
            let verdicts = decided.read(&numbers).map_err(|error| work.failed(&error))?;
            for (number, verdict) in numbers.into_iter().zip(verdicts) {
                if let Verdict::Dropped { of, is_whole: false, .. } = verdict {
                    parts.add(number);
                    parts.add(of);
                }
            }
        }
        for numbers in parts.chunks(lines) {
            let entries = work.ledger.entries(&numbers).map_err(|error| work.failed(&error))?;
            parts.shingles += entries.iter().map(|entry| u64::from(entry.shingles)).sum::<u64>();
        }
        Ok(parts)
    }

    fn add(&mut self, line: u64) {
        let at = usize::try_from(line / 64).unwrap_or(usize::MAX);
        if let Some(word) = self.bits.get_mut(at) {
            *word |= 1 << (line % 64);
        }
    }

    fn has(&self, line: u64) -> bool {
        let at = usize::try_from(line / 64).unwrap_or(usize::MAX);
        self.bits.get(at).is_some_and(|word| word >> (line % 64) & 1 == 1)
    }

    /// The numbers of the lines, in parts that are read together.
    fn chunks(&self, lines: u64) -> Vec<Vec<u64>> {
        let numbers: Vec<u64> = (0..lines).filter(|line| self.has(*line)).collect();
        numbers.chunks(1_024).map(<[u64]>::to_vec).collect()
    }
}

/// Counts the runs of words of all lines that take part.
fn count(work: &Work, parts: &Participants, judge: &mut Judge) -> Result<(), Failure> {
    let sketcher = work.kept.sketcher();
    let documents = Documents::new(&work.ledger, &sketcher);
    for numbers in parts.chunks(work.ledger.count) {
        interrupt::check()?;
        let read: nearkin::Result<Vec<Original>> =
            numbers.par_iter().map(|number| documents.detailed(*number)).collect();
        read?.iter().for_each(|document| judge.count(document));
    }
    Ok(())
}

/// Judges the lines of consecutive ranks.
fn judge_chunk(
    work: &Work,
    (order, begin): (&Order, u64),
    parts: &Participants,
    judge: &mut Judge,
    (numbers, verdicts): (&[u64], &mut [Verdict]),
) -> Result<(), Failure> {
    let sketcher = work.kept.sketcher();
    let documents = Documents::new(&work.ledger, &sketcher);
    let own: Vec<usize> = (0..numbers.len()).filter(|at| parts.has(numbers[*at])).collect();
    let detailed = |at: &usize| {
        interrupt::check()?;
        Ok(documents.detailed(numbers[*at])?)
    };
    let read: Result<Vec<Original>, Failure> = own.par_iter().map(detailed).collect();
    let fetch = &mut |rank: u64| documents.detailed(order.line(rank)).map(Some);
    for (at, document) in own.into_iter().zip(read?) {
        interrupt::check()?;
        let rank = begin + at as u64;
        let Verdict::Dropped { of, equal, .. } = verdicts[at] else {
            judge.keep(rank, &document);
            continue;
        };
        let of_rank = rank_of(work, order, of)?;
        verdicts[at] = match judge.decide(rank, &document, of_rank, fetch)? {
            Judgement::Stands => continue,
            Judgement::CopyOf(copy) => order::verdict(order, Some(copy)),
            Judgement::Kept(apart) => {
                Verdict::Apart { of, equal, in_numbers: matches!(apart, Apart::Numbers) }
            }
        };
    }
    Ok(())
}

/// The rank of a line.
fn rank_of(work: &Work, order: &Order, line: u64) -> Result<u64, Failure> {
    let shingles = work.ledger.head(line).map_err(|error| work.failed(&error))?.shingles;
    Ok(order.rank(line, shingles))
}
