//! When the allocator gives freed memory back to the system.
//!
//! mimalloc reads its options from the environment as it starts, before `main`; setting them later
//! takes a call of C. So the program runs itself again, in the same process.

/// The option: milliseconds until freed memory is given back. By default a second, in which a
/// command that reads one file after the other frees and takes as much again.
pub(crate) const OPTION: (&str, &str) = ("MIMALLOC_PURGE_DELAY", "0");

/// From here on freed memory is given back at once. Begins the program anew, so that nothing may
/// have been done yet; where that fails, or the user has set the option, it goes on as it is.
#[cfg(unix)]
pub(crate) fn give_back_at_once() {
    use std::os::unix::process::CommandExt as _;
    let (name, value) = OPTION;
    if std::env::var_os(name).is_some() {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let mut arguments = std::env::args_os();
    let mut command = std::process::Command::new(program);
    if let Some(own_name) = arguments.next() {
        command.arg0(own_name);
    }
    // Comes back only with an error: most likely the program's file was replaced.
    let _ = command.args(arguments).env(name, value).exec();
}

#[cfg(not(unix))]
pub(crate) fn give_back_at_once() {}
