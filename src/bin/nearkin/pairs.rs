//! `nearkin pairs` and `nearkin clusters`: what in an index is like what.
//!
//! Knows how they are printed and sorted, not how they are found.

use nearkin::Pair;
use serde::Serialize;

use crate::Ended;
use crate::args::{Clusters, Pairs};
use crate::failure::Failure;
use crate::opened;
use crate::output::{self, Output, counted, grouped, lossy, visible};
use crate::progress::{Progress, Unit};
use crate::table::{Align, Table};

#[derive(Serialize)]
struct PairObject<'a> {
    a: &'a str,
    b: &'a str,
    similarity: f64,
}

pub(crate) fn pairs(args: &Pairs, output: &mut Output) -> Result<Ended, Failure> {
    let index = opened::to_read(&args.index)?;
    opened::warn_if_missed(index.params(), args.threshold);
    let threshold = args.threshold.unwrap_or_else(|| index.params().threshold());
    let doing = "finding pairs";
    let total = Some(index.len());
    let progress = if args.sort {
        Progress::start(doing, Unit::Documents, total)
    } else {
        Progress::unless_results_are_on_the_terminal(doing, Unit::Documents, total)
    };
    let mut found = index.pairs(threshold)?;
    let mut printer = Printer::new(output);
    let mut sorted = Vec::new();
    while let Some(pair) = found.next() {
        progress.reached(found.progress().done);
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
        output::note(format!("{pairs} of similarity {threshold} and above"));
    }
    Ok(Ended::Well)
}

/// Prints pairs as they come.
struct Printer {
    /// None for JSON.
    table: Option<Table<3>>,
    count: u64,
}

impl Printer {
    fn new(output: &Output) -> Self {
        let columns = [("similarity", Align::Right), ("a", Align::Left), ("b", Align::Left)];
        Self { table: (!output.json()).then(|| Table::new(columns)), count: 0 }
    }

    fn pair(&mut self, pair: &Pair, output: &mut Output) -> Result<(), Failure> {
        self.count += 1;
        let similarity = pair.similarity;
        match &mut self.table {
            Some(table) => {
                let cells = [format!("{similarity:.3}"), visible(&pair.a), visible(&pair.b)];
                table.row(cells, output)
            }
            None => {
                output.object(&PairObject { a: &lossy(&pair.a), b: &lossy(&pair.b), similarity })
            }
        }
    }

    fn finish(self, output: &mut Output) -> Result<u64, Failure> {
        if let Some(table) = self.table {
            table.finish(output)?;
        }
        output.flush()?;
        Ok(self.count)
    }
}

/// One document of a cluster, which is named by its representative.
#[derive(Serialize)]
struct ClusterObject<'a> {
    cluster: &'a str,
    key: &'a str,
}

pub(crate) fn clusters(args: &Clusters, output: &mut Output) -> Result<Ended, Failure> {
    let index = opened::to_read(&args.index)?;
    opened::warn_if_missed(index.params(), args.threshold);
    let threshold = args.threshold.unwrap_or_else(|| index.params().threshold());
    let progress = Progress::start("clustering", Unit::Documents, Some(index.len()));
    let clusters = index.clusters_with(threshold, &mut progress.callback())?;
    drop(progress);
    let (mut count, mut documents) = (0, 0);
    for cluster in clusters {
        let keys = cluster?.keys;
        count += 1;
        documents += keys.len() as u64;
        print_cluster(&keys, output)?;
    }
    output.flush()?;
    if !output.json() {
        output::note(format!(
            "{} of {}, of {} in all, connected at similarity {threshold} and above",
            counted(count, "cluster"),
            counted(documents, "document"),
            grouped(index.len())
        ));
    }
    Ok(Ended::Well)
}

/// For people a block: the representative, below it the others, and a blank line.
fn print_cluster(keys: &[Vec<u8>], output: &mut Output) -> Result<(), Failure> {
    let Some((representative, others)) = keys.split_first() else { return Ok(()) };
    if output.json() {
        let cluster = &lossy(representative);
        return keys
            .iter()
            .try_for_each(|key| output.object(&ClusterObject { cluster, key: &lossy(key) }));
    }
    output.line(visible(representative))?;
    for key in others {
        output.line(format_args!("  {}", visible(key)))?;
    }
    output.line("")
}
