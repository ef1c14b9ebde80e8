//! Measures accuracy on real corpora with exact truth, and checks it against the formulas.
//!
//! `cargo bench --bench accuracy` reads the corpora in the folder `NEARKIN_DATA` (default
//! `../shared/data`). It prints one line per check with PASS or FAIL, writes
//! the tables of `docs/reports/ACCURACY.md`, and exits with status 1 if a check failed. With
//! `-- variants`, it writes only the table about texts that people consider equal.

#![expect(clippy::print_stdout, reason = "a program for people prints")]

mod corpus;
mod report;
#[path = "../support/mod.rs"]
mod support;
mod variants;

use std::error::Error;

use corpus::{Bin, Corpus, Pair};
use nearkin::{Normalise, Params, ParamsBuilder, Scheme, Shingles, Sketcher};
use report::{Line, Report};

/// Number of seeds per statistic. Pairs share documents, so only different seeds are independent.
/// With 20 seeds, about one run in ten of a correct scheme would deviate by four standard errors
/// somewhere (Student's t); with 40, one in thirty.
const SEEDS: u64 = 40;
/// Maximum number of pairs sampled from each bin.
const PAIRS: usize = 4_000;
/// Accepted deviation of the fast scheme from the formulas. It deviates because it is more precise
/// than the formulas say.
const FAST_SLACK: f64 = 0.03;
/// Accepted deviation of a mean, in standard errors across seeds.
const FAR: f64 = 4.0;

const PAGE: &str = "docs/reports/ACCURACY.md";

/// Name of the corpus, suffix of its truth file, and the kind of shingles.
const CORPORA: [(&str, &str, Shingles); 12] = [
    ("debian_descriptions", "char5.ge0.8", Shingles::Chars(5)),
    ("debian_descriptions", "word3.ge0.7", Shingles::Tokens(3)),
    ("debian_depends", "items.ge0.7", Shingles::Items),
    ("retail", "items.ge0.5", Shingles::Items),
    ("reuters21578", "char5.ge0.5", Shingles::Chars(5)),
    ("reuters21578", "word3.ge0.5", Shingles::Tokens(3)),
    ("spdx_npm", "char5.ge0.5", Shingles::Chars(5)),
    ("spdx_npm", "word3.ge0.5", Shingles::Tokens(3)),
    ("debian_copyright", "char5.ge0.5", Shingles::Chars(5)),
    ("debian_copyright", "word3.ge0.5", Shingles::Tokens(3)),
    ("rfc_2k", "char5.ge0.5", Shingles::Chars(5)),
    ("python_docs", "char5.ge0.5", Shingles::Chars(5)),
];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = support::corpora::folder();
    if std::env::args().any(|argument| argument == "variants") {
        return variants::write(&folder, PAGE);
    }
    let mut report = Report::default();
    for (name, truth, shingles) in CORPORA {
        let corpus = Corpus::read(&folder, name, truth, PAIRS)?;
        // The truth was computed on lower-case text without a normalisation form.
        let case = |builder: ParamsBuilder| match shingles {
            Shingles::Items => builder,
            _ => builder.no_nfc(true),
        };
        for scheme in [Scheme::Fast, Scheme::Textbook] {
            measure(&corpus, scheme, shingles, &case, &mut report)?;
        }
        if corpus.is_of_texts() {
            let fold = |builder: ParamsBuilder| builder.normalise(Normalise::FOLD);
            let params = fold(Params::builder().shingles(shingles)).build()?;
            let under_fold = corpus.by(&Sketcher::new(&params), "fold")?;
            for scheme in [Scheme::Fast, Scheme::Textbook] {
                measure(&under_fold, scheme, shingles, &fold, &mut report)?;
            }
        }
    }
    report.write(PAGE)?;
    variants::write(&folder, PAGE)?;
    println!("{}", report.verdict());
    std::process::exit(i32::from(report.failures() > 0));
}

/// The sums for one seed over the pairs of one bin.
#[derive(Default, Clone, Copy)]
struct Tally {
    candidates: f64,
    returned: f64,
    error: f64,
    square: f64,
}

/// Measures both lane widths at once: an 8-bit lane is the high byte of the 16-bit lane.
fn measure(
    corpus: &Corpus,
    scheme: Scheme,
    shingles: Shingles,
    normalised: &dyn Fn(ParamsBuilder) -> ParamsBuilder,
    report: &mut Report,
) -> Result<(), Box<dyn Error>> {
    let params = |lane_bits, seed| {
        let builder = Params::for_threshold(0.7).scheme(scheme).shingles(shingles);
        normalised(builder).lane_bits(lane_bits).seed(seed).build()
    };
    let (narrow, wide) = (params(8, 0)?, params(16, 0)?);
    let mut tallies = [vec![Vec::new(); corpus.bins.len()], vec![Vec::new(); corpus.bins.len()]];
    for seed in 1..=SEEDS {
        let sketcher = Sketcher::new(&params(16, seed * 0x0123_4567_89ab_cdef)?);
        let long = corpus.signatures(&sketcher)?;
        let high = |bytes: &[u8]| bytes.iter().skip(1).step_by(2).copied().collect();
        let short: Vec<Box<[u8]>> = long.iter().map(|bytes| high(bytes)).collect();
        for ((params, signatures), tallies) in
            [(&narrow, &short), (&wide, &long)].into_iter().zip(&mut tallies)
        {
            for (bin, tallies) in corpus.bins.iter().zip(tallies) {
                let tally = |tally, pair| add(tally, pair, signatures, params);
                tallies.push(bin.pairs.iter().fold(Tally::default(), tally));
            }
        }
    }
    for (params, tallies) in [&narrow, &wide].into_iter().zip(&tallies) {
        for (bin, tallies) in corpus.bins.iter().zip(tallies) {
            report.add(corpus, bin, params, &summarise(bin, tallies, params));
        }
    }
    Ok(())
}

fn add(mut tally: Tally, pair: &Pair, signatures: &[Box<[u8]>], params: &Params) -> Tally {
    let (a, b) = (&signatures[pair.a], &signatures[pair.b]);
    let lane = params.lane_bits() as usize / 8;
    let lanes = a.chunks_exact(lane).zip(b.chunks_exact(lane));
    let equal = u32::try_from(lanes.filter(|(a, b)| a == b).count()).unwrap_or(u32::MAX);
    let bands = a.chunks_exact(params.band_bytes()).zip(b.chunks_exact(params.band_bytes()));
    let candidate = bands.take(params.bands()).any(|(a, b)| a == b);
    let returned = candidate && equal >= params.equal_rows_min(params.threshold());
    let error = params.similarity_unclamped(equal) - pair.jaccard;
    tally.candidates += f64::from(u8::from(candidate));
    tally.returned += f64::from(u8::from(returned));
    tally.error += error;
    tally.square += error * error;
    tally
}

/// A mean over pairs and seeds, and its standard error across seeds.
fn over(tallies: &[Tally], pairs: usize, get: fn(&Tally) -> f64) -> (f64, f64) {
    let shares: Vec<f64> = tallies.iter().map(|tally| get(tally) / pairs as f64).collect();
    let mean = shares.iter().sum::<f64>() / SEEDS as f64;
    let squares = shares.iter().map(|share| (share - mean).powi(2)).sum::<f64>();
    (mean, (squares / (SEEDS - 1) as f64 / SEEDS as f64).sqrt())
}

/// `expected_recall` at every thousandth of similarity: computing it for each pair would be too
/// slow, because a call takes time proportional to k^2.
fn recalls(params: &Params) -> Vec<f64> {
    let recall = |s: u32| params.expected_recall(f64::from(s) / 1000.0, params.threshold());
    (0..=1001).map(recall).collect()
}

/// The expected recall at `jaccard`, interpolated between two thousandths.
fn between(recalls: &[f64], jaccard: f64) -> f64 {
    let place = jaccard * 1000.0;
    let below = (0..=1000_u32).rev().find(|&s| f64::from(s) <= place).unwrap_or(0);
    let share = place - f64::from(below);
    recalls[below as usize] * (1.0 - share) + recalls[below as usize + 1] * share
}

/// Compares the measured shares and means of a bin with their expected values, and checks whether
/// each is close enough.
fn summarise(bin: &Bin, tallies: &[Tally], params: &Params) -> Line {
    let pairs = &bin.pairs;
    let expect = |of: &dyn Fn(f64) -> f64| {
        pairs.iter().map(|p| of(p.jaccard)).sum::<f64>() / pairs.len() as f64
    };
    let collision = 0.5_f64.powf(f64::from(params.lane_bits()));
    let variance = |jaccard: f64| {
        let agreement = jaccard + (1.0 - jaccard) * collision;
        agreement * (1.0 - agreement) / params.hashes() as f64 / (1.0 - collision).powi(2)
    };
    let recalls = recalls(params);
    let expected = [
        expect(&|jaccard| params.candidate_probability(jaccard)),
        expect(&|jaccard| between(&recalls, jaccard)),
    ];
    // An event can be so rare that it occurs under no seed. The standard error across seeds is then
    // zero, so the binomial error of the expected share replaces it.
    let share = |get, expected: f64| {
        let (mean, error) = over(tallies, pairs.len(), get);
        let rare = expected * (1.0 - expected) / (pairs.len() as f64 * SEEDS as f64);
        [mean, expected, f64::max(error, rare.max(0.0).sqrt())]
    };
    let candidates = share(|tally| tally.candidates, expected[0]);
    let returned = share(|tally| tally.returned, expected[1]);
    let (bias, bias_error) = over(tallies, pairs.len(), |tally| tally.error);
    let (square, square_error) = over(tallies, pairs.len(), |tally| tally.square);
    let independent = expect(&variance).sqrt();
    let identical = pairs.iter().all(|pair| pair.jaccard > 0.999_999);
    let checks = [
        fits(candidates, params, None),
        fits(returned, params, Some(bin)),
        identical || bias.abs() <= FAR * bias_error,
        (square - FAR * square_error).max(0.0).sqrt() <= 1.05 * independent + 1e-9,
    ];
    let spread = [square.sqrt(), independent];
    Line { candidates, returned, bias: [bias, bias_error], spread, checks }
}

/// Whether a measured share is close enough to the expected one: within `FAR` standard errors, or,
/// for the fast scheme, within `FAST_SLACK`. The returned share of the fast scheme may also be
/// *better* than expected (higher in a bin above the threshold, lower in a bin below it), because
/// its estimate is more precise.
fn fits([mean, expected, error]: [f64; 3], params: &Params, bin: Option<&Bin>) -> bool {
    let off = mean - expected;
    let near = off.abs() <= FAR * error + 1e-9;
    if params.scheme() == Scheme::Textbook {
        return near;
    }
    let threshold = params.threshold();
    let better = bin.is_some_and(|bin| {
        (bin.from >= threshold && off > 0.0) || (bin.to <= threshold && off < 0.0)
    });
    near || off.abs() <= FAST_SLACK || better
}
