//! Base64 with padding, as JSON carries bytes and browsers carry passwords. Pure.

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let mut bits = 0_u32;
        for at in 0..3 {
            bits = bits << 8 | u32::from(three.get(at).copied().unwrap_or(0));
        }
        for at in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * at) & 63) as usize];
            text.push(if at > three.len() { '=' } else { char::from(letter) });
        }
    }
    text
}

/// The bytes; none if it is not base64 as [`encode`] makes it.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let body = text.strip_suffix('=').map_or(text, |less| less.strip_suffix('=').unwrap_or(less));
    for four in body.as_bytes().chunks(4) {
        let mut bits = 0_u32;
        for at in 0..4 {
            let value = match four.get(at) {
                Some(letter) => LETTERS.iter().position(|one| one == letter)?,
                None => 0,
            };
            bits = bits << 6 | u32::try_from(value).ok()?;
        }
        let three = [16, 8, 0].map(|shift| (bits >> shift & 0xff) as u8);
        let (own, rest) = three.split_at_checked(four.len().checked_sub(1)?)?;
        // One letter alone is no byte, and what is left over must be zero.
        if own.is_empty() || rest.iter().any(|byte| *byte != 0) {
            return None;
        }
        bytes.extend_from_slice(own);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_of_rfc_4648() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text).unwrap(), bytes.as_bytes(), "{text}");
        }
    }

    #[test]
    fn bytes_come_back_and_garbage_is_refused() {
        let all: Vec<u8> = (0..=255).collect();
        for length in 0..all.len() {
            assert_eq!(decode(&encode(&all[..length])).unwrap(), &all[..length]);
        }
        for bad in ["Z", "Zg", "Zg=", "Zh==", "Zm9=", "====", "A===", "Zm 9", "Zm9v\n", "Z=9v"] {
            assert_eq!(decode(bad), None, "{bad}");
        }
    }
}
