//! Tests of reading the rows of Parquet files.

use super::*;
use ::parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::parser::parse_message_type;

fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: &[T::T],
    levels: (&[i16], &[i16]),
) {
    let mut column = group.next_column().unwrap().unwrap();
    let (present, repeated) = levels;
    let some = |levels: &'static [i16]| Some(levels).filter(|levels| !levels.is_empty());
    let (present, repeated) = (present.to_vec().leak(), repeated.to_vec().leak());
    column.typed::<T>().write_batch(values, some(present), some(repeated)).unwrap();
    column.close().unwrap();
}

fn bytes(texts: &[&str]) -> Vec<ByteArray> {
    texts.iter().map(|text| ByteArray::from(*text)).collect()
}

/// Writes two row groups of three rows each, with all supported column types.
fn write(path: &Path) {
    let schema = "message m {
        required binary id (UTF8);
        optional binary text (UTF8);
        required int32 number (INTEGER(32, false));
        optional group items (LIST) { repeated group list { optional binary element (UTF8); } }
        repeated int64 plain;
        required double share;
        required group deep { required int64 a; required int64 b; }
    }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
    for _ in 0..2 {
        let mut group = writer.next_row_group().unwrap();
        column::<ByteArrayType>(&mut group, &bytes(&["a", "b\n", "c"]), (&[], &[]));
        column::<ByteArrayType>(&mut group, &bytes(&["one", "two"]), (&[1, 0, 1], &[]));
        column::<Int32Type>(&mut group, &[1, -1, 3], (&[], &[]));
        // The lists of the three rows: [x, null], null, [].
        let levels: (&[i16], &[i16]) = (&[3, 2, 0, 1], &[0, 1, 0, 0]);
        column::<ByteArrayType>(&mut group, &bytes(&["x"]), levels);
        // The lists of the three rows: [], [-7, 8], [9].
        column::<Int64Type>(&mut group, &[-7, 8, 9], (&[0, 1, 1, 1], &[0, 0, 1, 0]));
        column::<DoubleType>(&mut group, &[0.5, f64::NAN, 2.0], (&[], &[]));
        for _ in 0..2 {
            column::<Int64Type>(&mut group, &[1, 2, 3], (&[], &[]));
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
}

fn wanted(key: &str, content: &str) -> Wanted {
    let (key, content) = (key.to_owned(), vec![content.to_owned()]);
    Wanted { key, content, is_key_optional: false, only: true, is_for_copy: false }
}

fn read(path: &Path, wanted: Option<&Wanted>) -> String {
    let mut text = String::new();
    Rows::open(path, wanted, Arc::default()).unwrap().read_to_string(&mut text).unwrap();
    text
}

#[test]
fn rows_are_lines_of_json() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("rows.parquet");
    write(&path);
    let all = "{\"id\":\"a\",\"text\":\"one\",\"number\":1,\"items\":[\"x\",null],\
        \"plain\":[],\"share\":0.5}\n\
        {\"id\":\"b\\n\",\"text\":null,\"number\":4294967295,\"items\":null,\"plain\":[-7,8],\
        \"share\":null}\n\
        {\"id\":\"c\",\"text\":\"two\",\"number\":3,\"items\":[],\"plain\":[9],\
        \"share\":2.0}\n";
    assert_eq!(read(&path, None), all.repeat(2));
    let two = "{\"id\":\"a\",\"plain\":[]}\n{\"id\":\"b\\n\",\"plain\":[-7,8]}\n\
        {\"id\":\"c\",\"plain\":[9]}\n";
    assert_eq!(read(&path, Some(&wanted("plain", "id"))), two.repeat(2));
    let nested = "{\"deep.b\":1,\"id\":\"a\"}\n{\"deep.b\":2,\"id\":\"b\\n\"}\n\
        {\"deep.b\":3,\"id\":\"c\"}\n";
    assert_eq!(read(&path, Some(&wanted("deep.b", "id"))).len(), 2 * nested.len());
    let wrong = |column: &str| {
        let rows = Rows::open(&path, Some(&wanted("id", column)), Arc::default());
        rows.err().unwrap().to_string()
    };
    assert!(wrong("typo").contains("no column \"typo\": it has the fields id, text, number"));
    assert!(wrong("deep").contains("an unsupported type"));
}

#[test]
fn a_large_text_is_encoded_in_parts() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("large.parquet");
    let schema = "message m { required binary id (UTF8); required binary text (UTF8); }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut writer =
        SerializedFileWriter::new(File::create(&path).unwrap(), schema, Arc::default()).unwrap();
    // Characters of 1 to 4 bytes: a part of fixed length would end within one.
    let large = "\"\u{e9}\n\u{20ac}\\\u{1d11e}".repeat(5 * TEXT_BYTES / 26);
    let mut group = writer.next_row_group().unwrap();
    column::<ByteArrayType>(&mut group, &bytes(&[&large, "b", &large]), (&[], &[]));
    column::<ByteArrayType>(&mut group, &bytes(&["one", &large, &large]), (&[], &[]));
    group.close().unwrap();
    writer.close().unwrap();
    let large = serde_json::to_string(&large).unwrap();
    let row = |id: &str, text: &str| format!("{{\"id\":{id},\"text\":{text}}}\n");
    let all = [row(&large, "\"one\""), row("\"b\"", &large), row(&large, &large)].concat();
    let found = read(&path, None);
    assert!(found == all, "{} bytes instead of {}", found.len(), all.len());
    let mut rows = Rows::open(&path, None, Arc::default()).unwrap();
    while rows.fill().unwrap() {
        assert!(rows.text.len() < 6 * TEXT_BYTES, "{}", rows.text.len());
    }
}

#[test]
fn values_of_one_page_are_in_memory_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("pages.parquet");
    let schema = "message m { required int64 id; optional binary text (UTF8); }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    // A page ends when it has this size, which is checked after so many values.
    let properties = WriterProperties::builder().set_dictionary_enabled(false);
    let properties = properties.set_data_page_size_limit(1_000).set_write_batch_size(1);
    let file = File::create(&path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties.build())).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let text = "x".repeat(400);
    column::<Int64Type>(&mut group, &(0..300).collect::<Vec<_>>(), (&[], &[]));
    column::<ByteArrayType>(&mut group, &bytes(&[&*text; 200]), (&[1, 0, 1].repeat(100), &[]));
    group.close().unwrap();
    writer.close().unwrap();
    let line = |id: usize| match id % 3 {
        1 => format!("{{\"id\":{id},\"text\":null}}\n"),
        _ => format!("{{\"id\":{id},\"text\":\"{text}\"}}\n"),
    };
    assert_eq!(read(&path, None), (0..300).map(line).collect::<String>());
    let mut rows = Rows::open(&path, None, Arc::default()).unwrap();
    assert!(rows.read().unwrap());
    let read: Vec<usize> = rows.values.iter().map(VecDeque::len).collect();
    assert!((50..200).contains(&read[0]) && (2..6).contains(&read[1]), "{read:?}");
}

/// Chats have such a column: its strings are named as in JSON.
#[test]
fn a_field_of_structs_in_a_list_is_a_list() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chat.parquet");
    let schema = "message m {
        required int64 id;
        optional group messages (LIST) { repeated group list { optional group element {
            optional binary role (UTF8);
            optional binary content (UTF8);
        } } }
    }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let file = File::create(&path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    column::<Int64Type>(&mut group, &[1, 2, 3, 4], (&[], &[]));
    let levels: (&[i16], &[i16]) = (&[4, 3, 4, 1, 0, 2], &[0, 1, 1, 0, 0, 0]);
    let text = |text: &str| ByteArray::from(text);
    column::<ByteArrayType>(&mut group, &[text("u"), text("v")], levels);
    column::<ByteArrayType>(&mut group, &[text("a b"), text("c")], levels);
    group.close().unwrap();
    writer.close().unwrap();
    let lines = read(&path, Some(&wanted("id", "messages.content")));
    let expected = [
        "{\"id\":1,\"messages.content\":[\"a b\",null,\"c\"]}",
        "{\"id\":2,\"messages.content\":[]}",
        "{\"id\":3,\"messages.content\":null}",
        "{\"id\":4,\"messages.content\":[null]}",
    ];
    assert_eq!(lines.lines().collect::<Vec<_>>(), expected);
    assert_eq!(columns::not_for_json(&path).unwrap(), ["messages"]);
    assert!(Rows::open(&path, Some(&wanted("id", "messages")), Arc::default()).is_err());
}
