//! Binds what the server listens on: a port, a Unix socket, or the socket that systemd passes.

use std::fmt;
use std::io;
use std::net::SocketAddr;

use nearkin_kit::args::listen::Listen;
use nearkin_kit::failure::Failure;
#[cfg(unix)]
use tokio::net::UnixListener;
use tokio::net::{TcpListener, TcpSocket};

/// Connections that wait until they are accepted. Of further ones the system drops the first
/// packet, and the client tries again after a second.
const BACKLOG: u32 = 1_024;

/// A socket that listens.
pub(crate) enum Socket {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(UnixListener),
}

/// The programs that can reach the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Programs that may open a file. Browsers cannot.
    #[cfg_attr(not(unix), expect(dead_code, reason = "only Unix has such sockets here"))]
    File,
    /// All users of this machine, and their browsers.
    Loopback,
    /// Other machines, by this address.
    Network(SocketAddr),
}

/// A socket, and what is known of it.
pub(crate) struct Bound {
    pub(crate) socket: Socket,
    pub(crate) reach: Reach,
    /// Where the server listens, for display.
    pub(crate) name: String,
    /// Removes the file of a Unix socket when dropped.
    #[cfg(unix)]
    pub(crate) file: Option<unix::SocketFile>,
}

/// Binds the socket. Must be called in the runtime, and before other threads create files: the
/// permissions of a Unix socket come from the mask of the process.
pub(crate) fn bind(listen: &Listen) -> Result<Bound, Failure> {
    let refused = |error: &dyn fmt::Display, advice: &str| {
        Failure::new(format!("cannot listen on {listen}: {error}"), advice)
    };
    match listen {
        Listen::Tcp(address) => {
            let advice = "choose another address or port with --listen; port 0 picks a free one";
            let failed = |error: io::Error| refused(&error, advice);
            listen_at(*address).and_then(tcp).map_err(failed)
        }
        #[cfg(unix)]
        Listen::Unix(path) => unix::bind(path).map_err(|error| {
            refused(&error, "choose another path; its folder must exist, and be writable")
        }),
        #[cfg(unix)]
        Listen::Systemd => unix::passed().map_err(|error| {
            refused(&error, "start it by a socket unit: docs/guide/DEPLOY.md has one")
        }),
        #[cfg(not(unix))]
        Listen::Unix(_) | Listen::Systemd => {
            Err(refused(&"this system has no such sockets", "give an address and a port"))
        }
    }
}

/// Binds a port. tokio would queue 128 connections only.
fn listen_at(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // As std does: a restarted server takes the port of the one before.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

fn tcp(listener: TcpListener) -> io::Result<Bound> {
    let address = listener.local_addr()?;
    let is_loopback = address.ip().is_loopback();
    let reach = if is_loopback { Reach::Loopback } else { Reach::Network(address) };
    Ok(Bound {
        socket: Socket::Tcp(listener),
        reach,
        name: format!("http://{address}"),
        #[cfg(unix)]
        file: None,
    })
}

#[cfg(unix)]
mod unix {
    use std::fs;
    use std::io;
    use std::os::fd::{FromRawFd as _, OwnedFd};
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
    use std::os::unix::net;
    use std::path::{Path, PathBuf};

    use rustix::fs::Mode;
    use rustix::process::umask;
    use tokio::net::{TcpListener, UnixListener};

    use super::{Bound, Reach, Socket, tcp};

    /// The mask of a Unix socket: only its owner may connect.
    const MASK: u32 = 0o077;

    /// The first socket that systemd passes.
    const FIRST_PASSED: i32 = 3;

    /// The file of a Unix socket, removed when the server ends.
    pub(crate) struct SocketFile {
        path: PathBuf,
        /// Device and inode: another server may have taken the path.
        identity: Option<(u64, u64)>,
    }

    impl SocketFile {
        fn identity_of(path: &Path) -> Option<(u64, u64)> {
            let data = fs::symlink_metadata(path).ok()?;
            Some((data.dev(), data.ino()))
        }
    }

    impl Drop for SocketFile {
        #[expect(clippy::disallowed_methods, reason = "a socket, never a file of the index")]
        fn drop(&mut self) {
            if self.identity.is_some() && Self::identity_of(&self.path) == self.identity {
                // If this fails, the next server removes the socket that nobody answers.
                let _ = fs::remove_file(&self.path);
            }
        }
    }

    pub(super) fn bind(path: &Path) -> io::Result<Bound> {
        remove_abandoned(path)?;
        let before = umask(Mode::from_raw_mode(MASK));
        let bound = UnixListener::bind(path);
        umask(before);
        let socket = Socket::Unix(bound?);
        let identity = SocketFile::identity_of(path);
        let file = Some(SocketFile { path: path.to_path_buf(), identity });
        Ok(Bound { socket, reach: Reach::File, name: format!("unix:{}", path.display()), file })
    }

    /// Removes the socket of a server that was killed. One that a server answers stays, and so does
    /// any other file.
    #[expect(clippy::disallowed_methods, reason = "a socket, never a file of the index")]
    fn remove_abandoned(path: &Path) -> io::Result<()> {
        let Ok(data) = fs::symlink_metadata(path) else { return Ok(()) };
        if !data.file_type().is_socket() {
            return Err(io::Error::other("a file is there that is no socket"));
        }
        match net::UnixStream::connect(path) {
            Ok(_) => Err(io::Error::other("another server listens there")),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
            Err(error) => Err(error),
        }
    }

    /// The socket that systemd passes to this process, of either kind.
    pub(super) fn passed() -> io::Result<Bound> {
        let number = |name| std::env::var(name).ok().and_then(|value| value.parse::<u32>().ok());
        match (number("LISTEN_PID"), number("LISTEN_FDS")) {
            (Some(process), Some(1)) if process == std::process::id() => {}
            (Some(process), Some(count)) if process == std::process::id() => {
                let message = format!("systemd passes {count} sockets, and only one is served");
                return Err(io::Error::other(message));
            }
            _ => return Err(io::Error::other("systemd passes no socket to this process")),
        }
        #[expect(unsafe_code, reason = "std has no other way to take a descriptor by its number")]
        // SAFETY: systemd opened this descriptor for this process, as LISTEN_PID says, and nothing
        // else in the process owns it.
        let given = unsafe { OwnedFd::from_raw_fd(FIRST_PASSED) };
        // The copy is not inherited by child processes.
        let socket = given.try_clone()?;
        let listener = std::net::TcpListener::from(socket.try_clone()?);
        if listener.local_addr().is_ok() {
            listener.set_nonblocking(true)?;
            return tcp(TcpListener::from_std(listener)?);
        }
        let listener = net::UnixListener::from(socket);
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let path = address.as_pathname().map(|path| path.display().to_string());
        Ok(Bound {
            socket: Socket::Unix(UnixListener::from_std(listener)?),
            reach: Reach::File,
            name: format!("unix:{}", path.unwrap_or_default()),
            // systemd made the file, and removes it.
            file: None,
        })
    }
}
