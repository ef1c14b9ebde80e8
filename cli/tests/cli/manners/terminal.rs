//! Output on a terminal and in pipes: colours and widths.

use super::*;

const ESCAPE: char = '\u{1b}';

/// Output of a command on a terminal of this width; `None` where no pseudo-terminal is available.
fn on_a_terminal(scratch: &Scratch, columns: usize, arguments: &str) -> Option<String> {
    if !is_there("script") {
        return None;
    }
    let nearkin = env!("CARGO_BIN_EXE_nearkin");
    let line = format!("stty cols {columns} rows 24; {nearkin} {arguments}");
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).current_dir(scratch.dir.path());
    command.stdin(Stdio::null()).env("TERM", "xterm");
    // These variables also decide about colours: with CI set, even a dumb terminal gets them.
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI"] {
        command.env_remove(name);
    }
    let output = command.output().unwrap();
    Some(String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n"))
}

#[test]
fn only_help_and_errors_of_a_terminal_are_coloured() {
    let scratch = Scratch::with_licences();
    let piped = |arguments: &str, name: &str, value: &str| {
        let mut command = scratch.command(&arguments.split(' ').collect::<Vec<_>>());
        let output = command.env(name, value).stdin(Stdio::null()).output().unwrap();
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    let results = ["pairs i", "stats i", "query i docs/MIT.txt", "pairs nope", "verify i --json"];
    for (name, value) in [("X", "1"), ("NO_COLOR", "1"), ("TERM", "dumb"), ("CLICOLOR", "0")] {
        for arguments in ["--help", "add --help", "frobnicate"].into_iter().chain(results) {
            let text = piped(arguments, name, value);
            assert!(!text.is_empty() && !text.contains(ESCAPE), "{name} {arguments}: {text}");
        }
        let set = if name == "X" { String::new() } else { format!("env {name}={value} ") };
        let line = format!("--version; {set}{} --help", env!("CARGO_BIN_EXE_nearkin"));
        if let Some(help) = on_a_terminal(&scratch, 80, &line) {
            assert_eq!(help.contains(ESCAPE), name == "X", "{name}={value}: {help}");
        }
    }
    // Forced colours appear in the help; results never have any.
    assert!(piped("--help", "CLICOLOR_FORCE", "1").contains(ESCAPE));
    for arguments in results {
        assert!(!piped(arguments, "CLICOLOR_FORCE", "1").contains(ESCAPE), "{arguments}");
        if let Some(shown) = on_a_terminal(&scratch, 80, arguments) {
            assert!(!shown.contains(ESCAPE), "{arguments}: {shown}");
        }
    }
}

#[test]
fn tables_fit_the_terminal_and_are_whole_elsewhere() {
    let scratch = Scratch::new();
    let folder = format!("docs/{}", "a-long-name-".repeat(8));
    // Two of the names have characters that are two columns wide, or combining characters of width
    // zero.
    let names = ["first", "second", &"\u{6f22}".repeat(40), &"e\u{301}".repeat(60)];
    for name in names {
        scratch.write(&format!("{folder}/{name}.txt"), licence("MIT"));
    }
    scratch.ok("add i docs");
    let piped = scratch.ok("pairs i --sort").stdout;
    assert!(piped.contains(&format!("{folder}/first.txt")) && !piped.contains("..."), "{piped}");
    for columns in [200, 80, 40] {
        for arguments in ["pairs i --sort", "query i --key", "pairs i --json"] {
            let arguments = match arguments {
                "query i --key" => format!("{arguments} {folder}/first.txt"),
                other => other.to_owned(),
            };
            let Some(shown) = on_a_terminal(&scratch, columns, &arguments) else { return };
            if arguments.ends_with("json") {
                assert!(shown.contains(&folder) && !shown.contains("..."), "{shown}");
                continue;
            }
            let rows: Vec<_> = shown.lines().filter(|line| !line.starts_with("nearkin")).collect();
            assert!(rows.len() >= 4, "{shown}");
            for row in &rows {
                assert!(width(row) <= columns, "{columns}: {row}");
            }
            assert!(shown.contains(".txt"), "names keep their ends: {shown}");
            if columns < 200 {
                assert!(rows[1..].iter().all(|row| row.contains("...")), "{shown}");
            }
            // Every row has as many cells as the title row: no cell runs into the next one.
            let cells = rows[0].split_whitespace().count();
            let of_row = |row: &str| row.split("  ").filter(|cell| !cell.is_empty()).count();
            assert!(rows[1..].iter().all(|row| of_row(row) == cells), "{shown}");
        }
    }
}

/// Display width, for the characters in these tests.
fn width(text: &str) -> usize {
    let columns = |one| match one {
        '\u{301}' => 0,
        '\u{6f22}' => 2,
        _ => 1,
    };
    text.chars().map(columns).sum()
}

#[test]
fn help_fits_forty_columns() {
    let scratch = Scratch::new();
    let Some(help) = on_a_terminal(&scratch, 40, "--help") else { return };
    let (words, rest) = help.split_once("Start with").unwrap();
    assert!(rest.contains("nearkin add"), "{rest}");
    for line in words.lines() {
        let mut plain = String::new();
        let mut in_escape = false;
        for one in line.chars() {
            in_escape |= one == ESCAPE;
            if !in_escape {
                plain.push(one);
            }
            in_escape &= one != 'm';
        }
        assert!(plain.chars().count() <= 40, "{plain}");
    }
}

/// The bar is drawn on the last line of the terminal and removed at the end.
#[test]
fn a_bar_is_only_where_it_can_be_seen() {
    let scratch = Scratch::new();
    let line = "{\"id\":1,\"text\":\"a b c d\"}";
    // The bar is drawn when a line arrives after the first second. Several lines follow at
    // intervals, so that at least one of them arrives late enough, even if the start is slow.
    let again = format!("; sleep 0.3; echo '{line}'").repeat(7);
    scratch.ok("create i");
    let wait = format!("echo '{line}'; sleep 1.2; echo '{line}'{again}");
    let nearkin = env!("CARGO_BIN_EXE_nearkin");
    let whole = format!("-V; ({wait}) | {nearkin} add i --jsonl -");
    let Some(shown) = on_a_terminal(&scratch, 60, &whole) else { return };
    assert!(shown.contains("adding"), "{shown}");
    let dumb = format!("-V; ({wait}) | env TERM=dumb {nearkin} add i --jsonl -");
    let shown = on_a_terminal(&scratch, 60, &dumb).unwrap();
    assert!(!shown.contains(ESCAPE), "{shown:?}");
    let piped = ran(&scratch, "sh", &["-c", &format!("({wait}) | {nearkin} add i --jsonl - 2>&1")]);
    assert!(piped.starts_with("0 documents inserted, ") && piped.lines().count() == 1, "{piped}");
}
