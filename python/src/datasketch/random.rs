//! The random generator MT19937, seeded like numpy, and the permutations that datasketch draws from
//! it.

const WORDS: usize = 624;
const SHIFT: usize = 397;

/// The modulus of the legacy scheme.
pub(super) const MERSENNE_61: u64 = (1 << 61) - 1;

/// The generator MT19937.
pub(super) struct Mt19937 {
    state: [u32; WORDS],
    next: usize,
}

impl Mt19937 {
    /// `init_genrand` of the reference implementation.
    pub(super) fn new(seed: u32) -> Self {
        let mut state = [0; WORDS];
        let (mut last, mut number) = (seed, 0_u32);
        for word in &mut state {
            if number > 0 {
                last = (last ^ (last >> 30)).wrapping_mul(1_812_433_253).wrapping_add(number);
            }
            *word = last;
            number += 1;
        }
        Self { state, next: WORDS }
    }

    fn refill(&mut self) {
        for i in 0..WORDS {
            let joined =
                (self.state[i] & 0x8000_0000) | (self.state[(i + 1) % WORDS] & 0x7fff_ffff);
            let odd = if joined & 1 == 1 { 0x9908_b0df } else { 0 };
            self.state[i] = self.state[(i + SHIFT) % WORDS] ^ (joined >> 1) ^ odd;
        }
        self.next = 0;
    }

    pub(super) fn word(&mut self) -> u32 {
        if self.next == WORDS {
            self.refill();
        }
        let mut word = self.state[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    /// Two words as one 64-bit number; the first word is the high half.
    pub(super) fn long(&mut self) -> u64 {
        let high = u64::from(self.word());
        (high << 32) | u64::from(self.word())
    }

    /// A number in `0..=most`: masks random bits, and draws again while the result is larger.
    fn up_to(&mut self, most: u64, mask: u64) -> u64 {
        loop {
            let drawn = self.long() & mask;
            if drawn <= most {
                return drawn;
            }
        }
    }
}

/// Multipliers and addends of the scheme `affine32`.
pub(super) fn affine32(seed: u32, count: usize) -> (Vec<u32>, Vec<u32>) {
    let mut random = Mt19937::new(seed);
    let a = (0..count).map(|_| (random.word() & 0x7fff_ffff) * 2 + 1).collect();
    (a, (0..count).map(|_| random.word()).collect())
}

/// Multipliers and addends of the scheme `affine64`.
pub(super) fn affine64(seed: u32, count: usize) -> (Vec<u64>, Vec<u64>) {
    let mut random = Mt19937::new(seed);
    let a = (0..count).map(|_| (random.long() & (u64::MAX >> 1)) * 2 + 1).collect();
    (a, (0..count).map(|_| random.long()).collect())
}

/// Multipliers and addends of the legacy scheme, drawn alternately.
pub(super) fn legacy(seed: u32, count: usize) -> (Vec<u64>, Vec<u64>) {
    let mut random = Mt19937::new(seed);
    let mut pair = || {
        let a = 1 + random.up_to(MERSENNE_61 - 2, MERSENNE_61);
        (a, random.up_to(MERSENNE_61 - 1, MERSENNE_61))
    };
    (0..count).map(|_| pair()).unzip()
}
