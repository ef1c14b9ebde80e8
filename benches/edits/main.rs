//! Measures which settings find edited copies, and which drop documents that are not copies.
//!
//! `cargo bench --bench edits` reads the corpora in the folder `NEARKIN_DATA` (default
//! `../shared/data`). It plants 300 edits of each of 18 kinds, and makes 600 documents that share a
//! template or boilerplate. It writes the tables of `docs/guide/TUNING.md`: first those of the
//! settings, then those of exact comparison. `cargo bench --bench edits -- settings` writes only
//! the former, `-- exact` only the latter. `-- removals` writes `docs/reports/REMOVALS.md`
//! instead: see `removals.rs`.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

mod against;
mod brute_force;
mod exact;
mod made;
mod negatives;
mod plant;
mod programs;
mod removals;
mod settings;
#[path = "../support/mod.rs"]
mod support;

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use against::Came;
use nearkin::{Admit, Durability, Index, Maintenance, Options, Params, Shingles, Sketcher};
use plant::Edit;
use settings::Setting;
use support::corpora;

/// Corpora whose texts are edited, and the maximum number of texts of each.
const CORPORA: [(&str, usize); 5] = [
    ("reuters21578", 6_000),
    ("debian_descriptions", 6_000),
    ("python_docs", 1_000),
    ("state_union", 200),
    ("inaugural", 60),
];
const PAGE: &str = "docs/guide/TUNING.md";
/// Number of edits per kind.
const EACH: usize = 300;
/// Number of hard negatives.
const NEGATIVES: usize = 600;
/// Accepted lengths of a text, in words.
const WORDS: std::ops::RangeInclusive<usize> = 60..=2_000;
/// Maximum similarity between two selected texts (words:3).
const CLEAN: f64 = 0.3;

/// The edited texts, the kinds of edits, and the compared settings.
struct Stage {
    title: &'static str,
    texts: Vec<String>,
    negatives: Vec<String>,
    edits: &'static [(&'static str, Edit)],
    settings: Vec<Setting>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = corpora::folder();
    if std::env::args().any(|argument| argument == "removals") {
        return removals::write(&folder);
    }
    if !folder.join("reuters21578.jsonl.zst").exists() {
        println!("SKIPPED: {} has no corpora; NEARKIN_DATA names a folder", folder.display());
        return Ok(());
    }
    let mut texts = clean_texts(&folder)?;
    // Edits and negatives use different texts.
    let rest = texts.split_off(texts.len() - NEGATIVES);
    let only = |part: &str| std::env::args().any(|argument| argument == part);
    if !only("settings") {
        let exactly = exact::tables(&texts, &negatives::documents(&rest))?;
        corpora::write_tables(PAGE, "benches/edits -- exact", &exactly)?;
    }
    if only("exact") {
        return Ok(());
    }
    let begin = |text: &String| text.split_whitespace().take(12).collect::<Vec<_>>().join(" ");
    let mut short: Vec<String> = texts.iter().map(begin).collect();
    short.sort();
    short.dedup_by(|a, b| a.get(..30) == b.get(..30));
    let code = support_code()?;
    let stages = [
        Stage {
            title: "Documents of 60 words and more",
            negatives: negatives::documents(&rest),
            texts,
            edits: &plant::EDITS,
            settings: settings::for_documents()?,
        },
        Stage {
            title: "Texts of a dozen words",
            negatives: negatives::short(&rest),
            texts: short,
            edits: &plant::SHORT,
            settings: settings::for_short()?,
        },
        Stage {
            title: "Program text (the files of this repository)",
            negatives: negatives::code(&code),
            texts: code,
            edits: &plant::CODE,
            settings: settings::for_code()?,
        },
    ];
    let mut tables = String::new();
    for stage in stages {
        let mut report = Report::new(&stage);
        println!("{}", report.lines);
        for setting in &stage.settings {
            let found = recall(setting, &stage)?;
            let dropped = false_drops(setting, &stage.negatives)?;
            report.add(setting, &found, &stage, dropped);
        }
        tables.push_str(&report.finish(&stage));
    }
    corpora::write_tables(PAGE, "benches/edits", &tables)
}

/// The Rust files of this repository with 40 lines or more.
fn support_code() -> Result<Vec<String>, Box<dyn Error>> {
    let mut folders: Vec<_> =
        ["src", "input/src", "apps", "cli/src", "tests"].map(PathBuf::from).into();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in entries(&folder)? {
            if entry.is_dir() {
                folders.push(entry);
            } else if entry.extension().is_some_and(|extension| extension == "rs") {
                files.push(entry);
            }
        }
    }
    files.sort();
    let texts = files.iter().map(|file| read(&file.to_string_lossy()));
    let texts = texts.collect::<Result<Vec<_>, _>>()?;
    Ok(texts.into_iter().filter(|text| text.lines().count() >= 40).collect())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}

/// Texts without near-duplicates among them, in a fixed pseudo-random order.
fn clean_texts(folder: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let scratch = tempfile::tempdir()?;
    let params = Params::for_threshold(CLEAN).shingles(Shingles::Words(3)).build()?;
    let index = Index::create(scratch.path().join("clean"), &params, options())?;
    let sketcher = index.sketcher();
    let mut texts = Vec::new();
    for (name, most) in CORPORA {
        let mut taken = 0;
        let lines = corpora::unpack(folder, &format!("{name}.jsonl"))?;
        for (number, text) in corpora::texts(&lines)?.into_iter().enumerate() {
            if taken == most || !WORDS.contains(&text.split_whitespace().count()) {
                continue;
            }
            let key = format!("{name}/{number}");
            let signature = sketcher.text(&text)?;
            if index.admit(&key, &signature, &Admit::at(CLEAN))?.is_admitted() {
                texts.push(text);
                taken += 1;
            }
        }
    }
    let mut state = 3;
    for at in (1..texts.len()).rev() {
        texts.swap(at, usize::try_from(support::random(&mut state))? % (at + 1));
    }
    Ok(texts)
}

fn options() -> Options {
    Options::default().durability(Durability::OsBuffer).maintenance(Maintenance::Inline)
}

/// For each kind of edit, the number of edited copies that find their original.
fn recall(setting: &Setting, stage: &Stage) -> Result<Vec<usize>, Box<dyn Error>> {
    let Stage { texts, edits, .. } = stage;
    let scratch = tempfile::tempdir()?;
    let index = Index::create(scratch.path().join("texts"), &setting.params, options())?;
    let sketcher = Sketcher::new(&setting.params);
    for (number, text) in texts.iter().enumerate() {
        index.insert(key(number), &setting.sketch(&sketcher, text)?)?;
    }
    let mut counts = Vec::new();
    for (kind, (_, edit)) in edits.iter().enumerate() {
        let mut found = 0;
        for number in (kind * EACH..(kind + 1) * EACH).map(|at| at % texts.len()) {
            let mut random = u64::try_from(number)? << 8;
            let other = &texts[(number + texts.len() / 2) % texts.len()];
            let copy = edit.apply(&texts[number], other, &mut random);
            let signature = setting.sketch(&sketcher, &copy)?;
            let answer = index.query(&signature).threshold(setting.threshold).run()?;
            found += usize::from(answer.iter().any(|found| found.key == key(number)));
        }
        counts.push(found);
    }
    Ok(counts)
}

/// The number of hard negatives that are dropped as copies of other documents.
fn false_drops(setting: &Setting, negatives: &[String]) -> Result<usize, Box<dyn Error>> {
    let scratch = tempfile::tempdir()?;
    let index = Index::create(scratch.path().join("negatives"), &setting.params, options())?;
    let sketcher = Sketcher::new(&setting.params);
    let mut dropped = 0;
    for (number, text) in negatives.iter().enumerate() {
        let signature = setting.sketch(&sketcher, text)?;
        let admission = index.admit(key(number), &signature, &Admit::at(setting.threshold))?;
        dropped += usize::from(!admission.is_admitted());
    }
    Ok(dropped)
}

fn read(page: &str) -> Result<String, Box<dyn Error>> {
    Ok(std::fs::read_to_string(page)?)
}

fn key(number: usize) -> [u8; 8] {
    u64::try_from(number).unwrap_or(u64::MAX).to_le_bytes()
}

/// The tables of a stage.
struct Report {
    lines: String,
    kinds: Vec<(&'static str, Vec<usize>)>,
    came: Vec<Came>,
}

/// Settings that a user can choose by name.
const CHOSEN: [&str; 4] = ["words:3 at 0.7 (the default)", "documents", "archive", "training"];

impl Report {
    fn new(stage: &Stage) -> Self {
        let lines = format!(
            "### {}\n\n{} edits of {} texts, {} hard negatives.\n\n\
             | setting | copies found | false drops |\n|---|---:|---:|",
            stage.title,
            EACH * stage.edits.len(),
            stage.texts.len(),
            stage.negatives.len()
        );
        Self { lines, kinds: Vec::new(), came: Vec::new() }
    }

    fn add(&mut self, setting: &Setting, found: &[usize], stage: &Stage, dropped: usize) {
        let count = found.iter().sum::<usize>();
        self.came.push(Came { name: setting.name, found: count, dropped });
        let all = count as f64 / (EACH * stage.edits.len()) as f64;
        let line = format!("| {} | {all:.3} | {dropped} |", setting.name);
        println!("{line}");
        self.lines.push('\n');
        self.lines.push_str(&line);
        self.kinds.push((setting.name, found.to_vec()));
    }

    /// The summary table, followed by the comparison with other programs and by the table by kinds
    /// of edits.
    fn finish(mut self, stage: &Stage) -> String {
        self.lines.push('\n');
        self.lines.push_str(&against::table(&self.came, &CHOSEN));
        // If the settings of other programs are measured, too, the table leaves out those of our
        // settings that have no name: with all of them it would be too wide.
        if self.kinds.iter().any(|(name, _)| name.ends_with(against::THEIRS)) {
            let has_name = |name: &str| CHOSEN.contains(&name) || name.ends_with(against::THEIRS);
            self.kinds.retain(|(name, _)| has_name(name));
        }
        let _ = write!(self.lines, "\n| copies found of each kind |");
        for (name, _) in &self.kinds {
            let _ = write!(self.lines, " {name} |");
        }
        let _ = writeln!(self.lines, "\n|---|{}", "---:|".repeat(self.kinds.len()));
        for (kind, (name, _)) in stage.edits.iter().enumerate() {
            let _ = write!(self.lines, "| {name} |");
            for (_, found) in &self.kinds {
                let _ = write!(self.lines, " {:.2} |", found[kind] as f64 / EACH as f64);
            }
            self.lines.push('\n');
        }
        self.lines.push('\n');
        self.lines
    }
}
