//! Tests of reading tables.

use super::super::dialect::Mark;
use super::super::table_rows::TableRows;
use super::*;
use std::io::Cursor;

fn source(text: &[u8]) -> (Box<dyn Read>, bool) {
    (Box::new(Cursor::new(text.to_vec())), false)
}

fn open(name: &str, text: &[u8], options: &RowOptions) -> TableRows {
    TableRows::open(Path::new(name), source(text), options, None).unwrap()
}

/// The rows as JSON lines; of a wrong row its line and what is wrong.
fn lines_by(name: &str, text: &[u8], options: &RowOptions) -> Vec<String> {
    let mut rows = open(name, text, options);
    let mut lines = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        lines.push(match row.object {
            Ok(object) => String::from_utf8(object.to_vec()).unwrap(),
            Err(wrong) => format!("{}: {}", wrong.line, wrong.why),
        });
    }
    lines
}

fn lines(name: &str, text: &str) -> Vec<String> {
    lines_by(name, text.as_bytes(), &RowOptions::default())
}

/// The rows as they are, with their line ends.
fn rows(text: &str) -> Vec<(u64, String)> {
    let options = RowOptions::default();
    let reader = Cursor::new(text.as_bytes().to_vec());
    let mut table = CsvTable::open(Path::new("a.csv"), reader, &options).unwrap();
    let mut found = Vec::new();
    while let Some(row) = table.row().unwrap() {
        let whole = [row.bytes, row.line_end].concat();
        found.push((row.line, String::from_utf8(whole).unwrap()));
    }
    found
}

#[test]
fn rows_are_objects_of_their_cells() {
    let text = "id,text,id\n1,\"a \"\"b\"\",\nc\",x\n\n2,d,\n";
    let expected = [
        "{\"id\":\"1\",\"text\":\"a \\\"b\\\",\\nc\",\"id 2\":\"x\"}",
        "{\"id\":\"2\",\"text\":\"d\",\"id 2\":\"\"}",
    ];
    assert_eq!(lines("a.csv", text), expected);
    assert_eq!(lines("a.csv", "\u{feff}id;t\n1;a,b\n"), ["{\"id\":\"1\",\"t\":\"a,b\"}"]);
    assert_eq!(lines("a.tsv.gz", "a,b\tc\n1,2\t3\n"), ["{\"a,b\":\"1,2\",\"c\":\"3\"}"]);
    assert_eq!(lines("a.csv", "a|b\n1|2"), ["{\"a\":\"1\",\"b\":\"2\"}"]);
    assert!(lines("a.csv", "").is_empty() && lines("a.csv", "id,t\n\n\n").is_empty());
    let wrong = lines_by("a.csv", b"id\n\xff\n", &RowOptions::default());
    assert!(wrong[0].starts_with("2: not UTF-8"), "{wrong:?}");
}

#[test]
fn rows_are_given_as_they_are() {
    let long = format!("{},\"\n{}\n\"", "x".repeat(70_000), "\"\"".repeat(270_000));
    for end in ["\n", "\r\n", "\r"] {
        let all = ["id,text", " 1 ,\"a\"\"b\"", "\"\n\",", &long, "2,", "\"4\",5"];
        let numbers = [1, 2, 3, 5, 8, 9];
        let expected = |blank: usize, last: &str| -> Vec<(u64, String)> {
            let row = |(at, row): (usize, &&str)| {
                let end = if at + 1 == all.len() { last } else { end };
                (numbers[at] + (at * blank) as u64, format!("{row}{end}"))
            };
            all.iter().enumerate().map(row).collect()
        };
        assert_eq!(rows(&all.join(end)), expected(0, ""));
        assert_eq!(rows(&(all.join(&end.repeat(3)) + end)), expected(2, end));
    }
}

#[test]
fn a_row_that_does_not_fit_is_named_by_its_line() {
    let text = "id,text\n1,\"a\nb\"\n2,c,d\n3,\"e\nf\"\n4\n5,g\n";
    assert_eq!(
        lines("a.csv", text)[1..],
        [
            "4: 3 fields, but the first row has 2",
            "{\"id\":\"3\",\"text\":\"e\\nf\"}",
            "7: 1 field, but the first row has 2",
            "{\"id\":\"5\",\"text\":\"g\"}"
        ]
    );
    let text = "id,text\n1,\"a\n2,b\n3,\"c\"\n4,d";
    let rows = lines("a.csv", text);
    assert_eq!(rows[0], "4: text behind a closing quotation mark");
    assert_eq!(rows.len(), 4, "reading goes on at line 3: {rows:?}");
    assert_eq!(lines("a.csv", "a\n\"b")[0], "2: a quotation mark is never closed");
    assert_eq!(lines("a.csv", "a\n\n\"b\nc\"d\n")[0], "4: text behind a closing quotation mark");
}

#[test]
fn an_unclosed_quotation_mark_is_bounded_by_the_row_limit() {
    let text = [b"id,text\n1,\"a\n".to_vec(), vec![b'x'; DOCUMENT_BYTES_MAX + (2 << 20)]].concat();
    let options = RowOptions { lenient: true, ..RowOptions::default() };
    let mut table = open("a.csv", &[&text[..], b"\n2,b\n"].concat(), &options);
    let wrong = table.next().unwrap().unwrap().object.unwrap_err();
    assert!(wrong.is_too_large && wrong.why.contains("quotation mark"), "{wrong:?}");
    let rest = [table.next(), table.next(), table.next()].map(Result::unwrap);
    let rest = rest.map(|row| row.map(|row| (row.line, row.object.is_ok())));
    assert_eq!(rest, [Some((3, false)), Some((4, true)), None]);
}

#[test]
fn quotation_marks_behind_backslashes_are_recognised() {
    let row = |text: &str| format!("{{\"id\":\"1\",\"text\":{}}}", serde_json::json!(text));
    let spark = "id,text\n1,\"a \\\"b, c\\\" \\d\"\n";
    assert_eq!(lines("a.csv", spark), [row("a \"b, c\" \\d")]);
    // Here the backslash is text: the rows do not fit otherwise.
    assert_eq!(lines("a.csv", "id,text\n1,\"c:\\\"\n"), [row("c:\\")]);
    // An open quotation mark that a backslash seems to close two rows later.
    let bare = "id,text\n1\\\"x,\" a\n2,b\n3,\\\",c\"\n";
    assert_eq!(lines("a.csv", bare)[0], "2: 3 fields, but the first row has 2");
    let options = RowOptions { escape: Some(Mark::Of(b'\\')), ..RowOptions::default() };
    let python = b"id,text\n1,a\\, \\\\b\\\nc\\\"\n";
    assert_eq!(lines_by("a.csv", python, &options), [row("a, \\b\nc\"")]);
    let wrong = lines_by("a.csv", b"id,text\n1,\"a \\n\"", &options);
    assert_eq!(wrong, ["2: an escape before a character that needs none"]);
    let none = RowOptions { escape: Some(Mark::None), ..RowOptions::default() };
    assert!(lines_by("a.csv", spark.as_bytes(), &none)[0].contains("behind a closing"));
}

#[test]
fn bare_quotation_marks_in_a_table_with_tabs_are_text() {
    let row = |text: &str| format!("{{\"id\":\"1\",\"text\":{}}}", serde_json::json!(text));
    for bare in ["\"Hello\" World", "\"Hello", "5\" \"", "\"\""] {
        let text = format!("id\ttext\n1\t\"so\" it is\n1\t{bare}\n");
        assert_eq!(lines("a.tsv", &text)[1], row(bare));
    }
    assert_eq!(lines("a.tsv", "id\ttext\n1\t\"a \"\"b\"\"\tc\"\n"), [row("a \"b\"\tc")]);
    let none = RowOptions { quote: Some(Mark::None), ..RowOptions::default() };
    assert_eq!(lines_by("a.csv", b"id,text\n1,\"a\"\n", &none), [row("\"a\"")]);
}

#[test]
fn many_columns_are_refused() {
    let text = ",".repeat(COLUMNS_MAX);
    let source = source(text.as_bytes());
    let opened = TableRows::open(Path::new("a.csv"), source, &RowOptions::default(), None);
    assert!(opened.err().unwrap().to_string().contains("more than 1000000 columns"));
}

/// Excel writes such a line, and reads it.
#[test]
fn a_first_line_names_the_delimiter() {
    let expected = ["{\"id\":\"1\",\"t\":\"a,b;c\"}"];
    for (name, text) in [
        ("a.csv", "sep=|\nid|t\n1|a,b;c\n"),
        ("a.csv", "\"sep=|\"\r\nid|t\r\n1|a,b;c\r\n"),
        ("a.tsv", "\u{feff}SEP=|\nid|t\n1|a,b;c"),
    ] {
        assert_eq!(lines(name, text), expected, "{text:?}");
    }
    let mut table = open("a.csv", b"sep=;\nid;t\n1;\"a\n", &RowOptions::default());
    assert_eq!((&table.header[..], table.names()), (&b"sep=;\nid;t"[..], &b"id;t"[..]));
    let wrong = table.next().unwrap().unwrap();
    assert_eq!((wrong.line, wrong.object.unwrap_err().line), (3, 3));
    // A column of that name, or a delimiter that the user gives.
    assert_eq!(lines("a.csv", "sep=,x\n1,2\n"), ["{\"sep=\":\"1\",\"x\":\"2\"}"]);
    let comma = RowOptions { delimiter: Some(b','), ..RowOptions::default() };
    assert_eq!(lines_by("a.csv", b"sep=;\na,b\n1,2;\n", &comma), ["{\"a\":\"1\",\"b\":\"2;\"}"]);
}
