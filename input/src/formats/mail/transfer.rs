//! Transfer encodings of e-mail. Lenient: whatever a damaged or truncated part still holds is read.

/// Decodes base64; other characters are skipped.
pub(super) fn base64(bytes: &[u8]) -> Vec<u8> {
    let mut found = Vec::with_capacity(bytes.len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0);
    for byte in bytes {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => {
                // The end of the data, or of a part of it.
                (bits, count) = (0, 0);
                continue;
            }
            // A damaged character: keeps the place of the others, which stand in groups of four.
            byte if !byte.is_ascii_whitespace() => 0,
            _ => continue,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            found.push((bits >> count).to_le_bytes()[0]);
            bits &= (1 << count) - 1;
        }
    }
    found
}

/// Decodes quoted-printable; an escape that is none stays as it is.
pub(super) fn quoted_printable(bytes: &[u8]) -> Vec<u8> {
    let mut found = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'=' {
            found.push(*first);
            continue;
        }
        if let Some(end) = soft_break(after) {
            rest = &after[end..];
        } else if let Some(byte) = after.get(..2).and_then(hexadecimal) {
            found.push(byte);
            rest = &after[2..];
        } else {
            found.push(b'=');
        }
    }
    found
}

/// The length of a line end, with blanks before it.
fn soft_break(bytes: &[u8]) -> Option<usize> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    bytes[..end].iter().all(u8::is_ascii_whitespace).then_some(end + 1)
}

fn hexadecimal(digits: &[u8]) -> Option<u8> {
    let digits = std::str::from_utf8(digits).ok()?;
    // `from_str_radix` accepts a sign.
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(())?;
    u8::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_data_gives_what_is_left() {
        assert_eq!(base64(b"TWVldCBt\r\nZSBhdCA2\r\n"), b"Meet me at 6");
        assert_eq!(base64(b"TWVldA==\r\nIG1l"), b"Meet me");
        assert_eq!(base64(b"TWVldCBtZSBhdC"), b"Meet me at");
        let damaged = base64(b"TWVl\xffCBtZSBhdCA2");
        assert_eq!((&damaged[..3], &damaged[4..]), (&b"Mee"[..], &b" me at 6"[..]));
        assert_eq!(quoted_printable(b"a=E9 =\r\nb= \nc=3d=3D=zz=\xff="), b"a\xe9 bc===zz=\xff=");
    }
}
