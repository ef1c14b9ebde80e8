//! A bounds-checked little-endian cursor, and checked integer conversions.
//!
//! Independent of any structure. Every read takes the name of the field, for the error message.

use super::DecodeError;
pub(crate) use nearkin_sketch::engine::{index, wide};

/// Maximum change number or file number: low enough that adding a few of them cannot overflow. At a
/// million numbers per second, it would be reached after 146,000 years.
pub(crate) const NUMBER_MAX: u64 = 1 << 62;

/// A cursor that reads field after field. A read past the end is an error that names the field.
#[derive(Debug, Clone)]
pub(crate) struct ByteReader<'a> {
    bytes: &'a [u8],
    offset: u64,
}

impl<'a> ByteReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    /// Number of bytes read so far.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Number of bytes left.
    pub(crate) fn remaining(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the next `count` bytes. If fewer are left, the error message is `what`, for example
    /// "footer is cut short".
    pub(crate) fn take(
        &mut self,
        count: usize,
        what: &'static str,
    ) -> Result<&'a [u8], DecodeError> {
        let Some((taken, rest)) = self.bytes.split_at_checked(count) else {
            return Err(DecodeError::damaged(what, self.offset));
        };
        self.bytes = rest;
        self.offset = self.offset.saturating_add(wide(count));
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(
        &mut self,
        what: &'static str,
    ) -> Result<[u8; N], DecodeError> {
        let offset = self.offset;
        let taken = self.take(N, what)?;
        taken.try_into().map_err(|_| DecodeError::damaged(what, offset))
    }

    pub(crate) fn u8(&mut self, what: &'static str) -> Result<u8, DecodeError> {
        Ok(u8::from_le_bytes(self.array(what)?))
    }

    pub(crate) fn u16(&mut self, what: &'static str) -> Result<u16, DecodeError> {
        Ok(u16::from_le_bytes(self.array(what)?))
    }

    pub(crate) fn u32(&mut self, what: &'static str) -> Result<u32, DecodeError> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    pub(crate) fn u64(&mut self, what: &'static str) -> Result<u64, DecodeError> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    /// Reads `count` reserved bytes and refuses them unless all are zero.
    pub(crate) fn zeros(&mut self, count: usize, what: &'static str) -> Result<(), DecodeError> {
        let offset = self.offset;
        if self.take(count, what)?.iter().any(|byte| *byte != 0) {
            return Err(DecodeError::damaged(what, offset));
        }
        Ok(())
    }
}

/// The fields one after the other. Panics unless they have `N` bytes together.
pub(crate) fn fixed<const N: usize>(fields: &[&[u8]]) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&fields.concat());
    bytes
}

/// The fields one after the other, then their CRC.
pub(crate) fn with_crc<const N: usize>(fields: &[&[u8]]) -> [u8; N] {
    let crc = crc32fast::hash(&fields.concat()).to_le_bytes();
    fixed(&[&fields.concat(), &crc])
}

/// `u64` to `usize`. A length that this machine cannot address means damage or a foreign file.
pub(crate) fn narrow(count: u64, what: &'static str) -> Result<usize, DecodeError> {
    usize::try_from(count).map_err(|_| DecodeError::damaged(what, 0))
}
