//! Tests of the decoder: whole documents and streams.

use std::io::Read;

use encoding_rs::{
    BIG5, EUC_JP, EUC_KR, Encoding, GBK, ISO_2022_JP, KOI8_R, SHIFT_JIS, WINDOWS_1251, WINDOWS_1252,
};

use super::*;

const GERMAN: &str =
    "Im Caf\u{e9} gibt es \u{c4}pfel und Br\u{f6}tchen.\nEr m\u{f6}chte s\u{fc}\u{df}e.\n";
const RUSSIAN: &str = "\u{412}\u{441}\u{435} \u{43b}\u{44e}\u{434}\u{438} \u{440}\u{43e}\u{436}\
    \u{434}\u{430}\u{44e}\u{442}\u{441}\u{44f} \u{441}\u{432}\u{43e}\u{431}\u{43e}\u{434}\u{43d}\
    \u{44b}\u{43c}\u{438}.\n";
const JAPANESE: &str = "\u{3059}\u{3079}\u{3066}\u{306e}\u{4eba}\u{9593}\u{306f}\u{3001}\u{751f}\
    \u{307e}\u{308c}\u{306a}\u{304c}\u{3089}\u{306b}\u{3057}\u{3066}\u{81ea}\u{7531}\u{3067}\
    \u{3042}\u{308b}\u{3002}\n";
const CHINESE: &str = "\u{4eba}\u{4eba}\u{751f}\u{800c}\u{81ea}\u{7531}\u{ff0c}\u{5728}\u{5c0a}\
    \u{4e25}\u{548c}\u{6743}\u{5229}\u{4e0a}\u{4e00}\u{5f8b}\u{5e73}\u{7b49}\u{3002}\n";
const KOREAN: &str = "\u{baa8}\u{b4e0} \u{c778}\u{ac04}\u{c740} \u{d0dc}\u{c5b4}\u{b0a0} \
    \u{b54c}\u{bd80}\u{d130} \u{c790}\u{c720}\u{b85c}\u{c6b0}\u{ba70}.\n";

fn decode_bytes(bytes: &[u8]) -> Result<Decoded, Reason> {
    decode(bytes.to_vec(), None, None)
}

fn text(bytes: &[u8]) -> String {
    decode_bytes(bytes).unwrap().text
}

fn how(bytes: &[u8]) -> String {
    decode_bytes(bytes).unwrap().how.to_string()
}

fn encoded(text: &str, encoding: &'static Encoding) -> Vec<u8> {
    encoding.encode(text).0.into_owned()
}

fn utf_16(text: &str, order: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(order).collect()
}

#[test]
fn a_truncated_last_character_leaves_utf_8() {
    for whole in [GERMAN, RUSSIAN, JAPANESE] {
        let last = whole.char_indices().rev().find(|(_, c)| !c.is_ascii()).unwrap();
        let cut = &whole.as_bytes()[..last.0 + last.1.len_utf8() - 1];
        let found = decode_bytes(cut).unwrap();
        assert_eq!(found.text, whole[..last.0].to_owned() + "\u{fffd}");
        assert_eq!(found.how.replaced, 1);
        assert_eq!(found.how.first, last.0);
    }
    assert_eq!(text(b"an ellipsis\xe2\x80"), "an ellipsis\u{fffd}");
}

#[test]
fn a_bad_byte_or_line_leaves_utf_8() {
    for whole in [GERMAN, RUSSIAN, JAPANESE, CHINESE, KOREAN].map(|text| text.repeat(3)) {
        for bad in [0xff, 0x80, 0xe9] {
            for at in 0..whole.len() {
                let mut bytes = whole.clone().into_bytes();
                bytes[at] = bad;
                let found = decode_bytes(&bytes).unwrap();
                assert_eq!(found.how.encoding, UTF_8, "{bad} at {at} of {whole}");
                assert!(found.how.replaced <= 3, "{:?}", found.how);
                let kept = found.text.lines().filter(|line| whole.lines().any(|one| one == *line));
                assert!(kept.count() + 1 >= whole.lines().count() - 1, "{}", found.text);
            }
        }
        for line in [encoded(RUSSIAN, WINDOWS_1251), encoded(JAPANESE, SHIFT_JIS)] {
            let found =
                decode_bytes(&[whole.as_bytes(), &line, whole.as_bytes()].concat()).unwrap();
            assert_eq!(found.how.encoding, UTF_8, "{whole}");
            assert!(found.text.starts_with(&whole) && found.text.ends_with(&whole));
        }
    }
}

#[test]
fn older_encodings_are_kept_with_few_letters_beyond_ascii() {
    for (bytes, expected) in [
        (&b"a caf\xe9 in the town"[..], "a caf\u{e9} in the town"),
        (b"the end is caf\xe9", "the end is caf\u{e9}"),
        (
            b"na\xefve caf\xe9, d\xe9j\xe0 vu: \xc9\xbb",
            "na\u{ef}ve caf\u{e9}, d\u{e9}j\u{e0} vu: \u{c9}\u{bb}",
        ),
        (b"for 20 \x80 a day", "for 20 \u{20ac} a day"),
    ] {
        let found = decode_bytes(bytes).unwrap();
        assert_eq!(found.text, expected);
        assert_eq!(found.how, How::new(WINDOWS_1252, Evidence::Guessed));
    }
    let hiragana = "\u{306e}\u{306a}\u{306b}\u{3068}\u{306e}\u{3001}".repeat(4);
    assert_eq!(text(&encoded(&hiragana, EUC_JP)), hiragana, "EUC-JP with UTF-8 sequences in it");
}

#[test]
fn old_encodings_survive_a_bad_byte() {
    for (whole, encoding) in [
        (RUSSIAN, WINDOWS_1251),
        (RUSSIAN, KOI8_R),
        (JAPANESE, SHIFT_JIS),
        (JAPANESE, EUC_JP),
        (CHINESE, GBK),
        (KOREAN, EUC_KR),
    ] {
        let line = encoded(whole, encoding);
        let mut bytes = line.repeat(40);
        assert_eq!(text(&bytes), whole.repeat(40), "{}", encoding.name());
        bytes[line.len() * 20] = 0xff;
        let found = decode_bytes(&bytes).unwrap();
        assert!(found.text.starts_with(&whole.repeat(20)), "{}: {:?}", encoding.name(), found.how);
        assert!(found.text.ends_with(&whole.repeat(18)), "{}: {:?}", encoding.name(), found.how);
    }
}

#[test]
fn utf_16_needs_no_mark_in_any_script() {
    for whole in [GERMAN, RUSSIAN, JAPANESE, CHINESE, KOREAN] {
        for (order, encoding) in
            [(u16::to_le_bytes as fn(u16) -> [u8; 2], UTF_16LE), (u16::to_be_bytes, UTF_16BE)]
        {
            let bytes = utf_16(whole, order);
            assert_eq!(decode_bytes(&bytes).unwrap().text, whole);
            assert_eq!(decode_bytes(&bytes).unwrap().how, How::new(encoding, Evidence::Unmarked));
            let mark = utf_16("\u{feff}", order);
            let marked = [&mark[..], &bytes].concat();
            assert_eq!(text(&marked), whole);
            let cut = decode_bytes(&marked[..marked.len() - 1]).unwrap();
            assert_eq!((cut.how.replaced, cut.how.evidence), (1, Evidence::Mark));
            let shifted = [&bytes.repeat(20)[..], b"\n", &bytes.repeat(20)].concat();
            assert!(decode_bytes(&shifted).is_err(), "{whole}: a byte too many");
        }
    }
    let utf_32: Vec<u8> = RUSSIAN.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
    let reason = decode_bytes(&[b"\xff\xfe\0\0", &utf_32[..]].concat()).unwrap_err();
    assert!(reason.detail().starts_with("text in UTF-32"), "{reason:?}");
}

#[test]
fn escape_sequences_choose_the_character_set() {
    let japanese = encoded(JAPANESE, ISO_2022_JP);
    assert_eq!(text(&japanese), JAPANESE);
    assert_eq!(how(&japanese), "ISO-2022-JP");
    let euc = encoded(KOREAN, EUC_KR);
    let mut korean = b"\x1b$)C".to_vec();
    for run in euc.chunk_by(|one, other| one.is_ascii() == other.is_ascii()) {
        if run[0].is_ascii() {
            korean.extend_from_slice(run);
            continue;
        }
        korean.push(0x0e);
        korean.extend(run.iter().map(|byte| byte & 0x7f));
        korean.push(0x0f);
    }
    assert_eq!(text(&korean), KOREAN);
    let gbk: Vec<u8> = encoded(CHINESE.trim_end(), GBK).iter().map(|byte| byte & 0x7f).collect();
    assert_eq!(text(&[b"~{", &gbk[..], b"~}\n"].concat()), CHINESE, "HZ");
    for other in [&b"\x1b$)A\x0e<<\x0f"[..], b"\x1b$(D0!\x1b(B"] {
        assert_eq!(decode_bytes(other).unwrap_err().kind(), "unread format");
    }
    let terminal = "\x1b[1mbold\x1b(B\x1b[m text";
    assert_eq!(how(terminal.as_bytes()), "UTF-8");
}

#[test]
fn a_named_encoding_precedes_a_declared_one_and_both_a_guess() {
    let bytes = encoded(RUSSIAN, WINDOWS_1251);
    let forced = decode(bytes.clone(), Some(UTF_8), Some(KOI8_R)).unwrap();
    assert_eq!(forced.how, How::new(KOI8_R, Evidence::Forced));
    assert_ne!(forced.text, RUSSIAN);
    let declared = decode(bytes.clone(), Some(WINDOWS_1251), None).unwrap();
    assert_eq!(declared.text, RUSSIAN);
    assert_eq!(declared.how, How::new(WINDOWS_1251, Evidence::Declared));
    let wrong = decode(RUSSIAN.into(), Some(WINDOWS_1251), None).unwrap();
    assert_eq!(wrong.text, RUSSIAN, "valid UTF-8 is not Windows-1251, whatever it declares");
    let wrong = decode(bytes, Some(SHIFT_JIS), None).unwrap();
    assert_eq!(wrong.text, RUSSIAN, "what is declared does not fit");
    let reason = decode(encoded(RUSSIAN, KOI8_R), None, Some(UTF_8)).unwrap_err();
    assert!(reason.detail().contains("give --encoding NAME"), "{reason:?}");
    assert_eq!(by_label("latin1"), Some(WINDOWS_1252));
    assert_eq!(by_label("iso-2022-kr"), None);
}

#[test]
fn a_text_in_an_unknown_encoding_is_refused() {
    // Code page 437 has its umlauts at 0x84, 0x94 and 0x81, and sharp s at 0xe1.
    let old = b"Er m\x94chte s\x81\xe1e \x8epfel und Br\x94tchen k\x84uflich.\n".repeat(20);
    let reason = decode_bytes(&old).unwrap_err();
    assert_eq!(reason.kind(), "unread format");
    // Those of an old Macintosh are known.
    let old = b"Er m\x9achte s\x9f\xa7e \x80pfel und Br\x9atchen k\x8auflich.\n".repeat(20);
    assert!(text(&old).starts_with("Er m\u{f6}chte s\u{fc}\u{df}e \u{c4}pfel"));
    assert_eq!(how(&old), "guessed: macintosh");
}

#[test]
fn the_note_names_what_was_replaced_and_guessed() {
    assert_eq!(how(RUSSIAN.as_bytes()), "UTF-8");
    let bytes = [RUSSIAN.as_bytes(), b"\xff\n", RUSSIAN.as_bytes(), b"\xff\n"].concat();
    let first = RUSSIAN.len();
    assert_eq!(how(&bytes), format!("UTF-8, 2 invalid bytes replaced, the first at {first}"));
    let big5 = encoded("\u{4eba}\u{4eba}\u{751f}\u{800c}\u{81ea}\u{7531}", BIG5).repeat(5);
    assert_eq!(how(&big5), "guessed: Big5");
    let both = decode_bytes(&big5).unwrap().how.and(decode_bytes(&bytes).unwrap().how);
    let expected = format!("guessed: Big5, 2 invalid bytes replaced, the first at {first}");
    assert_eq!(both.to_string(), expected);
}

/// Gives one byte at a time.
struct Drops<'a>(&'a [u8]);

impl Read for Drops<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.0.len().min(buffer.len()).min(1);
        let (one, rest) = self.0.split_at(count);
        buffer[..count].copy_from_slice(one);
        self.0 = rest;
        Ok(count)
    }
}

fn streamed(bytes: &[u8], forced: Option<&'static Encoding>) -> (String, Option<String>) {
    let mut found = Vec::new();
    let mut reader = Utf8Reader::open(bytes, forced).unwrap();
    let error = reader.read_to_end(&mut found).err().map(|error| error.to_string());
    let mut small = Vec::new();
    let mut reader = Utf8Reader::open(Drops(bytes), forced).unwrap();
    let other = reader.read_to_end(&mut small).err().map(|error| error.to_string());
    let place = |error: &Option<String>| {
        error.as_ref().map(|error| error.split(')').next().map(str::to_owned))
    };
    // The beginning of a character may be returned before its next byte is read.
    let valid = |bytes: &[u8]| bytes.utf8_chunks().next().map_or("", |one| one.valid()).to_owned();
    assert_eq!((valid(&found), place(&error)), (valid(&small), place(&other)));
    (valid(&found), error)
}

#[test]
fn a_stream_of_rows_is_utf_8_and_nothing_is_guessed() {
    let rows = format!("id,text\n1,{RUSSIAN}");
    assert_eq!(streamed(rows.as_bytes(), None), (rows.clone(), None));
    assert_eq!(streamed(format!("\u{feff}{rows}").as_bytes(), None), (rows.clone(), None));
    let utf_16 = utf_16(&format!("\u{feff}{rows}"), u16::to_le_bytes);
    assert_eq!(streamed(&utf_16, None), (rows.clone(), None));
    let old = encoded(&rows, WINDOWS_1251);
    assert_eq!(streamed(&old, Some(WINDOWS_1251)), (rows.clone(), None));
    let (read, error) = streamed(&old, None);
    assert_eq!(read, "id,text\n1,");
    let expected =
        "not UTF-8 at line 2 (byte 10): windows-1251? If so, give --encoding windows-1251";
    assert_eq!(error.unwrap(), expected);
    let (_, error) = streamed(&utf_16[..utf_16.len() - 1], None);
    assert_eq!(error.unwrap(), format!("not UTF-16LE at line 2 (byte {})", utf_16.len() - 2));
}

#[test]
fn a_stream_of_utf_16_without_a_mark_is_decoded() {
    let rows = "{\"id\": 1, \"text\": \"a b c\"}\n".repeat(3);
    let mut found = String::new();
    let bytes = utf_16(&rows, u16::to_be_bytes);
    let mut reader = Utf8Reader::open(&bytes[..], None).unwrap();
    assert!(!reader.is_unchanged());
    reader.read_to_string(&mut found).unwrap();
    assert_eq!(found, rows);
}

#[test]
fn a_lenient_stream_passes_invalid_bytes_on() {
    let bytes = b"{\"id\":1}\n{\"id\":\"\xff\"}\n";
    let mut reader = Utf8Reader::open(&bytes[..], None).unwrap().lenient();
    assert!(reader.is_unchanged());
    let mut found = Vec::new();
    reader.read_to_end(&mut found).unwrap();
    assert_eq!(found, bytes);
}

#[test]
fn a_character_may_be_cut_anywhere_between_two_reads() {
    let whole = [RUSSIAN, JAPANESE, "\u{1f600}\u{e9}a\u{1f600}\n"].concat();
    for cut in 0..whole.len() {
        let (one, other) = whole.as_bytes().split_at(cut);
        let mut found = String::new();
        let mut reader = Utf8Reader::open(one.chain(Drops(other)), None).unwrap();
        reader.read_to_string(&mut found).unwrap();
        assert_eq!(found, whole);
    }
    let (read, error) = streamed(&whole.as_bytes()[..whole.len() - 3], None);
    assert!(whole.starts_with(&read[..RUSSIAN.len()]));
    assert!(error.unwrap().starts_with("not UTF-8 at line 3"));
}
