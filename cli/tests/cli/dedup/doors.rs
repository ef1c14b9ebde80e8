//! One rule behind every door: 18 settings of deduplication keep the same rows in the library
//! and from the shell. `python/tests/test_doors.py` compares the Python package with the same file,
//! `tests/data/dedup.tsv`. Exact decisions are compared with brute force.

use super::*;

use std::cmp::Reverse;

use nearkin::{
    Alike, Dedup, Duplicate, Evidence, Guard, Index, Judge, Judgement, Options, Original, Params,
    Shingles, Signature, Sketcher, Suspects,
};

const CORPORA: [&str; 4] = ["spdx", "pydocs", "messages", "letters"];

/// A line of `tests/data/dedup.tsv`: the settings, then the number of rows kept and their checksum.
struct Line {
    corpus: String,
    /// By what rows are decided: `estimate`, `confirmed` or `exact`.
    decided: String,
    guard: Guard,
    contained: bool,
    least: f64,
    keep: String,
    shingles: Shingles,
    /// Whether every row is a band of its own, so that practically every pair with a common shingle
    /// is compared; otherwise bands are chosen.
    all_pairs: bool,
    kept: String,
}

impl Line {
    fn parse(line: &str) -> Self {
        let fields: Vec<&str> = line.split('\t').collect();
        let [corpus, decided, guard, condition, least, keep, shingles, pairs, kept @ ..] =
            &fields[..]
        else {
            panic!("{line}");
        };
        Self {
            corpus: (*corpus).to_owned(),
            decided: (*decided).to_owned(),
            guard: guard.parse().unwrap(),
            contained: *condition == "contained",
            least: least.parse().unwrap(),
            keep: (*keep).to_owned(),
            shingles: shingles.parse().unwrap(),
            all_pairs: *pairs == "all",
            kept: kept.join("\t"),
        }
    }

    fn guard(&self) -> &'static str {
        match self.guard {
            Guard::Rare => "rare",
            Guard::Numbers => "numbers",
            _ => "none",
        }
    }

    fn alike(&self) -> Alike {
        if self.contained { Alike::contained(self.least) } else { Alike::similar(self.least) }
    }

    fn settings(&self) -> String {
        let condition = if self.contained { "contained" } else { "threshold" };
        let pairs = if self.all_pairs { "all" } else { "found" };
        let Self { corpus, decided, least, keep, shingles, .. } = self;
        let (least, shingles) = (least.to_string(), shingles.to_string());
        [corpus, decided, self.guard(), condition, &least, keep, &shingles, pairs].join("\t")
    }
}

/// Number of kept rows, and a checksum of their keys (FNV-1a).
fn checksum(kept: &[String]) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in kept.iter().flat_map(|key| key.bytes().chain([b'\n'])) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{}\t{hash:016x}", kept.len())
}

/// The rows of a corpus that have something to compare, in order of preference.
fn in_order(originals: &[Option<Original>], keep: &str) -> Vec<usize> {
    let mut order: Vec<usize> =
        (0..originals.len()).filter(|at| originals[*at].is_some()).collect();
    match keep {
        "last" => order.reverse(),
        "longest" => order.sort_by_key(|at| {
            Reverse(originals[*at].as_ref().map_or(0, |one| one.signature().shingle_count()))
        }),
        _ => {}
    }
    order
}

/// Which rows the library keeps, and brute force if the decisions are exact.
fn of_library(line: &Line, texts: &[Option<String>]) -> Vec<bool> {
    let alike = line.alike();
    let searched = if line.decided == "exact" { alike.for_verification() } else { alike };
    let mut given = Params::builder().shingles(line.shingles);
    if line.all_pairs {
        given = given.hashes(256).bands(256, 1).lane_bits(16);
    }
    let params = Dedup::choose(&given, searched).unwrap();
    let sketcher = Sketcher::new(&params);
    let original = |text: &Option<String>| sketcher.detailed_text(text.as_deref()?).ok();
    let originals: Vec<Option<Original>> = texts.iter().map(original).collect();
    let order = in_order(&originals, &line.keep);
    let document = |rank: u64| originals[order[usize::try_from(rank).unwrap()]].clone().unwrap();
    let kept = Index::temporary(&params, Options::default()).unwrap();
    let mut dedup = Dedup::new(&kept, alike).unwrap();
    let mut dropped_for = vec![None; order.len()];
    let ranks: Vec<u64> = (0..order.len() as u64).collect();
    for some in ranks.chunks(100) {
        let documents: Vec<Original> = some.iter().map(|rank| document(*rank)).collect();
        let fetch = &mut |rank| Ok(Some(document(rank)));
        let signatures: Vec<Signature> =
            documents.iter().map(|one| one.signature().clone()).collect();
        let decided = match &*line.decided {
            "exact" => {
                let documents = some.iter().copied().zip(documents).collect();
                dedup.decide_exactly(documents, fetch).unwrap()
            }
            "confirmed" => {
                let found = dedup.look_up_candidates(&signatures).unwrap();
                let fetch = &mut |ranks: &[u64]| {
                    Ok(ranks.iter().map(|rank| Some(document(*rank))).collect())
                };
                dedup.decide_confirmed(some, &signatures, &found, fetch).unwrap()
            }
            _ => {
                let found = dedup.look_up(&signatures).unwrap();
                dedup.decide(some, &signatures, &found).unwrap()
            }
        };
        for (rank, duplicate) in some.iter().zip(decided) {
            dropped_for[usize::try_from(*rank).unwrap()] = duplicate;
        }
    }
    if line.guard != Guard::None {
        judge(line, &document, &mut dropped_for);
    }
    let mut stays = vec![true; texts.len()];
    for (at, duplicate) in order.iter().zip(&dropped_for) {
        stays[*at] = duplicate.is_none();
    }
    if line.decided == "exact" && line.guard == Guard::None {
        assert_eq!(stays, by_brute_force(line, &originals, &order), "{}", line.settings());
    }
    stays
}

/// Looks once more at what was dropped.
fn judge(line: &Line, document: &dyn Fn(u64) -> Original, dropped_for: &mut [Option<Duplicate>]) {
    let mut suspects = Suspects::default();
    for (rank, found) in (0..).zip(&*dropped_for) {
        if let Some(Duplicate { of, evidence, .. }) = found {
            let Evidence::Shingles { own, other, shared, .. } = *evidence else { continue };
            suspects.add_dropped(rank, *of, [own, other, shared]);
        }
    }
    let fetch = &mut |ranks: &[u64]| Ok(ranks.iter().map(|rank| Some(document(*rank))).collect());
    let judged = &mut |rank, judgement| {
        dropped_for[usize::try_from(rank).unwrap()] = match judgement {
            Judgement::CopyOf(copy) => Some(copy),
            _ => None,
        };
    };
    Judge::new(line.guard, line.alike(), suspects).run(fetch, judged).unwrap();
}

/// Compares all pairs.
fn by_brute_force(line: &Line, originals: &[Option<Original>], order: &[usize]) -> Vec<bool> {
    let (mut stays, mut kept) = (vec![true; originals.len()], Vec::<&Original>::new());
    for at in order {
        let one = originals[*at].as_ref().unwrap();
        let is_alike = |other: &&Original| {
            let overlap = one.overlap(other);
            let value = if line.contained { overlap.containment } else { overlap.similarity };
            value >= line.least
        };
        stays[*at] = !kept.iter().any(is_alike);
        if stays[*at] {
            kept.push(one);
        }
    }
    stays
}

fn of_shell(line: &Line) -> Vec<String> {
    let scratch = Scratch::new();
    let input = data(&format!("{}.jsonl", line.corpus));
    let Line { least, shingles, .. } = line;
    let condition = if line.contained { "--contained" } else { "--threshold" };
    let keep = if line.keep == "last" { "newest" } else { &line.keep };
    let decided = match &*line.decided {
        "confirmed" => String::new(),
        other => format!("--{other}"),
    };
    // The default is not named.
    let guard = match line.guard {
        Guard::Rare => String::new(),
        _ => format!("--guard {}", line.guard()),
    };
    let bands = "--hashes 256 --bands 256 --rows-per-band 1 --lane-bits 16";
    let bands = if line.all_pairs { bands } else { "" };
    let how = format!(
        "{condition} {least} --keep {keep} --shingles {shingles} {bands} {decided} {guard}"
    );
    let run = format!("dedup {} --out out.jsonl {how}", input.display());
    let run: Vec<&str> = run.split_whitespace().collect();
    scratch.run_split(&run).ends_with(0);
    let out = objects(&text(&scratch, "out.jsonl"));
    out.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_door_keeps_the_same_rows() {
    let path = data("dedup.tsv");
    let file = fs::read_to_string(&path).unwrap();
    let lines: Vec<Line> = file.lines().skip(1).map(Line::parse).collect();
    assert_eq!(lines.len(), 18 * CORPORA.len());
    let mut written = file.lines().take(1).map(str::to_owned).collect::<Vec<_>>();
    for corpus in CORPORA {
        let rows = objects(&fs::read_to_string(data(&format!("{corpus}.jsonl"))).unwrap());
        let texts: Vec<Option<String>> =
            rows.iter().map(|row| row["text"].as_str().map(str::to_owned)).collect();
        let keys: Vec<&str> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
        for line in lines.iter().filter(|line| line.corpus == corpus) {
            let stays = of_library(line, &texts);
            let kept = keys.iter().zip(&stays).filter(|(_, stays)| **stays);
            let kept: Vec<String> = kept.map(|(key, _)| (*key).to_owned()).collect();
            assert!(kept.len() < rows.len(), "{}", line.settings());
            assert_eq!(of_shell(line), kept, "{}", line.settings());
            written.push(format!("{}\t{}", line.settings(), checksum(&kept)));
        }
    }
    if std::env::var_os("NEARKIN_WRITE_DOORS").is_some() {
        fs::write(path, written.join("\n") + "\n").unwrap();
        return;
    }
    let expected = lines.iter().map(|line| format!("{}\t{}", line.settings(), line.kept));
    assert_eq!(written[1..], expected.collect::<Vec<_>>());
}
