//! docs/reports/BENCHMARKS.md: the text around the tables.

use super::figures::{Figures, ratio};
use super::plot::Plot;
use super::targets;
use crate::options::home;
use crate::results::{Result, Row, figure};
use crate::scripts::ASCII;
use std::fmt::Write;

/// If the load average at the start was above this, the page warns that the machine was busy.
/// Compiling this program just before the run is not enough for the warning on two processors: it
/// leaves a smaller load behind.
const LOAD_MAX: f64 = 3.0;

const HEAD: &str = "\
# Benchmarks

How fast Nearkin and its rivals are on the same data. `benches/run.sh` measures everything and
writes this page; nothing in it is typed by hand. Trust the ratios: engines run in turn, in the
same run. Three figures are the minimum, the median and the maximum of the runs; one figure is
the median.

[PERFORMANCE.md](PERFORMANCE.md) says what the figures mean for a program.

## Method

**Data.** All engines get the same signatures: 128 rows of one byte, 17 bands of 5, which
Nearkin chooses for the threshold 0.7. One of ten documents is a near-duplicate of
another and agrees with it in 85 to 100 % of the rows.

**Queries.** A *hit* asks for a stored signature with agreement .85 to 1, a *miss* for a fresh
random one. An answer is every document that shares a band and is verified to agree in at least
90 of 128 rows. Before anything is timed, every engine must give exactly the answers of the
definition, also after reopening and after removals.

**Tables by hand.** SQLite, LMDB, redb and fjall hold a table by (band, hash, document) and one
of signatures, as one would build it by hand: entries are sorted within each batch, read
transactions are held open, caches have half a GiB or more.

- In a bulk load the three trees get batches of 10,000 documents, which serves them better than
  1,000. All others get 1,000.
- At 1,000,000 documents a second load in batches of 100,000 stands beside it, for all engines
  that are durable. A crash may then take a hundred times as many documents. Disk, queries and
  all other figures are of the load in smaller batches.
- The trees are not compacted afterwards. Nearkin and fjall are.

**All rows, or those of the bands.** gaoya, sketchir, Lance and the LSH index of rensa hold no
rows but those of their bands: 85. gaoya gets an array of all rows beside its index, and its
candidates are compared by them, so that its answers are equal, too. The other three are left as
they are.

**Durability.** A row says what a write that returned promises. gaoya, the fastest index in
memory, forgets everything at exit. So do datasketch and rensa, which also return candidates
without verifying them. Lance syncs nothing.

**From text.** In Python, texts become shingles by a regular expression, and its time counts: it
is what users of these packages do. For ASCII alone a table of bytes is faster, and has rows of
its own.

- datasketch makes signatures in four ways: `update`, shingle by shingle, as its first example
  does; `update_batch`, text by text, with SHA-1, its default; in bulk; and in bulk with xxh32,
  which with the table is its best. The targets are compared with its default and with its best.
- rensa gets bytes text by text, its best here.
- *Check, then add* queries for a batch of 1,000 before it adds the batch, so documents of one
  batch do not see each other. Lance, which has no such batches, gets one at a time.

**Threads.** One thread calls, unless a row says otherwise. Nearkin and fjall flush and compact
on threads of their own; Lance is told to use one.

- *Queries on one thread* and *on two* are given to the engine all at once. Nearkin answers them
  in batches (`Snapshot::queries`, 1,000 signatures a call). The others take one at a time,
  through a reader of the thread's own. Of two threads each has all queries, one of them from the
  middle on.
- *Hit* and *miss* are single queries for every engine. They are asked once before, so that the
  data they read are warm.

**Order of runs.** Nearkin and gaoya take seconds where the others take minutes, in which the
pace of the machine changes. So they are measured three to five times in each run: before each of
the others, and after the last (from text: before those in Python, before sketchir, after it). A
run counts with its median, and their minimum and maximum are of such medians. *Single inserts*
and *removals* of the tables come last, after the cold misses: their data come from the disk
(gaoya's from memory). Nearkin's in memory are below, under *Nearkin alone*, where removals are
in the order of insertion; the target is compared with those.

**Builds.** All engines are built by `cargo build --release` without further flags. Nearkin
detects the processor at run time, gaoya does not.

**Cold and warm.** A cold cache is made by `posix_fadvise(DONTNEED)` on closed files. The clock
starts after open, the count of bytes read before it. All 1,000 queries count: an engine that
reads a megabyte for each, as LMDB does, has read the whole file before the last one.

- *The first 1,000* queries come at once after opening, or after a pause for what the engine does
  then (the background thread of Nearkin checks resident blocks). All other queries come after
  that pause.
- *Reopening* runs from a closed index to the answer to one query: the median of seven (from
  text: one). Here, and in all queries that are not cold, files are in the cache of the system
  since they were written. The last segment of Nearkin is in huge pages, where file system and
  free memory allow (after a restart, a plain copy to nowhere brings them back). In small pages a
  hit takes a fifth longer on a Zen 4, and up to 60 % on the generation before it.

**Space.** Bytes on disk are blocks in use (for Lance the lengths of its files). The key of a
document takes 8 of them; there is no payload. *Memory of the process* grows from run to run of
*Nearkin alone*, because its runs share one process, and the allocator keeps memory of closed
writers. The target is compared with the first run. *Written* is what the kernel charges
(`/proc/self/io`): whole folios, however little of one is written. At the largest size it is also
the bytes that Nearkin gave to the system.

**Limits.** A *limit* is the time of the machine for the work that cannot be left out (stage
`limits`):

| limit of | work |
|---|---|
| queries | the lines of memory, of mapped files, that must be read one after the other: no \
    check, no comparison, no answer; on one thread and on two; those of a miss and of a hit at \
    1,000,000 in turn with the queries |
| a cold miss | the blocks of the disk that it needs, requested at once and awaited; in turn \
    with the queries |
| inserts | a log that is written and synced, without an index; of eight threads the first to \
    return from a sync lets the others go first, as ours waits for them |
| removals | such a log, and the blocks of the keys, read and checked |
| reopening | what a hit needs: opened, mapped, read and checked; no catalog, no lock |
| queries beside a writer | the same queries while another index is written |

If not even the limit reaches a target, the last column says *out of reach here*, and how far we
are from the limit, if that is no more than half as much again. Two rows are marks, not limits.
*Split and hash* is a plain splitter and a hash of each word, without a signature, and without
instructions of the processor's own. *nearkin, 16 rows* is the smallest signature: our cost
without the rows.
";

/// The whole page.
pub fn write(figures: &Figures, plots: &[&Plot]) -> Result<String> {
    let mut page = HEAD.to_owned();
    machine(&mut page, figures)?;
    held(&mut page, figures)?;
    if !plots.is_empty() {
        page.push_str("\n## Growth\n");
        for plot in plots {
            write!(page, "\n![{}](plots/{})\n", plot.title, plot.file)?;
        }
    }
    for size in figures.sizes("tables").into_iter().rev() {
        let what = format!("{} made-up signatures, all engines", figure(size as f64));
        matrix(&mut page, figures, "tables", size, &what)?;
    }
    for size in figures.sizes("sketch").into_iter().rev() {
        let what = format!("Sketching {} texts of about 200 words", figure(size as f64));
        matrix(&mut page, figures, "sketch", size, &what)?;
    }
    by_script(&mut page, figures)?;
    for size in figures.sizes("text").into_iter().rev() {
        let what = format!("From text, {} documents of about 200 words", figure(size as f64));
        matrix(&mut page, figures, "text", size, &what)?;
    }
    for size in figures.sizes("large").into_iter().rev() {
        let what = format!("{} made-up signatures, in memory and not", figure(size as f64));
        matrix(&mut page, figures, "large", size, &what)?;
    }
    for (stage, what) in [("ours", "Nearkin alone")] {
        for size in figures.sizes(stage).into_iter().rev() {
            list(&mut page, &figures.engine_rows(stage, "nearkin", size), what)?;
        }
    }
    Ok(page)
}

fn machine(page: &mut String, figures: &Figures) -> Result<()> {
    page.push_str("\n## Machine and versions\n\n| | |\n|---|---|\n");
    let mut known: Vec<&str> = Vec::new();
    for (_, results) in &figures.stages {
        for (name, value) in &results.machine {
            if !known.contains(&name.as_str()) {
                writeln!(page, "| {name} | {value} |")?;
                known.push(name);
            }
        }
    }
    for (name, version) in versions()? {
        writeln!(page, "| {name} | {version} |")?;
    }
    page.push_str("\nCommands: `benches/run.sh`, that is");
    for (at, (_, results)) in figures.stages.iter().enumerate() {
        write!(page, "{} `rivals {}`", if at > 0 { "," } else { "" }, results.command)?;
    }
    page.push_str(".\n");
    let quick = figures.stages.iter().any(|(_, results)| results.command.contains("--quick"));
    if quick {
        page.push_str("\n**A quick run: it shows that everything works, and nothing else.**\n");
    }
    let first = figures
        .stages
        .first()
        .and_then(|(_, results)| results.machine.iter().find(|(name, _)| name == "load at start"));
    if first.is_some_and(|(_, load)| load.parse::<f64>().unwrap_or(0.0) > LOAD_MAX) {
        page.push_str(
            "\n**The machine was busy with other things: do not quote these figures.**\n",
        );
    }
    Ok(())
}

/// The versions of the engines, from this crate's lock file.
fn versions() -> Result<Vec<(String, String)>> {
    let lock = std::fs::read_to_string(home().join("Cargo.lock"))?;
    let mut found = Vec::new();
    let engines =
        ["nearkin", "gaoya", "sketchir", "rusqlite", "libsqlite3-sys", "redb", "heed", "fjall"];
    for package in lock.split("[[package]]") {
        let field = |name: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(name));
            line.map(|value| value.trim_matches([' ', '=', '"']).to_owned()).unwrap_or_default()
        };
        let name = field("name");
        if engines.contains(&name.as_str()) {
            found.push((name, field("version")));
        }
    }
    Ok(found)
}

fn held(page: &mut String, figures: &Figures) -> Result<()> {
    page.push_str(
        "\n## Targets\n\n| | what | target | measured | limit | |\n|---|---|---|---|---|---|\n",
    );
    for target in targets::all(figures) {
        let [bound, measured, limit, held] = target.columns();
        writeln!(
            page,
            "| {} | {} | {bound} | {measured} | {limit} | {held} |",
            target.point, target.what
        )?;
    }
    Ok(())
}

/// A table with one column per engine and one line per measure.
fn matrix(page: &mut String, figures: &Figures, stage: &str, size: u64, title: &str) -> Result<()> {
    let engines = figures.engines(stage, size);
    write!(page, "\n## {title}\n\n| |")?;
    for engine in &engines {
        write!(page, " {engine} |")?;
    }
    page.push_str("\n|---|");
    page.push_str(&"---|".repeat(engines.len()));
    page.push_str("\n| a write that returned is safe by |");
    for engine in &engines {
        let of_engine = figures.engine_rows(stage, engine, size);
        let durability = of_engine.first().map_or("", |row| row.durability.as_str());
        write!(page, " {durability} |")?;
    }
    page.push('\n');
    let mut measures: Vec<(&str, &str)> = Vec::new();
    for row in engines.iter().flat_map(|engine| figures.engine_rows(stage, engine, size)) {
        if !measures.iter().any(|(measure, _)| *measure == row.measure) {
            measures.push((&row.measure, &row.unit));
        }
    }
    for (measure, unit) in measures {
        let unit = if unit.is_empty() { String::new() } else { format!(", {unit}") };
        write!(page, "| {measure}{unit} |")?;
        for engine in &engines {
            write!(page, " {} |", spread(figures.get(stage, engine, size, measure)))?;
        }
        page.push('\n');
    }
    Ok(())
}

/// A table with one line per kind of text: medians and ratios.
fn by_script(page: &mut String, figures: &Figures) -> Result<()> {
    let row_of = |engine: &str, text: &str| figures.get("scripts", engine, 1, text);
    let rows = figures.engine_rows("scripts", "nearkin", 1);
    if rows.is_empty() {
        return Ok(());
    }
    page.push_str(SCRIPTS);
    let ascii = row_of("nearkin", ASCII);
    for row in rows {
        let text = row.measure.as_str();
        let times = |rival: Option<&Row>| ratio(rival, Some(row)).map_or(f64::NAN, |times| times);
        let (gaoya, native) = (row_of("gaoya", text), row_of("gaoya, native", text));
        let share = ratio(ascii, Some(row)).unwrap_or(f64::NAN);
        writeln!(
            page,
            "| {text} | {} | {share:.2} | {} | {} | {} | {} |",
            spread(Some(row)),
            spread(gaoya),
            figure(times(gaoya)),
            spread(native),
            figure(times(native)),
        )?;
    }
    Ok(())
}

const SCRIPTS: &str = "
## Sketching by script

Documents of 1,200 characters of the Universal Declaration of Human Rights, words:3, one thread;
microseconds a document, the least of 20 turns in each run. gaoya gets the words of UAX #29 of the
text in lower case (of ASCII, runs of letters and digits), Nearkin the text. `benches/scripts.sh`
measures this table alone. *Native* is gaoya in a build for this machine (`-C target-cpu=native`),
held against Nearkin in the build for any.

| | nearkin, us | of ASCII | gaoya, us | times | gaoya native, us | times |
|---|---|---|---|---|---|---|
";

fn list(page: &mut String, rows: &[&Row], title: &str) -> Result<()> {
    let size = rows.first().map_or(0, |row| row.documents);
    write!(page, "\n## {title}, {} documents\n\n| | |\n|---|---|\n", figure(size as f64))?;
    for row in rows {
        writeln!(page, "| {} | {} {} |", row.measure, spread(Some(row)), row.unit)?;
    }
    Ok(())
}

/// Minimum, median and maximum; if there is only one run, its figure.
fn spread(row: Option<&Row>) -> String {
    match row {
        None => "-".to_owned(),
        Some(row) if row.values.len() == 1 => figure(row.median()),
        Some(row) => format!(
            "{} / **{}** / {}",
            figure(row.least()),
            figure(row.median()),
            figure(row.most())
        ),
    }
}
