//! General behaviour: shell completion, manual pages, signals, and output for terminals and pipes.

use super::*;

#[path = "manners/interrupts.rs"]
mod interrupts;
#[path = "manners/machines.rs"]
mod machines;
#[cfg(target_os = "linux")]
#[path = "manners/terminal.rs"]
mod terminal;

/// Whether a program that a test needs is installed.
fn is_there(program: &str) -> bool {
    // Wine shows the files of Unix, too, but does not find its programs.
    let is_file = cfg!(unix) && Path::new(program).exists();
    is_file || Command::new(program).arg("--version").output().is_ok()
}

/// Runs a program in the scratch folder and returns its output.
#[track_caller]
fn ran(scratch: &Scratch, program: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(program);
    let ran = Ran::new(command.args(arguments).current_dir(scratch.dir.path()).output().unwrap());
    ran.ends_with(0).stdout
}

#[test]
fn bash_completes_commands_options_and_values() {
    if !is_there("bash") {
        return;
    }
    let scratch = Scratch::new();
    scratch.write("script", scratch.ok("completions bash").stdout);
    let complete = |line: &str| {
        let words: Vec<_> = line.split(' ').collect();
        let (last, before) = (words[words.len() - 1], words[words.len() - 2]);
        let ask = format!(
            "source ./script; COMP_WORDS=({line}); COMP_CWORD={}; _nearkin nearkin '{last}' \
             '{before}'; echo \"${{COMPREPLY[@]}}\"; complete -p nearkin",
            words.len() - 1
        );
        let found = ran(&scratch, "bash", &["--norc", "-c", &ask]);
        let (found, registered) = found.split_once('\n').unwrap();
        assert!(registered.contains("_nearkin"), "{registered}");
        found.to_owned()
    };
    assert_eq!(complete("nearkin mi"), "mirror");
    assert_eq!(complete("nearkin com"), "compact completions");
    assert_eq!(complete("nearkin pairs --so"), "--sort");
    assert_eq!(complete("nearkin admit i --keep n"), "newest");
}

/// Each error message contains advice that fits the error.
#[test]
fn errors_say_what_to_do_next() {
    let scratch = Scratch::with_licences();
    for (arguments, words) in [
        ("add i nope", "check the path"),
        ("add i --jsonl nope", "check the path"),
        ("query i nope", "--key KEY of a stored document"),
        ("report i --out nope/r.html", "create its folder first"),
        ("report i --out docs", "give a file"),
        ("export i --out x.txt", "give a file name that ends in"),
        ("export i --out nope/x.jsonl", "create its folder first"),
        ("import x docs", "nearkin add INDEX docs"),
        ("import i i", "give another index"),
        ("backup i docs", "choose a new or empty folder"),
        ("rebuild i i", "choose a new or empty folder"),
        ("salvage docs x", "check that docs is the folder of an index"),
        ("man --out docs/MIT.txt", "choose another"),
    ] {
        let ran = scratch.fails(arguments, &[words]);
        assert!(!ran.stderr.contains("0 documents inserted"), "{arguments}: {}", ran.stderr);
        assert_eq!(ran.stdout, "", "{arguments}");
    }
}

#[test]
fn every_shell_gets_a_script_and_takes_it() {
    let scratch = Scratch::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = scratch.ok(&format!("completions {shell}")).stdout;
        assert!(script.contains("clusters") && script.contains("max-candidates"), "{shell}");
        scratch.write(shell, script);
    }
    for shell in ["bash", "zsh", "fish"] {
        if is_there(shell) {
            ran(&scratch, shell, &["-n", shell]);
        }
    }
    if is_there("fish") {
        let ask = "source fish; complete -C 'nearkin pairs --so'";
        assert!(ran(&scratch, "fish", &["--no-config", "-c", ask]).starts_with("--sort\t"));
    }
    scratch.fails("completions csh", &["csh", "possible values", "fish"]);
}

#[test]
fn the_pages_of_the_manual_are_whole() {
    let scratch = Scratch::new();
    let page = scratch.ok("man").stdout;
    scratch.ok("man --out pages/man1");
    assert_eq!(fs::read_to_string(scratch.path("pages/man1/nearkin.1")).unwrap(), page);
    let pages: Vec<_> = fs::read_dir(scratch.path("pages/man1")).unwrap().collect();
    let commands = page.lines().filter(|line| line.starts_with("nearkin\\-")).count();
    assert!(commands >= 20 && pages.len() == commands + 1, "{commands} of {}", pages.len());
    for entry in pages {
        let path = entry.unwrap().path();
        let path = path.to_str().unwrap();
        if is_there("/usr/bin/mandoc") {
            // Only errors count. mandoc also warns that the pages have a version instead of a date.
            ran(&scratch, "mandoc", &["-T", "lint", "-W", "error", path]);
        }
        if is_there("/usr/bin/man") && is_there("/usr/bin/groff") {
            let shown = ran(&scratch, "man", &["--warnings", "-l", path]);
            assert!(shown.contains("SYNOPSIS") && shown.contains("nearkin"), "{shown}");
        }
    }
    scratch.write("file", "");
    scratch.fails("man --out file", &["file"]);
}
