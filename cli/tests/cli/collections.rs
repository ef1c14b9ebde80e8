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
        let bytes = fs::read(scratch.path(name)).unwrap();
        scratch.write(&format!("f-{name}/{name}"), bytes);
        if ["an mbox", "a WARC or WET file"].contains(&what) {
            // Read as documents; a mirror and dups name them.
            let ran = scratch.run(&format!("mirror m-{name} f-{name}"));
            ran.says(&[name, what, split]);
            scratch.run(&format!("dups f-{name} --no-cache")).says(&[name, what]);
            continue;
        }
        for command in ["add x FILE", "query i FILE", "tune FILE text.txt"] {
            scratch.fails(&command.replace("FILE", name), &[name, what, split]);
        }
        scratch.ok(&format!("add k f-{name}")).says(&[name, what, split]);
    }
}

fn packed(text: &str) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}

#[cfg(feature = "mail")]
#[test]
fn messages_of_mailboxes_are_documents() {
    let scratch = Scratch::new();
    let mailbox: String = (1..=5).chain([3]).map(message).collect();
    scratch.write("box/all.mbox", &mailbox);
    scratch.write("Inbox", mailbox.replace('\n', "\r\n"));
    scratch.write("p.mbox.gz", packed(&mailbox));
    for name in ["box", "Inbox", "p.mbox.gz"] {
        scratch.ok(&format!("add {name}.nk {name} --json")).has("inserted", 6);
        // Both messages are read again for the exact comparison.
        let ran = scratch.ok(&format!("pairs {name}.nk --threshold 1 --exact --json"));
        assert_eq!(ran.objects()[0]["exact"], 1.0, "{name}");
        let name = if name == "box" { "box/all.mbox" } else { name };
        let (a, b) = (format!("{name}#3"), format!("{name}#6"));
        assert_eq!((&ran.objects()[0]["a"], &ran.objects()[0]["b"]), (&a.into(), &b.into()));
    }
    // A query of a mailbox answers each message under its name.
    let ran = scratch.ok("query box.nk Inbox --threshold 1 --limit 1");
    assert!(ran.stdout.contains("Inbox#6"), "{}", ran.stdout);
    // A message that changes is replaced; the others stay.
    scratch.write("box/all.mbox", mailbox.replacen("number 2", "another number", 1));
    scratch.ok("add box.nk box --json").has("replaced", 1).has("unchanged", 5);
    // Half of a packed mailbox: what can be read of it is not taken for the whole.
    let half = packed(&mailbox.repeat(500));
    scratch.write("half.mbox.gz", &half[..half.len() - 9]);
    scratch.run("add half.nk half.mbox.gz").ends_with(3).says(&["damaged file", "truncated"]);
}

/// A file in a tar archive.
#[cfg(feature = "archives")]
fn tar(name: &str, text: &str) -> String {
    let header = |sum: &str| {
        let size = format!("{:011o}", text.len());
        format!(
            "{name:\0<100}{:\0<24}{size}\0{:\0<12}{sum:8}0{:\0<100}ustar\00{:\0<248}",
            "", "", "", "0"
        )
    };
    let sum: u32 = header("").bytes().map(u32::from).sum();
    let padding = "\0".repeat(text.len().next_multiple_of(512) - text.len());
    format!("{}{text}{padding}", header(&format!("{sum:06o}\0 ")))
}

#[cfg(feature = "archives")]
#[test]
fn files_in_archives_are_documents_on_request() {
    let scratch = Scratch::new();
    let files = [("in/mit.txt", licence("MIT")), ("../isc.txt", licence("ISC"))];
    let files = files.map(|(name, text)| tar(name, &text)).concat();
    scratch.write("f/a.tar.gz", packed(&(files + &"\0".repeat(1_024))));
    scratch.write("f/mit.txt", licence("MIT"));
    scratch.ok("add plain.nk f --json").has("inserted", 1).says(&[
        "a.tar.gz",
        "a tar archive",
        "--archives",
    ]);
    scratch.ok("add i.nk f --archives --json").has("inserted", 3);
    let ran = scratch.ok("list i.nk");
    assert!(
        ran.stdout.contains("f/a.tar.gz!in/mit.txt") && ran.stdout.contains("f/a.tar.gz!isc.txt")
    );
    let ran = scratch.ok("pairs i.nk --exact --json");
    assert_eq!(ran.objects()[0]["exact"], 1.0, "{}", ran.stdout);
    let ran = scratch.ok("query i.nk f/a.tar.gz --archives --json");
    assert_eq!(ran.objects().len(), 3);
    // A plan of dups never names what is in an archive.
    let ran = scratch.run("dups f --no-cache --plan plan.txt");
    ran.says(&["a.tar.gz", "a tar archive"]);
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
