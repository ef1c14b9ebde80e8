//! Tests with parsers that crash, hang or allocate too much, each in a process of its own.

use std::path::Path;
use std::time::Instant;

use super::*;
use crate::formats::pdf;

/// Environment variable that makes the test program a parser process.
const ASKED: &str = "NEARKIN_TEST_READS_FORMATS";

/// The command that starts this test program as a parser process.
pub(super) fn command() -> io::Result<Command> {
    let mut command = Command::new(own_program()?);
    command.args(["formats::parser::tests::as_child", "--exact", "--nocapture", "--quiet"]);
    command.env(ASKED, "1");
    Ok(command)
}

/// Not a real test: the parser process runs it.
#[test]
fn as_child() {
    if env::var_os(ASKED).is_some() {
        super::super::child::run(None, Duration::from_millis(50));
    }
}

fn request(what: &str, memory: u64, seconds: u64) -> ParseRequest {
    ParseRequest { format: Format::Trial, memory, seconds, bytes: what.as_bytes().to_vec() }
}

fn why(read: Result<Result<Decoded, Reason>, Failed>) -> String {
    read.unwrap_err().what()
}

#[test]
fn a_parser_that_fails_is_a_reason_and_the_next_file_is_read() {
    let reason = text(Format::Trial, b"panic".to_vec()).unwrap_err();
    assert_eq!(reason, Reason::Refused("X: its parser panicked".to_owned()));
    let reason = text(Format::Trial, b"abort".to_vec()).unwrap_err().detail();
    assert!(reason.starts_with("X: its parser crashed"), "{reason}");
    let reason = text(Format::Trial, b"fail".to_vec()).unwrap_err().detail();
    assert_eq!(reason, "X: garbage");
    for what in ["print", "text"] {
        let read = text(Format::Trial, what.as_bytes().to_vec()).unwrap().text;
        assert!(read.starts_with(what), "{read}");
        assert!(!read.ends_with(&format!(" {}", std::process::id())), "{read}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_parser_that_hangs_ends_and_keeps_no_core() {
    let mut process = Process::start().unwrap();
    let place = PathBuf::from(format!("/proc/{}", lock(&process.child).id()));
    assert!(place.exists());
    let failed = process.ask(&mut request("burn", MEMORY_MAX, 1), None).unwrap_err();
    assert_eq!(failed.what(), "not read within 30 s of processor time");
    assert!(!place.exists(), "it was not reaped");
}

#[test]
fn a_parser_that_waits_ends_by_the_clock() {
    let began = Instant::now();
    let most = Duration::from_millis(300);
    let read = within(&mut request("sleep", MEMORY_OF_SMALL, SECONDS), Some(most));
    assert_eq!(why(read), "not read within 0 s");
    assert!(began.elapsed() < Duration::from_secs(40));
    let read = within(&mut request("text", MEMORY_OF_SMALL, SECONDS), Some(most * 100));
    assert!(read.unwrap().unwrap().text.starts_with("text"));
}

#[cfg(unix)]
#[test]
fn a_parser_that_waits_for_itself_ends() {
    let began = Instant::now();
    let read = within(&mut request("sleep", MEMORY_OF_SMALL, SECONDS), None);
    assert!(why(read).contains("its parser crashed"));
    assert!(began.elapsed() < Duration::from_secs(40));
}

#[cfg(target_os = "linux")]
#[test]
fn a_parser_gets_so_much_memory_and_no_more() {
    let read = within(&mut request("allocate", MEMORY_MAX, SECONDS), None);
    assert!(why(read).contains("needs more than 112 MiB of memory"));
    let mut process = Process::start().unwrap();
    let read = process.ask(&mut request("allocate", 2 << 30, SECONDS), None).unwrap();
    assert!(read.unwrap().text.starts_with("allocate"));
}

#[test]
fn as_many_large_files_are_parsed_at_once_as_memory_allows() {
    let together = |allowed, processors| memory_within(allowed, processors) / MEMORY_MAX;
    assert_eq!([together(0, 8), together(MEMORY_MAX, 8), together(u64::MAX, 1)], [1, 1, 1]);
    assert_eq!([together(7 * MEMORY_MAX, 8), together(u64::MAX, 8)], [3, 8]);
    assert!(limits::memory_available().is_none_or(|bytes| bytes > 1 << 20));
}

/// When the request with the large file arrives, the process still has the memory limit of the
/// small file. It must raise the limit before it reads the file.
#[test]
fn a_process_that_read_a_small_file_reads_a_large_one() {
    let mut process = Process::start().unwrap();
    process.ask(&mut request("text", 1 << 20, SECONDS), None).unwrap().unwrap();
    let mut large = request(&"large ".repeat(4 << 20), MEMORY_MAX, SECONDS);
    process.ask(&mut large, None).unwrap().unwrap();
}

#[test]
fn processes_read_several_files_and_ended_ones_hold_no_share() {
    let mut process = Process::start().unwrap();
    let one = process.ask(&mut request("text", MEMORY_OF_SMALL, SECONDS), None).unwrap();
    let other = process.ask(&mut request("text", MEMORY_OF_SMALL, SECONDS), None).unwrap();
    assert_eq!(one, other);
    // There are more failures here than shares of memory, so each failure must have released its
    // share.
    for _ in 0..=memory_of_all() / MEMORY_OF_SMALL {
        within(&mut request("abort", MEMORY_OF_SMALL, SECONDS), None).unwrap_err();
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "scratch files are no index")]
fn a_faster_program_is_named_if_installed_and_of_use() {
    let folder = tempfile::tempdir().unwrap();
    let path = std::env::join_paths([Path::new("/nowhere"), folder.path()]).unwrap();
    assert_eq!(pdf::faster_than(pdf::LONG * 9, &path), None);
    std::fs::write(folder.path().join("pdftotext"), "").unwrap();
    assert_eq!(pdf::faster_than(pdf::LONG / 2, &path), None);
    let advice = pdf::faster_than(pdf::LONG * 9, &path).unwrap();
    assert!(advice.contains("45 s") && advice.contains("--pdf-command pdftotext"), "{advice}");
}
