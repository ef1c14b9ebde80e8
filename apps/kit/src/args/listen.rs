//! Where a server listens.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// An address and a port.
    Tcp(SocketAddr),
    /// A Unix socket at this path.
    Unix(PathBuf),
    /// The socket that systemd passes (`LISTEN_FDS`).
    Systemd,
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Systemd => f.write_str("the socket of systemd"),
        }
    }
}

/// Parses where to listen: address and port, name and port, a port of this machine, `unix:PATH` or
/// `systemd`.
pub fn listen(text: &str) -> Result<Listen, String> {
    if let Some(path) = text.strip_prefix("unix:") {
        return match path {
            _ if cfg!(not(unix)) => Err("this system has no Unix sockets here".to_owned()),
            "" => Err("the path is missing: write unix:/run/nearkin.sock".to_owned()),
            path => Ok(Listen::Unix(path.into())),
        };
    }
    if text == "systemd" {
        return Ok(Listen::Systemd);
    }
    address(text).map(Listen::Tcp)
}

fn address(text: &str) -> Result<SocketAddr, String> {
    if text.parse::<std::net::Ipv6Addr>().is_ok() {
        return Err(format!("the port is missing: write [{text}]:8080"));
    }
    if let Ok(port) = text.strip_prefix(':').unwrap_or(text).parse::<u16>() {
        return Ok(SocketAddr::from(([127, 0, 0, 1], port)));
    }
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let found: Vec<_> = text.to_socket_addrs().map_err(|error| error.to_string())?.collect();
    let fourth = found.iter().find(|address| address.is_ipv4());
    fourth.or(found.first()).copied().ok_or_else(|| "no machine has this name".to_owned())
}

/// Parses the path below which a proxy shows the server: `/search`.
pub fn base_path(text: &str) -> Result<String, String> {
    let path = text.trim_end_matches('/');
    let is_part = |c: char| c.is_ascii_alphanumeric() || "/-._~".contains(c);
    let is_path = path.starts_with('/') && !path.contains("//") && path.chars().all(is_part);
    if is_path && path.split('/').all(|part| part != "." && part != "..") {
        Ok(path.to_owned())
    } else {
        Err("must be a path such as /search: letters, digits and -._~".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_to_listen_may_be_a_port_or_a_name() {
        let address = |text: &str| listen(text).map(|address| address.to_string());
        for text in ["8080", ":8080", "localhost:8080", "127.0.0.1:8080"] {
            assert_eq!(address(text), Ok("127.0.0.1:8080".to_owned()), "{text}");
        }
        assert_eq!(address("[::1]:80"), Ok("[::1]:80".to_owned()));
        for wrong in ["", "localhost", "70000", "127.0.0.1", "a b:80"] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
        for without_port in ["::1", "::7896", "fe80::1"] {
            assert!(listen(without_port).is_err_and(|error| error.contains("port")));
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_socket_has_a_path() {
        assert_eq!(listen("unix:/run/a.sock"), Ok(Listen::Unix("/run/a.sock".into())));
        assert_eq!(listen("systemd"), Ok(Listen::Systemd));
        assert!(listen("unix:").is_err());
    }

    #[test]
    fn a_base_path_begins_with_a_slash_and_ends_without_one() {
        for (text, path) in [("/search", "/search"), ("/a/b-c_1/", "/a/b-c_1")] {
            assert_eq!(base_path(text).as_deref(), Ok(path));
        }
        for wrong in ["", "/", "search", "/a b", "/a/../b", "//a", "/a//b", "/%61", "/a?b"] {
            assert!(base_path(wrong).is_err(), "{wrong}");
        }
    }
}
