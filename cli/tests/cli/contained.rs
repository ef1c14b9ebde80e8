//! Documents of which one contains the other.

use super::*;

fn words(from: u32, to: u32) -> String {
    (from..to).map(|word| format!("word{word}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_half_is_found_by_what_contains_it() {
    let scratch = Scratch::new();
    scratch.write("docs/whole.txt", words(0, 400));
    scratch.write("docs/half.txt", words(0, 200));
    scratch.write("docs/other.txt", words(1_000, 1_400));
    scratch.write("docs/third.txt", format!("{} {}", words(300, 400), words(2_000, 2_300)));
    scratch.run("add ix docs --shingles words:1 --threshold 0.3").ends_with(0);
    assert_eq!(scratch.run("pairs ix --threshold 0.7").ends_with(0).stdout, "");
    let told = scratch.run("pairs ix --contained 80%").ends_with(0);
    assert!(
        told.stdout.contains("contained") && told.stdout.contains("docs/whole.txt"),
        "{}",
        told.stdout
    );
    assert!(
        told.stderr.contains("1 pair of which one contains 0.8 of the other"),
        "{}",
        told.stderr
    );
    let told = scratch.run("query ix --key docs/half.txt --contained 0.8").ends_with(0).stdout;
    let row = told.lines().find(|line| line.contains("docs/whole.txt")).unwrap();
    assert!(row.contains("+-"), "{row}");
    let told = scratch.run("query ix docs/half.txt --contained 0.8 --json").ends_with(0).stdout;
    let rows: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let whole = rows.iter().find(|row| row["key"] == "docs/whole.txt").unwrap();
    assert!(whole["contained"].as_f64().unwrap() > 0.8, "{whole}");
    assert!(whole["similarity"].as_f64().unwrap() < 0.7, "{whole}");
    let told = scratch.run("clusters ix --contained 0.8").ends_with(0);
    assert!(told.stdout.contains("docs/half.txt"), "{}", told.stdout);
    assert!(!told.stdout.contains("docs/other.txt"), "{}", told.stdout);
    scratch.run("query ix docs/other.txt --contained 0.8 --exact").ends_with(2);
}

#[test]
fn an_index_that_finds_few_of_them_says_so() {
    let scratch = Scratch::new();
    scratch.write("docs/whole.txt", words(0, 400));
    scratch.run("add ix docs --shingles words:1 --threshold 0.9").ends_with(0);
    let told = scratch.run("pairs ix --contained 0.8").ends_with(0).stderr;
    assert!(told.contains("warning") && told.contains("build one with --threshold 0.3"), "{told}");
}
