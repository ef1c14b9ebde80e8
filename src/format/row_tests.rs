//! Decodes the catalog's row by its specification alone: the table of fields in
//! `docs/reference/FILE_FORMAT.md`. Shares no code with the writer.

use super::tests::{DOCUMENT, example};

/// The lines of the table: field, type, example.
fn fields() -> Vec<[&'static str; 3]> {
    let (_, rest) = DOCUMENT.split_once("| field | type | example | meaning |\n").expect("a table");
    let lines = rest.lines().skip(1).take_while(|line| line.starts_with('|'));
    let cells = lines.map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    cells.map(|cells| [cells[1], cells[2], cells[3]]).collect()
}

/// Reads fields from bytes, given their types.
struct FieldReader<'a>(&'a [u8]);

impl FieldReader<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (taken, rest) = self.0.split_first_chunk().expect("the bytes do not end here");
        self.0 = rest;
        *taken
    }

    fn uint(&mut self) -> u64 {
        match self.take() {
            [251] => u16::from_le_bytes(self.take()).into(),
            [252] => u32::from_le_bytes(self.take()).into(),
            [253] => u64::from_le_bytes(self.take()),
            [small] if small <= 250 => small.into(),
            [other] => panic!("no uint begins with {other}"),
        }
    }

    fn value(&mut self, of_type: &str) -> String {
        match of_type {
            "u8" => self.take::<1>()[0].to_string(),
            "u32" => u32::from_le_bytes(self.take()).to_string(),
            "16 bytes" => self.take::<16>().escape_ascii().to_string(),
            "uint" | "variant" | "list" => self.uint().to_string(),
            "bool" | "option" => {
                let [byte] = self.take();
                assert!(byte < 2, "{byte} is neither 0 nor 1");
                byte.to_string()
            }
            "f64" => f64::from_le_bytes(self.take()).to_string(),
            "bytes" => {
                let count = usize::try_from(self.uint()).expect("few");
                self.0 = &self.0[count..];
                count.to_string()
            }
            "string" => {
                let count = usize::try_from(self.uint()).expect("few");
                let (string, rest) = self.0.split_at(count);
                self.0 = rest;
                string.escape_ascii().to_string()
            }
            other => panic!("the page does not say what {other} is"),
        }
    }
}

#[test]
fn the_row_in_the_document_is_what_its_table_says() {
    let bytes = example("catalog row");
    let mut page = FieldReader(&bytes);
    let fields = fields();
    for [field, of_type, expected] in &fields {
        if *expected != "-" {
            assert_eq!(page.value(of_type), *expected, "{field}");
        }
    }
    assert_eq!(fields.len(), 44, "the whole table was read");
    assert!(page.0.is_empty(), "{} bytes are left over", page.0.len());
}

/// The other example rows contain the fields that the first one lacks, in the order of the table
/// and without gaps.
#[test]
fn the_other_rows_in_the_document_follow_the_same_table() {
    let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let cases = [
        ("catalog row of an external scheme", "2", "4", named(&["maker"])),
        ("catalog row of whole rows", "2", "4", named(&["maker"])),
        ("catalog row with a stop list", "0", "5", named(&["a\\nthe"])),
        ("catalog row of passages", "0", "6", named(&["200", "100", "0"])),
        ("catalog row of fingerprints", "3", "8", named(&["0", "8", "0"])),
        ("catalog row with common shingles", "0", "7", named(&["0", "0", "16"])),
    ];
    for (name, scheme, shingles, extra) in cases {
        let bytes = example(name);
        let mut page = FieldReader(&bytes);
        let mut seen = Vec::new();
        for [field, of_type, expected] in fields() {
            let is_there = match (field, of_type) {
                ("name", _) => scheme == "2",
                ("units", _) => shingles != "4",
                ("stop list", "string") => shingles == "5",
                ("window", _) => matches!(shingles, "6" | "8"),
                ("stride", _) => shingles == "6",
                ("stop list", "option") => matches!(shingles, "6" | "7"),
                ("kind", _) => matches!(shingles, "7" | "8"),
                ("list", _) => shingles == "8",
                // The row of fingerprints has none.
                ("common shingles", _) => shingles == "7",
                _ => true,
            };
            if !is_there {
                continue;
            }
            let value = page.value(of_type);
            match field {
                "scheme" => assert_eq!(value, scheme),
                "shingles" => assert_eq!(value, shingles),
                "WAL" => assert_eq!(value, "0"),
                _ if expected == "-" => seen.push(value),
                _ => {}
            }
            if field == "WAL" {
                // These rows list no WAL, so its fields are omitted.
                assert_eq!(page.value("uint"), "8", "next file number");
                assert_eq!(page.value("list"), "0", "segments");
                break;
            }
        }
        assert_eq!((seen, page.0.len()), (extra, 0), "{name}");
    }
}
