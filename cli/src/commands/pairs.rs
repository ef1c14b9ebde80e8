//! `nearkin pairs`: prints all pairs of similar documents.
//!
//! This module prints and sorts. The library finds the pairs.

use std::cmp::Reverse;

use nearkin::{Alike, Collapsed, Containment, Exact, Pair, Reader};
use serde::Serialize;

use crate::args::{Likeness, Pairs};
use crate::ended::Ended;
use crate::failure::Failure;
use crate::input::content::Reading;
use crate::input::documents as input;
use crate::input::opened;
use crate::input::originals;
use crate::input::originals::{ExactFields, Originals};
use crate::interrupt;
use crate::output::progress::{Progress, Unit};
use crate::output::table::{Align, Table};
use crate::output::{self, Output, counted, grouped, lossy, visible};

#[derive(Serialize)]
struct PairObject<'a> {
    a: &'a str,
    b: &'a str,
    similarity: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    contained: Option<f64>,
    #[serde(flatten)]
    exact: ExactFields,
}

pub(crate) fn pairs(args: &Pairs, output: &mut Output) -> Result<Ended, Failure> {
    interrupt::listen();
    let index = opened::to_read(&args.index)?;
    opened::check_of_documents(index.params(), "pairs")?;
    let likeness =
        opened::likeness(index.params(), args.threshold, args.contained, Some(&args.exact));
    let alike = likeness.sought;
    let originals = if args.exact.exact {
        let fields = input::fields_again(&args.exact, index.params())?;
        Some(Originals::new(Reading::new(index.sketcher(), fields), &args.exact, &args.rows)?)
    } else {
        None
    };
    let doing = "finding pairs";
    let total = Some(index.len());
    let progress = if args.sort {
        Progress::start(doing, Unit::Documents, total)
    } else {
        Progress::unless_results_are_on_the_terminal(doing, Unit::Documents, total)
    };
    if args.collapse {
        return collapsed(args, &index, alike, &progress, output);
    }
    let mut found = index.pairs(alike)?;
    let mut printer = Printer::new(&index, originals.as_ref(), likeness, output);
    let mut sorted = Vec::new();
    while let Some(pair) = found.next() {
        progress.reached(found.progress().done);
        interrupt::check().map_err(unfinished)?;
        if args.sort {
            sorted.push(pair?);
        } else {
            printer.pair(&pair?, output)?;
        }
    }
    drop(progress);
    sorted.sort_unstable_by(|left: &Pair, right| {
        let similarity = right.similarity.total_cmp(&left.similarity);
        similarity.then_with(|| left.a.cmp(&right.a)).then_with(|| left.b.cmp(&right.b))
    });
    for pair in &sorted {
        printer.pair(pair, output)?;
    }
    let count = printer.finish(output)?;
    if !output.json() {
        let pairs = counted(count, "pair");
        let alike = if likeness.is_decided_later { likeness.verified } else { alike };
        output::note(format!("{pairs} {alike}"));
    }
    Ok(Ended::Well)
}

/// Adds the advice for an interruption: pairs are only printed and not stored, so the next run
/// starts from the beginning.
pub(crate) fn unfinished(failure: Failure) -> Failure {
    failure.advise_if_interrupted("the results are incomplete; run the command again")
}

#[derive(Serialize)]
struct CrowdObject<'a> {
    crowd: &'a str,
    count: u64,
}

#[derive(Serialize)]
struct CollapsedObject<'a> {
    a: &'a str,
    b: &'a str,
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
    alike: Alike,
    progress: &Progress,
    output: &mut Output,
) -> Result<Ended, Failure> {
    let mut found = index.pairs(alike)?.collapse()?;
    let columns = [("similarity", Align::Right), ("a", Align::Left), ("b", Align::Left)];
    let mut table = (!output.json()).then(|| Table::new(columns));
    let (mut sorted, mut crowds, mut pairs) = (Vec::new(), 0, 0);
    while let Some(one) = found.next() {
        progress.reached(found.progress().done);
        interrupt::check().map_err(unfinished)?;
        let one = one?;
        match one {
            Collapsed::Crowd { .. } => crowds += 1,
            Collapsed::Pair { .. } => pairs += 1,
        }
        if args.sort {
            sorted.push(one);
        } else {
            print_collapsed(&one, &mut table, output)?;
        }
    }
    let order = |one: &Collapsed| match one {
        Collapsed::Crowd { key, .. } => (0, Reverse(0), key.clone(), Vec::new()),
        Collapsed::Pair { pair, .. } => {
            (1, Reverse(pair.equal_rows), pair.a.clone(), pair.b.clone())
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
    if !output.json() {
        let (crowds, pairs) = (counted(crowds, "crowd"), counted(pairs, "pair"));
        let what = format!("{crowds} of equal signatures, {pairs} of others");
        output::note(format!("{what}, {alike}"));
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
            table.row(["1.000".to_owned(), name(key, *count), others], output)
        }
        (Collapsed::Crowd { key, count, .. }, None) => {
            output.object(&CrowdObject { crowd: &lossy(key), count: *count })
        }
        (Collapsed::Pair { pair, a_count, b_count, .. }, Some(table)) => {
            let (a, b) = (name(&pair.a, *a_count), name(&pair.b, *b_count));
            table.row([format!("{:.3}", pair.similarity), a, b], output)
        }
        (Collapsed::Pair { pair, a_count, b_count, .. }, None) => output.object(&CollapsedObject {
            a: &lossy(&pair.a),
            b: &lossy(&pair.b),
            similarity: pair.similarity,
            contained: pair.containment.map(|told| told.estimate),
            a_count: *a_count,
            b_count: *b_count,
        }),
    }
}

/// The estimated containment, as a table cell.
pub(crate) fn contained(told: Option<Containment>) -> String {
    told.map_or_else(String::new, |told| {
        format!("{:.2}+-{:.2}", told.estimate, told.standard_error)
    })
}

/// Prints pairs one by one, and counts them.
struct Printer<'a> {
    index: &'a Reader,
    /// With `--exact`: where the documents are read again.
    originals: Option<&'a Originals>,
    verified: Alike,
    rows: Rows,
    count: u64,
}

enum Rows {
    Objects,
    Estimates(Table<3>),
    Exact(Table<4>),
    Contained(Table<4>),
    ExactlyContained(Table<5>),
}

impl<'a> Printer<'a> {
    fn new(
        index: &'a Reader,
        originals: Option<&'a Originals>,
        likeness: Likeness,
        output: &Output,
    ) -> Self {
        let [similarity, a, b] =
            [("similarity", Align::Right), ("a", Align::Left), ("b", Align::Left)];
        let (exact, contained) = (("exact", Align::Right), ("contained", Align::Right));
        let rows = match (originals, likeness.contained) {
            _ if output.json() => Rows::Objects,
            (None, Some(_)) => Rows::Contained(Table::new([contained, similarity, a, b])),
            (None, None) => Rows::Estimates(Table::new([similarity, a, b])),
            (Some(_), Some(_)) => {
                Rows::ExactlyContained(Table::new([contained, exact, similarity, a, b]))
            }
            (Some(_), None) => Rows::Exact(Table::new([exact, similarity, a, b])),
        };
        Self { index, originals, verified: likeness.verified, rows, count: 0 }
    }

    fn pair(&mut self, pair: &Pair, output: &mut Output) -> Result<(), Failure> {
        let exact = match self.originals {
            None => None,
            Some(originals) => {
                let fetch = &mut |key: &[u8]| Ok(originals.fetch(key));
                let snapshot = self.index.snapshot();
                Some(snapshot.exact_pair(pair, self.verified, fetch)?)
            }
        };
        if exact == Some(Exact::Below) {
            return Ok(());
        }
        self.count += 1;
        let similarity = pair.similarity;
        let [estimate, a, b] = [format!("{similarity:.3}"), visible(&pair.a), visible(&pair.b)];
        match &mut self.rows {
            Rows::Estimates(table) => table.row([estimate, a, b], output),
            Rows::Contained(table) => {
                table.row([contained(pair.containment), estimate, a, b], output)
            }
            Rows::Exact(table) => {
                let exact = exact.map_or_else(String::new, originals::cell);
                table.row([exact, estimate, a, b], output)
            }
            Rows::ExactlyContained(table) => {
                let contained = originals::contained_cell(exact);
                let exact = exact.map_or_else(String::new, originals::cell);
                table.row([contained, exact, estimate, a, b], output)
            }
            Rows::Objects => {
                let exact = ExactFields::of(exact);
                let (a, b) = (&lossy(&pair.a), &lossy(&pair.b));
                let contained = pair.containment.map(|told| told.estimate);
                output.object(&PairObject { a, b, similarity, contained, exact })
            }
        }
    }

    fn finish(self, output: &mut Output) -> Result<u64, Failure> {
        match self.rows {
            Rows::Objects => {}
            Rows::Estimates(table) => table.finish(output)?,
            Rows::Exact(table) | Rows::Contained(table) => table.finish(output)?,
            Rows::ExactlyContained(table) => table.finish(output)?,
        }
        output.flush()?;
        Ok(self.count)
    }
}
