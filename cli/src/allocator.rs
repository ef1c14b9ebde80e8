//! When the allocator gives freed memory back to the system.
//!
//! mimalloc reads its options from the environment when it starts, before `main`. Setting them
//! later would need a call to C. So the program executes itself again, in the same process, with
//! the option set.

/// Makes the allocator give freed memory back at once. Restarts the program, so it must be called
/// before anything else is done. If the restart fails, or if the user has set the option, the
/// program continues unchanged.
#[cfg(unix)]
pub(crate) fn give_back_at_once() {
    use std::os::unix::process::CommandExt as _;
    let (name, value) = nearkin_input::formats::PURGE_OPTION;
    if std::env::var_os(name).is_some() {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let mut arguments = std::env::args_os();
    let mut command = std::process::Command::new(program);
    if let Some(own_name) = arguments.next() {
        command.arg0(own_name);
    }
    // `exec` only returns with an error: most likely the program's file was replaced.
    let _ = command.args(arguments).env(name, value).exec();
}

#[cfg(not(unix))]
pub(crate) fn give_back_at_once() {}
