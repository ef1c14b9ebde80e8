//! Audits beside a brute force that compares all pairs.

use crate::{
    Apart, Audit, AuditCounts, AuditRow, Audited, ErrorKind, Guard, Original, Params, Result,
    Shingles, Sketcher,
};

/// Both sides, as sets of words.
struct Made {
    kept: Vec<String>,
    removed: Vec<String>,
}

/// Copies with other words of every number, chains and forms.
fn made(state: &mut u64) -> Made {
    let mut below = |end: usize| {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(*state >> 33).unwrap() % end
    };
    let (mut kept, mut removed) = (Vec::new(), Vec::new());
    for _ in 0..60 {
        let mut words: Vec<usize> = (0..10 + below(30)).map(|_| below(100_000)).collect();
        let text = |words: &[usize]| {
            words.iter().map(|word| format!("w{word}")).collect::<Vec<_>>().join(" ")
        };
        kept.push(text(&words));
        for _ in 0..below(4) {
            let count = words.len();
            for _ in 0..below(count / 2) {
                words[below(count)] = below(100_000);
            }
            removed.push(text(&words));
        }
    }
    for number in 0..60 {
        let form: Vec<_> = (0..30).map(|word| format!("form{word}")).collect();
        let all = if number % 3 == 0 { &mut kept } else { &mut removed };
        all.push(format!("{} {} {}", form.join(" "), below(1_000), below(1_000)));
    }
    Made { kept, removed }
}

fn params() -> Params {
    Audit::choose(&Params::builder().shingles(Shingles::Words(1)), 0.7).unwrap()
}

fn audited(
    made: &Made,
    guard: Guard,
    threads: usize,
    stop: bool,
) -> Result<(Vec<Audited>, AuditCounts)> {
    let folder = tempfile::tempdir().unwrap();
    let audit = Audit::new(folder.path().join("work"), &params(), 0.7, guard)?;
    let mut audit = audit.threads(threads).cancel_if(move || stop);
    let sketcher = audit.sketcher();
    for text in &made.kept {
        audit.add_kept(&[sketcher.text(text)?])?;
    }
    let signatures: Vec<_> =
        made.removed.iter().map(|text| sketcher.text(text)).collect::<Result<_>>()?;
    audit.add_removed(&signatures)?;
    let mut fetch = |rows: &[AuditRow]| {
        let text = |row: &AuditRow| match row {
            AuditRow::Kept(number) => &made.kept[usize::try_from(*number).unwrap()],
            AuditRow::Removed(number) => &made.removed[usize::try_from(*number).unwrap()],
        };
        rows.iter().map(|row| sketcher.detailed_text(text(row))).collect()
    };
    let mut found = Vec::new();
    let counts = audit.run(&mut fetch, &mut |one| {
        found.push(one);
        Ok(())
    })?;
    Ok((found, counts))
}

fn originals(texts: &[String]) -> Vec<Original> {
    let sketcher = Sketcher::new(&params());
    texts.iter().map(|text| sketcher.original_text(text).unwrap()).collect()
}

#[test]
fn each_row_has_its_most_similar_kept_one_whatever_the_threads() {
    for seed in 1..6 {
        let made = made(&mut { seed });
        let (kept, removed) = (originals(&made.kept), originals(&made.removed));
        let (found, counts) = audited(&made, Guard::None, 1, false).unwrap();
        assert_eq!(found, audited(&made, Guard::None, 3, false).unwrap().0, "seed {seed}");
        let best = |one: &Original, others: &[Original], but: usize| {
            let others = others.iter().enumerate().filter(|(at, _)| *at != but);
            others.map(|(_, other)| one.similarity(other)).fold(0.0, f64::max)
        };
        let (mut wrong, mut chained) = (0, 0);
        for (row, one) in removed.iter().enumerate() {
            let (similarity, found) = (best(one, &kept, usize::MAX), &found[row]);
            assert_eq!((found.row, found.apart), (row as u64, None));
            let told = found.kept.map_or(0.0, |kept| kept.similarity);
            let is_right = told.total_cmp(&similarity).is_eq();
            assert!(is_right || similarity < 0.5 || !found.is_settled, "seed {seed} row {row}");
            assert!(told <= similarity, "seed {seed} row {row}");
            let chain = best(one, &removed, row);
            let is_chained = similarity < 0.7 && chain >= 0.7;
            let told = found.chained.map(|other| other.similarity.total_cmp(&chain).is_eq());
            assert_eq!(told, is_chained.then_some(true), "seed {seed} row {row}");
            wrong += u64::from(similarity < 0.7);
            chained += u64::from(is_chained);
        }
        assert_eq!((counts.wrong_at(0.7), counts.chained), (Some(wrong), chained), "seed {seed}");
        assert_eq!((counts.kept, counts.removed), (kept.len() as u64, removed.len() as u64));
        assert!(wrong > 5 && chained > 0, "seed {seed}: {wrong}, {chained}");
    }
}

#[test]
fn what_sets_a_pair_apart_is_said() {
    let text = |text: &str| text.to_owned();
    let made = Made {
        kept: vec![text("pay 40 euros for the lessons of March"), text("a b c d e f g h")],
        removed: vec![
            text("pay 55 euros for the lessons of March"),
            text("h g f e d c b a"),
            text("a b c d e f g h i j"),
        ],
    };
    let (found, counts) = audited(&made, Guard::Rare, 2, false).unwrap();
    let apart: Vec<_> = found.iter().map(|one| one.apart).collect();
    assert_eq!(apart, [Some(Apart::Numbers), None, None]);
    assert_eq!((counts.in_numbers, counts.in_rare, counts.equal), (Some(1), Some(0), 1));
    // What was not looked at has no count.
    let (_, counts) = audited(&made, Guard::Numbers, 2, false).unwrap();
    assert_eq!((counts.in_numbers, counts.in_rare), (Some(1), None));
    let (found, counts) = audited(&made, Guard::None, 2, false).unwrap();
    assert!(found.iter().all(|one| one.apart.is_none()));
    assert_eq!((counts.in_numbers, counts.in_rare), (None, None));
}

#[test]
fn more_documents_than_one_batch_holds_are_added_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let mut audit = Audit::new(dir.path().join("work"), &params(), 0.7, Guard::None).unwrap();
    let signature = audit.sketcher().text("one two three four").unwrap();
    let many = (16 << 20) / signature.as_bytes().len() + 1;
    audit.add_kept(&vec![signature; many]).unwrap();
}

#[test]
fn nothing_and_a_cancelled_run_are_no_success() {
    let nothing = Made { kept: Vec::new(), removed: Vec::new() };
    let (found, counts) = audited(&nothing, Guard::Rare, 1, false).unwrap();
    assert!(found.is_empty() && counts.wrong_at(1.0) == Some(0));
    let made = made(&mut 1);
    let error = audited(&made, Guard::Rare, 2, true).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    let alone = Made { kept: Vec::new(), removed: made.removed };
    let (found, counts) = audited(&alone, Guard::Rare, 1, false).unwrap();
    assert!(found.iter().all(|one| one.kept.is_none() && one.is_settled));
    assert_eq!(counts.wrong_at(0.5), Some(alone.removed.len() as u64));
    let dir = tempfile::tempdir().unwrap();
    assert!(Audit::new(dir.path(), &params(), 1.5, Guard::None).is_err());
}

/// The bands decide what is missed, and nothing else does: by the probability that a pair of .4 or
/// .3 shares none of 57 bands of 3 rows, 5 and 42 of 200 are expected. Each removed set has
/// `shared` of its words from one kept set, and both have `words`.
#[test]
fn what_is_missed_is_what_the_bands_miss() {
    let params = params();
    for (words, shared, missed_max) in [(30, 20, 2), (35, 20, 18), (39, 18, 75)] {
        let similarity = f64::from(shared) / f64::from(2 * words - shared);
        let text = |pair: u32, from: u32| -> String {
            (from..from + words).map(|word| format!("p{pair}w{word} ")).collect::<Vec<_>>().concat()
        };
        let made = Made {
            kept: (0..200).map(|pair| text(pair, 0)).collect(),
            removed: (0..200).map(|pair| text(pair, words - shared)).collect(),
        };
        let (found, counts) = audited(&made, Guard::None, 1, false).unwrap();
        let is_it = |one: &&Audited| {
            one.kept.is_some_and(|kept| {
                kept.of == one.row && kept.similarity.total_cmp(&similarity).is_eq()
            })
        };
        let missed = 200 - found.iter().filter(is_it).count();
        let expected = 200.0 * (1.0 - params.candidate_probability(similarity));
        assert!(missed <= missed_max, "{missed} pairs of {similarity} missed, {expected} expected");
        assert!(found.iter().all(|one| one.is_settled) && counts.unsettled == 0);
    }
}

#[test]
fn hardly_any_pair_of_a_half_is_missed() {
    let given = Params::builder();
    for threshold in [0.3, 0.5, 0.7, 0.9] {
        let params = Audit::choose(&given, threshold).unwrap();
        let searched = f64::min(threshold, 0.5);
        assert!(params.candidate_probability(searched) > 0.999, "{threshold}");
    }
}
