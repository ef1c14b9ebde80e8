//! The access token: where it is read from, and how a request is checked.
//!
//! The token is never a command-line argument, because every user of the machine can read the
//! arguments.

use std::fs;
use std::hint::black_box;
use std::path::Path;

use axum::http::{HeaderMap, header};

use nearkin_kit::base64;
use nearkin_kit::failure::Failure;

/// Minimum length of a token. A shorter one could be guessed.
const TOKEN_BYTES_MIN: usize = 16;

/// A token that requests must contain.
pub(crate) struct Token(Vec<u8>);

#[cfg(unix)]
fn warn_if_others_read(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let others = fs::metadata(path).is_ok_and(|data| data.permissions().mode() & 0o077 != 0);
    if others {
        let path = path.display();
        nearkin_kit::output::note(format!(
            "warning: other users can read {path}; run `chmod 600 {path}`"
        ));
    }
}

#[cfg(not(unix))]
fn warn_if_others_read(_: &Path) {}

impl Token {
    /// The token from the file or, if no file is given, from the environment variable.
    pub(crate) fn given(file: Option<&Path>, variable: &str) -> Result<Option<Self>, Failure> {
        let (text, source) = match file {
            Some(path) => {
                let text =
                    fs::read_to_string(path).map_err(|error| Failure::reading(path, &error))?;
                warn_if_others_read(path);
                (text, path.display().to_string())
            }
            None => match std::env::var(variable) {
                Ok(text) => (text, variable.to_owned()),
                Err(std::env::VarError::NotPresent) => return Ok(None),
                Err(error) => return Err(Failure::new(format!("{variable}: {error}"), "")),
            },
        };
        let token = text.trim();
        let advice = "create one with `openssl rand -hex 16`";
        if token.len() < TOKEN_BYTES_MIN {
            let short =
                format!("the token in {source} has fewer than {TOKEN_BYTES_MIN} characters");
            return Err(Failure::new(short, advice));
        }
        if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            let odd = format!("the token in {source} has blanks or characters outside ASCII");
            return Err(Failure::new(odd, advice));
        }
        Ok(Some(Self(token.as_bytes().to_vec())))
    }

    /// Whether two tokens are the same.
    pub(crate) fn is_equal(&self, other: &Self) -> bool {
        self.is(&other.0)
    }

    /// Whether a request contains the token, either as a bearer token or as the password of any
    /// user.
    pub(crate) fn is_in(&self, headers: &HeaderMap) -> bool {
        let Some(value) = headers.get(header::AUTHORIZATION) else { return false };
        let Some((scheme, given)) = value.to_str().ok().and_then(|value| value.split_once(' '))
        else {
            return false;
        };
        if scheme.eq_ignore_ascii_case("bearer") {
            return self.is(given.trim().as_bytes());
        }
        if scheme.eq_ignore_ascii_case("basic")
            && let Some(pair) = base64::decode(given.trim())
            && let Some(colon) = pair.iter().position(|byte| *byte == b':')
        {
            return self.is(&pair[colon + 1..]);
        }
        false
    }

    /// Compares tokens. The time depends only on the length of the given token, so that it reveals
    /// nothing about the right one.
    fn is(&self, given: &[u8]) -> bool {
        let mut differences = usize::from(given.len() != self.0.len());
        for (byte, own) in given.iter().zip(self.0.iter().cycle()) {
            differences |= black_box(usize::from(byte ^ own));
        }
        black_box(differences) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, value.parse().unwrap());
        headers
    }

    #[test]
    fn it_is_taken_from_a_bearer_and_from_a_password() {
        let token = Token(b"0123456789abcdef".to_vec());
        let basic = base64::encode(b"any:0123456789abcdef");
        for good in
            ["Bearer 0123456789abcdef", "bearer 0123456789abcdef", &format!("Basic {basic}")]
        {
            assert!(token.is_in(&headers(good)), "{good}");
        }
        let other = base64::encode(b"0123456789abcdef:");
        for bad in [
            "Bearer 0123456789abcdeg",
            "Bearer 0123456789abcde",
            "Bearer 0123456789abcdef0123456789abcdef",
            "Bearer ",
            "0123456789abcdef",
            "Basic 0123456789abcdef",
            &format!("Basic {other}"),
        ] {
            assert!(!token.is_in(&headers(bad)), "{bad}");
        }
        assert!(!token.is_in(&HeaderMap::new()));
    }
}
