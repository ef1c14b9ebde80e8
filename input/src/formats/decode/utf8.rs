//! Tells UTF-8 with a few invalid bytes from older encodings, by counting sequences.

use encoding_rs::EUC_JP;

/// Valid sequences must count for this many times the invalid ones. In text of older encodings,
/// bytes form valid sequences only by chance: at most one for two invalid ones.
const VALID_PER_INVALID: usize = 2;

/// Above this ratio, data is UTF-8 even if it is valid in EUC-JP, too. Rows of hiragana in EUC-JP
/// form many valid sequences.
const VALID_PER_INVALID_SURE: usize = 10;

/// Sequences of more than one byte in data that is not valid UTF-8.
pub(super) struct Utf8Counts {
    /// Valid sequences, weighted: chance makes long ones less often.
    valid: usize,
    /// Invalid sequences, without one that the end of the data cuts off.
    invalid: usize,
    /// Length of the sequence that the end cuts off.
    cut: usize,
    /// Lines in which valid sequences prevail, and other lines beyond ASCII.
    valid_lines: usize,
    invalid_lines: usize,
    is_euc_jp: bool,
}

impl Utf8Counts {
    pub(super) fn count(bytes: &[u8]) -> Self {
        let (valid, mut invalid) = sequences(bytes);
        let mut cut = 0;
        if let Some(last) = bytes.utf8_chunks().last()
            && is_incomplete(last.invalid())
        {
            invalid -= 1;
            cut = last.invalid().len();
        }
        let (mut valid_lines, mut invalid_lines) = (0, 0);
        if invalid > 0 {
            for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_ascii()) {
                let (valid, invalid) = sequences(line);
                let is_valid = valid > 0 && valid >= invalid * VALID_PER_INVALID;
                valid_lines += usize::from(is_valid);
                invalid_lines += usize::from(!is_valid);
            }
        }
        let is_doubtful = invalid > 0 && valid < invalid * VALID_PER_INVALID_SURE;
        let is_euc_jp = is_doubtful
            && EUC_JP.decode_without_bom_handling_and_without_replacement(bytes).is_some();
        Self { valid, invalid, cut, valid_lines, invalid_lines, is_euc_jp }
    }

    /// Whether the data is UTF-8 whose last character is cut off.
    pub(super) fn is_only_cut(&self) -> bool {
        // A single byte at the end of ASCII text is more likely a letter of an older encoding.
        self.invalid == 0 && (self.valid > 0 || self.cut > 1)
    }

    /// Whether the data is UTF-8 with a few invalid bytes, or with a few lines of another encoding.
    pub(super) fn is_likely(&self) -> bool {
        let in_all = self.valid >= self.invalid * VALID_PER_INVALID
            && self.valid_lines >= self.invalid_lines;
        let in_lines = self.valid_lines >= self.invalid_lines * VALID_PER_INVALID;
        self.valid > 0 && (in_all || in_lines) && !self.is_euc_jp
    }
}

/// The number of valid sequences, weighted, and that of invalid ones.
fn sequences(bytes: &[u8]) -> (usize, usize) {
    let (mut valid, mut invalid) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        let weights = chunk.valid().chars().map(|c| c.len_utf8() - 1);
        valid += weights.sum::<usize>();
        invalid += usize::from(!chunk.invalid().is_empty());
    }
    (valid, invalid)
}

/// Whether an invalid sequence is the beginning of a valid one.
fn is_incomplete(sequence: &[u8]) -> bool {
    std::str::from_utf8(sequence).is_err_and(|error| error.error_len().is_none())
}
