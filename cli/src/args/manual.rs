//! Arguments of `nearkin completions` and `man`.

use std::path::PathBuf;

use clap_complete::Shell;

/// Print a completion script for a shell
///
/// Save it where the shell looks for it, and restart the shell. The script fits this version:
/// repeat this after an update.
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
    /// Shell to print the script for
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// Print the manual page, or write one page per command to a folder
///
/// `nearkin man | man -l -` shows it. After `--out ~/.local/share/man/man1`, `man nearkin` and `man
/// nearkin-add` find the pages.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  nearkin man\n  nearkin man --out man1")]
pub(crate) struct Man {
    /// Folder for nearkin.1, nearkin-add.1 and all other pages; created if needed
    #[arg(long, short, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}
