//! Known-answer tests: `docs/reference/SIGNATURES.md` prints the answers, and this module
//! recomputes every printed block. `tests/oracle/signatures.py` computes them independently from
//! the document alone.

use std::fmt::Write;

use xxhash_rust::xxh3::xxh3_64;

use super::steps;
use super::vectors_lists::NOTICE;
use crate::band::{band_key, key_hash};
use crate::normalise::Rules;
use crate::{FoldOptions, Normalise, Params, ParamsBuilder, Scheme, Shingles, Signature, Sketcher};
use crate::{distinct, hash, lane, windows};

const DOCUMENT: &str = include_str!("../../../docs/reference/SIGNATURES.md");

/// XXH3-64 of all printed blocks. If their hash is another one, the signatures on disk have
/// changed: that needs a new format version, not a new number here.
const PINNED: u64 = 0x911c_329e_9e61_e496;

/// XXH3-64 of the printed blocks of `fold`.
const PINNED_FOLD: u64 = 0x66b1_35d3_a6bf_3dda;

const INPUTS: [(&str, &str); 6] = [
    (
        "fox",
        "The quick brown fox jumps over the lazy dog; the QUICK brown fox isn't 3.14 or 1,000 \
         feet_tall. The end: e.g. this... __ the quick brown fox",
    ),
    ("one", "Solitary"),
    (
        "mixed",
        " \u{130}stanbul\u{a0} \u{39f}\u{394}\u{3a5}\u{3a3}\u{3a3}\u{395}\u{3a5}\u{3a3}\t \
         Cafe\u{301} \u{1e9e}  \u{4f60}\u{597d}\u{3000}\u{1f98a} \u{212b}ngstro\u{308}m ",
    ),
    ("lines", "First line\r\n\r\n  second\tLINE \nthird\n\nFirst line\nfourth"),
    ("items", "apple|Pear|1|-7|apple||\u{e9}"),
    ("numbers", ""),
];

/// Texts without words.
const WORDLESS: [(&str, &str); 4] = [
    ("arrow", " ===>\t!!  "),
    ("hearts", "\u{1f680} \u{2764}\u{fe0f}\u{200d}\u{1f525}  \u{1f680}"),
    ("maths", "\u{2200}\u{2203} \u{2260} \u{2212}\u{2264} \u{2211} \u{ff0b}"),
    ("stops", "The over, the!"),
];

/// XXH3-64 of the printed blocks of texts without words.
const PINNED_WORDLESS: u64 = 0x17e5_c2f5_e0b2_6f4c;

fn input(name: &str) -> String {
    if name == "numbers" {
        return (0..1000).map(|n| n.to_string()).collect::<Vec<_>>().join(" ");
    }
    if name == "folding" {
        let texts = texts_to_fold().into_iter().map(|(_, text)| text);
        return texts.collect::<Vec<_>>().join("\n");
    }
    if name == "digits" {
        return super::vectors_lists::texts_with_digits().join("\n");
    }
    let mut known = INPUTS.iter().chain(&WORDLESS).chain([&NOTICE]);
    known.find(|(known, _)| *known == name).unwrap().1.to_owned()
}

fn sign(params: &Params, name: &str) -> Signature {
    let sketcher = Sketcher::new(params);
    match params.shingles() {
        Shingles::Items => sketcher.items(input(name).split('|')).unwrap(),
        _ => sketcher.text(&input(name)).unwrap(),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        write!(out, "{byte:02x}").unwrap();
        out
    })
}

pub(super) fn vector(builder: ParamsBuilder, name: &str) -> String {
    let params = builder.build().unwrap();
    let flags = [
        (params.bag(), "bag"),
        (params.keep_case(), "keep-case"),
        (params.keep_space(), "keep-space"),
        (params.no_nfc(), "no-nfc"),
    ];
    let flag = flags.iter().find(|(set, _)| *set).map_or("-", |(_, name)| name);
    let signature = sign(&params, name);
    format!(
        "{} {} {} {} {} {flag} {name} {} {} {:016x} {:016x}\n",
        params.scheme(),
        params.lane_bits(),
        params.hashes(),
        params.seed(),
        params.shingles(),
        signature.shingle_count(),
        hex(&signature.as_bytes()[..8]),
        xxh3_64(signature.as_bytes()),
        signature.id(),
    )
}

fn vectors() -> String {
    let base = || Params::builder().bands(1, 16).normalise(Normalise::Case);
    let mut lines = String::new();
    for scheme in [Scheme::Fast, Scheme::Textbook] {
        for bits in [8, 16] {
            for hashes in [16, 100, 128, 400] {
                let cell = || base().scheme(scheme).lane_bits(bits).hashes(hashes);
                lines += &vector(cell(), "fox");
                lines += &vector(cell().shingles(Shingles::Tokens(2)), "numbers");
                lines += &vector(cell().shingles(Shingles::Chars(9)), "one");
            }
        }
    }
    let more = [
        (base().seed(12_345), "fox"),
        (base().seed(u64::MAX), "fox"),
        (base().seed(u64::MAX).scheme(Scheme::Textbook), "fox"),
        (base().hashes(1024).lane_bits(16), "fox"),
        (base().hashes(1024).lane_bits(16), "one"),
        (base().bag(true), "fox"),
        (base().shingles(Shingles::Words(1)), "fox"),
        (base().shingles(Shingles::Words(1)).bag(true), "fox"),
        (base().shingles(Shingles::Words(64)), "fox"),
        (base().shingles(Shingles::Words(2)).keep_case(true), "fox"),
        (base().shingles(Shingles::Tokens(1)), "mixed"),
        (base().shingles(Shingles::Chars(3)), "mixed"),
        (base().shingles(Shingles::Chars(3)).keep_case(true), "mixed"),
        (base().shingles(Shingles::Chars(3)).keep_space(true), "mixed"),
        (base().shingles(Shingles::Chars(3)).no_nfc(true), "mixed"),
        (base().shingles(Shingles::Lines(1)), "lines"),
        (base().shingles(Shingles::Lines(2)), "lines"),
        (base().shingles(Shingles::Lines(1)).keep_space(true), "lines"),
        (base().shingles(Shingles::Items), "items"),
        (base().shingles(Shingles::Items).bag(true), "items"),
        (base().shingles(Shingles::Items).seed(7), "items"),
    ];
    lines + &more.map(|(builder, name)| vector(builder, name)).concat()
}

/// JSON with everything outside printable ASCII escaped.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for unit in text.encode_utf16() {
        match u8::try_from(unit) {
            Ok(byte @ b' '..=b'~') if byte != b'"' && byte != b'\\' => out.push(char::from(byte)),
            _ => write!(out, "\\u{unit:04x}").unwrap(),
        }
    }
    out + "\""
}

fn inputs() -> String {
    let texts = INPUTS.iter().filter(|(name, _)| *name != "numbers");
    texts.map(input_line).collect()
}

pub(super) fn input_line((name, text): &(&str, &str)) -> String {
    [name, " ", &quoted(text), "\n"].concat()
}

fn hashes() -> String {
    let mut lines = String::new();
    for (text, seed) in [("", 0), ("a", 0), ("a", 1), ("quick", 0), ("an item of 24 bytes long", 9)]
    {
        let unit = steps::unit(text.as_bytes(), seed);
        writeln!(lines, "unit {} {seed} {unit:016x}", quoted(text)).unwrap();
    }
    for number in [0, 1, u64::MAX] {
        writeln!(lines, "finalise {number:016x} {:016x}", hash::finalise(number)).unwrap();
    }
    for units in [&[1_u64, 2] as &[u64], &[1, 2, 3], &[1, 2, 3, 4]] {
        let mut sums = units.to_vec();
        windows::windows(&mut sums, units.len(), None);
        let units: Vec<String> = units.iter().map(u64::to_string).collect();
        writeln!(lines, "window {} {:016x}", units.join(","), sums[0]).unwrap();
    }
    for (key, seed) in [("", 0), ("p1", 0), ("p1", 5)] {
        let hash = key_hash(key.as_bytes(), seed);
        writeln!(lines, "key {} {seed} {hash:016x}", quoted(key)).unwrap();
    }
    let params = Params::builder().build().unwrap();
    let signature = sign(&params, "fox");
    for (band, bytes) in signature.as_bytes().chunks_exact(params.band_bytes()).take(17).enumerate()
    {
        if band == 0 || band == 16 {
            writeln!(lines, "band {} {:016x}", hex(bytes), band_key(bytes)).unwrap();
        }
    }
    lines
}

fn ids() -> String {
    let all = [
        Params::builder(),
        Params::for_threshold(0.5).shingles(Shingles::Chars(5)).seed(42),
        Params::for_threshold(0.3).shingles(Shingles::Items).recall_target(0.9),
        Params::builder().scheme(Scheme::Textbook).keep_space(true).bag(true).hashes(400),
    ];
    all.map(|builder| id(builder.normalise(Normalise::Case))).concat()
}

pub(super) fn id(builder: ParamsBuilder) -> String {
    let params = builder.build().unwrap();
    let (signature, whole) = (params.signature_id(), params.id());
    format!("{}\n{signature:016x} {whole:016x}\n", params.text())
}

/// The printed block of this name.
pub(super) fn block(name: &str) -> &'static str {
    let start = format!("```{name}\n");
    let (_, rest) = DOCUMENT.split_once(&start).unwrap_or_else(|| panic!("no block {name}"));
    rest.split_once("```").unwrap().0
}

pub(super) fn check(name: &str, computed: &str) {
    assert!(
        block(name) == computed,
        "docs/reference/SIGNATURES.md, block {name}, should be\n{computed}"
    );
}

#[test]
fn the_document_prints_the_inputs() {
    check("inputs", &inputs());
}

#[test]
fn the_document_prints_the_hashes() {
    check("hashes", &hashes());
}

#[test]
fn the_document_prints_the_ids() {
    check("ids", &ids());
}

#[test]
fn the_document_prints_the_ids_of_a_stop_list() {
    let builder = Params::builder().shingles(Shingles::Words(1)).stop_words(["over", "The"]);
    check("stop-ids", &id(builder.normalise(Normalise::Case)));
}

/// Removing stop words by the option equals removing them from the text, in whatever form they are
/// written.
#[test]
fn a_text_is_sketched_as_the_text_without_its_stop_words() {
    let texts = [
        ("the quick brown fox jumps over THE lazy dog", "quick brown fox jumps lazy dog"),
        ("over the \u{c9}cole the caf\u{e9}, don't. Cafe\u{301}!", "\u{c9}cole"),
        ("x the", "x"),
    ];
    for shingles in [Shingles::Words(1), Shingles::Words(2)] {
        let plain = Params::builder().shingles(shingles).bag(true);
        let stop = ["The", "over", "CAFE\u{301}", "don't", "absent"];
        let params = plain.clone().stop_words(stop).build().unwrap();
        let (with, without) = (Sketcher::new(&params), Sketcher::new(&plain.build().unwrap()));
        for (text, rest) in texts {
            let (made, expected) = (with.text(text).unwrap(), without.text(rest).unwrap());
            assert_eq!(made.as_bytes(), expected.as_bytes(), "{text}");
            assert_eq!(made.shingle_count(), expected.shingle_count());
            assert_ne!(made.id(), expected.id());
        }
        // Nothing is left of this one: it is compared as a whole.
        let whole = with.text("the over don't THE").unwrap();
        assert_eq!(with.text("The  OVER don\u{2019}t the").unwrap(), whole);
        assert_ne!(with.text("the over don't").unwrap(), whole);
    }
}

#[test]
fn the_document_prints_the_vectors() {
    check("vectors", &vectors());
}

#[test]
fn frozen_vectors_stay_the_same() {
    let all = [inputs(), hashes(), ids(), vectors()].concat();
    assert_eq!(xxh3_64(all.as_bytes()), PINNED, "{:#018x}", xxh3_64(all.as_bytes()));
}

/// `fold` with each of its options.
fn folds() -> [Normalise; 5] {
    let options = FoldOptions::default;
    [
        Normalise::FOLD,
        Normalise::Fold(options().diacritics(true)),
        Normalise::Fold(options().dehyphenate(true)),
        Normalise::Fold(options().turkish(true)),
        Normalise::Fold(options().diacritics(true).dehyphenate(true).turkish(true)),
    ]
}

/// The texts of `fold-texts`, each with its normalisation.
fn texts_to_fold() -> Vec<(&'static str, String)> {
    let lines = block("fold-texts").lines().map(|line| {
        let (normalise, texts) = line.split_once(' ').unwrap();
        let text = serde_json::Deserializer::from_str(texts).into_iter::<String>().next();
        (normalise, text.unwrap().unwrap())
    });
    lines.collect()
}

fn fold_texts() -> String {
    let mut lines = String::new();
    for (normalise, text) in texts_to_fold() {
        let params = Params::builder().normalise(normalise.parse().unwrap()).build().unwrap();
        let rules = Rules::new(&params);
        let folded = rules.letters(&rules.options(&text)).into_owned();
        writeln!(lines, "{normalise} {} {}", quoted(&text), quoted(&folded)).unwrap();
    }
    lines
}

fn fold_ids() -> String {
    let all = [
        Params::builder(),
        Params::builder().normalise(folds()[4]).keep_space(true).shingles(Shingles::Chars(5)),
        Params::builder().normalise(Normalise::FOLD).shingles(Shingles::Items),
        Params::builder().normalise(folds()[1]).shingles(Shingles::Words(1)).stop_words(["the"]),
    ];
    all.map(id).concat()
}

fn fold_vectors() -> String {
    let mut lines = String::new();
    for normalise in folds() {
        for (shingles, name) in [
            (Shingles::Words(3), "fox"),
            (Shingles::Tokens(1), "mixed"),
            (Shingles::Chars(3), "mixed"),
            (Shingles::Tokens(2), "folding"),
            (Shingles::Chars(3), "folding"),
            (Shingles::Items, "items"),
        ] {
            let base = Params::builder().bands(1, 16).shingles(shingles).normalise(normalise);
            let line = vector(base, name);
            lines += &line.replacen(" - ", &format!(" {normalise} "), 1);
        }
    }
    lines
}

#[test]
fn the_document_prints_what_fold_does() {
    check("fold-texts", &fold_texts());
}

#[test]
fn the_document_prints_the_ids_with_fold() {
    check("fold-ids", &fold_ids());
}

#[test]
fn the_document_prints_the_vectors_with_fold() {
    check("fold-vectors", &fold_vectors());
}

#[test]
fn frozen_vectors_of_fold_stay_the_same() {
    let all = [fold_texts(), fold_ids(), fold_vectors()].concat();
    assert_eq!(xxh3_64(all.as_bytes()), PINNED_FOLD, "{:#018x}", xxh3_64(all.as_bytes()));
}

fn wordless_inputs() -> String {
    WORDLESS.iter().map(input_line).collect()
}

fn wordless_vectors() -> String {
    let base = || Params::builder().bands(1, 16).normalise(Normalise::Case);
    let mut lines = String::new();
    for scheme in [Scheme::Fast, Scheme::Textbook] {
        for bits in [8, 16] {
            for hashes in [16, 100, 128, 400] {
                let cell = base().scheme(scheme).lane_bits(bits).hashes(hashes);
                lines += &vector(cell, "hearts");
            }
        }
    }
    let more = [
        (base().hashes(1024).lane_bits(16), "hearts"),
        (base().seed(12_345), "arrow"),
        (base().seed(u64::MAX).scheme(Scheme::Textbook), "arrow"),
        (base(), "arrow"),
        (base().bag(true), "arrow"),
        (base().keep_space(true), "arrow"),
        (base().shingles(Shingles::Words(1)), "arrow"),
        (base(), "maths"),
        (base().keep_case(true), "maths"),
        (base().no_nfc(true), "maths"),
    ];
    lines += &more.map(|(builder, name)| vector(builder, name)).concat();
    for (name, _) in WORDLESS.iter().filter(|(name, _)| *name != "stops") {
        let line = vector(base().normalise(Normalise::FOLD), name);
        lines += &line.replacen(" - ", " fold ", 1);
    }
    for words in [1, 3] {
        let stop = base().shingles(Shingles::Words(words)).stop_words(["over", "The"]);
        lines += &vector(stop, "stops").replacen(" - ", " stop ", 1);
    }
    lines
}

#[test]
fn the_document_prints_the_vectors_of_texts_without_words() {
    check("wordless-inputs", &wordless_inputs());
    check("wordless-vectors", &wordless_vectors());
}

#[test]
fn frozen_vectors_of_texts_without_words_stay_the_same() {
    let all = [wordless_inputs(), wordless_vectors()].concat();
    assert_eq!(xxh3_64(all.as_bytes()), PINNED_WORDLESS, "{:#018x}", xxh3_64(all.as_bytes()));
}

/// The steps from unit hashes to stored bytes. Tests can replace `finalise` and `values`.
fn assemble(finalise: fn(u64) -> u64, values: fn(&[u64], usize) -> Vec<u64>) -> Box<[u8]> {
    let words = input("fox").to_lowercase();
    let mut sums: Vec<u64> = Vec::new();
    sums.extend(steps::words(&words).iter().map(|word| steps::unit(word.as_bytes(), 0)));
    windows::windows(&mut sums, 3, None);
    let hashes: Vec<u64> = sums.into_iter().map(finalise).collect();
    lane::store(&values(&hashes, 128), 8)
}

#[test]
fn the_vectors_catch_planted_faults() {
    let params = Params::builder().build().unwrap();
    let right = sign(&params, "fox");
    assert!(block("vectors").contains(&format!("{:016x}", xxh3_64(right.as_bytes()))));
    assert_eq!(&*assemble(hash::finalise, steps::fast_values), right.as_bytes());
    let unseeded = |hashes: &[u64], rows: usize| {
        super::naive::fast(hashes, rows, &|hash, round| super::naive::rehash(hash, round.min(1)))
    };
    let faults: [(&str, Box<[u8]>); 5] = [
        ("no finaliser", assemble(|sum| sum, steps::fast_values)),
        ("16 bits", assemble(|sum| hash::finalise(sum) & 0xffff << 48, steps::fast_values)),
        ("32 bits", assemble(|sum| hash::finalise(sum) & 0xffff_ffff << 32, steps::fast_values)),
        ("no round seed", assemble(hash::finalise, unseeded)),
        ("one permutation", assemble(hash::finalise, super::naive::one_permutation)),
    ];
    for (fault, bytes) in faults {
        assert_ne!(&*bytes, right.as_bytes(), "{fault}");
    }
    let mut numbered = vec![1, 1];
    distinct::bag(&mut numbered);
    assert_ne!(numbered[0], numbered[1]);
}
