//! Masks of blocks of 64 bytes: which bytes belong to words, and which are white space. The meaning
//! of the masks, and a portable way to make them. `simd` makes them faster.

/// The kind of the units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnitKind {
    Words,
    Tokens,
}

/// How a text is divided into units.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    pub(crate) kind: UnitKind,
    /// Whether ASCII letters are converted to lower case.
    pub(crate) lower: bool,
}

/// Masks of a block of 64 bytes, one bit per byte.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Masks {
    /// Letters, bytes beyond ASCII, digits and `_`.
    pub(crate) word: u64,
    /// A range of bytes that includes all punctuation that may join two words; `joins` decides.
    pub(crate) joint: u64,
    /// The byte `_`.
    pub(crate) bar: u64,
}

/// The definition of the masks.
#[cfg(any(test, not(target_arch = "x86_64")))]
pub(crate) fn plain_masks(block: &[u8; 64]) -> Masks {
    // Arithmetic on bits instead of logical operators: without branches the loop is vectorised.
    let letter = |byte: u8| (byte | 0x20).wrapping_sub(b'a') < 26;
    let digit = |byte: u8| byte.wrapping_sub(b'0') < 10;
    let word = |byte: u8| {
        byte >> 7 | u8::from(letter(byte)) | u8::from(digit(byte)) | u8::from(byte == b'_')
    };
    let joint =
        |byte: u8| u8::from(byte.wrapping_sub(b'\'') <= b';' - b'\'') & u8::from(!digit(byte));
    let bar = |byte: u8| u8::from(byte == b'_');
    Masks {
        word: gather(block.map(word)),
        joint: gather(block.map(joint)),
        bar: gather(block.map(bar)),
    }
}

/// The definition of the mask of ASCII white space.
#[cfg(any(test, not(target_arch = "x86_64")))]
pub(crate) fn plain_blanks(block: &[u8; 64]) -> u64 {
    let control = |byte: u8| byte.wrapping_sub(b'\t') <= b'\r' - b'\t';
    gather(block.map(|byte| u8::from(control(byte)) | u8::from(byte == b' ')))
}

/// Gathers the lowest bit of each byte into one number, the first byte's bit lowest. A
/// multiplication gathers eight at a time.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline(always)]
fn gather(bits: [u8; 64]) -> u64 {
    bits.as_chunks::<8>().0.iter().rev().fold(0, |mask, eight| {
        mask << 8 | u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56
    })
}
