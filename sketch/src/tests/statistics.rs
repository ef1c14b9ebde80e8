//! Compares signatures with theory: the estimate's bias and spread, and the share of pairs that
//! meet in a band, against exact similarities and against the same scheme with SHA-256.
//!
//! All seeds are fixed, so a test always passes or always fails. A statistic fails if it deviates
//! by more than five standard errors.

use sha2::{Digest, Sha256};

use super::{naive, steps};
use crate::compare::equal_rows;
use crate::{lane, textbook, windows};

const ROWS: usize = 128;
const LANES: [u32; 2] = [8, 16];
/// Maximum deviation in standard errors for a sound hash.
const FAR: f64 = 5.0;

/// Two sets of `size` shingles; `apart` shingles of each set are not in the other.
#[derive(Debug, Clone, Copy)]
struct Cell {
    size: usize,
    apart: usize,
    trials: u64,
}

const CELLS: [Cell; 6] = [
    Cell { size: 1, apart: 1, trials: 20_000 },
    Cell { size: 5, apart: 1, trials: 20_000 },
    Cell { size: 20, apart: 2, trials: 20_000 },
    Cell { size: 100, apart: 33, trials: 20_000 },
    Cell { size: 1_000, apart: 111, trials: 20_000 },
    Cell { size: 20_000, apart: 2_222, trials: 2_000 },
];

impl Cell {
    /// Numbers of bands and of rows per band for which about half of such pairs share a band,
    /// unless they have no shingle in common.
    fn bands(self) -> (usize, usize) {
        if self.jaccard() > 0.6 { (9, 12) } else { (17, 5) }
    }

    fn jaccard(self) -> f64 {
        (self.size - self.apart) as f64 / (self.size + self.apart) as f64
    }
}

/// Makes the requested number of shingle hashes for a trial.
type Hashes<'a> = &'a dyn Fn(u64, usize) -> Vec<u64>;
/// Computes the row values of both sets of a pair for a trial.
type Values<'a> = &'a dyn Fn(u64, &SamplePair) -> [Vec<u64>; 2];

struct SamplePair {
    hashes: Vec<u64>,
    cell: Cell,
}

impl SamplePair {
    fn sides(&self) -> [&[u64]; 2] {
        let Cell { size, apart, .. } = self.cell;
        [&self.hashes[..size], &self.hashes[apart..]]
    }
}

/// The hashes of the crate: the tokens are consecutive numbers, three per shingle, and the seeds
/// are consecutive, too.
fn ours(trial: u64, count: usize) -> Vec<u64> {
    let unit = |number: usize| steps::unit(number.to_string().as_bytes(), trial);
    let mut sums: Vec<u64> = (0..count + 2).map(unit).collect();
    windows::windows(&mut sums, 3, None);
    steps::set(&mut sums);
    assert_eq!(sums.len(), count, "no two shingles share a hash");
    sums
}

/// The reference hashes: SHA-256 of seed and number, four hashes per digest.
fn cryptographic(trial: u64, count: usize) -> Vec<u64> {
    let digests = (0..count.div_ceil(4) as u64).flat_map(|number| {
        let digest = Sha256::digest([trial.to_le_bytes(), number.to_le_bytes()].concat());
        digest.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect::<Vec<_>>()
    });
    digests.take(count).collect()
}

fn fast_values(_: u64, pair: &SamplePair) -> [Vec<u64>; 2] {
    pair.sides().map(|hashes| steps::fast_values(hashes, ROWS))
}

/// The shared shingles are hashed once: the minimum of a union is the minimum of the minima.
fn textbook_values(trial: u64, pair: &SamplePair) -> [Vec<u64>; 2] {
    let functions = textbook::Functions::new(ROWS, trial);
    let Cell { size, apart, .. } = pair.cell;
    let shared = steps::textbook_values(&pair.hashes[apart..size], &functions);
    [&pair.hashes[..apart], &pair.hashes[size..]].map(|own| {
        let own = steps::textbook_values(own, &functions);
        own.into_iter().zip(&shared).map(|(a, &b)| a.min(b)).collect()
    })
}

/// Sums of one statistic over the trials.
#[derive(Debug, Default, Clone, Copy)]
struct Sums {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Sums {
    fn add(&mut self, x: f64) {
        self.count += 1.0;
        self.sum += x;
        self.squares += x * x;
    }

    fn mean(self) -> f64 {
        self.sum / self.count
    }

    /// The squared standard error of the mean.
    fn error(self) -> f64 {
        (self.squares / self.count - self.mean().powi(2)).max(0.0) / self.count
    }
}

/// The outcome for one lane width: the error of the estimate, its square, and whether a band was
/// shared.
#[derive(Debug, Default, Clone, Copy)]
struct Trial {
    error: Sums,
    square: Sums,
    shared: Sums,
}

fn run(cell: Cell, hashes: Hashes<'_>, values: Values<'_>) -> [Trial; 2] {
    let mut outcomes = [Trial::default(); 2];
    for trial in 0..cell.trials {
        let pair = SamplePair { hashes: hashes(trial, cell.size + cell.apart), cell };
        let values = values(trial, &pair);
        for (outcome, bits) in outcomes.iter_mut().zip(LANES) {
            let [a, b] = [0, 1].map(|side| lane::store(&values[side], bits));
            let collision = 0.5_f64.powi(bits.try_into().unwrap());
            let equal = f64::from(equal_rows(&a, &b, bits)) / ROWS as f64;
            let error = (equal - collision) / (1.0 - collision) - cell.jaccard();
            let (bands, rows) = cell.bands();
            let band = rows * bits as usize / 8;
            let mut bands = a.chunks_exact(band).zip(b.chunks_exact(band)).take(bands);
            outcome.error.add(error);
            outcome.square.add(error * error);
            outcome.shared.add(f64::from(u8::from(bands.any(|(a, b)| a == b))));
        }
    }
    outcomes
}

fn distance(a: f64, b: f64, squared_error: f64) -> f64 {
    if (a - b).abs() < 1e-12 { 0.0 } else { (a - b) / squared_error.sqrt() }
}

/// The deviation of each statistic in standard errors: of the bias from zero, of the spread and of
/// the shared bands from the reference.
fn distances(cell: Cell, hashes: Hashes<'_>, values: Values<'_>, sound: Values<'_>) -> Vec<f64> {
    let (found, expected) = (run(cell, hashes, values), run(cell, &cryptographic, sound));
    let mut all = Vec::new();
    for ((found, expected), bits) in found.iter().zip(&expected).zip(LANES) {
        let apart = |a: Sums, b: Sums| distance(a.mean(), b.mean(), a.error() + b.error());
        let here = [
            distance(found.error.mean(), 0.0, found.error.error()),
            apart(found.square, expected.square),
            apart(found.shared, expected.shared),
            distance(expected.error.mean(), 0.0, expected.error.error()),
        ];
        let [bias, spread, shared, _] = here;
        println!(
            "{:>6} shingles, lane{bits}: rmse {:.4}, shared {:.4}; z bias {bias:+.2}, spread \
             {spread:+.2}, shared {shared:+.2}",
            cell.size,
            found.square.mean().sqrt(),
            found.shared.mean(),
        );
        all.extend(here);
    }
    all
}

fn farthest(distances: &[f64]) -> f64 {
    distances.iter().fold(0.0, |far, z| far.max(z.abs()))
}

fn sound(cells: &[Cell], values: Values<'_>) {
    for &cell in cells {
        let far = farthest(&distances(cell, &ours, values, values));
        assert!(far <= FAR, "{cell:?}: {far} standard errors");
    }
}

/// The cells, with an eighth of their trials unless `NEARKIN_CAMPAIGNS=long`, which
/// `tools/night` sets.
fn fewer(cells: &[Cell]) -> Vec<Cell> {
    let is_long = std::env::var("NEARKIN_CAMPAIGNS").is_ok_and(|length| length == "long");
    let part = if is_long { 1 } else { 8 };
    cells.iter().map(|cell| Cell { trials: cell.trials / part, ..*cell }).collect()
}

#[test]
fn fast_is_as_good_with_the_frozen_hash_as_sha_256() {
    sound(&CELLS, &fast_values);
}

#[test]
fn textbook_is_as_good_with_the_frozen_hash_as_sha_256_small() {
    sound(&fewer(&CELLS[..5]), &textbook_values);
}

#[test]
fn textbook_is_as_good_with_the_frozen_hash_as_sha_256_large() {
    sound(&fewer(&CELLS[5..]), &textbook_values);
}

/// Short texts need many rounds, so the round hash matters most here. It is compared with SHA-256
/// of the shingle hash and the round.
#[test]
fn the_round_hash_is_as_good_as_sha_256() {
    let rehash = |hash: u64, round: usize| {
        let digest = Sha256::digest([hash.to_le_bytes(), (round as u64).to_le_bytes()].concat());
        digest.as_chunks::<8>().0.first().map_or(0, |word| u64::from_le_bytes(*word))
    };
    let random =
        |_: u64, pair: &SamplePair| pair.sides().map(|hashes| naive::fast(hashes, ROWS, &rehash));
    for cell in [CELLS[1], CELLS[2], CELLS[3]] {
        let far =
            farthest(&distances(Cell { trials: 4_000, ..cell }, &ours, &fast_values, &random));
        assert!(far <= FAR, "{cell:?}: {far} standard errors");
    }
}

/// The fast scheme beats k independent hashes on short texts and equals them on long ones; the
/// textbook scheme is k independent hashes.
#[test]
fn the_spread_is_at_most_that_of_independent_hashes() {
    for size in [5, 20, 100, 1_000] {
        let cell = Cell { size, apart: size.div_ceil(9), trials: 4_000 };
        for (values, share) in
            [(&fast_values as Values<'_>, 0.0..1.03), (&textbook_values, 0.97..1.03)]
        {
            for (outcome, bits) in run(cell, &ours, values).iter().zip(LANES) {
                let collision = 0.5_f64.powi(bits.try_into().unwrap());
                let agreement = cell.jaccard() + (1.0 - cell.jaccard()) * collision;
                let independent = (agreement * (1.0 - agreement) / ROWS as f64).sqrt();
                let ratio = outcome.square.mean().sqrt() * (1.0 - collision) / independent;
                assert!(share.contains(&ratio), "{cell:?} lane{bits}: {ratio}");
            }
        }
    }
}

fn caught(fault: &str, cell: Cell, hashes: Hashes<'_>, values: Values<'_>, right: Values<'_>) {
    let far = farthest(&distances(cell, hashes, values, right));
    assert!(far > 2.0 * FAR, "{fault} goes unnoticed: {far} standard errors");
}

#[test]
fn a_shingle_hash_of_16_bits_is_caught() {
    let cell = Cell { trials: 200, ..CELLS[5] };
    let cut = |trial, count| ours(trial, count).iter().map(|hash| hash & 0xffff << 48).collect();
    caught("fast, 16 bits", cell, &cut, &fast_values, &fast_values);
    let cell = Cell { trials: 400, ..CELLS[5] };
    caught("textbook, 16 bits", cell, &cut, &textbook_values, &textbook_values);
}

#[test]
fn a_missing_round_seed_is_caught() {
    let unseeded = |_: u64, pair: &SamplePair| {
        let rehash = |hash, round: usize| naive::rehash(hash, round.min(1));
        pair.sides().map(|hashes| naive::fast(hashes, ROWS, &rehash))
    };
    caught("no round seed", Cell { trials: 1_000, ..CELLS[2] }, &ours, &unseeded, &fast_values);
}

#[test]
fn densification_in_place_of_rounds_is_caught() {
    let dense =
        |_: u64, pair: &SamplePair| pair.sides().map(|hashes| naive::one_permutation(hashes, ROWS));
    for cell in [CELLS[1], CELLS[2], CELLS[3]] {
        caught("densification", Cell { trials: 10_000, ..cell }, &ours, &dense, &fast_values);
    }
}

/// Passes consecutive integers directly to the functions of the textbook scheme: this shows why
/// their x must be a hash.
#[test]
fn a_missing_shingle_hash_is_caught() {
    let raw = |_: u64, count: usize| (0..count as u64).collect();
    caught("raw integers", CELLS[3], &raw, &textbook_values, &textbook_values);
}
