//! For tests: makes the checksums of a damaged block file right again, as a forger would, so that
//! damage gets past them.

use super::Listed;
use crate::format::blocks::{BLOCK_BYTES, Footer};
use crate::format::header::FileHeader;

/// Makes all checksums right, whatever the bytes say now. The lengths are those of the file as it
/// was built, which `was` says.
pub(crate) fn repair(bytes: &mut [u8], was: &Footer, listed: &Listed) -> Listed {
    let crc = |bytes: &[u8]| crc32fast::hash(bytes).to_le_bytes();
    let body = usize::try_from(was.body_bytes).expect("small");
    let tail = usize::try_from(was.tail_offset).expect("small");
    let footer = bytes.len() - Footer::BYTES;
    let header = crc(&bytes[..60]);
    bytes[60..FileHeader::BYTES].copy_from_slice(&header);
    for block in 0..body / BLOCK_BYTES {
        let value = crc(&bytes[block * BLOCK_BYTES..][..BLOCK_BYTES]);
        bytes[body + 4 * block..][..4].copy_from_slice(&value);
    }
    for block in 0..(tail - body) / BLOCK_BYTES {
        let value = crc(&bytes[body + block * BLOCK_BYTES..][..BLOCK_BYTES]);
        bytes[tail + 4 * block..][..4].copy_from_slice(&value);
    }
    let value = crc(&bytes[tail..footer]);
    bytes[footer + 40..][..4].copy_from_slice(&value);
    let value = crc(&bytes[footer..footer + 60]);
    bytes[footer + 60..].copy_from_slice(&value);
    Listed { tail_hash: xxhash_rust::xxh3::xxh3_64(&bytes[tail..]), ..*listed }
}

/// The footer of a file as it was built.
pub(crate) fn footer_of(bytes: &[u8]) -> Footer {
    let footer = Footer::decode(&bytes[bytes.len() - Footer::BYTES..], bytes.len() as u64);
    footer.expect("a file as it was built")
}
