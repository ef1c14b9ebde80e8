//! `nearkin clusters`: prints groups of documents connected by similar pairs.
//!
//! This module prints and sorts. The library finds the clusters.

use std::cmp::Reverse;

use nearkin::{Cluster, Reader};
use serde::Serialize;

use crate::args::{Clusters, Order};
use crate::content::Reading;
use crate::ended::Ended;
use crate::failure::Failure;
use crate::input;
use crate::interrupt;
use crate::opened;
use crate::originals::Originals;
use crate::output::{self, Output, counted, grouped, lossy, visible};
use crate::pairs::unfinished;
use crate::progress::{Progress, Unit};
use crate::row_count::EqualRows;
use crate::time::{DAY_MS, day};

/// Maximum number of days listed per cluster. If documents were added on more days, a summary is
/// printed instead.
const DAYS_SHOWN_MAX: usize = 4;

/// A document of a cluster. The cluster is identified by the key of its representative.
#[derive(Serialize)]
struct ClusterObject<'a> {
    cluster: &'a str,
    key: &'a str,
    /// Similarity to the representative.
    similarity: f64,
    /// Time of insertion or last replacement, in milliseconds UTC.
    time: u64,
}

/// A cluster with the similarity of each document to the representative.
struct Measured {
    cluster: Cluster,
    similarities: Vec<f64>,
}

impl Measured {
    fn new(index: &Reader, cluster: Cluster) -> Result<Self, Failure> {
        let equal = EqualRows::of(index.params());
        let mut signatures = cluster.keys.iter().map(|key| index.signature(key));
        let first = signatures.next().transpose()?.flatten();
        let mut similarities = vec![1.0];
        for signature in signatures {
            // A snapshot contains every document of its clusters, so a signature can only be
            // missing through a bug.
            let rows = first.as_ref().zip(signature?.as_ref()).map(|(a, b)| equal.between(a, b));
            similarities.push(index.params().similarity(rows.unwrap_or(0)));
        }
        Ok(Self { cluster, similarities })
    }

    /// Mean similarity of the other documents to the representative.
    fn mean(&self) -> f64 {
        let others = &self.similarities[1..];
        others.iter().sum::<f64>() / others.len().max(1) as f64
    }
}

pub(crate) fn run(args: &Clusters, output: &mut Output) -> Result<Ended, Failure> {
    interrupt::listen();
    let index = opened::to_read(&args.index)?;
    opened::check_of_documents(index.params(), "clusters")?;
    let likeness =
        opened::likeness(index.params(), args.threshold, args.contained, Some(&args.exact));
    let alike = if args.exact.exact { likeness.connecting } else { likeness.sought };
    let originals = if args.exact.exact {
        let fields = input::fields_again(&args.exact, index.params())?;
        Some(Originals::new(Reading::new(index.sketcher(), fields), &args.exact, &args.rows)?)
    } else {
        None
    };
    let progress = Progress::start("clustering", Unit::Documents, Some(index.len()));
    let clusters = match &originals {
        None => index.clusters_with(alike, &mut progress.callback()),
        Some(originals) => {
            let fetch = &mut |key: &[u8]| Ok(originals.fetch(key));
            index.snapshot().exact_clusters(alike, fetch, &mut progress.callback())
        }
    };
    let clusters = clusters.map_err(|error| unfinished(error.into()))?;
    drop(progress);
    let (mut count, mut documents, mut sorted) = (0, 0, Vec::new());
    let limit = args.limit.unwrap_or(usize::MAX) as u64;
    for cluster in clusters {
        let cluster = cluster?;
        interrupt::check().map_err(unfinished)?;
        count += 1;
        documents += cluster.size();
        if args.sort.is_some() {
            sorted.push(cluster);
        } else if count <= limit {
            print(&Measured::new(&index, cluster)?, output)?;
        }
    }
    for measured in in_order(&index, args, sorted)? {
        print(&measured, output)?;
    }
    output.flush()?;
    output::note_limit(limit.min(count), count, "clusters");
    if !output.json() {
        output::note(format!(
            "{} of {}, of {} in all, linked by pairs {alike}",
            counted(count, "cluster"),
            counted(documents, "document"),
            grouped(index.len())
        ));
    }
    Ok(Ended::Well)
}

/// The first `limit` clusters in the requested order. Clusters of equal similarity are ordered by
/// size, clusters of equal size by key.
fn in_order(
    index: &Reader,
    args: &Clusters,
    mut clusters: Vec<Cluster>,
) -> Result<Vec<Measured>, Failure> {
    let limit = args.limit.unwrap_or(usize::MAX);
    let by_size = |one: &Cluster| (Reverse(one.size()), one.keys.first().cloned());
    clusters.sort_by_cached_key(by_size);
    if args.sort != Some(Order::Similarity) {
        clusters.truncate(limit);
    }
    let measured = clusters.into_iter().map(|cluster| {
        interrupt::check().map_err(unfinished)?;
        Measured::new(index, cluster)
    });
    let mut measured = measured.collect::<Result<Vec<_>, _>>()?;
    if args.sort == Some(Order::Similarity) {
        // The sort is stable: equally similar clusters stay ordered by size.
        measured.sort_by(|one, other| other.mean().total_cmp(&one.mean()));
        measured.truncate(limit);
    }
    Ok(measured)
}

/// Prints a cluster as a text block: the representative with size and dates, then each other
/// document with its similarity to the representative, then a blank line.
fn print(measured: &Measured, output: &mut Output) -> Result<(), Failure> {
    let Measured { cluster, similarities } = measured;
    let mut documents = cluster.keys.iter().zip(similarities);
    let Some((representative, _)) = documents.next() else { return Ok(()) };
    if output.json() {
        let name = &lossy(representative);
        let documents = cluster.keys.iter().zip(similarities).zip(&cluster.times);
        for ((key, similarity), time) in documents {
            let (similarity, time) = (*similarity, *time);
            output.object(&ClusterObject { cluster: name, key: &lossy(key), similarity, time })?;
        }
        return Ok(());
    }
    output.line(format_args!("{}  ({})", visible(representative), growth(cluster)))?;
    for (key, similarity) in documents {
        output.line(format_args!("  {similarity:.3}  {}", visible(key)))?;
    }
    output.line("")
}

/// The size of a cluster, and the days on which its documents were added.
fn growth(cluster: &Cluster) -> String {
    let size = counted(cluster.size(), "document");
    let days = cluster.growth(DAY_MS);
    match &days[..] {
        [(first, _)] => format!("{size} on {}", day(*first)),
        few if few.len() <= DAYS_SHOWN_MAX => {
            let each = few.iter().map(|(begin, count)| format!("{count} on {}", day(*begin)));
            format!("{size}: {}", each.collect::<Vec<_>>().join(", "))
        }
        many => {
            let (first, last) = (day(cluster.first_time()), day(cluster.last_time()));
            let most = many.iter().map(|(_, count)| *count).max().unwrap_or(0);
            format!("{size}, {first} to {last}, up to {} a day", grouped(most))
        }
    }
}
