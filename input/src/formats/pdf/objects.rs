//! Finds the objects of a PDF whose end is lost, and makes a table of them as it should be there.

use std::collections::BTreeMap;

/// A table of all objects with the end of the file behind it; to be appended to the file. `None` if
/// the file has neither a catalogue nor a table that is a stream.
pub(super) fn table(bytes: &[u8]) -> Option<Vec<u8>> {
    let found = objects(bytes);
    let with = |words: &[u8]| {
        let one = |(number, at): (&u32, &usize)| {
            let object = &bytes[*at..];
            let end = memchr::memmem::find(object, b"endobj").unwrap_or(object.len());
            let object = &object[..end];
            memchr::memmem::find(&squeezed(object), words).map(|_| (*number, *at))
        };
        found.iter().rev().find_map(one)
    };
    let (root, _) = match (with(b"/Type/Catalog"), with(b"/Type/XRef")) {
        (Some(root), _) => root,
        // Objects within streams are listed by this one only.
        (None, Some((_, at))) => return Some(format!("\nstartxref\n{at}\n%%EOF\n").into_bytes()),
        (None, None) => return None,
    };
    let mut table = "\nxref\n0 1\n0000000000 65535 f \n".to_owned();
    for (number, at) in &found {
        table.extend([format!("{number} 1\n{at:010} 00000 n \n")]);
    }
    let size = found.last_key_value().map_or(1, |(number, _)| number + 1);
    // The table begins behind the line end.
    let begin = bytes.len() + 1;
    table.extend([format!("trailer\n<< /Size {size} /Root {root} 0 R >>\n")]);
    table.extend([format!("startxref\n{begin}\n%%EOF\n")]);
    Some(table.into_bytes())
}

/// Whether the last object is incomplete.
pub(super) fn is_cut(bytes: &[u8]) -> bool {
    let last = objects(bytes).into_values().max().unwrap_or(0);
    memchr::memmem::find(&bytes[last..], b"endobj").is_none()
}

/// The offsets of all objects, by number; of several versions of one, the last.
fn objects(bytes: &[u8]) -> BTreeMap<u32, usize> {
    let mut found = BTreeMap::new();
    for at in memchr::memmem::find_iter(bytes, b" 0 obj") {
        let digits = bytes[..at].iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let number = std::str::from_utf8(&bytes[at - digits..at]).unwrap_or_default();
        if let Ok(number) = number.parse() {
            found.insert(number, at - digits);
        }
    }
    found
}

/// The beginning of an object, without blanks.
fn squeezed(object: &[u8]) -> Vec<u8> {
    const MOST: usize = 4 << 10;
    object.iter().take(MOST).copied().filter(|byte| !byte.is_ascii_whitespace()).collect()
}
