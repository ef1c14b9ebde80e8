//! `nearkin dedup` preserves rows of tables and of Parquet files.

use super::*;

const TABLE: &str = "id,text,note\r\n\
    1,\"one text, of \"\"many\"\" words\r\nthat go on\", kept \r\n\
    2,\"One text of many WORDS that go on\",\"dropped\"\r\n\
    \r\n\
    3,quite another one of other words,\"a\"\r\n\
    4,,no text\r\n\
    5,and a third one that is like none,\r\n";

#[test]
fn a_run_that_read_nothing_leaves_no_work_folder() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl.gz", b"\x1f\x8b\x08\0broken");
    let ran = scratch.run("dedup in.jsonl.gz --out out.jsonl").ends_with(2);
    let ran = ran.says(&["cannot read in.jsonl.gz"]);
    assert!(!ran.stderr.contains("goes on there"), "{}", ran.stderr);
    let left = fs::read_dir(scratch.path("")).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(left.filter(|name| name.to_string_lossy().starts_with("out")).count(), 0);
}

#[test]
fn rows_of_a_table_stay_as_they_are() {
    let scratch = Scratch::new();
    scratch.write("in.csv", TABLE);
    let ran = scratch.ok("dedup in.csv --out out.csv --json");
    let row = "2,\"One text of many WORDS that go on\",\"dropped\"\r\n\r\n";
    let expected = TABLE.replace(row, "");
    assert_eq!(text(&scratch, "out.csv"), expected);
    let count = |name: &str| ran.objects()[0][name].as_u64().unwrap();
    assert_eq!((count("read"), count("kept"), count("blank"), count("skipped")), (5, 4, 1, 0));
    let dropped = objects(&text(&scratch, "out.csv.dropped.jsonl"));
    assert_eq!((&dropped[0]["line"], &dropped[0]["of_key"]), (&4.into(), &"1".into()));
    // Writes the kept rows to stdout, to a compressed file (from two inputs), and as JSON lines.
    scratch.ok("dedup in.csv --out -").says(&["5 lines read, 4 kept"]).prints_just(&expected);
    let expected = expected.replace("4,,no text\r\n", "");
    scratch.ok("dedup in.csv in.csv --out two.csv.gz --drop-blank");
    scratch.ok("dedup two.csv.gz --out -").prints_just(&expected);
    scratch.ok("dedup in.csv --out out.jsonl");
    let lines = objects(&text(&scratch, "out.jsonl"));
    assert_eq!(lines[0]["text"], "one text, of \"many\" words\r\nthat go on");
    assert_eq!(lines[0]["note"], " kept ");
    // Tables can be read wherever JSON lines can.
    scratch.ok("add i --jsonl in.csv --json").has("inserted", 4);
    let names: Vec<_> = fs::read_dir(scratch.path("")).unwrap().collect();
    assert_eq!(names.len(), 8, "{names:?}");
}

#[test]
fn output_formats_refuse_other_inputs() {
    let scratch = Scratch::new();
    scratch.write("in.csv", TABLE);
    scratch.write("other.csv", "id,body\n1,a\n");
    scratch.write("in.jsonl", "{\"id\":1,\"text\":\"some words\"}\n");
    for (arguments, said) in [
        ("in.jsonl --out out.csv", "in.jsonl is not"),
        ("in.csv in.jsonl --out out.csv", "in.jsonl is not"),
        ("in.csv --out out.parquet", "in.csv is not"),
        ("in.csv --out out.xlsx", "use the ending .jsonl"),
        ("in.csv --out out.dat", "use the ending .jsonl"),
        ("in.csv other.csv --out out.csv", "different columns"),
        ("in.csv --out out.tsv", "would not be separated by tabs"),
        ("- --out out.csv", "is not"),
        ("in.csv --out out.csv --text-field body", "has the fields id, text, note"),
    ] {
        scratch.fails(&format!("dedup {arguments}"), &[said]);
    }
    assert_eq!(fs::read_dir(scratch.path("")).unwrap().count(), 3);
    // An output name without a known ending means JSON lines, if the input is JSON lines.
    scratch.ok("dedup in.jsonl --out out.dat");
    let ran =
        scratch.run_with_stdin("dedup - --out -", b"{\"text\":\"a b c\"}\n{\"text\":\"a b c\"}");
    assert_eq!(ran.ends_with(0).stdout, "{\"text\":\"a b c\"}\n");
}

/// pyarrow writes a file with columns of every type and finds the kept rows equal.
#[cfg(feature = "parquet")]
#[test]
fn columns_of_every_type_pass_through() {
    let python = std::env::var("NEARKIN_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let found = Command::new(&python).args(["-c", "import pyarrow.parquet"]).output();
    if !found.is_ok_and(|output| output.status.success()) {
        println!("SKIPPED: {python} has no pyarrow; NEARKIN_PYTHON may name one that has");
        return;
    }
    let scratch = Scratch::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/rows.py");
    let python = |arguments: &[&str]| {
        let mut command = Command::new(&python);
        command.arg(&script).args(arguments).current_dir(scratch.path(""));
        Ran::new(command.output().unwrap()).ends_with(0).stdout
    };
    python(&["make", "in.parquet"]);
    let ran = scratch.run("dedup in.parquet --out out.jsonl").ends_with(2);
    ran.says(&["cannot hold all columns of in.parquet: when, ", "nested", "--out OUT.parquet"]);
    scratch.ok("dedup in.parquet --out out.parquet").prints("5,000  lines read");
    let said = python(&["check", "in.parquet", "out.parquet", "out.parquet.dropped.jsonl"]);
    assert!(said.contains("all columns equal"), "{said}");
    scratch.fails("dedup in.parquet --out o.parquet --text-field body", &["no column \"body\""]);
}
