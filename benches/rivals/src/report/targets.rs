//! The targets of the project, and whether they are met.

use super::figures::{Figures, least, ratio};
use crate::limits::{
    BLOCKS_OF_MISS, LINES_OF_HIT, LINES_OF_MISS, LINES_ON_ONE, LINES_ON_TWO, OPENED, REMOVALS_ALONE,
};
use crate::results::{Row, figure};
use crate::tables::IN_LARGEST_BATCHES;

#[derive(Debug, Clone, Copy)]
enum Bound {
    AtLeast(f64),
    AtMost(f64),
}
use Bound::{AtLeast, AtMost};

/// One line of the table.
#[derive(Debug)]
pub struct Target {
    pub point: u32,
    pub what: String,
    bound: Bound,
    unit: &'static str,
    measured: Option<f64>,
    /// The figure of a program that does only the reads and writes that no similar design can
    /// avoid: see `limits.rs`.
    limit: Option<f64>,
}

/// If even the limit misses the target, the report calls the target out of reach, provided that the
/// figure is within this factor of the limit.
const OF_LIMIT: f64 = 1.5;

impl Target {
    fn at_limit(mut self, limit: Option<f64>) -> Self {
        self.limit = limit;
        self
    }

    /// How many times worse than the limit the figure is: 1 is at the limit.
    fn of_limit(&self) -> Option<f64> {
        let (measured, limit) = (self.measured?, self.limit?);
        Some(match self.bound {
            AtLeast(_) => limit / measured,
            AtMost(_) => measured / limit,
        })
    }

    pub fn held(&self) -> Option<bool> {
        self.measured.map(|measured| self.is_held_by(measured))
    }

    fn is_held_by(&self, value: f64) -> bool {
        match self.bound {
            AtLeast(bound) => value >= bound,
            AtMost(bound) => value <= bound,
        }
    }

    /// Whether even the limit misses the target.
    fn is_beyond_limit(&self) -> bool {
        self.limit.is_some_and(|limit| !self.is_held_by(limit))
    }

    /// Target, figure, limit, and whether the target is met, as text.
    pub fn columns(&self) -> [String; 4] {
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        let bound = match self.bound {
            AtLeast(bound) => format!(">= {}{unit}", figure(bound)),
            AtMost(bound) => format!("<= {}{unit}", figure(bound)),
        };
        let measured = self.measured.map_or_else(
            || "not measured".to_owned(),
            |measured| format!("{}{unit}", figure(measured)),
        );
        let of_limit = self.of_limit();
        let held = match (self.held(), of_limit) {
            (Some(true), _) => "held".to_owned(),
            (Some(false), Some(times)) if self.is_beyond_limit() && times <= OF_LIMIT => {
                format!("out of reach here; {} x the limit", figure(times))
            }
            (Some(false), Some(times)) => format!("**not held**; {} x the limit", figure(times)),
            (Some(false), None) => "**not held**".to_owned(),
            (None, _) => "-".to_owned(),
        };
        let limit = self.limit.map_or_else(|| "-".to_owned(), |limit| figure(limit) + &unit);
        [bound, measured, limit, held]
    }
}

fn target(
    point: u32,
    what: impl Into<String>,
    bound: Bound,
    unit: &'static str,
    measured: Option<f64>,
) -> Target {
    Target { point, what: what.into(), bound, unit, measured, limit: None }
}

fn middle(row: Option<&Row>) -> Option<f64> {
    row.map(Row::median)
}

/// All targets in order.
pub fn all(figures: &Figures) -> Vec<Target> {
    let parts = [
        from_text(figures),
        sketching(figures),
        inserts(figures),
        tables(figures),
        ours(figures),
        large(figures),
    ];
    let mut targets: Vec<Target> = parts.into_iter().flatten().collect();
    targets.sort_by_key(|target| target.point);
    targets
}

fn from_text(figures: &Figures) -> Vec<Target> {
    let text = |engine: &str, measure: &str| figures.last("text", engine, measure);
    let more = |engine: &str, measure: &str| ratio(text("nearkin", measure), text(engine, measure));
    let less = |engine: &str, measure: &str| ratio(text(engine, measure), text("nearkin", measure));
    let load = "text to searchable and durable";
    let query = "near-duplicate p50, sketching included";
    let removal = "1,000 removals and the first query";
    let removals_alone = figures.last("limits", "machine", REMOVALS_ALONE);
    let reopen = "reopen to first answer, warm";
    vec![
        target(0, "text to durable, against Lance", AtLeast(10.0), "x", more("lance", load)),
        target(0, "text to durable, against sketchir", AtLeast(25.0), "x", more("sketchir", load)),
        target(0, "query p50, against sketchir", AtLeast(20.0), "x", less("sketchir", query)),
        target(0, "query p50, against Lance", AtLeast(100.0), "x", less("lance", query)),
        target(0, "reopen, against Lance", AtLeast(5.0), "x", less("lance", reopen)),
        target(
            0,
            "1,000 removals and a query, against sketchir and Lance",
            AtLeast(20.0),
            "x",
            least(less("sketchir", removal), less("lance", removal)),
        )
        // The limit includes syncs and verification, which Nearkin must do. The rivals neither sync
        // nor verify what they read.
        .at_limit(least(
            ratio(text("sketchir", removal), removals_alone),
            ratio(text("lance", removal), removals_alone),
        )),
        target(
            0,
            "check, then add",
            AtLeast(100_000.0),
            "documents/s",
            middle(text("nearkin", "check, then add")),
        ),
    ]
}

fn sketching(figures: &Figures) -> Vec<Target> {
    let sketch = |engine: &str, measure: &str| figures.last("sketch", engine, measure);
    let rate = "sketch, words:3";
    let faster = |engine: &str| ratio(sketch("nearkin", rate), sketch(engine, rate));
    let shingle = "sketch, words:3, per shingle";
    let of_splitting = ratio(sketch("nearkin", shingle), sketch("split and hash", shingle));
    vec![
        target(1, "sketching, against gaoya", AtLeast(15.0), "x", faster("gaoya")),
        target(1, "sketching, against rensa", AtLeast(30.0), "x", faster("rensa")),
        target(
            1,
            "sketching, against rensa, ASCII by a table",
            AtLeast(30.0),
            "x",
            faster("rensa, by a table"),
        ),
        target(
            1,
            "sketching, against datasketch's update_batch",
            AtLeast(200.0),
            "x",
            faster("datasketch, update_batch"),
        ),
        target(
            1,
            "sketching, against datasketch at its best",
            AtLeast(200.0),
            "x",
            faster("datasketch, bulk, xxh32, by a table"),
        ),
        target(
            1,
            "cost per shingle, against splitting and hashing alone",
            AtMost(2.0),
            "x",
            of_splitting,
        ),
    ]
}

/// Targets for figures measured together with the rivals, at the largest size.
fn tables(figures: &Figures) -> Vec<Target> {
    let Some(size) = figures.sizes("tables").last().copied() else { return Vec::new() };
    let at = |engine: &str, measure: &str| figures.get("tables", engine, size, measure);
    let us = |measure: &str| at("nearkin", measure);
    let less = |engine: &str, measure: &str| ratio(at(engine, measure), us(measure));
    let n = format!("at {}", figure(size as f64));
    let from_key = middle(us("disk")).map(|bytes| bytes - 8.0);
    let both = least(less("sqlite", "hit p50"), less("lmdb", "hit p50"));
    let threads = ratio(us("queries on two threads"), us("queries on one thread"));
    let lines = |what: &str| figures.get("limits", "machine", size, what);
    let (hit_lines, miss_lines) = (lines(LINES_OF_HIT), lines(LINES_OF_MISS));
    let two_lines = ratio(lines(LINES_ON_TWO), lines(LINES_ON_ONE));
    let over = |engine: &str, measure: &str, lines| ratio(at(engine, measure), lines);
    let both_lines =
        least(over("sqlite", "hit p50", hit_lines), over("lmdb", "hit p50", hit_lines));
    let us_spread = |p99: &str, p50: &str| ratio(us(p99), us(p50));
    vec![
        target(3, format!("hit p50 {n}"), AtMost(2.0), "us", middle(us("hit p50")))
            .at_limit(middle(hit_lines)),
        target(3, "hit p50, against gaoya", AtLeast(2.5), "x", less("gaoya", "hit p50"))
            .at_limit(over("gaoya", "hit p50", hit_lines)),
        target(3, format!("miss p50 {n}"), AtMost(0.5), "us", middle(us("miss p50")))
            .at_limit(middle(miss_lines)),
        target(3, "miss p50, against gaoya", AtLeast(1.5), "x", less("gaoya", "miss p50"))
            .at_limit(over("gaoya", "miss p50", miss_lines)),
        target(3, "hit p50, against SQLite and LMDB", AtLeast(15.0), "x", both)
            .at_limit(both_lines),
        target(3, "hit p99 / p50", AtMost(5.0), "x", us_spread("hit p99", "hit p50")),
        target(3, "miss p99 / p50", AtMost(5.0), "x", us_spread("miss p99", "miss p50")),
        target(3, "queries on two threads, against one", AtLeast(1.8), "x", threads)
            .at_limit(two_lines),
        target(
            4,
            format!("miss p50 {n}, cold cache"),
            AtMost(350.0),
            "us",
            middle(us("miss p50, cold cache")),
        )
        .at_limit(middle(lines(BLOCKS_OF_MISS))),
        target(5, format!("disk {n}, less the key"), AtMost(256.0), "bytes/document", from_key),
        target(
            7,
            format!("reopen {n}, warm"),
            AtMost(1.0),
            "ms",
            middle(us("reopen to first answer, warm")),
        )
        .at_limit(middle(lines(OPENED))),
    ]
}

fn inserts(figures: &Figures) -> Vec<Target> {
    let Some(size) = figures.sizes("tables").last().copied() else { return Vec::new() };
    let at = |engine: &str, measure: &str| figures.get("tables", engine, size, measure);
    let us = |measure: &str| at("nearkin", measure);
    let small = "insert, batches of 1,000";
    let against = |load, engine, its_load| ratio(us(load), at(engine, its_load));
    let best_tree = |load, its_load| {
        let against_tree = |engine| against(load, engine, its_load);
        least(against_tree("lmdb"), least(against_tree("sqlite"), against_tree("redb")))
    };
    let large = least(
        best_tree(IN_LARGEST_BATCHES, IN_LARGEST_BATCHES),
        against(IN_LARGEST_BATCHES, "fjall", IN_LARGEST_BATCHES),
    );
    let n = format!("at {}", figure(size as f64));
    let line = |what: &str, bound, measured| {
        target(2, format!("insert {n}, against {what}"), AtLeast(bound), "x", measured)
    };
    let sorted = best_tree(small, "insert, batches of 10,000");
    let largest = best_tree(small, IN_LARGEST_BATCHES);
    vec![
        line("fjall", 18.0, against(small, "fjall", small)),
        line("the best tree, its batches of 10,000", 12.0, sorted),
        line("the best tree, its batches of 100,000", 12.0, largest),
        line("the best of the others, all in batches of 100,000", 12.0, large),
        line("gaoya", 1.5, against(small, "gaoya", small)),
    ]
}

fn ours(figures: &Figures) -> Vec<Target> {
    let us = |measure: &str| figures.last("ours", "nearkin", measure);
    let ratio_of = |above: &str, below: &str| ratio(us(above), us(below));
    let one = "single inserts, one thread";
    let log = |what: &str| figures.last("limits", "machine", what);
    let (log_one, log_eight) = (
        log("a log alone, single records, one thread"),
        log("a log alone, single records, 8 threads"),
    );
    let busy = ratio_of("hit p99 while a writer runs", "hit p99, idle");
    let dead = middle(us("hit p50 with a fifth dead, against none"));
    let space = middle(us("disk after removing a fifth and compacting"));
    // Only the first run counts: the figure of a later one includes memory that the allocator has
    // kept from earlier runs.
    let of_first = |row: Option<&Row>| row?.values.first().copied();
    let memory = of_first(us("memory of the process with pairs"));
    let clusters_memory = of_first(us("memory of the process with clusters"));
    let stall = middle(us("longest wait of the writer"));
    let kill = middle(us("reopen after a kill, full memtable"));
    let removals = middle(us("removals, batches of 1,000"));
    let limit = ratio_of("syncs of 256 appended bytes", one);
    vec![
        target(2, "single inserts: syncs of the disk alone / inserts", AtMost(1.2), "x", limit),
        target(
            2,
            "8 threads of single inserts, against one",
            AtLeast(4.0),
            "x",
            ratio_of("single inserts, 8 threads", one),
        )
        .at_limit(ratio(log_eight, log_one)),
        target(7, "reopen after a kill, full memtable", AtMost(500.0), "ms", kill),
        target(8, "removals, batches of 1,000", AtLeast(300_000.0), "documents/s", removals),
        target(8, "hit p50 with a fifth dead, against none", AtMost(1.3), "x", dead),
        target(8, "disk after removing a fifth and compacting", AtMost(82.0), "%", space),
        target(9, "pairs at 0.7", AtMost(3.0), "s", middle(us("pairs at 0.7"))),
        target(
            9,
            "pairs: anonymous memory of the process, first run",
            AtMost(256.0),
            "MiB",
            memory,
        ),
        target(9, "clusters at 0.7", AtMost(3.0), "s", middle(us("clusters at 0.7"))),
        target(9, "clusters: anonymous memory, first run", AtMost(256.0), "MiB", clusters_memory),
        target(10, "hit p99 while a writer runs, against idle", AtMost(5.0), "x", busy)
            .at_limit(ratio_of("hit p99 beside a writer of another index", "hit p99, idle")),
        target(10, "longest wait of the writer", AtMost(500.0), "ms", stall),
    ]
}

fn large(figures: &Figures) -> Vec<Target> {
    let us = |measure: &str| figures.last("large", "nearkin", measure);
    let n =
        us("hit p50").map_or(String::new(), |row| format!("at {}", figure(row.documents as f64)));
    let smallest = figures.sizes("tables").first().copied().unwrap_or(0);
    let first = |measure: &str| figures.get("tables", "nearkin", smallest, measure);
    let growth = |above: Option<&Row>, below: Option<&Row>| Some(above?.median() / below?.median());
    let insert = "insert, batches of 1,000";
    let sizes = figures.sizes("tables");
    let at_sizes = sizes.iter().filter_map(|size| figures.get("tables", "nearkin", *size, insert));
    let fastest = at_sizes.max_by(|one, other| one.median().total_cmp(&other.median()));
    let documents = us("hit p50").map_or(0, |row| row.documents);
    let limit = |what: &str| middle(figures.get("limits", "machine", documents, what));
    vec![
        target(3, format!("hit p50 {n}"), AtMost(4.0), "us", middle(us("hit p50")))
            .at_limit(limit(LINES_OF_HIT)),
        target(
            5,
            format!("written by the load / final size, {n}"),
            AtMost(4.0),
            "x",
            middle(us("written by the load / final size")),
        ),
        target(
            6,
            format!("most anonymous memory {n}"),
            AtMost(256.0),
            "MiB",
            middle(us("most anonymous memory")),
        ),
        target(
            7,
            format!("reopen {n}, warm"),
            AtMost(1.0),
            "ms",
            middle(us("reopen to first answer, warm")),
        )
        .at_limit(limit(OPENED)),
        target(
            11,
            format!("insert cost {n}, against the least of fewer"),
            AtMost(2.0),
            "x",
            growth(fastest, us(insert)),
        ),
        target(
            11,
            format!("hit p50 {n}, against {}", figure(smallest as f64)),
            AtMost(4.0),
            "x",
            growth(us("hit p50"), first("hit p50")),
        ),
    ]
}
