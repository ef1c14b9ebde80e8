//! `nearkin clusters`: prints groups of documents connected by similar pairs.
//!
//! This module prints and sorts. The library finds the clusters.

use std::cmp::Reverse;
use std::collections::HashSet;

use nearkin::{Alike, Cluster, Link, Scheme, SimilarityText, Snapshot};
use serde::Serialize;

use super::{copied, margin};
use crate::args::Clusters;
use nearkin_kit::args::conditions::Likeness;
use nearkin_kit::args::values::ClusterOrder;
use nearkin_kit::ended::Ended;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::opened;
use nearkin_kit::input::originals::Originals;
use nearkin_kit::interrupt;
use nearkin_kit::output::progress::{Progress, Unit};
use nearkin_kit::output::{self, JsonBytes, Output, counted, grouped, visible};
use nearkin_kit::time::{DAY_MS, day};

/// Maximum number of days listed per cluster. If documents were added on more days, a summary is
/// printed instead.
const DAYS_SHOWN_MAX: usize = 4;

/// A document of a cluster. The cluster is identified by the key of its representative.
#[derive(Serialize)]
struct ClusterObject<'a> {
    cluster: JsonBytes<'a>,
    key: JsonBytes<'a>,
    /// Similarity to the representative.
    similarity: f64,
    /// With `--exact`: the same number, if it is exact. It is left out for a document that is
    /// missing or has changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    exact: Option<f64>,
    /// Whether the document and the representative are a pair; otherwise a chain connects them.
    direct: bool,
    /// The least similarity of a document of the cluster to the representative.
    least: f64,
    /// Time of insertion or last replacement, in milliseconds UTC.
    time: u64,
}

/// A cluster, and how each document is related to the representative.
struct LinkedCluster {
    cluster: Cluster,
    links: Vec<Link>,
}

impl LinkedCluster {
    /// Mean similarity of the other documents to the representative.
    fn mean(&self) -> f64 {
        let others = self.links.get(1..).unwrap_or_default();
        others.iter().map(|link| link.similarity).sum::<f64>() / others.len().max(1) as f64
    }

    /// The least similarity to the representative: the estimate, if an exact one equals it.
    fn least(&self) -> SimilarityText {
        let order = |one: &&Link, other: &&Link| {
            let similarity = one.similarity.total_cmp(&other.similarity);
            similarity.then(one.is_exact.cmp(&other.is_exact))
        };
        let least = self.links.iter().min_by(order);
        least.map_or(SimilarityText::Exact(1.0), Link::similarity_text)
    }

    /// The number of documents that only a chain connects with the representative.
    fn chained(&self) -> u64 {
        self.links.iter().filter(|link| !link.is_direct).count() as u64
    }
}

/// Measures clusters.
struct Measuring<'a> {
    snapshot: Snapshot,
    alike: Alike,
    /// With `--exact`: the documents.
    originals: Option<&'a Originals>,
    /// With `--direct`: leave out what only a chain connects with the representative.
    direct: bool,
}

impl Measuring<'_> {
    /// `None` if nothing is left of the cluster but the representative.
    fn measure(&self, cluster: Cluster) -> Result<Option<LinkedCluster>, Failure> {
        let mut links = match self.originals {
            None => self.snapshot.links(&cluster, self.alike)?,
            Some(originals) => {
                let fetch = &mut |key: &[u8]| Ok(originals.fetch(key));
                self.snapshot.exact_links(&cluster, self.alike, fetch)?
            }
        };
        let mut cluster = cluster;
        if self.direct {
            let is_direct: Vec<bool> = links.iter().map(|link| link.is_direct).collect();
            let mut keep = is_direct.iter();
            cluster.keys.retain(|_| keep.next() == Some(&true));
            let mut keep = is_direct.iter();
            cluster.times.retain(|_| keep.next() == Some(&true));
            links.retain(|link| link.is_direct);
        }
        Ok((links.len() > 1).then_some(LinkedCluster { cluster, links }))
    }
}

pub(crate) fn run(args: &Clusters, output: &mut Output) -> Result<Ended, Failure> {
    args.conditions.selection.check()?;
    interrupt::listen();
    let index = opened::to_read(&args.index)?;
    if index.params().scheme() == Scheme::Winnow {
        return copied::clusters(args, &index, output);
    }
    opened::check_of_documents(index.params(), "clusters")?;
    let likeness = Likeness::for_index(index.params(), &args.conditions, &args.exact);
    let alike = if args.exact.exact { likeness.connecting } else { likeness.sought };
    let originals = if args.exact.exact {
        Some(args.exact.originals(index.params(), index.sketcher(), &args.rows)?)
    } else {
        None
    };
    let conditions = args.conditions.conditions(alike);
    let progress = Progress::start("clustering", Unit::Documents, Some(index.len()));
    let mut unread = HashSet::new();
    let clusters = match &originals {
        None => index.clusters_with(conditions, &mut progress.callback()),
        Some(originals) => {
            let fetch = &mut |key: &[u8]| {
                let original = originals.fetch(key);
                if original.is_none() {
                    unread.insert(key.to_vec());
                }
                Ok(original)
            };
            index.snapshot().exact_clusters(conditions, fetch, &mut progress.callback())
        }
    };
    let clusters = clusters.map_err(|error| Failure::on_results(error.into()))?;
    let blurred = clusters.margin();
    drop(progress);
    let snapshot = index.snapshot();
    let originals = originals.as_ref();
    let measuring = Measuring { snapshot, alike, originals, direct: args.direct };
    let (mut count, mut documents, mut sorted) = (0, 0, Vec::new());
    let limit = args.limit.unwrap_or(usize::MAX) as u64;
    for cluster in clusters {
        let cluster = cluster?;
        interrupt::check().map_err(Failure::on_results)?;
        count += 1;
        documents += cluster.size();
        if args.sort.is_some() {
            sorted.push(cluster);
        } else if count <= limit
            && let Some(measured) = measuring.measure(cluster)?
        {
            print(&measured, args.exact.exact, output)?;
        }
    }
    for measured in in_order(&measuring, args, sorted)? {
        print(&measured, args.exact.exact, output)?;
    }
    output.flush()?;
    output::note_limit(limit.min(count), count, "clusters");
    note_unread(unread.len() as u64);
    margin::warn_if_blurred(blurred, "--exact");
    if !output.json() {
        let alike = if args.exact.exact { alike.to_string() } else { format!("{alike:#}") };
        output::note(format!(
            "{} of {}, of {} in all, linked by pairs {alike}",
            counted(count, "cluster"),
            counted(documents, "document"),
            grouped(index.len())
        ));
    }
    Ok(Ended::Well)
}

/// Says how many documents could not be compared, if any.
fn note_unread(unread: u64) {
    if unread > 0 {
        output::note(format!(
            "{} could not be compared (missing, or without content) and count as similar to none: \
             name the files with --from, or run the command in the folder that the keys start from",
            counted(unread, "document")
        ));
    }
}

/// The first `limit` clusters in the requested order. Clusters of equal similarity are ordered by
/// size, clusters of equal size by key.
fn in_order(
    measuring: &Measuring<'_>,
    args: &Clusters,
    mut clusters: Vec<Cluster>,
) -> Result<Vec<LinkedCluster>, Failure> {
    let limit = args.limit.unwrap_or(usize::MAX);
    let by_size = |one: &Cluster| (Reverse(one.size()), one.keys.first().cloned());
    clusters.sort_by_cached_key(by_size);
    if args.sort != Some(ClusterOrder::Similarity) {
        clusters.truncate(limit);
    }
    let measured = clusters.into_iter().filter_map(|cluster| {
        let measure = || {
            interrupt::check().map_err(Failure::on_results)?;
            measuring.measure(cluster)
        };
        measure().transpose()
    });
    let mut measured = measured.collect::<Result<Vec<_>, _>>()?;
    if args.sort == Some(ClusterOrder::Similarity) {
        // The sort is stable: equally similar clusters stay ordered by size.
        measured.sort_by(|one, other| other.mean().total_cmp(&one.mean()));
        measured.truncate(limit);
    }
    Ok(measured)
}

/// Prints a cluster as a text block: the representative with size, dates and the least similarity
/// to it, then each other document with its similarity to the representative, then a blank line.
/// `is_exact`: documents were compared.
fn print(measured: &LinkedCluster, is_exact: bool, output: &mut Output) -> Result<(), Failure> {
    let LinkedCluster { cluster, links } = measured;
    let mut documents = cluster.keys.iter().zip(links);
    let Some((representative, _)) = documents.next() else { return Ok(()) };
    if output.json() {
        let name = JsonBytes(representative);
        let documents = cluster.keys.iter().zip(links).zip(&cluster.times);
        let least = measured.least().value();
        for ((key, link), time) in documents {
            output.object(&ClusterObject {
                cluster: name,
                key: JsonBytes(key),
                similarity: link.similarity,
                exact: (is_exact && link.is_exact).then_some(link.similarity),
                direct: link.is_direct,
                least,
                time: *time,
            })?;
        }
        return Ok(());
    }
    let chain = match measured.chained() {
        0 => String::new(),
        chained => format!("; {} similar to others only", grouped(chained)),
    };
    let (first, growth, least) = (visible(representative), growth(cluster), measured.least());
    output.line(format_args!("{first}  ({growth}; least {least}{chain})"))?;
    for (key, link) in documents {
        let mark = if link.is_direct { "" } else { "  (similar to others only)" };
        output.line(format_args!("  {}  {}{mark}", link.similarity_text(), visible(key)))?;
    }
    output.line("")
}

/// The size of a cluster, and the days on which its documents were added.
fn growth(cluster: &Cluster) -> String {
    let size = counted(cluster.size(), "document");
    let days = cluster.growth(DAY_MS);
    match &days[..] {
        [(first, _)] => format!("{size} on {}", day(*first)),
        days if days.len() <= DAYS_SHOWN_MAX => {
            let each = days.iter().map(|(begin, count)| format!("{count} on {}", day(*begin)));
            format!("{size}: {}", each.collect::<Vec<_>>().join(", "))
        }
        many => {
            let (first, last) = (day(cluster.first_time()), day(cluster.last_time()));
            let most = many.iter().map(|(_, count)| *count).max().unwrap_or(0);
            format!("{size}, {first} to {last}, up to {} a day", grouped(most))
        }
    }
}
