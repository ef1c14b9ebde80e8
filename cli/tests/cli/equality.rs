//! What is called equal is equal: 1.000, threshold 1, and the warning that an estimate cannot
//! separate the documents of a form.

use super::*;

/// An estimate of 1, in a table.
const NEARLY: &str = ">0.99";
/// The note at threshold 1.
const BY_ESTIMATE: &str = "threshold 1 by the estimate";
/// The warning that more pairs lie below the threshold than above.
const BLURRED: &str = "more pairs lie just below the threshold (";

/// Ten contracts of 900 words that differ in one number, in `c`, and their index `i`.
fn contracts() -> Scratch {
    let scratch = Scratch::new();
    for percent in (10..=100).step_by(10) {
        let text = format!("{} {percent} percent {}", words(0, 450), words(450, 900));
        scratch.write(&format!("c/{percent}.txt"), text);
    }
    scratch.ok("add i c");
    scratch
}

/// No line begins with 1.000, and some begin with the sign of an estimate of 1.
#[track_caller]
fn shows_no_equality(table: &str) {
    assert!(table.contains(NEARLY) && !table.contains("1.000"), "{table}");
}

#[test]
fn contracts_that_differ_in_a_number_are_not_shown_as_equal() {
    let scratch = contracts();
    shows_no_equality(&scratch.ok("pairs i").stdout);
    shows_no_equality(&scratch.ok("pairs i --sort").stdout);
    shows_no_equality(&scratch.ok("pairs i --collapse").stdout);
    assert!(!scratch.ok("clusters i").stdout.contains("1.000"));
    let queries = (10..=100).step_by(10).map(|percent| {
        let answer = scratch.ok(&format!("query i --key c/{percent}.txt"));
        assert!(!answer.stdout.contains("1.000"), "{}", answer.stdout);
        answer.stdout.matches(NEARLY).count()
    });
    assert!(queries.sum::<usize>() >= 2);
    shows_no_equality(&scratch.ok("mirror m.nearkin c").stdout);
    // JSON has the numbers: that of an estimate is 1, and only the exact one says that it is below.
    let rows = scratch.ok("pairs i --exact --json").objects();
    let equal: Vec<_> = rows.iter().filter(|row| row["similarity"] == 1.0).collect();
    assert!(!equal.is_empty() && equal.iter().all(|row| row["exact"].as_f64().unwrap() < 1.0));
    assert_eq!(scratch.ok("clusters i --json").objects()[0]["exact"], Value::Null);
    let rows = scratch.ok("clusters i --exact --json").objects();
    assert!(rows.iter().all(|row| row["exact"] == row["similarity"]));
    assert!(!scratch.ok("clusters i --exact").stdout.contains(NEARLY));
}

#[test]
fn threshold_1_means_equal_shingles_where_texts_are_read() {
    let scratch = contracts();
    scratch.write("c/copy.txt", fs::read_to_string(scratch.path("c/10.txt")).unwrap());
    scratch.ok("add i c");
    for command in ["pairs i", "query i c/10.txt", "query i --key c/10.txt", "clusters i"] {
        let estimated = scratch.ok(&format!("{command} --threshold 1"));
        estimated.says(&[BY_ESTIMATE, "--exact compares them"]).prints(NEARLY);
        let exact = scratch.ok(&format!("{command} --threshold 1 --exact")).says_not(BY_ESTIMATE);
        assert!(exact.stdout.contains("1.000"), "{command}: {}", exact.stdout);
        assert!(exact.stdout.contains("copy.txt") && !exact.stdout.contains("20.txt"));
    }
    let pairs = scratch.ok("pairs i --threshold 1 --exact");
    pairs.says(&["1 pair of similarity 1 and above"]);
    scratch.ok("pairs i").says_not(BY_ESTIMATE).says(&["of estimated similarity 0.7 and above"]);
    scratch.ok("report i --threshold 1 --out r.html").says(&[BY_ESTIMATE]);
    scratch.ok("remove i c/20.txt --if-similar 0.9").says_not(BY_ESTIMATE);
    scratch.run("remove i c/30.txt --if-similar 1").says(&[BY_ESTIMATE]);
}

/// Invoices of one form: 60 words that all have, and 12 of their own.
fn invoices(count: u32) -> String {
    let line = |at: u32| {
        let own = (0..12).map(|word| format!("own{}", at * 12 + word)).collect::<Vec<_>>();
        format!("{{\"id\":{at},\"text\":\"{} {}\"}}\n", words(0, 60), own.join(" "))
    };
    (0..count).map(line).collect::<Vec<_>>().concat()
}

#[test]
fn a_threshold_that_cuts_through_a_form_is_warned_of() {
    let scratch = Scratch::new();
    scratch.write("i.jsonl", invoices(150));
    // 60 of 84 words are common to two invoices, so their similarity is 0.71.
    scratch.ok("add i --jsonl i.jsonl --shingles words:1 --threshold 0.75");
    let pairs = scratch.ok("pairs i --json");
    pairs.says(&[BLURRED, "--exact --at-least 0.75 compares them"]);
    scratch.ok("clusters i --json").says(&[BLURRED, "; --exact compares them"]);
    scratch.ok("pairs i --collapse --json").says(&[BLURRED]);
    scratch.run("pairs i -q --json").says(&[BLURRED]);
    let exact = scratch.ok("pairs i --exact --at-least 0.75 --from i.jsonl");
    exact.says(&["0 pairs of similarity 0.75 and above"]).says_not(BLURRED);
    scratch.ok("clusters i --exact --from i.jsonl").says_not(BLURRED);
    scratch.ok("pairs i --contained 0.75 --json").says_not(BLURRED);
}

#[test]
fn ordinary_texts_are_not_called_a_form() {
    let scratch = Scratch::new();
    for (name, options) in [("spdx", ""), ("pydocs", ""), ("spdx", "--for documents")] {
        let file = data(&format!("{name}.jsonl")).display().to_string();
        let index = format!("{name}{}", options.len());
        scratch.ok(format!("add {index} --jsonl {file} {options}").trim_end());
        scratch.ok(&format!("pairs {index} --json")).says_not(BLURRED);
        scratch.ok(&format!("clusters {index} --json")).says_not(BLURRED);
    }
}
