//! The conditions of `query`, `pairs`, `clusters` and `admit`: the answers are the unrestricted
//! ones, of the documents that pass.

use super::*;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

const DOCUMENTS: usize = 40;

/// Document n has the key `a/n` or `b/n` and the time 1,000 n, and shares most words with the next
/// ones.
fn made() -> Scratch {
    let scratch = Scratch::new();
    let line = |number: usize| {
        let tenant = if number.is_multiple_of(3) { "b" } else { "a" };
        let first = number / 10 * 100 + number % 10;
        let words: Vec<_> = (first..first + 20).map(|word| format!("w{word}")).collect();
        json!({"id": format!("{tenant}/{number}"), "text": words.join(" ")}).to_string() + "\n"
    };
    scratch.write("lines", (0..DOCUMENTS).map(line).collect::<String>());
    scratch.ok("add now --jsonl lines --shingles words:1 --threshold 0.5");
    scratch.ok("export now --out now.jsonl");
    let exported = fs::read_to_string(scratch.path("now.jsonl")).unwrap();
    let dated = exported.lines().map(|line| {
        let document: Value = serde_json::from_str(line).unwrap();
        let Some(key) = document["key"].as_str() else { return format!("{line}\n") };
        let now = format!("\"time\":{}", document["time"]);
        format!("{}\n", line.replace(&now, &format!("\"time\":{}", time(key))))
    });
    scratch.write("dated.jsonl", dated.collect::<String>());
    scratch.ok("import i dated.jsonl");
    scratch
}

fn time(key: &str) -> u64 {
    1_000 * key[2..].parse::<u64>().unwrap()
}

/// Options, and whether a document with this key passes them.
type Case = (&'static str, fn(&str) -> bool);

const CASES: [Case; 5] = [
    ("--prefix a/", |key| key.starts_with("a/")),
    ("--after 7000", |key| time(key) >= 7_000),
    ("--before 1970-01-01T00:00:25Z", |key| time(key) < 25_000),
    ("--prefix b/ --after 3000 --before 30000", |key| {
        key.starts_with("b/") && (3_000..30_000).contains(&time(key))
    }),
    ("--prefix c/", |_| false),
];

#[test]
fn queries_and_pairs_are_those_of_the_documents_that_pass() {
    let scratch = made();
    for (command, fields) in
        [("query i --key a/4 --limit 100", &["key"][..]), ("pairs i", &["a", "b"])]
    {
        let found = |options: &str| {
            let objects = scratch
                .ok(format!("{command} --threshold 0.5 --json {options}").trim_end())
                .objects();
            let count = objects.len();
            let set: BTreeSet<_> = objects.iter().map(Value::to_string).collect();
            assert_eq!(set.len(), count);
            objects
        };
        let all = found("");
        assert!(all.len() > 5, "{all:?}");
        for (options, passes) in CASES {
            let sorted =
                |objects: &[Value]| objects.iter().map(Value::to_string).collect::<BTreeSet<_>>();
            let expected: Vec<_> = all
                .iter()
                .filter(|one| fields.iter().all(|field| passes(one[*field].as_str().unwrap())))
                .cloned()
                .collect();
            assert_eq!(sorted(&found(options)), sorted(&expected), "{command} {options}");
        }
    }
}

/// The groups of keys that pairs connect.
fn connected(pairs: &[Value]) -> BTreeSet<BTreeSet<String>> {
    let mut groups: Vec<BTreeSet<String>> = Vec::new();
    for pair in pairs {
        let mut joined: BTreeSet<_> =
            [&pair["a"], &pair["b"]].map(|key| key.as_str().unwrap().to_owned()).into();
        groups.retain(|group| {
            let is_apart = group.is_disjoint(&joined);
            if !is_apart {
                joined.extend(group.iter().cloned());
            }
            is_apart
        });
        groups.push(joined);
    }
    groups.into_iter().collect()
}

#[test]
fn clusters_are_connected_by_documents_that_pass() {
    let scratch = made();
    let pairs = scratch.ok("pairs i --threshold 0.7 --json").objects();
    let mut differs = 0;
    for (options, passes) in CASES {
        let both = |pair: &&Value| ["a", "b"].iter().all(|at| passes(pair[at].as_str().unwrap()));
        let expected = connected(&pairs.iter().filter(both).cloned().collect::<Vec<_>>());
        let ran = scratch.ok(format!("clusters i --threshold 0.7 --json {options}").trim_end());
        let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for one in ran.objects() {
            let key = one["key"].as_str().unwrap().to_owned();
            found.entry(one["cluster"].to_string()).or_default().insert(key);
        }
        assert_eq!(found.into_values().collect::<BTreeSet<_>>(), expected, "{options}");
        differs += usize::from(expected != connected(&pairs));
    }
    assert_eq!(differs, CASES.len());
}

#[test]
fn a_document_is_admitted_if_its_duplicates_do_not_pass() {
    let scratch = made();
    let lines = fs::read_to_string(scratch.path("lines")).unwrap();
    let copy = lines.lines().next().unwrap().replace("b/0", "b/copy");
    for (options, decision) in [
        ("", "rejected"),
        ("--prefix b/", "rejected"),
        ("--before 1000", "rejected"),
        ("--after 1", "admitted"),
    ] {
        let command = format!("admit i --jsonl - --reject 0.99 --json {options}");
        let command = command.trim_end();
        let ran = scratch.run_with_stdin(command, copy.as_bytes()).ends_with(0);
        assert_eq!(ran.objects()[0]["decision"], decision, "{options}");
    }
    let refused = scratch.run_with_stdin("admit i --jsonl - --prefix a/", copy.as_bytes());
    refused.ends_with(2).says(&["\"b/copy\" does not begin with the prefix \"a/\""]);
}

#[test]
fn a_deadline_ends_a_search_and_says_so() {
    let scratch = made();
    let in_time = scratch.ok("query i --key a/4 --threshold 0.5 --deadline 1h --json");
    assert!(in_time.objects().len() > 2 && in_time.stderr.is_empty(), "{}", in_time.stderr);
    let late = scratch.ok("query i --key a/4 --threshold 0.5 --deadline 0ms --json");
    assert!(late.objects().len() < in_time.objects().len());
    assert!(late.objects().iter().all(|one| one["complete"] == false));
    assert!(in_time.objects().iter().all(|one| one.get("complete").is_none()));
    late.says(&["the deadline passed: matches may be missing; give more time with --deadline"]);
    let quiet = scratch.ok("query i --text nothing --deadline 0ms --quiet");
    quiet.says(&["the deadline passed: matches may be missing"]);
    let late = scratch.ok("query i --key a/4 --threshold 0.99 --deadline 0ms");
    let late = late.says(&["the deadline passed"]).says_not("no document of estimated similarity");
    assert_eq!(late.stderr.lines().count(), 1, "{}", late.stderr);
    let many = scratch.ok("query i --jsonl lines --deadline 0ms --json --quiet");
    many.says(&["for 40 queries the deadline passed"]);
    for command in ["pairs", "clusters"] {
        scratch.ok(&format!("{command} i --deadline 1h"));
        let late = scratch.run(&format!("{command} i --deadline 0s")).ends_with(2);
        late.says(&["the deadline passed", "--deadline"]).says_not("interrupted");
    }
    scratch.fails("query i --key a/4 --deadline soon", &["must be a number and a unit", "ms"]);
    scratch.fails("add n lines --ttl 500ms", &["90d", "with s, m, h, w"]);
}

#[test]
fn times_without_documents_are_refused_as_they_were_given() {
    let scratch = made();
    for command in ["query i --key a/4", "pairs i", "clusters i", "admit new --jsonl lines"] {
        scratch.fails(
            &format!("{command} --after 2023-11-21 --before 2023-11-20"),
            &["--after 2023-11-21 and --before 2023-11-20", "an earlier time than --before"],
        );
        scratch.fails(&format!("{command} --after 5 --before 5"), &["--after 5"]);
    }
    assert!(!scratch.path("new").exists());
}

#[test]
fn a_late_query_of_passages_says_only_that() {
    let scratch = Scratch::with_licences();
    scratch.ok("add p docs --shingles words:3 --passages 64:32");
    let late = scratch.ok("query p docs/MIT.txt --deadline 0ms");
    let late = late.says(&["the deadline passed: matches may be missing"]);
    assert_eq!(late.stderr.lines().count(), 1, "{}", late.stderr);
}
