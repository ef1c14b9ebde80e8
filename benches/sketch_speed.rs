//! Sketching speed on one thread, with documents of about 200 English words.
//!
//! `cargo bench --bench sketch_speed -- [SHINGLES [FILE]]`. Prints documents per second and
//! nanoseconds per shingle for each kind of shingle (or the given one), and for items as strings
//! and as integers. FILE contains your own texts, one per line.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

use std::time::Instant;

use nearkin::{Item, Params, Scheme, Shingles, Sketcher};

/// Number of documents per measurement.
const DOCUMENTS: usize = 2_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let only = arguments.next();
    let texts = match arguments.next() {
        Some(file) => std::fs::read_to_string(file)?.lines().map(str::to_owned).collect(),
        None => documents(),
    };
    let bytes: usize = texts.iter().map(String::len).sum();
    println!("{} documents of {} bytes on average", texts.len(), bytes / texts.len().max(1));
    for shingles in [
        Shingles::Words(3),
        Shingles::Words(1),
        Shingles::Words(5),
        Shingles::Tokens(3),
        Shingles::Chars(5),
    ] {
        if only.as_ref().is_none_or(|only| *only == shingles.to_string()) {
            measure(Scheme::Fast, shingles, &texts)?;
        }
    }
    if only.is_none() {
        measure(Scheme::Textbook, Shingles::Words(3), &texts[..texts.len().min(100)])?;
        measure_items()?;
    }
    Ok(())
}

/// Measures sets of 200 integers, given as integers and as decimal strings.
fn measure_items() -> Result<(), nearkin::Error> {
    for digits in [3, 6, 9, 18] {
        let modulus = 10_u64.pow(digits);
        let number = |at: u64| at.wrapping_mul(0x9e37_79b9_7f4a_7c15) % modulus;
        let sets: Vec<Vec<u64>> = (0..DOCUMENTS as u64)
            .map(|set| (0..200).map(|item| number(200 * set + item)).collect())
            .collect();
        let strings: Vec<Vec<String>> =
            sets.iter().map(|set| set.iter().map(u64::to_string).collect()).collect();
        let strings = measure_sets(strings.iter().map(|set| set.iter().map(Item::from)))?;
        let integers = measure_sets(sets.iter().map(|set| set.iter().copied().map(Item::from)))?;
        println!(
            "items of up to {digits} digits: {strings:.1} ns a string, {integers:.1} ns an integer"
        );
    }
    Ok(())
}

/// Nanoseconds per item.
fn measure_sets<'i>(
    sets: impl Iterator<Item = impl Iterator<Item = Item<'i>> + Clone>,
) -> Result<f64, nearkin::Error> {
    let sketcher = Sketcher::new(&Params::builder().shingles(Shingles::Items).build()?);
    let (mut seconds, mut count) = (0.0, 0);
    for set in sets {
        let mut best = f64::INFINITY;
        for _ in 0..20 {
            let start = Instant::now();
            sketcher.items(set.clone())?;
            best = best.min(start.elapsed().as_secs_f64());
        }
        seconds += best;
        count += set.count();
    }
    Ok(seconds / count as f64 * 1e9)
}

/// Measures short slices several times and adds up their shortest times, so that other load hardly
/// matters.
fn measure(scheme: Scheme, shingles: Shingles, texts: &[String]) -> Result<(), nearkin::Error> {
    let sketcher = Sketcher::new(&Params::builder().scheme(scheme).shingles(shingles).build()?);
    let mut seconds = 0.0;
    let mut count = 0;
    for slice in texts.chunks(100) {
        let mut best = f64::INFINITY;
        for _ in 0..20 {
            let start = Instant::now();
            let mut shingles = 0;
            for text in slice {
                shingles += u64::from(sketcher.text(text)?.shingle_count());
            }
            let elapsed = start.elapsed().as_secs_f64();
            if elapsed < best {
                best = elapsed;
            }
            count += shingles;
        }
        seconds += best;
    }
    let documents = texts.len() as f64;
    println!(
        "{scheme} {shingles}: {:.0} documents/s, {:.2} us a document, {:.1} ns a shingle",
        documents / seconds,
        seconds / documents * 1e6,
        seconds / count as f64 * 20.0 * 1e9,
    );
    Ok(())
}

/// Texts of 170 to 230 words from a list with English word lengths, with punctuation and capitals
/// as in prose.
fn documents() -> Vec<String> {
    let common: Vec<&str> = COMMON.split_whitespace().collect();
    let rare: Vec<&str> = RARE.split_whitespace().collect();
    let mut state = 1_u64;
    let mut below = |n: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap_or(0) % n
    };
    (0..DOCUMENTS)
        .map(|_| {
            let mut text = String::new();
            for _ in 0..170 + below(60) {
                let list = if below(100) < 45 { &common } else { &rare };
                let word = list[below(list.len())];
                if text.is_empty() || text.ends_with(". ") {
                    text.push_str(&word[..1].to_uppercase());
                    text.push_str(&word[1..]);
                } else {
                    text.push_str(word);
                }
                text.push_str(match below(20) {
                    0 => ". ",
                    1 => ", ",
                    _ => " ",
                });
            }
            text
        })
        .collect()
}

const COMMON: &str = "the of and to in a is that for it as was with be by on not he his but at \
    are this have from or had an they which one you were all her she there would their we him \
    been has when who will no more if out so up said what its about than into them can only \
    other time new some could these two may first then do any like my now over such our";

const RARE: &str = "alleviating available background between business cannot character city \
    company conditions consider continued country court decision department development \
    different directory distribution document economic education effect energy evidence example \
    experience family federal figure following function general government group heading history \
    house however important increase industry information interest interface justice knowledge \
    language library license machine market material meeting member method modified money month \
    national nature network notice number office operation outside parameter particular party \
    pattern people performance permission person perhaps position possible power present \
    president pressure principle private problem process program property provide public purpose \
    question reason received record relation report required research result rights river school \
    science section service should signature simple situation social software something special \
    standard state statement station street structure student subject support surface system \
    table technical terms theory therefore thought through together toward training treatment \
    under understand university using value various version warranty water weather whether \
    without working writing written year young";
