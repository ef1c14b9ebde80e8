//! Files that hold many documents: read as such, or named with what splits them.

use super::*;

fn object(row: u64) -> String {
    let word = |at: u64| spelled((row * 7_919 + at * at * 104_729) % 9_999_991);
    let text: Vec<_> = (0..30).map(word).collect();
    format!("{{\"id\":\"k{row}\",\"text\":\"{} [{{\\\"x\\\"}}]\"}}", text.join(" "))
}

/// Forty objects, of which ten are copies.
fn objects() -> Vec<String> {
    (0..40).map(|row| object(row % 30)).collect()
}

#[test]
fn elements_of_an_array_are_lines() {
    let scratch = Scratch::new();
    let lines = objects().join("\n") + "\n";
    scratch.write("l.jsonl", &lines);
    scratch.ok("dedup l.jsonl --out expected.jsonl --threshold 1");
    let expected = fs::read(scratch.path("expected.jsonl")).unwrap();
    let array = format!("[{}]", objects().join(","));
    let values: Vec<Value> = serde_json::from_str(&array).unwrap();
    scratch.write("a.json", &array);
    scratch.write("pretty.json", serde_json::to_string_pretty(&values).unwrap());
    scratch.write("packed.json.zst", zstd::encode_all(array.as_bytes(), 1).unwrap());
    for name in ["a.json", "pretty.json", "packed.json.zst"] {
        let ran = scratch.ok(&format!("dedup {name} --out o.jsonl --threshold 1 --json"));
        assert_eq!(
            (&ran.objects()[0]["read"], &ran.objects()[0]["kept"]),
            (&40.into(), &30.into())
        );
        if name != "pretty.json" {
            assert!(fs::read(scratch.path("o.jsonl")).unwrap() == expected, "{name}");
        }
        let index = format!("i-{name}");
        scratch.ok(&format!("add {index} --jsonl {name} --json")).has("inserted", 30);
        let ran = scratch.ok(&format!("query {index} --jsonl {name} --limit 1 --json"));
        assert_eq!(ran.objects().len(), 40);
        // Its lines are not at their offsets in the file.
        let from = format!("--limit 1 --threshold 1 --exact --from {name} --json");
        let ran = scratch.ok(&format!("query {index} --jsonl l.jsonl {from}"));
        assert!(ran.objects().iter().all(|one| one["exact"] == 1.0), "{name}");
        let says = [&*format!("--jsonl {name}"), "holds many documents"];
        scratch.fails(&format!("add x {name}"), &says);
    }
    let ran =
        scratch.run_with_stdin("dedup - --out s.jsonl --threshold 1 --json", array.as_bytes());
    ran.ends_with(0).has("kept", 30);
    scratch.write("cut.json", &array[..array.len() / 2]);
    scratch
        .fails("dedup cut.json --out p.jsonl", &["cut.json after line 20: the JSON array is cut"]);
    scratch.run("dedup cut.json --out p.jsonl --lenient --json").ends_with(3).has("kept", 20);
    // Lists in lines are no array.
    scratch.write("chats.jsonl", "[{\"text\":\"a\"}]\n[{\"text\":\"b\"}]\n");
    scratch.fails("dedup chats.jsonl --out q.jsonl", &["lines of arrays are not read"]);
    // In a folder it is one text, which is said.
    scratch.write("folder/pretty.json", fs::read(scratch.path("pretty.json")).unwrap());
    let ran = scratch.ok("add y folder");
    ran.says(&["pretty.json holds many documents (a JSON array)", "--jsonl"]);
}

fn message(number: u64) -> String {
    format!(
        "From a@b.example Mon Jan  1 00:00:00 2024\nFrom: a@b.example\nSubject: Letter {number}\n\
         Message-ID: <{number}@b.example>\n\nThis is the text of letter number {number}.\n\n"
    )
}

#[test]
fn collections_are_named_with_what_splits_them() {
    let scratch = Scratch::new();
    scratch.write("text.txt", licence("MIT"));
    scratch.ok("add i text.txt");
    let two = |one: &dyn Fn(u64) -> String| one(1) + &one(2);
    let record = |n| {
        format!("WARC/1.0\r\nWARC-Type: conversion\r\nContent-Length: 6\r\n\r\ntext {n}\r\n\r\n")
    };
    let page = |n| format!("<page><title>{n}</title></page>\n");
    let entry = |n| format!("@article{{key{n},\n  title = {{Title {n}}}\n}}\n");
    let card = |n| format!("BEGIN:VCARD\r\nFN:{n}\r\nEND:VCARD\r\n");
    let reference = |n| format!("TY  - JOUR\r\nTI  - Title {n}\r\nER  - \r\n");
    let wiki = format!("<mediawiki>\n{}</mediawiki>\n", two(&page));
    let mut warc = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    warc.write_all(two(&record).as_bytes()).unwrap();
    scratch.write("crawl.warc.wet.gz", warc.finish().unwrap());
    for (name, content, what, split) in [
        ("all.mbox", two(&message), "an mbox", "git mailsplit"),
        ("Inbox", two(&message), "an mbox", "git mailsplit"),
        ("crawl.warc", two(&record), "a WARC or WET file", "warcio"),
        ("crawl.warc.wet.gz", String::new(), "a WARC or WET file", "warcio"),
        ("dump.xml", wiki, "a MediaWiki dump", "wikiextractor"),
        ("refs.bib", two(&entry), "a BibTeX file", "pandoc -f bibtex"),
        ("refs.ris", two(&reference), "a RIS file", "pandoc -f ris"),
        ("all.vcf", two(&card), "a vCard file", "csplit"),
    ] {
        if !content.is_empty() {
            scratch.write(name, content);
        }
        for command in [
            "dedup FILE --out o.jsonl",
            "add j --jsonl FILE",
            "admit j --jsonl FILE",
            "query i --jsonl FILE",
            "tune --jsonl FILE",
        ] {
            scratch.fails(&command.replace("FILE", name), &[name, what, split]);
        }
        assert!(!scratch.path("j").exists() && !scratch.path("o.jsonl.nearkin-work").exists());
        let is_mail = what == "an mbox";
        for command in ["add x FILE", "query i FILE", "tune FILE text.txt"] {
            let ran = scratch.run(&command.replace("FILE", name));
            assert!(is_mail || ran.status == 2, "{command} {name}");
            ran.says(&[name, what, split]);
        }
        let bytes = fs::read(scratch.path(name)).unwrap();
        scratch.write(&format!("f-{name}/{name}"), bytes);
        let ran = scratch.run(&format!("add k f-{name}"));
        ran.ends_with(if is_mail { 3 } else { 0 }).says(&[name, what, split]);
    }
}

/// What is named as splitting a mailbox must give files that are read.
#[cfg(feature = "mail")]
#[test]
fn messages_that_were_split_from_a_mailbox_are_read() {
    let scratch = Scratch::new();
    for number in 1..=3 {
        scratch.write(&format!("mails/000{number}"), message(number));
    }
    scratch.ok("add i mails --json").has("inserted", 3);
}
