//! Synthetic signatures of 128 one-byte rows. One document in ten is a near-duplicate; how many
//! rows it shares with its original is known. A signature is a function of the document's number,
//! so ten million of them need no memory.

pub const ROWS: usize = 128;
/// The bands that Nearkin chooses for the threshold 0.7: what a user gets by default.
pub const BANDS: usize = 17;
pub const BAND_ROWS: usize = 5;
/// Number of rows that the bands use. Some engines can hold no others.
pub const ROWS_IN_BANDS: usize = BANDS * BAND_ROWS;
/// Number of equal rows that a match must have.
pub const EQUAL_ROWS_MIN: u32 = 90;
/// A planted near-duplicate, and the query of a hit, differ in fewer than this many rows: an
/// agreement of .852 to 1.
const CHANGED_ROWS_MAX: u64 = 20;

/// A signature: one byte per row, the same for every engine.
pub type Signature = [u8; ROWS];

/// A stream of random numbers (SplitMix64).
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to, but not including, `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.number()) * u128::from(bound)) >> 64) as u64
    }
}

fn stream(kind: u64, number: u64) -> Random {
    Random(Random(kind.wrapping_mul(0x5851_f42d_4c95_7f2d) ^ number).number())
}

fn fresh(random: &mut Random) -> Signature {
    let mut signature = [0; ROWS];
    for eight in signature.as_chunks_mut::<8>().0 {
        *eight = random.number().to_le_bytes();
    }
    signature
}

/// A copy with 0 to 19 rows changed.
fn changed(mut signature: Signature, random: &mut Random) -> Signature {
    let mut done = [false; ROWS];
    for _ in 0..random.below(CHANGED_ROWS_MAX) {
        let row = loop {
            let row = random.below(ROWS as u64) as usize;
            if !done[row] {
                break row;
            }
        };
        done[row] = true;
        signature[row] ^= 1 + random.below(255) as u8;
    }
    signature
}

/// The signature of a document. In each group of ten, the last one is a near-duplicate of the
/// first.
pub fn document(number: u32) -> Signature {
    let original = fresh(&mut stream(1, u64::from(number - number % 10)));
    match number % 10 {
        0 => original,
        9 => changed(original, &mut stream(2, u64::from(number))),
        _ => fresh(&mut stream(1, u64::from(number))),
    }
}

/// Documents `first`, `first + 1`, ...
pub fn documents(first: u32, count: u32) -> Vec<Signature> {
    (first..first + count).map(document).collect()
}

/// Queries with a match: near-duplicates of stored documents.
pub fn hits(count: usize, stored: u32) -> Vec<Signature> {
    let mut random = stream(3, u64::from(stored));
    let query = |_| changed(document(random.below(u64::from(stored)) as u32), &mut random);
    (0..count).map(query).collect()
}

/// Queries without a match.
pub fn misses(count: usize) -> Vec<Signature> {
    (0..count as u64).map(|number| fresh(&mut stream(4, number))).collect()
}

pub fn equal_rows(a: &Signature, b: &Signature) -> u32 {
    a.iter().zip(b).map(|(a, b)| u32::from(a == b)).sum()
}

/// The bytes of a band as a number. It serves as a hash without collisions, because a band has
/// fewer than eight one-byte rows.
pub fn band(signature: &Signature, band: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes[..BAND_ROWS].copy_from_slice(&signature.as_chunks::<BAND_ROWS>().0[band]);
    u64::from_le_bytes(bytes)
}

/// The answer by definition: the documents that share a band with the query and have enough equal
/// rows.
pub fn brute_force(query: &Signature, stored: &[Signature]) -> Vec<u32> {
    let like = |stored: &Signature| {
        equal_rows(query, stored) >= EQUAL_ROWS_MIN
            && (0..BANDS).any(|at| band(query, at) == band(stored, at))
    };
    (0..).zip(stored).filter(|(_, stored)| like(stored)).map(|(number, _)| number).collect()
}
