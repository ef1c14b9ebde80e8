//! Common shingles (`--ignore-common`) and numbers that do not count.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

/// Random words, the same ones each time.
struct Words(u64);

impl Words {
    fn next(&mut self, count: usize) -> String {
        let mut word = || {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            format!("w{}", (self.0 >> 33) % 5_000)
        };
        (0..count).map(|_| word()).collect::<Vec<_>>().join(" ")
    }
}

/// Twenty stories by two of three agencies each, and forty by one. Each agency puts its notice
/// below its texts.
fn news() -> String {
    let mut words = Words(7);
    let notices: Vec<String> =
        (0..3).map(|agency| format!("Agency {agency}, {}", words.next(60))).collect();
    let mut lines = String::new();
    for story in 0..60 {
        let text = words.next(50);
        let agencies = if story < 20 { 2 } else { 1 };
        for agency in 0..agencies {
            let (notice, own) = (&notices[(story + agency) % 3], words.next(3));
            let text = format!("{own} {text}\n{notice}");
            let id = format!("s{story}-{agency}");
            lines.push_str(&serde_json::json!({"id": id, "text": text}).to_string());
            lines.push('\n');
        }
    }
    lines
}

/// The sets of stories that are clusters.
fn stories(scratch: &Scratch, index: &str) -> Vec<BTreeSet<String>> {
    let mut clusters: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in scratch.ok(&format!("clusters {index} --json")).objects() {
        let key = row["key"].as_str().unwrap();
        let story = key.split('-').next().unwrap().to_owned();
        clusters.entry(row["cluster"].to_string()).or_default().insert(story);
    }
    clusters.into_values().collect()
}

#[test]
fn notices_neither_find_texts_nor_make_them_similar() {
    let scratch = Scratch::new();
    scratch.write("news.jsonl", news());
    scratch.ok("add plain --jsonl news.jsonl --threshold 0.4");
    assert!(stories(&scratch, "plain").iter().any(|stories| stories.len() > 5), "as a check");
    let ran = scratch.ok("add i --jsonl news.jsonl --threshold 0.4 --ignore-common 10%");
    ran.says(&["shingles in at least 10 % of 80 different texts left out", "common ones"]);
    let found = stories(&scratch, "i");
    assert_eq!(found.len(), 20, "{found:?}");
    assert!(found.iter().all(|stories| stories.len() == 1), "{found:?}");

    // The list shows its words, and makes the same index.
    // The second time, its own list is replaced.
    scratch.ok("tune --jsonl news.jsonl --ignore-common 10% --out common.txt");
    let ran = scratch.ok("tune --jsonl news.jsonl --ignore-common 10% --out common.txt");
    assert!(ran.stdout.contains("  agency 1 w"), "{}", ran.stdout);
    let list = fs::read_to_string(scratch.path("common.txt")).unwrap();
    assert!(list.starts_with("nearkin-common-1 ") && list.contains(" agency 2 w"), "{list}");
    scratch.ok("add j --jsonl news.jsonl --threshold 0.4 --common common.txt");
    let id = |index: &str| {
        scratch.ok(&format!("export {index} --out {index}.jsonl"));
        let export = fs::read_to_string(scratch.path(&format!("{index}.jsonl"))).unwrap();
        export.lines().next().map(str::to_owned)
    };
    assert_eq!(id("i"), id("j"));
    scratch.ok("stats j").prints("common: 1").prints(" shingles");
    let count = scratch.ok("stats j --json").objects()[0]["common_shingles"].as_u64().unwrap();
    assert_eq!(usize::try_from(count).unwrap(), list.lines().count() - 2);

    // The index keeps its list.
    scratch.ok("add j --jsonl news.jsonl --ignore-common 50%").prints("80 unchanged");
    scratch.ok("rebuild j low --threshold 0.3");
    assert_eq!(stories(&scratch, "low"), found);
    scratch.ok("import copy j.jsonl");
    assert_eq!((id("copy"), stories(&scratch, "copy")), (id("i"), found));
    let own = "nearkin-common-1 any 0123456789abcdef";
    scratch.write("other.txt", own);
    scratch.fails("add j --jsonl news.jsonl --common other.txt", &["other shingles than the 1"]);
    scratch.fails("add plain --jsonl news.jsonl --ignore-common 5%", &["created without it"]);
}

#[test]
fn dedup_learns_from_its_input_and_takes_a_list() {
    let scratch = Scratch::new();
    scratch.write("news.jsonl", news());
    let dropped = |options: &str| {
        let line = format!("dedup news.jsonl --out o.jsonl --force --json --guard none {options}");
        let ran = scratch.ok(line.trim_end());
        ran.objects()[0]["dropped"].as_u64().unwrap()
    };
    assert_ne!(dropped("--threshold 0.4"), 20, "as a check");
    for exact in ["", "--exact"] {
        assert_eq!(dropped(&format!("--threshold 0.4 --ignore-common 10% {exact}")), 20);
    }
    scratch.ok("tune --jsonl news.jsonl --ignore-common 10% --out common.txt");
    assert_eq!(dropped("--threshold 0.4 --common common.txt"), 20);
    // With an archive, its list holds.
    scratch.ok("add i --jsonl news.jsonl --threshold 0.4 --common common.txt");
    let ran = scratch.ok("dedup news.jsonl --out p.jsonl --index i --ignore-common 10% --json");
    assert_eq!(ran.objects()[0]["dropped_for_index"], 80);
}

#[test]
fn a_share_without_documents_and_a_wrong_list_are_errors() {
    let scratch = Scratch::new();
    scratch.write("news.jsonl", news());
    scratch.write("list.txt", "the of");
    scratch.fails("create i --ignore-common 5%", &["only add, dedup and tune", "nearkin tune"]);
    scratch.fails("tune --ignore-common 5%", &["needs documents"]);
    scratch.fails("create i --ignore-common list.txt", &["nearkin-common-1"]);
    for wrong in ["0", "120%", "-1", "none.txt"] {
        scratch.fails(&format!("create i --ignore-common={wrong}"), &["--ignore-common"]);
    }
    scratch.ok("tune --jsonl news.jsonl --ignore-common 10% --out c.txt");
    let ran = scratch.run("create i --ignore-common c.txt --shingles words:2");
    ran.ends_with(2).says(&["made for other shingles"]);
    assert!(!scratch.path("i").exists());
    // Ten texts at least make a shingle common.
    scratch.write("few.jsonl", news().lines().take(9).collect::<Vec<_>>().join("\n"));
    scratch.ok("add f --jsonl few.jsonl --ignore-common 50%").says(&["no shingle is in 50 %"]);
    let ran = scratch.run_with_stdin("add g --jsonl - --ignore-common 5%", b"");
    ran.ends_with(2).says(&["reads the documents twice"]);
}

#[test]
fn numbers_do_not_count_with_digits() {
    let scratch = Scratch::new();
    let mut lines = String::new();
    for n in 0..40_u32 {
        let (a, b) = (n * 7_919 % 90_000, n * 104_729 % 70_000);
        let text = match n % 2 {
            0 => format!(
                "2024-05-{:02} 10:00:{:02} user {a} logged in from 10.0.{n}.7 port {b}",
                n % 28,
                n
            ),
            _ => format!("instance {:08x} VM started (lifecycle event) req {a}", b * 65_521),
        };
        let id = format!("{}-{n}", n % 2);
        lines.push_str(&serde_json::json!({"id": id, "text": text}).to_string());
        lines.push('\n');
    }
    scratch.write("log.jsonl", lines);
    scratch.ok("add plain --jsonl log.jsonl");
    assert!(scratch.ok("clusters plain --json").objects().is_empty(), "as a check");
    scratch.ok("add i --jsonl log.jsonl --normalise fold,digits");
    let clusters = scratch.ok("clusters i --json").objects();
    assert_eq!(clusters.len(), 40);
    assert_eq!(stories(&scratch, "i").len(), 2);
}
