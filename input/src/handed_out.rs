//! Text that a reader has made and returns piece by piece.

/// Copies the next bytes of `text` to `buffer`, and returns how many. The first `given` bytes were
/// returned before.
pub(crate) fn hand_out(text: &[u8], given: &mut usize, buffer: &mut [u8]) -> usize {
    let rest = &text[*given..];
    let count = rest.len().min(buffer.len());
    buffer[..count].copy_from_slice(&rest[..count]);
    *given += count;
    count
}
