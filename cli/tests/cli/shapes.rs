//! Lines of many shapes: lists of messages, several fields, lines without a key.

use super::*;

fn chat(id: usize, words: &str, answer: &str) -> String {
    let message =
        |role: &str, text: &str| format!("{{\"role\":\"{role}\",\"content\":\"{text}\"}}");
    let messages = [message("user", words), message("assistant", answer)].join(",");
    format!("{{\"id\":\"c{id}\",\"title\":\"t{id}\",\"messages\":[{messages}]}}\n")
}

fn words(from: u64) -> String {
    (from..from + 30).map(spelled).collect::<Vec<_>>().join(" ")
}

#[test]
fn chats_are_compared_by_the_texts_of_all_messages() {
    let scratch = Scratch::new();
    let mut lines: String =
        (0..6).map(|id| chat(id, &words(1_000), &words(100 * id as u64))).collect();
    lines.push_str(&chat(6, &words(1_000), &words(300)));
    scratch.write("chat.jsonl", &lines);
    let ran = scratch.ok("dedup chat.jsonl --out o.jsonl --text-field messages.content --json");
    assert_eq!((&ran.objects()[0]["kept"], &ran.objects()[0]["dropped"]), (&6.into(), &1.into()));
    let dropped = objects(&fs::read_to_string(scratch.path("o.jsonl.dropped.jsonl")).unwrap());
    assert_eq!((&dropped[0]["key"], &dropped[0]["of_key"]), (&"c6".into(), &"c3".into()));
    // With the title, too, the same two are alike: one word of sixty differs.
    scratch.ok("add i --jsonl chat.jsonl --text-field title --text-field messages.content");
    let ran = scratch.ok(
        "pairs i --exact --from chat.jsonl --from-field title --from-field messages.content --json",
    );
    let pairs = ran.objects();
    let exact = |pair: &&Value| pair["exact"].as_f64().is_some_and(|exact| exact > 0.9);
    assert_eq!(pairs.iter().filter(exact).count(), 1, "{pairs:?}");
    scratch.fails("add j --jsonl chat.jsonl --text-field messages", &["messages.FIELD"]);
    let many = "add j --jsonl chat.jsonl".to_owned() + &" --text-field a".repeat(9);
    scratch.fails(&many, &["at most 8 fields can be joined, not 9"]);
}

#[test]
fn lines_without_a_key_are_named_by_file_and_number() {
    let scratch = Scratch::new();
    let line = |from: u64| format!("{{\"text\":\"{}\"}}\n", words(from));
    scratch.write("a.jsonl", line(1) + "\n" + &line(100) + &line(1));
    scratch.write("b.csv", format!("text\n{}\n", words(1)));
    scratch.fails("add i --jsonl a.jsonl", &["there is no \"id\"", "--line-keys"]);
    scratch.ok("add i --jsonl a.jsonl --jsonl b.csv --line-keys");
    scratch.ok("list i").prints_just("a.jsonl:1\na.jsonl:3\na.jsonl:4\nb.csv:2\n");
    let ran = scratch.ok("pairs i --exact --from a.jsonl --from b.csv --from-line-keys --json");
    assert_eq!(ran.objects().iter().filter(|pair| pair["exact"] == 1.0).count(), 3);
    let ran = scratch.ok("query i --jsonl b.csv --line-keys --json");
    assert_eq!(ran.objects()[0]["query"], "b.csv:2");
    scratch.write("docs/x.txt", "some text");
    scratch.fails("add i docs --line-keys", &["--jsonl"]);
}
