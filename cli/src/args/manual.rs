//! The commands that say how the tool is used: to a shell, and to `man`.

use std::path::PathBuf;

use clap_complete::Shell;

/// Print a script that lets a shell complete nearkin's commands and options
///
/// Write it to the file that the shell reads, and start the shell again; as it is made for this
/// version, do so again after an update.
#[derive(Debug, clap::Args)]
#[command(after_help = "Where it goes:\n  \
    bash        ~/.local/share/bash-completion/completions/nearkin\n  \
    zsh         _nearkin, in a folder of $fpath\n  \
    fish        ~/.config/fish/completions/nearkin.fish\n  \
    powershell  at the end of $PROFILE\n  \
    elvish      at the end of ~/.config/elvish/rc.elv\n\n\
    Examples:\n  nearkin completions bash\n  nearkin completions zsh\n  \
    nearkin completions fish")]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// Print the manual page, or write one for each command to a folder
///
/// `nearkin man | man -l -` shows it. With --out ~/.local/share/man/man1 the pages are where `man
/// nearkin` and `man nearkin-add` look.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  nearkin man\n  nearkin man --out man1")]
pub(crate) struct Man {
    /// Folder to write nearkin.1, nearkin-add.1 and all others to; made if it is not there
    #[arg(long, short, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}
