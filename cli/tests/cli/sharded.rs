//! All reading commands accept a sharded index; all others refuse it.

use super::*;
use nearkin::shards::{Adopt, Shards, seal, shard_of};
use nearkin::{Document, Options, Reader};

/// Number of shards of the index `s`.
const SHARDS: u32 = 3;

/// An index `i`, and a sharded index `s` with the same documents.
fn both() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("l", similar_lines(40));
    scratch.ok("add i --jsonl l");
    let plain = Reader::open(scratch.path("i"), Options::default()).unwrap();
    let mut parts: Vec<Vec<Document>> = (0..SHARDS).map(|_| Vec::new()).collect();
    for document in plain.snapshot().iter() {
        let document = document.unwrap();
        parts[shard_of(&*document.key, SHARDS) as usize].push(document);
    }
    let mut shards = Shards::create(scratch.path("s"), plain.params(), SHARDS).unwrap();
    let mut made = Vec::new();
    for (shard, documents) in (0..SHARDS).zip(parts) {
        assert!(!documents.is_empty(), "shard {shard} has documents");
        let (ticket, part) = (shards.ticket(7, shard).unwrap(), scratch.path("part"));
        let sealed = seal(plain.params(), documents, &ticket, &part).unwrap();
        shards.place(&part, &sealed).unwrap();
        fs::remove_file(part).unwrap_or_default();
        made.push((shard, sealed));
    }
    shards.append(&made, Adopt::Refuse, None).unwrap();
    scratch
}

/// Lines in groups of four. Any two lines of a group differ in two words.
fn similar_lines(count: usize) -> String {
    let words = |group: usize| (0..60).map(|at| format!("g{group}w{at}")).collect::<Vec<_>>();
    let line = |at: usize| {
        let mut words = words(at / 4);
        words[at % 4 * 9] = format!("other{at}");
        format!("{{\"id\":\"k{at}\",\"text\":\"{}\"}}\n", words.join(" "))
    };
    (0..count).map(line).collect()
}

#[test]
fn reading_commands_answer_the_same_when_sharded() {
    let scratch = both();
    let queries = ["query INDEX --key k5 --json", "query INDEX --jsonl l --json --limit 9"];
    for command in queries.iter().chain(&["pairs INDEX --json", "clusters INDEX --json"]) {
        let run = |index: &str| scratch.ok(&command.replace("INDEX", index));
        let (plain, sharded) = (run("i"), run("s"));
        assert!(plain.stdout.lines().count() > 2, "{command}: {}", plain.stdout);
        let sorted = |ran: &Ran| {
            let mut lines: Vec<String> = ran.stdout.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(&plain), sorted(&sharded), "{command}");
    }
    scratch.ok("stats s --json").has("documents", 40);
    scratch.ok("verify s");
}

#[test]
fn a_sharded_export_imports_into_a_plain_index() {
    let scratch = both();
    scratch.ok("export i --out i.jsonl");
    scratch.ok("export s --out s.jsonl");
    let lines = |name: &str| {
        let text = fs::read_to_string(scratch.path(name)).unwrap();
        let mut lines: Vec<String> = text.lines().skip(1).map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(lines("s.jsonl").len(), 40);
    assert_eq!(lines("i.jsonl"), lines("s.jsonl"));
    scratch.ok("import all s");
    let pairs = |index: &str| scratch.ok(&format!("pairs {index} --json --sort"));
    assert_eq!(pairs("i").stdout, pairs("all").stdout);
}

#[test]
fn writing_commands_refuse_a_sharded_index() {
    let scratch = both();
    for command in ["add s --jsonl l", "remove s k1", "compact s"] {
        scratch.fails(command, &["sharded", "import"]);
    }
    assert_eq!(scratch.ok("stats s --json").objects()[0]["documents"], 40);
}
