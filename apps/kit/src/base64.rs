//! Base64 with padding, for bytes in JSON and passwords in HTTP headers. Pure.

use ::base64::Engine as _;
use ::base64::engine::general_purpose::STANDARD;

/// Encodes bytes, with padding.
pub fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Decodes canonical base64, exactly as [`encode`] writes it. Returns `None` for anything else.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_and_garbage_is_refused() {
        let all: Vec<u8> = (0..=255).collect();
        for length in 0..all.len() {
            assert_eq!(decode(&encode(&all[..length])).unwrap(), &all[..length]);
        }
        assert_eq!(encode(b"fooba"), "Zm9vYmE=");
        for bad in ["Z", "Zg", "Zg=", "Zh==", "Zm9=", "====", "A===", "Zm 9", "Zm9v\n", "Z=9v"] {
            assert_eq!(decode(bad), None, "{bad}");
        }
    }
}
