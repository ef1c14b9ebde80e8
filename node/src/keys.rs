//! Keys, payloads and paths: bytes, which are strings or buffers in JavaScript.

use std::path::PathBuf;

use napi::Env;
use napi::bindgen_prelude::{Buffer, BufferSlice, Either, ToNapiValue, Unknown};

use crate::failure::Failure;

/// Bytes of a caller: a string stands for its UTF-8.
pub(crate) type Bytes = Either<String, Buffer>;

pub(crate) fn owned(bytes: Bytes) -> Vec<u8> {
    match bytes {
        Either::A(text) => text.into_bytes(),
        Either::B(buffer) => buffer.to_vec(),
    }
}

/// A path of a caller: on Unix any bytes, elsewhere UTF-8.
#[cfg_attr(unix, expect(clippy::unnecessary_wraps, reason = "elsewhere a path may be refused"))]
pub(crate) fn path_of(bytes: Bytes) -> Result<PathBuf, Failure> {
    let bytes = owned(bytes);
    #[cfg(unix)]
    {
        Ok(<std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(bytes).into())
    }
    #[cfg(not(unix))]
    {
        let text = String::from_utf8(bytes);
        Ok(text.map_err(|error| Failure::invalid(format!("path is not UTF-8: {error}")))?.into())
    }
}

/// How answers show keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyType {
    Text,
    Buffer,
    /// Text, and a buffer if the key is not UTF-8.
    TextOrBuffer,
}

impl KeyType {
    /// The type that the option `keys` names.
    pub(crate) fn named(name: Option<&str>) -> Result<Self, Failure> {
        match name {
            None | Some("string") => Ok(Self::Text),
            Some("buffer") => Ok(Self::Buffer),
            Some(other) => {
                Err(Failure::invalid(format!("keys must be 'string' or 'buffer', not '{other}'")))
            }
        }
    }

    /// How the answer to a write shows keys. The write is done: a key that is not UTF-8 must not
    /// make the call fail.
    pub(crate) fn of_writes(self) -> Self {
        if self == Self::Text { Self::TextOrBuffer } else { self }
    }

    /// The key as text; `None` if it is shown as a buffer.
    pub(crate) fn text(self, key: &[u8]) -> Result<Option<&str>, Failure> {
        match (self, str::from_utf8(key)) {
            (Self::Buffer, _) | (Self::TextOrBuffer, Err(_)) => Ok(None),
            (_, Ok(text)) => Ok(Some(text)),
            (Self::Text, Err(_)) => {
                let key = String::from_utf8_lossy(key);
                let advice = "is not UTF-8: open with keys: 'buffer'";
                Err(Failure::invalid(format!("the key {key:?} {advice}")))
            }
        }
    }

    pub(crate) fn show<'e>(self, env: &'e Env, key: &[u8]) -> Result<Unknown<'e>, Failure> {
        match self.text(key)? {
            Some(text) => value(env, text),
            None => buffer(env, key),
        }
    }
}

/// Converts a simple value.
pub(crate) fn value(env: &Env, given: impl ToNapiValue) -> Result<Unknown<'_>, Failure> {
    Ok(given.into_unknown(env)?)
}

/// A copy of the bytes in memory of the JavaScript engine: Electron refuses foreign memory.
pub(crate) fn buffer<'e>(env: &'e Env, bytes: &[u8]) -> Result<Unknown<'e>, Failure> {
    value(env, &BufferSlice::copy_from(env, bytes)?)
}
