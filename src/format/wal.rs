//! Encoding of the WAL header and of records.
//!
//! Handles one record at a time. `crate::wal` decides which records of a file are valid.

use super::DecodeError;
use super::bytes::{ByteReader, narrow, wide, with_crc};

/// Offset of the first record. The header has a block of its own, so that no append rewrites it.
pub(crate) const RECORDS_BEGIN: u64 = 4096;
/// Maximum length of a key in bytes; the minimum is 1.
pub(crate) const KEY_BYTES_MAX: usize = 4096;
/// Maximum length of a payload in bytes.
pub(crate) const PAYLOAD_BYTES_MAX: usize = 65_536;
/// Alignment of records in bytes.
pub(crate) const RECORD_ALIGN: usize = 8;

/// The WAL header: follows the file header and precedes the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WalHeader {
    pub(crate) salt: u64,
    /// Length of the file in bytes.
    pub(crate) length: u64,
    /// Number of the last change before the first change in this file.
    pub(crate) floor: u64,
}

impl WalHeader {
    pub(crate) const BYTES: usize = 32;

    pub(crate) fn encode(&self) -> [u8; Self::BYTES] {
        let Self { salt, length, floor } = self;
        with_crc(&[&salt.to_le_bytes(), &length.to_le_bytes(), &floor.to_le_bytes(), &[0; 4]])
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = ByteReader::new(bytes);
        let covered = reader.clone().take(28, "WAL header is cut short")?;
        let header = Self {
            salt: reader.u64("salt")?,
            length: reader.u64("length")?,
            floor: reader.u64("floor")?,
        };
        reader.zeros(4, "reserved bytes of the WAL header are not zero")?;
        if reader.u32("WAL header checksum")? != crc32fast::hash(covered) {
            return Err(DecodeError::damaged("WAL header checksum does not match", 28));
        }
        Ok(header)
    }
}

/// The kind of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordKind {
    /// A change: the operations of one batch.
    Change = 1,
    /// Not a change: the record only carries the horizon.
    Idle = 2,
}

/// The header of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordHeader {
    pub(crate) kind: RecordKind,
    pub(crate) body_bytes: u32,
    pub(crate) body_crc: u32,
    /// Number of the change. In an idle record: number of the last change before it.
    pub(crate) change: u64,
    pub(crate) horizon: u64,
}

impl RecordHeader {
    pub(crate) const BYTES: usize = 32;

    /// Decodes the record header at `offset` of a WAL with this salt. Returns `None` if there is
    /// none: for zeros, and for torn, stale or moved bytes.
    pub(crate) fn decode(
        bytes: &[u8],
        salt: u64,
        offset: u64,
    ) -> Result<Option<Self>, DecodeError> {
        let mut reader = ByteReader::new(bytes);
        let Ok(whole) = reader.clone().take(Self::BYTES, "") else { return Ok(None) };
        let Some(covered) = whole.get(4..) else { return Ok(None) };
        // Cheap tests come first: most positions of a scan contain zeros or signature bytes.
        let (crc, body_crc) = (reader.u32("")?, reader.u32("")?);
        let (body_bytes, kind) = (reader.u32("")?, reader.u8("")?);
        if reader.zeros(3, "").is_err() || crc != seeded_crc(salt, offset, covered) {
            return Ok(None);
        }
        let kind = match kind {
            1 => RecordKind::Change,
            2 => RecordKind::Idle,
            _ => return Err(DecodeError::unsupported("unknown kind of record", offset)),
        };
        Ok(Some(Self {
            kind,
            body_bytes,
            body_crc,
            change: reader.u64("")?,
            horizon: reader.u64("")?,
        }))
    }

    /// Quickly tests, without checksums, whether a record header can start here. This makes the
    /// scan after the last record ten times faster.
    #[inline]
    pub(crate) fn may_be(bytes: &[u8]) -> bool {
        matches!(bytes.get(12..16), Some([1 | 2, 0, 0, 0]))
    }

    /// Whether `body` matches the checksum in this header.
    pub(crate) fn matches(&self, body: &[u8], salt: u64, offset: u64) -> bool {
        wide(body.len()) == u64::from(self.body_bytes)
            && seeded_crc(salt, offset, body) == self.body_crc
    }

    /// Writes this header into `record`, for `offset`, with the length and checksum of the body.
    fn seal(&self, record: &mut [u8], salt: u64, offset: u64) {
        let Some((header, body)) = record.split_at_mut_checked(Self::BYTES) else { return };
        let body_bytes = u32::try_from(body.len()).unwrap_or(u32::MAX);
        let (crc_bytes, covered) = header.split_at_mut(4);
        let fields: [&[u8]; 5] = [
            &seeded_crc(salt, offset, body).to_le_bytes(),
            &body_bytes.to_le_bytes(),
            &[self.kind as u8, 0, 0, 0],
            &self.change.to_le_bytes(),
            &self.horizon.to_le_bytes(),
        ];
        for (place, byte) in covered.iter_mut().zip(fields.into_iter().flatten()) {
            *place = *byte;
        }
        crc_bytes.copy_from_slice(&seeded_crc(salt, offset, covered).to_le_bytes());
    }

    /// Distance to the next possible record: header and body, rounded up to the alignment.
    pub(crate) fn record_bytes(&self) -> u64 {
        let bytes = wide(Self::BYTES).saturating_add(u64::from(self.body_bytes));
        bytes.next_multiple_of(wide(RECORD_ALIGN))
    }
}

/// A CRC seeded with the WAL's salt and the offset, so that zeros and stale, moved or forged bytes
/// are invalid.
fn seeded_crc(salt: u64, offset: u64, bytes: &[u8]) -> u32 {
    let mut seed = [0; 16];
    let (first, second) = seed.split_at_mut(8);
    first.copy_from_slice(&salt.to_le_bytes());
    second.copy_from_slice(&offset.to_le_bytes());
    let mut hasher = crc32fast::Hasher::new_with_initial(crc32fast::hash(&seed));
    hasher.update(bytes);
    hasher.finalize()
}

/// An operation of a change, borrowed from the record's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoggedOperation<'a> {
    Insert { key: &'a [u8], payload: &'a [u8], time: u64, shingle_count: u32, signature: &'a [u8] },
    Remove { key: &'a [u8] },
}

/// Length of the fixed fields of an operation, before signature, key and payload.
pub(crate) const OPERATION_HEAD_BYTES: usize = 20;

/// Builds a record. The bytes are built in place and not copied again.
#[derive(Debug, Default)]
pub(crate) struct RecordBuilder {
    bytes: Vec<u8>,
}

impl RecordBuilder {
    pub(crate) fn new() -> Self {
        Self { bytes: vec![0; RecordHeader::BYTES] }
    }

    /// Starts a new record and reuses the buffer.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.resize(RecordHeader::BYTES, 0);
    }

    /// Adds an operation. The batch has checked the lengths: key 1 to 4,096 bytes, payload at most
    /// 65,536.
    pub(crate) fn push(&mut self, operation: &LoggedOperation<'_>) {
        let (tag, key, payload, time, shingle_count, signature) = match *operation {
            LoggedOperation::Insert { key, payload, time, shingle_count, signature } => {
                (1, key, payload, time, shingle_count, signature)
            }
            LoggedOperation::Remove { key } => (2, key, &[][..], 0, 0, &[][..]),
        };
        let key_bytes = u16::try_from(key.len()).unwrap_or(u16::MAX);
        let payload_bytes = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        let mut head = [0; OPERATION_HEAD_BYTES];
        head[0] = tag;
        head[2..4].copy_from_slice(&key_bytes.to_le_bytes());
        head[4..8].copy_from_slice(&payload_bytes.to_le_bytes());
        head[8..16].copy_from_slice(&time.to_le_bytes());
        head[16..].copy_from_slice(&shingle_count.to_le_bytes());
        self.bytes.extend_from_slice(&head);
        self.bytes.extend_from_slice(signature);
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(payload);
    }

    /// Number of bytes that the record will take in the file.
    pub(crate) fn record_bytes(&self) -> u64 {
        wide(self.bytes.len().next_multiple_of(RECORD_ALIGN))
    }

    /// Fills in the header for a record at `offset` with change number `change`, pads the record,
    /// and returns its bytes.
    pub(crate) fn seal(
        &mut self,
        kind: RecordKind,
        change: u64,
        horizon: u64,
        salt: u64,
        offset: u64,
    ) -> &[u8] {
        let length = self.bytes.len();
        let header = RecordHeader { kind, body_bytes: 0, body_crc: 0, change, horizon };
        header.seal(&mut self.bytes, salt, offset);
        let end = length.next_multiple_of(RECORD_ALIGN);
        self.bytes.resize(end.saturating_add(RecordHeader::BYTES), 0);
        self.bytes.split_at(end).0
    }

    /// The sealed record, followed by zeros in place of the next header. A recycled file may have
    /// old bytes in that place. Because of the zeros, any header found there was written after this
    /// record.
    pub(crate) fn sealed_and_end(&self) -> &[u8] {
        &self.bytes
    }
}

/// Iterates over the operations of a body, in order. Ends after the first operation that cannot be
/// decoded.
#[derive(Debug, Clone)]
pub(crate) struct Operations<'a> {
    reader: ByteReader<'a>,
    signature_bytes: usize,
    failed: bool,
}

impl<'a> Operations<'a> {
    pub(crate) fn new(body: &'a [u8], signature_bytes: usize) -> Self {
        Self { reader: ByteReader::new(body), signature_bytes, failed: false }
    }

    fn decode(&mut self) -> Result<LoggedOperation<'a>, DecodeError> {
        let at = self.reader.offset();
        let tag = self.reader.u8("operation")?;
        self.reader.zeros(1, "reserved byte of an operation is not zero")?;
        let key_bytes = usize::from(self.reader.u16("key length")?);
        let payload_bytes = narrow(u64::from(self.reader.u32("payload length")?), "payload")?;
        let time = self.reader.u64("time")?;
        let shingle_count = self.reader.u32("shingle count")?;
        if key_bytes == 0 || key_bytes > KEY_BYTES_MAX || payload_bytes > PAYLOAD_BYTES_MAX {
            return Err(DecodeError::damaged("length of a key or payload is out of range", at));
        }
        match tag {
            1 => {
                let signature = self.reader.take(self.signature_bytes, "signature")?;
                let key = self.reader.take(key_bytes, "key")?;
                let payload = self.reader.take(payload_bytes, "payload")?;
                Ok(LoggedOperation::Insert { key, payload, time, shingle_count, signature })
            }
            2 if payload_bytes == 0 && time == 0 && shingle_count == 0 => {
                Ok(LoggedOperation::Remove { key: self.reader.take(key_bytes, "key")? })
            }
            _ => Err(DecodeError::damaged("unknown operation", at)),
        }
    }
}

impl<'a> Iterator for Operations<'a> {
    type Item = Result<LoggedOperation<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || self.reader.remaining() == 0 {
            return None;
        }
        let decoded = self.decode();
        self.failed = decoded.is_err();
        Some(decoded)
    }
}
