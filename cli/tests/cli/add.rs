//! `nearkin add`: documents, their keys, and what is skipped.

use super::*;

#[test]
fn an_index_is_made_once_and_it_is_said() {
    let scratch = Scratch::new();
    scratch.write("docs/a.txt", "some words of text");
    let ran = scratch.ok("add i docs").says(&["created i", "words:3"]);
    assert_eq!(ran.stdout, "1 document inserted, 0 replaced, 0 unchanged, 0 skipped\n");
    let ran = scratch.ok("add i docs");
    assert_eq!(ran.stdout, "0 documents inserted, 0 replaced, 1 unchanged, 0 skipped\n");
    assert_eq!(ran.stderr, "");
}

#[test]
fn adding_again_replaces() {
    let scratch = Scratch::new();
    scratch.write("a.txt", "some words of text");
    scratch.ok("add i a.txt");
    scratch.write("a.txt", "quite other words than before");
    let ran = scratch.ok("add i a.txt --json");
    assert_eq!(ran.stdout, "{\"inserted\":0,\"replaced\":1,\"unchanged\":0,\"skipped\":0}\n");
    scratch.run_split(&["query", "i", "--text", "some words of text"]).ends_with(0).prints_just("");
}

#[test]
fn keys_are_cleaned_paths() {
    let scratch = Scratch::new();
    scratch.write("docs/sub/a.txt", "one and the same text");
    scratch.write("docs/b.txt", "one and the same text");
    scratch.ok("add i ./docs//sub/../sub docs/./b.txt");
    let ran = scratch.ok("pairs i --json");
    let pair = &ran.objects()[0];
    assert_eq!(
        (pair["a"].as_str(), pair["b"].as_str()),
        (Some("docs/b.txt"), Some("docs/sub/a.txt"))
    );
    // Other spellings of the same paths name the same documents.
    scratch.ok("add i docs --json").has("unchanged", 2);
}

#[test]
fn an_index_inside_the_folder_is_not_added_to_itself() {
    let scratch = Scratch::new();
    scratch.write("a.txt", "some words of text");
    for unchanged in 0..2 {
        let ran = scratch.ok("add my.nearkin . --json");
        let counts = &ran.objects()[0];
        assert_eq!((&counts["skipped"], &counts["unchanged"]), (&0.into(), &unchanged.into()));
    }
}

#[test]
fn files_that_are_no_text_are_named_and_counted() {
    let scratch = Scratch::new();
    scratch.write("docs/a.txt", "some words of text");
    scratch.write("docs/empty", "");
    scratch.write("docs/blank", " \n ");
    scratch.write("docs/zero", b"ab\0c");
    scratch.write("docs/latin1", b"caf\xe9 au lait");
    let ran = scratch.ok("add i docs").says(&[
        "skipped docs/empty: empty",
        "skipped docs/blank: empty",
        "skipped docs/zero: binary (a NUL byte at 2)",
    ]);
    // Two documents are inserted: a text that is not UTF-8 is added, too.
    assert!(ran.stdout.contains("2 documents inserted"), "{}", ran.stdout);
    assert!(ran.stdout.contains("3 skipped (1 binary, 2 empty)"), "{}", ran.stdout);
}

#[test]
fn a_file_larger_than_a_document_may_be_is_not_read() {
    let scratch = Scratch::new();
    scratch.write("a.txt", "some words of text");
    // A sparse file takes no space, but reading it would take long.
    fs::OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .open(scratch.path("huge"))
        .and_then(|file| file.set_len(1 << 40))
        .unwrap();
    let ran = scratch.ok("add i huge a.txt --json").says(&["huge: too large"]).has("skipped", 1);
    assert_eq!(ran.objects()[0]["inserted"], 1);
}

#[cfg(target_os = "linux")]
#[test]
fn files_that_cannot_be_read_are_named_and_counted() {
    let scratch = Scratch::new();
    scratch.write("docs/a.txt", "some words of text");
    std::os::unix::fs::symlink("a.txt", scratch.path("docs/link")).unwrap();
    // `/proc/self/mem` can be opened, but the first read fails, even for root.
    let ran = scratch.ok("add i /proc/self/mem docs");
    let ran = ran.says(&["/proc/self/mem: unreadable", "docs/link: not a file (a symbolic link)"]);
    assert!(ran.stdout.contains("(1 not a file, 1 unreadable)"), "{}", ran.stdout);
}

#[test]
fn a_missing_path_is_an_error_before_any_write() {
    let scratch = Scratch::new();
    scratch.write("a.txt", "some words of text");
    scratch.fails("add i a.txt typo.txt", &["typo.txt"]);
    scratch.fails("add i --jsonl typo.jsonl", &["typo.jsonl"]);
    assert!(!scratch.path("i").exists());
}

#[test]
fn garbage_lines_are_named_by_their_number() {
    let scratch = Scratch::new();
    let lines = b"{\"id\":\"a\",\"text\":\"some words of text\"}\n\
        garbage\n\
        \n\
        {\"text\":\"no key\"}\n\
        {\"id\":\"no text\"}\n\
        {\"id\":\"empty\",\"text\":\"\"}\n\
        [1,2]\n\
        {\"id\":7,\"text\":\"a number for a key\"}\r\n\
        {\"id\":\"\xff\",\"text\":\"x\"}\n\
        {\"id\":\"last\",\"text\":\"without a newline\"}";
    let ran =
        scratch.run_with_stdin("add i --jsonl - --json --lenient", lines).ends_with(0).says(&[
            "skipped stdin line 2: bad line (not JSON",
            "line 4: bad line (there is no \"id\")",
            "line 5: bad line (there is no \"text\")",
            "line 6: empty",
            "line 7: bad line (a JSON array",
            "line 9: bad line",
        ]);
    assert_eq!(
        ran.stdout.lines().last().unwrap(),
        "{\"inserted\":3,\"replaced\":0,\"unchanged\":0,\"skipped\":6}"
    );
    scratch.ok("query i --key 7").says_not("error");
}

#[test]
fn lines_bring_payloads_and_times() {
    let scratch = Scratch::new();
    let lines = b"\
        {\"id\":\"a\",\"text\":\"some words\",\"meta\":{\"url\":\"x/1\"},\"day\":\"2024-02-03\"}\n\
        {\"id\":\"b\",\"text\":\"other words of text\",\"meta\":{\"url\":17},\"day\":5000}\n\
        {\"id\":\"c\",\"text\":\"no more words\",\"day\":null}\n\
        {\"id\":\"d\",\"text\":\"a wrong time\",\"day\":\"tomorrow\"}\n\
        {\"id\":\"e\",\"text\":\"a wrong payload\",\"meta\":{\"url\":[1]}}\n\
        {\"id\":\"f\",\"text\":\"two of them\",\"day\":1,\"day\":2}\n";
    let add = "add i --jsonl - --payload-field meta.url --time-field day --lenient";
    scratch.run_with_stdin(add, lines).ends_with(0).says(&[
        "line 4: bad line (the time \"tomorrow\" must be like 2024-12-31",
        "line 5: bad line (\"meta.url\" is neither a string nor an integer",
        "line 6: bad line (there are two fields \"day\"",
    ]);
    let found = scratch.ok("get i a b c --json").objects();
    assert_eq!(
        (&found[0]["payload"], &found[0]["time"]),
        (&"x/1".into(), &1_706_918_400_000_u64.into())
    );
    assert_eq!((&found[1]["payload"], &found[1]["time"]), (&"17".into(), &5_000.into()));
    assert!(found[2]["time"].as_u64() > Some(1_706_918_400_000), "{:?}", found[2]);
    // A line without a payload keeps the stored one, whose time is of another version.
    scratch.run_with_stdin(add, b"{\"id\":\"a\",\"text\":\"another text\",\"day\":7}").ends_with(0);
    let found = scratch.ok("get i a --json").objects();
    assert_eq!((&found[0]["payload"], &found[0]["time"]), (&"x/1".into(), &7.into()));
    scratch.write("a.txt", "a file has no fields");
    scratch.fails("add i a.txt --time-field day", &["options for fields apply to --jsonl only"]);
}

#[test]
fn the_last_of_equal_keys_wins() {
    let scratch = Scratch::new();
    let line = |round| format!("{{\"id\":\"k\",\"text\":\"version {round} of it all\"}}\n");
    let lines = (0..10_000).map(line).collect::<Vec<_>>().concat();
    let ran = scratch.run_with_stdin("add i --jsonl - --json", lines.as_bytes()).ends_with(0);
    assert_eq!(ran.objects()[0]["inserted"], 1);
    assert_eq!(ran.objects()[0]["replaced"], 9_999);
    let text = "version 9999 of it all";
    let ran = scratch.run_split(&["query", "i", "--json", "--text", text]).ends_with(0);
    assert_eq!(ran.objects()[0]["similarity"], 1.0);
}

#[test]
fn fields_have_the_names_given() {
    let scratch = Scratch::new();
    scratch.write("l", "{\"name\":\"a\",\"body\":\"some words of text\"}\n");
    scratch.ok("add i --jsonl l --key-field name --text-field body");
    let arguments = "query i --jsonl l --key-field name --text-field body --json";
    let ran = scratch.ok(arguments).has("query", "a");
    assert_eq!(ran.objects()[0]["key"], "a", "a query by content finds its own name too");
    let ran = scratch.run("query i --jsonl l --jsonl l --key-field name --text-field body --json");
    assert_eq!(ran.ends_with(0).objects().len(), 2);
    scratch.fails("add i l --key-field name", &["--jsonl"]);
}

#[test]
fn items_are_sets_of_strings_and_integers() {
    let scratch = Scratch::new();
    let lines = "{\"id\":\"a\",\"items\":[1,2,\"x\"]}\n\
        {\"id\":\"b\",\"items\":[\"2\",\"x\",\"1\",1]}\n\
        {\"id\":\"c\",\"items\":[1.5]}\n\
        {\"id\":\"d\",\"items\":[]}\n";
    scratch.write("sets", lines);
    let ran = scratch.run("add i --jsonl sets --items-field items").ends_with(3);
    let ran = ran.says(&["items", "line 3: bad line", "line 4: empty"]);
    assert!(ran.stdout.contains("2 documents inserted"), "{}", ran.stdout);
    let pairs = scratch.ok("pairs i --json");
    assert_eq!(pairs.objects()[0]["similarity"], 1.0, "1 is the same item as \"1\"");
    // An index of items needs no field name, and refuses texts.
    scratch.run("add i --jsonl sets").ends_with(3);
    scratch.fails("add i sets", &["--jsonl sets --items-field items"]);
    scratch.fails("add i sets --as-text", &["sets of items"]);
    scratch.fails("query i --text x", &["sets of items"]);
    scratch.write("a.txt", "some words of text");
    scratch.ok("add texts a.txt");
    scratch.fails("add texts --jsonl sets --items-field items", &["words:3"]);
    scratch.run("add new a.txt --shingles items").ends_with(2);
    assert!(!scratch.path("new").exists());
}

#[test]
fn parameters_that_differ_from_the_index_are_named() {
    let scratch = Scratch::new();
    scratch.write("a.txt", "some words of text");
    scratch.ok("create i --threshold 0.8 --shingles chars:5 --hashes 200");
    scratch.ok("add i a.txt");
    scratch.ok("add i a.txt --threshold 0.8 --hashes 200 --shingles chars:5");
    let ran = scratch.run("add i a.txt --threshold 0.7 --hashes 200 --bag").ends_with(2);
    let ran = ran.says(&["--threshold 0.7", "0.8", "--bag"]);
    assert!(!ran.stderr.contains("--hashes"), "{}", ran.stderr);
    scratch.fails("create j --hashes 3", &["hashes", "16"]);
    scratch.fails("create j --shingles bananas", &["words:N"]);
    scratch.fails("create i", &["already"]);
}

#[test]
fn an_index_in_use_can_be_read_and_written() {
    use std::io::{BufRead as _, BufReader};
    let scratch = Scratch::new();
    let mut writing = scratch.start("add i --jsonl -");
    // The message appears when the index is created, before any line is read.
    let mut said = String::new();
    BufReader::new(writing.stderr.take().unwrap()).read_line(&mut said).unwrap();
    assert!(said.contains("created i"), "{said}");
    scratch.fails("create i", &["already holds an index"]);
    scratch.write("beside.txt", "a text that another command adds meanwhile");
    scratch.ok("add i beside.txt");
    scratch.ok("remove i beside.txt");
    // Commands that only read the index do not wait either.
    let looks =
        ["stats i", "pairs i", "clusters i", "verify i", "query i --text words", "backup i copy"];
    for arguments in looks {
        scratch.ok(arguments);
    }
    writing.stdin.take();
    assert!(writing.wait().unwrap().success());
    scratch.ok("stats i");
}

#[test]
fn an_integer_overflow_is_named_with_its_line() {
    let scratch = Scratch::new();
    let lines = "{\"id\":1,\"text\":\"a b c\"}\n{\"id\":18446744073709551616,\"text\":\"d e f\"}\n";
    scratch.write("l", lines);
    let ran = scratch.run("add i --jsonl l").ends_with(3);
    ran.says(&["l line 2: bad line", "too large for an integer", "write it as a string"]);
    scratch.write("deep", format!("{{\"id\":2,\"text\":{}}}\n", "[".repeat(200)));
    scratch.fails("add i --jsonl deep", &["deep line 1", "recursion limit"]);
}

#[test]
fn stop_words_are_not_compared() {
    let scratch = Scratch::new();
    scratch.write("stop.txt", "# English\nthe of\nAnd\n");
    scratch.write("a.txt", "the cat and the dog of the house");
    scratch.write("b.txt", "Cat AND dog: house!");
    scratch.write("c.txt", "of the and");
    let add = "add i a.txt b.txt c.txt --shingles words:1 --stop stop.txt";
    // A text of stop words only is compared as a whole.
    let ran = scratch.ok(add);
    assert!(ran.stdout.starts_with("3 documents inserted"), "{}", ran.stdout);
    assert_eq!(scratch.ok("pairs i --json").objects()[0]["similarity"], 1.0);
    // The index stores the stop list: later commands need not name it, and a different stop list is
    // refused.
    let ran = scratch.run_split(&["query", "i", "--json", "--text", "of house, dog and cat"]);
    assert_eq!(ran.ends_with(0).objects()[0]["similarity"], 1.0);
    assert_eq!(scratch.run("stats i --json").objects()[0]["stop_words"], 3);
    assert!(scratch.run("stats i").stdout.contains("words:1 without 3 stop words"));
    scratch.ok(&format!("{add} --json"));
    scratch.write("other.txt", "the of or");
    scratch.fails("add i a.txt --stop other.txt", &["the 3 of the index"]);
    scratch.fails("add j a.txt --stop typo.txt", &["typo.txt"]);
    scratch.fails("create j --stop stop.txt --shingles chars:5", &["stop list"]);
    scratch.ok("export i --out e.jsonl");
    scratch.ok("import k e.jsonl");
    scratch.ok("create l --shingles words:1 --stop other.txt");
    scratch.fails("import l k", &["stop words: 3 here, others 3 there"]);
    scratch.fails("rebuild k m --stop other.txt", &["stop words: 3 here"]);
}

/// Otherwise the old text would still find the document.
#[test]
fn a_document_whose_text_is_blank_now_is_removed() {
    let scratch = Scratch::new();
    let text = "some words of text";
    for passages in ["", " --passages 20:10"] {
        let index = format!("i{}", passages.len());
        scratch.write("docs/a.txt", text);
        scratch.write("docs/b.txt", " \n");
        scratch.ok(&format!("add {index} docs{passages}"));
        scratch.write("docs/a.txt", " \u{200b}\n");
        let ran = scratch.ok(&format!("add {index} docs"));
        let counts = "0 documents inserted, 0 replaced, 0 unchanged, 1 emptied, 1 skipped";
        assert_eq!(ran.stdout, format!("{counts} (1 empty)\n"), "{passages}");
        let old = scratch.run_split(&["query", &index, "--text", text]).ends_with(0);
        assert_eq!(old.stdout, "", "{passages}");
    }
    let lines = |text: &str| {
        format!("{{\"id\":\"l\",\"text\":\"{text}\"}}\n{{\"id\":\"m\",\"text\":\"other\"}}\n")
    };
    scratch.write("lines.jsonl", lines(text));
    scratch.ok("add i0 --jsonl lines.jsonl");
    scratch.write("lines.jsonl", lines(" "));
    let ran = scratch.ok("add i0 --jsonl lines.jsonl --json");
    let counts = &ran.objects()[0];
    assert_eq!((&counts["emptied"], &counts["skipped"]), (&1.into(), &0.into()));
}
