//! `nearkin export`, `import` and `rebuild`, and signatures from other programs.

use super::*;
use std::fmt::Write as _;

/// The content of an index as lines of an export; the first line is the header.
fn exported(scratch: &Scratch, index: &str) -> String {
    let arguments = format!("export {index} --out -");
    scratch.ok(&arguments).stdout
}

/// Imports an index `i` with keys and payloads of all kinds.
fn with_all_kinds() -> (Scratch, String) {
    let scratch = Scratch::with_licences();
    let lines = exported(&scratch, "i");
    let (header, rest) = lines.split_once('\n').unwrap();
    let first = rest.lines().next().unwrap();
    let mut changed = format!("{}\n", header.replace("\"documents\":5", "\"documents\":8"));
    changed += rest;
    let tail = first.split_once(',').unwrap().1.strip_suffix('}').unwrap();
    writeln!(changed, "{{\"key_hex\":\"fF00\",{tail},\"payload_hex\":\"80ff\"}}").unwrap();
    writeln!(changed, "{{\"key\":\"a\\nb\\u0000\",{tail},\"payload\":\"text \\u00e9\"}}").unwrap();
    let time = tail.split("\"time\":").nth(1).unwrap().split(',').next().unwrap();
    let tail = tail.replace(time, "18446744073709551615");
    writeln!(changed, "{{\"key\":\"late\",{tail}}}").unwrap();
    scratch.write("all.jsonl", changed);
    scratch.ok("import i all.jsonl").prints_just("3 documents inserted, 0 replaced, 5 unchanged\n");
    let lines = exported(&scratch, "i");
    for kept in
        ["\"key_hex\":\"ff00\"", "\"payload_hex\":\"80ff\"", "\"time\":18446744073709551615"]
    {
        assert!(lines.contains(kept), "{lines}");
    }
    (scratch, lines)
}

fn endings() -> impl Iterator<Item = &'static str> {
    ["jsonl", "parquet"]
        .into_iter()
        .filter(|ending| *ending == "jsonl" || cfg!(feature = "parquet"))
}

#[test]
fn an_export_is_imported_exactly() {
    let (scratch, lines) = with_all_kinds();
    for ending in endings() {
        let ran = scratch.ok(&format!("export i --out e.{ending} --json"));
        assert_eq!(ran.stdout, format!("{{\"exported\":\"e.{ending}\",\"documents\":8}}\n"));
        assert!(!scratch.path(&format!("e.{ending}.nearkin-tmp")).exists());
        scratch.ok(&format!("import {ending}.nearkin e.{ending}")).says(&["created", "words:3"]);
        assert_eq!(exported(&scratch, &format!("{ending}.nearkin")), lines);
        let ran = scratch.ok(&format!("import i e.{ending} --json"));
        assert_eq!(ran.stdout, "{\"inserted\":0,\"replaced\":0,\"unchanged\":8}\n");
    }
    let ran = scratch.run_with_stdin("import stdin.nearkin -", lines.as_bytes()).ends_with(0);
    ran.says(&["created"]);
    assert_eq!(exported(&scratch, "stdin.nearkin"), lines);
}

#[test]
fn indexes_are_merged_and_what_is_replaced_is_counted() {
    let scratch = Scratch::with_licences();
    scratch.write("docs/MIT.txt", "quite another text under the same name");
    scratch.write("docs/more.txt", "one text more that was not there before");
    scratch.ok("add j docs");
    scratch.ok("import i j").prints_just("1 document inserted, 1 replaced, 4 unchanged\n");
    let ran = scratch.ok("import all i j").says(&["created all"]);
    assert_eq!(ran.stdout, "6 documents inserted, 0 replaced, 6 unchanged\n");
    scratch.ok("query all docs/MIT.txt --json").has("similarity", 1.0);
}

#[test]
fn imports_that_do_not_fit_are_refused() {
    let scratch = Scratch::with_licences();
    scratch.ok("create other --shingles chars:5 --seed 7");
    let ran = scratch.run("import other i").ends_with(2);
    let ran = ran.says(&["shingles: chars:5 here, words:3 there", "seed: another one there"]);
    assert!(!ran.stderr.contains('7'), "a seed may be secret: {}", ran.stderr);
    scratch.fails("import i i", &["into itself"]);
    scratch.fails("import new typo", &["typo"]);
    scratch.fails("import new docs", &["docs"]);
    scratch.write("texts.jsonl", "{\"id\":1,\"text\":\"some words of text\"}\n");
    scratch.fails("import new texts.jsonl", &["nearkin add INDEX --jsonl"]);
    assert!(!scratch.path("new").exists());
    scratch.fails("export i --out e.csv", &[".parquet"]);
    scratch.fails("export i --out none/e.jsonl", &["none/e.jsonl"]);
}

#[test]
fn a_truncated_export_is_an_error() {
    let scratch = Scratch::with_licences();
    let lines = exported(&scratch, "i");
    let cut: Vec<&str> = lines.lines().take(4).collect();
    scratch.write("cut.jsonl", cut.join("\n"));
    let ran = scratch.run("import j cut.jsonl").ends_with(2);
    ran.says(&["holds 3 documents, its first line says 5", "3 documents inserted", "truncated"]);
    scratch.write("half.jsonl", &lines[..lines.len() - 30]);
    scratch.fails("import k half.jsonl", &["half.jsonl line 6: ", "4 documents inserted"]);
    // A header without the number of documents is valid: whoever removes lines on purpose also
    // removes the number.
    let header = cut[0].replace("\"documents\":5,", "");
    scratch.write("some.jsonl", format!("{header}\n{}\n", cut[2]));
    scratch.ok("import l some.jsonl").prints_just("1 document inserted, 0 replaced, 0 unchanged\n");
    if cfg!(feature = "parquet") {
        scratch.ok("export i --out e.parquet");
        let bytes = fs::read(scratch.path("e.parquet")).unwrap();
        scratch.write("cut.parquet", &bytes[..bytes.len() - 100]);
        scratch.fails("import m cut.parquet", &["cannot read cut.parquet"]);
        scratch.write("text.parquet", "no Parquet");
        scratch.fails("import m text.parquet", &["cannot read text.parquet"]);
        assert!(!scratch.path("m").exists());
    }
}

#[test]
fn a_rebuilt_index_answers_like_one_from_texts() {
    let scratch = Scratch::new();
    let corpus = data("spdx.jsonl");
    let add = |index: &str, more: &[&str]| {
        let arguments = ["add", index, "--jsonl", corpus.to_str().unwrap()];
        scratch.run_split(&[&arguments, more].concat()).ends_with(0);
    };
    add("wide", &["--lane-bits", "16"]);
    let ran = scratch.ok("rebuild wide narrow --lane-bits 8 --threshold 0.5");
    assert!(ran.stdout.starts_with("450 documents in narrow: threshold 0.5"), "{}", ran.stdout);
    add("made", &["--threshold", "0.5"]);
    let pairs = |index: &str| scratch.ok(&format!("pairs {index} --sort --json"));
    assert!(pairs("made").stdout.lines().count() > 100);
    assert_eq!(pairs("narrow").stdout, pairs("made").stdout);
    let first_line = |index: &str| exported(&scratch, index).lines().next().unwrap().to_owned();
    assert_eq!(first_line("narrow"), first_line("made"));
    let refused = scratch.run("rebuild made x --lane-bits 16 --shingles tokens:2 --bag");
    let refused = refused.ends_with(2).says(&["lane bits: 8 here, 16 asked", "nearkin add"]);
    refused.says(&["shingles: words:3 here, tokens:2 asked; bag: false here, true asked"]);
    scratch.fails("rebuild made x --hashes 256", &["hashes: 128 here, 256"]);
    assert!(!scratch.path("x").exists());
    scratch.fails("rebuild made narrow", &["narrow"]);
}

#[test]
fn signatures_made_elsewhere_are_added_by_their_rows() {
    let scratch = Scratch::new();
    let create = "create i --scheme external:maker-1 --hashes 16 --bands 4 --rows-per-band 4";
    scratch.ok(create);
    let rows = |changed: u64| (0..16).map(|at| at * 77_777 + u64::from(at < changed)).collect();
    let line = |key: &str, rows: Vec<u64>| format!("{{\"id\":\"{key}\",\"rows\":{rows:?}}}\n");
    let lines = [line("a", rows(0)), line("b", rows(4)), line("short", vec![1, 2])].concat();
    let ran = scratch.run_with_stdin("add i --jsonl - --json", lines.as_bytes()).ends_with(3);
    ran.says(&["line 3: bad line (these parameters need a signature of 16 rows, not 2)"]);
    let pairs = scratch.ok("pairs i --json --threshold 0.5").objects();
    assert_eq!((pairs.len(), &pairs[0]["a"], &pairs[0]["b"]), (1, &"a".into(), &"b".into()));
    scratch.write("q", line("q", rows(4)));
    let found = scratch.ok("query i --jsonl q --rows-field rows --json").objects();
    assert_eq!((&found[0]["key"], &found[0]["similarity"]), (&"b".into(), &1.0.into()));
    // An index of signatures from another program cannot turn texts into signatures.
    scratch.write("text", "some words of text");
    let elsewhere = ["from another program (external:maker-1)", "--rows-field"];
    scratch.run("add i text").ends_with(2).says(&elsewhere);
    scratch.run("query i --text words").ends_with(2).says(&elsewhere);
    scratch.run("query i text").ends_with(2).says(&elsewhere);
    scratch.run("add i --jsonl q --text-field rows").ends_with(2).says(&elsewhere);
    scratch.fails("add j --jsonl q --rows-field rows", &["external:NAME"]);
    assert!(!scratch.path("j").exists());
    // Signatures of two different schemes cannot be mixed.
    scratch.ok(&create.replace("create i", "create k").replace("maker-1", "maker-2"));
    scratch.fails("import k i", &["scheme: external:maker-2 here, external:maker-1 there"]);
    scratch.fails("create l --scheme external:a;b", &["letters"]);
    scratch.fails("create l --scheme external:a --shingles words:3", &["external:a"]);
}

/// pyarrow reads the exported file and writes a copy of it, and the copy can be imported.
#[cfg(feature = "parquet")]
#[test]
fn pyarrow_reads_the_export_and_its_copy_is_imported() {
    let python = std::env::var("NEARKIN_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let found = Command::new(&python).args(["-c", "import pyarrow.parquet"]).output();
    if !found.is_ok_and(|output| output.status.success()) {
        println!("SKIPPED: {python} has no pyarrow; NEARKIN_PYTHON may name one that has");
        return;
    }
    let (scratch, lines) = with_all_kinds();
    scratch.write("e.jsonl", &lines);
    scratch.ok("export i --out e.parquet");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/exports.py");
    let mut command = Command::new(&python);
    command.arg(script).args(["e.jsonl", "e.parquet", "copy.parquet"]);
    let ran = Ran::new(command.current_dir(scratch.dir.path()).output().unwrap()).ends_with(0);
    assert!(ran.stdout.contains("8 documents, all equal"), "{}", ran.stdout);
    scratch.ok("import j copy.parquet");
    assert_eq!(exported(&scratch, "j"), lines);
}

#[test]
fn external_rows_of_32_and_64_bits_round_trip() {
    let scratch = Scratch::new();
    for (bits, top) in [("32", u64::from(u32::MAX)), ("64", u64::MAX)] {
        let (index, copy) = (format!("i{bits}"), format!("j{bits}"));
        let create = "--scheme external:maker-1 --hashes 16 --bands 4 --rows-per-band 4";
        scratch.ok(&format!("create {index} {create} --lane-bits {bits}"));
        let rows: Vec<u64> = (0..16).map(|row| top - row).collect();
        let line = serde_json::json!({ "id": "a", "rows": rows });
        scratch.write("q", format!("{line}\n"));
        scratch.ok(&format!("add {index} --jsonl q"));
        scratch.ok(&format!("export {index} --out e.jsonl"));
        let file = std::fs::read_to_string(scratch.path("e.jsonl")).expect("read");
        let width = if bits == "32" { 8 } else { 16 };
        let mut hex = String::new();
        for byte in rows.iter().flat_map(|row| row.to_le_bytes()[..width / 2].to_vec()) {
            let _ = write!(hex, "{byte:02x}");
        }
        assert!(file.contains(&format!("\"signature\":\"{hex}\"")), "{file}");
        scratch.ok(&format!("import {copy} e.jsonl"));
        scratch.ok(&format!("query {copy} --jsonl q")).says(&["a"]);
        scratch.ok(&format!("rebuild {index} k{bits} --lane-bits 8"));
    }
    scratch.run("add i32 --jsonl q").says(&["row 0 is 18446744073709551615"]);
    scratch.fails("create l --lane-bits 32", &["lane bits must be 8 or 16"]);
}
