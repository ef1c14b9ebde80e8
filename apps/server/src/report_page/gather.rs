//! Collects the data of a page from a snapshot of the index.
//!
//! The counts cover the whole index. The parts that the page shows are bounded here.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use nearkin::{Cluster, Collapsed, Conditions, Document, Params, Scheme, Shingles, Snapshot};

use super::data::{
    ClusterShown, Curve, Data, DocumentShown, Growth, PairCounts, Shown, Size, TextState, Totals,
};
use super::folders::Folders;
use super::links;
use super::settings::PageSettings;
use super::texts;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::opened;
use nearkin_kit::input::originals::Originals;
use nearkin_kit::output::progress::{Progress, Unit};
use nearkin_kit::output::visible;

/// Approximate number of documents on a page. They are divided among its clusters.
const DOCUMENTS_MAX: usize = 30_000;
/// Maximum number of documents shown per cluster: [`DOCUMENTS_MAX`] divided by the number of
/// clusters, but not below `MEMBERS_MIN` and not above `MEMBERS_MAX`.
const MEMBERS_MIN: usize = 3;
const MEMBERS_MAX: usize = 30;
/// Maximum number of characters shown per key.
const KEY_CHARACTERS_MAX: usize = 240;
/// Maximum number of pairs visited; all pairs between two groups of equal signatures are visited as
/// one. The limit is needed because thousands of documents that are similar, but not exact copies,
/// have too many pairs.
const PAIRS_MAX: u64 = 20_000_000;
/// Pairs up to this much below the threshold are counted as well, to show where the threshold cuts
/// the distribution.
const BELOW: f64 = 0.2;
/// Maximum number of bars in the growth chart: `SPANS_MAX` for the index, `CLUSTER_SPANS_MAX` for a
/// cluster.
const SPANS_MAX: u64 = 60;
const CLUSTER_SPANS_MAX: u64 = 24;

const SECOND_MS: u64 = 1_000;
const DAY_MS: u64 = 86_400 * SECOND_MS;
/// Possible time spans of a bar: common units of time.
const SPANS_MS: [u64; 13] = [
    SECOND_MS,
    10 * SECOND_MS,
    60 * SECOND_MS,
    600 * SECOND_MS,
    3_600 * SECOND_MS,
    6 * 3_600 * SECOND_MS,
    DAY_MS,
    7 * DAY_MS,
    30 * DAY_MS,
    91 * DAY_MS,
    365 * DAY_MS,
    1_825 * DAY_MS,
    3_650 * DAY_MS,
];

/// Collects all data of a page.
pub(super) fn gather(
    snapshot: &Snapshot,
    settings: &PageSettings,
    originals: Option<&Originals>,
) -> Result<Data, Failure> {
    let params = snapshot.params();
    let members_max =
        (DOCUMENTS_MAX / settings.clusters_max.max(1)).clamp(MEMBERS_MIN, MEMBERS_MAX);
    let mut found = Gathered::default();
    clusters(snapshot, settings, members_max, originals, &mut found)?;
    let pairs = pairs(snapshot, settings, &mut found.totals)?;
    let growth = growth(snapshot, settings, std::mem::take(&mut found.later), &mut found.folders)?;
    let mut largest = found.largest.into_vec();
    largest.sort_unstable();
    let mut clusters = Vec::with_capacity(largest.len());
    for Reverse(candidate) in &largest {
        clusters.push(shown(snapshot, settings, originals, candidate)?);
    }
    let mut shown = Shown {
        documents: largest.iter().map(|Reverse(one)| one.members.len() as u64).sum(),
        members_max,
        text_bytes_max: texts::TEXT_BYTES_MAX,
        texts_asked: originals.is_some() && settings.texts,
        texts_possible: !matches!(params.scheme(), Scheme::External(_)),
        sets: params.shingles() == Shingles::Items,
        ..Shown::default()
    };
    let mut texts = Vec::new();
    if let Some(originals) = originals.filter(|_| settings.texts) {
        let keys: Vec<_> = largest.into_iter().map(|Reverse(one)| one.members).collect();
        texts = texts::read(snapshot, settings, originals, &keys, (&mut clusters, &mut shown))?;
    }
    Ok(Data {
        title: settings.title.clone(),
        made: settings.made,
        change: snapshot.change(),
        version: env!("CARGO_PKG_VERSION"),
        params: opened::describe(params),
        hashes: params.hashes(),
        collision: 0.5_f64.powi(i32::try_from(params.lane_bits()).unwrap_or(16)),
        threshold: settings.threshold,
        threshold_index: params.threshold(),
        totals: found.totals,
        shown,
        sizes: sizes(&found.sizes),
        clusters,
        texts,
        pairs,
        curve: curve(params, settings.threshold),
        growth,
        folders: found.folders.shown(),
        files: settings.links.base.clone(),
    })
}

/// What was found by visiting all clusters.
#[derive(Default)]
struct Gathered {
    totals: Totals,
    /// The largest clusters so far, as a min-heap: the smallest is on top.
    largest: BinaryHeap<Reverse<Candidate>>,
    /// Number of clusters and of documents, indexed by the binary logarithm of the cluster size.
    sizes: Vec<(u64, u64)>,
    /// The times of all clustered documents except the first of each cluster.
    later: Vec<u64>,
    folders: Folders,
}

/// A cluster that may be shown on the page.
#[derive(PartialEq, Eq)]
struct Candidate {
    size: u64,
    first: u64,
    last: u64,
    span: u64,
    growth: Vec<(u64, u64)>,
    free: Option<u64>,
    members: Members,
}

/// Keys and times of the documents shown for a cluster.
type Members = Vec<(Vec<u8>, u64)>;

impl Ord for Candidate {
    /// Orders by size. Of clusters of equal size, the one with the smaller key ranks higher.
    fn cmp(&self, other: &Self) -> Ordering {
        self.size.cmp(&other.size).then_with(|| other.members.cmp(&self.members))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn clusters(
    snapshot: &Snapshot,
    settings: &PageSettings,
    members_max: usize,
    originals: Option<&Originals>,
    found: &mut Gathered,
) -> Result<(), Failure> {
    let progress = Progress::start("clustering", Unit::Documents, Some(snapshot.len()));
    let clusters = snapshot.clusters_with(
        Conditions::default().threshold(settings.threshold).cancel_if(settings.is_stopped()),
        &mut progress.callback(),
    )?;
    found.totals.documents = snapshot.len();
    for cluster in clusters {
        let cluster = cluster?;
        let size = cluster.size();
        found.totals.clusters += 1;
        found.totals.clustered += size;
        found.totals.surplus += size - 1;
        found.folders.add_cluster(&cluster);
        settings.check()?;
        let free = originals.and_then(|originals| free(&cluster, originals, &mut found.totals));
        let power = size.ilog2() as usize;
        found.sizes.resize(found.sizes.len().max(power + 1), (0, 0));
        let (count, documents) = &mut found.sizes[power];
        *count += 1;
        *documents += size;
        let first = cluster.first_time();
        found.later.extend(&cluster.times);
        // The first document of the cluster was not redundant when it was added, so its time is
        // removed from `later`.
        if let Some(at) = found.later.iter().rposition(|time| *time == first) {
            found.later.swap_remove(at);
        }
        let least = found.largest.peek().map_or(0, |Reverse(least)| least.size);
        if found.largest.len() < settings.clusters_max || size >= least {
            found.largest.push(Reverse(Candidate::new(&cluster, free, members_max)));
        }
        if found.largest.len() > settings.clusters_max {
            found.largest.pop();
        }
    }
    Ok(())
}

/// The bytes freed by removing all documents of a cluster except the first. `None` if the size of
/// none of them is known.
fn free(cluster: &Cluster, originals: &Originals, totals: &mut Totals) -> Option<u64> {
    let (freed, known) = originals.freed(&cluster.keys);
    totals.free = totals.free.saturating_add(freed);
    totals.free_known += known;
    (known > 0).then_some(freed)
}

impl Candidate {
    fn new(cluster: &Cluster, free: Option<u64>, members_max: usize) -> Self {
        let (first, last) = (cluster.first_time(), cluster.last_time());
        let span = span_ms(first, last, CLUSTER_SPANS_MAX);
        let members = sample(cluster.keys.len(), members_max);
        Self {
            size: cluster.size(),
            first,
            last,
            span,
            growth: cluster.growth(span),
            free,
            members: members.map(|at| (cluster.keys[at].clone(), cluster.times[at])).collect(),
        }
    }
}

/// Up to `most` positions below `count`, evenly spaced, including the first and the last.
fn sample(count: usize, most: usize) -> impl Iterator<Item = usize> {
    let shown = count.min(most);
    (0..shown).map(move |at| if shown == count { at } else { at * (count - 1) / (shown - 1) })
}

/// Returns the shortest time span per bar for which at most `spans_max` bars cover `first` to
/// `last`.
fn span_ms(first: u64, last: u64, spans_max: u64) -> u64 {
    let fits = |span: &u64| last / span - first / span < spans_max;
    SPANS_MS.into_iter().find(fits).unwrap_or((last - first) / (spans_max - 1) + 1)
}

fn sizes(counts: &[(u64, u64)]) -> Vec<Size> {
    let held = counts.iter().enumerate().filter(|(_, (clusters, _))| *clusters > 0);
    held.map(|(power, (clusters, documents))| {
        let low = 1 << power;
        Size { low, high: low + (low - 1), clusters: *clusters, documents: *documents }
    })
    .collect()
}

/// A key for display. A very long key is shortened in the middle.
pub(super) fn key_shown(key: &[u8]) -> String {
    let text = visible(key);
    let count = text.chars().count();
    if count <= KEY_CHARACTERS_MAX {
        return text;
    }
    let half = KEY_CHARACTERS_MAX / 2;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(count - half).collect();
    format!("{head}...{tail}")
}

fn shown(
    snapshot: &Snapshot,
    settings: &PageSettings,
    originals: Option<&Originals>,
    candidate: &Candidate,
) -> Result<ClusterShown, Failure> {
    let members = &candidate.members;
    let mut signatures = Vec::with_capacity(members.len());
    for (key, _) in members {
        signatures.push(snapshot.signature(key)?);
    }
    let mut rows = Vec::with_capacity(members.len() * members.len() / 2);
    for (at, one) in signatures.iter().enumerate() {
        for other in &signatures[..at] {
            // A snapshot has every document that it has listed, so both signatures exist.
            let (Some(one), Some(other)) = (one, other) else { continue };
            rows.push(one.equal_rows(other)?);
        }
    }
    let document = |(key, time): &(Vec<u8>, u64)| {
        let shown = key_shown(key);
        let file = originals.and_then(|originals| originals.file(key));
        DocumentShown {
            unlisted: !links::can_be_listed(key, &shown),
            file: settings.links.reach(key, &shown) && file.is_some(),
            key: shown,
            time: *time,
            bytes: file.as_ref().map(|file| file.bytes),
            modified: file.as_ref().map(|file| file.modified),
            length: None,
            plan: None,
            text: TextState::Unknown,
        }
    };
    Ok(ClusterShown {
        size: candidate.size,
        first: candidate.first,
        last: candidate.last,
        span: candidate.span,
        growth: candidate.growth.clone(),
        free: candidate.free,
        documents: members.iter().map(document).collect(),
        rows,
    })
}

/// Counts pairs by their number of equal rows. Pairs of equal signatures are counted without
/// visiting each of them.
fn pairs(
    snapshot: &Snapshot,
    settings: &PageSettings,
    totals: &mut Totals,
) -> Result<PairCounts, Failure> {
    let (threshold, params) = (settings.threshold, snapshot.params());
    let low = (threshold - BELOW).max(0.0);
    let (rows_first, rows_min) = (params.equal_rows_min(low), params.equal_rows_min(threshold));
    let hashes = u32::try_from(params.hashes()).unwrap_or(u32::MAX);
    let mut counts = vec![0_u64; (hashes + 1).saturating_sub(rows_first) as usize];
    let mut count = |equal: u32, pairs: u64| {
        if let Some(sum) = counts.get_mut(equal.saturating_sub(rows_first) as usize) {
            *sum = sum.saturating_add(pairs);
        }
    };
    let progress = Progress::start("counting pairs", Unit::Documents, Some(snapshot.len()));
    let mut found = snapshot.pairs(low)?.cancel_if(settings.is_stopped()).collapse()?;
    let (mut seen, mut cut) = (0, false);
    while let Some(one) = found.next() {
        progress.reached(found.progress().done);
        settings.check()?;
        match one? {
            Collapsed::Crowd { count: size, .. } => {
                totals.copies += size - 1;
                count(hashes, size.saturating_mul(size - 1) / 2);
            }
            Collapsed::Pair { pair, a_count, b_count, .. } => {
                count(pair.equal_rows, a_count.saturating_mul(b_count));
                seen += 1;
            }
        }
        cut = seen >= PAIRS_MAX;
        if cut {
            break;
        }
    }
    let at = (rows_min - rows_first) as usize;
    totals.pairs = counts.iter().skip(at).fold(0, |sum, pairs| sum.saturating_add(*pairs));
    let similarities = (rows_first..=hashes).map(|equal| rounded(params.similarity(equal)));
    Ok(PairCounts { rows_first, rows_min, counts, similarities: similarities.collect(), cut })
}

fn growth(
    snapshot: &Snapshot,
    settings: &PageSettings,
    mut later: Vec<u64>,
    folders: &mut Folders,
) -> Result<Growth, Failure> {
    let progress = Progress::start("reading times", Unit::Documents, Some(snapshot.len()));
    let mut times = Vec::new();
    for document in snapshot.iter() {
        let Document { key, time, .. } = document?;
        settings.check()?;
        folders.add_document(&key);
        times.push(time);
        progress.reached(times.len() as u64);
    }
    let (first, last) = match (times.iter().min(), times.iter().max()) {
        (Some(first), Some(last)) => (*first, *last),
        _ => (0, 0),
    };
    let span = span_ms(first, last, SPANS_MAX);
    times.sort_unstable();
    later.sort_unstable();
    let mut later = &later[..];
    let spans = times.chunk_by(|one, next| one / span == next / span).map(|same| {
        let begin = same[0] - same[0] % span;
        let (those, rest) = later.split_at(later.partition_point(|time| time - begin < span));
        later = rest;
        (begin, same.len() as u64, those.len() as u64)
    });
    Ok(Growth { span, first, last, spans: spans.collect() })
}

fn curve(params: &Params, threshold: f64) -> Curve {
    let point = |hundredths: u32| {
        let similarity = f64::from(hundredths) / 100.0;
        let returned = params.expected_recall(similarity, threshold);
        (rounded(params.candidate_probability(similarity)), rounded(returned))
    };
    let error = params.standard_error(params.equal_rows_min(threshold));
    let safe = (threshold - 2.0 * error).max(0.0);
    Curve {
        bands: params.bands(),
        rows: params.rows_per_band(),
        points: (0..=100).map(point).collect(),
        candidate: rounded(params.candidate_probability(threshold)),
        returned: rounded(params.expected_recall(threshold, threshold)),
        error: rounded(error),
        safe: rounded(safe),
        returned_safe: rounded(params.expected_recall(threshold, safe)),
    }
}

/// Rounds to five decimal places, which is more than a chart can show.
fn rounded(number: f64) -> f64 {
    (number * 1e5).round() / 1e5
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_spread_from_the_first_to_the_last() {
        assert_eq!(sample(3, 5).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(sample(5, 5).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        assert_eq!(sample(101, 3).collect::<Vec<_>>(), [0, 50, 100]);
        assert_eq!(sample(7, 4).collect::<Vec<_>>(), [0, 2, 4, 6]);
    }

    #[test]
    fn any_time_is_covered_by_few_spans() {
        assert_eq!(span_ms(5, 5, 24), SECOND_MS);
        assert_eq!(span_ms(0, 23 * DAY_MS, 24), DAY_MS);
        assert_eq!(span_ms(0, 24 * DAY_MS, 24), 7 * DAY_MS);
        for last in [0, 1, 999, 1 << 40, 1 << 60, u64::MAX] {
            let span = span_ms(0, last, 60);
            assert!(last / span < 60, "{last}: {span}");
        }
    }

    #[test]
    fn sizes_are_by_powers_of_two() {
        let mut counts = [(0, 0); 64];
        (counts[1], counts[63]) = ((2, 5), (1, u64::MAX));
        let sizes: Vec<_> = sizes(&counts).iter().map(|size| (size.low, size.high)).collect();
        assert_eq!(sizes, [(2, 3), (1 << 63, u64::MAX)]);
    }

    #[test]
    fn a_long_key_is_cut_in_the_middle() {
        assert_eq!(key_shown(b"a\n"), "a\\n");
        let long = key_shown(format!("{}/name.txt", "\u{e9}".repeat(300)).as_bytes());
        assert_eq!(long.chars().count(), KEY_CHARACTERS_MAX + 3);
        assert!(long.ends_with("\u{e9}/name.txt") && long.contains("\u{e9}...\u{e9}"), "{long}");
    }
}
