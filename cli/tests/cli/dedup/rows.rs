//! Rows of tables and lines that cannot be read, or that say something else than they seem to; and
//! what a run must not replace.

use super::*;

const A: &str = "the ferry to the islands was cancelled on monday morning because of fog";
const B: &str = "a recipe for bread with rye flour and honey and a little bit of salt";

#[test]
fn a_malformed_row_is_an_error_with_its_line() {
    let scratch = Scratch::new();
    let letters = "1,Dear all, the bridge is closed\n2,Dear all, the lottery starts\n";
    scratch.write("ragged.csv", format!("id,text\n{letters}"));
    scratch.write("open.csv", format!("id,text\n1,{A}\n2,\"an open quote\n3,{A}\n4,{B}\n"));
    scratch.write("lines.csv", "id,text\n1,\"one two\nthree four\"\n2,five\n3,\"six\nseven\"\n4\n");
    scratch.write("behind.csv", "id,text\n1,\"a\" b\n");
    for (name, said) in [
        ("ragged.csv", "ragged.csv line 2: 3 fields, but the first row has 2"),
        ("open.csv", "open.csv line 3: a quotation mark is never closed"),
        ("lines.csv", "lines.csv line 7: 1 field, but the first row has 2"),
        ("behind.csv", "behind.csv line 2: text behind a closing quotation mark"),
    ] {
        for command in ["dedup NAME --out o.csv", "dedup NAME --out o.jsonl", "add i --jsonl NAME"]
        {
            scratch.fails(&command.replace("NAME", name), &[said, "--lenient skips such rows"]);
        }
        scratch.fails(&format!("add t --transactions {name} --columns 1,2"), &[said]);
    }
    assert!(!scratch.path("o.csv").exists() && !scratch.path("o.csv.nearkin-work").exists());
    let ran = scratch.ok("dedup open.csv --out o.csv --lenient --json");
    assert_eq!((&ran.objects()[0]["kept"], &ran.objects()[0]["skipped"]), (&2.into(), &1.into()));
    let dropped = objects(&text(&scratch, "o.csv.dropped.jsonl"));
    assert_eq!(dropped[0]["row"], "2,\"an open quote");
    assert_eq!((&dropped[0]["line"], &dropped[1]["line"]), (&3.into(), &4.into()));
    scratch.ok("add t --transactions open.csv --columns 1,2 --lenient").says(&["skipped 1 row"]);
}

#[test]
fn backslash_quotes_and_delimiters_are_read() {
    let scratch = Scratch::new();
    let spark =
        format!("id,text\n1,\"He said \\\"{A}\\\" to us\"\n2,\"He said \\\"{B}\\\" to us\"\n");
    scratch.write("spark.csv", spark);
    scratch.ok("dedup spark.csv --out o.jsonl --json").has("kept", 2);
    assert_eq!(objects(&text(&scratch, "o.jsonl"))[0]["text"], format!("He said \"{A}\" to us"));
    scratch.write("pipes.txt", format!("id|text\n1|'{A}'\n2|{B}\n"));
    scratch.fails("dedup pipes.txt --out o.jsonl", &["if it is a table: --delimiter '|'"]);
    let ran = scratch.run_with_stdin(
        "dedup - --delimiter | --quote ' --out - --text-field text",
        fs::read(scratch.path("pipes.txt")).unwrap().as_slice(),
    );
    assert_eq!(ran.ends_with(0).stdout, format!("id|text\n1|'{A}'\n2|{B}\n"));
}

#[test]
fn rows_not_in_utf8_are_decoded_or_refused() {
    let scratch = Scratch::new();
    let table = format!("id,text\n1,{A}\n2,{B} caf\u{e9} na\u{ef}ve\n3,another row\n");
    let latin: Vec<u8> = table.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    let utf_16 = table.encode_utf16().flat_map(u16::to_le_bytes);
    scratch.write("latin.csv", &latin);
    scratch.write("wide.csv", [b"\xff\xfe".to_vec(), utf_16.collect()].concat());
    let line = |text: &[u8]| {
        [b"{\"id\":1,\"text\":\"".to_vec(), text.to_vec(), b"\"}\n".to_vec()].concat()
    };
    let latin_text = &latin[latin.len() - 32..latin.len() - 1];
    scratch.write(
        "latin.jsonl",
        [line(A.as_bytes()), line(latin_text.split(|b| *b == b'\n').next().unwrap())].concat(),
    );
    for (name, said) in [
        ("latin.csv", "latin.csv line 3: not UTF-8: windows-1252?"),
        ("latin.jsonl", "latin.jsonl line 2: not UTF-8"),
    ] {
        for command in ["dedup NAME --out o.jsonl", "add i --jsonl NAME"] {
            let ran = scratch.run(&command.replace("NAME", name)).ends_with(2);
            ran.says(&[said, "--encoding windows-1252", "--lenient"]);
        }
    }
    for input in ["latin.csv --encoding windows-1252", "wide.csv"] {
        scratch.ok(&format!("dedup {input} --out o.csv"));
        assert_eq!(text(&scratch, "o.csv"), table, "{input}");
        scratch.ok(&format!("dedup {input} --out o.jsonl"));
        assert!(text(&scratch, "o.jsonl").contains("caf\u{e9} na\u{ef}ve"));
    }
    scratch.ok("dedup latin.csv --out o.csv --lenient");
    let dropped = objects(&text(&scratch, "o.csv.dropped.jsonl"));
    assert!(
        dropped[0]["row_hex"].as_str().unwrap().ends_with("636166e9206e61ef7665"),
        "{dropped:?}"
    );
}

#[test]
fn two_fields_of_one_name_are_an_error() {
    let scratch = Scratch::new();
    scratch.write("two.csv", format!("id,text,text\n1,{A},{B}\n2,{A},{A}\n"));
    scratch.fails("dedup two.csv --out o.jsonl", &["two.csv has two columns \"text\""]);
    // Columns that are not read may have one name.
    scratch.write("other.csv", format!("id,n,text,n\n1,1,{A},2\n"));
    scratch.ok("dedup other.csv --out o.jsonl");
    assert_eq!(objects(&text(&scratch, "o.jsonl"))[0]["n 2"], "2");
    let two = format!("{{\"id\":1,\"text\":\"{A}\",\"text\":\"{B}\"}}\n");
    scratch.write("two.jsonl", format!("{two}{{\"id\":2,\"text\":\"{A}\"}}\n"));
    scratch
        .run("dedup two.jsonl --out o.jsonl")
        .ends_with(3)
        .says(&["there are two fields \"text\""]);
    assert_eq!(objects(&text(&scratch, "o.jsonl.dropped.jsonl"))[0]["row"], two.trim_end());
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_line() {
    let scratch = Scratch::new();
    let line = |id: u32, text: &str| format!("{{\"id\":{id},\"text\":\"{text}\"}}\n");
    scratch.write("b1.jsonl", format!("\u{feff}{}", line(1, A)));
    scratch
        .write("b2.jsonl", format!("\u{feff}{}\u{feff}{}", line(2, B), line(3, "something else")));
    scratch.ok("dedup b1.jsonl b2.jsonl --out o.jsonl");
    let expected = [line(1, A), line(2, B), line(3, "something else")].concat();
    assert_eq!(text(&scratch, "o.jsonl"), expected);
    for (name, number, words) in [("c1.csv", 1, A), ("c2.csv", 2, B)] {
        scratch.write(name, format!("\u{feff}id,text\n{number},{words}\n"));
    }
    scratch.ok("dedup c1.csv c2.csv --out o.csv");
    let marks = text(&scratch, "o.csv").matches('\u{feff}').count();
    assert!(marks <= 1 && text(&scratch, "o.csv").ends_with(&format!("2,{B}\n")));
}

#[test]
fn json_of_python_is_kept_byte_for_byte() {
    let scratch = Scratch::new();
    let lines = format!(
        "{{\"id\": 1, \"text\": \"{A}\", \"score\": NaN}}\n\
         {{\"id\": 2, \"text\": \"{B} \\ud83d\", \"score\": -Infinity}}\n\
         {{\"id\": 3, \"text\": \"{A}\", \"score\": 1.0}}\n"
    );
    scratch.write("in.jsonl", &lines);
    scratch.ok("dedup in.jsonl --out o.jsonl").says(&["1 text with half of a surrogate pair"]);
    let kept: String = lines.split_inclusive('\n').take(2).collect();
    assert_eq!(text(&scratch, "o.jsonl"), kept);
    let nested =
        lines.replace("\"text\": ", "\"data\": {\"text\": ").replace(", \"score", "}, \"score");
    scratch.write("in.jsonl", nested);
    scratch.fails("dedup in.jsonl --out o.jsonl", &["--text-field data.text?"]);
    scratch.ok("dedup in.jsonl --out o.jsonl --text-field data.text --json").has("kept", 2);
}

#[test]
fn files_of_other_formats_are_named_by_what_they_are() {
    let scratch = Scratch::new();
    scratch.write("array.json", format!("[\"{A}\"]"));
    scratch.write("a.xz", b"\xfd7zXZ\0\0\0");
    scratch.write("a.jsonl", b"BZh91AY&SY");
    scratch.write("book.xlsx", b"PK\x03\x04\x14\0\0\0");
    scratch.write("a.arrow", b"ARROW1\0\0");
    scratch.write("a.orc", b"ORC\x0a");
    for (name, said) in [
        ("array.json", "jq -c '.[]'"),
        ("a.xz", "it is xz data"),
        ("a.jsonl", "it is bzip2 data"),
        ("book.xlsx", "save the sheet as CSV"),
        ("a.arrow", "an Arrow or Feather file"),
        ("a.orc", "an ORC file"),
    ] {
        scratch.fails(&format!("dedup {name} --out o.jsonl"), &[said]);
        scratch.fails(&format!("add i --jsonl {name}"), &[said]);
    }
    scratch.write("in.jsonl", format!("{{\"id\":1,\"text\":\"{A}\"}}"));
    for out in ["o.jsonl.xz", "o.bz2", "o.xlsx", "o.jsonl --dropped d.csv", "o --dropped d.xz"] {
        scratch.fails(&format!("dedup in.jsonl --out {out}"), &["written"]);
    }
}

#[test]
fn a_folder_of_shards_is_read_in_order_of_names() {
    let scratch = Scratch::new();
    let line = |id: &str, text: &str| format!("{{\"id\":\"{id}\",\"text\":\"{text}\"}}\n");
    scratch.write("in/part-2.jsonl", line("c", "quite another text of some words"));
    scratch.write("in/part-1.csv", format!("id,text\nb,{A}\n"));
    scratch.write("in/part-0.jsonl.zst", zstd::encode_all(line("a", A).as_bytes(), 1).unwrap());
    scratch.write("in/_SUCCESS", "");
    scratch.write("in/README.md", "notes");
    scratch.ok("dedup in --out o.jsonl").says(&["left out 1 file", "README.md"]);
    let kept: Vec<_> =
        objects(&text(&scratch, "o.jsonl")).iter().map(|one| one["id"].clone()).collect();
    assert_eq!(kept, ["a", "c"]);
    scratch.ok("add i --jsonl in --json").has("inserted", 3);
    scratch.write("none/a.txt", "text");
    scratch.fails("dedup none --out o.jsonl", &["without files of rows"]);
}

#[test]
fn a_file_that_no_run_made_is_not_replaced() {
    let scratch = Scratch::new();
    scratch
        .write("in.jsonl", format!("{{\"id\":1,\"text\":\"{A}\"}}\nno JSON\n{{\"text\":\"{B}\"}}"));
    let own = "{\"my\":\"own\"}\n";
    let run =
        |options: &str| scratch.run(format!("dedup in.jsonl --out o.jsonl {options}").trim_end());
    scratch.write("o.jsonl", own);
    run("").ends_with(2).says(&["o.jsonl exists, and no run of this command made it", "--force"]);
    assert!(!scratch.path("o.jsonl.nearkin-work").exists());
    run("--force").ends_with(3);
    run("").ends_with(3);
    // The user has changed it since.
    scratch.write("o.jsonl", own);
    run("").ends_with(2);
    run("--force").ends_with(3);
    scratch.write("o.jsonl.dropped.jsonl", own);
    run("--force").ends_with(2).says(&["--dropped FILE"]);
    scratch.write("d.jsonl", own);
    run("--dropped d.jsonl").ends_with(2).says(&["d.jsonl exists"]);
    assert_eq!(text(&scratch, "o.jsonl.dropped.jsonl") + &text(&scratch, "d.jsonl"), own.repeat(2));
    run("--dropped d.jsonl --force").ends_with(3);
    run("--dropped d.jsonl --lenient").ends_with(0);
    fs::hard_link(scratch.path("in.jsonl"), scratch.path("link.jsonl")).unwrap();
    scratch.fails("dedup in.jsonl --out link.jsonl --force", &["is an input"]);
}

/// What is read beside stdin is read twice, too.
#[test]
fn a_file_that_changes_beside_stdin_is_noticed() {
    let scratch = Scratch::new();
    let row =
        |number: u32| format!("{{\"id\":{number},\"text\":\"row {number} of some words\"}}\n");
    scratch.write("b.jsonl", (0..3).map(row).collect::<String>());
    let mut child = scratch.start("dedup - b.jsonl --out o.jsonl");
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(row(7).as_bytes()).unwrap();
    while !scratch.path("o.jsonl.nearkin-work/stdin").exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    scratch.write("b.jsonl", (3..9).map(row).collect::<String>());
    drop(stdin);
    Ran::new(child.wait_with_output().unwrap()).ends_with(2).says(&["the input changed"]);
    assert!(!scratch.path("o.jsonl").exists());
}
