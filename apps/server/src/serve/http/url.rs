//! Percent-encoded parts of a URL: keys in paths, and the parameters after `?`. Values may hold any
//! bytes.

use std::str::FromStr;

use axum::http::Uri;
use nearkin::Conditions;
use percent_encoding::percent_decode_str;

use crate::serve::api::error_response::ErrorResponse;

/// Decodes percent-encoded bytes.
fn decoded(text: &str) -> Result<Vec<u8>, ErrorResponse> {
    let is_digits = |part: &str| {
        part.as_bytes().get(..2).is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit))
    };
    if !text.split('%').skip(1).all(is_digits) {
        let message = "the URL has a % that is not followed by two hexadecimal digits";
        return Err(ErrorResponse::invalid(message));
    }
    Ok(percent_decode_str(text).collect())
}

/// The decoded key after a path prefix. A key may contain any bytes.
pub(crate) fn key_after(prefix: &str, uri: &Uri) -> Result<Vec<u8>, ErrorResponse> {
    decoded(uri.path().strip_prefix(prefix).unwrap_or_default())
}

/// The parameters of a request.
pub(crate) struct Parameters(Vec<(String, Vec<u8>)>);

impl Parameters {
    /// Reads the parameters. One that is not in `known`, or is given twice, is an error.
    pub(crate) fn parse(uri: &Uri, known: &[&str]) -> Result<Self, ErrorResponse> {
        let mut found: Vec<(String, Vec<u8>)> = Vec::new();
        let parts = uri.query().unwrap_or_default().split('&').filter(|part| !part.is_empty());
        for part in parts {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            if !known.contains(&name) {
                let known = known.join("`, `");
                let message = format!("unknown parameter `{name}`, expected `{known}`");
                return Err(ErrorResponse::invalid(message));
            }
            if found.iter().any(|(other, _)| other == name) {
                return Err(ErrorResponse::invalid(format!("`{name}` is given twice")));
            }
            // Clients write a blank as `+` here, and a plus as `%2B`.
            found.push((name.to_owned(), decoded(&value.replace('+', "%20"))?));
        }
        Ok(Self(found))
    }

    pub(crate) fn bytes(&self, name: &str) -> Option<&[u8]> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_slice())
    }

    /// The parameters as conditions of a search.
    pub(crate) fn conditions(&self) -> Result<Conditions<'static>, ErrorResponse> {
        let texts = self.0.iter().filter(|(name, _)| name != "prefix");
        let texts = texts.map(|(name, value)| (name, String::from_utf8_lossy(value)));
        let prefix = self.bytes("prefix").unwrap_or_default();
        Ok(Conditions::from_settings(texts)?.prefix(prefix))
    }

    /// A parameter that is a number, `true` or `false`.
    pub(crate) fn parsed<T: FromStr>(&self, name: &str) -> Result<Option<T>, ErrorResponse> {
        let Some(value) = self.bytes(name) else { return Ok(None) };
        match std::str::from_utf8(value).ok().and_then(|value| value.parse().ok()) {
            Some(value) => Ok(Some(value)),
            None => {
                let value = String::from_utf8_lossy(value);
                Err(ErrorResponse::invalid(format!("`{name}` must not be {value:?}")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_any_bytes_and_unknown_ones_are_errors() {
        let known = ["prefix", "limit"];
        let parse = |uri: &str| Parameters::parse(&uri.parse().unwrap(), &known);
        let found = parse("/v1/documents?prefix=a%2Fb+c%ff%2B&limit=7").ok().unwrap();
        assert_eq!(found.bytes("prefix").unwrap(), b"a/b c\xff+");
        assert_eq!(found.parsed::<usize>("limit").ok().unwrap(), Some(7));
        assert_eq!(parse("/v1/documents").ok().unwrap().bytes("prefix"), None);
        for bad in ["/?prefixes=a", "/?limit=1&limit=2", "/?prefix=%f", "/?%6Cimit=1"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        for bad in ["/?limit=x", "/?limit=", "/?limit=-1", "/?limit=%ff"] {
            assert!(parse(bad).ok().unwrap().parsed::<usize>("limit").is_err(), "{bad}");
        }
    }
}
