//! For tests: recomputes the checksums of a damaged block file, so that only other checks can find
//! the damage.

use super::Listed;
use crate::format::blocks::{BLOCK_BYTES, Footer};
use crate::format::header::FileHeader;

/// Recomputes all checksums. `was` is the footer of the undamaged file: its lengths are used,
/// because those in `bytes` may be damaged.
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

/// The footer of an undamaged file.
pub(crate) fn footer_of(bytes: &[u8]) -> Footer {
    let footer = Footer::decode(&bytes[bytes.len() - Footer::BYTES..], bytes.len() as u64);
    footer.expect("a file as it was built")
}
