//! Counts the instructions of sketching (an ASCII text and a Cyrillic one), insert, hit and miss
//! under callgrind, and compares them with `benches/instructions.tsv`. Fails if a count is more
//! than a tenth above the table.
//!
//! `cargo bench --bench instructions` compares; with `-- --write` it rewrites the table. Unlike
//! times, instruction counts hardly depend on other load, so they can be committed. They depend on
//! the compiler. For code that is selected by CPU features, they also depend on the CPU that
//! valgrind emulates, which has SSE to AVX2.

#![expect(clippy::print_stdout, reason = "a tool prints")]
#![expect(clippy::unwrap_used, reason = "a benchmark may fail")]

mod support;

use nearkin::{Durability, Sketcher};
use std::fmt::Write;
use std::hint::black_box;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// The measured operations, each with its number of repetitions.
const OPERATIONS: [(&str, u64); 5] =
    [("sketch", 200), ("cyrillic", 200), ("insert", 4_000), ("hit", 2_000), ("miss", 2_000)];
/// Number of documents in the queried index.
const STORED: u64 = 10_000;
/// Maximum ratio of a measured count to its value in the table.
const WORSE_MAX: f64 = 1.10;
const NOTE: &str = "\
# Instructions per operation, as `cargo bench --bench instructions` counts them; a change that makes
# one more than 10 % worse fails there. To accept new ones: `-- --write`, and say why in the commit.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--run") {
        run(&arguments[at + 1]);
        return ExitCode::SUCCESS;
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("SKIPPED: there is no valgrind, so no instructions were counted or compared.");
        println!("SKIPPED: install it (Debian: apt-get install valgrind) and run this again.");
        return ExitCode::SUCCESS;
    }
    let counted: Vec<(&str, u64)> = OPERATIONS
        .iter()
        .map(|(operation, times)| (*operation, count(operation, *times)))
        .collect();
    if arguments.iter().any(|argument| argument == "--write") {
        write(&counted);
        return ExitCode::SUCCESS;
    }
    compare(&counted)
}

fn table() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("benches/instructions.tsv")
}

#[expect(clippy::disallowed_methods, reason = "a file of the repository, not of an index")]
fn write(counted: &[(&str, u64)]) {
    let mut text = NOTE.to_owned();
    for (operation, instructions) in counted {
        writeln!(text, "{operation}\t{instructions}").unwrap();
        println!("{operation:<8} {instructions:>9}");
    }
    std::fs::write(table(), text).unwrap();
}

/// Prints the comparison. Fails if a count exceeds its value in the table by more than `WORSE_MAX`
/// permits.
fn compare(counted: &[(&str, u64)]) -> ExitCode {
    let text = std::fs::read_to_string(table()).unwrap();
    let mut worse = false;
    for (operation, now) in counted {
        let line = text.lines().find_map(|line| line.strip_prefix(operation)?.strip_prefix('\t'));
        let Some(before) = line.and_then(|before| before.parse::<u64>().ok()) else {
            println!("{operation}: not in {}", table().display());
            worse = true;
            continue;
        };
        let times = *now as f64 / before as f64;
        let verdict = if times > WORSE_MAX {
            worse = true;
            "WORSE by more than a tenth"
        } else if times < 1.0 / WORSE_MAX {
            "better: write the table anew (-- --write), so that it cannot creep back"
        } else {
            "as it was"
        };
        println!("{operation:<8} {before:>9} -> {now:>9}  {times:.3} times  {verdict}");
    }
    if worse {
        println!("If it has to be, write the table anew (-- --write) and say why in the commit.");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Runs one operation under callgrind. Returns the number of instructions per repetition.
fn count(operation: &str, times: u64) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--collect-atstart=no", "--toggle-collect=*on_the_scale*"])
        .arg(format!("--callgrind-out-file={}", folder.path().join("out").display()))
        .arg(std::env::current_exe().unwrap())
        .args(["--run", operation])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let collected = said.lines().find_map(|line| line.split_once("Collected : "));
    let instructions: u64 = collected.unwrap().1.trim().parse().unwrap();
    assert!(instructions > 0, "nothing was counted: {said}");
    instructions / times
}

/// The function whose instructions callgrind counts: everything that `work` does, and nothing else.
#[inline(never)]
fn on_the_scale(work: &mut dyn FnMut()) {
    black_box(work)();
}

fn run(operation: &str) {
    let times = OPERATIONS.iter().find(|(name, _)| *name == operation).unwrap().1;
    match operation {
        "sketch" => sketch(times, str::to_owned),
        "cyrillic" => sketch(times, cyrillic),
        "insert" => insert(times),
        "hit" => query(times, 0),
        _ => query(times, 1 << 40),
    }
}

/// Replaces each ASCII letter by a Cyrillic one. So the text keeps its length in characters and its
/// separators.
fn cyrillic(text: &str) -> String {
    let letter = |c: char| match c {
        'a'..='z' => char::from_u32(u32::from(c) - u32::from('a') + 0x430).unwrap_or(c),
        'A'..='Z' => char::from_u32(u32::from(c) - u32::from('A') + 0x410).unwrap_or(c),
        c => c,
    };
    text.chars().map(letter).collect()
}

fn sketch(times: u64, change: fn(&str) -> String) {
    let sketcher = Sketcher::new(&support::params());
    let texts: Vec<String> = support::texts(times).iter().map(|text| change(text)).collect();
    on_the_scale(&mut || {
        for text in &texts {
            black_box(sketcher.text(text).unwrap());
        }
    });
}

/// Inserts batches of 1,000 documents. They are not synced: a sync executes hardly any instructions
/// of this process.
fn insert(times: u64) {
    let folder = tempfile::tempdir().unwrap();
    let options = support::options().durability(Durability::OsBuffer);
    let index = support::filled(folder.path(), options, support::BATCH);
    let batches = support::batches(index.params(), support::BATCH, times);
    on_the_scale(&mut || {
        for batch in &batches {
            index.write(batch).unwrap();
        }
    });
}

fn query(times: u64, first: u64) {
    let folder = tempfile::tempdir().unwrap();
    let options = support::options().durability(Durability::OsBuffer);
    let index = support::filled(folder.path(), options, STORED);
    index.compact().unwrap();
    let queries: Vec<_> =
        (first..first + times).map(|number| support::signature(index.params(), number)).collect();
    let snapshot = index.snapshot();
    let mut found = 0;
    let mut ask = || {
        for query in &queries {
            found += snapshot.query(query).run().unwrap().found;
        }
    };
    // A first run outside the measurement, because a block is verified when it is first read.
    ask();
    on_the_scale(&mut ask);
    assert_eq!(found > 0, first == 0);
}
