//! `nearkin completions` and `man`: shell completion scripts and manual pages.
//!
//! Both are generated from the same definition as the help, so they always agree with it.

#![expect(clippy::disallowed_methods, reason = "writes the user's files, never the index's")]

use std::fmt::Display;
use std::fs;

use clap::{Command, CommandFactory as _};
use clap_mangen::Man as Page;
use serde::Serialize;

use crate::args::{Args, Completions, Man};
use nearkin_kit::ended::Ended;
use nearkin_kit::failure::Failure;
use nearkin_kit::output::{Output, counted};

/// The name of the command to complete.
const NAME: &str = "nearkin";

pub(crate) fn completions(args: &Completions, output: &mut Output) -> Result<Ended, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(), NAME, &mut script);
    output.bytes(&script)?;
    Ok(Ended::Well)
}

#[derive(Serialize)]
struct ManObject<'a> {
    out: &'a str,
    pages: u64,
}

pub(crate) fn man(args: &Man, output: &mut Output) -> Result<Ended, Failure> {
    let command = command();
    let Some(out) = &args.out else {
        output.bytes(&page(&command)?)?;
        return Ok(Ended::Well);
    };
    fs::create_dir_all(out).map_err(|error| Failure::writing(out, &error))?;
    let mut pages = 0;
    for one in std::iter::once(&command).chain(command.get_subcommands()) {
        let path = out.join(format!("{}.1", name_of(one)));
        fs::write(&path, page(one)?).map_err(|error| Failure::writing(&path, &error))?;
        pages += 1;
    }
    let out = &out.display().to_string();
    if output.json() {
        output.object(&ManObject { out, pages })?;
    } else {
        output.line(format_args!("{} in {out}", counted(pages, "page")))?;
    }
    Ok(Ended::Well)
}

/// The complete clap command, including what clap adds (help, version).
fn command() -> Command {
    let mut command = Args::command().disable_help_subcommand(true);
    command.build();
    command
}

fn page(command: &Command) -> Result<Vec<u8>, Failure> {
    let failed = |error: &dyn Display| Failure::new(format!("cannot write the page: {error}"), "");
    let mut page = Vec::new();
    let without = command.clone().after_help(None);
    Page::new(without).render(&mut page).map_err(|error| failed(&error))?;
    let page = String::from_utf8(page).map_err(|error| failed(&error))?;
    let name = name_of(command);
    let mut whole = String::with_capacity(2 * page.len());
    for line in page.lines() {
        // clap_mangen always prints a date field; replace the line.
        if line.starts_with(".TH ") {
            let (name, version) = (name.to_uppercase(), env!("CARGO_PKG_VERSION"));
            let title = format!(".TH \"{name}\" 1 \"\" \"nearkin {version}\" \"Nearkin\"");
            whole.push_str(&title);
        } else {
            whole.push_str(line);
        }
        whole.push('\n');
    }
    if let Some(behind) = command.get_after_help() {
        whole.push_str(&sections(&behind.to_string()));
    }
    if name != NAME {
        whole.push_str(".SH \"SEE ALSO\"\n\\fBnearkin\\fR(1)\n");
    }
    Ok(whole.into_bytes())
}

fn name_of(command: &Command) -> &str {
    command.get_display_name().unwrap_or(command.get_name())
}

/// Converts the text that the help prints after the options (such as examples) to sections of a
/// manual page: titles, each followed by preformatted lines.
fn sections(text: &str) -> String {
    let mut page = String::new();
    for line in text.lines() {
        match line.strip_suffix(':') {
            Some(title) if !line.starts_with(' ') => {
                let begin = if page.is_empty() { "" } else { ".fi\n" };
                page.extend([begin, ".SH \"", &title.to_uppercase(), "\"\n.nf\n"]);
            }
            _ => {
                page.push_str(&line.trim_start().replace('\\', "\\e").replace('-', "\\-"));
                page.push('\n');
            }
        }
    }
    page + ".fi\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_behind_the_help_becomes_sections() {
        let page = sections("Where:\n  a-b \\c\nExamples:\n  nearkin man");
        let expected =
            ".SH \"WHERE\"\n.nf\na\\-b \\ec\n.fi\n.SH \"EXAMPLES\"\n.nf\nnearkin man\n.fi\n";
        assert_eq!(page, expected);
    }

    #[test]
    fn every_command_has_a_page_with_its_name_and_examples() {
        let command = command();
        for one in command.get_subcommands() {
            let page = String::from_utf8(page(one).unwrap()).unwrap();
            let title = format!(".TH \"NEARKIN-{}\" 1", one.get_name().to_uppercase());
            assert!(page.contains(&title), "{title}");
            assert!(page.contains(".SH \"EXAMPLE"), "{title}");
        }
    }
}
