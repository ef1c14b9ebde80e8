//! Reads a fuzzer's bytes as choices. After the end every choice is zero, so every input is valid,
//! and a truncated input does less.

/// The unread rest of an input.
#[derive(Debug, Clone)]
pub(crate) struct FuzzInput<'a> {
    bytes: &'a [u8],
}

impl<'a> FuzzInput<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// At most `count` bytes.
    pub(crate) fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.bytes.split_at(count.min(self.bytes.len()));
        self.bytes = rest;
        taken
    }

    /// Everything that is left.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.bytes)
    }

    pub(crate) fn u8(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    pub(crate) fn u16(&mut self) -> u16 {
        u16::from_le_bytes([self.u8(), self.u8()])
    }

    pub(crate) fn u64(&mut self) -> u64 {
        let mut word = [0; 8];
        for (byte, taken) in word.iter_mut().zip(self.take(8)) {
            *byte = *taken;
        }
        u64::from_le_bytes(word)
    }

    /// A number below `end`, from one or two bytes.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let choice = if end <= 256 { usize::from(self.u8()) } else { usize::from(self.u16()) };
        choice % end.max(1)
    }

    /// A number: with some probability a boundary value, otherwise any.
    pub(crate) fn number(&mut self) -> u64 {
        match self.u8() {
            0 => 0,
            1 => 1,
            2 => u64::MAX,
            3 => u64::MAX - 1,
            4 => u64::from(u32::MAX),
            5 => u64::from(u32::MAX) + 1,
            6 => 1 << 63,
            7 => (1 << 63) - 1,
            8..64 => u64::from(self.u8()),
            64..160 => u64::from(self.u16()),
            _ => self.u64(),
        }
    }
}
