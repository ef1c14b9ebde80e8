//! `nearkin dedup --without`: rows that contain a question.

use super::*;

const QUESTIONS: &str = "\
{\"id\":\"q1\",\"question\":\"In which year was the bridge over the river at the old mill \
finished?\"}
{\"id\":\"q2\",\"question\":\"Name the capital of the smallest country on the continent.\"}
{\"question\":\"Who was it?\"}
{\"id\":\"q4\",\"question\":\"No\"}
";

fn rows() -> String {
    let texts = [
        (
            "a",
            "Quiz: in WHICH year was the bridge\\nover the river at the new mill finished? 1904.",
        ),
        ("b", "The bridge over the river was finished in 1904, as every child in the town knows."),
        ("c", "He asked: who was it? Nobody knew, and no one said a word for the whole evening."),
        ("d", "The bridge over the river was finished in 1904, as every child in the town knows!"),
        ("e", ""),
    ];
    texts.map(|(key, text)| format!("{{\"id\":\"{key}\",\"text\":\"{text}\"}}\n")).concat()
}

fn dropped(scratch: &Scratch, name: &str) -> Vec<serde_json::Value> {
    text(scratch, name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn dropped_rows_name_the_question_and_the_passage() {
    let scratch = Scratch::new();
    scratch.write("q.jsonl", QUESTIONS);
    scratch.write("in.jsonl", rows());
    scratch
        .run("dedup in.jsonl --out out.jsonl --without q.jsonl --without-field question")
        .ends_with(0)
        .says(&["4 questions", "1 of fewer than 3 words"])
        .prints("2  dropped: contain a question of --without");
    let kept = text(&scratch, "out.jsonl");
    assert_eq!(kept.lines().count(), 2, "{kept}");
    let dropped = dropped(&scratch, "out.jsonl.dropped.jsonl");
    assert_eq!(dropped.len(), 3);
    let first = serde_json::json!({
        "key": "a", "file": "in.jsonl", "line": 1, "question": "q1", "question_file": "q.jsonl",
        "question_line": 1, "question_words": 14, "words_shared": 11, "longest_run": 11,
        "at_word": 1, "at_byte": 6, "questions": 1,
        "passage": "in WHICH year was the bridge\nover the river at the",
    });
    assert_eq!(dropped[0], first);
    assert_eq!((&dropped[1]["key"], &dropped[1]["question"]), (&"c".into(), &().into()));
    assert_eq!((&dropped[2]["key"], &dropped[2]["of_key"]), (&"d".into(), &"b".into()));
    // A second run may replace what the first one wrote.
    scratch
        .run("dedup in.jsonl --out out.jsonl --without q.jsonl --without-field question --json")
        .ends_with(0)
        .prints("\"kept\":2,\"dropped\":1,\"dropped_for_index\":0,\"dropped_without\":2");
}

#[test]
fn keep_all_drops_nothing_else() {
    let scratch = Scratch::new();
    scratch.write("q.jsonl", QUESTIONS);
    scratch.write("in.jsonl", rows());
    scratch.write(
        "in.csv",
        "id,text\na,in which year was the bridge over the river\nb,x y z\nb,x y z\n",
    );
    let question = "--without q.jsonl --without-field question --keep all";
    scratch.run(&format!("dedup in.jsonl --out out.jsonl {question}")).ends_with(0);
    let ids: Vec<_> =
        text(&scratch, "out.jsonl").lines().map(|line| line[7..8].to_owned()).collect();
    assert_eq!(ids, ["b", "d", "e"]);
    scratch.run(&format!("dedup in.csv --out out.csv {question} --without-share 0.5")).ends_with(0);
    assert_eq!(text(&scratch, "out.csv"), "id,text\nb,x y z\nb,x y z\n");
    scratch
        .run("dedup in.jsonl --out no.jsonl --keep all")
        .ends_with(2)
        .says(&["--keep all drops nothing"]);
    for option in ["--threshold 0.5", "--bag", "--contained 0.8", "--exact", "--estimate"] {
        let said = format!("{} has no effect with --keep all", option.split(' ').next().unwrap());
        scratch.fails(&format!("dedup in.jsonl --out no.jsonl {question} {option}"), &[&said]);
    }
    // What is similar to a document of an index is dropped.
    scratch.ok("add i --jsonl in.csv");
    scratch.ok("dedup in.jsonl --out o.jsonl --keep all --index i --threshold 0.5");
}

#[test]
fn the_rule_can_be_chosen() {
    let scratch = Scratch::new();
    scratch.write("q.jsonl", "{\"text\":\"a b c d e f g h i j k l m n o p\"}\n");
    scratch.write("in.jsonl", "{\"text\":\"a b c d e f g h 1 2 3 4 5\"}\n");
    for (options, kept) in [
        ("", 1),
        ("--without-share 50%", 0),
        ("--without-share 0.51", 1),
        ("--without-words 8", 0),
        ("--without-words 9", 1),
    ] {
        let ran = format!("dedup in.jsonl --out out.jsonl --without q.jsonl --keep all {options}");
        scratch.run(ran.trim_end()).ends_with(0);
        assert_eq!(text(&scratch, "out.jsonl").lines().count(), kept, "{options}");
    }
}

#[test]
fn wrong_questions_are_errors() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", rows());
    scratch.write("q.jsonl", QUESTIONS);
    let run = |options: &str| scratch.run(&format!("dedup in.jsonl --out out.jsonl {options}"));
    run("--without q.jsonl").ends_with(2).says(&["a question cannot be read", "--without-field"]);
    run("--without none.jsonl").ends_with(2).says(&["none.jsonl"]);
    run("--without - --without-field question").ends_with(2).says(&["stdin"]);
    run("--without q.jsonl --without-share 0").ends_with(2).says(&["share"]);
    run("--without q.jsonl --without-words 2").ends_with(2).says(&["--without-words"]);
    run("--without-words 9").ends_with(2).says(&["--without"]);
    // A question that is missed in silence is worse than none.
    let packed = zstd::encode_all(QUESTIONS.repeat(1_000).as_bytes(), 1).unwrap();
    scratch.write("cut.jsonl.zst", &packed[..packed.len() - 9]);
    let ran = run("--without cut.jsonl.zst --without-field question --keep all --lenient");
    ran.ends_with(2).says(&["a question cannot be read", "cut.jsonl.zst"]);
    let ran = scratch.run("dedup in.jsonl --out q.jsonl --without q.jsonl --force");
    ran.ends_with(2).says(&["q.jsonl is an input"]);
}
