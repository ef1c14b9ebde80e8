//! The checksum of the POSIX program `cksum`, which every system's shell can compute.

/// The polynomial of the checksum, with the highest power first.
const POLYNOMIAL: u32 = 0x04c1_1db7;

const TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut at: u32 = 0;
    while at < 256 {
        let mut rest = at << 24;
        let mut bit = 0;
        while bit < 8 {
            rest = if rest >> 31 == 1 { rest << 1 ^ POLYNOMIAL } else { rest << 1 };
            bit += 1;
        }
        table[at as usize] = rest;
        at += 1;
    }
    table
}

/// A checksum over the bytes so far.
#[derive(Debug, Default)]
pub(super) struct Cksum {
    rest: u32,
    bytes: u64,
}

impl Cksum {
    pub(super) fn update(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        for byte in bytes {
            self.byte(*byte);
        }
    }

    fn byte(&mut self, byte: u8) {
        let [_, _, _, high] = self.rest.to_le_bytes();
        self.rest = self.rest << 8 ^ TABLE[usize::from(high ^ byte)];
    }

    /// The checksum and the length, as `cksum` prints them.
    pub(super) fn finish(mut self) -> String {
        let bytes = self.bytes;
        // The length follows the data, lowest byte first, without leading zeros.
        let mut length = bytes;
        while length > 0 {
            self.byte(length.to_le_bytes()[0]);
            length >>= 8;
        }
        format!("{} {bytes}", !self.rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sums_are_those_of_cksum() {
        // As printed by `cksum` of GNU coreutils.
        let long = vec![b'x'; 70_000];
        for (bytes, expected) in [
            (&b""[..], "4294967295 0"),
            (b"a", "1220704766 1"),
            (b"nearkin\n", "877557989 8"),
            (&long, "4215398528 70000"),
        ] {
            let mut sum = Cksum::default();
            bytes.chunks(333).for_each(|part| sum.update(part));
            assert_eq!(sum.finish(), expected);
        }
    }
}
