//! Several processes that write to one index at once: Nearkin's shared handles, and SQLite with a
//! busy timeout. All of them start together, and every insert is synced before the next one.

use crate::engines::{Engine, Kind, Nearkin};
use crate::made;
use crate::options::Options;
use crate::results::{Result, Results, Subject};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// Environment variable of a writing process: "<engine> <first> <inserts> <batch> <folder>".
const VARIABLE: &str = "RIVALS_WRITER";
const PROCESSES: u32 = 8;

/// The writers: name, engine, processes.
const WRITERS: [(&str, &str, u32); 5] = [
    ("nearkin", "shared", PROCESSES),
    ("sqlite", "sqlite", PROCESSES),
    ("nearkin, one process", "shared", 1),
    ("nearkin, one process, not shared", "alone", 1),
    ("sqlite, one process", "sqlite", 1),
];

fn open(engine: &str, folder: &Path) -> Result<Box<dyn Engine>> {
    let options = nearkin::Options::default();
    Ok(match engine {
        "shared" => Box::new(Nearkin::open_with(folder, options.shared(true))?),
        "alone" => Box::new(Nearkin::open_with(folder, options)?),
        _ => Kind::Sqlite.open(folder)?,
    })
}

/// What a writing process does. False in any other process.
pub fn write() -> Result<bool> {
    let Ok(task) = std::env::var(VARIABLE) else { return Ok(false) };
    let mut words = task.splitn(5, ' ');
    let engine = words.next().unwrap_or_default().to_owned();
    let mut number = || words.next().unwrap_or_default().parse::<u32>();
    let (first, inserts, batch) = (number()?, number()?, number()?);
    let mut engine = open(&engine, Path::new(words.next().unwrap_or_default()))?;
    println!("ready");
    std::io::stdin().lock().read_line(&mut String::new())?;
    let mut times = Vec::new();
    for at in 0..inserts {
        let document = first + at * batch;
        engine.stage(document, &made::documents(document, batch))?;
        let begun = Instant::now();
        engine.insert()?;
        times.push(begun.elapsed().as_nanos().to_string());
    }
    println!("{}", times.join(" "));
    engine.close()?;
    Ok(true)
}

fn spawn(engine: &str, number: u32, inserts: u32, batch: u32, folder: &Path) -> Result<Child> {
    let first = number * inserts * batch;
    let task = format!("{engine} {first} {inserts} {batch} {}", folder.display());
    let mut command = Command::new(std::env::current_exe()?);
    Ok(command.env(VARIABLE, task).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?)
}

/// Runs writers side by side. Returns the seconds that all took, and the time of each insert in
/// microseconds, in ascending order.
fn race(engine: &str, processes: u32, inserts: u32, batch: u32) -> Result<(f64, Vec<f64>)> {
    let folder = tempfile::tempdir()?;
    drop(open(engine, folder.path())?);
    let spawned = (0..processes).map(|at| spawn(engine, at, inserts, batch, folder.path()));
    let mut children = spawned.collect::<Result<Vec<_>>>()?;
    let mut lines = Vec::new();
    for child in &mut children {
        let out = child.stdout.take().ok_or("no output")?;
        let mut out = BufReader::new(out).lines();
        out.next().ok_or("a writer failed")??;
        lines.push(out);
    }
    let begun = Instant::now();
    for child in &mut children {
        child.stdin.take().ok_or("no input")?.write_all(b"go\n")?;
    }
    let mut times = Vec::new();
    for out in &mut lines {
        let line = out.next().ok_or("a writer failed")??;
        times.extend(line.split(' ').map(|time| time.parse::<f64>().map_or(0.0, |ns| ns / 1e3)));
    }
    let seconds = begun.elapsed().as_secs_f64();
    for mut child in children {
        if !child.wait()?.success() {
            return Err("a writer failed".into());
        }
    }
    times.sort_unstable_by(f64::total_cmp);
    let wanted = (processes * inserts) as usize;
    if times.len() != wanted {
        return Err(format!("{} inserts of {wanted}", times.len()).into());
    }
    verify(engine, folder.path(), processes * inserts * batch)?;
    Ok((seconds, times))
}

/// Every document must be found.
fn verify(engine: &str, folder: &Path, documents: u32) -> Result<()> {
    let engine = open(engine, folder)?;
    let mut reader = engine.reader()?;
    let mut found = Vec::new();
    for first in (0..documents).step_by(1_000) {
        let count = 1_000.min(documents - first);
        reader.stage(&made::documents(first, count))?;
        for at in 0..count {
            found.clear();
            reader.query(at as usize, &mut found)?;
            if !found.contains(&(first + at)) {
                return Err(format!("document {} is lost", first + at).into());
            }
        }
    }
    Ok(())
}

pub fn run(options: &Options, results: &mut Results) -> Result<()> {
    for _ in 0..options.runs {
        for (what, inserts, batch) in
            [("single", options.shared, 1), ("batch", options.shared / 10, 100)]
        {
            for (name, engine, processes) in WRITERS {
                let (seconds, times) = race(engine, processes, inserts, batch)?;
                let documents = u64::from(processes * inserts * batch);
                let durability = "sync per insert";
                let of = Subject { stage: "shared", engine: name, durability, documents };
                let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
                results.note(of, &format!("{what}: documents"), "/s", documents as f64 / seconds);
                results.note(of, &format!("{what}: p50"), "us", at(0.5));
                results.note(of, &format!("{what}: p99"), "us", at(0.99));
                results.note(of, &format!("{what}: longest"), "us", at(1.0));
            }
        }
    }
    Ok(())
}
