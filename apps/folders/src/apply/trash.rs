//! The trash of the user.

#[cfg(unix)]
#[path = "trash/unix.rs"]
mod system;
#[cfg(windows)]
#[path = "trash/windows.rs"]
mod system;

pub(super) use system::*;
