//! Every command has examples in its help, and all of them work.

use super::*;

/// The commands, ordered so that the examples of each command find what earlier examples created.
const COMMANDS: &str = "create add admit dedup audit dups apply mirror query list get pairs \
    clusters report stats verify compact backup salvage export import rebuild remove tune \
    completions man";

#[test]
fn every_example_works() {
    let scratch = Scratch::new();
    for (file, name) in [("mit", "MIT"), ("isc", "ISC"), ("x11", "X11")] {
        scratch.write(&format!("docs/{file}.txt"), licence(name));
    }
    fs::copy(data("pydocs.jsonl"), scratch.path("papers.jsonl")).unwrap();
    scratch.write("questions.jsonl", "{\"id\":1,\"text\":\"What does the harbour hold?\"}\n");
    scratch.write("carts.jsonl", "{\"id\":1,\"items\":[\"tea\",2]}\n");
    scratch.write("seen.csv", "user,film\nann,Alien\nbob,Heat\nann,Brazil\n");
    scratch.write("pairs.tsv", "3.11/about.rst\t3.13/about.rst\n");
    fs::create_dir(scratch.path("man1")).unwrap();
    scratch.write("removed.jsonl", "{\"id\":1,\"text\":\"A harbour holds ships and boats.\"}\n");
    scratch.write("keys.txt", "3.11/about.rst\n3.13/about.rst\n");
    scratch.write("removals.txt", "3.11/c-api/abstract.rst\n");
    scratch.ok("add essays.nearkin docs --for quotes");
    for command in COMMANDS.split(' ') {
        let help = scratch.ok(&format!("{command} --help")).stdout;
        let (_, examples) = help.split_once("\nExample").expect(command);
        let examples: Vec<_> =
            examples.lines().filter_map(|line| line.strip_prefix("  nearkin ")).collect();
        assert!(!examples.is_empty(), "{command} has no example");
        for example in examples {
            assert!(example.starts_with(command), "{example}");
            scratch.run_split(&words(example)).ends_with(0);
        }
    }
    // The example in the top-level help works, too.
    let scratch = Scratch::new();
    scratch.write("docs/a.txt", licence("MIT"));
    let help = scratch.ok("--help").stdout;
    for command in COMMANDS.split(' ') {
        assert!(help.contains(&format!("\n  {command}")), "{command}");
    }
    let (_, examples) = help.split_once("\nStart with").unwrap();
    for example in examples.lines().filter_map(|line| line.strip_prefix("  nearkin ")) {
        scratch.run_split(&words(example)).ends_with(0);
    }
}

#[test]
fn the_help_of_shared_options_is_about_the_command() {
    let scratch = Scratch::new();
    for (command, words) in [
        ("query", "Minimum similarity of a match"),
        ("pairs", "Minimum similarity of a pair"),
        ("clusters", "Minimum similarity that connects two documents"),
        ("admit", "Decide as if only documents whose keys begin with PREFIX were stored"),
    ] {
        for option in ["-h", "--help"] {
            let help = scratch.ok(&format!("{command} {option}")).stdout;
            let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(help.contains(words), "{command} {option}: {help}");
            assert!(command == "admit" || !help.contains("`admit`"), "{command} {option}");
        }
    }
}

/// Splits a line like a shell, as far as the examples need it: blanks and double quotes.
fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for (at, part) in line.split('"').enumerate() {
        if at % 2 == 0 { words.extend(part.split_whitespace()) } else { words.push(part) }
    }
    words
}
