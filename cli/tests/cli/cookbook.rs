//! All commands in `docs/guide/COOKBOOK.md` and `AUDIT.md` work and print what the page shows.

use super::*;

/// A fenced block: its info string and its lines.
struct Block<'a> {
    info: &'a str,
    lines: Vec<&'a str>,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(info) = line.strip_prefix("```") {
            let lines = lines.by_ref().take_while(|line| !line.starts_with("```")).collect();
            blocks.push(Block { info, lines });
        }
    }
    blocks
}

#[test]
fn every_session_prints_what_the_page_says() {
    assert!(commands_of("COOKBOOK.md") >= 8, "the sessions are found");
    assert!(commands_of("AUDIT.md") >= 1, "the session is found");
}

/// Writes the page's files and runs its commands in order, in one folder. Returns their number.
fn commands_of(page: &str) -> usize {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/guide").join(page);
    let page = fs::read_to_string(page).unwrap();
    let scratch = Scratch::new();
    let mut commands = 0;
    for block in blocks(&page) {
        if let Some((_, name)) = block.info.split_once(" file=") {
            scratch.write(name, block.lines.join("\n") + "\n");
        } else if block.info == "session" {
            for session in block.lines.join("\n").split("$ nearkin ").skip(1) {
                let (command, expected) = session.split_once('\n').unwrap_or((session, ""));
                let ran = scratch.ok(command);
                assert_eq!(ran.stdout.trim_end(), expected.trim_end(), "{command}");
                commands += 1;
            }
        }
    }
    commands
}
