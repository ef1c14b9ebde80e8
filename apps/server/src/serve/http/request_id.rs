//! Request ids: the client's own `X-Request-Id`, or a new one. The answer and the access log have
//! it, so that both ends can talk about the same request.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::{HeaderMap, HeaderValue};

pub(crate) const HEADER: &str = "x-request-id";

/// Maximum length of a client's id.
const BYTES_MAX: usize = 64;

static COUNT: AtomicU64 = AtomicU64::new(1);

/// Random bits that differ between two runs of the server.
static RUN: OnceLock<u32> = OnceLock::new();

/// The id of a request.
pub(crate) fn read_or_create(headers: &HeaderMap) -> String {
    let given = headers.get(HEADER).and_then(|value| value.to_str().ok());
    if let Some(given) = given.filter(|given| is_sound(given)) {
        return given.to_owned();
    }
    let run = RUN.get_or_init(|| u32::try_from(RandomState::new().hash_one(0) >> 32).unwrap_or(0));
    format!("{run:08x}-{}", COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Whether an id can stand in a log without being mistaken for something else.
fn is_sound(id: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/+=".contains(&byte);
    (1..=BYTES_MAX).contains(&id.len()) && id.bytes().all(is_part)
}

/// The id as a header of the answer.
pub(crate) fn header(id: &str) -> HeaderValue {
    HeaderValue::from_str(id).unwrap_or_else(|_| HeaderValue::from_static("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_of_the_client_stays_unless_it_could_deceive() {
        let id = |value: &[u8]| {
            let mut headers = HeaderMap::new();
            headers.insert(HEADER, HeaderValue::from_bytes(value).unwrap());
            read_or_create(&headers)
        };
        assert_eq!(id(b"3f0c-7a.B:1"), "3f0c-7a.B:1");
        for bad in [&b"a b"[..], b"", b"a\"b", b"\xff", &[b'a'; 65]] {
            assert_ne!(id(bad).as_bytes(), bad);
        }
        assert_ne!(read_or_create(&HeaderMap::new()), read_or_create(&HeaderMap::new()));
    }
}
