//! `nearkin pairs`: prints all pairs of similar documents.
//!
//! This module prints and sorts. The library finds the pairs.

use std::cmp::{Ordering, Reverse};

use nearkin::{Alike, Collapsed, Exact, Margin, Overlap, Pair, Reader, Scheme, SimilarityText};
use serde::Serialize;

use super::{copied, margin};
use crate::args::Pairs;
use nearkin_kit::args::conditions::Likeness;
use nearkin_kit::args::values::PairColumn;
use nearkin_kit::ended::Ended;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::opened;
use nearkin_kit::input::originals;
use nearkin_kit::input::originals::{ExactFields, Originals};
use nearkin_kit::interrupt;
use nearkin_kit::output::progress::{Progress, Unit};
use nearkin_kit::output::table::{self, Align, Table};
use nearkin_kit::output::{self, JsonBytes, Output, counted, grouped, visible};

#[derive(Serialize)]
struct PairObject<'a> {
    a: JsonBytes<'a>,
    b: JsonBytes<'a>,
    similarity: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    contained: Option<f64>,
    #[serde(flatten)]
    exact: ExactFields,
}

pub(crate) fn pairs(args: &Pairs, output: &mut Output) -> Result<Ended, Failure> {
    args.conditions.selection.check()?;
    interrupt::listen();
    let index = opened::to_read(&args.index)?;
    if index.params().scheme() == Scheme::Winnow {
        return copied::pairs(args, &index, output);
    }
    opened::check_of_documents(index.params(), "pairs")?;
    let likeness = Likeness::for_index(index.params(), &args.conditions, &args.exact);
    let alike = likeness.sought;
    let originals = if args.exact.exact {
        Some(args.exact.originals(index.params(), index.sketcher(), &args.rows)?)
    } else {
        None
    };
    let doing = "finding pairs";
    let total = Some(index.len());
    let progress = if args.sort.is_some() {
        Progress::start(doing, Unit::Documents, total)
    } else {
        Progress::unless_results_are_on_the_terminal(doing, Unit::Documents, total)
    };
    if args.collapse {
        return collapsed(args, &index, likeness, &progress, output);
    }
    let mut found = search(args, &index, alike)?;
    let mut printer = Printer::new(&index, originals.as_ref(), likeness, output);
    let mut sorted = Vec::new();
    let limit = args.limit.unwrap_or(u64::MAX);
    while let Some(pair) = found.next() {
        progress.reached(found.progress().done);
        interrupt::check().map_err(Failure::on_results)?;
        if let Some(by) = args.sort {
            sorted.extend(printer.ranked(pair?, by)?);
        } else if printer.count < limit {
            printer.pair(&pair?, output)?;
        } else {
            break;
        }
    }
    drop(progress);
    sorted.sort_unstable_by(Ranked::compare);
    for Ranked { pair, exact, .. } in &sorted {
        match exact {
            _ if printer.count >= limit => break,
            Some(exact) => printer.print(pair, Some(*exact), output)?,
            None => printer.pair(pair, output)?,
        }
    }
    let (count, unverified) = printer.finish(output)?;
    note_unverified(unverified);
    warn_if_blurred(found.margin(), likeness);
    if !output.json() {
        let more = if count == limit { ", and perhaps more" } else { "" };
        let count = if likeness.is_decided_later { count - unverified } else { count };
        output::note(format!("{} {}{more}", counted(count, "pair"), likeness.and_above()));
    }
    Ok(Ended::Well)
}

fn note_unverified(unverified: u64) {
    if unverified > 0 {
        let pairs = counted(unverified, "pair");
        output::note(format!(
            "{pairs} could not be compared: a document is missing or has changed; name the files \
             with --from, or run the command in the folder that the keys start from"
        ));
    }
}

fn warn_if_blurred(margin: Margin, likeness: Likeness) {
    margin::warn_if_blurred(margin, &format!("--exact --at-least {}", likeness.threshold));
}

fn search(args: &Pairs, index: &Reader, alike: Alike) -> Result<nearkin::Pairs, Failure> {
    let conditions = args.conditions.conditions(alike).cancel_if(interrupt::came);
    index.pairs(conditions).map_err(|error| Failure::on_results(error.into()))
}

#[derive(Serialize)]
struct CrowdObject<'a> {
    crowd: JsonBytes<'a>,
    count: u64,
}

#[derive(Serialize)]
struct CollapsedObject<'a> {
    a: JsonBytes<'a>,
    b: JsonBytes<'a>,
    similarity: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    contained: Option<f64>,
    a_count: u64,
    b_count: u64,
}

/// Prints pairs with documents of equal signatures merged into one crowd.
fn collapsed(
    args: &Pairs,
    index: &Reader,
    likeness: Likeness,
    progress: &Progress,
    output: &mut Output,
) -> Result<Ended, Failure> {
    let found = search(args, index, likeness.sought)?.collapse();
    interrupt::check().map_err(Failure::on_results)?;
    let mut found = found?;
    let columns = [("similarity", Align::Right), ("a", Align::Left), ("b", Align::Left)];
    let mut table = (!output.json()).then(|| Table::new(columns));
    let (mut sorted, mut crowds, mut pairs) = (Vec::new(), 0, 0);
    while let Some(one) = found.next() {
        progress.reached(found.progress().done);
        interrupt::check().map_err(Failure::on_results)?;
        let one = one?;
        match one {
            Collapsed::Crowd { .. } => crowds += 1,
            Collapsed::Pair { .. } => pairs += 1,
        }
        if args.sort.is_some() {
            sorted.push(one);
        } else {
            print_collapsed(&one, &mut table, output)?;
        }
    }
    let order = |one: &Collapsed| match one {
        Collapsed::Crowd { key, .. } => (0, Reverse(0), key.clone(), Vec::new()),
        Collapsed::Pair { pair, .. } => {
            // The bits of numbers that are not negative have the order of the numbers.
            let rank = column(pair, None, args.sort.unwrap_or(PairColumn::Similarity)).to_bits();
            (1, Reverse(rank), pair.a.clone(), pair.b.clone())
        }
    };
    sorted.sort_by_cached_key(order);
    for one in &sorted {
        print_collapsed(one, &mut table, output)?;
    }
    if let Some(table) = table {
        table.finish(output)?;
    }
    output.flush()?;
    warn_if_blurred(found.margin(), likeness);
    if !output.json() {
        let (crowds, pairs) = (counted(crowds, "crowd"), counted(pairs, "pair"));
        let what = format!("{crowds} of equal signatures, {pairs} of others");
        output::note(format!("{what}, {}", likeness.and_above()));
    }
    Ok(Ended::Well)
}

fn print_collapsed(
    one: &Collapsed,
    table: &mut Option<Table<3>>,
    output: &mut Output,
) -> Result<(), Failure> {
    let name = |key: &[u8], count: u64| match count {
        1 => visible(key),
        _ => format!("{} ({})", visible(key), grouped(count)),
    };
    match (one, table) {
        (Collapsed::Crowd { key, count, .. }, Some(table)) => {
            let others = format!("and {} with the same signature", grouped(count - 1));
            let similarity = SimilarityText::Estimate(1.0).to_string();
            table.row([similarity, name(key, *count), others], output)
        }
        (Collapsed::Crowd { key, count, .. }, None) => {
            output.object(&CrowdObject { crowd: JsonBytes(key), count: *count })
        }
        (Collapsed::Pair { pair, a_count, b_count, .. }, Some(table)) => {
            let (a, b) = (name(&pair.a, *a_count), name(&pair.b, *b_count));
            let similarity = SimilarityText::Estimate(pair.similarity).to_string();
            table.row([similarity, a, b], output)
        }
        (Collapsed::Pair { pair, a_count, b_count, .. }, None) => output.object(&CollapsedObject {
            a: JsonBytes(&pair.a),
            b: JsonBytes(&pair.b),
            similarity: pair.similarity,
            contained: pair.containment.map(|containment| containment.estimate),
            a_count: *a_count,
            b_count: *b_count,
        }),
    }
}

/// The value of a pair in a column. If the documents were compared, -1 where that was not possible.
fn column(pair: &Pair, exact: Option<Exact>, by: PairColumn) -> f64 {
    match (by, exact) {
        (PairColumn::Similarity, _) | (PairColumn::Exact, None) => pair.similarity,
        (PairColumn::Contained, None) => pair.containment.map_or(0.0, |one| one.estimate.max(0.0)),
        (PairColumn::Contained, Some(Exact::Contained(Overlap { containment, .. }))) => containment,
        (
            PairColumn::Exact,
            Some(Exact::Similarity(similarity) | Exact::Contained(Overlap { similarity, .. })),
        ) => similarity,
        _ => -1.0,
    }
}

/// A pair that waits to be sorted.
struct Ranked {
    rank: f64,
    pair: Pair,
    /// The result of comparing the documents, if the rank depends on it.
    exact: Option<Exact>,
}

impl Ranked {
    /// Orders by rank, highest first, then by key.
    fn compare(&self, other: &Self) -> Ordering {
        let rank = other.rank.total_cmp(&self.rank);
        rank.then_with(|| self.pair.a.cmp(&other.pair.a))
            .then_with(|| self.pair.b.cmp(&other.pair.b))
    }
}

/// Prints pairs one by one, and counts them.
struct Printer<'a> {
    index: &'a Reader,
    /// With `--exact`: where the documents are read again.
    originals: Option<&'a Originals>,
    verified: Alike,
    /// `None` for output as JSON.
    table: Option<Table<5>>,
    count: u64,
    /// Printed pairs that could not be compared, because a document is missing or has changed.
    unverified: u64,
}

impl<'a> Printer<'a> {
    fn new(
        index: &'a Reader,
        originals: Option<&'a Originals>,
        likeness: Likeness,
        output: &Output,
    ) -> Self {
        let columns = [
            (likeness.contained.is_some(), ("contained", Align::Right)),
            (originals.is_some(), ("exact", Align::Right)),
            (true, ("similarity", Align::Right)),
            (true, ("a", Align::Left)),
            (true, ("b", Align::Left)),
        ];
        let table = (!output.json()).then(|| Table::of_shown(columns));
        Self { index, originals, verified: likeness.verified, table, count: 0, unverified: 0 }
    }

    /// Compares the documents of a pair, with `--exact`.
    fn exact(&self, pair: &Pair) -> Result<Option<Exact>, Failure> {
        let Some(originals) = self.originals else { return Ok(None) };
        let fetch = &mut |key: &[u8]| Ok(originals.fetch(key));
        Ok(Some(self.index.snapshot().exact_pair(pair, self.verified, fetch)?))
    }

    /// A pair to be sorted. Documents are compared now only if the rank depends on it: otherwise
    /// only those that are printed are compared. `None` if the documents are not similar enough.
    fn ranked(&self, pair: Pair, by: PairColumn) -> Result<Option<Ranked>, Failure> {
        let exact = if by == PairColumn::Similarity { None } else { self.exact(&pair)? };
        let rank = column(&pair, exact, by);
        Ok((exact != Some(Exact::Below)).then_some(Ranked { rank, pair, exact }))
    }

    fn pair(&mut self, pair: &Pair, output: &mut Output) -> Result<(), Failure> {
        let exact = self.exact(pair)?;
        if exact == Some(Exact::Below) {
            return Ok(());
        }
        self.print(pair, exact, output)
    }

    fn print(
        &mut self,
        pair: &Pair,
        exact: Option<Exact>,
        output: &mut Output,
    ) -> Result<(), Failure> {
        self.count += 1;
        self.unverified += u64::from(matches!(exact, Some(Exact::Missing | Exact::Stale)));
        let similarity = pair.similarity;
        let Some(table) = &mut self.table else {
            let (a, b) = (JsonBytes(&pair.a), JsonBytes(&pair.b));
            let contained = pair.containment.map(|containment| containment.estimate);
            let exact = ExactFields::new(exact);
            return output.object(&PairObject { a, b, similarity, contained, exact });
        };
        let contained = match exact {
            Some(_) => originals::contained_cell(exact),
            None => table::contained(pair.containment),
        };
        let exact = exact.map_or_else(String::new, originals::cell);
        let (a, b) = (visible(&pair.a), visible(&pair.b));
        let similarity = SimilarityText::Estimate(similarity).to_string();
        table.row([contained, exact, similarity, a, b], output)
    }

    /// The number of pairs, and how many of them could not be compared.
    fn finish(self, output: &mut Output) -> Result<(u64, u64), Failure> {
        if let Some(table) = self.table {
            table.finish(output)?;
        }
        output.flush()?;
        Ok((self.count, self.unverified))
    }
}
