//! Tests of the guard: against its definition, written anew over sets of strings, and by what a
//! person expects of forms, crowds and copies.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::{Guard, Params, Shingles, Sketcher};

/// A random number generator: xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end as u64).unwrap()
    }
}

fn word(random: &mut Random) -> String {
    let letter = |at: usize| char::from(b'a' + u8::try_from(at % 26).unwrap());
    (0..2 + random.below(5)).map(|_| letter(random.below(26))).collect()
}

fn text(random: &mut Random, words: usize) -> Vec<String> {
    (0..words).map(|_| word(random)).collect()
}

/// A text with some words replaced.
fn edited(text: &[String], edits: usize, random: &mut Random) -> String {
    let mut text = text.to_vec();
    for _ in 0..edits {
        let at = random.below(text.len());
        text[at] = word(random);
    }
    text.join(" ")
}

/// What was judged: for each text the one it is dropped for.
struct Judged {
    dropped_for: Vec<Option<usize>>,
    apart: Vec<Option<Apart>>,
}

/// Deduplicates as programs do: by the shingles, then by the guard. `turned`: adds the documents
/// in the opposite order.
fn judged(texts: &[String], shingles: Shingles, guard: Guard, turned: bool) -> Judged {
    let params = Params::for_threshold(0.7).shingles(shingles).build().unwrap();
    let sketcher = Sketcher::new(&params);
    let kept = Index::temporary(&params, crate::Options::default()).unwrap();
    let documents: Vec<Original> =
        texts.iter().map(|text| sketcher.detailed_text(text).unwrap()).collect();
    let fetch = &mut |rank: u64| Ok(documents.get(usize::try_from(rank).unwrap()).cloned());
    let ranked = (0..).zip(documents.iter().cloned()).collect();
    let decided = Dedup::new(&kept, 0.7).unwrap().decide_exactly(ranked, fetch).unwrap();
    let mut dropped = Vec::new();
    for (at, found) in (0..).zip(&decided) {
        if let Some(Duplicate { of, evidence, .. }) = found {
            let Evidence::Shingles { own, other, shared } = *evidence else { panic!("{found:?}") };
            dropped.push((at, *of, [own, other, shared]));
        }
    }
    if turned {
        dropped.reverse();
    }
    let mut suspects = Suspects::default();
    for (at, of, counts) in dropped {
        suspects.add_dropped(at, of, counts);
    }
    let place = |rank: u64| usize::try_from(rank).unwrap();
    let mut result = Judged {
        dropped_for: decided.iter().map(|one| one.map(|one| place(one.of))).collect(),
        apart: vec![None; texts.len()],
    };
    let fetch = &mut |ranks: &[u64]| {
        Ok(ranks.iter().map(|rank| documents.get(place(*rank)).cloned()).collect())
    };
    let judged = &mut |rank, judgement| match judgement {
        Judgement::CopyOf(copy) => result.dropped_for[place(rank)] = Some(place(copy.of)),
        Judgement::Kept { apart, .. } => {
            (result.dropped_for[place(rank)], result.apart[place(rank)]) = (None, Some(apart));
        }
        Judgement::Unlike => panic!("{rank} is similar to what it was dropped for"),
    };
    Judge::new(guard, 0.7, suspects).run(fetch, judged).unwrap();
    result
}

fn runs(text: &str) -> BTreeSet<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut often = BTreeMap::new();
    let mut numbered = |run: String| {
        let number: &mut usize = often.entry(run.clone()).or_default();
        *number += 1;
        format!("{run} {number}")
    };
    words.windows(3).map(|run| numbered(run.join(" "))).collect()
}

/// The rule of DEDUP.md, over strings.
fn is_apart_by_definition(one: &str, other: &str, counts: &BTreeMap<String, usize>) -> bool {
    let (one, other) = (runs(one), runs(other));
    let rare = |run: &&String| counts[*run] <= 4;
    let shared: Vec<&String> = one.intersection(&other).collect();
    let only_one: Vec<&String> = one.difference(&other).collect();
    let only_other: Vec<&String> = other.difference(&one).collect();
    let mut group: Vec<usize> =
        shared.iter().filter(|run| !rare(run)).map(|run| counts[*run]).collect();
    group.sort_unstable();
    let of_group = |runs: &[&String]| {
        if group.is_empty() {
            return 0.0;
        }
        let (low, high) = (group[group.len() / 4] as f64, group[group.len() * 3 / 4] as f64);
        let counts = runs.iter().map(|run| counts[*run] as f64).filter(|count| *count > 4.0);
        counts.filter(|count| *count > 0.75 * low && *count <= 1.25 * high).count() as f64
    };
    let own = |own: &[&String], of_other: &[&String]| {
        let count = own.iter().filter(|run| rare(run)).count() as f64;
        (count - (1.5 * of_group(of_other)).ceil()).max(0.0)
    };
    let (a, b) = (own(&only_one, &only_other), own(&only_other, &only_one));
    let alone = a.min(b).max(a - 0.05 * one.len() as f64);
    let shared = shared.iter().filter(|run| rare(run)).count() as f64;
    shared < 0.4 * (2.0 * alone + shared)
}

/// Forms, a crowd, copies and unlike texts, with the number of the text that each is a copy of.
fn corpus(random: &mut Random) -> (Vec<String>, Vec<Option<usize>>) {
    let (mut texts, mut copies) = (Vec::new(), Vec::new());
    for _ in 0..40 {
        texts.push(text(random, 60).join(" "));
        copies.push(None);
    }
    for form in 0..3 {
        let form = text(random, 60 + 20 * form);
        for _ in 0..30 {
            let mut filled = form.clone();
            for at in [7, 19, 33, 48] {
                filled[at] = word(random) + &word(random);
            }
            texts.push(filled.join(" "));
            copies.push(None);
        }
    }
    let mut page = text(random, 120);
    page.extend_from_within(20..50);
    let first = texts.len();
    for number in 0..40 {
        let edits = 1 + random.below(3);
        texts.push(edited(&page, edits, random));
        copies.push((number > 0).then_some(first));
    }
    for at in (0..first).step_by(9) {
        let words: Vec<String> = texts[at].split(' ').map(str::to_owned).collect();
        texts.push(edited(&words, 2, random));
        copies.push(Some(at));
    }
    (texts, copies)
}

#[test]
fn what_is_kept_is_apart_by_definition_and_what_is_dropped_is_not() {
    for seed in 1..6 {
        let (texts, _) = corpus(&mut Random(seed * 77));
        let judged = judged(&texts, Shingles::Words(3), Guard::Rare, false);
        let ungarded = self::judged(&texts, Shingles::Words(3), Guard::None, false);
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        let mut parts = BTreeSet::new();
        for (at, of) in ungarded.dropped_for.iter().enumerate() {
            if let Some(of) = of {
                parts.extend([at, *of]);
            }
        }
        for at in &parts {
            for run in runs(&texts[*at]) {
                *counts.entry(run).or_default() += 1;
            }
        }
        let mut kept_apart = 0;
        for at in parts {
            let Some(leader) = ungarded.dropped_for[at] else { continue };
            if let Some(of) = judged.dropped_for[at] {
                assert!(judged.dropped_for[of].is_none(), "seed {seed}: {at} for {of}");
                assert!(!is_apart_by_definition(&texts[at], &texts[of], &counts), "{seed} {at}");
            } else {
                kept_apart += 1;
                assert!(is_apart_by_definition(&texts[at], &texts[leader], &counts), "{seed} {at}");
            }
        }
        assert!((40..110).contains(&kept_apart), "seed {seed}: {kept_apart}");
        let turned = self::judged(&texts, Shingles::Words(3), Guard::Rare, true);
        assert_eq!(turned.dropped_for, judged.dropped_for, "seed {seed}");
    }
}

#[test]
fn forms_stay_and_crowds_and_copies_go() {
    for shingles in [Shingles::Words(3), Shingles::Words(2), Shingles::Chars(9)] {
        let (mut lost, mut left, mut crowd) = (0, [0; 2], 0);
        for seed in 1..4 {
            let (texts, copy_of) = corpus(&mut Random(seed * 1_013));
            let found = judged(&texts, shingles, Guard::Rare, false).dropped_for;
            let is_left = |at: &usize| {
                copy_of[*at].is_some_and(|of| found[of].is_none() && found[*at].is_none())
            };
            for at in 0..texts.len() {
                let has_kept_copy = (0..texts.len())
                    .any(|other| copy_of[other] == Some(at) && found[other].is_none());
                lost += usize::from(copy_of[at].is_none() && found[at].is_some() && !has_kept_copy);
            }
            // The crowd of one page, and other copies.
            let in_crowd = |at: &usize| copy_of[*at] == Some(130);
            crowd += (0..texts.len()).filter(in_crowd).count();
            left[0] += (0..texts.len()).filter(in_crowd).filter(is_left).count();
            left[1] += (0..texts.len()).filter(|at| !in_crowd(at)).filter(is_left).count();
        }
        assert_eq!((lost, crowd), (0, 3 * 39), "{shingles}");
        assert!(left[0] * 20 <= crowd && left[1] <= 15, "{shingles}: {left:?}");
    }
}

#[test]
fn only_numbers_set_two_texts_apart_and_a_copy_of_either_goes() {
    let mut random = Random(5);
    let form = text(&mut random, 80);
    let filled = |number: usize| {
        let mut filled = form.clone();
        (filled[11], filled[40]) = (format!("{number}"), format!("{}.50", number * 7));
        filled.join(" ")
    };
    let mut texts: Vec<String> = (1..=9).map(filled).collect();
    // A copy of the fourth with a typing error, and one in upper case.
    texts.push(texts[3].replacen(&form[60], "tpying", 1));
    texts.push(texts[6].to_uppercase());
    for guard in [Guard::Numbers, Guard::Rare] {
        let found = judged(&texts, Shingles::Words(3), guard, false);
        assert_eq!(found.dropped_for[..9], [None; 9], "{guard:?}");
        assert!(found.apart[1..9].iter().all(|apart| *apart == Some(Apart::Numbers)));
        assert_eq!((found.dropped_for[9].is_some(), found.dropped_for[10]), (true, Some(6)));
    }
    // Numbers that agree are asked for whatever else differs.
    let found = judged(&texts, Shingles::Words(3), Guard::Agree, false).dropped_for;
    assert_eq!((found[9], found[10]), (Some(3), Some(6)));
    assert_eq!(found[..9], [None; 9]);
    let all = judged(&texts, Shingles::Words(3), Guard::None, false).dropped_for;
    assert_eq!(all.iter().flatten().count(), 10);
}

/// What the page repeats is lacked where it was edited, although the page has it elsewhere, too.
#[test]
fn a_crowd_goes_although_its_first_page_was_edited_in_what_it_repeats() {
    let mut random = Random(3);
    let mut page = text(&mut random, 120);
    page.extend_from_within(20..60);
    let mut first = page.clone();
    (first[30], first[50]) = (word(&mut random) + "x", word(&mut random) + "y");
    let mut texts = vec![first.join(" ")];
    texts.extend((0..40).map(|_| format!("{} {}", word(&mut random), page.join(" "))));
    let found = judged(&texts, Shingles::Words(3), Guard::Rare, false).dropped_for;
    assert!(found[0].is_none() && found[1..].iter().all(Option::is_some), "{found:?}");
}

/// A form has more runs in common with all others than a filled-in field has of its own.
#[test]
fn a_copy_is_found_among_many_of_its_form() {
    let mut random = Random(11);
    let form = text(&mut random, 90);
    let mut texts: Vec<String> = Vec::new();
    for _ in 0..80 {
        let mut filled = form.clone();
        filled[45] = word(&mut random) + &word(&mut random);
        texts.push(filled.join(" "));
    }
    texts.push(texts[4].to_uppercase());
    let found = judged(&texts, Shingles::Words(3), Guard::Rare, false);
    assert_eq!(found.dropped_for[..80].iter().flatten().count(), 0);
    assert_eq!(found.dropped_for[80], Some(4));
}

/// What an edited form has for itself passes as edits of any other form. Its original is more
/// similar.
#[test]
fn an_edited_form_is_a_copy_of_its_own_original() {
    let mut random = Random(13);
    let form = text(&mut random, 300);
    let mut forms: Vec<Vec<String>> = Vec::new();
    for _ in 0..60 {
        let mut filled = form.clone();
        for at in [4, 90, 170, 290] {
            filled[at] = word(&mut random) + &word(&mut random);
        }
        forms.push(filled);
    }
    let mut texts: Vec<String> = forms.iter().map(|form| form.join(" ")).collect();
    for form in forms.iter().step_by(4) {
        let left_out: Vec<usize> = (0..9).map(|part| part * 30 + 10 + random.below(20)).collect();
        let words = form.iter().enumerate().filter(|(at, _)| !left_out.contains(at));
        texts.push(words.map(|(_, word)| &**word).collect::<Vec<_>>().join(" "));
    }
    let found = judged(&texts, Shingles::Words(3), Guard::Rare, false).dropped_for;
    assert_eq!(found[..60].iter().flatten().count(), 0);
    assert!(found[60..].iter().copied().eq((0..60).step_by(4).map(Some)), "{found:?}");
}

/// Words without numbers, in order, and the words with a digit.
fn parts(text: &str) -> (Vec<&str>, Vec<&str>) {
    text.split(' ').partition(|word| !word.contains(|letter: char| letter.is_ascii_digit()))
}

#[test]
fn beside_an_index_only_numbers_set_apart() {
    let mut random = Random(64);
    let bodies: Vec<_> = (0..5).map(|_| text(&mut random, 40)).collect();
    let mut form = |edits: usize| {
        let body = edited(&bodies[random.below(5)], edits, &mut random);
        format!("{body} number {} sum {}", random.below(9), random.below(4))
    };
    let archived: Vec<_> = (0..60).map(|_| form(0)).collect();
    let incoming: Vec<_> = (0..80).map(|at| form(at % 3)).collect();
    let params = Params::for_threshold(0.6).shingles(Shingles::Words(1)).build().unwrap();
    let sketcher = Sketcher::new(&params);
    let made = |text: &String| sketcher.detailed_text(text).unwrap();
    let archive = crate::Index::temporary(&params, crate::Options::default()).unwrap();
    for (key, text) in (0_u64..).zip(&archived) {
        archive.insert(key, made(text).signature()).unwrap();
    }
    let mut seen = BTreeMap::new();
    for guard in [Guard::None, Guard::Numbers, Guard::Rare, Guard::Agree] {
        let against = Against::new(&archive.snapshot(), 0.6).unwrap().guard(guard);
        for one in &incoming {
            let mut best = [None, None];
            for (key, other) in (0_u64..).zip(&archived) {
                let similarity = sketcher.detailed_text(one).unwrap().similarity(&made(other));
                let ((words, numbers), (others, other_numbers)) = (parts(one), parts(other));
                let sorted = |some: &[&str]| {
                    let mut some = some.to_vec();
                    some.sort_unstable();
                    some.join(" ")
                };
                let is_apart = match guard {
                    Guard::Numbers | Guard::Rare => words == others && numbers != other_numbers,
                    Guard::Agree => sorted(&numbers) != sorted(&other_numbers),
                    _ => false,
                };
                let best = &mut best[usize::from(is_apart)];
                if similarity >= 0.6 && best.is_none_or(|(_, most)| similarity > most) {
                    *best = Some((key, similarity));
                }
            }
            let fetch = &mut |key: &[u8]| {
                let at = crate::Key::from(key).as_u64().unwrap();
                Ok(Some(made(&archived[usize::try_from(at).unwrap()])))
            };
            let found = against.find_exactly(&made(one), fetch).unwrap();
            let pair = |one: Option<crate::Duplicate<crate::Key<'static>>>| {
                one.map(|one| (one.of.as_u64().unwrap(), one.similarity))
            };
            assert_eq!(pair(found.duplicate), best[0], "{guard:?} {one}");
            // What sets apart is of interest only where nothing else is similar.
            if best[0].is_none() {
                assert_eq!(pair(found.apart), best[1], "{guard:?} {one}");
                *seen.entry(format!("{guard:?}")).or_insert(0) += usize::from(best[1].is_some());
            }
        }
    }
    let often = |guard: &&str| seen.get(*guard).is_some_and(|count| *count >= 5);
    assert!(["Numbers", "Rare", "Agree"].iter().all(often), "{seen:?}");
    assert_eq!(seen.get("None").unwrap_or(&0), &0);
}

#[test]
fn a_guard_has_a_name_and_others_are_refused() {
    let guards = ["none", "numbers", "rare", "agree"].map(|name| name.parse::<Guard>().unwrap());
    assert_eq!(guards, [Guard::None, Guard::Numbers, Guard::Rare, Guard::Agree]);
    let wrong = "all".parse::<Guard>().unwrap_err().to_string();
    assert!(wrong.contains("none, numbers, rare or agree"), "{wrong}");
}
