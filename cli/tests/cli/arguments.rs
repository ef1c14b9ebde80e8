//! Whatever arguments a person gives, no command panics: options and values are drawn at random.

use super::*;
use std::time::Instant;

/// Commands that end by themselves.
const COMMANDS: &str = "create add admit dedup dups query list get pairs clusters report stats \
    verify compact backup salvage export import rebuild remove tune completions man";

/// Lines that are right; options are added to them.
const GOOD: [&str; 16] = [
    "tune --jsonl docs.jsonl --known known.tsv",
    "tune docs",
    "add i docs",
    "add j --jsonl docs.jsonl",
    "admit i --jsonl docs.jsonl",
    "dedup docs.jsonl",
    "dups docs",
    "query i docs/MIT.txt",
    "query i --jsonl docs.jsonl",
    "query i --key docs/ISC.txt",
    "pairs i",
    "clusters i",
    "list i",
    "report i --out page.html",
    "rebuild i k",
    "stats i",
];

/// Options that wait for changes.
const LEFT_OUT: [&str; 2] = ["--watch", "--follow"];

/// Runs by default; `NEARKIN_ARGUMENTS=3000` makes more, `NEARKIN_SEED` other ones.
const RUNS: u64 = 150;

/// Numbers at the edges of what types hold and of what options allow, words, and names of files.
const VALUES: &str = "\
    0 1 -1 2 3 16 1024 1025 0.0 0.05 0.1 0.15 0.5 0.99 1.0 1.1 -0.0 NaN inf 1e-320 1e308 \
    18446744073709551615 18446744073709551616 4294967296 9223372036854775807 50% 101% 0% \
    1K 1T 99999999999T 1s 1ms 99999999999d - . i j k docs docs/MIT.txt docs.jsonl \
    known.tsv none all words:1 words:0 words:999999999 chars:1 chars:64 lines:1 items sign \
    minhash external:x short records code documents quotes archive agree rare numbers keep xxh3 \
    utf-8 utf-16le latin1 id text nothing key,key 2026-11-28 1970-01-01 9999-12-31 \
    -9999-01-01";

/// Knuth's MMIX generator.
struct Random(u64);

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % count as u64) as usize
    }

    fn of<'a, T>(&mut self, values: &'a [T]) -> &'a T {
        &values[self.below(values.len())]
    }
}

/// The long options of a command, and whether each takes a value.
fn options(help: &str) -> Vec<(String, bool)> {
    let line = |line: &str| {
        let text = line.trim_start();
        let text = text.split_once(", ").map_or(text, |(short, long)| match short.len() {
            2 => long,
            _ => text,
        });
        let (name, rest) = text.split_at(text.find(' ').unwrap_or(text.len()));
        let is_option = name.starts_with("--") && line.starts_with("  ");
        is_option.then(|| (name.to_owned(), rest.trim_start().starts_with('<')))
    };
    help.lines().filter_map(line).filter(|(name, _)| !LEFT_OUT.contains(&name.as_str())).collect()
}

#[test]
fn no_arguments_make_a_command_panic() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let seed = number("NEARKIN_SEED").unwrap_or(58);
    let runs = number("NEARKIN_ARGUMENTS").unwrap_or(RUNS);
    let values: Vec<&str> =
        VALUES.split_whitespace().chain(["", " ", "a\tb", "\u{202e}", "a=b"]).collect();
    let fresh = || {
        let scratch = Scratch::with_licences();
        scratch.write("docs.jsonl", super::tune::hardly_similar());
        scratch.write("known.tsv", "a\tb\n");
        scratch
    };
    let mut scratch = fresh();
    let commands: Vec<&str> = COMMANDS.split_whitespace().collect();
    let helps = commands.iter().map(|command| scratch.ok(&format!("{command} --help")).stdout);
    let options: Vec<Vec<(String, bool)>> = helps.map(|help| options(&help)).collect();
    let mut random = Random(seed);
    for run in 0..runs {
        if run % 50 == 49 {
            scratch = fresh();
        }
        let good: Vec<&str> = random.of(&GOOD).split(' ').collect();
        let mut arguments =
            if random.below(3) > 0 { good } else { vec![commands[random.below(commands.len())]] };
        let at = commands.iter().position(|command| *command == arguments[0]).unwrap();
        if arguments.len() == 1 {
            for _ in 0..random.below(3) {
                arguments.push(*random.of(&values[..]));
            }
        }
        for _ in 0..random.below(4) {
            let (name, has_value) = random.of(&options[at]);
            arguments.push(name);
            if *has_value {
                arguments.push(*random.of(&values[..]));
            }
        }
        let began = Instant::now();
        let ran = scratch.run_split(&arguments);
        let said = format!("seed {seed}, run {run}: {arguments:?}: {}", ran.stderr);
        assert!([0, 1, 2, 3].contains(&ran.status) && !ran.stderr.contains("panicked"), "{said}");
        assert!(began.elapsed().as_secs() < 60, "{said}");
    }
}
