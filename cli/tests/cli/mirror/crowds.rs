//! Crowds: many files that are similar to each other.

use super::*;

/// A letter of a template: all are similar, no two are equal.
fn letter(number: usize) -> String {
    let name = |at: usize| format!("{}{}", ["ann", "bob", "cleo", "dora"][at % 4], at);
    let body = (0..60).map(|word| format!("phrase{word}")).collect::<Vec<_>>().join(" ");
    format!("dear {}, {body} yours, {} {}", name(number), name(number * 7), number)
}

#[test]
fn each_file_of_a_crowd_names_some_duplicates() {
    let scratch = Scratch::new();
    for number in 0..1_500 {
        scratch.write(&format!("d/same/{number:04}"), text(1));
        scratch.write(&format!("d/letters/{number:04}"), letter(number));
    }
    let ran = scratch.ok("mirror i d");
    ran.says(&["3,000 documents added", "2,998 near-duplicates", "2,978 more near-duplicates"]);
    // The first ones are named in text output. All are named in JSON, each with three others.
    let (lines, counts) = scratch.mirror("j d");
    assert_eq!(count(&counts, &["added", "near_duplicates"]), [3_000, 2_998]);
    let names = |line: &String| line.split(' ').count() - 2;
    let first = lines.iter().filter(|line| names(line) < 3).count();
    assert_eq!(
        first,
        2 * 3,
        "only the first files of each crowd have fewer than three before them"
    );
    // In small crowds, the most similar ones are named.
    let third = "added d/same/0200 d/same/0000 d/same/0001 d/same/0002";
    assert!(lines.iter().any(|line| line == third), "{lines:?}");
    // Changed letters are compared with what is there by then, not with what they replace. Their
    // old versions, in a segment, use up the credit of the searches: the last ones are undecided.
    for number in 0..1_500 {
        scratch.write(&format!("d/letters/{number:04}"), letter(number) + " and regards");
    }
    let (_, counts) = scratch.mirror("i d");
    let found = count(&counts, &["replaced", "near_duplicates", "undecided"]);
    assert_eq!((found[0], found[1] + found[2]), (1_500, 1_499), "{counts}");
    assert!(found[2] < 100, "{counts}");
}
