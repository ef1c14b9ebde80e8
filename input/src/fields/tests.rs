//! Tests of reading fields.

use super::*;

fn read(fields: &Fields, line: &str) -> Result<(Vec<u8>, Content), String> {
    fields.parse(line.as_bytes()).map(|parsed| (parsed.key, parsed.content))
}

fn parse(line: &str) -> Result<(Vec<u8>, Content), String> {
    read(&Fields::text("id", "text"), line)
}

#[test]
fn key_and_text_are_found_among_other_fields() {
    let line = r#"{"n":[1,{}],"text":"a\nb","id":"k"}"#;
    assert_eq!(parse(line), Ok((b"k".to_vec(), Content::Text("a\nb".to_owned()))));
    let (key, _) = parse("{\"id\":-7,\"text\":\"\"}").unwrap();
    assert_eq!(key, b"-7");
}

/// Regression test, found in a code review: deduplication left out a line because of a huge
/// number in a field that is not compared.
#[test]
fn a_number_that_nobody_reads_may_be_beyond_all_ranges() {
    let (key, content) = parse(r#"{"n":1e400,"id":"k","text":"a","m":[-1e999]}"#).unwrap();
    assert_eq!((key, content), (b"k".to_vec(), Content::Text("a".to_owned())));
    assert!(parse(r#"{"n":1e,"id":"k","text":"a"}"#).is_err());
}

#[test]
fn invalid_lines_are_explained() {
    for (line, wrong) in [
        ("[1]", "a JSON array, not an object: `jq -c '.[]'` makes lines of objects"),
        (" { ", "an object over several lines: `jq -c .` puts it on one"),
        ("1|a text", "not JSON; if it is a table: --delimiter '|'"),
        ("{\"id\":1,\"id\":2,\"text\":\"a\"}", "there are two fields \"id\""),
        ("{\"id\":1,\"text\":\"a\",\"text\":\"a\"}", "there are two fields \"text\""),
        ("3", "not a JSON object"),
        ("{\"id\":", "not JSON: EOF while parsing a value at column 6"),
        ("garbage", "not JSON: expected value at column 1"),
        ("{\"text\":\"a\"}", "there is no \"id\""),
        ("{\"id\":\"a\"}", "there is no \"text\""),
        ("{\"id\":1.5,\"text\":\"a\"}", "\"id\" is neither a string nor an integer"),
        ("{\"id\":\"a\",\"text\":7}", "\"text\" is not a string"),
    ] {
        assert_eq!(parse(line), Err(wrong.to_owned()), "{line}");
    }
}

#[test]
fn an_integer_that_is_too_large_is_said_to_be() {
    let line = |key: &str| format!("{{\"id\":{key},\"text\":\"a\"}}");
    for fits in ["18446744073709551615", "-9223372036854775808"] {
        assert_eq!(parse(&line(fits)).unwrap().0, fits.as_bytes());
    }
    for large in ["18446744073709551616", "-9223372036854777857", "1e300"] {
        let wrong = parse(&line(large)).unwrap_err();
        assert_eq!(wrong, format!("\"id\" is {TOO_LARGE}"), "{large}");
    }
    let fields = Fields::items("id", "items");
    let wrong = read(&fields, r#"{"id":1,"items":[1,18446744073709551616]}"#).unwrap_err();
    assert_eq!(wrong, format!("an item of \"items\" is {TOO_LARGE}"));
}

#[test]
fn a_line_nested_too_deeply_is_said_to_be() {
    let nested = |depth| "[".repeat(depth) + &"]".repeat(depth);
    let unread = format!("{{\"id\":1,\"text\":\"a\",\"n\":{}}}", nested(100_000));
    assert!(parse(&unread).is_ok());
    let wrong = parse(&format!("{{\"id\":1,\"text\":{}}}", nested(128))).unwrap_err();
    assert!(wrong.starts_with("not JSON: recursion limit exceeded"), "{wrong}");
}

#[test]
fn rows_are_unsigned_integers() {
    let fields = Fields::rows("id", "rows");
    let parse = |rows: &str| read(&fields, &format!("{{\"id\":1,\"rows\":{rows}}}"));
    let (_, content) = parse("[0,4294967296,18446744073709551615]").unwrap();
    assert_eq!(content, Content::Rows(vec![0, 1 << 32, u64::MAX]));
    for bad in ["[-1]", "[1.0]", "[\"1\"]", "[18446744073709551616]", "7"] {
        assert!(parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn items_are_strings_and_integers() {
    let fields = Fields::items("id", "items");
    let parse = |items: &str| read(&fields, &format!("{{\"id\":1,\"items\":{items}}}"));
    let (_, content) = parse(r#"["a",1,-2,18446744073709551615]"#).unwrap();
    let expected = ["a", "1", "-2", "18446744073709551615"].map(str::to_owned).to_vec();
    assert_eq!(content, Content::Items(expected));
    for bad in ["[1.5]", "[true]", "[null]", "[[1]]", "\"a\"", "[1e3]"] {
        assert!(parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn fields_within_objects_have_names_with_dots() {
    let fields = Fields::text("data.id", "data.text");
    let both = Ok((b"1".to_vec(), Content::Text("a".to_owned())));
    assert_eq!(read(&fields, r#"{"x":{"text":"c"},"data":{"n":[{}],"text":"a","id":1}}"#), both);
    assert_eq!(read(&fields, r#"{"data.id":1,"data":{"text":"a"}}"#), both);
    let twice = read(&fields, r#"{"data.text":"b","data":{"text":"a","id":1}}"#);
    assert_eq!(twice, Err("there are two fields \"data.text\"".to_owned()));
    for none in [r#"{"data":null}"#, r#"{"data":["text"]}"#, r#"{"data":{"id":1}}"#] {
        assert!(read(&fields, none).unwrap_err().starts_with("there is no"), "{none}");
    }
}

#[test]
fn a_null_is_a_document_without_content() {
    let content = |fields: &Fields, line: &str| read(fields, line).map(|(_, content)| content);
    let text = Fields::text("id", "text");
    let none = Ok(Content::Text(String::new()));
    assert_eq!(content(&text, r#"{"id":"k","text":null}"#), none);
    let items = Fields::items("id", "items");
    assert_eq!(content(&items, r#"{"id":"k","items":null}"#), Ok(Content::Items(Vec::new())));
}

#[test]
fn nan_infinity_and_lone_surrogates_of_python_are_read() {
    for value in ["NaN", "Infinity", "-Infinity", "[NaN, Infinity]", "\"\\ud83d\""] {
        let line = format!("{{\"n\": {value}, \"id\": 1, \"text\": \"NaN \\\\ \\\"NaN\"}}");
        let (_, content) = parse(&line).unwrap();
        assert_eq!(content, Content::Text("NaN \\ \"NaN".to_owned()), "{line}");
    }
    let fields = Fields::text("id", "text");
    let parsed = |text: &str| {
        let line = format!("{{\"id\":1,\"n\":NaN,\"text\":\"{text}\"}}");
        let parsed = fields.parse(line.as_bytes()).unwrap();
        let Content::Text(text) = parsed.content else { panic!("no text") };
        (text, parsed.has_replaced)
    };
    assert_eq!(parsed("a\\ud83d b"), ("a\u{fffd} b".to_owned(), true));
    assert_eq!(parsed("\\udc00\\ud83d\\ude00"), ("\u{fffd}\u{1f600}".to_owned(), true));
    assert_eq!(parsed("\\\\ud83d"), ("\\ud83d".to_owned(), false));
    for wrong in ["nan", "1NaN", "NaNs", "--Infinity", "Infinit"] {
        assert!(parse(&format!("{{\"n\":{wrong},\"id\":1,\"text\":\"a\"}}")).is_err());
    }
    let number = parse(r#"{"id":NaN,"text":"a"}"#);
    assert!(number.is_err() && parse(r#"{"id":1,"text":NaN}"#).is_err());
}

#[test]
fn texts_of_lists_and_of_several_fields_are_joined() {
    let chat = r#"{"id":1,"messages":[{"role":"user","content":"a b"},{"content":null},
        {"role":"x"},{"content":"c"}],"title":"T","tags":["x",null,"y"],"body":null}"#;
    let texts = |names: &[&str], line: &str| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        match read(&Fields::texts("id", &names).unwrap(), line) {
            Ok((_, Content::Text(text))) => Ok(text),
            Ok(other) => panic!("{other:?}"),
            Err(wrong) => Err(wrong),
        }
    };
    for (names, expected) in [
        (&["messages.content"][..], "a b\nc"),
        (&["tags"], "x\ny"),
        (&["title", "messages.content"], "T\na b\nc"),
        (&["messages.content", "title"], "a b\nc\nT"),
        (&["title", "body", "tags"], "T\nx\ny"),
    ] {
        assert_eq!(texts(names, chat).as_deref(), Ok(expected), "{names:?}");
    }
    let nested = r#"{"id":1,"a":[{"b":[{"c":"1"},{"c":"2"}]},{"b":[]},{"b":{"c":["3","4"]}}]}"#;
    assert_eq!(texts(&["a.b.c"], nested).as_deref(), Ok("1\n2\n3\n4"));
    assert_eq!(texts(&["m.c"], r#"{"id":1,"m":[]}"#).as_deref(), Ok(""));
    for (names, line, wrong) in [
        (
            &["m"][..],
            r#"{"id":1,"m":["a",{"c":"b"}]}"#,
            "\"m\" is not a string: an element is an \
            object (a field of objects in a list is named m.FIELD)",
        ),
        (&["m.c"], r#"{"id":1,"m":[{"d":"b"},"c"]}"#, "there is no \"m.c\""),
        (&["m.c"], r#"{"id":1,"m":[{"c":"b"},{"c":7}]}"#, "\"m.c\" is not a string"),
        (&["m.c"], r#"{"id":1,"m":[{"c":7},{"c":"b"}]}"#, "\"m.c\" is not a string"),
        (&["m.c"], r#"{"id":1,"m":[{"c":"b"}],"m.c":"x"}"#, "there are two fields \"m.c\""),
        (&["a", "b"], r#"{"id":1,"a":"x"}"#, "there is no \"b\" (a null counts as an empty text)"),
    ] {
        assert_eq!(texts(names, line), Err(wrong.to_owned()), "{line}");
    }
    // A key is in no list.
    let fields = Fields::text("m.id", "t");
    assert!(read(&fields, r#"{"m":[{"id":1}],"t":"x"}"#).is_err());
    assert!(Fields::texts("id", &vec![String::new(); FIELDS_MAX + 1]).is_err());
}
