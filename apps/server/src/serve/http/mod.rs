//! Connections and the parts of a request that are the same on every route.

pub(crate) mod access;
pub(crate) mod access_log;
pub(crate) mod base_path;
pub(crate) mod bind;
pub(crate) mod guard;
pub(crate) mod listener;
pub(crate) mod request_id;
pub(crate) mod token;
pub(crate) mod url;
