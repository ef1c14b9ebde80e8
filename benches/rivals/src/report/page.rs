//! docs/reports/BENCHMARKS.md: the text around the tables.

use super::figures::{Figures, ratio};
use super::plot::Plot;
use super::targets;
use crate::options::home;
use crate::results::{Result, Row, figure};
use crate::scripts::ASCII;
use std::fmt::Write;

/// More than the load that compiling this leaves behind on two processors.
const LOAD_MAX: f64 = 3.0;

const HEAD: &str = "\
# Benchmarks

This page is written by one command, `benches/run.sh`, from what it measured; nothing in it is
typed by hand. Trust the ratios: they are of the same run, engines in turn. Where three figures
stand, they are the least, the median and the most of the runs; where one stands, the median.

What is compared, and how:

- All engines get the same signatures: 128 rows of one byte, 16 bands of 8, of every ten documents
  one a near-duplicate of another that agrees in 85 to 100 % of the rows. A *hit* asks for a
  stored signature with agreement .85 to 1, a *miss* for a fresh random one; an answer is what
  shares a band and is verified to agree in at least 103 of 128 rows. Before anything is timed,
  every engine must give exactly the answers of the definition, after a reopening and after
  removals, too.
- SQLite, LMDB, redb and fjall hold a table by (band, hash, document) and one of signatures, as one
  would build it by hand: entries sorted within each batch, read transactions held open, caches of
  half a GiB and more. In a bulk load the three trees get batches of 10,000 documents, which serves
  them better than 1,000, as everybody else gets; at 1,000,000 a second load in batches of 100,000
  stands beside it, of all that are durable: a crash may take a hundred times as many; disk, queries
  and all else are of the load in the smaller ones. The trees are not compacted afterwards, as
  Nearkin and fjall are.
- A row says what a write that returned promises. gaoya is the fastest index in memory: it forgets
  everything at exit. datasketch and rensa do so, too, and return candidates without verifying.
  Lance syncs nothing.
- That texts become shingles in Python, by a regular expression, counts for those in Python: it is
  what their users do; for ASCII alone a table of bytes is faster, which stands in rows of its
  own. datasketch makes signatures in four ways: `update`, shingle by shingle, as its first
  example does; `update_batch`, text by text, with SHA-1, its default; in bulk; and in bulk with
  xxh32, which with the table is its best. The target is held against its default and against its
  best. rensa gets bytes text by text, its best here. *Check, then add* asks for a batch of 1,000
  before it adds it, so that those of a batch do not see each other; of Lance, which has no such
  batches, one by one.
- *Queries on one thread* and *on two* are given to the engine all at once: Nearkin answers them
  in batches (`Snapshot::queries`, 1,000 signatures a call), the others, who take one at a time,
  one by one through a reader of the thread's own; of two threads each has all queries, one of
  them from the middle on. *Hit* and *miss* are single queries of everybody, asked once before, so
  that what they touch is warm.
- Nearkin and gaoya take seconds for what takes the others minutes, in which the machine's pace
  changes: they are measured three to five times in each run, before each of the others and after
  the last (from text: before those in Python, before sketchir, after it). What counts of a run is
  the median: the least and the most of theirs are of such medians.
- *Single inserts* and *removals* of the tables come last, after the cold misses: what they touch
  comes from the disk (gaoya's from memory). Nearkin's in memory are below, under *Nearkin alone*,
  where removals go by the order of insertion; the target is held against those.
- One thread calls, if nothing else is said; Nearkin and fjall flush and compact on threads of
  their own, Lance is told to use one. `cargo build --release` without further flags for all:
  Nearkin finds out when it runs what the processor has, gaoya does not. A cold cache is made by
  `posix_fadvise(DONTNEED)` on closed files; the clock starts after open, the count of what is
  read before it. Of the 1,000 queries all count: where each reads a megabyte, as in LMDB, all
  that there is has been read before the last.
- *The first 1,000* are asked at once after an opening, or when the engine has had a while for
  what it does after one (Nearkin's background thread checks what is in memory); before all other
  queries it has had that, too.
- *Reopening* runs from a closed index to the answer to one query: of seven (from text: of one),
  the median. Here and in all queries that are not said to be cold, what is read lies in the
  system's cache since it was written: Nearkin's last segment in huge pages, where file system and
  free memory allow (a plain copy to nowhere after a restart brings them back). In small ones a
  hit takes a fifth longer on a Zen 4, and up to 60 % on the generation before it.
- Bytes on disk are blocks in use (of Lance the lengths of its files). The key of a document takes
  8 of them; there is no payload.
- A *limit* is what the machine gives if nothing is done but what cannot be left out (stage
  `limits`): for queries the lines of memory, of mapped files, that must be read one after the
  other, no check, no comparison, no answer (those of a miss and of a hit at 1,000,000 by turns
  with the queries themselves), on one thread and on two; for a cold miss the blocks of the disk
  that it needs, asked for at once and awaited (by turns, too); for inserts a log that is written
  and synced, with no index behind it (of eight threads the first to come back from a sync lets
  the others go first, as ours waits for them); for removals such a log and the blocks in which
  the keys lie, read and checked; for reopening as much as a hit needs, opened, mapped, read and
  checked, no catalog, no lock; for queries beside a writer the same queries while it is another
  index that is written. Where not even a limit reaches the target, the last column says *out of
  reach here*, and how far from the limit we are, if that is no more than half as much again.
  *Split and hash* is no limit but a mark: a plain splitter and a hash of each word, no signature,
  without instructions of the processor's own; *nearkin, 16 rows* is another: the smallest
  signature there is, what ours costs but for the rows.
- *Memory of the process* grows from run to run of *Nearkin alone*, which are of one process: what
  the allocator keeps of writers that are gone. The first run's is held against the target.
- *Written* is what the kernel charges (`/proc/self/io`): whole folios, however little of one is
  written. At the largest size it is also what Nearkin handed to the system.
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
            list(&mut page, &figures.of(stage, "nearkin", size), what)?;
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
        let of_engine = figures.of(stage, engine, size);
        let durability = of_engine.first().map_or("", |row| row.durability.as_str());
        write!(page, " {durability} |")?;
    }
    page.push('\n');
    let mut measures: Vec<(&str, &str)> = Vec::new();
    for row in engines.iter().flat_map(|engine| figures.of(stage, engine, size)) {
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

/// A line per kind of text: medians and ratios.
fn by_script(page: &mut String, figures: &Figures) -> Result<()> {
    let of = |engine: &str, text: &str| figures.get("scripts", engine, 1, text);
    let rows = figures.of("scripts", "nearkin", 1);
    if rows.is_empty() {
        return Ok(());
    }
    page.push_str(SCRIPTS);
    let ascii = of("nearkin", ASCII);
    for row in rows {
        let text = row.measure.as_str();
        let times = |rival: Option<&Row>| ratio(rival, Some(row)).map_or(f64::NAN, |times| times);
        let (gaoya, native) = (of("gaoya", text), of("gaoya, native", text));
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

/// Minimum, median and maximum; with one run, the figure.
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
