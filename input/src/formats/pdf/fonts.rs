//! Makes fonts cheap to read. The library reads a font again for each page that uses it: it unpacks
//! the font's program and the map of its characters, and parses both by combinators, which make a
//! message of each alternative that does not match.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::catch_unwind;

use adobe_cmap_parser::get_unicode_map;
use pdf_extract::{Dictionary, Document, Object, ObjectId, Stream};
use type1_encoding_parser::get_encoding_map;

/// Removes what the library does not use, and replaces maps by short ones that say the same. The
/// text stays the same.
pub(super) fn lighten(document: &mut Document) {
    let needed = with_own_encoding(document);
    let (mut programs, mut maps) = (BTreeSet::new(), BTreeSet::new());
    for (id, object) in &mut document.objects {
        let Ok(dictionary) = object.as_dict_mut() else { continue };
        // A TrueType program is unpacked, and that is all.
        dictionary.remove(b"FontFile2");
        if !needed.contains(id) {
            dictionary.remove(b"FontFile");
        }
        let named = |name: &[u8]| dictionary.get(name).and_then(Object::as_reference).ok();
        programs.extend(named(b"FontFile"));
        maps.extend(named(b"ToUnicode"));
    }
    for id in programs {
        shorten(document, id, |program| short_encoding(get_encoding_map(program).ok()?));
    }
    for id in maps {
        shorten(document, id, |map| Some(short_map(&get_unicode_map(map).ok()?)));
    }
}

/// The descriptors of fonts whose encoding is that of the font's program: a font that names an
/// encoding does not use its own.
fn with_own_encoding(document: &Document) -> BTreeSet<ObjectId> {
    let mut needed = BTreeSet::new();
    // A font may stand within the dictionary that names it.
    let mut left: Vec<&Object> = document.objects.values().collect();
    while let Some(object) = left.pop() {
        if let Ok(items) = object.as_array() {
            left.extend(items);
        }
        let stream = object.as_stream().map(|stream| &stream.dict);
        let Ok(dictionary) = object.as_dict().or(stream) else { continue };
        if !dictionary.has(b"Encoding") {
            needed.extend(dictionary.get(b"FontDescriptor").and_then(Object::as_reference));
        }
        left.extend(dictionary.iter().map(|(_, value)| value));
    }
    needed
}

/// Replaces the content of a stream. One that cannot be parsed stays: the library says what is
/// wrong with it, if a page uses it.
fn shorten(document: &mut Document, id: ObjectId, short: fn(&[u8]) -> Option<Vec<u8>>) {
    let Ok(stream) = document.get_object_mut(id).and_then(Object::as_stream_mut) else { return };
    let Ok(content) = stream.get_plain_content() else { return };
    if let Ok(Some(short)) = catch_unwind(|| short(&content)) {
        *stream = Stream::new(Dictionary::new(), short);
    }
}

/// The encoding of a Type 1 program. `None` if a name has a character that would end it.
fn short_encoding(names: HashMap<u32, Vec<u8>>) -> Option<Vec<u8>> {
    let is_name = |name: &Vec<u8>| {
        name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(byte))
    };
    let mut short = b"/Encoding 256 array".to_vec();
    for (code, name) in BTreeMap::from_iter(names) {
        if !is_name(&name) {
            return None;
        }
        short.extend(format!(" {code} /").as_bytes());
        short.extend(name);
        short.extend(b" put");
    }
    short.extend(b" def");
    Some(short)
}

/// A map of characters with as few values as possible: a run of codes whose characters follow each
/// other takes three, and any other code takes two.
#[expect(clippy::big_endian_bytes, reason = "codes and characters of a PDF are in this order")]
fn short_map(map: &HashMap<u32, Vec<u8>>) -> Vec<u8> {
    let mut codes: Vec<u32> = map.keys().copied().collect();
    codes.sort_unstable();
    let follow = |one: &u32, next: &u32| {
        let number = |code| <[u8; 2]>::try_from(&map[code][..]).map(u16::from_be_bytes);
        let pair = (number(one), number(next));
        one.checked_add(1) == Some(*next)
            && matches!(pair, (Ok(one), Ok(next)) if one.checked_add(1) == Some(next))
    };
    let (mut runs, mut singles) = ((0, Vec::new()), (0, Vec::new()));
    for run in codes.chunk_by(follow) {
        let (first, last) = (run[0], run[run.len() - 1]);
        if run.len() > 1 {
            runs.0 += 1;
            write_string(&mut runs.1, &first.to_be_bytes());
            write_string(&mut runs.1, &last.to_be_bytes());
            write_string(&mut runs.1, &map[&first]);
        } else {
            singles.0 += 1;
            write_string(&mut singles.1, &first.to_be_bytes());
            write_string(&mut singles.1, &map[&first]);
        }
    }
    let mut short = Vec::new();
    for (kind, (count, strings)) in [("range", runs), ("char", singles)] {
        short.extend(format!("{count} beginbf{kind} ").as_bytes());
        short.extend(strings);
        short.extend(format!("endbf{kind} ").as_bytes());
    }
    short
}

/// Writes a string as characters. In hexadecimal digits it takes several times as long to parse.
fn write_string(to: &mut Vec<u8>, bytes: &[u8]) {
    to.push(b'(');
    for byte in bytes {
        if b"\\()".contains(byte) {
            to.push(b'\\');
        }
        to.push(*byte);
    }
    to.extend(b") ");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A font may stand within the dictionary that names it.
    #[test]
    fn a_program_whose_encoding_is_used_stays() {
        let mut document = Document::new();
        let font = |descriptor: (u32, u16)| {
            let mut font = Dictionary::new();
            font.set("FontDescriptor", Object::Reference(descriptor));
            font
        };
        let descriptor = || {
            let mut descriptor = Dictionary::new();
            descriptor.set("FontFile", Object::Reference((9, 0)));
            Object::Dictionary(descriptor)
        };
        for number in [1, 2, 3] {
            document.objects.insert((number, 0), descriptor());
        }
        let mut named = font((1, 0));
        named.set("Encoding", Object::Name(b"WinAnsiEncoding".to_vec()));
        document.objects.insert((4, 0), Object::Dictionary(named));
        document.objects.insert((5, 0), Object::Dictionary(font((2, 0))));
        let mut fonts = Dictionary::new();
        fonts.set("F1", Object::Array(vec![Object::Dictionary(font((3, 0)))]));
        document.objects.insert((6, 0), Object::Dictionary(fonts));
        lighten(&mut document);
        let has = |number| document.objects[&(number, 0)].as_dict().unwrap().has(b"FontFile");
        assert_eq!([1, 2, 3].map(has), [false, true, true]);
    }

    #[test]
    fn a_short_map_says_the_same() {
        let long = b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n\
            2 beginbfrange <28> <2a> <0041> <0100> <0101> [<005c> <D83DDE00>] endbfrange\n\
            4 beginbfchar <00> <FFFF> <01> <0000> <5C> <0028> <2b> <00660069> endbfchar endcmap";
        let map = get_unicode_map(long).unwrap();
        assert_eq!(map.len(), 9);
        let short = short_map(&map);
        assert_eq!(get_unicode_map(&short).unwrap(), map, "{}", String::from_utf8_lossy(&short));
        assert!(short.starts_with(b"1 beginbfrange (\0\0\0\\() (\0\0\0*) (\0A) endbfrange "));
        let none = HashMap::new();
        assert_eq!(get_unicode_map(&short_map(&none)).unwrap(), none);
    }

    #[test]
    fn a_short_encoding_says_the_same() {
        let long = b"%!PS-AdobeFont-1.0: X\n/FontName /X def /Encoding 256 array\n\
            0 1 255 {1 index exch /.notdef put} for\ndup 33 /exclam put\ndup 40 /g1-2 put\n\
            readonly def currentfile eexec \x8f\x01\x02";
        let names = get_encoding_map(long).unwrap();
        assert_eq!(names[&33], b"exclam");
        let short = short_encoding(names.clone()).unwrap();
        assert_eq!(get_encoding_map(&short).unwrap(), names);
        assert_eq!(short_encoding(HashMap::from([(1, b"a b".to_vec())])), None);
    }
}
